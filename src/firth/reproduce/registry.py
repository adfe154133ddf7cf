"""Experiments by name: `firth reproduce NAME`. To add one, add a line to `EXPERIMENTS`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from firth.reproduce.options import Options, Request, need_extras
from firth.reproduce.report import COMMAND, WRITTEN, Report
from firth.run.errors import InputError
from firth.run.results import claim_folder
from firth.run.run import Run


@dataclass(frozen=True)
class Experiment:
    """A table or figure of a paper.

    Attributes:
        module: Of `firth.reproduce`; it holds the function from `Request` to `Report` that is
            called as the experiment, with `_` for `-`.
        takes: Names of the `Options` it heeds; any other is refused.
        extras: Extras of firth that it cannot do without, besides `plots`.
    """

    summary: str
    module: str
    takes: frozenset[str] = frozenset()
    extras: tuple[str, ...] = ()


_SAMPLE = frozenset({"split", "pairs"})
_ORIGIN = _SAMPLE | {"shortlist", "lambdas", "model", "gguf_file"}
_TUNING = frozenset({"base", "train_pairs"})
_TABLE = frozenset({"start", "peer", "pairs", "train_pairs"})

# fmt: off
EXPERIMENTS: Mapping[str, Experiment] = {
    "cbos-table1": Experiment("CBOS, Table I: Pearson of five systems on 20 STS sets", "cbos",
                              extras=("baselines",)),
    "cbos-k": Experiment("CBOS, Figure 3: how many neighbours", "cbos"),
    "cbos-m": Experiment("CBOS, Figure 4: how many random sentences", "cbos"),
    "str-table2": Experiment("STR-2021, Table 2: the kinds of pairs", "str_data"),
    "str-table3": Experiment("STR-2021, Table 3: the annotations, simulated", "str_data"),
    "str-table4": Experiment("STR-2021, Table 4: what makes sentences related", "str_data",
                             frozenset({"vectors"})),
    "str-table5": Experiment("STR-2021, Table 5: models as they are, and fine-tuned", "str_models",
                             _TUNING | {"vectors"}),
    "str-table6": Experiment("STR-2021, Table 6: fine-tuning across domains", "str_models",
                             _TUNING),
    "str-bins": Experiment("STR-2021, §4: relatedness and similarity within STS bins", "str_data"),
    "table1": Experiment("Sun et al., Table 1: unsupervised models, and those that saw NLI, on STS",
                         "sun_tables", _TABLE | {"learn_from"}),
    "table2": Experiment("Sun et al., Table 2: models trained on STSb, with and without NLI first",
                         "sun_tables", _TABLE | {"learn_from", "sizes"}),
    "table3": Experiment("Sun et al., Table 3: AFS, unsupervised, 10-fold and cross-topic",
                         "sun_tables", _TABLE),
    "table4": Experiment("Sun et al., Table 4: Wikipedia Sections, as they are and trained on it",
                         "sun_tables", _TABLE | {"learn_from"}),
    "table5": Experiment("Sun et al., Table 5: Origin by the size of its corpus", "corpus_sizes",
                         _ORIGIN | {"sizes", "contexts"}),
    "table6": Experiment("Sun et al., Table 6: Origin by the number of contexts",
                         "origin_ablations", _ORIGIN | {"sizes"}),
    "table7": Experiment("Sun et al., Table 7: the Surrogate by the number of harvested pairs",
                         "surrogate_ablations", _SAMPLE | {"sizes", "base"}),
    "table8": Experiment("Sun et al., Table 8: what each term of Eq. 3 gives", "origin_ablations",
                         _ORIGIN | {"contexts"}),
    "context-construction": Experiment(
        "Sun et al., §5.4: two-step contexts, random ones, without diversity",
        "origin_ablations", _ORIGIN | {"contexts"}),
    "siamese-vs-cross": Experiment(
        "Sun et al., §5.6: a Siamese Surrogate and a cross-encoder on the same pairs",
        "surrogate_ablations", _SAMPLE | {"base"}),
}
# fmt: on


def find_experiment(name: str) -> Experiment:
    """The experiment called `name`; raise `InputError` naming all if there is none."""
    if name not in EXPERIMENTS:
        raise InputError(f"{name}: no such experiment. Known: {', '.join(EXPERIMENTS)}")
    return EXPERIMENTS[name]


def reproduce(
    name: str,
    run: str | Path | Run | None = None,
    data_dir: str | Path | None = None,
    out: str | Path | None = None,
    *,
    options: Options | None = None,
    seed: int | None = None,
    force: bool = False,
) -> Report:
    """Run an experiment and write table, plot and figures.

    What it trains on a run's corpus is kept in the run, so that a second call trains nothing.

    Args:
        name: One of `EXPERIMENTS`, varied by `options`.
        run: A run whose corpus is built; the experiments on STR-2021 need none.
        data_dir: Folder of evaluation sets.
        out: Where `results.json`, `table.md`, `plot.png` and `plot.svg` go; by default
            `RUN/reproduce/NAME`, or `reproduce/NAME` without a run.
        options: As `firth reproduce` takes them.
        seed: Of every random choice; None takes the run's, or 13 without a run.
        force: Replace files of these names in `out` that firth did not write.

    Raises:
        ConfigError: An option that the experiment does not take, or that is out of range.
        InputError: No such experiment or run, no data to measure on, or `out` holds files that
            firth did not write.
        MissingStageError: The run has no corpus, or lacks another stage that is read.
        MissingExtraError: Libraries it needs are not installed; nothing was done.
    """
    experiment, asked = find_experiment(name), options or Options()
    asked.check(name, experiment.takes)
    need_extras(f"firth reproduce {name}", "plots", *experiment.extras)
    opened = None if run is None else Run.open(run)
    if opened is not None and seed is not None:
        opened = opened.changed({"seed": seed})
    folder = Path(out) if out else (opened.path if opened else Path()) / "reproduce" / name
    claim_folder(folder, COMMAND, WRITTEN, force)
    known = 13 if seed is None else seed
    request = Request(name, folder, opened, Path(data_dir) if data_dir else None, asked,
                      opened.config.seed if opened is not None else known)  # fmt: skip
    module = import_module(f"firth.reproduce.{experiment.module}")
    function: Callable[[Request], Report] = getattr(module, name.replace("-", "_"))
    report = function(request)
    report.save(folder, force=force)
    return report

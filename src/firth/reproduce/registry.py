"""Experiments by name: `firth reproduce NAME`. To add one, add a line to `EXPERIMENTS`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path

from firth.corpus import CORPUS
from firth.reproduce.options import Options
from firth.reproduce.report import Report
from firth.reproduce.str_2021.request import StrRequest
from firth.run.errors import InputError
from firth.run.run import Run
from firth.run.stage import Stage


@dataclass(frozen=True)
class Request:
    """What an experiment is given.

    Attributes:
        run: Whose corpus it learns from, and whose settings it takes.
        data_dir: Folder of evaluation sets; None, or a set it lacks, goes to the hub.
        reads: Stages whose digests it keeps in its results.
        options: What varies an ablation.
    """

    run: Run
    data_dir: Path | None = None
    reads: tuple[Stage, ...] = (CORPUS,)
    options: Options = field(default_factory=Options)


@dataclass(frozen=True)
class Experiment:
    """A table or figure of a paper.

    Attributes:
        summary: What it shows, in a line.
        module: Where `function` stands.
        function: Takes a `Request`, returns a `Report`.
        on_run: Whether it learns from a run's corpus; if not, it takes a `StrRequest`.
        takes: Names of the `Options` it heeds; any other is refused.
    """

    summary: str
    module: str
    function: str
    takes: frozenset[str] = frozenset()
    on_run: bool = True


def _str(name: str, summary: str) -> Experiment:
    """An experiment on STR-2021: `str-table2` is `str_table2` in `str_2021/table2.py`."""
    module = name.removeprefix("str-")
    return Experiment(
        f"STR-2021, {summary}",
        f"firth.reproduce.str_2021.{module}",
        name.replace("-", "_"),
        frozenset({"base", "vectors", "train_pairs"}),
        on_run=False,
    )


_SAMPLE = frozenset({"split", "pairs"})
_ORIGIN = _SAMPLE | {"shortlist", "lambdas", "model", "gguf_file"}

EXPERIMENTS: Mapping[str, Experiment] = {
    "cbos-table1": Experiment(
        "CBOS, Table I: Pearson of five systems on 20 STS sets",
        "firth.reproduce.cbos_table1",
        "cbos_table1",
    ),
    "cbos-k": Experiment(
        "CBOS, Figure 3: how many neighbours", "firth.reproduce.cbos_sweep", "cbos_k"
    ),
    "cbos-m": Experiment(
        "CBOS, Figure 4: how many random sentences", "firth.reproduce.cbos_sweep", "cbos_m"
    ),
    "str-table2": _str("str-table2", "Table 2: the kinds of pairs"),
    "str-table3": _str("str-table3", "Table 3: the annotations, simulated"),
    "str-table4": _str("str-table4", "Table 4: what makes sentences related"),
    "str-table5": _str("str-table5", "Table 5: models as they are, and fine-tuned"),
    "str-table6": _str("str-table6", "Table 6: fine-tuning across domains"),
    "str-bins": _str("str-bins", "§4: relatedness and similarity within STS bins"),
    "table5": Experiment(
        "Sun et al., Table 5: Origin by the size of its corpus",
        "firth.reproduce.corpus_sizes",
        "table5",
        _ORIGIN | {"sizes", "contexts"},
    ),
    "table6": Experiment(
        "Sun et al., Table 6: Origin by the number of contexts",
        "firth.reproduce.context_sizes",
        "table6",
        _ORIGIN | {"sizes"},
    ),
    "table7": Experiment(
        "Sun et al., Table 7: the Surrogate by the number of harvested pairs",
        "firth.reproduce.pair_numbers",
        "table7",
        _SAMPLE | {"sizes", "base"},
    ),
    "table8": Experiment(
        "Sun et al., Table 8: what each term of Eq. 3 gives",
        "firth.reproduce.eq3_terms",
        "table8",
        _ORIGIN | {"contexts"},
    ),
    "context-construction": Experiment(
        "Sun et al., §5.4: two-step contexts, random ones, without diversity",
        "firth.reproduce.context_construction",
        "context_construction",
        _ORIGIN | {"contexts"},
    ),
    "siamese-vs-cross": Experiment(
        "Sun et al., §5.6: a Siamese Surrogate and a cross-encoder on the same pairs",
        "firth.reproduce.structures",
        "siamese_vs_cross",
        _SAMPLE | {"base"},
    ),
}


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
    base: str | None = None,
    vectors: str | None = None,
    train_pairs: int | None = None,
    seed: int | None = None,
    options: Options | None = None,
) -> Report:
    """Run an experiment and write table, plot and figures.

    What it trains on a run's corpus is kept in the run, so that a second call trains nothing.

    Args:
        name: One of `EXPERIMENTS`.
        run: A run whose corpus is built; the experiments on STR-2021 need none.
        data_dir: Folder of evaluation sets.
        out: Where `results.json`, `table.md`, `plot.png` and `plot.svg` go; by default
            `RUN/reproduce/NAME`, or `reproduce/NAME` without a run.
        base: Encoder to fine-tune (str-table5, str-table6).
        vectors: Word vectors (str-table4, str-table5).
        train_pairs: At most so many training pairs a fold (str-table5, str-table6).
        seed: Of the experiments on STR-2021; those on a run take the run's.
        options: What varies the ablations of Sun et al.

    Raises:
        ConfigError: An option that the experiment does not take, or that is out of range.
        InputError: No such experiment or run, or no data to measure on.
        MissingStageError: The run has no corpus, or lacks another stage that is read.
        MissingExtraError: A library it needs is not installed.
    """
    experiment = find_experiment(name)
    named = {"base": base, "vectors": vectors, "train_pairs": train_pairs}
    given = {key: value for key, value in named.items() if value is not None}
    asked = replace(options or Options(), **given)  # type: ignore[arg-type]
    asked.check(name, experiment.takes)
    opened = None if run is None else Run.open(run)
    where = Path(data_dir) if data_dir else None
    folder = Path(out) if out else (opened.path if opened else Path()) / "reproduce" / name
    request: object
    if experiment.on_run:
        if opened is None:
            raise InputError(f"{name}: expected --run RUN, a run to learn from")
        request = Request(opened, where, options=asked)
    else:
        own = 13 if opened is None else opened.config.seed
        request = StrRequest(
            folder, where, opened, asked.vectors, asked.base, asked.train_pairs,
            own if seed is None else seed,
        )  # fmt: skip
    function: Callable[[object], Report] = getattr(
        import_module(experiment.module), experiment.function
    )
    report = function(request)
    report.save(folder)
    return report

"""Experiments by name: `firth reproduce NAME`. To add one, add a line to `EXPERIMENTS`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from firth.artifacts import Stage
from firth.corpus import CORPUS
from firth.errors import InputError
from firth.reproduce.report import Report
from firth.reproduce.str_2021.request import StrRequest
from firth.run import Run


@dataclass(frozen=True)
class Request:
    """What an experiment is given.

    Attributes:
        run: Whose corpus it learns from, and whose settings it takes.
        data_dir: Folder of evaluation sets; None, or a set it lacks, goes to the hub.
        reads: Stages whose digests it keeps in its results.
    """

    run: Run
    data_dir: Path | None = None
    reads: tuple[Stage, ...] = (CORPUS,)


@dataclass(frozen=True)
class Experiment:
    """A table or figure of a paper.

    Attributes:
        summary: What it shows, in a line.
        module: Where `function` stands.
        function: Takes a `Request`, returns a `Report`.
        on_run: Whether it learns from a run's corpus; if not, it takes a `StrRequest`.
    """

    summary: str
    module: str
    function: str
    on_run: bool = True


def _str(name: str, summary: str) -> Experiment:
    """An experiment on STR-2021: `str-table2` is `str_table2` in `str_2021/table2.py`."""
    module = name.removeprefix("str-")
    return Experiment(
        f"STR-2021, {summary}",
        f"firth.reproduce.str_2021.{module}",
        name.replace("-", "_"),
        on_run=False,
    )


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
    "str-table4": _str("str-table4", "Table 4: what makes sentences related"),
    "str-table5": _str("str-table5", "Table 5: models as they are, and fine-tuned"),
    "str-table6": _str("str-table6", "Table 6: fine-tuning across domains"),
    "str-bins": _str("str-bins", "§4: relatedness and similarity within STS bins"),
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

    Raises:
        InputError: No such experiment or run, or no data to measure on.
        MissingStageError: The run has no corpus.
        MissingExtraError: A library it needs is not installed.
    """
    experiment = find_experiment(name)
    opened = None if run is None else Run.open(run)
    where = Path(data_dir) if data_dir else None
    folder = Path(out) if out else (opened.path if opened else Path()) / "reproduce" / name
    request: object
    if experiment.on_run:
        if opened is None:
            raise InputError(f"{name}: expected a run to learn from (--run RUN)")
        request = Request(opened, where)
    else:
        own = 13 if opened is None else opened.config.seed
        request = StrRequest(
            folder, where, opened, vectors, base, train_pairs, own if seed is None else seed
        )
    function: Callable[[object], Report] = getattr(
        import_module(experiment.module), experiment.function
    )
    report = function(request)
    report.save(folder)
    return report

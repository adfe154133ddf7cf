"""Experiments by name: `firth reproduce NAME`. To add one, add a line to `EXPERIMENTS`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from firth.artifacts import Stage
from firth.corpus import CORPUS
from firth.errors import InputError
from firth.reproduce.report import Report
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
    """

    summary: str
    module: str
    function: str


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
}


def find_experiment(name: str) -> Experiment:
    """The experiment called `name`; raise `InputError` naming all if there is none."""
    if name not in EXPERIMENTS:
        raise InputError(f"{name}: no such experiment. Known: {', '.join(EXPERIMENTS)}")
    return EXPERIMENTS[name]


def reproduce(
    name: str,
    run: str | Path | Run,
    data_dir: str | Path | None = None,
    out: str | Path | None = None,
) -> Report:
    """Run an experiment on a run's corpus and write table, plot and figures.

    What it trains is kept in the run, so that a second call trains nothing.

    Args:
        name: One of `EXPERIMENTS`.
        run: A run whose corpus is built.
        data_dir: Folder of evaluation sets.
        out: Where `results.json`, `table.md`, `plot.png` and `plot.svg` go; by default
            `RUN/reproduce/NAME`.

    Raises:
        InputError: No such experiment or run, or no data to measure on.
        MissingStageError: The run has no corpus.
        MissingExtraError: A library it needs is not installed.
    """
    experiment, opened = find_experiment(name), Run.open(run)
    function: Callable[[Request], Report] = getattr(
        import_module(experiment.module), experiment.function
    )
    report = function(Request(opened, Path(data_dir) if data_dir else None))
    report.save(Path(out) if out else opened.path / "reproduce" / name)
    return report

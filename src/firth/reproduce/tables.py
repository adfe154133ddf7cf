"""The tables of the three papers by name, and the one function that measures them."""

from collections.abc import Callable, Mapping
from pathlib import Path

from firth.reproduce import cbos, relatedness, sun
from firth.reproduce.result import Findings, Request, Result
from firth.reproduce.settings import ReproduceSettings
from firth.run.errors import InputError
from firth.run.run import Run

_SEED = 13


def _ablation(request: Request) -> Findings:
    from firth.reproduce.ablations import ABLATIONS  # imports torch

    return ABLATIONS[request.table](request)


TABLES: Mapping[str, tuple[str, Callable[[Request], Findings]]] = {
    **cbos.TABLES,
    **relatedness.TABLES,
    "sun-table1": ("Sun et al., Table 1: seven sets without labels, and after NLI", sun.table1),
    "sun-table2": ("Sun et al., Table 2: trained on STSb", sun.table2),
    "sun-table3": ("Sun et al., Table 3: Argument Facet Similarity", sun.table3),
    "sun-table4": ("Sun et al., Table 4: Wikipedia Sections", sun.table4),
    "sun-table5": ("Sun et al., Table 5: the size of the corpus", _ablation),
    "sun-table6": ("Sun et al., Table 6: the number of contexts", _ablation),
    "sun-table7": ("Sun et al., Table 7: the number of harvested pairs", _ablation),
    "sun-table8": ("Sun et al., Table 8: the terms of Eq. 3", _ablation),
    "sun-construction": ("Sun et al., section 5.4: how contexts are chosen", _ablation),
    "sun-structures": ("Sun et al., section 5.6: Siamese model and cross-encoder", _ablation),
}
"""Title and measure of each table, figure and ablation of the papers."""


def reproduce(
    name: str, run: str | Path | Run | None = None, data_dir: str | Path | None = None
) -> Result:
    """Measure a table, with the published figures next to the measured ones.

    What it trains is kept in the run, so that a second call trains nothing. The settings
    `reproduce` and `paper` of the run vary the table.

    Raises:
        InputError: There is no such table or run, or no data to measure on.
        ConfigError: A setting is wrong.
        MissingStageError: The run lacks a stage.
        MissingExtraError: A library is not installed.
    """
    if name not in TABLES:
        raise InputError(f"{name}: no such table. Expected one of {', '.join(TABLES)}")
    opened = None if run is None else Run.open(run)
    settings, seed = ReproduceSettings(), _SEED
    if opened is not None:
        settings, seed = opened.wing("reproduce", ReproduceSettings), opened.settings.seed
    folder = None if data_dir is None else Path(data_dir)
    title, measure = TABLES[name]
    cells, notes = measure(Request(name, opened, folder, settings.tables, seed))
    return Result(name, title, tuple(cells), tuple(dict.fromkeys(notes)))

"""The tables of the three papers by name, and the one function that measures them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from firth.reproduce import others, sun
from firth.reproduce.result import Cell, Request, Result
from firth.reproduce.settings import ReproduceSettings
from firth.run.errors import InputError
from firth.run.run import Run

Measure = Callable[[Request], tuple[list[Cell], list[str]]]
_SEED = 13


@dataclass(frozen=True)
class Table:
    """A table, figure or ablation of a paper.

    Attributes:
        title: What it shows.
        measure: Measures its figures, and returns notes with them.
        needs: What it needs apart from evaluation sets, for people.
    """

    title: str
    measure: Measure
    needs: str = ""


def _ablation(request: Request) -> tuple[list[Cell], list[str]]:
    from firth.reproduce.ablations import measure_ablation

    return measure_ablation(request)


_ORIGIN, _HARVEST, _START = "firth paper build", "firth paper build --to harvest", "an encoder"
TABLES: Mapping[str, Table] = {
    "cbos-table1": Table("CBOS, Table I: five systems on 20 STS sets (Pearson)",
                         others.cbos_table1, "a run"),
    "cbos-k": Table("CBOS, Figure 3: number of neighbors", others.cbos_k, "a run"),
    "cbos-m": Table("CBOS, Figure 4: number of random sentences", others.cbos_m, "a run"),
    "str-table2": Table("STR-2021, Table 2: the kinds of pairs", others.str_table2),
    "str-table3": Table("STR-2021, Table 3: the annotations, simulated", others.str_table3),
    "str-table4": Table("STR-2021, Table 4: what makes sentences related", others.str_table4),
    "str-table5": Table("STR-2021, Table 5: models, and one that is fine-tuned", others.str_table5),
    "str-table6": Table("STR-2021, Table 6: fine-tuning across domains", others.str_table6),
    "str-bins": Table("STR-2021, section 4: relatedness within bins of similarity",
                      others.str_bins),
    "sun-table1": Table("Sun et al., Table 1: seven sets without labels, and after NLI",
                        sun.table1),
    "sun-table2": Table("Sun et al., Table 2: trained on STSb", sun.table2, _START),
    "sun-table3": Table("Sun et al., Table 3: Argument Facet Similarity", sun.table3, _START),
    "sun-table4": Table("Sun et al., Table 4: Wikipedia Sections", sun.table4, _START),
    "sun-table5": Table("Sun et al., Table 5: the size of the corpus", _ablation, _ORIGIN),
    "sun-table6": Table("Sun et al., Table 6: the number of contexts", _ablation, _ORIGIN),
    "sun-table7": Table("Sun et al., Table 7: the number of harvested pairs", _ablation, _HARVEST),
    "sun-table8": Table("Sun et al., Table 8: the terms of Eq. 3", _ablation, _ORIGIN),
    "sun-construction": Table("Sun et al., section 5.4: how contexts are chosen", _ablation,
                              _ORIGIN),
    "sun-structures": Table("Sun et al., section 5.6: Siamese model and cross-encoder", _ablation,
                            _HARVEST),
}  # fmt: skip
"""All tables by name."""


def reproduce(
    name: str, run: str | Path | Run | None = None, data_dir: str | Path | None = None
) -> Result:
    """Measure a table, with the published figures next to the measured ones.

    What it trains is kept in the run, so that a second call trains nothing.

    Args:
        name: One of `TABLES`.
        run: A run; its settings `reproduce` and `paper` vary the table.
        data_dir: Folder with the evaluation sets.

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
    table = TABLES[name]
    cells, notes = table.measure(Request(name, opened, folder, settings.tables, seed))
    return Result(name, table.title, tuple(cells), tuple(dict.fromkeys(notes)))

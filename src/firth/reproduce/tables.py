"""The tables of the three papers by name, and the one function that measures them."""

from collections.abc import Callable, Mapping
from pathlib import Path

from firth.reproduce import cbos, relatedness, sun
from firth.reproduce.result import Findings, Request, Result
from firth.reproduce.settings import ReproduceSettings
from firth.run.errors import InputError
from firth.run.run import Run

_SEED = 13

TABLES: Mapping[str, tuple[str, Callable[[Request], Findings] | str]] = {
    "cbos-table1": ("CBOS, Table I: five systems on 20 STS sets (Pearson)", cbos.table1),
    "cbos-k": ("CBOS, Figure 3: number of neighbors", cbos.sweep_k),
    "cbos-m": ("CBOS, Figure 4: number of random sentences", cbos.sweep_m),
    "str-table2": ("STR-2021, Table 2: the kinds of pairs", relatedness.table2),
    "str-table4": ("STR-2021, Table 4: what makes sentences related", relatedness.table4),
    "str-table5": ("STR-2021, Table 5: models, and one that is fine-tuned", relatedness.table5),
    "str-table6": ("STR-2021, Table 6: fine-tuning across domains", relatedness.table6),
    "str-bins": ("STR-2021, section 4: relatedness within bins of similarity", relatedness.bins),
    "sun-table1": ("Sun et al., Table 1: seven sets without labels, and after NLI", sun.table1),
    "sun-table2": ("Sun et al., Table 2: trained on STSb", sun.table2),
    "sun-table3": ("Sun et al., Table 3: Argument Facet Similarity", sun.table3),
    "sun-table4": ("Sun et al., Table 4: Wikipedia Sections", sun.table4),
    "sun-table5": ("Sun et al., Table 5: the size of the corpus", "table5"),
    "sun-table6": ("Sun et al., Table 6: the number of contexts", "table6"),
    "sun-table7": ("Sun et al., Table 7: the number of harvested pairs", "table7"),
    "sun-table8": ("Sun et al., Table 8: the terms of Eq. 3", "table8"),
    "sun-construction": ("Sun et al., section 5.4: how contexts are chosen", "construction"),
    "sun-structures": ("Sun et al., section 5.6: Siamese model and cross-encoder", "structures"),
}
"""Title and measure of each table and figure; an ablation is named, because it imports torch."""


def reproduce(
    name: str, run: str | Path | Run | None = None, data_dir: str | Path | None = None
) -> Result:
    """Measure a table, with the published figures next to the measured ones.

    What it trains is kept in the run, so that a second call trains nothing. The settings
    `reproduce` and `paper` of the run vary the table.

    Raises:
        InputError: There is no such table or run, or no data to measure on.
        ConfigError: A setting is wrong.
    """
    if name not in TABLES:
        raise InputError(f"{name}: no such table. Expected one of {', '.join(TABLES)}")
    opened = None if run is None else Run.open(run)
    settings, seed = ReproduceSettings(), _SEED
    if opened is not None:
        settings, seed = opened.wing("reproduce", ReproduceSettings), opened.settings.seed
    folder = None if data_dir is None else Path(data_dir)
    title, measure = TABLES[name]
    if isinstance(measure, str):
        from firth.reproduce import ablations

        measure = getattr(ablations, measure)
    cells, notes = measure(Request(name, opened, folder, settings.tables, seed))
    return Result(name, title, tuple(cells), tuple(dict.fromkeys(notes)))

"""Results of this package: a table for a screen, as Markdown and as LaTeX; and their folder."""

import importlib.metadata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import firth
from firth.evaluate.metrics import CONFIDENCE, Estimate
from firth.evaluate.rows import EvaluationSet
from firth.evaluate.tables import escape
from firth.run.files import write_atomically, write_json
from firth.run.table import table

NONE = "\u2013"
SCHEMA = 1
"""Version of the JSON; it changes when a key changes its meaning or goes."""


@dataclass(frozen=True)
class TextTable:
    """Rows of text under headings; the first column is the row's name, and a row with one cell
    alone heads the rows below it. The caption says how to read it; remarks what a reader must know
    beside that.
    """

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str
    remarks: tuple[str, ...] = ()

    def text(self) -> str:
        """Columns for a screen, numbers to the right, then caption and remarks."""
        remarks = [f"({remark})" for remark in self.remarks]
        return "\n".join([table((self.headings, *self.rows)), self.caption, *remarks])

    def markdown(self) -> str:
        """A Markdown table, its caption, and its remarks as a list."""
        empty = ("",) * (len(self.headings) - 1)
        rows = [self.headings, ("---", *["---:"] * len(empty))]
        rows += [row if len(row) > 1 else (f"**{row[0]}**", *empty) for row in self.rows]
        lines = "".join(f"| {' | '.join(map(_plain, row))} |\n" for row in rows)
        remarks = "".join(f"- {_plain(remark)}\n" for remark in self.remarks)
        return f"{lines}\n{_plain(self.caption)}\n" + (f"\n{remarks}" if remarks else "")

    def latex(self) -> str:
        r"""A `table` with booktabs rules; remarks stand in it as comments."""
        width, rows = len(self.headings), []
        for place, row in enumerate(self.rows):
            rows += [r"\midrule"] if place == 0 or len(row) == 1 else []
            cells = " & ".join(map(escape, row))
            alone = rf"\multicolumn{{{width}}}{{l}}{{{cells}}}"
            rows.append((cells if len(row) > 1 else alone) + r" \\")
        lines = [
            r"% \usepackage[T1]{fontenc}\usepackage{booktabs}",
            r"\begin{table}",
            r"\centering",
            rf"\begin{{tabular}}{{l{'r' * (width - 1)}}}",
            r"\toprule",
            " & ".join(map(escape, self.headings)) + r" \\",
            *rows,
            r"\bottomrule",
            r"\end{tabular}",
            rf"\caption{{{escape(self.caption)}}}",
            *(f"% {' '.join(remark.split())}" for remark in self.remarks),
            r"\end{table}",
        ]
        return "\n".join(lines) + "\n"


def figure(estimate: Estimate | None) -> str:
    """`49.1 [46.5, 51.6]`, or a dash where there is none."""
    return NONE if estimate is None or estimate.value is None else str(estimate)


def describe(data: EvaluationSet) -> dict[str, Any]:
    """What a JSON document says about the pairs it is on."""
    return {
        "source": data.source,
        "rows": len(data.rows),
        "skipped": data.skipped,
        "fingerprint": data.fingerprint,
        "notes": list(data.notes),
    }


def write_results(
    folder: Path,
    document: Mapping[str, Any],
    settings: Mapping[str, Any],
    tables: Mapping[str, TextTable],
    *,
    libraries: Sequence[str] = (),
    command: str | None = None,
) -> None:
    """Write `results.json` (the document, what was asked, versions, the command line), and each
    table as Markdown and as LaTeX under its name.
    """
    for name, found in tables.items():
        for ending, text in (("md", found.markdown()), ("tex", found.latex())):
            with write_atomically(folder / f"{name}.{ending}") as partial:
                partial.write_text(text, encoding="utf-8")
    whole = {
        "schema": SCHEMA,
        **document,
        "settings": {**settings, "confidence": CONFIDENCE},
        "firth": firth.__version__,
        "command": command,
    }
    if libraries:
        whole["libraries"] = {name: importlib.metadata.version(name) for name in libraries}
    write_json(folder / "results.json", whole)


def write_columns(path: Path, columns: Mapping[str, Any]) -> None:
    """Write columns as a Parquet file, atomically."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with write_atomically(path) as partial:
        pq.write_table(pa.table(dict(columns)), partial, compression="zstd")


def _plain(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")

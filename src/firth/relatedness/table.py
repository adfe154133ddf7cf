"""A table of text cells: for a screen, as Markdown, as LaTeX."""

from dataclasses import dataclass

from firth.evaluate.metrics import Estimate
from firth.evaluate.tables import escape

NONE = "\u2013"


@dataclass(frozen=True)
class Table:
    """Rows of text under headings; the first column is the row's name.

    Attributes:
        headings: Of all columns.
        rows: Cells, as many as headings; a row with one cell alone heads the rows below it.
        caption: How to read the table, in sentences.
        remarks: What a reader must know beside that.
    """

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str
    remarks: tuple[str, ...] = ()

    def text(self) -> str:
        """Columns for a screen, numbers to the right, then caption and remarks."""
        whole = [row for row in (self.headings, *self.rows) if len(row) > 1]
        widths = [max(len(row[i]) for row in whole) for i in range(len(self.headings))]
        rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
        lines = []
        for row in (self.headings, *self.rows):
            cells = [row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]
            lines.append("  ".join(cells).rstrip())
        remarks = [f"({remark})" for remark in self.remarks]
        return "\n".join([lines[0], rule, *lines[1:], self.caption, *remarks])

    def markdown(self) -> str:
        """A Markdown table, its caption, and its remarks as a list."""
        empty = ("",) * (len(self.headings) - 1)
        rows = [self.headings, ("---", *["---:"] * len(empty))]
        rows += [row if len(row) > 1 else (f"**{row[0]}**", *empty) for row in self.rows]
        table = "".join(f"| {' | '.join(map(_plain, row))} |\n" for row in rows)
        remarks = "".join(f"- {_plain(remark)}\n" for remark in self.remarks)
        return f"{table}\n{_plain(self.caption)}\n" + (f"\n{remarks}" if remarks else "")

    def latex(self) -> str:
        r"""A `table` with booktabs rules; remarks stand in it as comments."""
        lines = [
            r"% \usepackage[T1]{fontenc}\usepackage{booktabs}",
            r"\begin{table}",
            r"\centering",
            rf"\begin{{tabular}}{{l{'r' * (len(self.headings) - 1)}}}",
            r"\toprule",
            " & ".join(map(escape, self.headings)) + r" \\",
        ]
        for place, row in enumerate(self.rows):
            if place == 0 or len(row) == 1:
                lines.append(r"\midrule")
            if len(row) == 1:
                heading = escape(row[0])
                lines.append(rf"\multicolumn{{{len(self.headings)}}}{{l}}{{{heading}}} \\")
            else:
                lines.append(" & ".join(map(escape, row)) + r" \\")
        lines += [
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


def _plain(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")

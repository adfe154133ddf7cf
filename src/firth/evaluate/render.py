"""A table as plain text, as Markdown and as LaTeX."""

from firth.evaluate.layout import Cell, Layout

_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "\u2212": "$-$",
    "\u00d7": r"$\times$",
    "±": r"$\pm$",
    "·": r"$\cdot$",
    "…": r"\ldots{}",
}
_SIGNS = {1: "+", 0: "", -1: "\u2212"}
_NONE = "\u2013"


def to_text(layout: Layout) -> str:
    """Columns for a screen, intervals below their values, then the caption."""
    rows = [["system", *layout.headings]]
    for name, cells in layout.rows:
        rows.append([name, *map(_value, cells)])
        if intervals := [_interval(cell) for cell in cells]:
            rows.append(["", *intervals])
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = [
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip()
        for row in rows
    ]
    return "\n".join([lines[0], "-" * max(map(len, lines)), *lines[1:], " ".join(layout.caption)])


def to_markdown(layout: Layout) -> str:
    """A Markdown table of values with intervals, its caption, and its remarks as a list."""
    rows = [["system", *layout.headings], ["---", *["---:"] * len(layout.headings)]]
    rows += [[_plain(name), *map(_markdown_cell, cells)] for name, cells in layout.rows]
    table = "".join(f"| {' | '.join(row)} |\n" for row in rows)
    caption = " ".join(map(_plain, layout.caption))
    return f"{table}\n{caption}\n\n" + "".join(f"- {_plain(text)}\n" for text in layout.remarks)


def to_latex(layout: Layout) -> str:
    r"""A `table*` with booktabs rules, intervals in small print below the values.

    It needs booktabs and graphicx, UTF-8, and the font encoding T1. Remarks stand in it as
    comments.
    """
    lines = [
        r"% \usepackage[T1]{fontenc}\usepackage{booktabs,graphicx}",
        r"\begin{table*}",
        r"\centering",
        r"\resizebox{\ifdim\width>\textwidth \textwidth\else\width\fi}{!}{%",
        rf"\begin{{tabular}}{{l{'r' * len(layout.headings)}}}",
        r"\toprule",
        " & ".join(["Model", *map(escape, layout.headings)]) + r" \\",
        r"\midrule",
    ]
    for name, cells in layout.rows:
        lines.append(" & ".join([escape(name), *map(_latex_value, cells)]) + r" \\")
        if any(cell is not None and cell.low is not None for cell in cells):
            lines.append(" & ".join(["", *map(_latex_interval, cells)]) + r" \\[2pt]")
    caption = " ".join(escape(remark) for remark in layout.caption)
    lines += [
        r"\bottomrule",
        r"\end{tabular}}",
        rf"\caption{{{caption}}}",
        *(f"% {remark}" for remark in layout.remarks),
        r"\end{table*}",
    ]
    return "\n".join(lines) + "\n"


def escape(text: str) -> str:
    r"""Text for LaTeX: `baseline:a_b` → `baseline:a\_b`."""
    return "".join(_LATEX.get(character, character) for character in text)


def _value(cell: Cell | None) -> str:
    if cell is None or cell.value is None:
        return _NONE
    return f"{cell.value:.1f}{_SIGNS[cell.verdict]}"


def _interval(cell: Cell | None) -> str:
    return "" if cell is None or cell.low is None else f"[{cell.low:.1f}, {cell.high:.1f}]"


def _markdown_cell(cell: Cell | None) -> str:
    return f"{_value(cell)} {_interval(cell)}".rstrip()


def _plain(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")


def _latex_value(cell: Cell | None) -> str:
    if cell is None or cell.value is None:
        return "--"
    sign = {1: "$^{+}$", 0: "", -1: "$^{-}$"}[cell.verdict]
    return f"{cell.value:.1f}{sign}"


def _latex_interval(cell: Cell | None) -> str:
    interval = _interval(cell)
    return rf"\tiny {interval}" if interval else ""

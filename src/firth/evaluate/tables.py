"""The table of a report in the layout of Sun et al. (2022, Table 1), as text, Markdown and LaTeX.

Systems × sets, and `Avg.`.
"""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from firth.evaluate.load import LeftOut
from firth.evaluate.metrics import Metric
from firth.evaluate.results import Comparison, Evaluation, GroupResult, Result
from firth.evaluate.task import ALL, TASKS
from firth.run.screen import escaped
from firth.run.table import table

AVERAGED = ("sts12", "sts13", "sts14", "sts15", "sts16", "sts-b", "sick-r")
"""The sets of Table 1, in its order: `Avg.` is over those of them that are there."""
_HEADINGS = {"sts-b": "STSb", "wiki-sections": "WikiSec.", "lee": "Lee"}
"""Where a set is not called by its name in capitals."""
_LATEX = str.maketrans(
    {character: "\\" + character for character in "&%$#_{}"}
    | {
        "\\": r"\textbackslash{}",
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
)
_SIGNS = {1: "+", 0: "", -1: "\u2212"}
_NONE = "\u2013"

_Set = tuple[str, str]


@dataclass(frozen=True)
class Cell:
    """A figure × 100 and its 95 % interval; `verdict` is 1, −1 or 0: clearly above or below the
    model of comparison, or neither."""

    value: float | None
    low: float | None = None
    high: float | None = None
    verdict: int = 0

    def __str__(self) -> str:
        """`49.1+`."""
        return _NONE if self.value is None else f"{self.value:.1f}{_SIGNS[self.verdict]}"

    @property
    def interval(self) -> str:
        """`[46.5, 51.6]`, or nothing."""
        return "" if self.low is None else f"[{self.low:.1f}, {self.high:.1f}]"


@dataclass(frozen=True)
class Layout:
    """A table as data: headings of its columns of figures; system and cells, one a column (empty
    where it has no figure); how to read the figures; what to know about models and data."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]
    caption: tuple[str, ...]
    remarks: tuple[str, ...]


def lay_out(
    evaluations: Sequence[Evaluation],
    groups: Sequence[GroupResult] = (),
    differences: Sequence[Comparison] = (),
    left_out: Sequence[LeftOut] = (),
) -> Layout:
    """Lay out a report: Table 1's sets, `Avg.`, then all other sets; groups below the models.

    Each set shows its usual metric over all rows. `Avg.` is the plain mean over those sets of
    Table 1 that were evaluated on their usual split, and empty for a system that lacks one.
    """
    metrics = {r.task: r.metric for one in evaluations for r in reversed(one.results)}

    def is_usual(result: Result | GroupResult) -> bool:
        return result.subtask == ALL and result.metric == metrics[result.task]

    sets = list(
        dict.fromkeys((r.task, r.split) for one in evaluations for r in one.results if is_usual(r))
    )
    averaged = [
        found for task in AVERAGED for found in sets if found[0] == task and _default(found)
    ]
    others = [found for found in sets if found not in averaged]
    verdicts = {
        (d.first, d.task, d.split, d.metric): 1 if (d.difference.value or 0) > 0 else -1
        for d in differences
        if d.subtask == ALL and d.difference.decided
    }

    def row(cells: dict[_Set, Cell]) -> tuple[Cell, ...]:
        known = [v for found in averaged if (v := cells.get(found, Cell(None)).value) is not None]
        whole = known and len(known) == len(averaged)
        mean = [Cell(statistics.fmean(known) if whole else None)] if len(averaged) > 1 else []
        first, last = ([cells.get(one, Cell(None)) for one in some] for some in (averaged, others))
        return (*first, *mean, *last)

    rows = []
    for one in evaluations:
        usual = [(r, verdicts.get((one.model, r.task, r.split, r.metric), 0))
                 for r in one.results if is_usual(r)]  # fmt: skip
        cells = {(r.task, r.split): Cell(r.value, r.low, r.high, verdict) for r, verdict in usual}
        rows.append((one.model, row(cells)))
    for group in dict.fromkeys(result.group for result in groups):
        of_group = [r for r in groups if r.group == group and is_usual(r)]
        cells = {(r.task, r.split): Cell(r.mean, r.low, r.high) for r in of_group}
        rows.append((f"{group}, mean of {len(of_group[0].models)}", row(cells)))
    headings = [*map(_heading, averaged), *(["Avg."] if len(averaged) > 1 else [])]
    remarks = list(dict.fromkeys(note for one in evaluations for note in one.notes))
    if left_out:
        names = ", ".join(f"{item.kind} {item.name}" for item in left_out)
        remarks.append(f"left out: {names} (the JSON says why)")
    seeds = list(filter(is_usual, groups))
    return Layout(
        headings=(*headings, *map(_heading, others)),
        rows=tuple(rows),
        caption=tuple(_caption(evaluations[0], seeds, differences, averaged, others, metrics)),
        remarks=tuple(remarks),
    )


def _caption(
    first: Evaluation,
    groups: Sequence[GroupResult],
    differences: Sequence[Comparison],
    averaged: Sequence[_Set],
    others: Sequence[_Set],
    metrics: Mapping[str, str],
) -> list[str]:
    unlike = [
        f"{_heading(found)}: {metrics[found[0]]}"
        for found in (*averaged, *others)
        if metrics[found[0]] != Metric.SPEARMAN.value
    ]
    remarks = [
        "Spearman times 100 over all rows of a set"
        + (f" ({'; '.join(unlike)})" if unlike else "")
        + f", with 95 % bootstrap intervals ({first.resamples:,} resamples, seed {first.seed})."
    ]
    if len(averaged) > 1:
        remarks.append(f"Avg.: mean over {', '.join(map(_heading, averaged))}.")
    if differences:
        second = differences[0].second
        remarks.append(f"+ and \u2212: clearly above or below {second} (paired bootstrap, 95 %).")
    for name, models in dict.fromkeys((result.group, result.models) for result in groups):
        spreads = [
            f"{_heading((r.task, r.split))} {r.deviation:.1f}"
            for r in groups
            if r.group == name and r.deviation is not None
        ]
        remarks.append(
            f"{name}: {', '.join(models)}; standard deviation over them: {', '.join(spreads)}."
        )
    return remarks


def _default(found: _Set) -> bool:
    return found[1] in TASKS[found[0]].default if found[0] in TASKS else found[1] == ALL


def _heading(found: _Set) -> str:
    named = found[0].upper() if found[0] in TASKS else found[0]
    name = _HEADINGS.get(found[0], named)
    return name if _default(found) else f"{name} {found[1]}"


def to_text(layout: Layout) -> str:
    """Columns for a screen, then the caption."""
    rows = [["system", *layout.headings]]
    rows += [[name, *map(_figure, cells)] for name, cells in layout.rows]
    return "\n".join([table(rows), " ".join(layout.caption)])


def to_markdown(layout: Layout) -> str:
    """A Markdown table of values with intervals, its caption, and its remarks as a list."""
    rows = [["system", *layout.headings], ["---", *["---:"] * len(layout.headings)]]
    rows += [[_plain(name), *map(_figure, cells)] for name, cells in layout.rows]
    lines = "".join(f"| {' | '.join(row)} |\n" for row in rows)
    caption = " ".join(map(_plain, layout.caption))
    remarks = "".join(f"- {_plain(text)}\n" for text in layout.remarks)
    return escaped(f"{lines}\n{caption}\n\n{remarks}")


def _figure(cell: Cell) -> str:
    return f"{cell} {cell.interval}".rstrip()


def _plain(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")


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
    signs = {1: "$^{+}$", 0: "", -1: "$^{-}$"}
    for name, cells in layout.rows:
        values = [
            "--" if cell.value is None else f"{cell.value:.1f}{signs[cell.verdict]}"
            for cell in cells
        ]
        lines.append(" & ".join([escape(name), *values]) + r" \\")
        if any(cell.interval for cell in cells):
            small = [rf"\tiny {cell.interval}" if cell.interval else "" for cell in cells]
            lines.append(" & ".join(["", *small]) + r" \\[2pt]")
    caption = " ".join(map(escape, layout.caption))
    lines += [
        r"\bottomrule",
        r"\end{tabular}}",
        rf"\caption{{{caption}}}",
        *("% " + remark.replace("\n", " ") for remark in layout.remarks),
        r"\end{table*}",
    ]
    return escaped("\n".join(lines) + "\n")


def escape(text: str) -> str:
    r"""Text for LaTeX: `baseline:a_b` → `baseline:a\_b`."""
    return text.translate(_LATEX)

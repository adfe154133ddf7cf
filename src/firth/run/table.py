"""Tables as text, 80 columns wide at most: no word and no interval is broken."""

import re
from collections.abc import Sequence
from itertools import zip_longest

from firth.run.screen import WIDTH

Row = Sequence[str]
_GAP = "  "
_LONG, _LONGEST = 20, 36
"""Longer pieces of a cell are parted after `/`, then at punctuation; the longest are shortened."""
_PIECE = re.compile(r"\[[^\]]*\] *|[^ \[]+ *|\[[^ ]* *")
_PARTS = (re.compile(r"[^/]*/+ *|[^/]+"), re.compile(r"[^-_:@]*[-_:@]+ *|[^-_:@]+"))
_FIGURE = re.compile(r"[-+\u2212\u2013±<]?[\d\[]|[-\u2013]?$")


def table(rows: Sequence[Row], *, keys: int = 1) -> str:
    r"""Columns under a heading and a rule, figures to the right.

    Columns that are too wide are wrapped: between words, after the `/` of a long path, and before
    an interval in brackets, never within one. What still does not fit stands below in a table of
    its own, which begins with the same first columns.

    Args:
        rows: The heading, and rows of as many cells, or of one: that is a line of its own. A
            no-break space in a cell is a space at which it is not broken.
        keys: Columns, at least 1, that say what a row is of.

    Example:
        >>> print(table([["model", "lee"], ["baseline:dice", "60.1 [52.3, 66.8]"]]))
        model                        lee
        -------------  -----------------
        baseline:dice  60.1 [52.3, 66.8]
    """
    whole = [row for row in rows if len(row) > 1 or row is rows[0]]
    columns = [_Column([row[i] for row in whole], i == 0) for i in range(len(rows[0]))]
    panels: list[list[int]] = []
    shown = list(range(keys))
    for place in range(keys, len(columns)):
        if len(shown) > keys and _widths([columns[i] for i in (*shown, place)]) is None:
            panels.append(shown)
            shown = list(range(keys))
        shown.append(place)
    panels.append(shown)
    return "\n\n".join(_panel(rows, columns, shown) for shown in panels)


class _Column:
    """Its cells, how wide it would be, and how narrow it can be."""

    def __init__(self, cells: Row, first: bool) -> None:
        self.pieces = {cell: _pieces(cell) for cell in cells}
        self.natural = max(
            (len("".join(each).rstrip()) for each in self.pieces.values()), default=0
        )
        self.least = max(
            (len(piece.rstrip()) for each in self.pieces.values() for piece in each), default=0
        )
        self.right = not first and len(cells) > 1 and all(_FIGURE.match(cell) for cell in cells[1:])

    def lines(self, cell: str, width: int) -> list[str]:
        """A cell in lines of at most `width`."""
        lines = [""]
        for piece in self.pieces[cell]:
            if lines[-1] and len((lines[-1] + piece).rstrip()) > width:
                lines.append("")
            lines[-1] += piece
        justify = str.rjust if self.right else str.ljust
        return [justify(line.rstrip().replace("\u00a0", " "), width) for line in lines]


def _pieces(cell: str) -> list[str]:
    """What a cell may be broken between."""
    found = _PIECE.findall(cell.strip())
    if found:  # what stands further in, stays so
        found[0] = cell[: len(cell) - len(cell.lstrip(" "))] + found[0]
    for part in _PARTS:
        found = [each for one in found for each in _parted(one, part)]
    return [each if len(each) <= _LONGEST else f"\u2026{each[1 - _LONGEST :]}" for each in found]


def _parted(piece: str, part: re.Pattern[str]) -> list[str]:
    is_short = len(piece.rstrip()) <= _LONG or piece.startswith("[")
    return [piece] if is_short else part.findall(piece)


def _widths(columns: Sequence[_Column]) -> list[int] | None:
    """How wide each is, at most `WIDTH` together, the widest narrowed first; None: they cannot."""
    widths = [column.natural for column in columns]
    over = sum(widths) + len(_GAP) * (len(columns) - 1) - WIDTH
    while over > 0:
        room = [i for i, column in enumerate(columns) if widths[i] > column.least]
        if not room:
            return None
        widths[max(room, key=lambda i: widths[i])] -= 1
        over -= 1
    return widths


def _panel(rows: Sequence[Row], columns: Sequence[_Column], shown: Sequence[int]) -> str:
    some = [columns[i] for i in shown]
    widths = _widths(some) or [column.least for column in some]
    lines = []
    for row in rows:
        if len(row) == 1 and len(columns) > 1:
            lines.append(row[0])
            continue
        cells = [
            column.lines(row[i], width)
            for i, column, width in zip(shown, some, widths, strict=True)
        ]
        for parts in zip_longest(*cells, fillvalue=""):
            line = _GAP.join(map(str.ljust, parts, widths))
            lines.append(line.rstrip())
        if row is rows[0]:
            lines.append(_GAP.join("-" * width for width in widths))
    return "\n".join(lines)

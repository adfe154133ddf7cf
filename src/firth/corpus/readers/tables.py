"""Tables of text: CSV and TSV, a record a row."""

import csv
import re
from collections import deque
from collections.abc import Iterator

from firth.corpus.formats import Format
from firth.corpus.inputs import Problem, Reason, Source
from firth.corpus.lines import Line
from firth.corpus.records import Item, no_column, record_of, text_fields
from firth.corpus.settings import CorpusConfig


def read_table(source: Source, lines: Iterator[Line], config: CorpusConfig) -> Iterator[Item]:
    """Records of a .csv (RFC 4180: quotes, line ends inside them) or .tsv (no quoting) file.

    The first row names the columns. A row with more or fewer fields than that is broken;
    without a usable first row, so is the file.
    """
    header: list[str] | None = None
    for line, row in _Rows(lines, source.format is Format.CSV, config.max_record_bytes):
        if isinstance(row, _BrokenRowError):
            yield Problem(source.name, line, row.reason, row.detail)
            if header is None:
                return
        elif header is None:
            header = [name.strip() for name in row]
            if lacking := [name for name in text_fields(config) if name not in header]:
                yield no_column(source, line, lacking[0], header)
                return
        elif any(not field.isascii() and _SURROGATE.search(field) for field in row):
            yield Problem(source.name, line, Reason.INVALID_UTF8, "bytes that are not UTF-8")
        else:
            yield record_of(dict(zip(header, row, strict=True)), source.name, line, config)


_SURROGATE = re.compile("[\udc80-\udcff]")


class _BrokenRowError(Exception):
    def __init__(self, reason: Reason, detail: str) -> None:
        self.reason, self.detail = reason, detail


class _Rows:
    """Rows of a table as (line, fields or what is wrong); the first row sets their length.

    After one stray quote the `csv` module would read on through the whole file. Here a row that
    turns out broken gives back all but its first line, so that only that line is lost. Of the lines
    given back none is read on from again: it would end in the same break, and where every line has
    such a quote the time would grow with the square of their number.
    """

    def __init__(self, lines: Iterator[Line], quoted: bool, max_bytes: int) -> None:
        self._lines, self._quoted, self._max_bytes = lines, quoted, max_bytes
        self._fields: int | None = None
        self._given_back: deque[Line] = deque()
        self._break = 0
        csv.field_size_limit(max(csv.field_size_limit(), max_bytes))

    def __iter__(self) -> Iterator[tuple[int, list[str] | _BrokenRowError]]:
        while (first := self._next()) is not None:
            used = [first]
            try:
                if first.flaw is not None:
                    raise _BrokenRowError(first.flaw, first.detail)
                if first.content:
                    yield first.number, self._row(used)
            except _BrokenRowError as broken:
                self._break = max(self._break, used[-1].number)
                self._given_back.extendleft(reversed(used[1:]))
                yield first.number, broken

    def _next(self) -> Line | None:
        return self._given_back.popleft() if self._given_back else next(self._lines, None)

    def _row(self, used: list[Line]) -> list[str]:
        if self._quoted:
            try:
                row = next(csv.reader(self._text(used), strict=True))
            except csv.Error as error:
                raise _BrokenRowError(Reason.BROKEN_ROW, str(error)) from None
        else:
            row = _decoded(used[0]).split("\t")
        self._fields = self._fields or len(row)
        if len(row) != self._fields:
            detail = f"{len(row)} fields, the first row has {self._fields}"
            raise _BrokenRowError(Reason.BROKEN_ROW, detail)
        return row

    def _text(self, used: list[Line]) -> Iterator[str]:
        """Lines for one record: the first of `used`, then more while the record goes on."""
        yield _decoded(used[0]) + "\n"
        size = len(used[0].content)
        if used[0].number < self._break:
            detail = f"a quote is not closed, as in the lines before; they break at {self._break}"
            raise _BrokenRowError(Reason.BROKEN_ROW, detail)
        while (line := self._next()) is not None:
            used.append(line)
            size += len(line.content) + 1
            if line.flaw is not None:
                raise _BrokenRowError(Reason.BROKEN_ROW, f"in quotes at line {line.number}")
            if size > self._max_bytes:
                detail = f"a quote is not closed within {self._max_bytes:,} bytes"
                raise _BrokenRowError(Reason.TOO_LONG, detail)
            yield _decoded(line) + "\n"
        raise _BrokenRowError(Reason.BROKEN_ROW, "a quote is never closed")


def _decoded(line: Line) -> str:
    """As `csv` wants it; a lone carriage return would end the record, and is a blank here."""
    return line.content.replace(b"\r", b" ").decode(errors="surrogateescape")

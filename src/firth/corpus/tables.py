"""Comma- and tab-separated tables, record by record, with the line each record starts on.

The `csv` module alone would read on through the whole file after one stray quote. Here a record
that turns out broken gives back all but its first line, so that only that line is lost.
"""

import csv
from collections import deque
from collections.abc import Iterator
from typing import Literal

from firth.corpus.inputs import Format, Source
from firth.corpus.lines import Advance, Line, read_lines
from firth.corpus.records import Item, Problem, Reason, record_of
from firth.corpus.settings import CorpusConfig


class _BrokenRowError(Exception):
    def __init__(self, reason: Reason, detail: str) -> None:
        self.reason, self.detail = reason, detail


class _Rows:
    """Rows of a table as (line, fields or what is wrong); the first row sets their length."""

    def __init__(self, source: Source, lines: Iterator[Line], max_bytes: int) -> None:
        self._quoting: Literal[0, 3] = (
            csv.QUOTE_NONE if source.format is Format.TSV else csv.QUOTE_MINIMAL
        )
        self._delimiter = "\t" if source.format is Format.TSV else ","
        self._lines, self._max_bytes = lines, max_bytes
        self._fields: int | None = None
        self._given_back: deque[Line] = deque()
        csv.field_size_limit(max(csv.field_size_limit(), max_bytes))

    def __iter__(self) -> Iterator[tuple[int, list[str] | _BrokenRowError]]:
        while (first := self._next()) is not None:
            if first.flaw is not None:
                yield first.number, _BrokenRowError(first.flaw, first.detail)
            elif first.content:
                used = [first]
                try:
                    yield first.number, self._parse(used)
                except _BrokenRowError as broken:
                    self._given_back.extendleft(reversed(used[1:]))
                    yield first.number, broken

    def _next(self) -> Line | None:
        return self._given_back.popleft() if self._given_back else next(self._lines, None)

    def _parse(self, used: list[Line]) -> list[str]:
        reader = csv.reader(
            self._text(used), strict=True, delimiter=self._delimiter, quoting=self._quoting
        )
        try:
            row = next(reader)
        except csv.Error as error:
            raise _BrokenRowError(Reason.BROKEN_ROW, str(error)) from None
        except StopIteration:
            raise _BrokenRowError(Reason.BROKEN_ROW, "a quote is never closed") from None
        if self._fields is None:
            self._fields = len(row)
        if len(row) != self._fields:
            detail = f"{len(row)} fields, the first row has {self._fields}"
            raise _BrokenRowError(Reason.BROKEN_ROW, detail)
        return row

    def _text(self, used: list[Line]) -> Iterator[str]:
        """Lines for one record: the first of `used`, then more while the record goes on."""
        yield _decoded(used[0])
        size = len(used[0].content)
        while (line := self._next()) is not None:
            used.append(line)
            size += len(line.content) + 1
            if line.flaw is not None:
                raise _BrokenRowError(Reason.BROKEN_ROW, f"in quotes at line {line.number}")
            if size > self._max_bytes:
                detail = f"a quote is not closed within {self._max_bytes:,} bytes"
                raise _BrokenRowError(Reason.TOO_LONG, detail)
            yield _decoded(line)


def _decoded(line: Line) -> str:
    """As `csv` wants it; a lone carriage return would end the record, and is a blank here."""
    return line.content.replace(b"\r", b" ").decode(errors="surrogateescape") + "\n"


def read_table(source: Source, config: CorpusConfig, advance: Advance) -> Iterator[Item]:
    """Records of a .csv (RFC 4180: quotes, line ends inside them) or .tsv (no quoting) file.

    The first row names the columns. A row with more or fewer fields than that is broken;
    without a usable first row, so is the file.
    """
    header: list[str] | None = None
    lines = read_lines(source, config.max_record_bytes, advance)
    for line, row in _Rows(source, lines, config.max_record_bytes):
        if isinstance(row, _BrokenRowError):
            yield Problem(source.name, line, row.reason, row.detail)
            if header is None:
                return
        elif header is None:
            header = [name.strip() for name in row]
            if config.text_field not in header:
                detail = f"no column {config.text_field!r}; columns: {', '.join(header[:8])}"
                yield Problem(source.name, line, Reason.MISSING_FIELD, detail)
                return
        elif any("\udc80" <= character <= "\udcff" for character in _suspects(row)):
            yield Problem(source.name, line, Reason.INVALID_UTF8, "bytes that are not UTF-8")
        else:
            yield record_of(dict(zip(header, row, strict=True)), source.name, line, config)


def _suspects(row: list[str]) -> str:
    """The non-ASCII fields, joined: most rows have none, and are cheap to clear."""
    return "".join(field for field in row if not field.isascii())

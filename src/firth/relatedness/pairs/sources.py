"""Sentences and pairs as they are read: one a line, a column, a field, or the corpus of a run."""

import csv
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from firth.corpus.inputs import Format, Source, resolve_inputs
from firth.corpus.lines import Advance, read_lines
from firth.run.errors import InputError
from firth.run.files import fingerprint_file
from firth.run.progress import bar
from firth.run.run import CONFIG

SENTENCE_COLUMNS = ("sentence", "text")
PAIR_COLUMNS = ("sentence1", "sentence2")
_MAX_BYTES = 1 << 20
_RUN_BLOCK = 16_384


class LeftOut(StrEnum):
    """Why something that was read is not in the sample."""

    BROKEN = "broken line"
    EMPTY = "no word in it"
    SHORT = "too short"
    LONG = "too long"
    REPEATED = "repeated"
    EQUAL = "both sentences the same"
    LENGTHS = "lengths too different"
    LOW = "too little overlap"
    HIGH = "too much overlap"
    NO_PARTNER = "no partner that fits"
    OUTSIDE = "score outside the range"


@dataclass(frozen=True)
class Read:
    """One record.

    Attributes:
        place: Where it stands: a line, or the number of a sentence of a run (from 0).
        texts: The wanted columns, blanks collapsed, so that none holds a tab or a line feed.
        extra: Further columns asked for (score, group), as text.
    """

    place: int
    texts: tuple[str, ...]
    extra: tuple[str, ...] = ()


class Origin:
    """A source that can be read.

    Args:
        path: A file, folder or glob (.txt .tsv .csv .jsonl, each also .gz .zst), or a run.
        columns: Columns (fields) of the texts; None for the usual ones.
        extra: Further columns that must be there.
        pairs: Whether two texts a record are wanted.

    Raises:
        InputError: Nothing can be read there, or what was asked for does not suit it.
    """

    def __init__(
        self,
        path: str | Path,
        columns: Sequence[str] | None = None,
        *,
        extra: Sequence[str] = (),
        pairs: bool = False,
    ) -> None:
        self.path, self.columns, self.extra = Path(path), columns, tuple(extra)
        self.wanted = 2 if pairs else 1
        self.left_out: Counter[LeftOut] = Counter()
        self.examples: list[str] = []
        if columns is not None and len(columns) != self.wanted:
            raise InputError(
                f"got {len(columns)} columns of texts, {', '.join(columns)}; expected {self.wanted}"
            )
        self.is_run = (self.path / CONFIG).is_file()
        self._sources = () if self.is_run else tuple(resolve_inputs([str(path)]))
        readable = (Format.TEXT, Format.JSON_LINES, Format.CSV, Format.TSV)
        unread = [s.path for s in self._sources if s.format not in readable]
        if unread:
            raise InputError(f"{unread[0]}: expected .txt, .tsv, .csv or .jsonl, or a run")
        if (pairs or extra) and (
            self.is_run or any(source.format is Format.TEXT for source in self._sources)
        ):
            what = "pairs" if pairs else f"a column {', '.join(extra)}"
            raise InputError(f"{path}: expected a .tsv, .csv or .jsonl, which can hold {what}")

    def fingerprint(self) -> dict[str, str]:
        """Name → BLAKE2b-160 of each file; of a run, the digest of its corpus."""
        if self.is_run:
            from firth.corpus import CORPUS
            from firth.run.run import Run
            from firth.run.stage import Manifest

            manifest = Manifest.read(Run.open(self.path).folder(CORPUS))
            return {"corpus": manifest.digest if manifest else ""}
        return {source.name: fingerprint_file(Path(source.path)) for source in self._sources}

    def read(self, min_words: int, max_words: int) -> Iterator[Read]:
        """Good records in order; broken ones are counted in `left_out`.

        Args:
            min_words: Of a run, sentences of fewer words are counted without being read.
            max_words: Likewise of more words.
        """
        if self.is_run:
            yield from self._run(min_words, max_words)
            return
        for source in self._sources:
            size = Path(source.path).stat().st_size
            with bar(f"Reading {source.name}", size) as shown:
                yield from self._file(source, shown.advance)

    def _run(self, min_words: int, max_words: int) -> Iterator[Read]:
        import numpy as np

        from firth.corpus.corpus import Corpus

        corpus = Corpus.open(self.path)
        lengths = np.asarray(corpus.word_counts)
        self.left_out[LeftOut.SHORT] += int((lengths < min_words).sum())
        self.left_out[LeftOut.LONG] += int((lengths > max_words).sum())
        chosen = np.flatnonzero((lengths >= min_words) & (lengths <= max_words))
        with bar(f"Reading {self.path}", len(chosen)) as shown:
            for start in range(0, len(chosen), _RUN_BLOCK):
                places = chosen[start : start + _RUN_BLOCK]
                for place, text in zip(places.tolist(), corpus.texts(places), strict=True):
                    yield Read(place, (_clean(text),))
                shown.advance(len(places))

    def _file(self, source: Source, advance: Advance) -> Iterator[Read]:
        lines = self._lines(source, advance)
        match source.format:
            case Format.TEXT:
                for number, line in lines:
                    if line.strip():
                        yield Read(number, (_clean(line),))
            case Format.JSON_LINES:
                yield from self._json(source, lines)
            case Format.CSV | Format.TSV:
                yield from self._table(source, lines)

    def _lines(self, source: Source, advance: Advance) -> Iterator[tuple[int, str]]:
        for line in read_lines(source, _MAX_BYTES, advance):
            if line.flaw is not None:
                self._broken(source, line.number, line.detail)
                continue
            try:
                text = line.content.decode()
            except UnicodeDecodeError as error:
                self._broken(source, line.number, f"not UTF-8 (byte {error.start} of the line)")
                continue
            yield line.number, text

    def _json(self, source: Source, lines: Iterator[tuple[int, str]]) -> Iterator[Read]:
        names: tuple[str, ...] | None = None
        for number, line in lines:
            if not line.strip():
                continue
            try:
                record = json.loads(line)
            except (ValueError, RecursionError) as error:
                self._broken(source, number, f"broken JSON ({error})")
                continue
            if not isinstance(record, dict):
                self._broken(source, number, f"got {type(record).__name__}, expected an object")
                continue
            names = names or self._names(source, number, list(record))
            if missing := [name for name in (*names, *self.extra) if name not in record]:
                self._broken(source, number, f"no field {', '.join(missing)}")
                continue
            texts = [record[name] for name in names]
            if not all(isinstance(text, str) for text in texts):
                self._broken(source, number, f"{', '.join(names)}: expected strings")
                continue
            extra = tuple(str(record[name]) for name in self.extra)
            yield Read(number, tuple(map(_clean, texts)), extra)

    def _table(self, source: Source, lines: Iterator[tuple[int, str]]) -> Iterator[Read]:
        if source.format is Format.TSV:
            rows: Iterator[tuple[int, list[str]]] = (
                (number, line.split("\t")) for number, line in lines if line
            )
        else:
            rows = _comma_separated(source, lines)
        first = next(rows, None)
        if first is None:
            raise InputError(f"{source.path}: empty; expected a header")
        header = first[1]
        names = self._names(source, first[0], header)
        if missing := [name for name in self.extra if name not in header]:
            raise InputError(
                f"{source.path}, line {first[0]}: no column {', '.join(missing)}. "
                f"Got: {', '.join(header)}"
            )
        for number, cells in rows:
            if len(cells) != len(header):
                self._broken(source, number, f"{len(cells)} cells; the header has {len(header)}")
                continue
            record = dict(zip(header, cells, strict=True))
            texts = tuple(_clean(record[name]) for name in names)
            yield Read(number, texts, tuple(record[name] for name in self.extra))

    def _names(self, source: Source, line: int, there: list[str]) -> tuple[str, ...]:
        """The columns of the texts: those asked for, else the usual ones, else the only one."""
        if self.columns is not None:
            wanted = tuple(self.columns)
        elif self.wanted == 2:
            wanted = PAIR_COLUMNS
        else:
            usual = [name for name in SENTENCE_COLUMNS if name in there]
            wanted = tuple(usual[:1] or (there if len(there) == 1 else SENTENCE_COLUMNS[:1]))
        if missing := [name for name in wanted if name not in there]:
            raise InputError(
                f"{source.path}, line {line}: no column {', '.join(missing)}. Got: "
                f"{', '.join(there)}. Name the column of the texts with --column"
            )
        return wanted

    def _broken(self, source: Source, line: int, detail: str) -> None:
        self.left_out[LeftOut.BROKEN] += 1
        if len(self.examples) < 10:
            self.examples.append(f"{source.path}, line {line}: {detail}")


def _comma_separated(
    source: Source, lines: Iterator[tuple[int, str]]
) -> Iterator[tuple[int, list[str]]]:
    last = 0

    def text() -> Iterator[str]:
        nonlocal last
        for number, line in lines:
            last = number
            yield line + "\n"

    reader = csv.reader(text(), strict=True)
    try:
        for cells in reader:
            if cells:
                yield last, cells
    except csv.Error as error:
        raise InputError(f"{source.path}, line {last}: not CSV ({error})") from error


def _clean(text: str) -> str:
    # A JSON string may hold half a surrogate pair, which no UTF-8 file can.
    return " ".join(text.replace("\0", " ").encode("utf-8", "ignore").decode().split())

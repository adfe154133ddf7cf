"""Sentences and pairs as they are read (a line, a column, a field, the corpus of a run), one by one
checked: what is broken, too short, too long or there already is counted and left out.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

import numpy as np

from firth.corpus.formats import Format
from firth.corpus.inputs import Source, resolve_inputs
from firth.corpus.lines import Advance, read_lines
from firth.lexical.words import words
from firth.relatedness.pairs.overlap import Bags, Ints, bags_of, close_in_length
from firth.relatedness.pairs.settings import SampleSettings
from firth.relatedness.pairs.synonyms import Synonyms, replacements
from firth.run.errors import InputError
from firth.run.files import fingerprint_file
from firth.run.progress import bar
from firth.run.rows import Cells, comma_separated, listed
from firth.run.run import CONFIG
from firth.run.stage import Manifest

SENTENCE_COLUMNS = ("sentence", "text")
PAIR_COLUMNS = ("sentence1", "sentence2")
_MAX_BYTES = 1 << 20
_RUN_BLOCK = 16_384
_EXAMPLES = 10


class WhyLeftOut(StrEnum):
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
class SourceRecord:
    """One record: where it stands (a line, or the number of a sentence of a run, from 0), its texts
    with blanks collapsed (none holds a tab or a line feed), and further columns asked for, as text.
    """

    place: int
    texts: tuple[str, ...]
    extra: tuple[str, ...] = ()


class SentenceSource:
    """A source that can be read: a file, folder or glob (.txt .tsv .csv .jsonl, each also .gz
    .zst), or a run; columns (fields) of the texts, two a record for `pairs` (None: the usual ones),
    and `extra` ones that must be there.

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
        self.left_out: Counter[WhyLeftOut] = Counter()
        self.examples: list[str] = []
        if columns is not None and len(columns) != self.wanted:
            raise InputError(
                f"got {len(columns)} columns of texts, {', '.join(columns)}; expected {self.wanted}"
            )
        self.is_run = (self.path / CONFIG).is_file()
        self._sources = () if self.is_run else tuple(resolve_inputs([str(path)]))
        unread = [s.path for s in self._sources if s.format in (Format.PARQUET, Format.HUB)]
        if unread:
            raise InputError(f"{unread[0]}: expected .txt, .tsv, .csv or .jsonl, or a run")
        texts_only = self.is_run or any(s.format is Format.TEXT for s in self._sources)
        if (pairs or extra) and texts_only:
            what = "pairs" if pairs else f"a column {', '.join(extra)}"
            raise InputError(f"{path}: expected a .tsv, .csv or .jsonl, which can hold {what}")

    def fingerprint(self) -> dict[str, str]:
        """Name → BLAKE2b-160 of each file; of a run, the digest of its corpus."""
        if self.is_run:
            from firth.corpus import CORPUS
            from firth.run.run import Run

            manifest = Manifest.read(Run.open(self.path).folder(CORPUS))
            return {"corpus": manifest.digest if manifest else ""}
        return {source.name: fingerprint_file(Path(source.path)) for source in self._sources}

    def read(self, min_words: int, max_words: int) -> Iterator[SourceRecord]:
        """Good records in order; broken ones are counted in `left_out`. Of a run, sentences of
        fewer or more words than these are counted without being read.
        """
        if self.is_run:
            yield from self._run(min_words, max_words)
        for source in self._sources:
            with bar(f"Reading {source.name}", Path(source.path).stat().st_size) as shown:
                yield from self._file(source, shown.advance)

    def _run(self, min_words: int, max_words: int) -> Iterator[SourceRecord]:
        from firth.corpus.corpus import Corpus

        corpus = Corpus.open(self.path)
        lengths = np.asarray(corpus.word_counts)
        self.left_out[WhyLeftOut.SHORT] += int((lengths < min_words).sum())
        self.left_out[WhyLeftOut.LONG] += int((lengths > max_words).sum())
        chosen = np.flatnonzero((lengths >= min_words) & (lengths <= max_words))
        with bar(f"Reading {self.path}", len(chosen)) as shown:
            for start in range(0, len(chosen), _RUN_BLOCK):
                places = chosen[start : start + _RUN_BLOCK]
                for place, text in zip(places.tolist(), corpus.texts(places), strict=True):
                    yield SourceRecord(place, (_clean(text),))
                shown.advance(len(places))

    def _file(self, source: Source, advance: Advance) -> Iterator[SourceRecord]:
        lines = self._lines(source, advance)
        match source.format:
            case Format.TEXT:
                yield from (SourceRecord(n, (_clean(line),)) for n, line in lines if line.strip())
            case Format.JSON_LINES:
                yield from self._json(source, lines)
            case Format.TSV:
                rows = ((number, line.split("\t")) for number, line in lines if line)
                yield from self._table(source, rows)
            case Format.CSV:
                yield from self._table(source, comma_separated(Path(source.path), _all(lines)))

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

    def _json(self, source: Source, lines: Iterator[tuple[int, str]]) -> Iterator[SourceRecord]:
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
            yield SourceRecord(number, tuple(map(_clean, texts)), extra)

    def _table(self, source: Source, rows: Iterator[Cells]) -> Iterator[SourceRecord]:
        rows = ((number, cells) for number, cells in rows if cells)
        first = next(rows, None)
        if first is None:
            raise InputError(f"{source.path}: empty; expected a header")
        line, header = first
        names = self._names(source, line, header)
        if missing := [name for name in self.extra if name not in header]:
            raise InputError(
                f"{source.path}, line {line}: no column {', '.join(missing)}. Got: {listed(header)}"
            )
        for number, cells in rows:
            if len(cells) != len(header):
                self._broken(source, number, f"{len(cells)} cells; the header has {len(header)}")
                continue
            record = dict(zip(header, cells, strict=True))
            texts = tuple(_clean(record[name]) for name in names)
            yield SourceRecord(number, texts, tuple(record[name] for name in self.extra))

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
                f"{listed(there)}. Name the column of the texts with --column"
            )
        return wanted

    def _broken(self, source: Source, line: int, detail: str) -> None:
        self.left_out[WhyLeftOut.BROKEN] += 1
        if len(self.examples) < _EXAMPLES:
            self.examples.append(f"{source.path}, line {line}: {detail}")


def _all(lines: Iterator[tuple[int, str]]) -> Iterator[str]:
    """Lines for the csv module, which counts them: broken ones, left out before, are blank."""
    before = 0
    for number, line in lines:
        yield from ["\n"] * (number - before - 1)
        yield line + "\n"
        before = number


def _clean(text: str) -> str:
    # A JSON string may hold half a surrogate pair, which no UTF-8 file can.
    return " ".join(text.replace("\0", " ").encode("utf-8", "ignore").decode().split())


@dataclass(frozen=True, eq=False)
class Sentences:
    """n sentences that may be used, and where each stands in the source; no two with the same words
    in the same order, unless pairs are given: pair k is sentences 2k and 2k + 1. Their words,
    synonyms replaced; the number of the group of each, (n,), or None; records read, broken ones not
    counted; reason → how many were left out; words that a synonym stands for; and the score of each
    given pair as it was read, empty where none was asked for.
    """

    texts: list[str]
    places: list[int]
    bags: Bags
    groups: Ints | None
    read: int
    left_out: Counter[WhyLeftOut]
    replaced: int
    scores: list[str] = field(default_factory=list)


def collect(
    source: SentenceSource, settings: SampleSettings, synonyms: Synonyms | None
) -> Sentences:
    """Read sentences, or pairs where the source holds them. Left out is what is too short, too long
    or there already, and pairs of equal sentences or of lengths too different. The source's extra
    column is the group of a sentence, or the score of a pair.
    """
    texts: list[str] = []
    places: list[int] = []
    tokens: list[list[str]] = []
    extra: list[str] = []
    known: dict[str, str] = {}  # one object a word, not one an occurrence
    seen: set[tuple[int, ...]] = set()
    read = 0
    left_out, paired = source.left_out, source.wanted == 2
    for record in source.read(settings.min_words, settings.max_words):
        read += 1
        found = [words(text) for text in record.texts]
        key = tuple(sorted(map(_key, found)))
        lengths = [len(one) for one in found]
        reason = next(filter(None, (_length_problem(length, settings) for length in lengths)), None)
        if reason is None and paired and key[0] == key[1]:
            reason = WhyLeftOut.EQUAL
        elif reason is None and key in seen:
            reason = WhyLeftOut.REPEATED
        elif reason is None and not close_in_length(
            lengths[0], lengths[-1], settings.length_tolerance
        ):
            reason = WhyLeftOut.LENGTHS
        if reason is not None:
            left_out[reason] += 1
            continue
        seen.add(key)
        texts += record.texts
        places += [record.place] * len(found)
        tokens += ([known.setdefault(word, word) for word in one] for one in found)
        extra += record.extra
    if source.is_run:
        read += left_out[WhyLeftOut.SHORT] + left_out[WhyLeftOut.LONG]
    frequencies = Counter(word for sentence in tokens for word in sentence) if synonyms else {}
    replace = replacements(synonyms, frequencies) if synonyms else {}
    groups = None
    if source.extra and not paired:
        numbers = {name: number for number, name in enumerate(dict.fromkeys(extra))}
        groups = np.array([numbers[name] for name in extra], np.int64)
    bags, scores = bags_of(tokens, replace), extra if paired else []
    return Sentences(texts, places, bags, groups, read, left_out, len(replace), scores)


def _length_problem(length: int, settings: SampleSettings) -> WhyLeftOut | None:
    if not length:
        return WhyLeftOut.EMPTY
    if length < settings.min_words:
        return WhyLeftOut.SHORT
    return WhyLeftOut.LONG if length > settings.max_words else None


def _key(tokens: list[str]) -> int:
    """64 bits for a sequence of words: a million sentences are held in little memory."""
    digest = hashlib.blake2b(" ".join(tokens).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big")

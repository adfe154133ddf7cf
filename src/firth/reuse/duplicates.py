"""Which sentences, or documents, of a run say the same: groups of an original and its copies."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from textwrap import fill, shorten
from typing import Any

import numpy as np

from firth.corpus import ADDED, CORPUS
from firth.corpus.build import DUPLICATES
from firth.corpus.drawn import Pairs as Drawn
from firth.corpus.library import Library
from firth.corpus.store import DATE
from firth.lexical.arrays import Ints
from firth.lexical.words import words
from firth.reuse.chance import check_bounds, scale_threshold, sentence_threshold
from firth.reuse.compare import kind_of
from firth.reuse.copies import Forms
from firth.reuse.groups import Star, stars
from firth.reuse.kinds import Kind, Unit
from firth.reuse.mine import mine
from firth.reuse.neighbours import NONE, Pairs, similar_pairs
from firth.reuse.vectors import sentence_vectors
from firth.run.files import write_atomically
from firth.run.progress import track
from firth.run.run import Run
from firth.scale.scale import Scale, Scorer
from firth.search.among import Among

RATE = 0.001
"""Share of the pairs of sentences of one document that may be taken for alike."""
MIN_WORDS = 6
"""Shorter sentences are found in any large corpus by chance."""
SAME = 0.5
"""Score of documents of which one re-tells the other: half of their words are aligned, or more."""
READ_FIRST = "The original of a group is what was read first: no document has a date."
EARLIEST = "The original of a group is the earliest by date; what has no date comes last."
_SHOWN = 5
_WIDTH = 80


@dataclass(frozen=True)
class Item:
    """A sentence or document of a group.

    Attributes:
        document, title: Name and title of the document.
        sentence: Number of the sentence in it, counted from 1; 0: the document as a whole.
        text: The sentence; of a document the first one, or "" if it was dropped as a duplicate.
        kind: How near it is to the original; of the original itself `exact`.
        score: How alike, in [0, 1]: shared bigrams of what is near, else what the model says.
        other_numbers: Whether a sentence has other numbers than the original, which models hardly
            see.
        date: Of the document, or "".
        above: Share of random pairs of the run that score lower; None where `score` is no cosine of
            the run's own vectors, or these have no scale.
    """

    document: str
    title: str
    sentence: int
    text: str
    kind: Kind
    score: float
    other_numbers: bool = False
    date: str = ""
    above: float | None = None

    @property
    def place(self) -> str:
        """Where it stands."""
        return f"{self.document}, sentence {self.sentence}" if self.sentence else self.document


@dataclass(frozen=True)
class Group:
    """An original, the earliest, and the later items that are like it, in that order.

    By date, then what has none; of one date or of none by the order of reading.
    """

    original: Item
    copies: tuple[Item, ...]


@dataclass(frozen=True)
class Duplicates:
    """Groups of what says the same.

    Attributes:
        unit: What was compared.
        compared: How many sentences or documents were looked at.
        groups: Those with the surest copy first: exact ones before near ones, then by score; of
            equally sure ones the largest, then in the order of reading.
        threshold: Least similarity of what is reworded; None where that was not looked for.
        model: What said so, or "".
        remarks: What else a reader must know.
    """

    unit: Unit
    compared: int
    groups: tuple[Group, ...]
    threshold: float | None
    model: str
    remarks: tuple[str, ...]

    def counts(self) -> dict[str, int]:
        """Groups, and copies of each kind."""
        kinds = [item.kind for group in self.groups for item in group.copies]
        return {"groups": len(self.groups), **{str(kind): kinds.count(kind) for kind in Kind}}

    def as_dict(self, top: int | None = None) -> dict[str, Any]:
        """Plain values, for JSON; of the first `top` groups only, where given."""
        names = ("unit", "compared", "threshold", "model", "remarks")
        summary = {name: getattr(self, name) for name in names}
        return {**summary, "found": self.counts(), "groups": [*map(asdict, self.groups[:top])]}

    def text(self, top: int = 10) -> str:
        """For people, at most 80 columns wide: the counts, and the first `top` groups."""
        return "\n".join(self._lines(top))

    def _lines(self, top: int) -> Iterator[str]:
        counts = self.counts()
        yield f"{self.compared:,} {self.unit}: {counts['groups']:,} groups"
        yield "copies: " + ", ".join(f"{counts[kind]:,} {kind}" for kind in Kind)
        if self.threshold is not None:
            yield f"reworded: at least {self.threshold:.2f} by {self.model}"
        for remark in self.remarks:
            yield fill(remark, _WIDTH)
        for number, group in enumerate(self.groups[:top], start=1):
            yield ""
            dated = f" ({group.original.date[:10]})" if group.original.date else ""
            yield shorten(f"{number}. {group.original.place}{dated}", _WIDTH, placeholder=" …")
            if group.original.text:
                yield "   " + shorten(group.original.text, _WIDTH - 3, placeholder=" …")
            for item in group.copies[:_SHOWN]:
                other = ", other numbers" if item.other_numbers else ""
                dated = f" ({item.date[:10]})" if item.date else ""
                line = f"{item.kind} {item.score:.2f}{other}: {item.place}{dated}"
                yield " - " + shorten(line, _WIDTH - 3, placeholder=" …")
                if item.kind is not Kind.EXACT and item.text:
                    yield "   " + shorten(item.text, _WIDTH - 3, placeholder=" …")
            if (more := len(group.copies) - _SHOWN) > 0:
                yield f"   and {more:,} more"

    def write(self, path: Path) -> None:
        """Write all groups: a `.parquet` file of a row an item, else JSON lines of a group each."""
        with write_atomically(path) as partial:
            if path.suffix == ".parquet":
                _write_parquet(partial, self.groups)
                return
            with partial.open("w", encoding="utf-8") as file:
                for group in self.groups:
                    file.write(json.dumps(asdict(group), ensure_ascii=False) + "\n")


def _write_parquet(path: Path, groups: Sequence[Group]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    text, number = pa.string(), pa.int64()
    columns = {"group": number, "original": pa.bool_(), "document": text, "title": text,
               "sentence": number, "text": text, "kind": text, "score": pa.float64(),
               "other_numbers": pa.bool_(), "date": text, "above": pa.float64()}  # fmt: skip
    rows = [
        {"group": n, "original": item is group.original, **asdict(item)}
        for n, group in enumerate(groups, start=1)
        for item in (group.original, *group.copies)
    ]
    pq.write_table(pa.Table.from_pylist(rows, pa.schema(columns)), path)


def duplicates(
    run: str | Path | Run,
    *,
    unit: str | Unit = Unit.SENTENCES,
    kind: str | Kind = Kind.REWORDED,
    model: str | Path | None = None,
    threshold: float | None = None,
    rate: float = RATE,
    min_words: int = MIN_WORDS,
    among: Among | None = None,
    seed: int | None = None,
) -> Duplicates:
    """Find the sentences, or documents, of a run that say the same.

    Args:
        run: All its documents are looked at, those held out included, unless `among` says which.
        unit: `sentences` or `documents`.
        kind: How far to look: `exact` (the same words), `near` (also nearly the same words), or
            `reworded` (also what a model takes for alike).
        model: Folder or hub name of a sentence-transformers model; by default the run's Surrogate.
        threshold: Least similarity of what is reworded: of sentences their cosine, of documents
            the score of their alignment (0.5 by default).
        rate: Or which share of the pairs of sentences of one document may reach it, in (0, 1); see
            `firth.reuse.chance`.
        min_words: Shorter sentences are passed over, at least 2.
        among: Which documents; what was dropped as a repetition goes with what it repeats.
        seed: Of samples; by default the run's (13).

    Raises:
        InputError: A model that cannot be read, `rate` or `threshold` out of range, or no document
            `among` those asked for.
        MissingStageError: The run has no corpus; or no Surrogate, where no model is given.
    """
    opened = Run.open(run)
    check_bounds(threshold, rate)
    search = _Search(opened, Kind(kind), model, threshold, rate, max(2, min_words),
                     among or Among(), opened.config.seed if seed is None else seed)  # fmt: skip
    return search.documents() if Unit(unit) is Unit.DOCUMENTS else search.sentences()


@dataclass(frozen=True)
class _Search:
    run: Run
    kind: Kind
    model: str | Path | None
    threshold: float | None
    rate: float
    min_words: int
    among: Among
    seed: int

    def sentences(self) -> Duplicates:
        library = Library.open(self.run)
        dates = library.document_dates()
        ranks = self._ranks(library, dates)
        asked = self.among.sentences(library)
        order = asked[np.argsort(ranks[library.document_of(asked)], kind="stable")]
        blocks = np.array_split(order, -(-len(order) // _BLOCK))
        texts = (library.texts(block) for block in track(blocks, "Reading sentences"))
        forms = Forms(texts, self.min_words)
        near = NONE if self.kind is Kind.EXACT else forms.near()
        alike, name, remarks = NONE, "", _remarks(library, dates)
        scale = Scale.current(self.run, Scorer.VECTORS) if self.model is None else None
        if self.kind is Kind.REWORDED:
            chosen = forms.distinct()
            with sentence_vectors(self.model, self.run, library, order[chosen]) as (vectors, name):
                least = self.threshold
                if least is None:
                    known = scale_threshold(self.run, self.rate) if self.model is None else None
                    documents = library.document_of(order[chosen])
                    least = known or sentence_threshold(vectors, documents, self.rate, self.seed)
                alike = similar_pairs(vectors, least, self.seed).of(chosen)
            if alike.threshold > least:
                remarks.append(f"Too many pairs are alike: the best {len(alike):,} were kept.")

        def item(number: int, kind: Kind, score: float, original: int) -> Item:
            place = int(order[number])
            d = int(library.document_of(place))
            inner = place - int(library.document_bounds[d]) + 1
            names = library.document_id(d), library.document_title(d)
            other = numbers_of(text(number)) != numbers_of(text(original))
            above = scale.shares(score)[Drawn.RANDOM] if scale and kind is Kind.REWORDED else None
            return Item(*names, inner, text(number), kind, score, other, dates[d], above)

        def text(number: int) -> str:
            return library.text(int(order[number]))

        groups = _assemble(near, alike, forms.repeats(), item, text)
        least = alike.threshold if self.kind is Kind.REWORDED else None
        compared = int(forms.long.sum())
        return Duplicates(Unit.SENTENCES, compared, groups, least, name, tuple(remarks))

    def documents(self) -> Duplicates:
        library = Library.open(self.run)
        own, dropped = library.document_dates(), _dropped(self.run)
        numbers = {(library.document_id(d), *library.document_source(d)): d
                   for d in range(library.n_documents)} if dropped else {}  # fmt: skip
        kept = [numbers[tuple(entry["kept"][name] for name in _NAMED)] for entry in dropped]
        # A document is as old as the oldest of its repetitions, which were dropped.
        dates = list(own)
        for d, entry in zip(kept, dropped, strict=True):
            dates[d] = min(filter(None, (dates[d], entry.get(DATE, ""))), default="")
        asked = np.unique(library.document_of(self.among.sentences(library)))
        order = asked[np.argsort(self._ranks(library, dates)[asked])]
        place = np.full(library.n_documents, -1)
        place[order] = np.arange(len(order))
        repeated = [(d, entry) for d, entry in zip(kept, dropped, strict=True) if place[d] >= 0]
        bounds = library.document_bounds

        def whole(number: int) -> str:
            d = int(order[number])
            return " ".join(library.texts(np.arange(bounds[d], bounds[d + 1])))

        near, alike, name = NONE, NONE, ""
        if self.kind is not Kind.EXACT:
            texts = map(whole, track(range(len(order)), "Reading documents"))
            near = Forms([texts], self.min_words).near()
        if self.kind is Kind.REWORDED:
            mined = mine(self.run, model=self.model, among=self.among, seed=self.seed)
            name = mined.model
            least = SAME if self.threshold is None else self.threshold
            alike = mined.between().of(place).above(least)
        repeats: dict[int, list[int]] = {}
        for number, (d, _) in enumerate(repeated, start=len(order)):
            repeats.setdefault(int(place[d]), []).append(number)

        def item(number: int, kind: Kind, score: float, original: int) -> Item:
            if number >= len(order):
                _, entry = repeated[number - len(order)]
                return Item(entry["id"], "", 0, "", kind, score, date=entry.get(DATE, ""))
            d = int(order[number])
            names, first = (library.document_id(d), library.document_title(d)), int(bounds[d])
            return Item(*names, 0, library.text(first), kind, score, date=own[d])

        groups = tuple(map(_oldest_first, _assemble(near, alike, repeats, item, whole)))
        compared = len(order) + len(repeated)
        threshold = alike.threshold if self.kind is Kind.REWORDED else None
        remarks = tuple(_remarks(library, dates))
        return Duplicates(Unit.DOCUMENTS, compared, groups, threshold, name, remarks)

    def _ranks(self, library: Library, dates: Sequence[str]) -> Ints:
        """Which place each document has by age, (n_documents,)."""
        read = reading_ranks(library, self.run.config.corpus.held_out)
        oldest_first = np.lexsort((read, np.array([date or _NEVER for date in dates])))
        ranks = np.empty(len(read), np.int64)
        ranks[oldest_first] = np.arange(len(read))
        return ranks


def _remarks(library: Library, dates: Sequence[str]) -> list[str]:
    later = library.remark()
    return [EARLIEST if any(dates) else READ_FIRST, *([later] if later else [])]


_BLOCK = 8_192
_NAMED = ("id", "source", "line")
_NEVER = "~"
"""Sorts behind all dates."""


def _oldest_first(group: Group) -> Group:
    """With the oldest of the original and its exact repetitions as the original."""
    same = [group.original, *(item for item in group.copies if item.kind is Kind.EXACT)]
    oldest = min(same, key=lambda item: item.date or _NEVER)
    if oldest is group.original:
        return group
    others = (item for item in group.copies if item is not oldest)
    text = group.original.text
    return Group(replace(oldest, text=text), (group.original, *others))


def _assemble(
    near: Pairs,
    alike: Pairs,
    repeats: Mapping[int, Sequence[int]],
    item: Callable[[int, Kind, float, int], Item],
    text: Callable[[int], str],
) -> tuple[Group, ...]:
    """Groups of what is paired, each item with its exact repetitions; the surest first."""
    found = stars(near, alike)
    taken = {copy for star in found for copy in star.copies.tolist()}
    taken |= {star.original for star in found}
    nothing = np.empty(0, np.int64), np.empty(0, np.float32)
    found += [Star(number, *nothing) for number in repeats if number not in taken]
    groups = []
    for star in sorted(found, key=lambda star: star.original):
        own = text(star.original) if len(star.copies) else ""
        copies = [(number, Kind.EXACT, 1.0) for number in repeats.get(star.original, ())]
        for copy, score in zip(star.copies.tolist(), star.scores.tolist(), strict=True):
            kind = kind_of(own, text(copy))
            copies += [(n, kind, min(1.0, score)) for n in (copy, *repeats.get(copy, ()))]
        number = star.original
        original = item(number, Kind.EXACT, 1.0, number)
        groups.append(Group(original, tuple(item(*copy, number) for copy in sorted(copies))))
    return tuple(sorted(groups, key=_sureness))


def _sureness(group: Group) -> tuple[int, float, int]:
    """By the surest copy, and of equally sure ones by how many there are."""
    surest = min(([*Kind].index(item.kind), -item.score) for item in group.copies)
    return *surest, -len(group.copies)


def numbers_of(text: str) -> Counter[str]:
    """The words of a text that have a digit, and how often."""
    return Counter(word for word in words(text) if any(map(str.isdigit, word)))


def reading_ranks(library: Library, every: int) -> Ints:
    """When each document was read, (n_documents,): ascending, and different.

    Args:
        library: Its second part is what was held out, if there is any; what was added follows.
        every: Every so-manieth document was held out.
    """
    ranks = np.arange(library.n_documents)
    if len(library.parts) > 1 and (apart := library.parts[1].n_documents):
        learned = library.parts[0].n_documents
        ranks[:learned] += ranks[:learned] // (every - 1)
        last = learned + apart  # of few documents the last was held out
        ranks[learned:last] = np.minimum(np.arange(1, apart + 1) * every, last) - 1
    return ranks


def _dropped(run: Run) -> list[dict[str, Any]]:
    """What `firth corpus build` and `add` dropped as a repetition of an earlier document."""
    found = []
    for stage in (CORPUS, ADDED) if run.has(ADDED) else (CORPUS,):
        with (run.folder(stage) / DUPLICATES).open(encoding="utf-8") as lines:
            found += [json.loads(line) for line in lines]
    return found

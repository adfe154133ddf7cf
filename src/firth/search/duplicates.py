"""Sentences, or documents, of a run that say the same: groups of a representative and its members.

Every member matches its group's representative itself. Components of all pairs would be simpler,
but in them a chain of others may join two texts that have nothing in common.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from textwrap import fill, shorten
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_matrix

from firth.run.console import WIDTH, progress
from firth.run.errors import InputError
from firth.run.run import Run
from firth.search.calibration import Calibration
from firth.search.documents import (
    RATE,
    UNSET,
    SomeVectors,
    check_threshold,
    find_reuse,
    selected,
)
from firth.search.index import Index
from firth.search.near import Kind, Pairs, WordTable, differences, kind_of, similar_pairs
from firth.text.arrays import Ints, ranges

Unit = Literal["sentence", "document"]
MIN_WORDS = 6
"""Shorter sentences are repeated in any large corpus by chance."""
SIMILAR = 0.8
"""Least cosine of similar sentences, whatever the corpus says. Of pairs of STSb from here on, nine
in ten are rated at least 3 of 5; of those at 0.6 half are."""
SAME_STORY = 0.5
"""Least score of similar documents: half of their words are matched, or more."""
_BLOCK = 8_192
_SHOWN = 5
_NO_DATE = "~"
"""Sorts after all dates."""


@dataclass(frozen=True)
class Member:
    """A sentence or document of a group.

    Attributes:
        document, title: Id and title of the document.
        sentence: Place of the sentence in its document, from 1; 0 for a document.
        text: The sentence; of a document the first one.
        kind: How near it is to the representative; `exact` for the representative itself.
        score: Similarity to the representative: the share of common bigrams where the kind is
            `near`, else the cosine, or the score of the alignment of two documents; in [0, 1].
        differ: What sentences differ in that vectors hardly see: numbers, negation, names.
        date: Date of the document, or "".
        number: Number of the sentence, or of the document, in the corpus.
    """

    document: str
    title: str
    sentence: int
    text: str
    kind: Kind
    score: float
    differ: tuple[str, ...] = ()
    date: str = ""
    number: int = 0

    @property
    def place(self) -> str:
        """Document and sentence, in words."""
        return f"{self.document}, sentence {self.sentence}" if self.sentence else self.document

    @property
    def evidence(self) -> str:
        """Why it is a member, in words."""
        if self.kind is Kind.EXACT:
            return "the same words"
        if self.kind is Kind.NEAR:
            why = f"{self.score:.0%} of the word pairs in common"
        else:
            why = f"{'cosine' if self.sentence else 'alignment'} {self.score:.2f}"
        return f"{why}; {' and '.join(self.differ)} differ" if self.differ else why


@dataclass(frozen=True)
class Group:
    """A representative, which is the earliest text, and later ones that match it.

    Attributes:
        representative: The earliest by date, then by the order of reading; texts without a date
            come last.
        members: The others, in the same order.
    """

    representative: Member
    members: tuple[Member, ...]

    @cached_property
    def kind(self) -> Kind:
        """The least near kind of its members."""
        return max((member.kind for member in self.members), key=[*Kind].index)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {**asdict(self), "kind": self.kind.value}


@dataclass(frozen=True)
class Duplicates(Sequence[Group]):
    """Groups of texts that say the same, those with the nearest members first.

    Attributes:
        unit: What was compared: `sentence` or `document`.
        compared: Number of sentences or documents that were compared.
        groups: Groups with exact members first, then by score; of equals the largest first.
        threshold: Least similarity of what is similar; None where nothing similar was looked for.
        notes: What else a reader must know.
    """

    unit: Unit
    compared: int
    groups: tuple[Group, ...]
    threshold: float | None
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        """Return the number of groups."""
        return len(self.groups)

    def __getitem__(self, place: Any) -> Any:
        """Return a group, or some."""
        return self.groups[place]

    def counts(self) -> dict[str, int]:
        """Return the number of groups, and of members of each kind."""
        kinds = [member.kind for group in self.groups for member in group.members]
        return {"groups": len(self.groups), **{kind.value: kinds.count(kind) for kind in Kind}}

    def as_dict(self, top: int | None = None) -> dict[str, Any]:
        """Return plain values, for JSON; with the first `top` groups only, if given."""
        return {
            "unit": self.unit,
            "compared": self.compared,
            "threshold": self.threshold,
            "notes": list(self.notes),
            "counts": self.counts(),
            "groups": [group.as_dict() for group in self.groups[:top]],
        }

    def text(self, top: int = 10) -> str:
        """Return the counts and the first `top` groups as text, at most 80 columns wide."""
        return "\n".join(self._lines(top))

    def __str__(self) -> str:
        """Return `text()`."""
        return self.text()

    def _lines(self, top: int) -> Iterator[str]:
        counts = self.counts()
        yield f"{self.compared:,} {self.unit}s: {counts['groups']:,} groups"
        yield "members: " + ", ".join(f"{counts[kind.value]:,} {kind.value}" for kind in Kind)
        if self.threshold is not None:
            yield f"similar: a similarity of at least {self.threshold:.2f}"
        for line in self.notes:
            yield fill(line, WIDTH)
        for number, group in enumerate(self.groups[:top], start=1):
            yield ""
            yield shorten(f"{number}. {_dated(group.representative)}", WIDTH, placeholder=" …")
            yield "   " + shorten(group.representative.text, WIDTH - 3, placeholder=" …")
            for member in group.members[:_SHOWN]:
                line = f"{member.kind}: {_dated(member)}; {member.evidence}"
                yield " - " + shorten(line, WIDTH - 3, placeholder=" …")
                if member.kind is not Kind.EXACT:
                    yield "   " + shorten(member.text, WIDTH - 3, placeholder=" …")
            if (more := len(group.members) - _SHOWN) > 0:
                yield f"   and {more:,} more"


def _dated(member: Member) -> str:
    return f"{member.place} ({member.date[:10]})" if member.date else member.place


def duplicates(
    run: str | Path | Run,
    *,
    unit: Unit = "sentence",
    kind: str | Kind = Kind.SIMILAR,
    threshold: float | None = None,
    min_words: int = MIN_WORDS,
    where: str | None = None,
) -> Duplicates:
    """Return groups of the sentences, or documents, of a run that say the same.

    Args:
        run: All its documents are compared, unless `where` selects some.
        unit: `sentence` or `document`.
        kind: The furthest kind that is looked for: `exact`, `near` or `similar`.
        threshold: Least similarity of what is similar, in (0, 1): the cosine of sentences, or the
            score of the alignment of documents (by default 0.5). By default the cosine that a
            thousandth of the pairs of sentences of one document reach, and at least 0.8.
        min_words: Shorter texts are left out; at least 2.
        where: Filter of documents (`Corpus.documents_where`).

    Raises:
        InputError: An argument is out of range, or no document matches the filter.
        MissingStageError: The run has no index.

    Example:
        >>> for group in duplicates("run", kind="near"):  # doctest: +SKIP
        ...     print(group.representative.text, [each.evidence for each in group.members])
    """
    run = Run.open(run)
    check_threshold(threshold)
    if unit not in ("sentence", "document"):
        raise InputError(f"unit: got {unit!r}; expected sentence or document")
    if kind not in [*Kind]:
        raise InputError(f"kind: got {kind!r}; expected one of {', '.join(Kind)}")
    finder = _Finder(run, Kind(kind), threshold, max(2, min_words), where)
    return finder.documents() if unit == "document" else finder.sentences()


class _Finder:
    """What both units have in common: the corpus, and the order of age.

    Texts get the numbers 0, 1, ... in the order of their age.
    """

    def __init__(
        self, run: Run, kind: Kind, threshold: float | None, min_words: int, where: str | None
    ) -> None:
        self._run, self._kind, self._threshold = run, kind, threshold
        self._min_words, self._where = min_words, where
        self._index = Index.open(run)
        self._corpus = self._index.corpus
        self._ids, self._titles = self._corpus.document_ids(), self._corpus.document_titles()
        self._dates = self._corpus.document_dates()
        documents = selected(self._corpus, where)
        dates = np.array([self._dates[d] or _NO_DATE for d in documents.tolist()])
        self._documents = documents[np.lexsort((self._corpus.keys[documents], dates))]
        first = "the earliest by date" if any(self._dates) else "the one that was read first"
        self._notes = [f"The representative of a group is {first}."]

    def sentences(self) -> Duplicates:
        corpus, bounds = self._corpus, self._corpus.document_bounds
        firsts = bounds[self._documents]
        order = ranges(firsts, bounds[self._documents + 1] - firsts)
        blocks = [order[at : at + _BLOCK] for at in range(0, len(order), _BLOCK)]
        table = WordTable(
            (corpus.texts(block) for block in progress(blocks, "Reading sentences")),
            self._min_words,
        )
        near = Pairs.none() if self._kind is Kind.EXACT else table.near()
        similar, least = Pairs.none(), None
        if self._kind is Kind.SIMILAR:
            chosen, least = table.distinct(), self._similarity()
            vectors = SomeVectors(self._index, order[chosen])
            similar = similar_pairs(vectors, least, self._run.settings.seed).renumbered(chosen)
            if similar.threshold > least:
                least = similar.threshold
                self._notes.append(
                    f"Too many pairs are similar: of these the {len(similar):,} most similar count."
                )

        def text(number: int) -> str:
            return corpus.text(int(order[number]))

        def member(number: int, kind: Kind, score: float, representative: int) -> Member:
            sentence = int(order[number])
            d = int(np.searchsorted(bounds, sentence, side="right")) - 1
            return Member(
                document=self._ids[d],
                title=self._titles[d],
                sentence=sentence - int(bounds[d]) + 1,
                text=text(number),
                kind=kind,
                score=score,
                differ=differences(text(representative), text(number)),
                date=self._dates[d],
                number=sentence,
            )

        groups = _groups(near, similar, table.repeats(), member, text)
        return Duplicates("sentence", int(table.long.sum()), groups, least, tuple(self._notes))

    def _similarity(self) -> float:
        """Return the least cosine of similar sentences."""
        if self._threshold is not None:
            return self._threshold
        calibration = Calibration.current(self._run)
        within = calibration.threshold_within(RATE) if calibration else None
        if within is None:
            self._notes.append(f"{UNSET}, so it is {SIMILAR}. Set one: --threshold")
        return max(within or 0.0, SIMILAR)

    def documents(self) -> Duplicates:
        corpus, bounds, order = self._corpus, self._corpus.document_bounds, self._documents

        def text(number: int) -> str:
            d = int(order[number])
            return " ".join(corpus.texts(np.arange(bounds[d], bounds[d + 1])))

        numbers = progress(range(len(order)), "Reading documents")
        table = WordTable(([text(number)] for number in numbers), self._min_words)
        near = Pairs.none() if self._kind is Kind.EXACT else table.near()
        similar, least = Pairs.none(), None
        if self._kind is Kind.SIMILAR:
            least = SAME_STORY if self._threshold is None else self._threshold
            place = np.full(corpus.n_documents, -1)
            place[order] = np.arange(len(order))
            similar = self._aligned(least, place, table)

        def member(number: int, kind: Kind, score: float, representative: int) -> Member:
            d = int(order[number])
            first = corpus.text(int(bounds[d])) if bounds[d] < bounds[d + 1] else ""
            ids, date = (self._ids[d], self._titles[d]), self._dates[d]
            return Member(*ids, 0, first, kind, score, date=date, number=d)

        groups = _groups(near, similar, table.repeats(), member, text)
        return Duplicates("document", len(order), groups, least, tuple(self._notes))

    def _aligned(self, least: float, place: Ints, table: WordTable) -> Pairs:
        """Return the pairs of distinct documents whose alignment has at least this score."""
        reuse = find_reuse(self._run, where=self._where)
        self._notes += reuse.notes
        kept = [pair for pair in reuse.pairs if pair.score >= least]
        ends = np.array([pair.numbers for pair in kept], np.int64).reshape(-1, 2)
        scores = np.array([pair.score for pair in kept], np.float32)
        pairs = Pairs(ends[:, 0], ends[:, 1], scores, least).renumbered(place)
        distinct = np.isin(np.arange(len(table)), table.distinct())
        return pairs.where(distinct[pairs.left] & distinct[pairs.right])


def _groups(
    near: Pairs,
    similar: Pairs,
    repeats: Mapping[int, Sequence[int]],
    member: Callable[[int, Kind, float, int], Member],
    text: Callable[[int], str],
) -> tuple[Group, ...]:
    """Return the groups of paired texts, each text with those of the same words."""
    stars = group_pairs(near, similar)
    taken = {*stars, *(number for members in stars.values() for number in members)}
    stars |= {number: {} for number in repeats if number not in taken}
    groups = []
    for first in sorted(stars):
        rows = [(number, Kind.EXACT, 1.0) for number in repeats.get(first, ())]
        for number, score in stars[first].items():
            kind = kind_of(text(first), text(number))
            same = (number, *repeats.get(number, ()))
            rows += [(each, kind, min(1.0, score)) for each in same]
        members = tuple(member(*row, first) for row in sorted(rows))
        groups.append(Group(member(first, Kind.EXACT, 1.0, first), members))
    return tuple(sorted(groups, key=_nearness))


def _nearness(group: Group) -> tuple[int, float, int]:
    """Order groups by their nearest member, and equals by size."""
    nearest = min(([*Kind].index(each.kind), -each.score) for each in group.members)
    return *nearest, -len(group.members)


def group_pairs(near: Pairs, similar: Pairs) -> dict[int, dict[int, float]]:
    """Return representative -> later items that match it -> score.

    Items are numbered by age. Each in order, if it is free, takes the free items that it is a near
    copy of. Then the representatives and the items in no group do so by similarity. A group is only
    taken as a whole, if all its items match. So what near copies join is in groups, however far is
    looked, and every item is paired with its representative.
    """
    groups = dict(_taken(near))
    n = 1 + max(int(pairs.right.max(initial=-1)) for pairs in (near, similar))
    taken = np.zeros(n, bool)
    taken[[number for members in groups.values() for number in members]] = True
    rows, near_rows = _rows(similar, n), _rows(near, n)
    for item in np.flatnonzero(np.diff(rows.indptr)).tolist():
        if taken[item]:
            continue
        scores = _row(rows, item) | _row(near_rows, item)
        for other in _row(rows, item):
            whole = (other, *groups.get(other, ()))
            if taken[other] or any(number not in scores for number in whole):
                continue
            groups.pop(other, None)
            groups.setdefault(item, {}).update({number: scores[number] for number in whole})
            taken[list(whole)] = True
    return groups


def _taken(pairs: Pairs) -> Iterator[tuple[int, dict[int, float]]]:
    """Yield items that take others, in order, and what each takes."""
    rows = _rows(pairs, int(pairs.right.max(initial=-1)) + 1)
    taken = np.zeros(rows.shape[0], bool)
    for item in np.flatnonzero(np.diff(rows.indptr)).tolist():
        free = {i: score for i, score in _row(rows, item).items() if not taken[i]}
        if free and not taken[item]:
            taken[list(free)] = True
            yield item, free


def _rows(pairs: Pairs, n: int) -> csr_matrix:
    return csr_matrix((pairs.scores, (pairs.left, pairs.right)), shape=(n, n))


def _row(rows: csr_matrix, item: int) -> dict[int, float]:
    part = slice(rows.indptr[item], rows.indptr[item + 1])
    return dict(zip(rows.indices[part].tolist(), rows.data[part].tolist(), strict=True))

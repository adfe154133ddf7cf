"""Sentences, or documents, of a run that say the same: groups of a representative and its members.

Every member matches its group's representative itself. Components of all pairs would be simpler,
but in them a chain of others may join two texts that have nothing in common. Pairs that differ in
what matters, such as a number, are no matches: they are listed as related.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from textwrap import fill, shorten
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from firth.corpus.corpus import Corpus
from firth.run.console import WIDTH, plural, progress
from firth.run.errors import InputError
from firth.run.outputs import claim_output, write_json_lines
from firth.run.results import Record, Results, plain
from firth.run.run import Run
from firth.search.calibration import (
    FEWEST,
    FLOOR,
    UNKNOWN,
    UNMEASURED,
    Calibration,
    check_rate,
    percent,
)
from firth.search.documents import check_threshold, find_reuse
from firth.search.evidence import Evidence, Reader
from firth.search.index import Index, index_encoder
from firth.search.vectors import similar_pairs
from firth.text.near import Kind, Pairs, WordTable, are_near
from firth.text.types import Ints, Singles
from firth.text.words import normal_form

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Unit = Literal["sentence", "document"]
MIN_WORDS = 6
"""Shorter sentences are repeated in any large corpus by chance."""
FALSE_SHARE = 0.05
"""Share of chance that is expected among the similar texts."""
LOOSER = (0.1, 0.2, 0.5)
"""Shares that are named where hardly a sentence is similar."""
SAME_STORY = 0.5
"""Least score of the alignment of similar documents: half of their words are matched, or more."""
BOILERPLATE, BOILERPLATE_SHARE = 5, 0.01
"""Copies in so many documents, and in this share of all, are boilerplate."""
_BLOCK = 8_192
_SHOWN = 5
_NO_DATE = "~"
"""Sorts after all dates."""


@dataclass(frozen=True, kw_only=True)
class Member(Record):
    """A sentence or document of a group.

    Attributes:
        sentence: Place of the sentence in its document, from 1; 0 for a document.
        text: The sentence; of a document the first one.
        kind: How near it is to the representative; `exact` for the representative itself.
        score: Similarity to the representative: the share of common bigrams of near copies, else
            the cosine, or the score of the alignment of two documents; in [0, 1].
        near: Whether it is a near copy by its words, as related texts may be, too.
        differ: What sentences differ in that matters; only related ones differ.
        shared: Words of meaning that it shares with the representative.
        added, left_out: Longer runs of words that only it, or only the representative, has.
        number: Number of the sentence, or of the document, in the corpus.
    """

    derived: ClassVar = ("evidence",)
    document: str
    title: str
    sentence: int
    text: str
    kind: Kind
    score: float
    differ: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    date: str = ""
    number: int = 0
    near: bool = False

    @property
    def place(self) -> str:
        """Document and sentence, in words."""
        return f"{self.document}, sentence {self.sentence}" if self.sentence else self.document

    @property
    def evidence(self) -> str:
        """Why it is a member, in words."""
        if self.kind is Kind.EXACT:
            return "the same words"
        if self.near:
            parts = [f"{self.score:.0%} of the word pairs in common"]
        else:
            parts = [f"{'cosine' if self.sentence else 'alignment'} {self.score:.2f}"]
        parts += [f"differ in {each}" for each in self.differ]
        parts += [f"adds “{run}”" for run in self.added]
        parts += [f"leaves out “{run}”" for run in self.left_out]
        if self.shared and not self.near:
            parts.append(f"share {', '.join(self.shared)}")
        return "; ".join(parts)


@dataclass(frozen=True)
class Group(Record):
    """A representative, which is the earliest text, and later ones that match it.

    Attributes:
        representative: The earliest by date, then by the order of reading; texts without a date
            come last.
        members: The others, in the same order.
        boilerplate: Whether copies are in so many documents that it is a header, a signature, or a
            template.
    """

    derived: ClassVar = ("kind",)
    representative: Member
    members: tuple[Member, ...]
    boilerplate: bool = False

    @cached_property
    def kind(self) -> Kind:
        """The least near kind of its members."""
        return max((member.kind for member in self.members), key=[*Kind].index)


@dataclass(frozen=True, repr=False, kw_only=True)
class Duplicates(Results[Group]):
    """Groups of texts that say the same, those with the nearest members first.

    Attributes:
        items: Boilerplate first, then groups with exact members, then by score; of equals the
            largest first.
        related: Texts with later ones that are near or similar, and differ in what matters.
        threshold: Least cosine of similar sentences. Documents are similar where sentences from
            there on match half of their words.
        false_share: Expected share of chance among the sentences that are this similar to one of
            another document; None where nothing is known.
    """

    named: ClassVar = "groups"
    derived: ClassVar = ("counts",)
    columns: ClassVar = ("representative", "kind", "evidence", "text")
    unit: Unit
    compared: int
    related: tuple[Group, ...]
    threshold: float
    false_share: float | None = None
    notes: tuple[str, ...] = ()

    def summary(self) -> str:
        """Return the numbers of texts and groups."""
        groups = plural(len(self), "group")
        return f"{self.compared:,} {self.unit}s: {groups}, {len(self.related):,} related"

    def records(self) -> list[dict[str, Any]]:
        """Return one record for each member."""
        return [
            {"representative": group.representative.text, **member.as_dict()}
            for group in self
            for member in group.members
        ]

    def counts(self) -> dict[str, int]:
        """Return the number of groups, and of members of each kind."""
        kinds = [member.kind for group in (*self, *self.related) for member in group.members]
        counted = {kind.value: kinds.count(kind) for kind in Kind}
        return {"groups": len(self), **counted}

    def as_dict(self, top: int | None = None) -> dict[str, Any]:
        """Return plain values, for JSON; with the first `top` groups of both kinds, if given."""
        return {**super().as_dict(top), "related": plain(self.related[:top])}

    def lines(self, top: int) -> Iterator[str]:
        """Yield the counts, and the first `top` groups."""
        counts = self.counts()
        yield f"{self.compared:,} {self.unit}s: {plural(counts['groups'], 'group')}"
        yield "members: " + ", ".join(f"{counts[kind.value]:,} {kind.value}" for kind in Kind)
        of = "sentences with a" if self.unit == "document" else "a"
        if self.threshold < 1:
            yield f"similar: {of} cosine of at least {self.threshold:.3g}"
        yield from self.notes
        yield from _listed(self[:top])
        if self.related:
            yield "\nRelated, and no duplicates, because they differ in what matters:"
            yield from _listed(self.related[: max(1, top // 4)])


def _listed(groups: Iterable[Group]) -> Iterator[str]:
    for number, group in enumerate(groups, start=1):
        yield ""
        name = "boilerplate: " if group.boilerplate else ""
        title = f"{number}. {name}{_dated(group.representative)}"
        yield shorten(title, WIDTH, placeholder=" …")
        yield "   " + shorten(group.representative.text, WIDTH - 3, placeholder=" …")
        for member in group.members[:_SHOWN]:
            line = f"{member.kind}: {_dated(member)}; {member.evidence}"
            yield fill(line, WIDTH, initial_indent=" - ", subsequent_indent="   ")
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
    threshold: float | None = None,
    false_share: float = FALSE_SHARE,
    where: str | None = None,
    index: Index | None = None,
) -> Duplicates:
    """Return groups of the sentences, or documents, of a run that say the same.

    Texts of fewer than `MIN_WORDS` words are left out, unless they are boilerplate.

    Args:
        run: All its documents are compared, unless `where` selects some.
        unit: `sentence` or `document`.
        threshold: Least cosine of similar sentences, in (0, 1). By default that from which on
            `false_share` of the sentences with a similar one in another document are expected to
            have one by chance (`Calibration.threshold_of_share`). Of those of one document nothing
            is known, so that they are then no matches. Sentences of documents that are aligned
            match from the rate of `firth.search.documents.RATE` on.
        false_share: In (0, 1).
        where: Filter of documents (`Corpus.documents_where`).
        index: The run's index, where it is open.

    Example:
        >>> for group in duplicates("run"):  # doctest: +SKIP
        ...     print(group.representative.text, [each.evidence for each in group.members])
    """
    run = Run.open(run)
    check_threshold(threshold)
    if unit not in ("sentence", "document"):
        raise InputError(f"unit: got {unit!r}; expected sentence or document")
    check_rate(false_share, "false share")
    finder = _Finder(run, index or Index.open(run), threshold, false_share, where)
    return finder.documents() if unit == "document" else finder.sentences()


class _Finder:
    """What both units have in common: the corpus, and the order of age.

    Texts get the numbers 0, 1, ... in the order of their age.
    """

    def __init__(
        self, run: Run, index: Index, threshold: float | None, false_share: float, where: str | None
    ) -> None:
        self._run, self._index, self._threshold = run, index, threshold
        self._share, self._where = false_share, where
        self._corpus = self._index.corpus
        self._reader = Reader(self._corpus.language, index_encoder(run))
        self._ids, self._titles = self._corpus.document_ids(), self._corpus.document_titles()
        self._dates = self._corpus.document_dates()
        self._documents = self._by_age(self._index.selected(where))
        first = "the earliest by date" if any(self._dates) else "the one that was read first"
        self._notes = [f"The representative of a group is {first}."]

    def _by_age(self, documents: Ints) -> Ints:
        """Sort documents, or copies of some (`Corpus.owners`), by their dates and keys."""
        corpus = self._corpus
        keys = np.append(corpus.keys, corpus.copies[:, 0])[documents]
        dates = [
            self._dates[d] if d < corpus.n_documents else corpus.document(d).date
            for d in documents.tolist()
        ]
        ordered = np.lexsort((keys, np.array([date or _NO_DATE for date in dates])))
        return documents[ordered]

    def sentences(self) -> Duplicates:
        corpus, bounds = self._corpus, self._corpus.document_bounds
        order = corpus.sentences_of(self._documents)
        blocks = [order[at : at + _BLOCK] for at in range(0, len(order), _BLOCK)]
        table = WordTable(
            (corpus.texts(block) for block in progress(blocks, "Reading sentences")), MIN_WORDS
        )
        owners = corpus.document_of(order)
        least_documents = max(BOILERPLATE, BOILERPLATE_SHARE * len(self._documents))
        short = table.boilerplate(owners, least_documents)
        near, calibration = table.near(), Calibration.current(self._run)
        chosen = table.distinct()
        numbers = order[chosen]
        least, known = UNMEASURED, calibration is not None and calibration.matches is not None
        if self._threshold is not None:
            least = self._threshold
        elif calibration is not None and known:
            least = calibration.threshold(FLOOR, len(numbers))
        else:
            why = UNKNOWN if calibration else "The run has no calibration. Run firth build."
            self._notes.append(f"{why} So the threshold is {UNMEASURED}.")
        similar = similar_pairs(
            lambda rows: self._index.vectors(numbers[rows]),
            len(numbers),
            least,
            self._run.settings.seed,
        ).renumbered(chosen)
        if similar.threshold > least:
            least = similar.threshold
            self._notes.append(
                f"Too many pairs are similar: of these the {len(similar):,} most similar count."
            )
        share = None
        if calibration is not None and known:
            apart = owners[similar.left] != owners[similar.right]
            best = _best(similar.where(apart), chosen, len(owners))
            cut = partial(calibration.threshold_of_share, best, texts=len(numbers), every=True)
            if self._threshold is None:
                floor, least = least, max(least, cut(self._share))
                similar = similar.where(apart & (similar.scores >= least))
            found = int((best >= least).sum())
            share = calibration.expected_false(best, least, len(numbers), True) / max(found, 1)
            said = (
                f"Of {plural(found, 'sentence')} this similar to one of another document, about "
                f"{percent(share)} are so by chance."
            )
            if not found and self._threshold is None:
                said = (
                    f"No cosine leaves chance at most {self._share:.0%} of the similar sentences, "
                    "so that only copies are listed."
                )
            if found < FEWEST and self._threshold is None:
                said += " --threshold sets a cosine."
                for looser in LOOSER:
                    lower = max(floor, cut(looser))
                    if (count := int((best >= lower).sum())) >= found + FEWEST:
                        said += (
                            f" --false-share {looser:g} lists {count:,} sentences, from a cosine "
                            f"of {lower:.2f} on."
                        )
                        break
                else:
                    said += " From any lower one on, more than half would be chance."
            self._notes.append(said)

        def texts(numbers: Ints) -> list[str]:
            return corpus.texts(order[numbers])

        def member(number: int, text: str, kind: Kind, score: float, other: str) -> Member:
            d = int(owners[number])
            why = self._reader.compare(other, text) if kind is not Kind.EXACT else Evidence()
            return Member(
                document=self._ids[d],
                title=self._titles[d],
                sentence=int(order[number]) - int(bounds[d]) + 1,
                text=text,
                kind=kind,
                score=score,
                **vars(why),
                date=self._dates[d],
                number=int(order[number]),
                near=_near_copies(other, text),
            )

        groups, related = self._groups(near, similar, table.repeats() | short, member, texts)
        lines = {int(order[first]) for first in short}

        def named(group: Group) -> Group:
            is_line = group.representative.number in lines
            return replace(group, boilerplate=is_line or _copies(group) >= least_documents)

        groups = tuple(sorted(map(named, groups), key=lambda group: not group.boilerplate))
        count = int(table.long.sum())
        return Duplicates(
            unit="sentence",
            compared=count,
            items=groups,
            related=related,
            threshold=least,
            false_share=share,
            notes=tuple(self._notes),
        )

    def documents(self) -> Duplicates:
        corpus, bounds = self._corpus, self._corpus.document_bounds
        order = self._by_age(np.flatnonzero(np.isin(corpus.owners, self._documents)))

        def text(number: int) -> str:
            d = int(corpus.owners[order[number]])
            return "\n".join(corpus.texts(np.arange(bounds[d], bounds[d + 1])))

        numbers = progress(range(len(order)), "Reading documents")
        table = WordTable(([text(number)] for number in numbers), MIN_WORDS)
        # Of documents with one text the earliest has its place.
        place = np.full(corpus.n_documents, -1)
        place[corpus.owners[order[::-1]]] = np.arange(len(order))[::-1]
        similar, least = self._aligned(place, table)

        def texts(numbers: Ints) -> list[str]:
            return [text(number) for number in numbers.tolist()]

        def member(number: int, whole: str, kind: Kind, score: float, other: str) -> Member:
            d = int(order[number])
            known, owner = corpus.document(d), int(corpus.owners[d])
            first = corpus.text(int(bounds[owner])) if bounds[owner] < bounds[owner + 1] else ""
            return Member(
                document=known.id,
                title=known.title,
                sentence=0,
                text=first,
                kind=kind,
                score=score,
                differ=self._differing(other, whole) if kind is Kind.RELATED else (),
                date=known.date,
                number=d,
                near=_near_copies(other, whole),
            )

        near = table.near()
        groups, related = self._groups(near, similar, table.repeats(), member, texts, retold=True)
        notes = tuple(self._notes)
        return Duplicates(
            unit="document",
            compared=len(order),
            items=groups,
            related=related,
            threshold=least,
            notes=notes,
        )

    def _aligned(self, place: Ints, table: WordTable) -> tuple[Pairs, float]:
        """Return the pairs of distinct documents that tell the same, and the least cosine of
        matching sentences."""
        reuse = find_reuse(self._run, threshold=self._threshold, where=self._where)
        self._notes += reuse.notes
        kept = [pair for pair in reuse if pair.score >= SAME_STORY]
        ends = np.array([pair.numbers for pair in kept], np.int64).reshape(-1, 2)
        scores = np.array([pair.score for pair in kept], np.float32)
        pairs = Pairs(ends[:, 0], ends[:, 1], scores, SAME_STORY).renumbered(place)
        distinct = np.isin(np.arange(len(table)), table.distinct())
        return pairs.where(distinct[pairs.left] & distinct[pairs.right]), reuse.threshold

    def _groups(
        self,
        near: Pairs,
        similar: Pairs,
        repeats: Mapping[int, Sequence[int]],
        member: Callable[[int, str, Kind, float, str], Member],
        texts: Callable[[Ints], list[str]],
        retold: bool = False,
    ) -> tuple[tuple[Group, ...], tuple[Group, ...]]:
        """Return the groups of matching texts, and those of related ones.

        Each text comes with those of the same words. With `retold`, texts are documents, with a
        sentence on each line.
        """
        ends = [near.left, near.right, similar.left, similar.right]
        copies = [number for first, some in repeats.items() for number in (first, *some)]
        numbers = np.unique(np.concatenate([*ends, np.array(copies, np.int64)]))
        of = dict(zip(numbers.tolist(), texts(numbers), strict=True))

        differing = self._differing if retold else self._reader.differing

        def is_match(pairs: Pairs) -> Any:
            ends = zip(pairs.left.tolist(), pairs.right.tolist(), strict=True)
            return np.array([not differing(of[first], of[other]) for first, other in ends], bool)

        matches = [is_match(pairs) for pairs in (near, similar)]
        stars = group_pairs(near.where(matches[0]), similar.where(matches[1]))
        taken = {number for members in stars.values() for number in members}
        stars |= {first: {} for first in repeats if first not in taken and first not in stars}
        # Only what stays is worth a line: representatives, and texts in no group.
        both = [pairs.where(~match) for pairs, match in zip((near, similar), matches, strict=True)]
        gone = np.array(sorted(taken), np.int64)
        free = [
            pairs.where(~np.isin(pairs.left, gone) & ~np.isin(pairs.right, gone)) for pairs in both
        ]
        found = []
        for some in (stars, group_pairs(*free)):
            groups = []
            for first in sorted(some):
                alike = () if some is not stars else repeats.get(first, ())
                rows = [(number, Kind.EXACT, 1.0) for number in alike]
                for number, score in some[first].items():
                    kind = self._reader.kind(of[first], of[number])
                    if some is not stars:
                        kind = Kind.RELATED
                    elif kind is Kind.RELATED:
                        kind = Kind.SIMILAR
                    copies_of = () if some is not stars else repeats.get(number, ())
                    rows += [(each, kind, min(1.0, score)) for each in (number, *copies_of)]
                members = tuple(
                    member(number, of[number], kind, score, of[first])
                    for number, kind, score in sorted(rows)
                )
                representative = member(first, of[first], Kind.EXACT, 1.0, of[first])
                groups.append(Group(representative, members))
            found.append(tuple(sorted(groups, key=_nearness)))
        return found[0], found[1]

    def _differing(self, a: str, b: str) -> tuple[str, ...]:
        """Return what two documents with a sentence on each line differ in: near copies in what
        matters, and retold ones in the facts of their near passages."""
        if _near_copies(a, b):
            return self._reader.differing(a, b)
        return self._reader.differing_passages(a.split("\n"), b.split("\n"))


def _near_copies(a: str, b: str) -> bool:
    return are_near(normal_form(a).split(), normal_form(b).split())


def _best(pairs: Pairs, items: Ints, n: int) -> Singles:
    """Return the highest score of each of some of n items, (items,); or -1."""
    best = np.full(n, -1.0, np.float32)
    for side in (pairs.left, pairs.right):
        np.maximum.at(best, side, pairs.scores)
    return best[items]


def _copies(group: Group) -> int:
    """Return in how many documents a group has exact or near copies."""
    near = [member for member in group.members if member.kind in (Kind.EXACT, Kind.NEAR)]
    return len({member.document for member in (group.representative, *near)})


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


def _rows(pairs: Pairs, n: int) -> "csr_matrix":
    from scipy.sparse import csr_matrix

    return csr_matrix((pairs.scores, (pairs.left, pairs.right)), shape=(n, n))


def _row(rows: "csr_matrix", item: int) -> dict[int, float]:
    part = slice(rows.indptr[item], rows.indptr[item + 1])
    return dict(zip(rows.indices[part].tolist(), rows.data[part].tolist(), strict=True))


@dataclass(frozen=True)
class Cleaned:
    """The files of `write_cleaned`, and what is in them.

    `kept` documents stay, and `removed` ones have nothing left; `members` sentences, or documents,
    were dropped.
    """

    documents: Path
    dropped: Path
    kept: int
    removed: int
    members: int

    def text(self) -> str:
        """Return all of it in a sentence."""
        return (
            f"{self.documents}: {plural(self.kept, 'document')}; {self.members:,} duplicates "
            f"dropped ({self.dropped}), which left {plural(self.removed, 'document')} empty"
        )


def dropped_file(out: Path) -> Path:
    """Return the file of what `write_cleaned` drops."""
    return out.with_name(f"{out.stem}.dropped.jsonl")


def write_cleaned(
    run: str | Path | Run, result: Duplicates, out: str | Path, force: bool = False
) -> Cleaned:
    """Write the documents of a run without duplicates, as JSON Lines that `firth build` reads.

    Every member of a group is dropped, and its representative stays. What is related stays, too.
    `OUT.dropped.jsonl` has a line for each text that was dropped. With sentences,
    documents that have the words of another one are dropped, too.
    """
    out, corpus = Path(out), Corpus.open(run, "all")
    dropped = dropped_file(out)
    for path in (out, dropped):
        claim_output(path, force)
    gone = {member.number for group in result for member in group.members}
    kept = 0

    def lines() -> Iterator[dict[str, Any]]:
        nonlocal kept
        bounds = corpus.document_bounds.tolist()
        for d, owner in enumerate(corpus.owners.tolist() if whole else range(corpus.n_documents)):
            sentences = range(bounds[owner], bounds[owner + 1])
            numbers = [i for i in sentences if (d if whole else i) not in gone]
            if not numbers:
                continue
            kept += 1
            paragraphs: dict[int, list[str]] = {}
            owners = corpus.paragraph_of(numbers).tolist()
            for owner, text in zip(owners, corpus.texts(numbers), strict=True):
                paragraphs.setdefault(owner, []).append(text)
            known = corpus.document(d)
            text = "\n\n".join(" ".join(some) for some in paragraphs.values())
            named = {"id": known.id, "title": known.title, "date": known.date, "text": text}
            yield {**known.fields, **{name: value for name, value in named.items() if value}}

    def reasons() -> Iterator[dict[str, Any]]:
        for group in result:
            for member in group.members:
                yield {
                    **_named(member),
                    "kept": _named(group.representative),
                    "kind": member.kind.value,
                    "boilerplate": group.boilerplate,
                    "score": round(member.score, 4),
                    "why": member.evidence,
                }
        for copy in range(corpus.n_documents, corpus.n_documents if whole else len(corpus.owners)):
            first = corpus.document(int(corpus.owners[copy])).id
            yield {
                "document": corpus.document(copy).id,
                "sentence": 0,
                "kept": {"document": first, "sentence": 0},
                "kind": Kind.EXACT.value,
                "why": "the same words",
            }

    whole = result.unit == "document"
    write_json_lines(out, lines(), force)
    write_json_lines(dropped, reasons(), force)
    return Cleaned(out, dropped, kept, len(corpus.owners) - kept, len(gone))


def _named(member: Member) -> dict[str, Any]:
    return {"document": member.document, "sentence": member.sentence, "text": member.text}

"""Sentences, or documents, of a run that say the same: groups of a representative and its members.

Every member matches its group's representative itself. Components of all pairs would be simpler,
but in them a chain of others may join two texts that have nothing in common. Pairs that differ in
what matters, such as a number, are no matches: they are listed as related.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from textwrap import fill, shorten
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from firth.corpus.corpus import Corpus
from firth.run.console import WIDTH, plural, progress
from firth.run.errors import InputError
from firth.run.outputs import claim_output, write_json_lines
from firth.run.results import Record, Results, plain
from firth.run.run import Run
from firth.search.calibration import FEWEST, FLOOR, UNMEASURED, Calibration, check_rate, percent
from firth.search.documents import find_reuse
from firth.search.evidence import MIN_WORDS, Evidence, Reader
from firth.search.index import Index
from firth.search.vectors import similar_pairs
from firth.text.near import Kind, Pairs, WordTable, are_near
from firth.text.types import Ints, Singles
from firth.text.words import normal_form

Unit = Literal["sentence", "document"]
FALSE_SHARE = 0.05
"""Share of chance that is expected among the similar texts."""
SAME_STORY = 0.5
"""Least score of the alignment of similar documents: half of their words are matched, or more."""
BOILERPLATE, BOILERPLATE_SHARE = 5, 0.01
"""Copies in so many documents, and in this share of all, are boilerplate."""
_BLOCK, _OF_RECORDS = 8_192, 1.5
"""Sentences that are read at once, and the mean number of those of documents that are records."""
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
        parts += [f"differ in {difference}" for difference in self.differ]
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
        items: Groups with exact members first, then by score; of equals the largest first.
            Boilerplate comes last.
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
    index: Index,
    *,
    unit: Unit = "sentence",
    threshold: float | None = None,
    false_share: float = FALSE_SHARE,
    where: str | None = None,
) -> Duplicates:
    """Return groups of the sentences, or documents, of a run that say the same.

    Arguments are those of `firth.model.Model.duplicates`. Texts of fewer than `MIN_WORDS` words are
    left out, unless they are boilerplate. Of similar sentences of one document no chance is known,
    so that they match only where a threshold is set. Sentences of documents that are aligned match
    from the rate of `firth.search.documents.RATE` on.
    """
    if unit not in ("sentence", "document"):
        raise InputError(f"unit: got {unit!r}; expected sentence or document")
    for name, value in (("threshold", threshold), ("false share", false_share)):
        if value is not None:
            check_rate(value, name)
    finder = _Finder(index, threshold, false_share, where)
    return finder.documents() if unit == "document" else finder.sentences()


class _Finder:
    """What both units have in common: the corpus, and the order of age.

    Texts get the numbers 0, 1, ... in the order of their age.
    """

    def __init__(
        self, index: Index, threshold: float | None, false_share: float, where: str | None
    ) -> None:
        self._index, self._corpus, self._threshold = index, index.corpus, threshold
        self._share, self._where = false_share, where
        self._reader = Reader.of(index)
        self._ids, self._titles = self._corpus.document_ids(), self._corpus.document_titles()
        self._dates = self._corpus.document_dates()
        self._documents = self._by_age(index.selected(where))
        first = "the earliest by date" if any(self._dates) else "the one that was read first"
        self._notes = [f"The representative of a group is {first}."]
        if len(self._corpus) < _OF_RECORDS * self._corpus.n_documents:
            self._notes.append(
                "Documents are short: firth match FILE finds more groups of records."
            )

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
        owners = corpus.document_of(order)
        blocks = [order[at : at + _BLOCK] for at in range(0, len(order), _BLOCK)]
        table = WordTable(
            (corpus.texts(block) for block in progress(blocks, "Reading sentences")), MIN_WORDS
        )
        least_documents = max(BOILERPLATE, BOILERPLATE_SHARE * len(self._documents))
        short = table.boilerplate(owners, least_documents)
        similar, threshold, share = self._similar(order, owners, table.distinct())

        def member(number: int, text: str, kind: Kind, score: float, first: str) -> Member:
            d = int(owners[number])
            evidence = self._reader.compare(first, text) if kind is not Kind.EXACT else Evidence()
            return Member(
                document=self._ids[d],
                title=self._titles[d],
                sentence=int(order[number]) - int(bounds[d]) + 1,
                text=text,
                kind=kind,
                score=score,
                **vars(evidence),
                date=self._dates[d],
                number=int(order[number]),
                near=_near_copies(first, text),
            )

        def texts(numbers: Ints) -> list[str]:
            return corpus.texts(order[numbers])

        repeats = table.repeats() | short
        groups, related = self._groups(
            table.near(), similar, repeats, member, texts, self._reader.differing
        )
        lines = {int(order[first]) for first in short}

        def marked(group: Group) -> Group:
            is_line = group.representative.number in lines
            return replace(group, boilerplate=is_line or _copies(group) >= least_documents)

        return Duplicates(
            unit="sentence",
            compared=int(table.long.sum()),
            items=tuple(sorted(map(marked, groups), key=lambda group: group.boilerplate)),
            related=related,
            threshold=threshold,
            false_share=share,
            notes=tuple(self._notes),
        )

    def _similar(
        self, order: Ints, owners: Ints, distinct: Ints
    ) -> tuple[Pairs, float, float | None]:
        """Return similar sentences, their least cosine, and the expected share of chance."""
        run, sentences = self._index.run, order[distinct]
        null, note = Calibration.of_matches(run)
        threshold = self._threshold
        if threshold is None:
            threshold = null.threshold(FLOOR, len(sentences)) if null else UNMEASURED
            self._notes += [note] if note else []
        similar = similar_pairs(
            lambda rows: self._index.vectors(sentences[rows]),
            len(sentences),
            threshold,
            run.settings.seed,
        ).renumbered(distinct)
        if similar.threshold > threshold:
            threshold = similar.threshold
            self._notes.append(
                f"Too many pairs are similar: of these the {len(similar):,} most similar count."
            )
        if null is None:
            return similar, threshold, None
        apart = owners[similar.left] != owners[similar.right]
        best = _best(similar.where(apart), distinct, len(owners))
        if self._threshold is None:
            cut = null.threshold_of_share(best, self._share, len(sentences))
            threshold = max(threshold, cut)
            similar = similar.where(apart & (similar.scores >= threshold))
        count = int((best >= threshold).sum())
        chance = null.chance(threshold, len(sentences))
        share = min(len(best) * chance, count) / max(count, 1)
        remark = (
            f"Of {plural(count, 'sentence')} this similar to one of another document, about "
            f"{percent(share)} are so by chance."
        )
        if self._threshold is None and not count:
            remark = (
                f"No cosine leaves chance at most {self._share:.0%} of the similar sentences, so "
                "that only copies are listed."
            )
        if self._threshold is None and count < FEWEST:
            remark += " --threshold sets a cosine."
        self._notes.append(remark)
        return similar, threshold, share

    def documents(self) -> Duplicates:
        corpus, bounds = self._corpus, self._corpus.document_bounds
        order = self._by_age(np.flatnonzero(np.isin(corpus.owners, self._documents)))

        def text(number: int) -> str:
            owner = int(corpus.owners[order[number]])
            return "\n".join(corpus.texts(np.arange(bounds[owner], bounds[owner + 1])))

        numbers = progress(range(len(order)), "Reading documents")
        table = WordTable(([text(number)] for number in numbers), MIN_WORDS)
        # Of documents with one text the earliest has its place.
        place = np.full(corpus.n_documents, -1)
        place[corpus.owners[order[::-1]]] = np.arange(len(order))[::-1]
        similar, threshold = self._aligned(place, table)

        def texts(numbers: Ints) -> list[str]:
            return [text(number) for number in numbers.tolist()]

        def member(number: int, text: str, kind: Kind, score: float, first: str) -> Member:
            document = corpus.document(int(order[number]))
            return Member(
                document=document.id,
                title=document.title,
                sentence=0,
                text=text.partition("\n")[0],
                kind=kind,
                score=score,
                differ=self._differing(first, text) if kind is Kind.RELATED else (),
                date=document.date,
                number=int(order[number]),
                near=_near_copies(first, text),
            )

        groups, related = self._groups(
            table.near(), similar, table.repeats(), member, texts, self._differing
        )
        return Duplicates(
            unit="document",
            compared=len(order),
            items=groups,
            related=related,
            threshold=threshold,
            notes=tuple(self._notes),
        )

    def _aligned(self, place: Ints, table: WordTable) -> tuple[Pairs, float]:
        """Return the pairs of distinct documents that tell the same, and the least cosine of
        matching sentences."""
        reuse = find_reuse(self._index, threshold=self._threshold, where=self._where)
        self._notes += reuse.notes
        retold = [pair for pair in reuse if pair.score >= SAME_STORY]
        ends = np.array([pair.numbers for pair in retold], np.int64).reshape(-1, 2)
        scores = np.array([pair.score for pair in retold], np.float32)
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
        differing: Callable[[str, str], tuple[str, ...]],
    ) -> tuple[tuple[Group, ...], tuple[Group, ...]]:
        """Return the groups of matching texts, each with those of the same words, and those of
        related ones, which differ."""
        ends = [near.left, near.right, similar.left, similar.right]
        copies = [number for first, later in repeats.items() for number in (first, *later)]
        numbers = np.unique(np.concatenate([*ends, np.array(copies, np.int64)]))
        text_of = dict(zip(numbers.tolist(), texts(numbers), strict=True))

        def is_match(pairs: Pairs) -> npt.NDArray[np.bool_]:
            ends = zip(pairs.left.tolist(), pairs.right.tolist(), strict=True)
            return np.array([not differing(text_of[i], text_of[j]) for i, j in ends], bool)

        def group(first: int, members: Mapping[int, float], are_related: bool) -> Group:
            copies_of = {} if are_related else repeats
            rows = [(number, Kind.EXACT, 1.0) for number in copies_of.get(first, ())]
            for number, score in members.items():
                kind = self._reader.kind(text_of[first], text_of[number])
                if are_related:
                    kind = Kind.RELATED
                elif kind is Kind.RELATED:
                    kind = Kind.SIMILAR
                alike = (number, *copies_of.get(number, ()))
                rows += [(copy, kind, min(1.0, score)) for copy in alike]
            text = text_of[first]
            return Group(
                member(first, text, Kind.EXACT, 1.0, text),
                tuple(member(n, text_of[n], kind, score, text) for n, kind, score in sorted(rows)),
            )

        matches = [is_match(pairs) for pairs in (near, similar)]
        stars = group_pairs(near.where(matches[0]), similar.where(matches[1]))
        members = {number for star in stars.values() for number in star}
        stars |= {first: {} for first in repeats if first not in members and first not in stars}
        # Of related texts, those are listed that stay: representatives, and texts in no group.
        gone = np.array(sorted(members), np.int64)
        others = group_pairs(
            *(
                pairs.where(~match & ~np.isin(pairs.left, gone) & ~np.isin(pairs.right, gone))
                for pairs, match in zip((near, similar), matches, strict=True)
            )
        )
        groups, related = (
            sorted((group(first, star[first], star is others) for first in sorted(star)),
                   key=_nearness)
            for star in (stars, others)
        )  # fmt: skip
        return tuple(groups), tuple(related)

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
    groups, taken = dict[int, dict[int, float]](), set[int]()
    for item in np.unique(near.left).tolist():
        free = {j: score for j, score in _later(near, item).items() if j not in taken}
        if free and item not in taken:
            groups[item] = free
            taken |= free.keys()
    for item in np.unique(similar.left).tolist():
        if item in taken:
            continue
        alike = _later(similar, item)
        scores = alike | _later(near, item)
        for other in alike:
            group = {other, *groups.get(other, ())}
            if other not in taken and group <= scores.keys():
                groups.pop(other, None)
                groups.setdefault(item, {}).update({number: scores[number] for number in group})
                taken |= group
    return groups


def _later(pairs: Pairs, item: int) -> dict[int, float]:
    """Return the later items of the pairs of one item, and their scores."""
    part = slice(*np.searchsorted(pairs.left, [item, item + 1]).tolist())
    return dict(zip(pairs.right[part].tolist(), pairs.scores[part].tolist(), strict=True))


def dropped_file(out: Path) -> Path:
    """Return the file of what `write_cleaned` drops."""
    return out.with_name(f"{out.stem}.dropped.jsonl")


def write_cleaned(
    run: str | Path | Run, result: Duplicates, out: str | Path, force: bool = False
) -> str:
    """Write the documents of a run without duplicates, as JSON Lines that `firth build` reads.

    Every member of a group is dropped, and its representative stays. What is related stays, too.
    `OUT.dropped.jsonl` has a line for each text that was dropped. With sentences,
    documents that have the words of another one are dropped, too. The result says in a sentence
    how many were.
    """
    out, corpus = Path(out), Corpus.open(run, "all")
    dropped = dropped_file(out)
    for path in (out, dropped):
        claim_output(path, force)
    gone = {member.number for group in result for member in group.members}
    is_of_documents = result.unit == "document"
    copies = range(corpus.n_documents, len(corpus.owners))
    documents = range(len(corpus.owners) if is_of_documents else corpus.n_documents)
    written = 0

    def lines() -> Iterator[dict[str, Any]]:
        nonlocal written
        for d in documents:
            first, end = corpus.document_bounds[[corpus.owners[d], corpus.owners[d] + 1]].tolist()
            numbers = [i for i in range(first, end) if (d if is_of_documents else i) not in gone]
            if not numbers:
                continue
            written += 1
            paragraphs: dict[int, list[str]] = {}
            paragraph_of = corpus.paragraph_of(numbers).tolist()
            for paragraph, text in zip(paragraph_of, corpus.texts(numbers), strict=True):
                paragraphs.setdefault(paragraph, []).append(text)
            document = corpus.document(d)
            text = "\n\n".join(map(" ".join, paragraphs.values()))
            values = {"id": document.id, "title": document.title, "date": document.date}
            values["text"] = text
            yield {**document.fields, **{name: value for name, value in values.items() if value}}

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
        for copy in () if is_of_documents else copies:
            first = corpus.document(int(corpus.owners[copy])).id
            yield {
                "document": corpus.document(copy).id,
                "sentence": 0,
                "kept": {"document": first, "sentence": 0},
                "kind": Kind.EXACT.value,
                "why": "the same words",
            }

    write_json_lines(out, lines(), force)
    write_json_lines(dropped, reasons(), force)
    empty = plural(len(corpus.owners) - written, "document")
    return (
        f"{out}: {plural(written, 'document')}; {len(gone):,} duplicates dropped ({dropped}), "
        f"which left {empty} empty"
    )


def _named(member: Member) -> dict[str, Any]:
    return {"document": member.document, "sentence": member.sentence, "text": member.text}

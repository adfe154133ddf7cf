"""Sentences, or documents, of a run that say the same: groups of a representative and its members.

Every member matches its group's representative itself. Components of all pairs would be simpler,
but in them a chain of others may join two texts that have nothing in common. Pairs that differ in
what matters, such as a number, are no matches: they are listed as related.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from textwrap import fill, shorten
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

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
from firth.search.documents import check_threshold
from firth.search.evidence import Reader
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
            the cosine; in [0, 1].
        near: Whether it is a near copy by its words, as related texts may be, too.
        differ: What it differs in that matters; only related ones differ.
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
            parts = [f"cosine {self.score:.2f}"]
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

    representative: Member
    members: tuple[Member, ...]
    boilerplate: bool = False


@dataclass(frozen=True, repr=False, kw_only=True)
class Duplicates(Results[Group]):
    """Groups of texts that say the same, those with the nearest members first.

    Attributes:
        items: Boilerplate first, then groups with exact members, then by score; of equals the
            largest first.
        related: Texts with later ones that are near or similar, and differ in what matters.
        threshold: Least cosine of similar sentences; 1 for documents.
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
        if self.threshold < 1:
            yield f"similar: a cosine of at least {self.threshold:.3g}"
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
    false_share: float | None = None,
    where: str | None = None,
    index: Index | None = None,
) -> Duplicates:
    """Return groups of the sentences, or documents, of a run that say the same.

    Texts of fewer than `MIN_WORDS` words are left out, unless they are boilerplate. Documents are
    compared by their words alone. Those that retell one another share passages (`find_reuse`).

    Args:
        run: All its documents are compared, unless `where` selects some.
        unit: `sentence` or `document`.
        threshold: Least cosine of similar sentences, in (0, 1). By default that from which on
            `false_share` of the sentences with a similar one in another document are expected to
            have one by chance (`Calibration.threshold_of_share`). Of those of one document nothing
            is known, so that they are then no matches.
        false_share: In (0, 1); by default `FALSE_SHARE`.
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
    share = FALSE_SHARE if false_share is None else false_share
    check_rate(share, "false share")
    if unit == "document" and (threshold is not None or false_share is not None):
        raise InputError(
            "unit document: got a threshold or a false share; documents are compared by their "
            "words. Use unit sentence, or passage"
        )
    finder = _Finder(run, index or Index.open(run), unit, where)
    return finder.find(threshold, share)


class _Finder:
    """The sentences or documents of a run, with the numbers 0, 1, ... in the order of their age.

    Attributes:
        order: Number of each in the corpus; of a copy of a document that of `Corpus.owners`.
        owners: Document of each, or of its text.
    """

    def __init__(self, run: Run, index: Index, unit: Unit, where: str | None) -> None:
        self._run, self._index, self._unit = run, index, unit
        self._corpus = corpus = index.corpus
        self._reader = Reader(corpus.language, index_encoder(run))
        documents = index.selected(where)
        self._count = len(documents)
        if unit == "sentence":
            self.order = corpus.sentences_of(self._by_age(documents))
            self.owners = corpus.document_of(self.order)
        else:
            self.order = self._by_age(np.flatnonzero(np.isin(corpus.owners, documents)))
            self.owners = corpus.owners[self.order]
        first = "the earliest by date" if any(self._dates) else "the one that was read first"
        self._notes = [f"The representative of a group is {first}."]

    @cached_property
    def _dates(self) -> Sequence[str]:
        return self._corpus.document_dates()

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

    def _texts(self, numbers: Ints) -> list[str]:
        """Return the texts of some items; of a document with a sentence on each line."""
        corpus, bounds = self._corpus, self._corpus.document_bounds
        if self._unit == "sentence":
            return corpus.texts(self.order[numbers])
        return [
            "\n".join(corpus.texts(np.arange(bounds[d], bounds[d + 1])))
            for d in self.owners[numbers].tolist()
        ]

    def find(self, threshold: float | None, false_share: float) -> Duplicates:
        """Return the groups; arguments are those of `duplicates`."""
        size = _BLOCK if self._unit == "sentence" else 1
        blocks = np.split(np.arange(len(self.order)), range(size, len(self.order), size))
        label = f"Reading {self._unit}s"
        table = WordTable((self._texts(block) for block in progress(blocks, label)), MIN_WORDS)
        near, repeats, short, share = table.near(), table.repeats(), dict[int, list[int]](), None
        similar = Pairs(near.left[:0], near.right[:0], near.scores[:0], 1.0)
        least_documents = max(BOILERPLATE, BOILERPLATE_SHARE * self._count)
        if self._unit == "sentence":
            short = table.boilerplate(self.owners, least_documents)
            similar, share = self._similar(table.distinct(), threshold, false_share)
        groups, related = self._groups(near, similar, repeats | short)
        if self._unit == "sentence":
            lines = {int(self.order[first]) for first in short}
            named = (
                replace(
                    group,
                    boilerplate=group.representative.number in lines
                    or _copies(group) >= least_documents,
                )
                for group in groups
            )
            groups = tuple(sorted(named, key=lambda group: not group.boilerplate))
        return Duplicates(
            unit=self._unit,
            compared=int(table.long.sum()) if self._unit == "sentence" else len(self.order),
            items=groups,
            related=related,
            threshold=similar.threshold,
            false_share=share,
            notes=tuple(self._notes),
        )

    def _similar(
        self, chosen: Ints, threshold: float | None, false_share: float
    ) -> tuple[Pairs, float | None]:
        """Return the similar pairs of distinct sentences, and the expected share of chance."""
        numbers, calibration = self.order[chosen], Calibration.current(self._run)
        known = calibration if calibration and calibration.matches else None
        least = threshold
        if least is None and known is not None:
            least = known.threshold(FLOOR, len(numbers))
        elif least is None:
            why = UNKNOWN if calibration else "The run has no calibration. Run firth build."
            self._notes.append(f"{why} So the threshold is {UNMEASURED}.")
        similar = similar_pairs(
            lambda rows: self._index.vectors(numbers[rows]),
            len(numbers),
            UNMEASURED if least is None else least,
            self._run.settings.seed,
        ).renumbered(chosen)
        if least is not None and similar.threshold > least:
            self._notes.append(
                f"Too many pairs are similar: of these the {len(similar):,} most similar count."
            )
        if known is None:
            return similar, None
        apart = self.owners[similar.left] != self.owners[similar.right]
        best = _best(similar.where(apart), chosen, len(self.order))
        if threshold is None:
            cut = known.threshold_of_share(best, false_share, len(numbers))
            cut = max(similar.threshold, cut)
            similar = replace(similar.where(apart & (similar.scores >= cut)), threshold=cut)
        count = int((best >= similar.threshold).sum())
        share = known.expected_false(best, similar.threshold, len(numbers)) / max(count, 1)
        note = (
            f"Of {plural(count, 'sentence')} this similar to one of another document, about "
            f"{percent(share)} are so by chance."
        )
        if not count and threshold is None:
            note = (
                f"No cosine leaves chance at most {false_share:.0%} of the similar sentences, "
                "so that only copies are listed."
            )
        if count < FEWEST and threshold is None:
            note += " --false-share sets another share, and --threshold a cosine."
        self._notes.append(note)
        return similar, share

    def _groups(
        self, near: Pairs, similar: Pairs, repeats: Mapping[int, Sequence[int]]
    ) -> tuple[tuple[Group, ...], tuple[Group, ...]]:
        """Return the groups of matching texts, each with those of the same words, and those of
        related ones."""
        ends = [near.left, near.right, similar.left, similar.right]
        copies = [number for first, some in repeats.items() for number in (first, *some)]
        numbers = np.unique(np.concatenate([*ends, np.array(copies, np.int64)]))
        of = dict(zip(numbers.tolist(), self._texts(numbers), strict=True))

        def is_match(pairs: Pairs) -> npt.NDArray[np.bool_]:
            ends = zip(pairs.left.tolist(), pairs.right.tolist(), strict=True)
            return np.array([not self._reader.differing(of[i], of[j]) for i, j in ends], bool)

        def group(first: int, scores: Mapping[int, float], repeats: Mapping[int, Any]) -> Group:
            rows = [(number, 1.0) for number in repeats.get(first, ())]
            for number, score in scores.items():
                rows += [(copy, min(1.0, score)) for copy in (number, *repeats.get(number, ()))]
            members = (self._member(n, of[n], score, of[first]) for n, score in sorted(rows))
            return Group(self._member(first, of[first], 1.0, of[first]), tuple(members))

        matches = [is_match(pairs) for pairs in (near, similar)]
        stars = group_pairs(near.where(matches[0]), similar.where(matches[1]))
        taken = {number for members in stars.values() for number in members}
        stars |= {first: {} for first in repeats if first not in taken and first not in stars}
        # Only what stays is worth a line: representatives, and texts in no group.
        gone = np.array(sorted(taken), np.int64)
        free = [
            pairs.where(~match & ~np.isin(pairs.left, gone) & ~np.isin(pairs.right, gone))
            for pairs, match in zip((near, similar), matches, strict=True)
        ]
        groups = [group(first, stars[first], repeats) for first in sorted(stars)]
        apart = group_pairs(*free)
        related = [group(first, apart[first], {}) for first in sorted(apart)]
        return tuple(sorted(groups, key=_nearness)), tuple(sorted(related, key=_nearness))

    def _member(self, item: int, text: str, score: float, other: str) -> Member:
        """Return an item of a group whose representative has the text `other`."""
        number, is_document = int(self.order[item]), self._unit == "document"
        d = int(self.owners[item])
        document = self._corpus.document(number if is_document else d)
        why = self._reader.compare(other, text)
        return Member(
            document=document.id,
            title=document.title,
            sentence=0 if is_document else number - int(self._corpus.document_bounds[d]) + 1,
            text=text.partition("\n")[0] if is_document else text,
            kind=why.kind,
            score=score,
            differ=why.differ,
            shared=() if is_document else why.shared,
            added=() if is_document else why.added,
            left_out=() if is_document else why.left_out,
            date=document.date,
            number=number,
            near=are_near(normal_form(other).split(), normal_form(text).split()),
        )


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

"""Matching: which texts of two lists, or of one, are the same thing."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import shorten
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from firth.run.console import WIDTH, plural
from firth.run.errors import InputError
from firth.run.executor import Executor, Local
from firth.run.outputs import write_rows
from firth.run.results import Record, Result, Results
from firth.search.calibration import Strangers, percent, unlike
from firth.search.evidence import Reader
from firth.search.pairing import (
    LEVELS,
    Compared,
    Found,
    candidates,
    differ_in,
    dot_products,
    grouped,
    leads,
    opposed_words,
    passing,
    tables,
)
from firth.text.near import Kind
from firth.text.types import Ints, Singles
from firth.text.words import normal_form

WORDS, CHARACTERS, BOTH = "words", "characters", "words and characters"
ENCODER, ALL = "encoder", "words, characters and encoder"
PRECISION = 0.9
_MORE, _FEW_MORE, _MANY = 1.1, 5, 1.25
"""Times as many matches, and so many more, that another similarity than `BOTH` must find, since the
best of several is best by chance, too; and times as many where several texts match one."""
_SURELY = 0.95
"""How often a bound holds."""
_EQUAL, _NEARLY, _LEAST = np.float32(1), np.float32(0.999), 1e-6


@dataclass(frozen=True, kw_only=True)
class Match(Record):
    """A text of the left list, and what matches it.

    Attributes:
        left, right: Numbers of both texts in their lists, from 0; `right` is None where nothing
            matches.
        left_id, right_id: What the lists call them; by default the numbers.
        nearest: The nearest text of the right list, whether it matches or not.
        runner_up: The next one.
        score: Similarity to the nearest, a cosine, in [0, 1].
        lead: How far the nearest is ahead of the next on both sides, as angles over its own; 0 or
            less where it is nearer to another text.
        chance: Share of texts without a counterpart whose nearest is as far ahead, in (0, 1]; None
            where nothing is known.
        group: In one list, the number that all texts of a group have, which are the same thing.
        kind: How near both are by their words; `related` where they differ in what matters.
        differ: What they differ in that matters: numbers, negation, names, opposites.
        shared: Words of meaning that both have.
    """

    left: int
    left_id: str
    text: str
    right: int | None
    right_id: str | None
    nearest: str
    runner_up: str
    score: float
    lead: float
    chance: float | None
    group: int | None
    kind: Kind
    differ: tuple[str, ...]
    shared: tuple[str, ...]

    @property
    def is_match(self) -> bool:
        """Whether the nearest matches."""
        return self.right is not None


@dataclass(frozen=True, repr=False, kw_only=True)
class Review(Result):
    """What people said of some matches, and what that proves of all.

    Attributes:
        matches: Matches of the list.
        judged: Those that were judged.
        right: Those of them that are right.
    """

    matches: int
    judged: int
    right: int

    @property
    def at_most_false(self) -> float:
        """The highest share of false matches, in [0, 1], at 95 % (Clopper and Pearson 1934)."""
        from scipy.stats import beta

        wrong = self.judged - self.right
        return float(beta.ppf(_SURELY, wrong + 1, self.right)) if self.right else 1.0

    def summary(self) -> str:
        """Return the share of right matches, and the bound."""
        return (
            f"{self.right:,} of {self.judged:,} judged matches are right: at most "
            f"{percent(self.at_most_false)} of {self.matches:,} are false, at 95%"
        )


@dataclass(frozen=True, repr=False, kw_only=True)
class Matches(Results[Match]):
    """One item for each text of the left list, in its order.

    Attributes:
        precision: Share of the matches that are right, as it was asked for; None where a rate was.
        false_match_rate: The same of texts without a counterpart that get a match; or None.
        similarity: The similarity by which texts are compared.
        candidates: How many matches each similarity would find.
        many_to_one: Whether several left texts may match one right text.
        expected_false: Matches that are expected to be false; None where nothing is known.
        at_most_false: Matches that are false at most, at 95 %, if there are known strangers. It
            holds at any cut, equal texts aside.
        known_strangers: Unrelated texts that prove the rate; 0 where it is modelled.
        near_misses: Share of right texts with another number, name and rare word that would match,
            in [0, 1], and without those that differ in what matters; None of one list, and where
            nothing matches.
        notes: What a reader must know.
    """

    columns: ClassVar[tuple[str, ...]] = ("text", "nearest", "score", "chance", "differ")
    derived: ClassVar[tuple[str, ...]] = ("summary", "matches", "false_share")
    precision: float | None
    false_match_rate: float | None
    similarity: str
    candidates: Mapping[str, int]
    many_to_one: bool
    expected_false: float | None
    at_most_false: int | None = None
    known_strangers: int = 0
    near_misses: tuple[float, float] | None = None
    notes: tuple[str, ...] = ()

    @property
    def found(self) -> tuple[Match, ...]:
        """The items that have a match."""
        return tuple(item for item in self.items if item.is_match)

    @property
    def matches(self) -> int:
        """How many texts have a match."""
        return len(self.found)

    @property
    def false_share(self) -> float | None:
        """The expected share of false matches, in [0, 1]; None if unknown."""
        if self.expected_false is None:
            return None
        return min(1.0, self.expected_false / max(1, self.matches))

    def summary(self) -> str:
        """Return how many texts match, how many matches are expected to be false, and by what."""
        summary = f"{self.matches:,} of {plural(len(self), 'text')} matched"
        if self.matches and self.false_share:
            summary += f"; {percent(self.false_share)} of these are expected to be false"
        if self.at_most_false is not None:
            summary += f", at most {min(self.at_most_false, self.matches):,} at 95%"
        if near := sum(bool(item.differ) for item in self.found):
            summary += f"; {near:,} with a difference that matters"
        relation = "several to one" if self.many_to_one else "one to one"
        if any(item.group is not None for item in self.items):
            relation = f"in {plural(len({item.group for item in self.found}), 'group')}"
        return f"{summary} (by {self.similarity}, {relation})"

    def lines(self, top: int) -> Iterator[str]:
        """Yield the summary, and the first matches."""
        yield self.summary()
        found = ", ".join(f"{count:,} by {name}" for name, count in self.candidates.items())
        yield f"Each similarity alone: {found}"
        proved = f"proved with {self.known_strangers:,} known strangers"
        yield f"The rate is {proved if self.known_strangers else 'modelled'}."
        if self.near_misses is not None:
            match, stay = map(percent, self.near_misses)
            yield f"Texts with another number, name or word: {match} match, {stay} with a veto."
        yield from self.notes
        for item in self.found[:top]:
            yield ""
            yield shorten(f"{item.left_id}: {item.text}", WIDTH, placeholder=" …")
            yield "  " + shorten(f"{item.right_id}: {item.nearest}", WIDTH - 2, placeholder=" …")
            chance = "" if item.chance is None else f", chance {item.chance:.2g}"
            differ = f"; differ in {', '.join(item.differ)}" if item.differ else ""
            yield f"  {item.kind.value}, similarity {item.score:.2f}{chance}{differ}"

    def review(self, file: str | Path, count: int = 60) -> Review | None:
        """Write some matches to judge, or read them back; near misses count in what they prove.

        Fill the column `match` with 1 or 0, and call this again.

        Args:
            file: CSV. A file that is there is read.
            count: Matches, of which every one is as likely to be drawn.

        Raises:
            InputError: It is not a `.csv`, a row of a file that is there has neither 1 nor 0, or
                the rows are not those that are drawn from these matches.
        """
        path, found = Path(file), self.found
        if path.suffix.lower() != ".csv":
            raise InputError(f"{path}: expected a name that ends in .csv, which is read again")
        drawn = np.random.default_rng(13).permutation(len(found))
        if not path.exists():
            rows = [found[at].as_dict() for at in np.sort(drawn[:count]).tolist()]
            columns = ("left_id", "text", "right_id", "nearest", "differ")
            write_rows(path, [{"match": ""} | {key: row[key] for key in columns} for row in rows])
            return None
        with path.open(encoding="utf-8-sig", newline="") as lines:
            rows = list(csv.DictReader(lines))
        own = [f"{found[at].text} {found[at].nearest}" for at in drawn[: len(rows)].tolist()]
        judged = [f"{row.get('text')} {row.get('nearest')}" for row in rows]
        if sorted(map(normal_form, own)) != sorted(map(normal_form, judged)):
            raise InputError(
                f"{path}: its {plural(len(rows), 'row')} are not those that were drawn from these "
                "matches; expected the file of the same lists and options. Name a new file to draw"
            )
        answers = [(row.get("match") or "").strip() for row in rows]
        if wrong := [at for at, answer in enumerate(answers, 2) if answer not in ("0", "1")]:
            raise InputError(
                f"{path}: {plural(len(wrong), 'row')} without an answer, the first in line "
                f"{wrong[0]}; expected 1 or 0 in the column 'match'"
            )
        return Review(matches=self.matches, judged=len(answers), right=answers.count("1"))


@dataclass(frozen=True)
class Texts:
    """A list of texts, what they are called, and their unit vectors by an encoder, (n, d)."""

    texts: Sequence[str]
    ids: Sequence[str]
    vectors: Singles | None = None

    def with_others(self, others: "Texts") -> "Texts":
        """Return both lists as one."""
        both = [side.vectors for side in (self, others) if side.vectors is not None]
        vectors = np.concatenate(both) if both else None
        return Texts([*self.texts, *others.texts], [*self.ids, *others.ids], vectors)


class _Distinct(NamedTuple):
    """The distinct keys of a list, sorted; the first text that has each, and the key of each text.

    `firsts` and `of` are numbers, (keys,) and (texts,).
    """

    keys: npt.NDArray[np.object_]
    firsts: Ints
    of: Ints

    @classmethod
    def among(cls, texts: Sequence[str]) -> "_Distinct":
        keys = np.array([normal_form(text) or text for text in texts], object)
        return cls(*np.unique(keys, return_index=True, return_inverse=True))

    def copies(self) -> list[list[int]]:
        """Return the numbers of the texts that have each key."""
        bounds = np.cumsum(np.bincount(self.of))[:-1]
        parts = np.split(np.argsort(self.of, kind="stable"), bounds)
        return [part.tolist() for part in parts]


def match_texts(
    left: Texts,
    right: Texts | None = None,
    *,
    precision: float | None = PRECISION,
    rate: float | None = None,
    many_to_one: bool | None = None,
    unrelated: Texts | None = None,
    near: Texts | None = None,
    veto: bool = False,
    language: str = "en",
    executor: Executor | None = None,
) -> Matches:
    """Return what matches each text of the left list in the right one.

    Args:
        left: At least one text.
        right: At least one text. None: the others of the left list.
        precision: Share of the matches that are expected to be right, in (0, 1).
        rate: Share of texts without a counterpart that get a match, where no precision is given.
        many_to_one: Whether several left texts may match one right text; None: as the lists say.
        unrelated: Texts that cannot have a counterpart, of the same kind as the left ones.
        near: Near misses of right texts.
        veto: Whether texts that differ in what matters do not match.
        language: ISO 639-1, for stems and what differs.
        executor: What compares blocks of texts.
    """
    asked = left if unrelated is None else left.with_others(unrelated)
    executor = executor or Local()
    sides = [asked] if right is None else [asked, right]
    compared, distinct, equal = _compared(sides, language, executor)

    several = bool(many_to_one)
    if many_to_one is None and right is not None:
        mutual = leads(compared[BOTH]).found(precision, rate)
        copies, others = (np.bincount(side.of) for side in distinct)
        copies, others = copies[mutual.is_match], others[mutual.nearest[mutual.is_match, 0]]
        several = bool(copies.sum() > _MANY * copies[copies == others].sum() + _FEW_MORE)
    times = np.bincount(distinct[0].of)
    found = {
        name: grouped(pairs, times, precision, rate, own=False)
        if right is None
        else leads(pairs, several).found(precision, rate)
        for name, pairs in compared.items()
    }
    counts = {name: int(result.is_match.sum()) for name, result in found.items()}
    chosen = _chosen(counts)
    result = found[chosen] if right else grouped(compared[chosen], times, precision, rate)
    notes, at_most, known = list[str](), None, None
    if unrelated is not None:
        mine = np.isin(np.arange(len(result.leads)), distinct[0].of[: len(left.texts)])
        known = Strangers(np.sort(result.leads[~mine]))
        cut = max(known.cut(result.leads[mine], precision, rate), _LEAST)
        at_most = int(known.at_most_false(cut, int(mine.sum())))
        result = replace(
            result,
            is_match=result.leads >= cut,
            chances=known.chance(result.leads),
            expected_false=float(mine.sum() * known.chance(cut)),
        )
        seconds, alone = result.cosines[:, 1], ~result.is_match
        notes += unlike(seconds[mine & alone], seconds[~mine & alone])
    reader, shares = Reader(language), None
    if near is not None and right is not None and result.is_match.any():
        of_near, keys, _ = _compared([near, right], language, executor)
        passed = zip(*passing(of_near[chosen], compared[chosen], result, several), strict=True)
        pairs = [(near.texts[keys[0].firsts[i]], right.texts[keys[1].firsts[j]]) for i, j in passed]
        stay = sum(not reader.differing(*pair) for pair in pairs)
        shares = len(pairs) / len(keys[0].keys), stay / len(keys[0].keys)
    result.is_match[equal[0]] = True
    items = _items(sides, distinct, result, reader, veto, several)[: len(left.texts)]
    expected, before = result.expected_false, [i.is_match for i in items if i.is_match or i.differ]
    if veto and expected is not None and before:  # It takes as many of the false ones, or more.
        expected *= sum(before) / len(before)
    if result.chances is None:
        notes.append("Lists are too short for a rate: only equal texts match.")
    elif rate is not None and rate * LEVELS * len(result.leads) < 1:
        notes.append(f"A rate of {rate:g} is a guess: it is that of {len(result.leads):,} texts.")
    return Matches(
        items=items,
        precision=precision if rate is None else None,
        false_match_rate=rate,
        similarity=chosen,
        candidates=counts,
        many_to_one=several,
        expected_false=expected,
        at_most_false=at_most,
        known_strangers=known.drawn if known else 0,
        near_misses=shares,
        notes=tuple(notes),
    )


def _chosen(counts: Mapping[str, int]) -> str:
    """Return the similarity that finds most, if it finds many more than `BOTH`."""
    best = max(counts, key=lambda name: counts[name])
    return best if counts[best] > _MORE * counts[BOTH] + _FEW_MORE else BOTH


def _compared(
    sides: Sequence[Texts], language: str, executor: Executor
) -> tuple[dict[str, Compared], list[_Distinct], tuple[Ints, Ints]]:
    """Return the pairs that could match, by similarity; distinct texts; and which are equal."""
    from scipy import sparse

    distinct = [_Distinct.among(side.texts) for side in sides]
    others_keys = distinct[1].keys if len(sides) > 1 else np.empty(0, object)
    equal = np.intersect1d(distinct[0].keys, others_keys, True, return_indices=True)[1:]
    n = len(distinct[0].firsts)
    texts = [
        side.texts[at]
        for side, firsts in zip(sides, distinct, strict=True)
        for at in firsts.firsts.tolist()
    ]
    table = tables(texts, language)
    single = len(sides) == 1

    def halves(rows: Any) -> tuple[Any, Any]:
        return (rows, rows) if single else (rows[:n], rows[n:])

    # The rows side by side are large, and needed for the candidates alone.
    both = sparse.hstack([table.stems, table.characters], "csr")
    met = [candidates(*halves(both), single, executor)]
    del both
    vectors = [
        side.vectors[firsts.firsts]
        for side, firsts in zip(sides, distinct, strict=True)
        if side.vectors is not None
    ]
    if vectors:
        met.append(candidates(vectors[0], vectors[-1], single, executor))
    size = len(distinct[-1].firsts)
    pairs_of_keys = np.unique(np.concatenate([i * size + j for i, j in (*met, equal)]))
    pairs = pairs_of_keys // size, pairs_of_keys % size
    words = halves(table.words)
    stay = ~differ_in(*words, pairs, opposed_words(words[1], 2 if single else 1))
    pairs = pairs[0][stay], pairs[1][stay]
    similarities: dict[str, Singles] = {
        WORDS: dot_products(*halves(table.stems), pairs),
        CHARACTERS: dot_products(*halves(table.characters), pairs),
    }
    similarities[BOTH] = (similarities[WORDS] + similarities[CHARACTERS]) / np.float32(2)
    if vectors:
        similarities[ENCODER] = dot_products(vectors[0], vectors[-1], pairs)
        similarities[ALL] = _mean(similarities[BOTH], similarities[ENCODER])
    are_equal = np.isin(pairs[0] * size + pairs[1], equal[0] * size + equal[1])
    sizes = n, size
    compared = {
        name: Compared(pairs, np.where(are_equal, _EQUAL, np.minimum(scores, _NEARLY)), sizes)
        for name, scores in similarities.items()
    }
    return compared, distinct, equal


def _mean(a: Singles, b: Singles) -> Singles:
    """Return the mean of scores, where the second get the mean and deviation of the first."""
    deviation = max(float(b.std()), _LEAST)
    mean: Singles = (a + (b - b.mean()) / deviation * a.std() + a.mean()) / 2
    return mean


def _items(
    sides: Sequence[Texts],
    distinct: Sequence[_Distinct],
    result: Found,
    reader: Reader,
    veto: bool,
    several: bool,
) -> tuple[Match, ...]:
    """Return a match for each text of the left list."""
    left, right = sides[0], sides[-1]
    copies = [side.copies() for side in distinct]
    items = []
    for at, number in enumerate(distinct[0].of.tolist()):
        is_match, score = bool(result.is_match[number]), float(result.cosines[number, 0])
        group = int(result.groups[number])
        alike = copies[0][number]
        rank = alike.index(at)
        first, second = result.nearest[number].tolist()
        numbers = [None if j < 0 else copies[-1][j][0] for j in (first, second)]
        if len(sides) == 1 and len(alike) > 1:
            is_match, score = True, 1.0
            group = group if group >= 0 else number
            numbers = [alike[0] if rank else alike[1], numbers[0]]
        elif first >= 0:
            # Equal texts are paired in their order.
            is_match &= several or group >= 0 or len(alike) == len(copies[-1][first])
            numbers[0] = copies[-1][first][min(rank, len(copies[-1][first]) - 1)]
        nearest, runner_up = ("" if j is None else right.texts[j] for j in numbers)
        why = reader.compare(left.texts[at], nearest) if is_match else None
        kind = reader.kind(left.texts[at], nearest) if is_match else Kind.RELATED
        if veto and why and why.differ:
            is_match = False
        place = numbers[0] if is_match else None
        items.append(
            Match(
                left=at,
                left_id=left.ids[at],
                text=left.texts[at],
                right=place,
                right_id=None if place is None else right.ids[place],
                nearest=nearest,
                runner_up=runner_up,
                score=score,
                lead=float(result.leads[number]),
                chance=None if result.chances is None else float(result.chances[number]),
                group=group if group >= 0 else None,
                kind=kind,
                differ=why.differ if why else (),
                shared=why.shared if why else (),
            )
        )
    return tuple(items)

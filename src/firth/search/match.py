"""Matching: for each text of a list its nearest in another, or in the same, if that is no chance.

The null is that of the left texts among the right ones. Where the right list is too short for
that, it is that of the left texts among each other.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from textwrap import shorten
from typing import Any, overload

import numpy as np

from firth.run.console import WIDTH, plural, progress, wrapped
from firth.run.executor import Executor, Local
from firth.search.calibrate import fit_matches
from firth.search.calibration import (
    GUESSED,
    UNKNOWN,
    UNMEASURED,
    Calibration,
    MatchNull,
    check_rate,
    percent,
)
from firth.search.evidence import Reader
from firth.text.near import Kind
from firth.text.types import Floats, Ints, Singles

_ROWS, _COLUMNS = 1_024, 8_192
_SHOWN, _ROUNDING = 20, 1e-6


@dataclass(frozen=True, kw_only=True)
class Match:
    """A text of the left list, and what matches it.

    Attributes:
        left, right: Numbers of both texts in their lists, from 0; `right` is None where nothing
            matches.
        left_id, right_id: What the lists call them; by default the numbers.
        nearest: The nearest text of the right list, whether it matches or not.
        score: Its cosine, in [-1, 1].
        chance: Share of texts without a counterpart whose nearest is as near, in [0, 1]; None where
            nothing is known.
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
    score: float
    chance: float | None
    kind: Kind
    differ: tuple[str, ...]
    shared: tuple[str, ...]

    @property
    def is_match(self) -> bool:
        """Whether the nearest matches."""
        return self.right is not None

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON and tables."""
        lists = {name: list(getattr(self, name)) for name in ("differ", "shared")}
        return {**asdict(self), "kind": self.kind.value, **lists}


@dataclass(frozen=True)
class Matches(Sequence[Match]):
    """One item for each text of the left list, in its order.

    Attributes:
        items: The texts with what matches them.
        threshold: Least cosine of a match.
        false_match_rate: Share of texts without a counterpart that get a match.
        expected_false: Matches that are expected to be chance; None where nothing is known.
        notes: What a reader must know.
    """

    items: tuple[Match, ...]
    threshold: float
    false_match_rate: float
    expected_false: float | None
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        """Return the number of texts of the left list."""
        return len(self.items)

    @overload
    def __getitem__(self, place: int) -> Match: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Match, ...]: ...
    def __getitem__(self, place: int | slice) -> Match | tuple[Match, ...]:
        """Return an item, or some."""
        return self.items[place]

    @property
    def found(self) -> tuple[Match, ...]:
        """The items that have a match."""
        return tuple(item for item in self.items if item.is_match)

    @property
    def false_share(self) -> float | None:
        """The expected share of chance among the matches, in [0, 1]; None if unknown."""
        if self.expected_false is None:
            return None
        return min(1.0, self.expected_false / max(1, len(self.found)))

    def rows(self) -> list[dict[str, Any]]:
        """Return a record for each text of the left list."""
        return [item.as_dict() for item in self.items]

    def as_dict(self, top: int | None = None) -> dict[str, Any]:
        """Return plain values, for JSON; with the first `top` matches only, if given."""
        items = self.items if top is None else self.found[:top]
        return {
            "texts": len(self),
            "matches": len(self.found),
            "threshold": self.threshold,
            "false_match_rate": self.false_match_rate,
            "expected_false": self.expected_false,
            "false_share": self.false_share,
            "notes": list(self.notes),
            "items": [item.as_dict() for item in items],
        }

    def to_frame(self) -> Any:
        """Return a pandas data frame with a row for each text of the left list."""
        from pandas import DataFrame

        return DataFrame(self.rows())

    def save(self, path: str | Path, force: bool = False) -> None:
        """Write a row for each text of the left list: CSV by the name `.csv`, or JSON Lines."""
        from firth.run.outputs import write_rows

        write_rows(path, self.rows(), force)

    def summary(self) -> str:
        """Return the number of matches, and how many are expected to be chance."""
        verb = "has" if len(self) == 1 else "have"
        said = f"{len(self.found):,} of {plural(len(self), 'text')} {verb} a match"
        if self.found and self.false_share is not None:
            said += f"; {percent(self.false_share)} of these are expected by chance"
        return f"{said} (cosine of at least {self.threshold:.2f})"

    def __repr__(self) -> str:
        """Name the counts."""
        return f"Matches({self.summary()})"

    def text(self, top: int = _SHOWN) -> str:
        """Return the first matches as text, at most 80 columns wide."""
        return "\n".join(self._lines(top))

    __str__ = text

    def _lines(self, top: int) -> Iterator[str]:
        yield wrapped(self.summary())
        yield from map(wrapped, self.notes)
        for item in self.found[:top]:
            yield ""
            yield shorten(f"{item.left_id}: {item.text}", WIDTH, placeholder=" …")
            yield "  " + shorten(f"{item.right_id}: {item.nearest}", WIDTH - 2, placeholder=" …")
            chance = "" if item.chance is None else f", chance {item.chance:.2g}"
            differ = f"; differ in {', '.join(item.differ)}" if item.differ else ""
            yield f"  {item.kind.value}, cosine {item.score:.2f}{chance}{differ}"

    def _repr_html_(self) -> str:
        """Return the first matches as a table, for notebooks."""
        from firth.scorer.render import html_table

        rows = []
        for item in self.found[:_SHOWN]:
            chance = "" if item.chance is None else f"{item.chance:.2g}"
            differ = ", ".join(item.differ)
            rows.append((item.text, item.nearest, f"{item.score:.2f}", chance, differ))
        return html_table(self.summary(), ("text", "nearest", "score", "chance", "differ"), rows)


@dataclass(frozen=True)
class Texts:
    """A list of texts, what they are called, and their unit vectors, (n, d)."""

    texts: Sequence[str]
    ids: Sequence[str]
    vectors: Singles


def match_texts(
    left: Texts,
    right: Texts | None = None,
    *,
    rate: float = 0.01,
    language: str = "en",
    seed: int = 13,
    executor: Executor | None = None,
) -> Matches:
    """Return what matches each text of the left list in the right one.

    Args:
        left: At least one text.
        right: At least one text. None: the others of the left list.
        rate: Share of texts without a counterpart that may get a match, in (0, 1).
        language: ISO 639-1, for what differs.
        seed: Of the sample that the null is fitted to.
        executor: What compares blocks of the left list.
    """
    check_rate(rate)
    others = right or left
    across = None if right is None else right.vectors
    known = Calibration(fit_lists(left.vectors, across, seed))
    numbers, scores = _nearest(left.vectors, right, executor or Local())
    _add_equal(left.texts, None if right is None else right.texts, numbers, scores)
    notes: tuple[str, ...] = ()
    threshold, expected = UNMEASURED, None
    if known.matches is None:
        notes = (f"{UNKNOWN} So the threshold is {UNMEASURED}.",)
        chances: Sequence[float | None] = [None] * len(numbers)
    else:
        threshold = known.threshold(rate)
        expected = known.expected_false(scores, threshold)
        chances = known.matches.chance(scores).tolist()
        if threshold >= 1:
            notes = (
                f"Texts are so alike that equal ones are chance, too, more often than {rate:g}.",
            )
        elif rate * known.matches.drawn < GUESSED:
            few = f"{known.matches.drawn:,} texts"
            notes = (f"A rate of {rate:g} is a guess: the threshold is fitted to {few}.",)
    reader = Reader(language)
    items = []
    rows = zip(numbers.tolist(), scores.tolist(), chances, strict=True)
    for i, (number, score, chance) in enumerate(rows):
        nearest = others.texts[number] if number >= 0 else ""
        is_match = number >= 0 and score >= threshold
        why = reader.compare(left.texts[i], nearest) if is_match else None
        items.append(
            Match(
                left=i,
                left_id=left.ids[i],
                text=left.texts[i],
                right=number if is_match else None,
                right_id=others.ids[number] if is_match else None,
                nearest=nearest,
                score=score,
                chance=chance,
                kind=reader.kind(left.texts[i], nearest) if is_match else Kind.RELATED,
                differ=why.differ if why else (),
                shared=why.shared if why else (),
            )
        )
    return Matches(tuple(items), threshold, rate, expected, notes)


def fit_lists(left: Singles, right: Singles | None, seed: int) -> MatchNull | None:
    """Return the null of the best in the right list, or of the best of the other texts.

    Args:
        left: Unit vectors, (n, d).
        right: Unit vectors, (m, d). None: the left list is matched with itself.
        seed: Of the sample.
    """
    owners = np.arange(len(left))
    if right is not None:
        across = fit_matches(left, owners, seed, others=(right, -1 - np.arange(len(right))))
        if across is not None:
            return across
    within = fit_matches(left, owners, seed)
    return within if right is None or within is None else within.among(len(right))


def _add_equal(
    left: Sequence[str], right: Sequence[str] | None, numbers: Ints, scores: Floats
) -> None:
    """Make equal texts the nearest where their vectors are zeros, because no word is known."""
    firsts: dict[str, list[int]] = {}
    for number, text in enumerate(left if right is None else right):
        firsts.setdefault(text, []).append(number)
    for i in np.flatnonzero(scores < 1).tolist():
        for number in firsts.get(left[i], ())[:2]:
            if right is not None or number != i:
                numbers[i], scores[i] = number, 1.0
                break


@dataclass(frozen=True)
class _Comparing:
    """Work for an executor: a block of vectors and its first number in; nearest and cosines out.

    With `apart`, vector i of one side is not compared with vector i of the other.
    """

    vectors: Singles
    apart: bool

    def open(self) -> "Callable[[tuple[int, Singles]], tuple[Ints, Singles]]":
        return self._compare

    def _compare(self, item: tuple[int, Singles]) -> tuple[Ints, Singles]:
        first, block = item
        numbers = np.full(len(block), -1)
        scores = np.full(len(block), -1.0, np.float32)
        rows = np.arange(len(block))
        for at in range(0, len(self.vectors), _COLUMNS):
            cosines = block @ self.vectors[at : at + _COLUMNS].T
            own = first + rows - at
            inside = (own >= 0) & (own < cosines.shape[1]) & self.apart
            cosines[rows[inside], own[inside]] = -np.inf
            best = cosines.argmax(axis=1)
            better = cosines[rows, best] > scores
            scores[better] = cosines[rows, best][better]
            numbers[better] = best[better] + at
        return numbers, scores


def _nearest(left: Singles, right: Texts | None, executor: Executor) -> tuple[Ints, Floats]:
    """Return the number of the nearest of each left vector, or -1, and its cosine."""
    work = _Comparing(left if right is None else right.vectors, right is None)
    starts = range(0, len(left), _ROWS)
    blocks = ((at, left[at : at + _ROWS]) for at in starts)
    parts = [*progress(executor.map(work, blocks), "Matching", len(starts))]
    numbers = np.concatenate([part[0] for part in parts])
    scores = np.concatenate([part[1] for part in parts]).astype(np.float64)
    return numbers, np.where(scores > 1 - _ROUNDING, 1.0, scores)

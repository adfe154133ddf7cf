"""Pairs of texts of two lists: which are compared, and which are the same thing, without labels.

A text is a row of its stems, and a row of the character n-grams of its words. Both are weighted by
how rare they are in the two lists, and have length 1. Of all pairs only those are looked at in
which one text is among the nearest of the other. Where lists are long, texts meet by what is rare
in them: what most of them have says little, and costs most.

A match is mutual: each text is the nearest of the other. How far it is ahead of the next on both
sides, relative to its own distance, is its *lead*. The null is what the same statistic says once
the best is taken away: the second or third best of a text is chance, and where the tails of
cosines are exponential, j times the gap after the j-th nearest has one distribution for all j
(Rényi 1953). So the best of a text without a counterpart is ahead of the next by such a multiple.
Hence the number of false matches from a lead on, and of texts without a counterpart: those that
are hardly ahead, divided by the share of the null that is not either (Storey 2002).

How far the best of such a text would be ahead on the other side is not known. If it is nearer by
the whole gap there, too, the null is that of strangers: right where nothing has a counterpart, and
too careful where most have one, whose second best are often siblings of it. So lists have a null
with a small part of the gap, and the strangers' only decides whether anything matches at all.

In one list a text may have many copies. There the nearest groups of texts join, by the mean angle
between them (average linkage). The lead of a group is how far it is from others, relative to its
own mean angle, times the root of half of its size: many texts are rarely near by chance. How far it
is from others is the geometric mean of two angles: to the nearest other group, and what is usual in
the list. In a space of d dimensions the share (1 + lead)^-d of strangers has such a lead (Levina
and Bickel 2004). Small leads are mostly those of strangers, and the smaller they are, the higher is
d: citations are far apart, and names are not.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from firth.run.console import progress
from firth.run.executor import Executor
from firth.text.stems import word_grams
from firth.text.types import Floats, Ints, Singles, places
from firth.text.words import stemmer_for, stemmer_of, stems, words

if TYPE_CHECKING:
    from scipy import sparse

_COMPARED, _IN_ONE_LIST = 10, 30
"""Texts of the other side with which a text is compared, and of one list, which may be copies."""
_WORK = 2e9
"""Products of weights by which all texts of one side meet those of the other."""
_ROWS, _PAIRS = 1_000, 2_000
Rows = Any
"""Unit rows of texts: sparse, or vectors of an encoder."""
_MOST_OPPOSED = 100
"""Entries that differ from one another in the same place, at most."""


# --- Which are compared --------------------------------------------------------------------------


@dataclass(frozen=True)
class Tables:
    """Rows of n texts: words, stems and characters (n-grams of their words); all sparse.

    Attributes:
        words: 1 where a text has a word, (n, vocabulary).
        stems, characters: Unit rows.
    """

    words: "sparse.csr_matrix"
    stems: "sparse.csr_matrix"
    characters: "sparse.csr_matrix"


def tables(texts: Sequence[str], language: str) -> Tables:
    """Return the rows of some texts, of all lists together.

    Args:
        texts: At least one.
        language: ISO 639-1, or several, as `de+fr`.
    """
    stemmer = stemmer_of(language)
    numbers: dict[str, int] = {}
    stem_numbers: dict[str, int] = {}
    columns, stem_columns, lengths = list[int](), list[int](), list[int]()
    for text in texts:
        of_text = words(text)
        lengths.append(len(of_text))
        columns += [numbers.setdefault(word, len(numbers)) for word in of_text]
        stemmed = stems(of_text, stemmer_for(text, stemmer))
        stem_columns += [stem_numbers.setdefault(stem, len(stem_numbers)) for stem in stemmed]
    counts = _counted(columns, lengths, len(numbers))
    grams = (counts @ word_grams([*numbers]).astype(np.float32)).tocsr()
    grams.data = 1 + np.log(grams.data)
    stem_counts = _counted(stem_columns, lengths, len(stem_numbers))
    counts.data[:] = 1
    return Tables(counts, _weighted(stem_counts), _weighted(grams))


def _counted(columns: list[int], lengths: list[int], size: int) -> "sparse.csr_matrix":
    from scipy import sparse

    bounds = np.concatenate([[0], np.cumsum(lengths)])
    ones = np.ones(len(columns), np.float32)
    counts = sparse.csr_matrix((ones, np.array(columns, np.int32), bounds), (len(lengths), size))
    counts.sum_duplicates()
    return counts


def _weighted(counts: "sparse.csr_matrix") -> "sparse.csr_matrix":
    """Multiply counts, in place, by the rarity of their columns; rows have length 1, or 0."""
    texts = np.bincount(counts.indices, minlength=counts.shape[1])
    rarity = np.log((1 + counts.shape[0]) / (1 + texts)) + 1
    counts.data *= rarity.astype(np.float32)[counts.indices]
    counts.data **= 2  # in place: of long lists this is the largest array
    lengths = np.sqrt(counts @ np.ones(counts.shape[1], np.float32))
    np.sqrt(counts.data, out=counts.data)
    lengths[lengths == 0] = 1
    counts.data /= np.repeat(lengths, np.diff(counts.indptr))
    return counts


def candidates(left: Rows, right: Rows, apart: bool, executor: Executor) -> tuple[Ints, Ints]:
    """Return numbers of texts on the left and right that are compared, sorted, each pair once.

    Args:
        left, right: Unit rows, (n, d) and (m, d).
        apart: Whether both are the same list, where no text is compared with itself. There each
            pair comes in both orders.
        executor: What compares blocks of texts.
    """
    if not isinstance(left, np.ndarray):
        columns = _affordable(left, right)
        left, right = left[:, columns], right[:, columns]
    pairs = [_met(left, right, apart, executor)]
    pairs.append((pairs[0] if apart else _met(right, left, False, executor))[::-1])
    size = right.shape[0]
    keys = np.unique(np.concatenate([i.astype(np.int64) * size + j for i, j in pairs]))
    return keys // size, keys % size


def _affordable(left: "sparse.csr_matrix", right: "sparse.csr_matrix") -> Ints:
    """Return the columns by which texts meet, the rarest that cost `_WORK` together."""
    work = np.bincount(left.indices, minlength=left.shape[1]).astype(np.float64)
    work *= np.bincount(right.indices, minlength=left.shape[1])
    order = np.argsort(work, kind="stable")
    chosen = order[(np.cumsum(work[order]) <= _WORK) & (work[order] > 0)]
    return np.sort(chosen)


@dataclass(frozen=True)
class _Meeting:
    """Work for an executor: the number of a first text and a block of rows in; out come the
    numbers of the nearest of each among all rows, (block, count), or -1. With `apart`, row i is not
    compared with itself."""

    across: Rows
    count: int
    apart: bool

    def open(self) -> Callable[[tuple[int, Rows]], Ints]:
        return self._nearest

    def _nearest(self, item: tuple[int, Rows]) -> Ints:
        first, block = item
        products = block @ self.across
        nearest = np.full((block.shape[0], self.count), -1, np.int64)
        for i in range(len(nearest)):
            if not isinstance(products, np.ndarray):
                part = slice(products.indptr[i], products.indptr[i + 1])
                numbers, cosines = products.indices[part], products.data[part]
            else:
                numbers, cosines = np.arange(products.shape[1]), products[i]
            if self.apart:
                other = numbers != first + i
                numbers, cosines = numbers[other], cosines[other]
            if len(numbers) > self.count:
                numbers = numbers[np.argpartition(-cosines, self.count)[: self.count]]
            nearest[i, : len(numbers)] = numbers
        return nearest


def _met(left: Rows, right: Rows, apart: bool, executor: Executor) -> tuple[Ints, Ints]:
    across = right.T if isinstance(right, np.ndarray) else right.T.tocsr()
    work = _Meeting(across, _IN_ONE_LIST if apart else _COMPARED, apart)
    starts = range(0, left.shape[0], _ROWS)
    blocks = ((at, left[at : at + _ROWS]) for at in starts)
    parts = [*progress(executor.map(work, blocks), "Comparing texts", len(starts))]
    nearest = np.concatenate(parts)
    i, place = np.nonzero(nearest >= 0)
    return i, nearest[i, place]


def dot_products(left: Rows, right: Rows, pairs: tuple[Ints, Ints]) -> Singles:
    """Return the scalar product of each pair of rows, (pairs,): of unit rows the cosine."""
    values = np.zeros(len(pairs[0]), np.float32)
    for at in range(0, len(values), _PAIRS):
        block = slice(at, at + _PAIRS)
        a, b = left[pairs[0][block]], right[pairs[1][block]]
        both = a.multiply(b) if not isinstance(a, np.ndarray) else a * b
        values[block] = np.asarray(both.sum(axis=1)).ravel()
    return values


def opposed_words(rows: "sparse.csr_matrix", least: int = 1) -> frozenset[tuple[int, int]]:
    """Return pairs of words, the lower number first, that tell entries of a list apart.

    In a list without duplicates, entries that differ in one word each say that both words matter:
    *2008* and *2009*, *north* and *south*. Two such pairs of entries are needed.

    Args:
        rows: 1 where an entry has a word, (n, vocabulary).
        least: Opposites of each word at least; 2 where copies have words and their abbreviations.
    """
    rng = np.random.default_rng(13)
    digests = rng.integers(0, 2**63, rows.shape[1], np.uint64)
    entries = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    sums = np.zeros(rows.shape[0], np.uint64)
    np.add.at(sums, entries, digests[rows.indices])
    _, firsts = np.unique(sums, return_index=True)
    distinct = np.isin(entries, firsts) & (np.diff(rows.indptr)[entries] > 1)
    rest = (sums[entries] - digests[rows.indices])[distinct]
    order = np.argsort(rest, kind="stable")
    columns = rows.indices[distinct][order]
    bounds = [0, *(1 + np.flatnonzero(np.diff(rest[order]))).tolist(), len(columns)]
    met: dict[tuple[int, int], int] = {}
    for start, end in pairwise(bounds):
        if not 1 < end - start <= _MOST_OPPOSED:
            continue
        alike = sorted(set(columns[start:end].tolist()))
        for at, word in enumerate(alike):
            for other in alike[at + 1 :]:
                met[word, other] = met.get((word, other), 0) + 1
    pairs = [pair for pair, count in met.items() if count > 1]
    opposed = Counter(word for pair in pairs for word in pair)
    return frozenset(pair for pair in pairs if min(opposed[word] for word in pair) >= least)


def differ_in(
    left: "sparse.csr_matrix",
    right: "sparse.csr_matrix",
    pairs: tuple[Ints, Ints],
    opposed: frozenset[tuple[int, int]],
) -> npt.NDArray[np.bool_]:
    """Return for each pair whether the two texts differ in just two words that are opposed."""
    sizes = [np.diff(rows.indptr)[side] for rows, side in zip((left, right), pairs, strict=True)]
    shared = dot_products(left, right, pairs)
    near = np.flatnonzero((sizes[0] - shared == 1) & (sizes[1] - shared == 1))

    def of(rows: "sparse.csr_matrix", number: int) -> set[int]:
        return {*rows.indices[rows.indptr[number] : rows.indptr[number + 1]].tolist()}

    differ = np.zeros(len(shared), bool)
    for at in near.tolist():
        pair = of(left, pairs[0][at]) ^ of(right, pairs[1][at])
        differ[at] = (min(pair), max(pair)) in opposed
    return differ


# --- Which are the same --------------------------------------------------------------------------

FEWEST = 20
"""Values of a null below which nothing is said of chance."""
LEVELS = 2
"""Texts after the best that are in the null: the second and the third."""
_DEPTH = LEVELS + 2
_NEAREST = 0.05
"""Radians: how near two texts are whose angle is smaller, so that equal ones have a lead."""
_HARDLY = 0.5
"""The quantile of the null up to which a text is hardly ahead."""
_SURE = 1e-3
_PART = 0.15
"""Part of the gap by which the best of a text without a counterpart is nearer, seen from the other
side. Half of the lists of names chose it, with `_HARDLY` and `LEVELS`."""
_DIMENSIONS, _FEWEST_DIMENSIONS = 3.8, 2.5
"""Of the space of texts whose small leads are even, and at least. Lists of copies chose the first,
with `_USUAL`, `_SMALL` and `_ANY_IN_ONE`."""
_SMALL, _MORE_SMALL = np.log1p(0.6), 20
"""Logarithm of 1 and the lead up to which leads are small; and even ones that are added."""
_USUAL = 0.9
"""Quantile of the angles at which texts join others, up to which copies do."""
_CUTS = tuple(0.25 * 1.1**step for step in range(32))
"""Leads of groups that are tried, the lowest first."""
_ANY, _DEVIATIONS = 0.2, 5
"""Share of the matches that strangers may explain, and standard deviations by which mutual matches
are more than theirs. Where no lead has less and these are not as many, nothing matches."""
_ANY_IN_ONE = 0.25
"""The same share in one list, where nothing matches if no lead has less."""


@dataclass(frozen=True)
class Compared:
    """Pairs of texts that are compared, by one similarity.

    Attributes:
        pairs: Numbers on the left and on the right, (pairs,) each; each pair once.
        cosines: Of each pair, (pairs,).
        sizes: Numbers of texts on the left and right.
    """

    pairs: tuple[Ints, Ints]
    cosines: Singles
    sizes: tuple[int, int]

    def nearest(
        self, side: int, depth: int, first: npt.NDArray[np.bool_] | None = None
    ) -> tuple[Ints, Floats]:
        """Return the nearest texts of each on a side (0: left), (n, depth), and their angles.

        Where there are fewer, the number is -1 and the angle that of texts with nothing in common.
        Pairs that are `first`, (pairs,), come before nearer ones.
        """
        mine, others = self.pairs[side], self.pairs[1 - side]
        later = np.zeros(len(mine), bool) if first is None else ~first
        order = np.lexsort((others, -self.cosines, later, mine))
        rank = places(mine[order])
        order, rank = order[rank < depth], rank[rank < depth]
        numbers = np.full((self.sizes[side], depth), -1, np.int64)
        angles = np.full((self.sizes[side], depth), np.pi / 2)
        numbers[mine[order], rank] = others[order]
        angles[mine[order], rank] = np.arccos(np.clip(self.cosines[order].astype(float), 0, 1))
        return numbers, angles


@dataclass(frozen=True, kw_only=True)
class Found:
    """What matches each left text.

    Attributes:
        nearest: Nearest and second right text of each left text, (n, 2), or -1.
        cosines: Of both, (n, 2).
        leads: Of each left text, (n,).
        chances: Share of strangers with such a lead, (n,); None where too little is known.
        is_match: Whether the nearest matches, (n,).
        groups: In one list, the number of each text's group, (n,), or -1.
        expected_false: Matches that are expected to be false.
    """

    nearest: Ints
    cosines: Floats
    leads: Floats
    chances: Floats | None
    is_match: npt.NDArray[np.bool_]
    groups: Ints
    expected_false: float | None


@dataclass(frozen=True, kw_only=True)
class Leads:
    """How far the nearest text of each left text is ahead, and what chance gives.

    Attributes:
        nearest: Nearest and second right text of each left text, (n, 2), or -1.
        angles: Their angles, (n, 2).
        leads: Of each left text, (n,); 0 or less where the nearest is no mutual match.
        null: Leads of texts without a counterpart, ascending.
        strangers: The same where no text has a counterpart, ascending.
        without: How many texts have no counterpart, about.
    """

    nearest: Ints
    angles: Floats
    leads: Floats
    null: Floats
    strangers: Floats
    without: float

    def expected_false(self, leads: Floats) -> Floats:
        """Return how many matches from each lead on are expected to be false."""
        false: Floats = self.without * _share_from(self.null, leads)
        return false

    def cut(self, precision: float | None, rate: float | None) -> float:
        """Return the least lead of a match; infinity where none is good enough.

        Args:
            precision: Share of the matches that are expected to be right, in (0, 1).
            rate: In its place, share of the texts without a counterpart that get a match.
        """
        cuts = np.unique(self.leads[self.leads > 0])
        matches = len(self.leads) - np.searchsorted(np.sort(self.leads), cuts)
        chance = _share_from(self.strangers, cuts)
        if rate is not None:
            good = np.flatnonzero(chance <= rate)
        else:
            false = self.expected_false(cuts)
            good = np.flatnonzero(false <= (1 - (precision or 0)) * matches)
            n, share = len(self.leads), (self.strangers > 0).sum() / max(1, len(self.strangers))
            more = (self.leads > 0).sum() - n * share
            is_more = more > _DEVIATIONS * np.sqrt(n * share * (1 - share))
            if not is_more and not (chance * n <= _ANY * matches).any():
                return np.inf
        return float(cuts[good[0]]) if len(good) and len(self.null) >= FEWEST else np.inf

    def found(self, precision: float | None, rate: float | None) -> Found:
        """Return the matches; arguments are those of `cut`."""
        cut, is_known = self.cut(precision, rate), len(self.null) >= FEWEST
        return Found(
            nearest=self.nearest,
            cosines=np.cos(self.angles),
            leads=self.leads,
            chances=_share_from(self.strangers, self.leads) if is_known else None,
            is_match=self.leads >= cut,
            groups=np.full(len(self.leads), -1),
            expected_false=float(self.expected_false(np.array([cut]))[0]) if is_known else None,
        )


def _share_from(null: Floats, leads: Floats) -> Floats:
    """Return the share of ascending values, and half of one, as high as each lead, in (0, 1]."""
    as_high = len(null) - np.searchsorted(null, leads - 1e-12)
    share: Floats = (as_high + 0.5) / (len(null) + 1)
    return share


def leads(compared: Compared, many_to_one: bool = False) -> Leads:
    """Return how far each left text's nearest is ahead.

    Args:
        compared: Pairs and their cosines.
        many_to_one: Whether several left texts may match one right text, so that it is not asked
            which left text is nearest to that.
    """
    numbers, angles = compared.nearest(0, _DEPTH)
    back, back_angles = compared.nearest(1, 2)
    rows = np.arange(len(numbers))

    def lead(place: int, gap: Floats, part: float = 0.0) -> Floats:
        """Of the text at a place if it is ahead by a gap, on the other side by a part more."""
        number, angle = numbers[:, place], angles[:, place]
        is_own = back[number, 0] == rows
        rival = np.where(is_own, back_angles[number, 1], back_angles[number, 0])
        ahead = gap if many_to_one else np.minimum(gap, rival - angle + part * gap)
        nearness = angle - gap if place else angle
        ahead = ahead / np.maximum(nearness, _NEAREST)
        return np.where(angle < np.pi / 2, ahead, 0.0)

    mine = lead(0, angles[:, 1] - angles[:, 0])
    gaps = {
        j: (j + 1) * (angles[:, j + 1] - angles[:, j])
        for j in range(1, LEVELS + 1)
        if compared.sizes[1] > j + 1
    }
    null, strangers = (
        np.sort(np.concatenate([np.zeros(0), *(lead(j, gap, part) for j, gap in gaps.items())]))
        for part in (_PART, 1.0)
    )
    hardly = max(float(np.quantile(null, _HARDLY)), 0.0) if len(null) else 0.0
    few = (null <= hardly).mean() if len(null) else 1.0
    without = min(float(len(mine)), ((mine <= hardly).sum() + 1) / max(few, _SURE))
    return Leads(
        nearest=numbers[:, :2],
        angles=angles[:, :2],
        leads=mine,
        null=null,
        strangers=strangers,
        without=without,
    )


def passing(near: Compared, own: Compared, found: Found, many_to_one: bool) -> tuple[Ints, Ints]:
    """Return the near misses of right texts that would match, and the texts that these match.

    Args:
        near: Pairs of near misses and right texts.
        own: Pairs of left and right texts. Left texts that match leave their place to near misses.
        found: What matches each left text; at least one does.
        many_to_one: As for `leads`.
    """
    numbers, angles = near.nearest(0, 2)
    back, back_angles = own.nearest(1, 2)
    first = back[:, 0]
    is_taken = found.is_match[first] & (found.nearest[first, 0] == np.arange(len(back)))
    rival = np.where(is_taken, back_angles[:, 1], back_angles[:, 0])[numbers[:, 0]]
    next_angles = angles[:, 1] if many_to_one else np.minimum(angles[:, 1], rival)
    ahead = (next_angles - angles[:, 0]) / np.maximum(angles[:, 0], _NEAREST)
    passed = np.flatnonzero(ahead >= found.leads[found.is_match].min())
    return passed, numbers[passed, 0]


def grouped(
    compared: Compared, copies: Ints, precision: float | None, rate: float | None, own: bool = True
) -> Found:
    """Return the groups of one list whose texts are the same, with the lead of its group for each.

    `copies` says how many times the list has each text, (n,). The next arguments are those of
    `Leads.cut`: equal texts match, too. Without `own`, dimensions are the usual ones, so that
    similarities can be compared.
    """
    n, (left, right) = compared.sizes[0], compared.pairs
    parents, group_leads = _joined(compared)
    best, cuts = _highest(parents, group_leads)[:n], np.array(_CUTS)
    joined = np.array([(best >= cut).sum() for cut in cuts])
    matches = np.array([copies[(best >= cut) | (copies > 1)].sum() for cut in cuts])
    usual, dimensions = (1 + cuts) ** -_DIMENSIONS, _dimensions(best) if own else _DIMENSIONS
    chances = (1 + cuts) ** -dimensions
    false = min(n, ((n - joined) / (1 - chances)).min()) * chances
    is_good = chances <= rate if rate is not None else false <= (1 - (precision or 0)) * matches
    is_known, is_sure = n * LEVELS >= FEWEST, (usual * n <= _ANY_IN_ONE * joined).any()
    good = np.flatnonzero(is_good & (joined > 0) & is_known & is_sure)
    cut = float(cuts[good[0]]) if len(good) else np.inf
    groups = _labels(parents, group_leads, n, cut)
    is_inside = (groups[left] == groups[right]) & (groups[left] >= 0)
    numbers, angles = compared.nearest(0, 2, is_inside)
    values = np.where(groups >= 0, group_leads[groups], 0.0)
    return Found(
        nearest=numbers,
        cosines=np.cos(angles),
        leads=values,
        chances=(1 + values) ** -dimensions if is_known else None,
        is_match=groups >= 0,
        groups=groups,
        expected_false=float(false[good[0]]) if len(good) else 0.0,
    )


def _highest(parents: Ints, group_leads: Floats) -> Floats:
    """Return the highest lead of each group and of those that it joins in, (groups,)."""
    best = group_leads.copy()
    for number in range(len(best) - 1, -1, -1):
        if parents[number] >= 0:
            best[number] = max(best[number], best[parents[number]])
    return best


def _dimensions(leads: Floats) -> float:
    """Return in how many dimensions texts are, by how far small leads, (n,), fall from 0 on."""
    small = np.log1p(leads[leads > 0]) / _SMALL
    small = small[small < 1]
    rate = 12 * (0.5 - small).sum() / (len(small) + _MORE_SMALL) / _SMALL
    return max(_FEWEST_DIMENSIONS, _DIMENSIONS + float(rate))


def _labels(parents: Ints, group_leads: Floats, texts: int, cut: float) -> Ints:
    """Return the number of the largest group of each text with such a lead, (texts,), or -1."""
    labels = np.where(group_leads >= cut, np.arange(len(parents)), -1)
    for number in range(len(labels) - 1, -1, -1):
        parent = parents[number]
        if parent >= 0 and labels[parent] >= 0:
            labels[number] = labels[parent]
    of_texts: Ints = labels[:texts]
    return of_texts


def _joined(compared: Compared) -> tuple[Ints, Floats]:
    """Return how the texts of one list join, each two groups that are nearest to one another.

    Of the texts and then of groups of two others each: the group that each joins in, or -1, and its
    lead; 0 for texts. Texts that are not compared are at a right angle.
    """
    from scipy.sparse import coo_matrix

    n = compared.sizes[0]
    parents, heights, counts = np.full(2 * n, -1), np.zeros(2 * n), np.ones(2 * n)
    nodes, sizes, made = np.arange(n), np.ones(n), n
    once = (compared.pairs[0] < compared.pairs[1]) & (compared.cosines > 0)
    left, right = (side[once] for side in compared.pairs)
    sums = np.arcsin(np.clip(compared.cosines[once].astype(float), 0, 1))
    """Of two groups: right angles less the angles of all their pairs."""
    while len(sums):
        near = np.tile(sums / (sizes[left] * sizes[right]), 2)
        mine, others = np.concatenate([left, right]), np.concatenate([right, left])
        order = np.lexsort((others, -near, mine))
        order = order[np.unique(mine[order], return_index=True)[1]]
        nearest, best = np.full(len(sizes), -1), np.zeros(len(sizes))
        nearest[mine[order]], best[mine[order]] = others[order], near[order]
        own = np.arange(len(sizes))
        first = np.flatnonzero((nearest > own) & (nearest[nearest] == own))
        second, joint = nearest[first], np.arange(made, made + len(first))
        made += len(first)
        parents[nodes[first]] = parents[nodes[second]] = joint
        heights[joint], counts[joint] = np.pi / 2 - best[first], sizes[first] + sizes[second]
        nodes[first], own[second] = joint, first
        kept, to = np.unique(own, return_inverse=True)
        nodes, sizes = nodes[kept], np.bincount(to, sizes).astype(float)
        ends = np.sort([to[left], to[right]], axis=0)
        apart = ends[0] != ends[1]
        rest = coo_matrix((sums[apart], ends[:, apart]), [len(kept)] * 2).tocsr().tocoo()
        left, right, sums = rest.row, rest.col, rest.data
    parents, heights, counts = parents[:made], heights[:made], counts[:made]
    above = np.where(parents >= 0, heights[parents], np.pi / 2)
    far = np.sqrt(above * np.quantile(above[:n], _USUAL))
    lead = (far / np.maximum(heights, _NEAREST) - 1) * np.sqrt(counts / 2)
    return parents, np.where(counts > 1, lead, 0.0)

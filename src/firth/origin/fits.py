"""What contexts add to the products of vectors, theme by theme: Eq. 4 with decorrelated fits."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from firth.context.contexts import Contexts
from firth.context.themes import Themes
from firth.corpus.corpus import Corpus
from firth.lexical.arrays import Floats
from firth.lexical.marks import names_in
from firth.origin.evidence import ContextShare, ThemeShare

SHOWN_THEMES, SHOWN_CONTEXTS, SHOWN_ALONE = 10, 2, 2
_AT_ONCE = 64
"""Pairs whose fits are in memory together: 20,000 contexts of 128 texts are 20 MB."""
_LEANING, _TIMES, _MUCH = 2.0, 3.0, 0.03
"""A text stands alone in a theme that has so many times its usual share of it, so many times the
other text's, and at least the last."""
_NONE = 1e-12
Summands = Callable[[int], tuple[Floats, Floats] | None]


@dataclass(frozen=True)
class Explained:
    """A product of two vectors, taken apart.

    Attributes:
        added: The product.
        themes: At most `SHOWN_THEMES`, in order of what they add beyond their usual share.
        alone1: Themes in which only the first stands, at most `SHOWN_ALONE`.
        alone2: Those of the second.
    """

    added: float
    themes: tuple[ThemeShare, ...]
    alone1: tuple[ThemeShare, ...]
    alone2: tuple[ThemeShare, ...]


class ThemeFits:
    """The part of a cosine that corpus sentences explain.

    Args:
        contexts: Corpus sentences, in the space of the vectors.
        themes: Their groups.
        corpus: Their texts and documents.
    """

    def __init__(self, contexts: Contexts, themes: Themes, corpus: Corpus) -> None:
        order = np.argsort(themes.labels, kind="stable")
        self._positions, self._rows = contexts.positions[order], contexts.decorrelated()[order]
        self._themes = themes.themes
        self._texts = corpus.texts(self._positions)
        self._documents = corpus.document_of(self._positions)
        self._named = lru_cache(None)(corpus.document_id)
        sizes = np.bincount(themes.labels, minlength=len(themes.themes))
        self._usual: Floats = sizes / len(order)
        self._starts = np.concatenate(([0], np.cumsum(sizes)))

    @cached_property
    def names(self) -> frozenset[str]:
        """Words that contexts write as names (`firth.lexical.marks.names_in`)."""
        return names_in(self._texts)

    def explained(
        self, ones: Floats, twos: Floats, scales: Floats, summands: Summands
    ) -> Iterator[Explained]:
        """Take scales[i] · (ones[i] · twos[i]) apart, for each i.

        Args:
            ones: First vectors, (n, d).
            twos: Second vectors, (n, d).
            scales: What each product counts, (n,).
            summands: i → what ones[i] and twos[i] are the sums of, word by word; or None.
        """
        for start in range(0, len(ones), _AT_ONCE):
            block = slice(start, start + _AT_ONCE)
            yield from self._block(ones[block], twos[block], scales[block], start, summands)

    def _block(
        self, ones: Floats, twos: Floats, scales: Floats, first_pair: int, summands: Summands
    ) -> Iterator[Explained]:
        products = np.einsum("nd,nd->n", ones, twos) * scales
        fits1, fits2 = self._rows @ ones.T, self._rows @ twos.T
        added = fits1 * fits2 * (scales / len(self._rows))
        adds, squares1, squares2 = (
            np.add.reduceat(each, self._starts[:-1], axis=0) for each in (added, fits1**2, fits2**2)
        )
        shares1, shares2 = (
            each / np.maximum(each.sum(axis=0), _NONE) for each in (squares1, squares2)
        )
        for i, product in enumerate(products.tolist()):
            here = _Pair(
                adds[:, i],
                shares1[:, i],
                shares2[:, i],
                fits1[:, i],
                fits2[:, i],
                added[:, i],
                float(scales[i]),
                summands(first_pair + i),
            )
            # In a theme that both only brush against, no more is added than its size lets expect.
            expected = self._usual * max(0.0, float(here.adds.sum()))
            beyond = np.where(here.adds > 0, here.adds - expected, -here.adds)
            order = np.argsort(-beyond, kind="stable")[:SHOWN_THEMES]
            first = [int(k) for k in order if beyond[k] > 0]
            yield Explained(
                product,
                tuple(self._share(here, k, SHOWN_CONTEXTS) for k in first),
                tuple(self._share(here, k) for k in self._alone(here.share1, here.share2)),
                tuple(self._share(here, k) for k in self._alone(here.share2, here.share1)),
            )

    def _alone(self, here: Floats, there: Floats) -> list[int]:
        leaning = (here >= _LEANING * self._usual) & (here >= _TIMES * there) & (here >= _MUCH)
        order = np.argsort(self._usual - here, kind="stable")
        return [int(k) for k in order if leaning[k]][:SHOWN_ALONE]

    def _share(self, pair: "_Pair", theme: int, contexts: int = 0) -> ThemeShare:
        start, end = self._starts[theme : theme + 2]
        heaviest = np.argsort(-np.abs(pair.added[start:end]), kind="stable")[:contexts] + start
        return ThemeShare(
            self._themes[theme],
            float(pair.adds[theme]),
            float(pair.share1[theme]),
            float(pair.share2[theme]),
            float(self._usual[theme]),
            tuple(self._context(pair, int(c)) for c in heaviest),
            *(self._by_word(pair, start, end) if contexts else ((), ())),
        )

    def _by_word(self, pair: "_Pair", start: int, end: int) -> tuple[tuple[float, ...], ...]:
        """What each word adds in a theme: the fits of a text are the sums of its words' fits."""
        if pair.summands is None:
            return (), ()
        rows, half = self._rows[start:end], pair.scale / (2 * len(self._rows))
        sides = zip(pair.summands, (pair.fits2, pair.fits1), strict=True)
        one, two = (
            tuple((half * (words @ (other[start:end] @ rows))).tolist()) for words, other in sides
        )
        return one, two

    def _context(self, pair: "_Pair", c: int) -> ContextShare:
        return ContextShare(
            self._texts[c],
            self._named(int(self._documents[c])),
            int(self._positions[c]),
            float(pair.fits1[c]),
            float(pair.fits2[c]),
            float(pair.added[c]),
        )


@dataclass(frozen=True, eq=False)
class _Pair:
    """Of one pair: by theme, what is added and the shares; by context, fits and what is added; what
    the product counts, and what its vectors are the sums of."""

    adds: Floats
    share1: Floats
    share2: Floats
    fits1: Floats
    fits2: Floats
    added: Floats
    scale: float
    summands: tuple[Floats, Floats] | None

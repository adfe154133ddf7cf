"""Items: a sentence, the candidate that belongs to it, and others that do not.

Each document puts its items in an order of its own, spread evenly over its length and seeded by its
name. The items of all documents are then taken in rounds, one a document, so that long documents
do not drown the others; the items of a document are the same whatever documents stand beside it
(but for names and numbers of edits, and candidates of items that are not `hard`).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice

import numpy as np
import numpy.typing as npt

from firth.check.edits import edits_of
from firth.check.settings import CheckConfig
from firth.corpus.corpus import Corpus
from firth.lexical.words import normal_form
from firth.run.seeds import derive_seed

USUAL = (5, 40)
"""Words of a sentence and of its candidates; the limits of the corpus hold as well."""
FEW = 100
"""With fewer items of kind `next`, candidates come from other documents, too."""
_CROP = 2
"""Sentences of a crop; a paragraph of twice as many has two that do not overlap."""
_POOL = 500
"""Sentences from which edits may take names and numbers."""
TRIED = 10
"""Sentences asked for edits, as a multiple of the items wanted: some kinds are rare."""
_GOLDEN = (5**0.5 - 1) / 2

Numbers = npt.NDArray[np.int64]


class Kind(StrEnum):
    """What the right candidate is, and what the others are."""

    NEXT = "next"
    """The next sentence; others of the same document."""
    CROP = "crop"
    """The last two sentences of the paragraph whose first two are given; those of others."""
    ORDER = "order"
    """An edit that keeps the meaning; one that changes the order of words, and with it the meaning.
    """
    NEGATION = "negation"
    """Likewise; one that negates."""
    NUMBER = "number"
    """Likewise; one that changes a number."""
    NAME = "name"
    """Likewise; one that changes a name."""


EDITS = (Kind.ORDER, Kind.NEGATION, Kind.NUMBER, Kind.NAME)


@dataclass(frozen=True)
class Item:
    """A question.

    Attributes:
        kind: What is asked.
        document: Number of its document in the corpus.
        sentence: What is compared with each candidate.
        right: The candidate that should score highest.
        others: The other candidates, at least one.
        hard: Whether all candidates are of the sentence's own document.
    """

    kind: Kind
    document: int
    sentence: str
    right: str
    others: tuple[str, ...]
    hard: bool = True


def make_items(corpus: Corpus, config: CheckConfig, seed: int) -> list[Item]:
    """The items of all kinds that documents give, at most `config.items` of each; maybe none."""
    maker = _Maker(corpus, config, seed)
    return [*maker.next_sentences(), *maker.crops(), *maker.edits()]


class _Maker:
    def __init__(self, corpus: Corpus, config: CheckConfig, seed: int) -> None:
        self._corpus, self._config, self._seed = corpus, config, seed
        low, high = max(USUAL[0], corpus.min_words), min(USUAL[1], corpus.max_words)
        fits = (corpus.word_counts >= low) & (corpus.word_counts <= high)
        self._usual: Numbers = np.flatnonzero(fits)
        self._homes = corpus.document_of(self._usual)
        names = [corpus.document_id(d) for d in range(corpus.n_documents)]
        self._seeds = np.array([derive_seed(seed, "check", name) for name in names], np.int64)

    def next_sentences(self) -> list[Item]:
        """Hard items; where they are few, also those with candidates from other documents."""
        starts = self._usual[:-1][np.diff(self._usual) == 1]
        paragraphs = self._corpus.paragraph_of(starts)
        starts = starts[paragraphs == self._corpus.paragraph_of(starts + 1)]
        found = self._taken(self._next(*place) for place in self._rounds(starts))
        if len(found) < FEW:
            pools = self._pools()
            more = self._taken(self._next(*place, pools) for place in self._rounds(starts))
            found += [item for item in more if not item.hard]
        return found[: self._config.items]

    def crops(self) -> list[Item]:
        """First and last sentences of paragraphs."""
        bounds: Numbers = np.asarray(self._corpus.paragraph_bounds)
        long = np.flatnonzero(np.diff(bounds) >= 2 * _CROP)
        words = np.concatenate([[0], np.cumsum(self._corpus.word_counts, dtype=np.int64)])
        firsts, lasts = bounds[long], bounds[long + 1] - _CROP
        sizes = np.stack([words[at + _CROP] - words[at] for at in (firsts, lasts)])
        fits = ((sizes >= USUAL[0]) & (sizes <= _CROP * USUAL[1])).all(axis=0)
        firsts, lasts = firsts[fits], lasts[fits]
        homes = self._corpus.document_of(firsts)

        def crop(start: int, document: int) -> Item | None:
            low, high = np.searchsorted(homes, [document, document + 1])
            if high - low <= self._config.others:
                return None
            drawn = self._rng("crop", document, start).permutation(lasts[low:high])
            right = lasts[np.searchsorted(firsts, start)]
            others = drawn[drawn != right][: 2 * self._config.others]
            texts = [" ".join(self._corpus.texts([i, i + 1])) for i in (start, right, *others)]
            return self._item(Kind.CROP, document, texts[0], texts[1], texts[2:])

        return self._taken(crop(*place) for place in self._rounds(firsts))

    def edits(self) -> list[Item]:
        """Edits of sentences, of each kind."""
        found: dict[Kind, list[Item]] = {kind: [] for kind in EDITS}
        rng = np.random.default_rng(derive_seed(self._seed, "check", "pool"))
        size = min(_POOL, len(self._usual))
        pool = self._corpus.texts(rng.choice(self._usual, size, replace=False) if size else [])
        for start, document in islice(self._rounds(self._usual), TRIED * self._config.items):
            rng = self._rng("edit", document, start)
            sentence = self._corpus.text(start)
            for edit in edits_of(sentence, [text for text in pool if text != sentence], rng):
                kind = Kind(edit.kind)
                found[kind].append(Item(kind, document, sentence, edit.keep, (edit.change,)))
            if all(len(some) >= self._config.items for some in found.values()):
                break
        return [item for some in found.values() for item in some[: self._config.items]]

    def _next(
        self, start: int, document: int, pools: dict[int, Numbers] | None = None
    ) -> Item | None:
        """The item of a sentence; without `pools` (document → sentences) only a hard one."""
        low, high = np.searchsorted(self._homes, [document, document + 1])
        mine = self._usual[low:high]
        far = mine[np.abs(mine - start) >= self._config.distance]
        if len(far) < self._config.others and pools is None:
            return None
        rng = self._rng("next", document, start)
        sentence, right = self._corpus.texts([start, start + 1])
        others = self._corpus.texts(rng.permutation(far)[: 2 * self._config.others])
        item = self._item(Kind.NEXT, document, sentence, right, others)
        if item or pools is None:
            return item
        for pool in (pools[document], self._usual):
            drawn = rng.choice(pool, 4 * self._config.others)
            others += self._corpus.texts(drawn[self._corpus.document_of(drawn) != document])
        return self._item(Kind.NEXT, document, sentence, right, others, hard=False)

    def _pools(self) -> dict[int, Numbers]:
        """Document → the sentences of all documents of its file."""
        files = self._corpus.source_of(self._usual)
        by_file = {file: self._usual[files == file] for file in np.unique(files).tolist()}
        return {d: by_file[f] for d, f in zip(self._homes.tolist(), files.tolist(), strict=True)}

    def _item(
        self, kind: Kind, document: int, sentence: str, right: str, others: Iterable[str],
        *, hard: bool = True,
    ) -> Item | None:  # fmt: skip
        """With the first distinct ones of `others`; None where they are too few."""
        distinct: dict[str, str] = {}
        for text in (sentence, right, *others):
            distinct.setdefault(normal_form(text), text)
        same = normal_form(sentence) == normal_form(right)
        if same or len(distinct) < self._config.others + 2:
            return None
        kept = tuple(distinct.values())[2 : self._config.others + 2]
        return Item(kind, document, sentence, right, kept, hard)

    def _rounds(self, starts: Numbers) -> Iterator[tuple[int, int]]:
        """Sentences (ascending) and their documents in the order in which items are taken."""
        homes = self._corpus.document_of(starts)
        places = np.arange(len(starts)) - np.searchsorted(homes, homes)
        # Multiples of the golden ratio, modulo 1, in ascending order: any first few of them are
        # spread evenly over the document.
        keys = (self._seeds[homes] / 2**63 + places * _GOLDEN) % 1
        ranks = np.empty(len(starts), np.int64)
        by_document = np.lexsort((keys, homes))
        ranks[by_document] = places
        order = np.lexsort((self._seeds[homes], ranks))
        yield from zip(starts[order].tolist(), homes[order].tolist(), strict=True)

    def _taken(self, items: Iterable[Item | None]) -> list[Item]:
        return list(islice((item for item in items if item), self._config.items))

    def _rng(self, purpose: str, document: int, start: int) -> np.random.Generator:
        place = int(start - self._corpus.document_bounds[document])
        return np.random.default_rng(derive_seed(int(self._seeds[document]), purpose, place))

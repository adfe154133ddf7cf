"""Copies by words: texts of the same words, and texts that share most of their bigrams.

As in `firth leakage`, a text is a near copy of another where the sets of their bigrams (pairs of
consecutive words) have a Jaccard similarity of at least 0.7. Nothing is missed: of the bigrams of a
text, ordered from the rarest to the most frequent, two such texts share one among the first |x| -
ceil(0.7 |x|) + 1 (prefix filtering, Chaudhuri et al. 2006), and what shares none is never compared.
"""

import hashlib
from array import array
from collections.abc import Iterable

import numpy as np
from scipy.sparse import csr_matrix

from firth.lexical.arrays import Ints
from firth.lexical.words import normal_form
from firth.reuse.neighbours import Pairs

NEAR = 0.7
"""One word of 14 changed in the middle, or three words of ten added at an end."""
_WORK = 20_000_000
"""Candidates of a block: 240 MB."""
_VERIFIED = 200_000


class Forms:
    """The words of many texts as numbers, in 12 bytes a word.

    Args:
        batches: Of texts; read once.
        min_words: At least 2. Shorter texts are copies of nothing.

    Attributes:
        first: int64, (n,): number of the first text of the same words: the text's own, mostly.
        long: bool, (n,): whether a text has `min_words`.
    """

    def __init__(self, batches: Iterable[Iterable[str]], min_words: int) -> None:
        vocabulary: dict[str, int] = {}
        digests, numbers, lengths = bytearray(), array("I"), array("I")
        for text in (text for batch in batches for text in batch):
            normal = normal_form(text)
            digests += hashlib.blake2b(normal.encode(), digest_size=16).digest()
            words = normal.split(" ") if normal else []
            numbers.extend([vocabulary.setdefault(word, len(vocabulary)) for word in words])
            lengths.append(len(words))
        keys = np.frombuffer(bytes(digests), dtype="V16")
        _, firsts, inverse = np.unique(keys, return_index=True, return_inverse=True)
        self.first: Ints = firsts[inverse].astype(np.int64)
        self._words = np.frombuffer(numbers, dtype=np.uint32) if numbers else np.empty(0, np.uint32)
        self._lengths = np.frombuffer(lengths, dtype=np.uint32).astype(np.int64)
        self.long = self._lengths >= min_words

    def __len__(self) -> int:
        """Number of texts."""
        return len(self._lengths)

    def distinct(self) -> Ints:
        """Numbers, ascending, of the long texts that no earlier one repeats."""
        return np.flatnonzero(self.long & (self.first == np.arange(len(self))))

    def repeats(self) -> dict[int, list[int]]:
        """Number of a long text → those of the later ones of the same words, if there are any."""
        found: dict[int, list[int]] = {}
        for number in np.flatnonzero(self.long & (self.first < np.arange(len(self)))).tolist():
            found.setdefault(int(self.first[number]), []).append(number)
        return found

    def near(self, threshold: float = NEAR) -> Pairs:
        """Pairs of `distinct` texts (by their own numbers) whose bigrams have a Jaccard similarity
        of at least `threshold`, in (0, 1]."""
        chosen = self.distinct()
        bigrams = self._bigrams(chosen)
        sizes = np.diff(bigrams.indptr).astype(np.int64)
        prefix = _prefixes(bigrams, sizes - np.ceil(threshold * sizes - 1e-9).astype(np.int64) + 1)
        across = prefix.T.tocsr()
        work = np.concatenate([[0], np.cumsum(prefix @ np.diff(across.indptr))])
        left, right, scores = [], [], []
        start = 0
        while start < len(chosen):
            most = np.searchsorted(work, work[start] + _WORK, side="right") - 1
            stop = max(start + 1, int(most))
            met = (prefix[start:stop] @ across).tocoo()
            i, j = met.row.astype(np.int64) + start, met.col.astype(np.int64)
            small, large = np.minimum(sizes[i], sizes[j]), np.maximum(sizes[i], sizes[j])
            likely = (i < j) & (small >= threshold * large - 1e-9)
            i, j = i[likely], j[likely]
            for at in range(0, len(i), _VERIFIED):
                one, two = i[at : at + _VERIFIED], j[at : at + _VERIFIED]
                shared = np.asarray(bigrams[one].multiply(bigrams[two]).sum(axis=1)).ravel()
                jaccard = shared / np.maximum(sizes[one] + sizes[two] - shared, 1)
                near = jaccard >= threshold - 1e-9
                left.append(one[near])
                right.append(two[near])
                scores.append(jaccard[near])
            start = stop
        i, j, s = (np.concatenate([np.empty(0), *parts]) for parts in (left, right, scores))
        i, j = i.astype(np.int64), j.astype(np.int64)
        order = np.lexsort((j, i))
        return Pairs(chosen[i[order]], chosen[j[order]], s[order].astype(np.float32), threshold)

    def _bigrams(self, chosen: Ints) -> csr_matrix:
        """(chosen, bigrams that more than one text has, and one for each other): 1 where a text has
        one; the columns are in order of frequency, the rarest first."""
        rows = np.repeat(np.arange(len(self)), self._lengths)
        inner = np.flatnonzero(rows[1:] == rows[:-1])
        place = np.full(len(self), -1, np.int64)
        place[chosen] = np.arange(len(chosen))
        inner = inner[place[rows[inner]] >= 0]
        keys = (self._words[inner].astype(np.uint64) << np.uint64(32)) | self._words[inner + 1]
        _, columns = np.unique(keys, return_inverse=True)
        matrix = csr_matrix(
            (np.ones(len(inner), np.int32), (place[rows[inner]], columns)),
            shape=(len(chosen), int(columns.max(initial=-1)) + 1),
        )
        matrix.sum_duplicates()
        matrix.data[:] = 1
        frequency = np.bincount(matrix.indices, minlength=matrix.shape[1])
        order = np.empty(matrix.shape[1], np.int64)
        order[np.argsort(frequency, kind="stable")] = np.arange(matrix.shape[1])
        matrix.indices = order[matrix.indices].astype(matrix.indices.dtype)
        matrix.has_sorted_indices = False
        matrix.sort_indices()
        return matrix


def _prefixes(bigrams: csr_matrix, lengths: Ints) -> csr_matrix:
    """The first so many columns of each row, without those that no other row has."""
    rows = np.repeat(np.arange(bigrams.shape[0]), np.diff(bigrams.indptr))
    rank = np.arange(len(bigrams.indices)) - bigrams.indptr[rows]
    frequency = np.bincount(bigrams.indices, minlength=bigrams.shape[1])
    kept = (rank < lengths[rows]) & (frequency[bigrams.indices] > 1)
    return csr_matrix(
        (bigrams.data[kept], (rows[kept], bigrams.indices[kept])), shape=bigrams.shape
    )

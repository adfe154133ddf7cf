"""Partners of a sentence: firth's inverted index beside scipy's sparse product over all sentences.

    python benchmarks/pairs.py sentences.txt

Both find, for the same first sentences, all partners with a Dice of 0.25 to 0.75 and lengths within
25 %; that they find the same is checked. Times are of the processor, without building either.
"""

import argparse
import resource
import time
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix

from firth.relatedness.pairs.overlap import Bags, Index, Ints, close_in_length
from firth.relatedness.pairs.sentences import SentenceSource, collect
from firth.relatedness.pairs.settings import OverlapMeasure, SampleSettings, Strategy

LOW, HIGH, TOLERANCE = 0.25, 0.75, 0.25


def by_product(matrix: csr_matrix, bags: Bags, sizes: Ints, first: int) -> Ints:
    """Partners through one product of the whole matrix with a row."""
    shared = (matrix @ matrix[first].T).toarray().ravel()
    dice = np.round(2 * shared / (sizes + sizes[first]), 9)
    fits = (dice >= LOW) & (dice < HIGH)
    fits &= close_in_length(bags.lengths, bags.lengths[first], TOLERANCE)
    fits[first] = False
    return np.flatnonzero(fits)


def main() -> None:
    """Print the times and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("sentences", type=Path)
    parser.add_argument("--firsts", type=int, default=100)
    options = parser.parse_args()
    clock = time.process_time
    start = clock()
    settings = SampleSettings(Strategy.OVERLAP)
    sentences = collect(SentenceSource(options.sentences), settings, None)
    bags = sentences.bags
    read, start = clock() - start, clock()
    index = Index(bags, OverlapMeasure.DICE)
    built = clock() - start
    shape = (len(bags), len(bags.frequencies))
    matrix = csr_matrix((np.ones(len(bags.flat)), bags.flat, bags.starts), shape=shape)
    sizes = np.diff(bags.starts)
    firsts = np.random.default_rng(13).permutation(len(bags))[: options.firsts].tolist()
    start = clock()
    found = [index.partners(first, LOW, HIGH, TOLERANCE).sentences for first in firsts]
    fast, start = clock() - start, clock()
    expected = [by_product(matrix, bags, sizes, first) for first in firsts]
    slow = clock() - start
    same = all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{len(bags):,} sentences read in {read:.1f} s, index built in {built:.1f} s")
    print(f"partners of {len(firsts)} sentences ({np.mean([*map(len, found)]):,.0f} on average)")
    print(f"index {1000 * fast / len(firsts):.1f} ms each, product {1000 * slow / len(firsts):.1f}")
    print(f"ratio {slow / fast:.1f}; the same partners: {same}; peak {peak:.2f} GiB")


if __name__ == "__main__":
    main()

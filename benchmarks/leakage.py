"""Near-duplicate search: firth's sparse product beside MinHash of rensa and datasketch.

    python benchmarks/leakage.py RUN --data-dir DATA_DIR [--share 10]

All look for the evaluation texts in every SHARE-th batch of the run's corpus; rensa's candidates
are verified, so that all answer the same question. rensa and datasketch are no dependencies of
firth: pip install rensa datasketch. Times are of the processor, one thread.
"""

import argparse
import importlib
import importlib.util
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from firth.corpus.corpus import Corpus
from firth.evaluate.leakage import MIN_WORDS, THRESHOLD, Finder
from firth.evaluate.load import select_sets
from firth.lexical.words import normal_form

PERMUTATIONS, BANDS = 128, 32
_SIGNATURES = 5_000


def timed(what: str, work: Callable[[], Any]) -> Any:
    """Run `work`, and print the processor time it took."""
    start = time.process_time()
    result = work()
    print(f"{what:<44} {time.process_time() - start:8.2f} s")
    return result


def bigrams(normal: str) -> set[str]:
    """Consecutive word pairs."""
    return {" ".join(pair) for pair in pairwise(normal.split())}


def search_firth(texts: Sequence[str], sentences: Sequence[str]) -> set[str]:
    """Normal forms of the texts found."""
    finder: Finder = timed("firth: index", lambda: Finder(texts))
    timed("firth: search", lambda: finder.read(sentences))
    return {normal_form(match.text) for match in finder.matches()}


def search_rensa(texts: Sequence[str], sentences: Sequence[str]) -> set[str]:
    """The same through locality-sensitive hashing, candidates verified."""
    rensa: Any = importlib.import_module("rensa")
    wanted = [text for text in dict.fromkeys(map(normal_form, texts)) if _long(text)]

    def signature(tokens: set[str]) -> Any:
        found = rensa.RMinHash(num_perm=PERMUTATIONS, seed=1)
        found.update(list(tokens))
        return found

    def build() -> Any:
        index = rensa.RMinHashLSH(threshold=THRESHOLD, num_perm=PERMUTATIONS, num_bands=BANDS)
        for number, text in enumerate(wanted):
            index.insert(number, signature(bigrams(text)))
        return index

    def search() -> set[str]:
        hits = set()
        for sentence in filter(_long, map(normal_form, sentences)):
            one = bigrams(sentence)
            for number in index.query(signature(one)):
                other = bigrams(wanted[number])
                if len(one & other) >= THRESHOLD * len(one | other):
                    hits.add(wanted[number])
        return hits

    index = timed("rensa: index", build)
    found: set[str] = timed("rensa: search", search)
    return found


def sign_datasketch(sentences: Sequence[str]) -> None:
    """Signatures only: they alone take longer than the other searches."""
    datasketch: Any = importlib.import_module("datasketch")
    for sentence in map(normal_form, sentences):
        signature = datasketch.MinHash(num_perm=PERMUTATIONS)
        signature.update_batch([pair.encode() for pair in bigrams(sentence)])


def main() -> None:
    """Parse the command line and measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--share", type=int, default=10)
    given = parser.parse_args()
    sets, _ = select_sets(["all"], given.data_dir, None)
    texts = [text for data in sets for row in data.rows for text in row.texts]
    batches = Corpus.open(given.run).batches(given.share)
    sentences = [sentence for batch in batches for sentence in batch]
    print(f"{len(sentences):,} sentences, {len(texts):,} evaluation texts")
    ours = search_firth(texts, sentences)
    if importlib.util.find_spec("rensa"):
        theirs = search_rensa(texts, sentences)
        print(f"found by firth {len(ours)}, by rensa {len(theirs)}, by both {len(ours & theirs)}")
    if importlib.util.find_spec("datasketch"):
        some = sentences[:_SIGNATURES]
        timed(f"datasketch: signatures of {len(some):,}", lambda: sign_datasketch(some))


def _long(normal: str) -> bool:
    return normal.count(" ") >= MIN_WORDS - 1


if __name__ == "__main__":
    main()

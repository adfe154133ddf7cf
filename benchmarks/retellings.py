"""Are the reading levels of one article found as each other's re-tellings?

    python benchmarks/retellings.py RUN [--model MODEL] [--out FILE]

RUN is a run over documents whose titles end in `-adv`, `-int` or `-ele` (OneStopEnglish): two
documents are re-tellings where the rest of their titles is the same. Every pair of documents has a
score: by `firth mine` (the score of the alignment, or the coverage; 0 for a pair that it does not
bring together), by the cosine of tf-idf vectors of documents (scikit-learn, sublinear), and by
MinHash of word bigrams (an estimate of their Jaccard similarity by 256 hashes). The threshold with
the best F1 is chosen on one half of the articles, drawn by the seed, and precision, recall and F1
are those of the other half.
"""

import argparse
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from time import perf_counter

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from firth.corpus.library import Library
from firth.evaluate.results import write_document
from firth.lexical.arrays import Floats
from firth.lexical.words import words
from firth.reuse.mine import mine
from firth.run import progress
from firth.run.files import claim_file
from firth.run.run import Run
from firth.run.seeds import derive_seed

LEVELS = ("-adv", "-int", "-ele")
HASHES = 256


def tfidf(texts: Sequence[str]) -> Floats:
    """Cosines of all pairs of documents, (n, n)."""
    vectors = TfidfVectorizer(sublinear_tf=True).fit_transform(texts)
    return np.asarray((vectors @ vectors.T).toarray(), np.float64)


def minhash(texts: Sequence[str], seed: int) -> Floats:
    """Estimates of the Jaccard similarity of all pairs' word bigrams, (n, n)."""
    rng = np.random.default_rng(seed)
    numbers: dict[tuple[str, str], int] = {}
    sets = [
        [*{numbers.setdefault(bigram, len(numbers)) for bigram in pairwise(words(text))}]
        for text in texts
    ]
    rows = []
    for _ in range(HASHES):
        hashes = rng.permutation(len(numbers))
        rows.append([hashes[known].min() for known in sets])
    signatures = np.array(rows).T
    return np.array([(signatures == row).mean(axis=1) for row in signatures])


def measure(scores: Floats, truth: Floats, threshold: float) -> tuple[float, float, float]:
    """Precision, recall and F1 of the pairs that reach a threshold."""
    found = scores >= threshold
    right = float((found & (truth > 0)).sum())
    precision, recall = right / max(1, found.sum()), right / max(1.0, truth.sum())
    return precision, recall, 2 * precision * recall / max(1e-12, precision + recall)


def best_threshold(scores: Floats, truth: Floats) -> float:
    """The threshold with the best F1, half way to the next lower score."""
    order = np.argsort(-scores, kind="stable")
    right = np.cumsum(truth[order])
    f1 = 2 * right / (np.arange(1, len(order) + 1) + truth.sum())
    ends = np.flatnonzero(np.diff(scores[order], append=-1.0))
    place = int(ends[np.argmax(f1[ends])])
    following = scores[order[place + 1]] if place + 1 < len(order) else 0.0
    return float(scores[order[place]] + following) / 2


def main() -> None:
    """Print a line a method, and write everything to `--out`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("--model")
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    if given.out:
        claim_file(given.out, force=True)
    progress.set_quiet(True)
    library = Library.open(Run.open(given.run))
    titles = [library.document_title(d) for d in range(library.n_documents)]
    articles = [title[:-4] if title.endswith(LEVELS) else title for title in titles]
    bounds = library.document_bounds
    texts = [" ".join(library.texts(np.arange(start, stop))) for start, stop in pairwise(bounds)]
    systems, seconds = {}, {}
    for order in ("free", "kept"):
        start = perf_counter()
        mined = mine(given.run, model=given.model, order=order, seed=given.seed)
        seconds[f"firth mine, {order}, score"] = perf_counter() - start
        for name in ("score", "coverage"):
            scores = np.zeros((len(texts), len(texts)))
            for pair in mined.pairs:
                scores[pair.numbers] = scores[pair.numbers[::-1]] = getattr(pair, name)
            systems[f"firth mine, {order}, {name}"] = scores
    for label, compare in (
        ("tf-idf cosine", lambda: tfidf(texts)),
        ("MinHash, bigrams", lambda: minhash(texts, derive_seed(given.seed, "minhash"))),
    ):
        start = perf_counter()
        systems[label] = compare()
        seconds[label] = perf_counter() - start
    names = sorted(set(articles))
    rng = np.random.default_rng(derive_seed(given.seed, "retellings"))
    chosen = {names[n] for n in rng.permutation(len(names))[: len(names) // 2]}
    side = np.array([article in chosen for article in articles])
    one, two = np.triu_indices(len(texts), 1)
    truth = np.array([articles[i] == articles[j] for i, j in zip(one, two, strict=True)], float)
    halves = [np.flatnonzero(part[one] & part[two]) for part in (side, ~side)]
    print(f"{len(texts)} documents, {len(names)} articles; test: {len(halves[1]):,} pairs, "
          f"{truth[halves[1]].sum():.0f} of them re-tellings")  # fmt: skip
    found = {}
    for label, scores in systems.items():
        flat = scores[one, two]
        threshold = best_threshold(flat[halves[0]], truth[halves[0]])
        precision, recall, f1 = measure(flat[halves[1]], truth[halves[1]], threshold)
        wrong = halves[1][(flat[halves[1]] >= threshold) & (truth[halves[1]] == 0)]
        found[label] = {
            "threshold": threshold, "precision": precision, "recall": recall, "f1": f1,
            "seconds": seconds.get(label),
            "wrong": [(titles[one[n]], titles[two[n]], flat[n]) for n in wrong],
        }  # fmt: skip
        print(f"{label:<28} threshold {threshold:.3f}  P {100 * precision:5.1f}  "
              f"R {100 * recall:5.1f}  F1 {100 * f1:5.1f}")  # fmt: skip
    if given.out:
        write_document(given.out, found)


if __name__ == "__main__":
    main()

"""How to compare two sentences by their fits into many contexts, with a coherence model of words.

    python benchmarks/context_measures.py RUN DATA_DIR [--contexts 100 500 2000] [--seed 13]

RUN holds a trained `bag` (firth train baseline bag --run RUN). Its unit vector of a corpus sentence
is a context; a word's vector times it is how well the word fits there. A sentence's fit is the sum
over its words, or that of its best word, 0 if none fits. Prints Spearman's correlation × 100 with
its interval for each fit and measure, next to the cosine of the sentence vectors themselves and to
tf-idf. Only STS12 and STSb dev, the sets for choosing, are looked at.
"""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from firth.baselines.registry import open_baseline
from firth.corpus.corpus import Corpus
from firth.evaluate.load import load_set
from firth.evaluate.metrics import Metric, estimate
from firth.evaluate.task import find_task
from firth.lexical.word_vectors import WordBag
from firth.lexical.words import stems, words

TASKS = ("sts12", "sts-b:dev")
Floats = npt.NDArray[np.float64]
Fit = Callable[[Floats, Floats], Floats]
"""Word vectors of a sentence (w, d) and contexts (C, d) → fits, shape (C,)."""
Compare = Callable[[Floats, Floats], float]


def total(sentence: Floats, contexts: Floats) -> Floats:
    """The fit of the sentence vector."""
    fits: Floats = contexts @ sentence.sum(axis=0)
    return fits


def best(sentence: Floats, contexts: Floats) -> Floats:
    """The fit of the word that fits best, at least 0."""
    fits: Floats = np.maximum((contexts @ sentence.T).max(axis=1), 0.0)
    return fits


def cosine(x: Floats, y: Floats) -> float:
    """Eq. 4."""
    return float(x @ y) / max(float(np.linalg.norm(x) * np.linalg.norm(y)), 1e-12)


def centred(x: Floats, y: Floats) -> float:
    """Eq. 4 without the mean fit."""
    return cosine(x - x.mean(), y - y.mean())


def overlap(x: Floats, y: Floats) -> float:
    """Fuzzy Jaccard: the smaller fits over the larger ones; for fits of at least 0."""
    return float(np.minimum(x, y).sum()) / max(float(np.maximum(x, y).sum()), 1e-12)


CHOICES: Sequence[tuple[str, Fit, Compare]] = (
    ("sum, cosine", total, cosine),
    ("sum, centred", total, centred),
    ("best word, cosine", best, cosine),
    ("best word, centred", best, centred),
    ("best word, overlap", best, overlap),
)


class Words:
    """Texts → the vectors of their distinct words, shape (w, d); one zero row if none is known."""

    def __init__(self, bag: WordBag) -> None:
        self._bag, self._numbers = bag, {word: i for i, word in enumerate(bag.vocabulary)}

    def __call__(self, text: str) -> Floats:
        """Vectors of the distinct words of `text`."""
        found = dict.fromkeys(stems(words(text), self._bag.stemmer))
        ids = [i for word in found if (i := self._numbers.get(word)) is not None]
        vectors = self._bag.vectors[ids].astype(np.float64)
        return vectors if ids else np.zeros((1, self._bag.vectors.shape[1]))


def contexts_of(run: str, vectors: Words, count: int, seed: int) -> Floats:
    """Unit vectors of random sentences of the corpus, of usual length, shape (count, d)."""
    corpus = Corpus.open(run)
    usual = np.flatnonzero((corpus.word_counts >= 5) & (corpus.word_counts <= 60))
    chosen = np.random.default_rng(seed).choice(usual, count, replace=False)
    sums = np.array([vectors(text).sum(axis=0) for text in corpus.texts(chosen)])
    unit: Floats = sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-12)
    return unit


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run")
    parser.add_argument("data_dir")
    parser.add_argument("--contexts", type=int, nargs="+", default=[100, 500, 2_000])
    parser.add_argument("--seed", type=int, default=13)
    options = parser.parse_args()
    vectors = Words(WordBag.load(Path(options.run) / "baselines" / "bag"))
    contexts = contexts_of(options.run, vectors, max(options.contexts), options.seed)
    tfidf = open_baseline(f"baseline:tfidf@{options.run}")
    for name in TASKS:
        task, split = find_task(name)
        data = load_set(task, options.data_dir, split)
        gold = np.array([row.score for row in data.rows])
        sides = [(vectors(a), vectors(b)) for a, b in data.pairs]

        def show(what: str, scores: Floats, name: str = name, gold: Floats = gold) -> None:
            found = estimate(Metric.SPEARMAN, gold, scores, seed=options.seed)
            print(f"{name:<10} {what:<44} {found}", flush=True)

        show("tf-idf", tfidf.similarities(data.pairs))
        direct = [cosine(a.sum(axis=0), b.sum(axis=0)) for a, b in sides]
        show("no contexts: sentence vectors, cosine", np.array(direct))
        own = [overlap(best(a, both), best(b, both)) for a, b, both in with_own_words(sides)]
        show("their own words as contexts: best word, overlap", np.array(own))
        for count in options.contexts:
            some = contexts[:count]
            for what, fit, compare in CHOICES:
                scores = [compare(fit(a, some), fit(b, some)) for a, b in sides]
                show(f"{count} contexts: {what}", np.array(scores))


def with_own_words(sides: list[tuple[Floats, Floats]]) -> list[tuple[Floats, Floats, Floats]]:
    """Each pair with the words of both as its contexts."""
    return [(a, b, np.vstack((a, b))) for a, b in sides]


if __name__ == "__main__":
    main()

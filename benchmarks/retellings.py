"""Are the reading levels of one article found as each other's re-tellings?

    python benchmarks/retellings.py RUN [--model MODEL] [--hide FOLDER] [--out FILE]

RUN is a run over documents whose titles end in `-adv`, `-int` or `-ele` (OneStopEnglish): two
documents are re-tellings where the rest of their titles is the same. Every pair of documents has a
score: by `firth mine` (the score of the alignment, or the coverage; 0 for a pair that it does not
bring together), by the cosine of tf-idf vectors of documents (scikit-learn, sublinear), and by
MinHash of word bigrams (an estimate of their Jaccard similarity by 256 hashes). The threshold with
the best F1 is chosen on one half of the articles, drawn by the seed, and precision, recall and F1
are those of the other half.

With `--hide`, a harder question: FOLDER is made a run of the advanced texts, and of elementary ones
into each of which the middle third of another article's elementary text is put. Asked is whether
this third is found with its article's advanced text; the hosts' own pairs are left out.
"""

import argparse
import json
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from time import perf_counter

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from firth.corpus.corpus import Corpus
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


def hide(library: Library, folder: Path, seed: int) -> None:
    """A run in `folder`, of advanced texts, and elementary ones into each of which the middle third
    of another article's is put."""
    rng = np.random.default_rng(derive_seed(seed, "hide"))
    sentences = {
        library.document_title(d): library.texts(np.arange(*library.document_bounds[d : d + 2]))
        for d in range(library.n_documents)
    }
    names = [title[:-4] for title in sentences if title.endswith("-adv")]
    names = [name for name in names if f"{name}-ele" in sentences]
    order = [names[n] for n in rng.permutation(len(names))]
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "texts.jsonl").open("w", encoding="utf-8") as file:
        for name, guest in zip(order, [*order[1:], order[0]], strict=True):
            host, other = sentences[f"{name}-ele"], sentences[f"{guest}-ele"]
            middle, third = len(host) // 2, len(other) // 3
            mixed = [*host[:middle], *other[third : 2 * third], *host[middle:]]
            for title, text in ((f"{name}-adv", sentences[f"{name}-adv"]),
                                (f"{name}/{guest}-mix", mixed)):  # fmt: skip
                row = {"id": title, "title": title, "text": "\n\n".join(text)}
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
    Corpus.build(folder / "texts.jsonl", folder / "run")


def related(one: str, two: str) -> float:
    """1 if two titles are those of re-tellings, 0 if not, nan if they are not asked about."""
    if not one.endswith("-mix") and not two.endswith("-mix"):
        levels = one.endswith(LEVELS) and two.endswith(LEVELS)
        return float(levels and one[:-4] == two[:-4])
    hosts, guests = zip(*([*title[:-4].split("/"), ""][:2] for title in (one, two)), strict=True)
    if one.endswith("-mix") and two.endswith("-mix"):
        # What is hidden in one is an excerpt of the other's own text.
        return np.nan if hosts[0] == guests[1] or hosts[1] == guests[0] else 0.0
    if hosts[0] == hosts[1]:
        return np.nan
    return float(hosts[0] == guests[1] or hosts[1] == guests[0])


def main() -> None:
    """Print a line a method, and write everything to `--out`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("--model")
    parser.add_argument("--hide", type=Path, metavar="FOLDER")
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    if given.out:
        claim_file(given.out, force=True)
    progress.set_quiet(True)
    run, model = given.run, given.model or given.run / "surrogate"
    if given.hide:
        hide(Library.open(Run.open(run)), given.hide, given.seed)
        run = given.hide / "run"
    library = Library.open(Run.open(run))
    titles = [library.document_title(d) for d in range(library.n_documents)]
    texts = [
        " ".join(library.texts(np.arange(start, stop)))
        for start, stop in pairwise(library.document_bounds)
    ]
    systems, seconds = {}, {}
    for order in ("free", "kept"):
        start = perf_counter()
        mined = mine(run, model=model, order=order, seed=given.seed)
        for name in ("score", "coverage"):
            scores = np.zeros((len(texts), len(texts)))
            for pair in mined.pairs:
                scores[pair.numbers] = scores[pair.numbers[::-1]] = getattr(pair, name)
            systems[f"firth mine, {order}, {name}"] = scores
            seconds[f"firth mine, {order}, {name}"] = perf_counter() - start
    others: dict[str, Callable[[], Floats]] = {
        "tf-idf cosine": lambda: tfidf(texts),
        "MinHash, bigrams": lambda: minhash(texts, derive_seed(given.seed, "minhash")),
    }
    for label, compare in others.items():
        start = perf_counter()
        systems[label] = compare()
        seconds[label] = perf_counter() - start
    # The host of a mixed text says on which side it is.
    hosts = [title[:-4].split("/")[0] for title in titles]
    names = sorted(set(hosts))
    rng = np.random.default_rng(derive_seed(given.seed, "retellings"))
    chosen = {names[n] for n in rng.permutation(len(names))[: len(names) // 2]}
    side = np.array([host in chosen for host in hosts])
    one, two = np.triu_indices(len(texts), 1)
    truth = np.array([related(titles[i], titles[j]) for i, j in zip(one, two, strict=True)])
    asked = ~np.isnan(truth)
    halves = [np.flatnonzero(part[one] & part[two] & asked) for part in (side, ~side)]
    print(f"{len(texts)} documents; sentences are alike from {mined.threshold:.3f} on")
    print(f"test: {len(halves[1]):,} pairs, {truth[halves[1]].sum():.0f} of them re-tellings")
    found = {}
    for label, scores in systems.items():
        flat = scores[one, two]
        threshold = best_threshold(flat[halves[0]], truth[halves[0]])
        precision, recall, f1 = measure(flat[halves[1]], truth[halves[1]], threshold)
        test = halves[1]
        wrong = test[(flat[test] >= threshold) != (truth[test] > 0)]
        found[label] = {
            "threshold": threshold, "precision": precision, "recall": recall, "f1": f1,
            "seconds": seconds[label],
            "wrong": [(titles[one[n]], titles[two[n]], float(flat[n])) for n in wrong],
        }  # fmt: skip
        print(f"{label:<28} threshold {threshold:.3f}  P {100 * precision:5.1f}  "
              f"R {100 * recall:5.1f}  F1 {100 * f1:5.1f}  {seconds[label]:.1f} s")  # fmt: skip
    if given.out:
        write_document(given.out, found)


if __name__ == "__main__":
    main()

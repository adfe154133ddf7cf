"""Screening against scikit-learn's brute force, side by side in one process.

    python benchmarks/retrieve.py RUN [--sentences 200] [--chunks 1000 20000] [--threads 1]

RUN is a run with a corpus; its index is built anew in a temporary folder. The peer is
`HashingVectorizer` + `TfidfTransformer` with the same features and weights, scipy's sparse
product, and numpy's partition and sort of each row. Both must return the same scores.
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer

from firth.corpus.corpus import Corpus
from firth.lexical.words import words
from firth.paper.retrieve import RETRIEVE
from firth.paper.retrieve.build import build_index
from firth.paper.retrieve.index import ChunkIndex, open_shards
from firth.run.run import Run


def brute_force(
    vectorizer: HashingVectorizer,
    weigher: TfidfTransformer,
    chunks: object,
    sentences: list[str],
    n: int,
) -> list[npt.NDArray[np.float32]]:
    """The scores of the n best chunks of each sentence, descending."""
    queries = weigher.transform(vectorizer.transform(sentences))
    product = (queries @ chunks).tocsr()
    best = []
    for row in range(len(sentences)):
        scores = product.data[product.indptr[row] : product.indptr[row + 1]]
        if len(scores) > n:
            scores = scores[np.argpartition(-scores, n)[:n]]
        best.append(np.sort(scores)[::-1])
    return best


def main() -> None:
    """Print build and query times of both, and their ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run")
    parser.add_argument("--sentences", type=int, default=200)
    parser.add_argument("--chunks", type=int, nargs="+", default=[1_000, 20_000])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=13)
    arguments = parser.parse_args()
    given = Run.open(arguments.run)
    corpus = Corpus.open(given)
    with tempfile.TemporaryDirectory() as folder:
        run = Run.create(Path(folder) / "run", given.config)
        (run.path / "corpus").symlink_to((given.path / "corpus").resolve())
        start = time.perf_counter()
        build_index(run)
        ours = time.perf_counter() - start
        idf, shards = open_shards(run.folder(RETRIEVE))
        index = ChunkIndex(idf, shards, default=20_000, threads=arguments.threads)

        start = time.perf_counter()
        vectorizer = HashingVectorizer(
            tokenizer=words, token_pattern=None, lowercase=False, ngram_range=(1, 2),
            n_features=1 << run.config.retrieve.features_log2, alternate_sign=False, norm=None,
        )  # fmt: skip
        weigher = TfidfTransformer(sublinear_tf=True)
        counts = vectorizer.transform([corpus.chunk_text(k) for k in range(corpus.n_chunks)])
        chunks = weigher.fit_transform(counts).T.tocsr()
        peer = time.perf_counter() - start
        print(f"{len(corpus):,} sentences, {corpus.n_chunks:,} chunks, seed {arguments.seed}")
        print(f"{'':24}{'firth':>12}{'scikit-learn':>14}{'peer / firth':>14}")
        print(f"{'build, s':24}{ours:12.2f}{peer:14.2f}{peer / ours:14.2f}")

        chosen = np.random.default_rng(arguments.seed).choice(len(corpus), arguments.sentences)
        sentences = corpus.texts(chosen)
        index.screen(sentences[:2], 10)
        for n in arguments.chunks:
            start = time.perf_counter()
            found = index.screen(sentences, n)
            ours = time.perf_counter() - start
            start = time.perf_counter()
            expected = brute_force(vectorizer, weigher, chunks, sentences, n)
            peer = time.perf_counter() - start
            for one, two in zip(found, expected, strict=True):
                np.testing.assert_allclose(one.scores, two, atol=1e-5)
            ours, peer = (1000 * each / len(sentences) for each in (ours, peer))
            print(f"{f'top {n:,}, ms a sentence':24}{ours:12.2f}{peer:14.2f}{peer / ours:14.2f}")


if __name__ == "__main__":
    main()

"""How fast CBOS is learned: sentences a second, beside gensim's CBOW on the same sentences.

    python benchmarks/cbos.py RUN [--epochs 1] [--batches 10 100 1000] [--repeats 3]

Reads the corpus of RUN once, then trains both in turns on one thread, with the same words, the same
number of dimensions and of epochs, and prints the median sentences a second of each and their
ratio. They do different work on a sentence: gensim's CBOW asks a question for each word of it (5
words on each side, 5 random ones), CBOS one for the sentence (k = 1, m = 2). gensim's time includes
what it takes to hand it the sentences as lists of words.
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from gensim.models import Word2Vec

from firth.baselines.cbos import context_predicts_centre, learn
from firth.baselines.settings import CbosConfig, Likeness
from firth.corpus.numbered import WordSentences, read_sentences
from firth.run.progress import set_quiet
from firth.run.run import Run


def cbos_seconds(sentences: WordSentences, config: CbosConfig) -> float:
    """Seconds of training, first vectors and checkpoints included."""
    with tempfile.TemporaryDirectory() as scratch:
        start = time.perf_counter()
        learn(
            sentences, context_predicts_centre, config, Likeness.DOT, 13, Path(scratch), "benchmark"
        )
        return time.perf_counter() - start


def gensim_seconds(texts: list[list[str]], sentences: WordSentences, config: CbosConfig) -> float:
    """Seconds of gensim's CBOW with its usual settings, one worker."""
    model = Word2Vec(vector_size=config.dimensions, min_count=1, workers=1, seed=13)
    counts = zip(sentences.vocabulary, sentences.counts.tolist(), strict=True)
    model.build_vocab_from_freq(dict(counts))
    start = time.perf_counter()
    model.train(
        texts,
        total_examples=len(texts),
        total_words=len(sentences.pieces),
        epochs=config.epochs,
    )
    return time.perf_counter() - start


def main() -> None:
    """Print a line for each batch size."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--batches", type=int, nargs="+", default=[10, 100, 1000])
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    set_quiet(True)
    config = CbosConfig(epochs=arguments.epochs)
    start = time.perf_counter()
    sentences = read_sentences(Run.open(arguments.run), config, Path(tempfile.mkdtemp()))
    texts = list(sentences.texts())
    took = time.perf_counter() - start
    print(f"{len(sentences):,} sentences, {len(sentences.pieces):,} words; read in {took:.1f} s")
    done = len(sentences) * config.epochs
    rates: dict[int, list[float]] = {batch: [] for batch in arguments.batches}
    peer = []
    for _ in range(arguments.repeats):
        peer.append(done / gensim_seconds(texts, sentences, config))
        for batch in arguments.batches:
            changed = config.model_copy(update={"batch": batch})
            rates[batch].append(done / cbos_seconds(sentences, changed))
    theirs = statistics.median(peer)
    print(f"gensim CBOW       {theirs:>9,.0f} sentences/s")
    for batch, found in rates.items():
        ours = statistics.median(found)
        print(f"CBOS, batch {batch:<5} {ours:>9,.0f} sentences/s, {ours / theirs:.2f} times gensim")


if __name__ == "__main__":
    main()

"""Skip-gram and CBOW (Mikolov et al. 2013) by gensim; a sentence is the mean of its words."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from firth.baselines.settings import WordVectorConfig
from firth.corpus.numbered import WordSentences, read_sentences
from firth.lexical.word_vectors import WordBag, load
from firth.run.progress import bar
from firth.run.run import Run
from firth.run.seeds import derive_seed
from firth.run.stage import SCRATCH

__all__ = ["fit", "load"]


class _Again:
    """Sentences gensim can read once more in each epoch."""

    def __init__(self, sentences: WordSentences, advance: Any) -> None:
        self._sentences, self._advance = sentences, advance

    def __iter__(self) -> Iterator[list[str]]:
        yield from self._sentences.texts()
        self._advance()


def fit(run: Run, name: str, workspace: Path) -> Mapping[str, Any]:
    """Train word2vec on a run's corpus; see `firth.baselines.trained`.

    The learning rate falls linearly from 0.025, gensim's own schedule. With one worker (the
    default), equal seeds give equal vectors.

    Args:
        run: A run whose corpus is built.
        name: `skip-gram` or `cbow`.
        workspace: Where the vectors are written.

    Raises:
        InputError: No word occurs often enough.
    """
    from gensim.models import Word2Vec

    skip_gram = name == "skip-gram"
    config: WordVectorConfig = (
        run.config.baselines.skip_gram if skip_gram else run.config.baselines.cbow
    )
    sentences = read_sentences(run, config, workspace / SCRATCH)
    seed = derive_seed(run.config.seed, "baseline", name) % 2**32
    model = Word2Vec(
        sg=int(skip_gram),
        vector_size=config.dimensions,
        window=config.window,
        negative=config.negatives,
        sample=config.subsample,
        min_count=1,
        workers=config.workers,
        seed=seed,
    )
    counts = zip(sentences.vocabulary, sentences.counts.tolist(), strict=True)
    model.build_vocab_from_freq(dict(counts))
    with bar(f"Baseline {name}", config.epochs) as shown:
        model.train(
            _Again(sentences, shown.advance),
            total_examples=len(sentences),
            total_words=len(sentences.pieces),
            epochs=config.epochs,
        )
    title = f"{'skip-gram' if skip_gram else 'CBOW'}, mean of {config.dimensions}-d word vectors"
    vectors = np.stack([model.wv[word] for word in sentences.vocabulary])
    WordBag(title, sentences.vocabulary, vectors, config.stemmer).save(workspace)
    return sentences.summary

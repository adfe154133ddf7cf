"""Sentences of a corpus by which the dimensions of an encoder are scaled."""

from pathlib import Path

import numpy as np

from firth.corpus.corpus import Corpus
from firth.corpus.statistics import usual_sentences
from firth.run.errors import InputError
from firth.run.run import Run
from firth.run.seeds import derive_seed


def reference_texts(run: str | Path | Run, count: int) -> list[str]:
    """A random sample, at most `count`, of a run's sentences of usual length, in reading order.

    Raises:
        InputError: There are fewer than 2.
        MissingStageError: The run has no corpus.
    """
    run = Run.open(run)
    corpus = Corpus.open(run)
    usual = usual_sentences(corpus, run.config.corpus)
    if len(usual) < 2:
        raise InputError(f"{run.path}: {len(usual)} sentences of usual length; z-scores need 2")
    rng = np.random.default_rng(derive_seed(run.config.seed, "prompt-eol"))
    chosen = rng.choice(len(usual), min(count, len(usual)), replace=False)
    return corpus.texts(usual[np.sort(chosen)])

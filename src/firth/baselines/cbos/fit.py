"""`firth train baseline cbos` and `siamese-cbow`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from firth.artifacts import SCRATCH
from firth.baseline_settings import Likeness
from firth.baselines.cbos.examples import centre_predicts_neighbours, context_predicts_centre
from firth.baselines.cbos.learn import learn
from firth.baselines.sentences import read_sentences
from firth.baselines.word_bag import WordBag, load
from firth.errors import InputError
from firth.run import Run
from firth.seeds import derive_seed

__all__ = ["fit", "load"]


def fit(run: Run, name: str, workspace: Path) -> Mapping[str, Any]:
    """Train CBOS or Siamese CBOW on a run's corpus; see `firth.baselines.trained`.

    Raises:
        InputError: No word occurs often enough, or no sentence has a neighbour.
    """
    sections = run.config.baselines
    if name == "cbos":
        config, compose, likeness = sections.cbos, context_predicts_centre, sections.cbos.likeness
        title = f"CBOS (k={config.window}, m={config.negatives}, {config.dimensions}-d)"
    else:
        config, compose, likeness = (
            sections.siamese_cbow,
            centre_predicts_neighbours,
            Likeness.COSINE,
        )
        title = f"Siamese CBOW ({config.negatives} negatives, {config.dimensions}-d)"
    sentences = read_sentences(run, config)
    if not (sentences.documents[1:] == sentences.documents[:-1]).any():
        raise InputError(f"{run.path}: every document has one sentence; {name} learns from two")
    vectors, losses = learn(
        sentences,
        compose,
        config,
        likeness,
        derive_seed(run.config.seed, "baseline", name),
        workspace / SCRATCH,
        f"Baseline {name}",
    )
    WordBag(title, sentences.vocabulary, vectors, config.stemmer).save(workspace)
    return {
        "sentences": len(sentences),
        "words": len(sentences.pieces),
        "vocabulary": len(sentences.vocabulary),
        "losses": [round(loss, 6) for loss in losses],
    }

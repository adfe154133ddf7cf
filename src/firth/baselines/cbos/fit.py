"""`firth train baseline cbos` and `siamese-cbow`."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from firth.baselines.cbos.examples import centre_predicts_neighbours, context_predicts_centre
from firth.baselines.cbos.learn import Compose, learn
from firth.baselines.settings import Likeness, NeighbourSection
from firth.corpus.numbered import read_sentences
from firth.lexical.word_vectors import WordBag, load
from firth.run.errors import InputError
from firth.run.run import Run
from firth.run.seeds import derive_seed
from firth.run.stage import SCRATCH

__all__ = ["fit", "load"]


@dataclass(frozen=True)
class _Objective:
    """What is asked of the sentences, and how they are compared."""

    title: str
    config: NeighbourSection
    compose: Compose
    likeness: Likeness


def _objective(run: Run, name: str) -> _Objective:
    cbos, siamese = run.config.baselines.cbos, run.config.baselines.siamese_cbow
    if name == "cbos":
        title = f"CBOS (k={cbos.window}, m={cbos.negatives}, {cbos.dimensions}-d)"
        return _Objective(title, cbos, context_predicts_centre, cbos.likeness)
    title = f"Siamese CBOW ({siamese.negatives} negatives, {siamese.dimensions}-d)"
    return _Objective(title, siamese, centre_predicts_neighbours, Likeness.COSINE)


def fit(run: Run, name: str, workspace: Path) -> Mapping[str, Any]:
    """Train CBOS or Siamese CBOW on a run's corpus; see `firth.baselines.trained`.

    Raises:
        InputError: No word occurs often enough, or no sentence has a neighbour.
    """
    objective = _objective(run, name)
    config = objective.config
    sentences = read_sentences(run, config)
    if not (sentences.documents[1:] == sentences.documents[:-1]).any():
        raise InputError(f"{run.path}: every document has one sentence; {name} learns from two")
    vectors, losses = learn(
        sentences,
        objective.compose,
        config,
        objective.likeness,
        derive_seed(run.config.seed, "baseline", name),
        workspace / SCRATCH,
        f"Baseline {name}",
    )
    WordBag(objective.title, sentences.vocabulary, vectors, config.stemmer).save(workspace)
    return {
        "sentences": len(sentences),
        "words": len(sentences.pieces),
        "vocabulary": len(sentences.vocabulary),
        "losses": [round(loss, 6) for loss in losses],
    }

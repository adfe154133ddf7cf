"""A word space and a scorer over made-up sentences of four topics; nothing is learned or read."""

import random

import numpy as np
import pytest

from firth.encoders.words import BagEncoder, WordSpace
from firth.scorer.components import AlignedWords, Component, SummedWords
from firth.scorer.contexts import Contexts, TopicFits
from firth.scorer.scorer import Blend, Scorer
from firth.text.stems import fit_idf
from firth.text.words import stems

TOPICS = {
    topic: nouns.split()
    for topic, nouns in {
        "sea": "ship harbour wave sailor storm sail captain anchor island tide",
        "farm": "farmer field wheat plough cow barn harvest tractor seed meadow",
        "court": "judge lawyer trial jury witness verdict appeal court law crime",
        "music": "singer song violin concert piano melody orchestra choir drum stage",
    }.items()
}
VERBS = ["saw", "met", "left", "found", "watched", "reached", "followed", "praised", "feared",
         "remembered"]  # fmt: skip


def sentence(topic: str, rng: random.Random) -> str:
    one, two, three = rng.sample(TOPICS[topic], 3)
    return f"The {one} {rng.choice(VERBS)} the {two} near the {three}."


def sentences(count: int = 200, seed: int = 5) -> list[tuple[str, str]]:
    """(document, sentence): each sentence is about one topic, and each document too."""
    rng, topics = random.Random(seed), list(TOPICS) * count
    return [(f"{topics[n]}-{n // 20}", sentence(topics[n], rng)) for n in range(count)]


@pytest.fixture(scope="session")
def space() -> WordSpace:
    """Words of one topic have similar vectors; the rarest have none."""
    rng = np.random.default_rng(3)
    texts = [text for _, text in sentences()]
    vocabulary, rows = [], []
    for nouns in [*TOPICS.values(), VERBS]:
        center = rng.standard_normal(12)
        for stem in stems(nouns[:-1], "porter"):
            vocabulary.append(stem)
            rows.append(center + 0.7 * rng.standard_normal(12))
    return WordSpace(vocabulary, np.array(rows, np.float32), fit_idf(texts, "porter"), 20.0)


@pytest.fixture(scope="session")
def contexts(space: WordSpace) -> Contexts:
    """All sentences, in 8 topics at most."""
    documents, texts = zip(*sentences(), strict=True)
    titles = [f"Title of {name}" for name in documents]
    vectors = BagEncoder(space).encode(texts)
    return Contexts.group(texts, documents, titles, vectors, space.idf, 8, 1)


def scorer_of(space: WordSpace, contexts: Contexts, blend: Blend | None = None) -> Scorer:
    """A scorer without a run."""
    blend = blend or Blend()
    known = blend.counted(space)
    components: dict[str, Component] = {
        "sentences": SummedWords(known, blend.spelling_weight, lambda: TopicFits(contexts)),
        "words": AlignedWords(known),
    }
    return Scorer(components, blend.weights, space)


@pytest.fixture(scope="session")
def scorer(space: WordSpace, contexts: Contexts) -> Scorer:
    """The default blend."""
    return scorer_of(space, contexts)

"""Contexts: their fits sum to a cosine, each is in one topic, and topics have telling names."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from firth.encoders.words import BagEncoder, WordSpace
from firth.run.errors import DamagedError
from firth.scorer.contexts import Contexts, TopicFits, _kmeans
from firth.text.stems import fit_idf
from firth.text.types import Singles, unit

from .conftest import TOPICS


def contexts_of(rows: np.ndarray, topics: int = 1) -> Contexts:
    names = [f"sentence {number}" for number in range(len(rows))]
    vectors = unit(rows).astype(np.float32)
    return Contexts.group(names, names, names, vectors, fit_idf(names, "porter"), topics, 1)


@given(st.integers(0, 10_000), st.integers(6, 40))
def test_fits_sum_to_the_cosine(seed: int, count: int) -> None:
    """Eq. 4 over all decorrelated contexts is x · y; over plain ones it is not."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((count, 5)) * [9, 3, 1, 0.5, 0.2] + [4, 0, 0, 0, 0]
    contexts = contexts_of(rows)
    spread = np.linalg.eigvalsh(contexts.vectors.T.astype(float) @ contexts.vectors)
    assume(spread[0] > 1e-5 * spread[-1])  # no direction is left out
    one, two = unit(rng.standard_normal((2, 5)))
    fits = contexts.vectors @ contexts.turn
    assert np.isclose((fits @ one) @ (fits @ two) / count, one @ two, atol=1e-4)
    plain = contexts.vectors.T @ contexts.vectors / count
    assert not np.allclose(plain, np.eye(5), atol=0.1), "premise"


def test_fewer_contexts_than_dimensions_explain_what_they_can_see() -> None:
    """Directions that no context has are left out, and nothing becomes infinite."""
    contexts = contexts_of(np.eye(6)[:3])
    fits = contexts.vectors @ contexts.turn
    assert np.isfinite(fits).all()
    seen, unseen = np.eye(6)[1], np.eye(6)[5]
    assert np.isclose((fits @ seen) @ (fits @ seen) / 3, 1.0)
    assert np.allclose(fits @ unseen, 0.0)


def test_topics_are_what_the_corpus_is_about(contexts: Contexts) -> None:
    """Of four subjects, each topic has one; its words are of that subject, and no stop words."""
    assert 4 <= len(contexts.topics) <= 8
    subjects = [name.split("-")[0] for name in contexts.documents]
    for number, topic in enumerate(contexts.topics):
        own = {s for s, label in zip(subjects, contexts.labels, strict=True) if label == number}
        assert len(own) == 1
        nouns = set(TOPICS[own.pop()])
        assert len(nouns & set(topic.words)) >= 3
        assert not {"the", "near"} & set(topic.words)
        assert 1 <= len(topic.sentences) <= 2
        homes = [contexts.documents[contexts.texts.index(text)] for text in topic.sentences]
        assert len(set(homes)) == len(homes)


@given(
    rows=st.integers(1, 60), dimensions=st.integers(1, 6), count=st.integers(1, 12),
    distinct=st.integers(1, 60), seed=st.integers(0, 99),
)  # fmt: skip
def test_kmeans_leaves_no_group_empty(
    rows: int, dimensions: int, count: int, distinct: int, seed: int
) -> None:
    """There are never more groups than distinct rows; equal rows share a group."""
    rng = np.random.default_rng(seed)
    made: Singles = unit(rng.standard_normal((distinct, dimensions))).astype(np.float32)
    which = rng.integers(0, distinct, rows)
    labels = _kmeans(made[which], count, seed)
    groups = set(labels.tolist())
    assert groups == set(range(len(groups)))
    assert len(groups) <= min(count, len(np.unique(made[which], axis=0)))
    for each in np.unique(which):
        assert len(set(labels[which == each].tolist())) == 1
    assert labels.tolist() == _kmeans(made[which], count, seed).tolist()


def test_kmeans_finds_groups_that_are_there() -> None:
    """Far from each other, and of different sizes."""
    rng = np.random.default_rng(4)
    truth = np.repeat(np.arange(5), [5, 10, 20, 40, 80])
    rows = unit(np.eye(8)[truth] + 0.05 * rng.standard_normal((len(truth), 8)))
    labels = _kmeans(rows.astype(np.float32), 5, 7)
    assert len({*zip(truth.tolist(), labels.tolist(), strict=True)}) == 5


def test_contexts_come_back_from_disk(contexts: Contexts, tmp_path: Path) -> None:
    """With their texts, documents and titles; a damaged file is named."""
    contexts.save(tmp_path)
    again = Contexts.load(tmp_path)
    assert list(again.texts) == list(contexts.texts)
    assert list(again.documents) == list(contexts.documents)
    assert list(again.titles) == list(contexts.titles)
    assert list(again.topics) == list(contexts.topics)
    assert again.vectors.tobytes() == contexts.vectors.tobytes()
    assert again.labels.tolist() == contexts.labels.tolist()
    assert again.turn.tobytes() == contexts.turn.tobytes()
    (tmp_path / "sentences.jsonl").write_text("[1]\n")
    with pytest.raises(DamagedError, match="firth build"):
        Contexts.load(tmp_path)


def test_evidence_of_a_product(contexts: Contexts, space: WordSpace) -> None:
    """Sentences of different documents that resemble both texts; blocks of pairs change nothing."""
    fits, encoder = TopicFits(contexts), BagEncoder(space)
    texts = contexts.texts[:70]
    ones, pairs = encoder.encode(texts).astype(float), list(zip(texts, texts[::-1], strict=True))
    found = list(fits.explain(pairs, ones, ones[::-1]))
    assert len(found) == 70
    for i, (pair, (product, _, shown)) in enumerate(zip(pairs, found, strict=True)):
        assert product == pytest.approx(ones[i] @ ones[-1 - i], abs=1e-9)
        documents = [context.document for context in shown]
        assert len(set(documents)) == len(documents)
        assert not {context.text for context in shown} & {*pair}
        among = encoder.encode([context.text for context in shown])
        assert np.all(np.triu(among @ among.T, 1) < 0.81), "repeats are no further evidence"
        products = [context.fit1 * context.fit2 for context in shown]
        assert products == sorted(products, reverse=True)
        for context in shown:
            vectors = encoder.encode([*pair, context.text]).astype(float)
            assert context.fit1 == pytest.approx(vectors[0] @ vectors[2], abs=1e-5)
            assert context.fit2 == pytest.approx(vectors[1] @ vectors[2], abs=1e-5)
    assert any(contexts for _, _, contexts in found)
    assert any(topics for _, topics, _ in found)
    (alone,) = fits.explain(pairs[65:66], ones[65:66], ones[4:5])
    for first, second in zip(alone[1], found[65][1], strict=True):
        assert first.words == second.words
        # Products of matrices of other sizes are rounded otherwise.
        assert first.contribution == pytest.approx(second.contribution, rel=1e-9)

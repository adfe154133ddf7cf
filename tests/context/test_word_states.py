"""States of words: which tokens are a word's, and that they know the sentence."""

from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer

from firth.context.word_states import WordStates, has_states
from firth.lexical.words import Stemmer, stems, words

TEXTS = [
    "The ships reached the harbour; a ship sank.",
    "",
    "No ship!",
    "The judge left the court near the old red barn, İstanbul.",
]


@pytest.fixture(scope="module")
def model(tiny_encoder: Path) -> SentenceTransformer:
    return SentenceTransformer(str(tiny_encoder), device="cpu").eval()


def test_a_row_a_stem(model: SentenceTransformer) -> None:
    """As many directions as a text has distinct stems, of length 1; none where a word cannot be
    placed (its capital has a small form of two characters)."""
    found = WordStates.fit(model, Stemmer.PORTER, TEXTS)(TEXTS)
    sizes = [len(set(stems(words(text), Stemmer.PORTER))) for text in TEXTS]
    assert [len(rows) for rows in found] == sizes
    assert sizes[0] < len(words(TEXTS[0]))  # ship and ships
    lengths = [np.linalg.norm(rows, axis=1) for rows in found]
    assert np.concatenate(lengths[:3]) == pytest.approx(1.0)
    assert not lengths[3].any()


def test_a_state_is_the_mean_of_its_tokens(model: SentenceTransformer) -> None:
    """By hand, for one word; a stem that stands twice has the mean of both."""
    (text,) = ["No ship!"]
    read = model.tokenizer([text], return_tensors="pt", return_offsets_mapping=True)
    offsets = read.pop("offset_mapping")[0]
    with torch.inference_mode():
        states = model[0](dict(read))["token_embeddings"][0]
    inside = [n for n, (a, b) in enumerate(offsets.tolist()) if b > a and a >= 3 and b <= 7]
    wanted = states[inside].mean(dim=0).numpy()
    found = WordStates(model, Stemmer.PORTER, np.zeros(1))([text])[0][1]
    assert found == pytest.approx(wanted / np.linalg.norm(wanted), abs=1e-5)


def test_a_state_knows_its_sentence_and_no_other(model: SentenceTransformer) -> None:
    """One word differs from sentence to sentence; a text's do not depend on the batch."""
    read = WordStates(model, Stemmer.PORTER, np.zeros(1))
    first, second = read(["the ship sailed", "a judge on the ship"])
    assert not np.allclose(first[1], second[-1], atol=1e-3)
    assert read(["the ship sailed"])[0] == pytest.approx(first, abs=1e-5)


def test_which_models_have_states(model: SentenceTransformer, tiny_static: Path) -> None:
    """A Transformer has; sums of word vectors have not."""
    assert has_states(model)
    assert not has_states(SentenceTransformer(str(tiny_static), device="cpu"))

"""The fast way to a static Surrogate's vectors gives those of sentence-transformers."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import StaticEmbedding

from firth.run.errors import InputError
from firth.surrogate import fast
from firth.surrogate.fast import StaticEncoder
from firth.surrogate.tokens import word_tokenizer

KNOWN = ["ship", "harbour", "i", "über", "b52", "snake_case"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A static model of a few words and the pieces of others."""
    pieces = [*"abcdefghj", "##a", "##b", "##ip", "##s"]
    tokenizer = word_tokenizer([*KNOWN, *pieces])
    weight = np.random.default_rng(0).standard_normal((tokenizer.get_vocab_size(), 8))
    model = SentenceTransformer(modules=[StaticEmbedding(tokenizer, weight.astype(np.float32))])
    path = tmp_path_factory.mktemp("static")
    model.save(str(path), create_model_card=False)
    return path


ODD = st.text("shipa b_52I.-İßΣé½\u2019\n", max_size=30)


@given(st.lists(st.one_of(st.text(max_size=30), ODD)))
def test_any_text_has_the_same_vector(folder: Path, texts: list[str]) -> None:
    """Whatever the script, and however odd the text."""
    texts = [*texts, "The SHIP ships aab.", "", "x" * 150]
    wanted = SentenceTransformer(str(folder), device="cpu").encode(texts, show_progress_bar=False)
    assert StaticEncoder.open(folder).encode(texts) == pytest.approx(wanted, abs=1e-6)


def test_plain_text_is_split_as_by_the_tokenizer() -> None:
    """Every character that counts as plain, within a word, at its end, and alone."""
    tokenizer = word_tokenizer([])
    plain = [c for c in map(chr, range(sys.maxunicode)) if fast._PLAIN.fullmatch(c)]
    assert {"a", "É", "½", "\u2019", "\n"} <= {*plain}
    assert not {"İ", "Σ", "\u200d", "\u203f", "\u0301"} & {*plain}
    for character in plain:
        text = f"A{character}b {character} {character}E"
        lowered = tokenizer.normalizer.normalize_str(text)
        wanted = [word for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(lowered)]
        found = [word.decode("latin-1") for word in fast.plain_words(text)]
        assert found == wanted, hex(ord(character))


def test_words_are_forgotten_where_they_are_too_many(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between two blocks, with no vector changed."""
    texts = ["ship aab", "harbour baa", "zzz ship ab", "aab a"]
    wanted = StaticEncoder.open(folder).encode(texts)
    monkeypatch.setattr(fast, "_TEXTS", 1)
    monkeypatch.setattr(fast, "_KNOWN", 2)
    encoder = StaticEncoder.open(folder)
    assert encoder.encode(texts) == pytest.approx(wanted, abs=1e-6)
    assert len(encoder._words) <= 4


def test_no_other_model_is_taken_for_one(tiny_bert: Path) -> None:
    """A Transformer is refused."""
    with pytest.raises(InputError, match="no static Surrogate"):
        StaticEncoder.open(tiny_bert)


def test_pieces_are_those_of_the_tokenizer(folder: Path) -> None:
    """The premise: some words are spelled, and some cannot be."""
    module: Any = SentenceTransformer(str(folder), device="cpu")[0]
    tokenizer = module.tokenizer
    assert len(tokenizer.encode("aab", add_special_tokens=False).ids) > 1
    assert tokenizer.encode("zzz", add_special_tokens=False).ids == [0]

"""The static model: what it holds, and that sentence-transformers reads the same."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.corpus.corpus import Corpus
from firth.encoders.static import (
    StaticEncoder,
    build_static,
    random_directions,
    static_from_words,
    word_pieces,
    word_tokenizer,
    write_static,
)
from firth.encoders.words import WORDS, WordSpace
from firth.run.errors import InputError
from firth.run.files import write_arrays
from firth.run.run import Run
from firth.run.settings import StaticSettings
from firth.text.stems import Idf, gram_table
from firth.text.types import Floats, Singles
from firth.text.words import words

KNOWN = ["ship", "harbor", "i", "\u00fcber", "b52", "snake", "\u0939\u093f"]
PIECES = [*"abcdefghj", "##a", "##b", "##ip", "##s"]
Edited = Callable[..., Path]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A static encoder of a few words and pieces."""
    path = tmp_path_factory.mktemp("static")
    vectors = np.random.default_rng(0).standard_normal((len(KNOWN) + len(PIECES), 8))
    write_static(path, [*KNOWN, *PIECES], vectors.astype(np.float32))
    return path


@pytest.fixture(scope="module")
def library(folder: Path) -> Any:
    """The same encoder, as sentence-transformers opens it."""
    name = "sentence_transformers"
    return pytest.importorskip(name).SentenceTransformer(str(folder), device="cpu")


ODD = st.text("shipa b_52I.-\u0130\u00df\u03a3\u00e9\u00bd\u2019\n\u093f\u0939\u200d", max_size=30)


@given(st.lists(st.one_of(st.text(max_size=30), ODD)))
def test_sentence_transformers_gives_the_same_vectors(
    folder: Path, library: Any, texts: list[str]
) -> None:
    """Unit vectors, whatever the script, and however odd the text.

    The premise is the last three texts, of which the means have other lengths.
    """
    texts = [*texts, "The SHIP ships aab.", "", "x" * 150]
    encoder = StaticEncoder.open(folder)
    expected = library.encode(texts, show_progress_bar=False)
    assert np.abs(np.linalg.norm(encoder.raw(texts[-3:-2]), axis=1) - 1).min() > 1e-3
    np.testing.assert_allclose(encoder.encode(texts), expected, atol=1e-6)
    lengths = np.linalg.norm(expected, axis=1)
    np.testing.assert_allclose(lengths[lengths > 0], 1.0, atol=1e-6)
    assert (lengths > 0).tolist() == expected.any(axis=1).tolist()


def test_a_static_encoder_of_the_library_opens(tmp_path: Path) -> None:
    """With another tokenizer, a Normalize module and half-precision numbers."""
    pytest.importorskip("sentence_transformers")
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Normalize
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding
    from tokenizers import Tokenizer, models, pre_tokenizers

    tokenizer: Any = Tokenizer(models.WordLevel({"[U]": 0, "Ship": 1, "b_52": 2}, unk_token="[U]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    table = np.random.default_rng(4).standard_normal((3, 8)).astype(np.float16)
    modules: list[Any] = [StaticEmbedding(tokenizer, table.astype(np.float32)), Normalize()]
    library = SentenceTransformer(modules=modules, device="cpu")
    library.save(str(tmp_path), create_model_card=False)
    write_arrays(tmp_path / "model.safetensors", {"embeddings": table})
    texts = ["Ship b_52", "ship", "b 52 Ship Ship"]
    found = StaticEncoder.open(tmp_path).encode(texts)
    np.testing.assert_allclose(found, library.encode(texts), atol=1e-6)


def test_parts_that_do_not_belong_together_are_refused(folder: Path, edited: Edited) -> None:
    short, named = edited(folder), edited(folder)
    last = len(KNOWN) + len(PIECES)
    write_arrays(short / "model.safetensors", {"embedding.weight": np.zeros((last, 8), np.float32)})
    with pytest.raises(InputError, match=f"tokens up to {last}, and its table has the shape"):
        StaticEncoder.open(short)
    write_arrays(named / "model.safetensors", {"wrong.weight": np.zeros((99, 8), np.float32)})
    with pytest.raises(InputError, match=r"holds wrong\.weight; expected embedding"):
        StaticEncoder.open(named)


# --- The vectors -------------------------------------------------------------------------------


def test_pieces_are_shared_beginnings_and_endings_and_spell_every_word() -> None:
    known = [*(f"sail{end}" for end in ("ed", "er", "ing", "or", "s")), "\u00fcber"]
    pieces = word_pieces(known)
    assert {"sa", "sail", "s", "##s", "\u00fc", "##\u00fc"} <= {*pieces}
    assert not {"saile", "##ing", "\u00fcb", "sails"} & {*pieces}, (
        "fewer than five words share them"
    )
    assert len(pieces) == len(set(pieces))
    tokens = word_tokenizer([*known, *pieces]).encode("sailor sailing sailores sibe").tokens
    assert tokens == ["sailor", "sailing", "sailor", "##e", "##s", "s", "##i", "##b", "##e"]


def test_an_unknown_word_is_similar_to_words_that_are_spelled_alike(words_run: Run) -> None:
    texts = Corpus.open(words_run).texts(range(200))
    others = sorted({word for text in texts for word in words(text)})
    known = [*others, *(f"quartz{end}" for end in ("s", "ed", "ing", "master", "less", "ful"))]
    pieces = word_pieces(known)
    space = WordSpace.load(words_run.folder(WORDS)).unlearned()
    vectors = static_from_words(space, 1.0, known, pieces, StaticSettings(), 1)
    table = np.vstack((np.zeros_like(vectors[:1]), vectors))
    encoder = StaticEncoder(table, word_tokenizer([*known, *pieces]), "")
    alike, *cosines = encoder.encode(["quartzful", *others]) @ encoder.encode(["quartzsful"])[0]
    assert alike > 0.3 > max(cosines)


def test_random_directions_are_those_of_spelling() -> None:
    """With many dimensions their cosines are those of n-grams, and their lengths 1."""
    stems = ["israel", "israeli", "sail", "1984", "1985", "harbor"]
    grams = gram_table(stems)
    vectors, shared = random_directions(grams, 1 << 14, seed=1), (grams @ grams.T).toarray()
    cosines = shared / np.sqrt(np.outer(shared.diagonal(), shared.diagonal()))
    np.testing.assert_allclose(vectors @ vectors.T, cosines, atol=0.04)


def word_space(dimensions: int) -> WordSpace:
    rng = np.random.default_rng(1)
    flat = rng.standard_normal((4, 3)) @ rng.standard_normal((3, dimensions))
    idf = Idf({"sail": 3, "barn": 90, "two": 9}, 100, "porter")
    return WordSpace(["sail", "storm", "cow", "barn"], flat.astype(np.float32), idf, 50.0)


@pytest.mark.parametrize("dimensions", [3, 8])
def test_without_spelling_vectors_are_those_of_the_space(dimensions: int) -> None:
    """Fewer dimensions keep the principal ones; words that were not learned have none."""
    space = word_space(5)
    known = ["sail", "barn", "zebra"]
    settings = StaticSettings(dimensions=dimensions)
    vectors = static_from_words(space, 0.0, known, [], settings, 1)
    assert vectors.shape == (3, dimensions)
    assert not vectors[2].any()
    whole = space.learned(known)
    np.testing.assert_allclose(vectors @ vectors.T, whole @ whole.T, atol=1e-5)


def test_numbers_are_longer_and_nothing_else() -> None:
    """In digits or in words, known or a piece."""
    known, pieces = ["sail", "two", "sails"], ["19", "##7", "##x"]

    def vectors(weight: float) -> Singles:
        settings = StaticSettings(number_weight=weight)
        return static_from_words(word_space(5), 1.0, known, pieces, settings, 1)

    one, three = vectors(1.0), vectors(3.0)
    np.testing.assert_allclose(three[[1, 3, 4]], 3 * one[[1, 3, 4]], rtol=1e-6)
    np.testing.assert_array_equal(three[[0, 2, 5]], one[[0, 2, 5]])
    assert (one[0] == one[2]).all(), "words of one stem share a vector"


def cosines(vectors: Floats) -> Floats:
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    product: Floats = unit @ unit.T
    return product


def test_the_encoder_of_a_run_has_the_cosines_of_its_words(words_run: Run, tmp_path: Path) -> None:
    """Sums of learned vectors and of n-grams; the nearer, the more dimensions."""
    space = WordSpace.load(words_run.folder(WORDS))
    corpus = Corpus.open(words_run)
    # The mean counts a repeated word twice, the sum of distinct stems once.
    texts = [" ".join(dict.fromkeys(words(text))) for text in corpus.texts(range(60))]
    stems = [space.stems(text) for text in texts]
    distinct = sorted({stem for each in stems for stem in each})
    has = np.array([[stem in each for stem in distinct] for each in stems], float)
    lengths = 0.5 * np.array([space.rarity(stem) for stem in distinct])
    learned = space.learned(distinct)
    products = learned @ learned.T
    grams = gram_table(distinct, space.idf.common_grams)
    spelled = (grams @ grams.T).toarray()
    spelled /= np.sqrt(np.outer(np.diag(spelled), np.diag(spelled)))
    products += np.outer(lengths, lengths) * spelled
    gram = has @ products @ has.T
    expected = gram / np.sqrt(np.outer(np.diag(gram), np.diag(gram)))
    assert np.std(expected) > 0.1, "premise: there is an order to agree on"
    errors = []
    for dimensions in (32, 1024):
        run = words_run.changed({"static": {"dimensions": dimensions, "number_weight": 1.0}})
        summary = build_static(run, space, 0.5, tmp_path / str(dimensions))
        assert summary["dimensions"] == dimensions
        vectors = StaticEncoder.open(tmp_path / str(dimensions)).raw(texts).astype(np.float64)
        errors.append(np.sqrt(np.mean((cosines(vectors) - expected) ** 2)))
    assert errors[1] < min(errors[0], 0.05)

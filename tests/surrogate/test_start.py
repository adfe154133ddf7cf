"""The static start: its words, what their vectors hold, and that it can be interrupted."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from firth.corpus.build import build_corpus
from firth.corpus.corpus import Corpus
from firth.corpus.tokenizer import build_tokenizer
from firth.lexical.arrays import Floats
from firth.lexical.spelling import alike, ngrams, runs
from firth.lexical.tfidf import Idf
from firth.lexical.word_space import WordSpace
from firth.lexical.word_vectors import WordBag
from firth.lexical.words import Stemmer, words
from firth.origin.blend import Blend
from firth.origin.origin import Origin
from firth.run.config import Config
from firth.run.run import Run
from firth.surrogate.report import rank_correlation
from firth.surrogate.start import (
    frequent_words,
    learned_vectors,
    own_directions,
    static_start,
)
from firth.surrogate.tokens import UNKNOWN, word_tokenizer

KNOWN = ["the", "ship", "café", "x_1", "straße"]


@given(st.text(alphabet=st.sampled_from("the ship café X_1 Straße.,-'\n\t"), max_size=40))
def test_the_tokenizer_reads_words(text: str) -> None:
    """Its tokens are those of `firth.lexical.words.words`, unknown ones being 0."""
    number = {word: i for i, word in enumerate(KNOWN, 1)}
    found = word_tokenizer(KNOWN).encode(text, add_special_tokens=False).ids
    assert found == [number.get(word, 0) for word in words(text)]


def test_frequent_words_come_first() -> None:
    """By falling number of sentences, then by alphabet; those of one sentence are left out."""
    counts = {"a": 9, "d": 2, "c": 5, "b": 5, "once": 1}
    assert frequent_words(counts, 9, 2) == ["a", "b", "c", "d"]
    assert frequent_words(counts, 2, 2) == ["a", "b"]


def test_own_directions_are_those_of_spelling() -> None:
    """With many dimensions their cosines are `alike`, and their lengths 1: in the mean exactly."""
    stems = ["israel", "israeli", "sail", "1984", "1985", "harbour"]
    vectors = own_directions([ngrams(stem) for stem in stems], 1 << 14, seed=1)
    np.testing.assert_allclose(vectors @ vectors.T, alike(stems, stems), atol=0.04)
    assert alike(stems, stems)[0, 1] > 0.5, "premise"
    small = own_directions([runs(f"stem {n}") for n in range(500)], 16, seed=1)
    assert np.mean(np.linalg.norm(small, axis=1) ** 2) == pytest.approx(1, abs=0.1)


def test_own_directions_do_not_see_each_other() -> None:
    """Equal n-grams, equal vectors, whatever stands before them."""
    one, same, other = own_directions([("sea", "<se"), ("sea", "<se"), ("1984",)], 8, seed=2)
    assert (one == same).all()
    assert not np.allclose(one, other)


@pytest.mark.parametrize("dimensions", [3, 5, 8])
def test_learned_vectors_are_those_of_the_space(dimensions: int) -> None:
    """Scaled by trust; with fewer dimensions their principal ones; unknown words have none."""
    rng = np.random.default_rng(1)
    flat = rng.standard_normal((4, 3)) @ rng.standard_normal((3, 5))
    bag = WordBag("", ["sail", "storm", "cow", "barn"], flat.astype(np.float32), Stemmer.PORTER)
    space = WordSpace(bag, Idf({"sail": 3, "barn": 90}, 100, "", Stemmer.PORTER), 50.0)
    found = learned_vectors(space, ["sail", "barn", "zebra"], dimensions)
    assert found.shape == (3, dimensions)
    assert not found[2].any()
    whole = space.learned(["sail", "barn"])
    assert np.linalg.norm(whole[0]) < np.linalg.norm(whole[1]), "premise: trust counts"
    np.testing.assert_allclose(found[:2] @ found[:2].T, whole @ whole.T, atol=1e-5)


def cosines_of_start(run: Run, scratch: Path, pairs: list[tuple[str, str]]) -> Floats:
    model, history = static_start(run, scratch, True)
    assert not history
    one, two = (np.asarray(model.encode(list(side)), float) for side in zip(*pairs, strict=True))
    found: Floats = (one * two).sum(1) / np.linalg.norm(one, axis=1) / np.linalg.norm(two, axis=1)
    return found


def test_the_start_is_origins_sum_of_words(fresh: Callable[..., Run], tmp_path: Path) -> None:
    """On known words: near with 256 dimensions, and the nearer the more there are."""
    corpus, rng = Corpus.open(fresh("first")), np.random.default_rng(3)
    # Distinct words: the mean of the start counts a repeated one twice, Origin once.
    texts = [" ".join(dict.fromkeys(words(text))) for text in corpus.texts(range(len(corpus)))]
    pairs = [(texts[a], texts[b]) for a, b in rng.integers(0, len(texts), (300, 2)) if a != b]
    expected = Origin.open(fresh("second"), weights={"words": 0}).similarities(pairs)
    assert np.std(expected) > 0.1, "premise: there is an order to agree on"
    errors = []
    for dimensions in (64, 512, 4096):
        run = fresh(f"run{dimensions}", dimensions=dimensions)
        found = cosines_of_start(run, tmp_path / "scratch", pairs)
        errors.append(np.sqrt(np.mean((found - expected) ** 2)))
        agreed = rank_correlation(found, expected) or 0.0
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.02
    assert agreed > 0.99


def test_words_of_one_stem_share_a_vector(tiny_folder: Path, tmp_path: Path) -> None:
    """To the last bit; words of others do not. The first vectors are learned here."""
    texts = tmp_path / "texts"
    shutil.copytree(tiny_folder, texts)
    for file in sorted(texts.iterdir())[::2]:
        file.write_text(file.read_text().replace("ship ", "ships "))
    settings = {"corpus": {"inputs": [str(texts)]}, "tokenizer": {"vocabulary": 400}}
    run = Run.create(tmp_path / "run", Config.parse(settings, "test"))
    build_corpus(run)
    build_tokenizer(run)
    model, history = static_start(run, tmp_path / "scratch", False)
    assert history
    tokenizer: Any = model[0].tokenizer
    assert {"ship", "ships"} <= set(tokenizer.get_vocab()), "premise"
    one, form, other = model.encode(["ship", "ships", "harbour"])
    assert (one == form).all()
    assert not np.allclose(one, other)


def test_numbers_weigh_more(tiny_folder: Path, tmp_path: Path) -> None:
    """As many times as set, by digits or in words, known or spelled with pieces; nothing else."""
    texts = tmp_path / "texts"
    shutil.copytree(tiny_folder, texts)
    for file in texts.iterdir():
        file.write_text(file.read_text().replace("near the ", "near two "))
    found = []
    for times in (1.0, 3.0):
        settings = {"corpus": {"inputs": [str(texts)]}, "tokenizer": {"vocabulary": 400},
                    "surrogate": {"numbers": times}}  # fmt: skip
        run = Run.create(tmp_path / f"run{times}", Config.parse(settings, "test"))
        build_corpus(run)
        build_tokenizer(run)
        model, _ = static_start(run, tmp_path / "scratch", False)
        tokenizer: Any = model[0].tokenizer
        assert "two" in tokenizer.get_vocab(), "premise"
        found.append(model.encode(["two", "19847", "harbour"]))
    once, thrice = found
    assert np.linalg.norm(once, axis=1).min() > 0, "premise: the unknown number is spelled"
    np.testing.assert_array_equal(thrice[2], once[2])
    np.testing.assert_allclose(thrice[:2], 3 * once[:2], rtol=1e-5, atol=1e-8)


def test_own_none_is_what_the_check_chose(fresh: Callable[..., Run], tmp_path: Path) -> None:
    """The length of own directions follows Origin's setting, and else its stage."""
    run = fresh("run")
    chosen = Blend.of(run, run.config.origin).length
    vectors = []
    for own in (None, chosen, chosen + 1):
        model, _ = static_start(run.changed({"origin": {"own": own}}), tmp_path / "scratch", True)
        vectors.append(model.encode(["the ship met the storm"]))
    assert (vectors[0] == vectors[1]).all()
    assert not np.allclose(vectors[0], vectors[2])


def test_unseen_words_are_spelled(fresh: Callable[..., Run], tmp_path: Path) -> None:
    """Two sentences that share one are more alike than two with different ones."""
    model, _ = static_start(fresh("run", dimensions=1024), tmp_path / "scratch", True)
    tokenizer: Any = model[0].tokenizer
    spelled = tokenizer.encode("shipping", add_special_tokens=False).tokens
    assert "".join(spelled).replace("##", "") == "shipping"
    assert spelled[0] == "ship"
    vectors = model.encode(["the cow rows", "a wave rows", "the cow lamented", "a wave grew"])
    assert "rows" not in tokenizer.get_vocab()
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    assert vectors[0] @ vectors[1] > vectors[2] @ vectors[3] + 0.1


def test_what_cannot_be_spelled_counts_as_nothing(
    fresh: Callable[..., Run], tmp_path: Path
) -> None:
    """It leaves a sentence's direction as it is, and a text of nothing else has no length."""
    model, _ = static_start(fresh("run"), tmp_path / "scratch", True)
    plain, more, none = model.encode(["the ship", "the 船 ship", "船"])
    np.testing.assert_allclose(
        plain / np.linalg.norm(plain), more / np.linalg.norm(more), atol=1e-6
    )
    assert not none.any()
    tokenizer: Any = model[0].tokenizer
    assert tokenizer.token_to_id(UNKNOWN) == 0


def test_an_interrupted_start_ends_the_same(fresh: Callable[..., Run], tmp_path: Path) -> None:
    """Where Origin reads no stage context, the bag is learned here, continued if need be."""
    run = fresh("run", start_epochs=40)
    whole, history = static_start(run, tmp_path / "whole", False)
    assert len(history) > 1
    left = tmp_path / "left"
    shutil.copytree(tmp_path / "whole", left)
    continued, repeated = static_start(run, left, False)
    assert repeated == history
    torch.testing.assert_close(
        next(continued.parameters()), next(whole.parameters()), rtol=0, atol=0
    )

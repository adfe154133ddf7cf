"""tf-idf against loops in plain Python, and plain tf-idf against scikit-learn's own vectorizer."""

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer

from firth.lexical.tfidf import Idf, PlainTfIdf, TfIdf, fit_idf
from firth.lexical.words import Stemmer, stems, words

FOUR = ["The ship sails.", "the ships sailed a sea", "the", "The old sailor éa, the sailors"]
IDF = fit_idf(FOUR, "four sentences")
KINDS = [(TfIdf, Stemmer.PORTER), (PlainTfIdf, Stemmer.NONE)]
both = pytest.mark.parametrize(("kind", "stemmer"), KINDS)
vocabulary = ["the", "The", "ship", "ships", "sailing", "sails", "sailor", "éa", "zebras", "", ","]
texts = st.lists(st.sampled_from(vocabulary), max_size=8).map(" ".join)


def pairs_of(sentences: list[str], count: int = 200) -> list[tuple[str, str]]:
    """Pairs drawn at random."""
    rng = random.Random(11)
    return [(rng.choice(sentences), rng.choice(sentences)) for _ in range(count)]


def reference(a: str, b: str, sentences: list[str]) -> float:
    """The formula, stem by stem, from the sentences themselves."""

    def found(text: str) -> set[str]:
        return set(stems(words(text), Stemmer.PORTER))

    def idf(stem: str) -> float:
        with_it = sum(stem in found(sentence) for sentence in sentences)
        return math.log((1 + len(sentences)) / (1 + with_it))

    if a == b:
        return 1.0
    dot = sum(idf(stem) ** 2 for stem in found(a) & found(b))
    squares = [sum(idf(stem) ** 2 for stem in found(text)) for text in (a, b)]
    return dot / math.sqrt(squares[0] * squares[1]) if all(squares) else 0.0


@given(texts, texts)
def test_equals_the_formula(a: str, b: str) -> None:
    """Stems of any form, seen or not, repeated or not; symmetric; within [0, 1]."""
    ab, ba = TfIdf(IDF).similarities([(a, b), (b, a)])
    assert ab == pytest.approx(reference(a, b, FOUR), abs=1e-12)
    assert ab == ba
    assert 0 <= ab <= 1


def test_equals_the_formula_on_a_corpus(sentences: list[str]) -> None:
    """The same on real sentences, also of words that the idf never saw."""
    some, others = sentences[:60], [f"unseen{i} {text}" for i, text in enumerate(sentences[60:])]
    assert some
    assert others
    pairs = pairs_of([*some, *others], 100)
    expected = [reference(a, b, some) for a, b in pairs]
    found = TfIdf(fit_idf(some, "here")).similarities(pairs)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert len(set(found.round(6).tolist())) > 30, "premise: the pairs differ"


def test_forms_of_a_stem_meet_and_repeats_count_once() -> None:
    """Where plain tf-idf sees nothing in common, or more than once."""
    forms, repeated = ("Ships sailed", "a ship sails"), ("ship ship sea", "ship sea")
    assert TfIdf(IDF).similarities([forms])[0] > 0.5
    assert PlainTfIdf(fit_idf(FOUR, "", Stemmer.NONE)).similarities([forms])[0] == 0
    assert TfIdf(IDF).similarities([repeated])[0] == pytest.approx(1, abs=1e-12)


def test_an_unseen_stem_counts_as_the_rarest() -> None:
    """It joins texts that share it as the rarest seen does, and more; it parts them as well."""
    others = sorted(IDF.frequencies.keys() - {"ship", "sea"})
    rarest = min(others, key=lambda stem: IDF.frequencies[stem])
    assert IDF.frequencies[rarest] == 1, "premise"
    pairs = [(f"the {word} ship", f"the {word} sea") for word in ("zebra", rarest, "the")]
    unseen, rare, none = TfIdf(IDF).similarities(pairs)
    assert unseen > rare > none
    assert TfIdf(IDF).similarities([("zebra ship", "yak ship")])[0] < 0.5


def test_nothing_shared_is_nothing_alike() -> None:
    """Without a shared stem the score is 0."""
    assert TfIdf(IDF).similarities([("old ships", "seas and sailors")])[0] == 0


def test_plain_equals_scikit_learn(sentences: list[str]) -> None:
    """Fitted on the same sentences, scores are those of `TfidfVectorizer(sublinear_tf=True)`.

    Also where a text has words that the idf never saw.
    """
    vectorizer = TfidfVectorizer(analyzer=words, sublinear_tf=True).fit(sentences)
    pairs = pairs_of([*sentences, *(f"unseen{i} {text}" for i, text in enumerate(sentences))])
    seen = set(vectorizer.vocabulary_)
    assert any(set(words(text)) - seen for pair in pairs for text in pair), "premise: unseen words"
    left, right = (vectorizer.transform([pair[side] for pair in pairs]) for side in (0, 1))
    expected = np.asarray(left.multiply(right).sum(axis=1)).ravel()
    found = PlainTfIdf(fit_idf(sentences, "here", Stemmer.NONE)).similarities(pairs)
    np.testing.assert_allclose(found, np.minimum(expected, 1), atol=1e-12)
    assert len(set(found.round(6).tolist())) > 50, "premise: the pairs differ"


@given(texts)
def test_weights_are_the_unit_vector(text: str) -> None:
    """Their products over shared stems are the score; without an idf a text alone has none."""
    other = "the old ships"
    one, two = TfIdf(IDF).weights(text), TfIdf(IDF).weights(other)
    product = sum(weight * two.get(stem, 0) for stem, weight in one.items())
    if text != other:
        assert product == pytest.approx(TfIdf(IDF).similarities([(text, other)])[0], abs=1e-12)
    with pytest.raises(ValueError, match="no idf"):
        TfIdf().weights(text)


@both
@given(text=texts)
def test_identical_texts_are_as_similar_as_can_be(
    kind: type[TfIdf | PlainTfIdf], stemmer: Stemmer, text: str
) -> None:
    """A text's cosine with itself is 1, words or no words, seen or unseen."""
    scorer = kind(fit_idf(FOUR, "four", stemmer))
    assert scorer.similarities([(text, text)])[0] == pytest.approx(1.0, abs=1e-12)


@both
def test_batch_equals_one_by_one(
    kind: type[TfIdf | PlainTfIdf], stemmer: Stemmer, sentences: list[str]
) -> None:
    """With a fixed idf, a score does not depend on what else is scored."""
    pairs = pairs_of([*sentences, "unseen words here", ""], 60)
    scorer = kind(fit_idf(sentences, "here", stemmer))
    together = scorer.similarities(pairs)
    apart = np.concatenate([scorer.similarities([pair]) for pair in pairs])
    np.testing.assert_allclose(together, apart, atol=1e-12)


@both
def test_without_an_idf_the_distinct_texts_of_the_call_give_it(
    kind: type[TfIdf | PlainTfIdf], stemmer: Stemmer, sentences: list[str]
) -> None:
    """As fitted on the distinct texts of the pairs: repeats count once."""
    pairs = pairs_of(sentences, 80)
    pairs += pairs[:20]
    distinct = {text for pair in pairs for text in pair}
    assert len(distinct) < 2 * len(pairs), "premise: some texts repeat"
    fitted = kind(fit_idf(sorted(distinct), "the set", stemmer))
    np.testing.assert_allclose(kind().similarities(pairs), fitted.similarities(pairs), atol=1e-12)


@both
def test_the_name_says_where_the_idf_comes_from(
    kind: type[TfIdf | PlainTfIdf], stemmer: Stemmer
) -> None:
    """Two tf-idf figures can only be compared by someone who knows their idf."""
    assert "four sentences" in kind(fit_idf(FOUR, "four sentences", stemmer)).name
    assert "evaluated set" in kind().name
    assert TfIdf().name != PlainTfIdf().name


@both
def test_texts_without_words(kind: type[TfIdf | PlainTfIdf], stemmer: Stemmer) -> None:
    """No error, and nothing is not alike: 0, but for a text and itself."""
    idf: Idf = fit_idf(FOUR, "four", stemmer)
    for scorer in (kind(idf), kind()):
        assert scorer.similarities([("", "..."), ("!", "!")]).tolist() == [0.0, 1.0]
        assert scorer.similarities([]).shape == (0,)
    assert kind(idf).similarities([("", "a ship")]).tolist() == [0.0]

"""tf-idf against scikit-learn's own vectorizer and against loops in plain Python."""

import math
import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer

from firth.lexical.tfidf import Idf, TfIdf, fit_idf
from firth.lexical.words import words

IDF = fit_idf(["a b c", "a b", "a", "a d é"], source="four sentences")
texts = st.text(alphabet=st.sampled_from("aAbcdé zß,."), max_size=20)


def pairs_of(sentences: list[str], count: int = 200) -> list[tuple[str, str]]:
    """Pairs drawn at random."""
    rng = random.Random(11)
    return [(rng.choice(sentences), rng.choice(sentences)) for _ in range(count)]


def plain_cosine(a: str, b: str, idf: Idf, count_unseen: bool) -> float:
    """The formula, word by word."""
    vectors = [
        {
            word: (1 + math.log(count)) * idf.weight(word)
            for word, count in Counter(words(t)).items()
        }
        for t in (a, b)
    ]
    if not count_unseen:
        vectors = [{w: x for w, x in v.items() if w in idf.frequencies} for v in vectors]
    if a == b:
        return 1.0
    if not all(vectors):
        return 0.0
    dot = sum(weight * vectors[1].get(word, 0.0) for word, weight in vectors[0].items())
    lengths = [math.sqrt(sum(weight**2 for weight in v.values())) for v in vectors]
    return dot / (lengths[0] * lengths[1])


def test_equals_scikit_learn(sentences: list[str]) -> None:
    """Fitted on the same sentences, scores are those of `TfidfVectorizer(sublinear_tf=True)`.

    Also where a text has words that the idf never saw.
    """
    vectorizer = TfidfVectorizer(analyzer=words, sublinear_tf=True).fit(sentences)
    pairs = pairs_of([*sentences, *(f"unseen{i} {text}" for i, text in enumerate(sentences))])
    seen = set(vectorizer.vocabulary_)
    assert any(set(words(text)) - seen for pair in pairs for text in pair), "premise: unseen words"
    left, right = (vectorizer.transform([pair[side] for pair in pairs]) for side in (0, 1))
    expected = np.asarray(left.multiply(right).sum(axis=1)).ravel()
    found = TfIdf(fit_idf(sentences, source="here")).similarities(pairs)
    np.testing.assert_allclose(found, np.minimum(expected, 1), atol=1e-12)
    assert len(set(found.round(6).tolist())) > 50, "premise: the pairs differ"


@given(texts, texts, st.booleans())
def test_equals_the_formula_also_for_unseen_words(a: str, b: str, count_unseen: bool) -> None:
    """Unseen words are dropped, or weigh as the rarest; symmetric; within [0, 1]."""
    ab, ba = TfIdf(IDF, count_unseen=count_unseen).similarities([(a, b), (b, a)])
    assert ab == pytest.approx(plain_cosine(a, b, IDF, count_unseen), abs=1e-12)
    assert ab == ba
    assert 0 <= ab <= 1


@given(texts)
def test_identical_texts_are_as_similar_as_can_be(text: str) -> None:
    """A text's cosine with itself is 1, words or no words, seen or unseen."""
    assert TfIdf(IDF).similarities([(text, text)])[0] == pytest.approx(1.0, abs=1e-12)


def test_batch_equals_one_by_one(sentences: list[str]) -> None:
    """With a fixed idf, a score does not depend on what else is scored."""
    pairs = pairs_of([*sentences, "unseen words here", ""], 60)
    scorer = TfIdf(fit_idf(sentences, source="here"))
    together = scorer.similarities(pairs)
    apart = np.concatenate([scorer.similarities([pair]) for pair in pairs])
    np.testing.assert_allclose(together, apart, atol=1e-12)


def test_without_an_idf_the_distinct_texts_of_the_call_give_it(sentences: list[str]) -> None:
    """`TfIdf()` equals `TfIdf` fitted on the distinct texts of the pairs: repeats count once."""
    pairs = pairs_of(sentences, 80)
    pairs += pairs[:20]
    distinct = {text for pair in pairs for text in pair}
    assert len(distinct) < 2 * len(pairs), "premise: some texts repeat"
    fitted = TfIdf(fit_idf(sorted(distinct), source="the set"))
    np.testing.assert_allclose(TfIdf().similarities(pairs), fitted.similarities(pairs), atol=1e-12)


def test_the_name_says_where_the_idf_comes_from() -> None:
    """Two tf-idf figures can only be compared by someone who knows their idf."""
    assert "four sentences" in TfIdf(IDF).name
    assert "evaluated set" in TfIdf().name


def test_texts_without_words() -> None:
    """No error, and nothing is not alike: 0, but for a text and itself."""
    assert TfIdf(IDF).similarities([("", "..."), ("!", "!")]).tolist() == [0.0, 1.0]
    assert TfIdf(IDF).similarities([("", "a b")]).tolist() == [0.0]
    assert TfIdf().similarities([]).shape == (0,)

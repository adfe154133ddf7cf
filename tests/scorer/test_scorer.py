"""The scorer: a weighted mean, symmetric, and explained by what sums to it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.encoders.words import BagEncoder, WordSpace
from firth.run.errors import InputError
from firth.scorer.components import (
    AlignedWords,
    Component,
    EncodedSentences,
    SummedWords,
    TextReader,
)
from firth.scorer.contexts import Contexts, TopicFits
from firth.scorer.explanation import Explanation
from firth.scorer.parts import EQUAL, TOPICS, WORDS, Knowledge, Part
from firth.scorer.scorer import Blend, Scorer, weights_among
from firth.text.types import Floats, Singles, TextPair

from .conftest import TOPICS as SUBJECTS
from .conftest import scorer_of, sentences

A = "The ship reached the harbour near the island."
B = "A sailor left the harbour in a storm."
PAIRS = [
    (A, B), (B, A), (A, A), ("", A), ("", ""), ("Xqzzy ships!", B), (B, "Xqzzy ships!"),
    ("zzz qqq", "zzz qqq"), ("!", "!"), ("The", "the"),
    ("The judge met 3 ships.", "The judge didn't meet 4 ships."),
]  # fmt: skip
WORD = st.sampled_from([*SUBJECTS["sea"], *SUBJECTS["court"], "the", "not", "Xqzzy", "12",
                        "threes three", "4s", "!", "didn't"])  # fmt: skip
TEXT = st.lists(WORD, max_size=8).map(" ".join)


@pytest.fixture(scope="module")
def of_encoder(space: WordSpace, contexts: Contexts) -> Scorer:
    """Cosines of an encoder."""
    components: dict[str, Component] = {
        "sentences": EncodedSentences(BagEncoder(space).encode, lambda: TopicFits(contexts)),
        "words": AlignedWords(space),
    }
    return Scorer(components, {"sentences": 1.0}, space)


def sums(found: Explanation) -> None:
    """Everything sums to the score."""
    assert sum(p.contribution for p in found.parts.values()) == pytest.approx(
        found.score, abs=1e-12
    )
    assert sum(row.contribution for row in found.rows) == pytest.approx(found.score, abs=1e-8)
    for name, listed in ((TOPICS, found.topics), (WORDS, found.word_matches)):
        if name in found.parts:
            part = found.parts[name]
            whole = sum(item.contribution for item in listed) + part.rest
            assert whole == pytest.approx(part.contribution, abs=1e-9)


def test_the_score_is_the_weighted_mean(space: WordSpace, contexts: Contexts) -> None:
    """Weights are divided by their sum; a weight of 0 leaves a component out."""
    scorer = scorer_of(space, contexts, Blend({"sentences": 1.0, "words": 3.0}))
    parts = {name: each.similarities(PAIRS[:2]) for name, each in scorer.components.items()}
    expected = (parts["sentences"] + 3 * parts["words"]) / 4
    np.testing.assert_allclose(scorer.similarities(PAIRS[:2]), expected, atol=1e-12)
    assert "0.25 sentences + 0.75 words" in scorer.name
    only = scorer_of(space, contexts, Blend({"sentences": 0.0, "words": 0.3}))
    np.testing.assert_allclose(only.similarities(PAIRS[:1]), parts["words"][:1], atol=1e-12)
    assert only.weights == {"words": 1.0}
    assert set(only.explain(A, B).parts) == {WORDS}
    sums(only.explain(A, B))


def test_it_is_symmetric_and_equal_texts_score_one(scorer: Scorer, of_encoder: Scorer) -> None:
    """To the last bit; empty texts are no exception."""
    for each in (scorer, of_encoder):
        scores = each.similarities(PAIRS).tolist()
        assert scores[0] == scores[1]
        assert scores[2] == scores[4] == 1.0
        assert scores[5] == scores[6]
        assert -1 <= scores[0] < 1


def test_other_pairs_change_no_bit(scorer: Scorer) -> None:
    """A batch gives what its pairs give one by one."""
    assert scorer.similarities(PAIRS).tolist() == [scorer.similarity(*pair) for pair in PAIRS]
    assert scorer.similarities([]).shape == (0,)


def test_in_a_set_what_all_pairs_have_counts_less(scorer: Scorer, of_encoder: Scorer) -> None:
    """A pair is more similar by a word that is rare in the set. A single pair has no set."""
    pairs = [(f"The judge met a {noun}.", f"The judge saw a {noun}.") for noun in SUBJECTS["sea"]]
    two = "The judge met a ship.", "The judge saw a plough."
    among = scorer.among([*pairs, two])
    assert among.similarity(*two) < scorer.similarity(*two)
    assert scorer.among([two, two]).similarity(*two) == scorer.similarity(*two)
    assert among.similarities([two]).tolist() == among.similarities([pairs[0], two])[1:].tolist()
    for each in (among, of_encoder.among(pairs)):
        for found in each.explanations([*pairs[:3], two]):
            sums(found)


def test_an_encoder_that_disagrees_with_the_words_counts_less(
    space: WordSpace, contexts: Contexts
) -> None:
    """Each text is encoded once, and the parts still sum to the score."""
    made = [text for _, text in sentences(120)]
    pairs = [(made[number], made[7 * number % len(made)]) for number in range(1, 100)]
    encoded: list[str] = []

    def noise(texts: Sequence[str]) -> Singles:
        encoded.extend(texts)
        rows = [np.random.default_rng([*text.encode()]).normal(size=9) for text in texts]
        return np.stack(rows).astype(np.float32)

    def among(encode: Callable[[Sequence[str]], Singles]) -> Scorer:
        def read(texts: Sequence[str]) -> tuple[Singles, list[Floats]]:
            return encode(texts), [np.zeros((0, 1)) for _ in texts]

        components: dict[str, Component] = {
            "sentences": EncodedSentences(TextReader(read).vectors),
            "words": AlignedWords(space),
        }
        weights = {"sentences": 1.0, "words": 0.15}
        summed = SummedWords(space, 0.8)
        return Scorer(components, weights, space, summed=summed).among(pairs)

    bad, good = among(noise), among(BagEncoder(space).encode)
    assert bad.weights["words"] > 1.5 * good.weights["words"]
    assert bad.weights["sums"] == pytest.approx(2 * bad.weights["words"])
    bad.similarities(pairs)
    assert sorted(encoded) == sorted({*encoded})
    for found in bad.explanations(pairs[:3]):
        sums(found)


def test_few_pairs_do_not_weigh_an_encoder() -> None:
    """With fewer than 50, and where a component does not vary, weights stay."""
    weights = {"sentences": 1.0, "words": 0.15, "others": 2.0}
    rising = np.linspace(0.0, 1.0, 60)

    def of(encoder: Floats, text: Floats) -> dict[str, Floats]:
        return {"sentences": encoder, "words": text, "sums": text}

    assert weights_among(weights, of(rising[:49], rising[48::-1])) == weights
    assert weights_among(weights, of(0 * rising, rising)) == weights
    found = weights_among(weights, of(rising / 10, rising[::-1]))
    assert found["others"] == 2.0
    assert found["sentences"] + found["words"] + found["sums"] == pytest.approx(1.15)
    assert found["words"] / found["sums"] == pytest.approx(0.5)
    # 9 : 1, in deviations; that of sums plus half the alignment is 1.5 times that of each.
    assert found["sums"] / found["sentences"] == pytest.approx(0.9 / 1.5)
    same = weights_among(weights, of(rising / 10, rising))
    assert same["words"] == same["sums"] == pytest.approx(0.0)


def test_what_is_no_pair_of_texts_is_refused(scorer: Scorer) -> None:
    """A string is no list of pairs, and its letters are no texts."""
    for wrong in ("ab cd", [(A,)], [(A, B, A)], [(A, None)], [A]):
        with pytest.raises(InputError, match="expected two texts"):
            scorer.similarities(wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="pair 1"):
        scorer.similarities([(A, B), (A, 5)])  # type: ignore[list-item]
    with pytest.raises(InputError, match="expected two texts"):
        scorer.explain(A, 3)  # type: ignore[arg-type]


# --- Explanations ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["words", "encoder"])
def test_everything_sums_to_the_score(scorer: Scorer, of_encoder: Scorer, kind: str) -> None:
    """Parts, rows and listed evidence; and contributions of words where vectors are their sums."""
    each = scorer if kind == "words" else of_encoder
    for found, score in zip(
        each.explanations(PAIRS), each.similarities(PAIRS).tolist(), strict=True
    ):
        assert found.score == score
        sums(found)
        words = (*found.words1, *found.words2)
        assert (WORDS in found.parts) is (kind == "words")
        if kind == "encoder":
            assert all(word.contribution is None for word in words)
        elif EQUAL not in found.parts:
            assert sum(word.contribution or 0 for word in words) == pytest.approx(score, abs=1e-6)


@settings(max_examples=40)
@given(one=TEXT, two=TEXT)
def test_whatever_is_asked(scorer: Scorer, one: str, two: str) -> None:
    """Sums hold, no stop word is evidence, and the turned pair has the mirrored explanation."""
    found, turned = scorer.explanations([(one, two), (two, one)])
    sums(found)
    said = {word.lower() for match in found.word_matches for word in (match.word1, match.word2)}
    assert not said & {"the", "a", "of"}
    assert found.score == turned.score
    assert [word.text for word in found.words1] == [word.text for word in turned.words2]
    mirrored = {(m.word2, m.word1): pytest.approx(m.contribution, abs=1e-9)
                for m in turned.word_matches}  # fmt: skip
    assert {(m.word1, m.word2): m.contribution for m in found.word_matches} == mirrored
    assert found.unmatched == turned.unmatched[::-1]
    assert found.knowledge is turned.knowledge
    for name, part in found.parts.items():
        assert turned.parts[name].contribution == pytest.approx(part.contribution, abs=1e-9)


def test_what_turns_the_meaning_is_a_caution(scorer: Scorer) -> None:
    """Numbers that differ and a negation are said; they take nothing."""
    found = scorer.explain(*PAIRS[-1])
    assert "didn't" in [word.text for word in found.words2]
    assert "number: 3 / 4" in found.summary()
    assert "negation: – / didn't" in found.summary()  # noqa: RUF001
    assert not scorer.explain("No ship left.", "The ship never left.").cautions, "both are negated"
    (caution,) = scorer.explain("The ship met the sailor.", "The sailor met the ship.").cautions
    assert caution.startswith("order: ")


def test_names_that_differ_are_a_caution(space: WordSpace, contexts: Contexts) -> None:
    """A capital makes no name in German."""
    far = scorer_of(space, contexts).explain("They met Bath there.", "They met Rome there.")
    assert far.cautions == ("name: Bath / Rome",)
    german = replace(space, idf=replace(space.idf, stemmer="german"))
    texts = "Der Hund bellt.", "Die Katze schnurrt."
    assert not scorer_of(german, contexts).explain(*texts).cautions


@pytest.mark.parametrize(
    ("one", "two", "knowledge"),
    [
        ("!!!", "???", Knowledge.NONE),
        ("The xqzzy blorped.", "The wuffle grommed.", Knowledge.NONE),
        ("the of and", "the to in", Knowledge.NONE),
        ("Xqzzy!", "The xqzzyan harbour", Knowledge.SPELLING),
        (A, B, Knowledge.BOTH),
    ],
)
def test_nothing_is_claimed_where_nothing_is_known(
    scorer: Scorer, one: str, two: str, knowledge: Knowledge
) -> None:
    """The text says so, and no words are called aligned."""
    found = scorer.explain(one, two)
    assert found.knowledge is knowledge
    if knowledge is Knowledge.NONE:
        assert "says nothing" in found.summary()
        assert not found.word_matches
    assert scorer.explain("!!!", "!!!").parts[EQUAL].contribution == 1.0


# --- Components of others ----------------------------------------------------------------------


class Lengths:
    """The ratio of the lengths of two texts: a component that a stranger may write.

    Its evidence is a share of it."""

    def __init__(self, explained: float = 1.0) -> None:
        self.explained = explained

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        return np.array([min(len(a), len(b)) / max(1, len(a), len(b)) for a, b in pairs])

    def evidence(self, pairs: Sequence[TextPair]) -> Iterator[tuple[Part, ...]]:
        for similarity in self.similarities(pairs).tolist():
            yield (Part(name="lengths", contribution=self.explained * similarity),)


class OneWay(Lengths):
    """The share of the first text's words that the second has: it depends on the order."""

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        words = [(set(a.split()), set(b.split())) for a, b in pairs]
        return np.array([len(a & b) / max(1, len(a)) for a, b in words])


class Broken(Lengths):
    """It gives no numbers."""

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        return np.full(len(pairs), np.nan)


def with_component(scorer: Scorer, component: Component) -> Scorer:
    components = {**scorer.components, "lengths": component}
    weights = {"sentences": 1.0, "words": 0.5, "lengths": 0.5}
    return Scorer(components, weights, scorer._space)


def test_a_component_of_others_is_named_and_counts(scorer: Scorer) -> None:
    """It has its own part and row, everything still sums to the score, and nothing is `equal`."""
    added = with_component(scorer, Lengths())
    expected = 0.75 * scorer.similarity(A, B) + 0.25 * len(B) / len(A)
    assert added.similarity(A, B) == pytest.approx(expected)
    found = added.explain(A, B)
    sums(found)
    assert found.parts["lengths"].contribution == pytest.approx(0.25 * len(B) / len(A))
    assert EQUAL not in found.parts
    assert [row.label for row in found.rows if row.part == "lengths"] == ["lengths"]
    assert "0.25 lengths" in added.name


def test_a_component_that_depends_on_the_order_does_not_make_the_score_do_so(
    scorer: Scorer,
) -> None:
    """The scorer gives both orders of a pair to its components as the same pair."""
    added, pairs = with_component(scorer, OneWay()), [(A, f"{A} {B}"), (f"{A} {B}", A)]
    there, back = OneWay().similarities(pairs).tolist()
    assert there != back, "premise"
    assert len({*added.similarities(pairs).tolist()}) == 1


def test_what_is_not_explained_is_an_error(scorer: Scorer) -> None:
    """It is no part of its own: an explanation must not claim what it does not know."""
    with pytest.raises(RuntimeError, match="is not explained"):
        with_component(scorer, Lengths(0.5)).explain(A, B)
    with pytest.raises(InputError, match="component lengths"):
        with_component(scorer, Broken()).similarities([(A, B)])

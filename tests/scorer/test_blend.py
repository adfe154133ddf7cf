"""The blend: as set, else chosen; never significantly worse than the best, near to the default."""

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.encoders.folder import ModelKind
from firth.encoders.words import WordSpace
from firth.evaluation.compare import Answers, answer, compare_answers
from firth.evaluation.questions import Question, QuestionType
from firth.run.errors import ConfigError, MissingStageError
from firth.run.run import Run
from firth.scorer import blend as module
from firth.scorer.blend import (
    FEWEST_DOCUMENTS,
    FEWEST_QUESTIONS,
    SPELLING_WEIGHTS,
    WORD_WEIGHTS,
    Blend,
    default_blend,
)
from firth.scorer.contexts import Contexts
from firth.text.arrays import Floats

from .conftest import scorer_of, sentences

BLENDS = [Blend(1.0, words, spelling) for spelling in SPELLING_WEIGHTS for words in WORD_WEIGHTS]
KINDS = [None, *ModelKind]


def asked(documents: int, count: int = FEWEST_QUESTIONS) -> list[Question]:
    return [Question(QuestionType.NEXT, f"d{n % documents}", "a", "b", ("c",))
            for n in range(count)]  # fmt: skip


def measured(seed: int, count: int, gains: Mapping[Blend, float]) -> dict[Blend, Floats]:
    """Accuracies with a common part; some blends gain so much."""
    rng = np.random.default_rng(seed)
    common = rng.random(count)
    return {blend: common + 0.05 * rng.random(count) + gains.get(blend, 0.0) for blend in BLENDS}


def test_the_defaults_are_candidates() -> None:
    """Else nothing could be as good as they are. A pretrained encoder needs less of the words,
    unless it is a language model or reads words in their sentences."""
    for kind in KINDS:
        for states in (True, False):
            assert default_blend(kind, states) in BLENDS
    assert default_blend(None) == default_blend(ModelKind.CAUSAL_LM) == Blend(1.0, 0.5, 0.8)
    assert default_blend(ModelKind.ONNX).word_weight == 0.15
    assert default_blend(ModelKind.ONNX, has_states=True).word_weight == 0.5
    assert not default_blend(None, alone=True).learned


@settings(max_examples=15)
@given(st.integers(0, 2**32), st.integers(30, 60), st.sampled_from(BLENDS), st.floats(0, 0.2))
def test_the_chosen_is_not_worse_than_the_best(
    seed: int, documents: int, winner: Blend, lead: float
) -> None:
    """Of those that are not, none is nearer to the default."""
    questions = asked(documents)
    found = measured(seed, len(questions), {winner: lead})
    chosen = module._choose(questions, found, Blend(), 1)
    best = str(max(found, key=lambda blend: float(found[blend].mean())))
    answers = {str(blend): Answers(questions, one) for blend, one in found.items()}
    behind = compare_answers(answers, best, 1).differences
    equal = [blend for blend in BLENDS if not behind[str(blend)][QuestionType.NEXT].sign]
    assert chosen in equal
    assert module._steps(chosen, Blend()) == min(module._steps(one, Blend()) for one in equal)


@pytest.mark.parametrize(
    ("documents", "count"),
    [
        (1, 0),
        (1, FEWEST_QUESTIONS),
        (FEWEST_DOCUMENTS - 1, FEWEST_QUESTIONS),
        (60, FEWEST_QUESTIONS - 1),
    ],
)
def test_with_few_questions_the_default_is_taken(documents: int, count: int) -> None:
    """Without questions, with those of few documents, and with few."""
    questions = asked(documents, count)
    found = measured(3, len(questions), {BLENDS[0]: 0.5})
    assert module._choose(questions, found, Blend(), 1) == Blend()


def test_learned_vectors_must_show_where_texts_stand_alone(
    space: WordSpace, contexts: Contexts
) -> None:
    """They are left out by default and among equals, but not where they are better. What is
    measured for a candidate is the accuracy of the scorer that has it."""
    default = default_blend(None, alone=True)
    texts = [text for _, text in sentences(40)]
    kind = QuestionType.NEXT
    questions = [Question(kind, "d", texts[n], texts[n + 4], tuple(texts[n + 5 : n + 9]))
                 for n in range(20)]  # fmt: skip
    found = module._measure(questions, space, True, None, None)
    assert [*found][: len(BLENDS)] == BLENDS
    assert len(found) == len(BLENDS) + len(WORD_WEIGHTS)
    assert {blend.learned for blend in [*found][len(BLENDS) :]} == {False}
    assert default in found
    for blend in (BLENDS[0], BLENDS[-1], default):
        scorer = scorer_of(space, contexts, blend, penalty=0.0)
        np.testing.assert_array_equal(found[blend], answer(scorer, questions).accuracies)
    many = asked(60)
    equal = {blend: np.ones(len(many)) for blend in found}
    assert module._choose(many, equal, default, 1) == default
    better = equal | {blend: 0.5 * equal[blend] for blend in found if blend != Blend()}
    assert module._choose(many, better, default, 1) == Blend()


def test_settings_override_the_choice(empty_run: Run) -> None:
    """What they give wins; the stage is read for the rest, and only then."""
    with pytest.raises(MissingStageError, match="firth build"):
        Blend.of(empty_run)
    weights = {"sentence_weight": 2.0, "word_weight": 1.0, "spelling_weight": 0.1}
    assert Blend.of(empty_run.changed({"scorer": weights})) == Blend(2.0, 1.0, 0.1)
    nothing = {"sentence_weight": 0.0, "word_weight": 0.0, "spelling_weight": 1.0}
    with pytest.raises(ConfigError, match="both 0"):
        Blend.of(empty_run.changed({"scorer": nothing}))

"""The weights of a score, and the normalization of its encoder, as label-free questions chose them.

A sentence's true next one should score highest among its candidates. Of all blends that are not
significantly worse than the best one on held-out documents, the one nearest to the default is taken
(as in the one-standard-error rule: Breiman et al. 1984). A few hundred questions change little.

Where few sentences have a next one (`stand_alone`), words are learned from halves of a sentence.
The default then leaves learned vectors out: the scorer compares tf-idf of n-grams of stems. Learned
vectors count there only where the questions show that they are better.

The dimensions of a pretrained encoder are centered or standardized only where the rule of decision
accepts it (`firth.evaluation.compare.decide`).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from firth.corpus.corpus import Corpus, stand_alone
from firth.encoders.encoder import Encoder, WordStates, normalize
from firth.encoders.folder import ModelKind
from firth.encoders.pretrained import PRETRAINED, Normalization, RunEncoder, open_run_encoder
from firth.encoders.words import WORDS, WordSpace
from firth.evaluation.compare import (
    Answers,
    accuracies_of,
    answer_by_vectors,
    choose,
    compare_answers,
    pairs_of,
    texts_of,
)
from firth.evaluation.questions import QUESTIONS, Question, QuestionType, open_questions
from firth.run.console import note, plural
from firth.run.errors import ConfigError
from firth.run.files import read_json, write_json
from firth.run.run import Run
from firth.run.stage import Outcome, Stage
from firth.scorer.components import AlignedWords, WordProducts
from firth.text.arrays import Floats
from firth.text.pairs import CosineScorer, Encode

BLEND = Stage("blend", version=1)
SPELLING_WEIGHTS = (0.5, 0.6, 0.8, 1.0, 1.4)
WORD_WEIGHTS = (0.0, 0.15, 0.3, 0.5, 1.0)
"""Candidates. A spelling weight below 0.5 is none: the questions ask for what word vectors learn,
and would trust them more than human ratings do."""
SUMMED_QUESTIONS, ENCODED_QUESTIONS = 2_000, 500
"""Questions that choose, at most; a pretrained encoder takes a thousand times as long for each."""
FEWEST_QUESTIONS, FEWEST_DOCUMENTS = 500, 30
"""With fewer questions, or fewer documents, the default is taken."""
_FILE = "blend.json"


@dataclass(frozen=True)
class Blend:
    """The weights of a score.

    Attributes:
        sentence_weight: Weight of the cosine of sentence vectors.
        word_weight: Weight of the alignment of words.
        spelling_weight: Length of spelling directions in sums of words.
        learned: Whether learned word vectors count.
    """

    sentence_weight: float = 1.0
    word_weight: float = 0.5
    spelling_weight: float = 0.8
    learned: bool = True

    def __str__(self) -> str:
        """Return normalized weights, such as `sentences 0.67, words 0.33, spelling 0.8`."""
        whole = self.sentence_weight + self.word_weight
        learned = f"spelling {self.spelling_weight:g}" if self.learned else "no learned vectors"
        return (
            f"sentences {self.sentence_weight / whole:.2f}, "
            f"words {self.word_weight / whole:.2f}, {learned}"
        )

    @classmethod
    def of(cls, run: Run) -> "Blend":
        """Return the blend of a run: its settings, and for the rest what its stage chose.

        Raises:
            MissingStageError: The settings leave something open, and the stage is not built.
            ConfigError: Both weights are 0.
        """
        settings = run.settings.scorer
        given: dict[str, Any] = {
            "sentence_weight": settings.sentence_weight,
            "word_weight": settings.word_weight,
            "spelling_weight": settings.spelling_weight,
            "learned": None if settings.spelling_weight is None else True,
        }
        given = {name: value for name, value in given.items() if value is not None}
        whole = len(given) == len(fields(cls))
        blend = cls(**given) if whole else replace(cls(**_stored(run)["chosen"]), **given)
        if not blend.sentence_weight + blend.word_weight:
            raise ConfigError(
                str(run.path),
                ["scorer.sentence_weight and scorer.word_weight are both 0; one must be positive"],
            )
        return blend

    def known(self, space: WordSpace) -> WordSpace:
        """Return the part of what is known of words that counts."""
        return space if self.learned else space.unlearned()


def open_blended_encoder(run: Run) -> Encoder:
    """Open the encoder of a run with the normalization that is set, or that its blend chose.

    Raises:
        MissingStageError: A stage is not built.
        InputError: The pretrained encoder is gone, has changed, or cannot be loaded.
    """
    settings = run.settings.encoder
    if settings.model is None:
        return open_run_encoder(run)
    return open_run_encoder(run, settings.normalize or _stored(run)["normalize"])


def default_blend(kind: ModelKind | None, has_states: bool = False, alone: bool = False) -> Blend:
    """Return the default weights of an encoder.

    One that was trained for sentences needs less of the alignment, unless it has states of words.
    The defaults were chosen on STSb dev and STS12, over corpora of 0.1M to 10M words.

    Args:
        kind: Kind of the pretrained encoder; None for sums of the run's word vectors.
        has_states: Whether the encoder reads words in their sentences.
        alone: Whether few sentences of the corpus have a neighbor.
    """
    less = kind not in (None, ModelKind.CAUSAL_LM) and not has_states
    return Blend(word_weight=0.15 if less else 0.5, learned=not alone)


def build_blend(run: Run) -> Outcome:
    """Choose the blend of a run, or reuse the choice.

    Raises:
        MissingStageError: Its words, questions or pretrained encoder are not built.
        InputError: The pretrained encoder is gone, has changed, or cannot be loaded.
    """
    reads, settings = [WORDS, QUESTIONS], ["encoder", "seed"]
    if run.settings.encoder.model is not None:
        reads.append(PRETRAINED)
    outcome = run.build(
        BLEND, _fill, reads=reads, settings=settings, inputs={"corpus": Corpus.open(run).digest}
    )
    if not outcome.reused:
        note(f"scorer: {outcome.manifest.summary['message']}")
    return outcome


def _stored(run: Run) -> dict[str, Any]:
    stored: dict[str, Any] = read_json(run.folder(BLEND) / _FILE)
    return stored


def _fill(run: Run, workspace: Path) -> Mapping[str, Any]:
    space, alone = WordSpace.load(run.folder(WORDS)), stand_alone(Corpus.open(run))
    questions, seed = open_questions(run), run.settings.seed
    default, decisions = default_blend(None, alone=alone), dict[str, str]()
    states: WordStates | None = None
    cosines: CosineScorer | None = None
    normalized: Normalization = "none"
    if run.settings.encoder.model is not None:
        opened = RunEncoder.open(run)
        questions, states = _first(questions, ENCODED_QUESTIONS), opened.word_states
        normalized, encode, decisions = _normalization(opened, questions, seed)
        cosines = CosineScorer(opened.encoder.name, encode)
        kind = ModelKind(run.manifest(PRETRAINED).summary["kind"])
        default = default_blend(kind, states is not None, alone)
    asked = [one for one in questions if one.type is QuestionType.NEXT][:SUMMED_QUESTIONS]
    measured = _measure(asked, space, alone, cosines, states)
    chosen = _choose(asked, measured, default, seed)
    stored = {"chosen": asdict(chosen), "normalize": normalized, "decisions": decisions}
    write_json(workspace / _FILE, stored)
    if chosen != default:
        message = f"weights chosen by {plural(len(asked), 'label-free question')} ({chosen})"
    elif _is_enough(asked):
        message = f"default weights kept ({chosen}); no others are significantly better"
    else:
        message = f"default weights kept ({chosen}); too little held-out text to choose others"
    if decisions:
        message += "; " + "; ".join(f"{name} {reason}" for name, reason in decisions.items())
    return {
        "questions": len(asked),
        "changed": chosen != default,
        "normalize": normalized,
        "message": message,
    }


def _first(questions: Sequence[Question], most: int) -> list[Question]:
    """Return at most so many questions of each type."""
    left = Counter(dict.fromkeys(QuestionType, most))
    kept = []
    for question in questions:
        if left[question.type]:
            left[question.type] -= 1
            kept.append(question)
    return kept


def _normalization(
    opened: RunEncoder, questions: Sequence[Question], seed: int
) -> tuple[Normalization, Encode, dict[str, str]]:
    """Return the best accepted normalization, vectors of the questions, and what was decided."""
    texts = texts_of(questions)
    raw, place = opened.encoder.raw(texts), {text: n for n, text in enumerate(texts)}
    vectors = {
        kind: normalize(raw, normalized.mean, normalized.deviation)
        for kind, normalized in ((kind, opened.normalized(kind)) for kind in opened.choices)
    }
    best, reasons = opened.choices[0], {}
    if len(vectors) > 1 and questions:
        answers = {str(kind): answer_by_vectors(questions, each) for kind, each in vectors.items()}
        name, decisions = choose(answers, best, seed=seed)
        best = next(kind for kind in vectors if kind == name)
        reasons = {candidate: decision.reason for candidate, decision in decisions.items()}
    chosen = vectors[best]
    return best, lambda some: chosen[[place[text] for text in some]], reasons


def _measure(
    questions: Sequence[Question],
    space: WordSpace,
    alone: bool,
    encoded: CosineScorer | None,
    states: WordStates | None,
) -> dict[Blend, Floats]:
    """Return the accuracy of each question under each candidate.

    With `alone`, some candidates leave learned vectors out. Without the cosines of a pretrained
    encoder, sentence vectors are sums of words.
    """
    pairs, learned = pairs_of(questions), (True, False) if alone else (True,)
    aligned = {
        each: AlignedWords(space if each else space.unlearned(), states).similarities(pairs)
        for each in learned
    }
    spelling: dict[tuple[float, bool], Floats]
    if encoded is None:
        products = WordProducts.of(space, pairs)
        spelling = {(weight, True): products.cosines(weight) for weight in SPELLING_WEIGHTS}
        if alone:
            spelling[Blend.spelling_weight, False] = products.cosines(None)
    else:  # the vectors of a pretrained model have no spelling directions
        spelling = dict.fromkeys(
            ((Blend.spelling_weight, each) for each in learned), encoded.similarities(pairs)
        )
    return {
        Blend(1.0, weight, length, each): accuracies_of(questions, cosines + weight * aligned[each])
        for (length, each), cosines in spelling.items()
        for weight in WORD_WEIGHTS
    }


def _choose(
    questions: Sequence[Question], measured: Mapping[Blend, Floats], default: Blend, seed: int
) -> Blend:
    """Return the blend nearest to the default that is not significantly worse than the best."""
    if not _is_enough(questions):
        return default
    answers = {str(n): Answers(questions, one) for n, one in enumerate(measured.values())}
    best = max(answers, key=lambda name: float(answers[name].accuracies.mean()))
    compared = compare_answers(answers, best, seed)
    behind = [compared.differences[name][QuestionType.NEXT].sign < 0 for name in answers]
    equal = [blend for blend, is_worse in zip(measured, behind, strict=True) if not is_worse]
    return min(equal, key=lambda blend: _steps(blend, default))


def _is_enough(questions: Sequence[Question]) -> bool:
    documents = {question.document for question in questions}
    return len(questions) >= FEWEST_QUESTIONS and len(documents) >= FEWEST_DOCUMENTS


def _steps(blend: Blend, default: Blend) -> int:
    """Return how many steps of the grid a blend is away from the default."""

    def spelling(one: Blend) -> int:
        # Without learned vectors, the weight of spelling has no end.
        return SPELLING_WEIGHTS.index(one.spelling_weight) if one.learned else len(SPELLING_WEIGHTS)

    words = WORD_WEIGHTS.index(blend.word_weight) - WORD_WEIGHTS.index(default.word_weight)
    return abs(spelling(blend) - spelling(default)) + abs(words)

"""The weights of a score, and the normalization of its encoder.

The weights are defaults that were chosen on human ratings. Label-free questions do not choose them:
on seven corpora of 0.1 to 0.9 million words they never found better ones than the default.

Where few sentences have a next one (`stand_alone`), words are learned from halves of a sentence.
The scorer then leaves learned vectors out, and compares tf-idf of n-grams of stems.

The dimensions of a pretrained encoder are centered or standardized only where the rule of decision
accepts it (`firth.evaluation.compare.decide`).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from firth.corpus.corpus import Corpus, stand_alone
from firth.encoders.encoder import Normalization, UnitEncoder, normalize
from firth.encoders.kinds import EncoderKind
from firth.encoders.pretrained import PRETRAINED, RunEncoder, open_run_encoder
from firth.encoders.words import WordSpace
from firth.evaluation.compare import answer_by_vectors, choose, texts_of
from firth.evaluation.questions import QUESTIONS, Question, first_questions, open_questions
from firth.run.console import note
from firth.run.errors import ConfigError
from firth.run.files import read_json, write_json
from firth.run.run import Run
from firth.run.settings import pretrained_name
from firth.run.stage import Outcome, Stage
from firth.text.types import Floats

BLEND = Stage("blend", version=6)
ENCODED_QUESTIONS = 500
"""Questions that decide about an encoder, at most; it takes a thousand times as long for each."""
_FEW_SENTENCES, _MOST_SPELLING = 20_000, 4.0
"""With fewer sentences less is learned of words, and spelling counts more: measured on development
splits of Afrikaans, Amharic, English, French, German and Hausa with 0.05M to 0.2M words."""
_FILE = "blend.json"
SENTENCES, ALIGNED, SUMMED = "sentences", "words", "sums"
"""Names of the built-in components: the cosine of sentence vectors, the alignment of words, and the
cosine of sums of words, which counts for a set of pairs over an encoder (`weights_among`)."""
_WORD_WEIGHT = 0.5
_DISTRUST, _MOST_WORDS, _ENOUGH = 1.5, 0.9, 50
"""The share of the text in a set of pairs, by 1 less the rank correlation of text and encoder; the
largest share; and the pairs that tell it, at least. Chosen on development splits of nine languages
over multilingual-e5-small."""


@dataclass(frozen=True)
class Blend:
    """The weights of a score.

    Attributes:
        weights: Name of a component → its weight. Their sum is positive.
        spelling_weight: Length of spelling directions in sums of words.
        learned: Whether learned word vectors count.
    """

    weights: Mapping[str, float] = field(
        default_factory=lambda: {SENTENCES: 1.0, ALIGNED: _WORD_WEIGHT}
    )
    spelling_weight: float = 0.8
    learned: bool = True

    def __str__(self) -> str:
        """Return normalized weights, such as `sentences 0.67, words 0.33, spelling 0.8`."""
        whole = sum(self.weights.values())
        shares = [f"{name} {weight / whole:.2f}" for name, weight in self.weights.items()]
        learned = f"spelling {self.spelling_weight:g}" if self.learned else "no learned vectors"
        return ", ".join([*shares, learned])

    @classmethod
    def of(cls, run: Run) -> "Blend":
        """Return the blend of a run: its settings, and for the rest what its stage chose."""
        settings = run.settings.scorer
        is_whole = {SENTENCES, ALIGNED} <= settings.weights.keys()
        if is_whole and settings.spelling_weight is not None:
            blend = cls()
        else:
            blend = cls(**_stored(run)["chosen"])
        blend = replace(blend, weights={**blend.weights, **settings.weights})
        if settings.spelling_weight is not None:
            blend = replace(blend, spelling_weight=settings.spelling_weight, learned=True)
        if not sum(blend.weights.values()):
            problem = "scorer.weights are all 0; one must be positive"
            raise ConfigError(str(run.path), [problem])
        return blend

    def known(self, space: WordSpace) -> WordSpace:
        """Return the part of what is known of words that counts."""
        return space if self.learned else space.unlearned()


def open_blended_encoder(run: Run) -> UnitEncoder:
    """Open the encoder of a run with the normalization that is set, or that its blend chose."""
    settings = run.settings.encoder
    if pretrained_name(settings.model) is None:
        return open_run_encoder(run)
    return open_run_encoder(run, settings.normalize or _stored(run)["normalize"])


def default_blend(
    encoder: EncoderKind | None,
    has_states: bool = False,
    alone: bool = False,
    sentences: int = _FEW_SENTENCES,
) -> Blend:
    """Return the default weights of a kind of encoder, or of sums of word vectors where it is None.

    One that was trained for sentences needs less of the alignment, unless it has states of words.
    The defaults were chosen on STSb dev and STS12, over corpora of 0.1M to 10M words.
    """
    word_weight = _WORD_WEIGHT if encoder is None or has_states else encoder.word_weight
    few = math.sqrt(max(1.0, _FEW_SENTENCES / max(1, sentences)))
    spelling_weight = round(min(_MOST_SPELLING, few * Blend.spelling_weight), 1)
    weights = {SENTENCES: 1.0, ALIGNED: word_weight}
    return Blend(weights, spelling_weight, learned=not alone)


def weights_among(weights: Mapping[str, float], found: Mapping[str, Floats]) -> Mapping[str, float]:
    """Return the weights of an encoder and of what the text knows of words, for a set of pairs.

    An encoder that reads a language ranks pairs roughly as the text does, by sums of words and
    their alignment. Where it does not, the text counts more. Both are measured in deviations over
    the set, because the cosines of some encoders hardly differ. `found` has the similarities of
    each component, (n,), those of `SUMMED` included.
    """
    from scipy.stats import spearmanr

    one, other = found[SENTENCES], found[SUMMED] + _WORD_WEIGHT * found[ALIGNED]
    if len(one) < _ENOUGH or not (one.std() and other.std()):
        return weights
    share = min(_MOST_WORDS, _DISTRUST * (1 - float(spearmanr(one, other).statistic)))
    text = share / float(other.std())
    new = {SENTENCES: (1 - share) / float(one.std()), SUMMED: text, ALIGNED: _WORD_WEIGHT * text}
    factor = (weights[SENTENCES] + weights[ALIGNED]) / sum(new.values())
    return {**weights, **{name: factor * weight for name, weight in new.items()}}


def build_blend(run: Run) -> Outcome:
    """Decide the blend of a run, or reuse the decision."""
    reads = [QUESTIONS, PRETRAINED] if pretrained_name(run.settings.encoder.model) else []
    settings = ["encoder", "seed"]
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
    corpus, decisions = Corpus.open(run), dict[str, str]()
    kind, has_states = None, False
    normalized: Normalization = "none"
    if pretrained_name(run.settings.encoder.model) is not None:
        opened = RunEncoder.open(run)
        questions = first_questions(open_questions(run), ENCODED_QUESTIONS)
        normalized, decisions = _normalization(opened, questions, run.settings.seed)
        kind, has_states = opened.kind, opened.word_states is not None
    chosen = default_blend(kind, has_states, stand_alone(corpus), len(corpus))
    write_json(workspace / _FILE, {"chosen": asdict(chosen), "normalize": normalized})
    reasons = [f"{name} {reason}" for name, reason in decisions.items()]
    return {"normalize": normalized, "message": "; ".join([f"weights: {chosen}", *reasons])}


def _normalization(
    opened: RunEncoder, questions: Sequence[Question], seed: int
) -> tuple[Normalization, dict[str, str]]:
    """Return the best accepted normalization, and what was decided about the others."""
    first, *others = opened.choices
    if not (others and questions):
        return first, {}
    raw = opened.encoder.raw(texts_of(questions))
    answers = {}
    for kind in opened.choices:
        normalized = opened.normalized(kind)
        vectors = normalize(raw, normalized.mean, normalized.deviation)
        answers[str(kind)] = answer_by_vectors(questions, vectors)
    name, decisions = choose(answers, first, seed=seed)
    best = next(kind for kind in opened.choices if kind == name)
    return best, {candidate: decision.reason for candidate, decision in decisions.items()}

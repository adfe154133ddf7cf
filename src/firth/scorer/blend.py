"""The weights of a score.

The weights are defaults that were chosen on human ratings. Label-free questions do not choose them:
on seven corpora of 0.1 to 0.9 million words they never found better ones than the default.

Where few sentences have a next one (`few_neighbors`), words are learned from halves of a sentence.
The scorer then leaves learned vectors out, and compares tf-idf of n-grams of stems.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from firth.corpus.corpus import Corpus, few_neighbors
from firth.encoders.words import WordSpace
from firth.run.console import note
from firth.run.errors import ConfigError
from firth.run.files import read_json, write_json
from firth.run.run import Run
from firth.run.stage import Outcome, Stage
from firth.text.types import Floats

BLEND = Stage("blend", version=7)
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


def default_blend(alone: bool = False, sentences: int = _FEW_SENTENCES) -> Blend:
    """Return the default weights for a corpus, whose sentences may stand alone.

    They were chosen on STSb dev and STS12, over corpora of 0.1M to 10M words.
    """
    few = math.sqrt(max(1.0, _FEW_SENTENCES / max(1, sentences)))
    spelling_weight = round(min(_MOST_SPELLING, few * Blend.spelling_weight), 1)
    return Blend(spelling_weight=spelling_weight, learned=not alone)


def weights_among(
    weights: Mapping[str, float], similarities: Mapping[str, Floats]
) -> Mapping[str, float]:
    """Return the weights of an encoder and of what the text knows of words, for a set of pairs.

    An encoder that reads a language ranks pairs roughly as the text does, by sums of words and
    their alignment. Where it does not, the text counts more. Both are measured in deviations over
    the set, because the cosines of some encoders hardly differ. The similarities are those of each
    component, (n,), `SUMMED` included.
    """
    from scipy.stats import spearmanr

    cosines = similarities[SENTENCES]
    lexical = similarities[SUMMED] + _WORD_WEIGHT * similarities[ALIGNED]
    if len(cosines) < _ENOUGH or not (cosines.std() and lexical.std()):
        return weights
    share = min(_MOST_WORDS, _DISTRUST * (1 - float(spearmanr(cosines, lexical).statistic)))
    text = share / float(lexical.std())
    new = {
        SENTENCES: (1 - share) / float(cosines.std()),
        SUMMED: text,
        ALIGNED: _WORD_WEIGHT * text,
    }
    factor = (weights[SENTENCES] + weights[ALIGNED]) / sum(new.values())
    return {**weights, **{name: factor * weight for name, weight in new.items()}}


def build_blend(run: Run) -> Outcome:
    """Decide the blend of a run, or reuse the decision."""
    outcome = run.build(BLEND, _fill, inputs={"corpus": Corpus.open(run).digest})
    if not outcome.reused:
        note(f"scorer: {outcome.manifest.summary['message']}")
    return outcome


def _stored(run: Run) -> dict[str, Any]:
    stored: dict[str, Any] = read_json(run.folder(BLEND) / _FILE)
    return stored


def _fill(run: Run, workspace: Path) -> Mapping[str, Any]:
    corpus = Corpus.open(run)
    is_alone = few_neighbors(len(corpus) - corpus.n_documents, len(corpus))
    chosen = default_blend(is_alone, len(corpus))
    write_json(workspace / _FILE, {"chosen": asdict(chosen)})
    return {"message": f"weights: {chosen}"}

"""The scorer: how similar two texts are, exactly, pair by pair, and why.

    score = w_1 · similarity of component 1 + w_2 · similarity of component 2 + …

Each similarity is the sum of its evidence, so that every score can be explained.

The weights are defaults that were chosen on human ratings. Label-free questions do not choose them:
on seven corpora of 0.1 to 0.9 million words they never found better ones. Where few sentences have
a next one, words are learned from halves of a sentence. The scorer then leaves
learned vectors out, and compares tf-idf of n-grams of stems.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.metadata import entry_points
from pathlib import Path

import numpy as np

from firth.encoders.pretrained import open_words
from firth.encoders.words import WORDS, WordSpace
from firth.run.errors import ConfigError, InputError
from firth.run.run import Run
from firth.run.settings import pretrained_name
from firth.scorer.components import (
    AlignedWords,
    Component,
    EncodedSentences,
    SummedWords,
    TextReader,
    WeighsWords,
)
from firth.scorer.contexts import CONTEXTS, Contexts, TopicFits
from firth.scorer.explanation import Explanation
from firth.scorer.matches import WordReader
from firth.scorer.parts import TOPICS, Knowledge, Part, parts_of
from firth.scorer.parts import WORDS as WORDS_PART
from firth.text.types import Floats, TextPair
from firth.text.words import UNKNOWN, checked, language_among

_FEW_SENTENCES, _MOST_SPELLING = 20_000, 4.0
"""With fewer sentences less is learned of words, and spelling counts more: measured on development
splits of Afrikaans, Amharic, English, French, German and Hausa with 0.05M to 0.2M words."""
SENTENCES, ALIGNED, SUMMED = "sentences", "words", "sums"
"""Names of the built-in components: the cosine of sentence vectors, the alignment of words, and the
cosine of sums of words, which counts for a set of pairs over an encoder (`weights_among`)."""
_BUILT_IN = SENTENCES, ALIGNED
_WORD_WEIGHT = 0.5
_DISTRUST, _MOST_WORDS, _ENOUGH = 1.5, 0.9, 50
"""The share of the text in a set of pairs, by 1 less the rank correlation of text and encoder; the
largest share; and the pairs that tell it, at least. Chosen on development splits of nine languages
over multilingual-e5-small."""
COMPONENTS = "firth.components"
"""Entry-point group: name of a component → a function from a run to it."""
_PAIRS = 2_048
"""Pairs whose texts are read together."""
_BEYOND = 1e-6
"""Similarities may be beyond -1 and 1 by so much, a rounding error."""


# --- Weights -----------------------------------------------------------------------------------


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

    @classmethod
    def of(cls, run: Run, space: WordSpace) -> "Blend":
        """Return the blend of a run: its settings, and for the rest what follows from its words.

        Where words were learned from halves of sentences, their vectors are left out.
        """
        weights = {**cls().weights, **run.settings.scorer.weights}
        if not sum(weights.values()):
            problem = "scorer.weights are all 0; one must be positive"
            raise ConfigError(str(run.path), [problem])
        if (spelling_weight := run.settings.scorer.spelling_weight) is not None:
            return cls(weights, spelling_weight)
        learned = not run.manifest(WORDS).summary.get("halves", 1)
        return cls(weights, spelling_weight_of(space.idf.sentences), learned)

    def counted(self, space: WordSpace) -> WordSpace:
        """Return a space in which learned vectors count if those of the blend do."""
        return space if self.learned else space.unlearned()


def spelling_weight_of(sentences: int) -> float:
    """Return the default for a corpus; chosen on STSb dev and STS12, over 0.1M to 10M words."""
    few = math.sqrt(max(1.0, _FEW_SENTENCES / max(1, sentences)))
    return round(min(_MOST_SPELLING, few * Blend.spelling_weight), 1)


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


# --- Scores ------------------------------------------------------------------------------------


class Scorer:
    """Scores pairs of texts by the weighted mean of similarities, and explains each score.

    Scores are symmetric, and do not depend on other pairs, to the last bit. Those of `among` depend
    on the set of pairs that it was given.

    Args:
        components: Name → component.
        weights: Name → weight; a component of weight 0 is left out. Their sum becomes 1.
        space: Which words the corpus has.
        summed: Sums of words, with which `among` weighs an encoder by how far it agrees with the
            text; None leaves weights as they are.

    Example:
        >>> scorer = Scorer.open(Run.open("run"))
        >>> explanation = scorer.explain("The ship left the harbour.", "A boat sailed away.")
        >>> -1 <= explanation.score <= 1
        True
    """

    def __init__(
        self,
        components: Mapping[str, Component],
        weights: Mapping[str, float],
        space: WordSpace,
        *,
        summed: SummedWords | None = None,
    ) -> None:
        total = sum(weights.values())
        self.weights = {name: weight / total for name, weight in weights.items() if weight}
        self.components = components
        self._space = space
        self._summed = summed if {SENTENCES, ALIGNED} <= self.weights.keys() else None
        self._opened_from: tuple[Run, Blend] | None = None

    def __reduce__(self) -> tuple[Callable[[Run, Blend], "Scorer"], tuple[Run, Blend]]:
        """Another process opens the run again; a scorer without a run cannot be sent to one."""
        if self._opened_from is None:
            raise TypeError("a scorer that was not opened from a run cannot be pickled")
        return Scorer.open, self._opened_from

    @classmethod
    def open(cls, run: str | Path | Run, blend: Blend | None = None) -> "Scorer":
        """Open the scorer of a run whose words are built, perhaps with another blend.

        Raises:
            ConfigError: A weight names a component that no installed package brings.
        """
        run = Run.open(run)
        all_words = WordSpace.load(run.folder(WORDS))
        blend = blend or Blend.of(run, all_words)
        space = blend.counted(all_words)
        topics = cache(lambda: TopicFits(Contexts.load(run.folder(CONTEXTS))))
        sentences: Component = SummedWords(space, blend.spelling_weight, topics)
        summed, states, floor = None, None, 0.0
        is_set = {SENTENCES, ALIGNED} & run.settings.scorer.weights.keys()
        if pretrained_name(run.settings.encoder.model) is not None:
            words = open_words(run)
            reader = TextReader(words)
            sentences, states = EncodedSentences(reader.vectors, topics), reader.states
            floor = words.floor
            if words.encoder.read_tokens is None and not is_set:  # Weights that are set stay.
                summed = SummedWords(space, blend.spelling_weight)
        components = {SENTENCES: sentences, ALIGNED: AlignedWords(space, states, floor)}
        for name, open_component in _added(run, blend.weights).items():
            components[name] = open_component(run)
        scorer = cls(components, blend.weights, space, summed=summed)
        scorer._opened_from = (run, blend)
        return scorer

    def among(self, pairs: Sequence[TextPair]) -> "Scorer":
        """Return a scorer for a set of pairs, such as a file: its own frequencies count, too.

        A word that many of the pairs have says little about which of them are similar, however rare
        it is in the corpus (`WordSpace.among`). An encoder without states of words counts by how
        far it agrees with the text (`weights_among`). A single pair scores as without the set.
        """
        distinct = list(dict.fromkeys(checked(pairs)))
        if len(distinct) < 2:
            return self
        space = self._space.among(distinct)
        components = {
            name: component.weighing(space) if isinstance(component, WeighsWords) else component
            for name, component in self.components.items()
        }
        weights: Mapping[str, float] = self.weights
        if self._summed is not None:
            components[SUMMED] = self._summed.weighing(space)
            summing = Scorer(components, {**weights, SUMMED: 1.0}, space)
            weights = weights_among(weights, summing.component_similarities(distinct))
        return Scorer(components, weights, space)

    @property
    def name(self) -> str:
        """The weights of the components, for tables."""
        mean = " + ".join(f"{weight:.2f} {name}" for name, weight in self.weights.items())
        return f"scorer, {mean}"

    def similarity(self, a: str, b: str) -> float:
        """Return the score of two texts, in [-1, 1]; 1 for equal texts."""
        return float(self.similarities([(a, b)])[0])

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        """Return the scores of n pairs, (n,), in [-1, 1]; 1 for equal texts."""
        of_components = self.component_similarities(pairs)
        scores = np.zeros(len(pairs))
        for name, weight in self.weights.items():
            scores += weight * of_components[name]
        equal = np.array([a == b for a, b in pairs], dtype=bool)
        scored: Floats = np.where(equal, 1.0, np.clip(scores, -1.0, 1.0))
        return scored

    def component_similarities(self, pairs: Sequence[TextPair]) -> dict[str, Floats]:
        """Return name → similarities, (n,), of each component that has a weight.

        Raises:
            InputError: A component gives another number of similarities, or some that are no
                numbers or outside [-1, 1].
        """
        # Sorted, so that swapping the texts of a pair changes no bit.
        ordered = [pair if pair[0] <= pair[1] else (pair[1], pair[0]) for pair in checked(pairs)]
        blocks = [ordered[n : n + _PAIRS] for n in range(0, max(1, len(ordered)), _PAIRS)]
        by_block = [
            {name: self.components[name].similarities(block) for name in self.weights}
            for block in blocks
        ]
        similarities = {
            name: np.concatenate([block[name] for block in by_block]) for name in self.weights
        }
        for name, values in similarities.items():
            largest = np.abs(values).max(initial=0.0)
            if values.shape != (len(pairs),) or not largest <= 1 + _BEYOND:  # NaN is not, either.
                raise InputError(
                    f"the component {name} gave similarities of shape {values.shape}, up to "
                    f"{largest:g}; expected {len(pairs)}, from -1 to 1"
                )
        return similarities

    def explain(self, a: str, b: str) -> Explanation:
        """Return the score of two texts and where it comes from."""
        return next(self.explanations([(a, b)]))

    def explanations(self, pairs: Sequence[TextPair]) -> Iterator[Explanation]:
        """Yield the score of each pair and where it comes from; many pairs at once are faster.

        Raises:
            RuntimeError: The evidence of a component does not sum to its similarity.
        """
        scores = self.similarities(pairs).tolist()
        # Words are aligned for readers, too, where the alignment does not count.
        names = [*self.weights, *([ALIGNED] if self.weights.get(ALIGNED) is None else [])]
        evidence = [self.components[name].evidence(pairs) for name in names]
        for pair, score, *of_components in zip(pairs, scores, *evidence, strict=True):
            by_component = dict(zip(names, of_components, strict=True))
            parts = [
                part.times(weight)
                for name, weight in self.weights.items()
                for part in by_component[name]
            ]
            evidenced = (part for of_component in of_components for part in of_component)
            matches = [part.matches for part in evidenced if part.matches is not None]
            yield self._explanation(pair, score, parts, matches)

    def _explanation(
        self, pair: TextPair, score: float, parts: Sequence[Part], matches: Sequence[Floats]
    ) -> Explanation:
        by_name: dict[str, list[Part]] = {}
        for part in parts:
            by_name.setdefault(part.name, []).append(part)
        of_words = by_name.get(WORDS_PART, [])
        added = [part.cells for part in of_words if part.cells is not None]
        split = [part.cells for part in parts if part.cells is not None]
        by_words = split if len(split) == len(parts) else None
        topics = tuple(topic for part in parts for topic in part.topics)
        contexts = tuple(context for part in parts for context in part.contexts)
        aligned = self._reader.align(*pair, matches, added, by_words)
        word_matches, words1, words2, knowledge = aligned
        is_learned = isinstance(self.components[SENTENCES], SummedWords)
        language = language_among("\n".join(pair), self._space.idf.language)
        listed = {}
        for name, same in by_name.items():
            amounts = {
                WORDS_PART: [match.contribution for match in word_matches],
                TOPICS: [topic.contribution for topic in topics],
            }
            amount = math.fsum(part.contribution for part in same)
            listed[name] = (amount, amounts.get(name, []))
        return Explanation(
            text1=pair[0],
            text2=pair[1],
            score=score,
            parts=parts_of(score, listed, equal=pair[0] == pair[1]),
            topics=topics,
            word_matches=word_matches,
            words1=words1,
            words2=words2,
            contexts=contexts,
            knowledge=knowledge if is_learned else Knowledge.BOTH,  # Encoders know more words.
            language="" if language == UNKNOWN else language,
        )

    @cached_property
    def _reader(self) -> WordReader:
        return WordReader(self._space)


def _added(run: Run, weights: Mapping[str, float]) -> dict[str, Callable[[Run], Component]]:
    """Return name → function that opens it, of components with a weight that packages bring."""
    points = {point.name: point for point in entry_points(group=COMPONENTS)}
    names = [name for name, weight in weights.items() if weight and name not in _BUILT_IN]
    if unknown := [name for name in names if name not in points]:
        components = ", ".join([*_BUILT_IN, *sorted(points)])
        problem = f"scorer.weights names {', '.join(unknown)}; the components are {components}"
        raise ConfigError(str(run.path), [problem])
    return {name: points[name].load() for name in names}

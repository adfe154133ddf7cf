"""The scorer: how similar two texts are, exactly, pair by pair, and why.

    score = w_s · cosine of sentence vectors + w_w · alignment of words - number penalty

Each of the two similarities is the sum of its evidence, so that every score can be explained.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

from firth.encoders.pretrained import PRETRAINED
from firth.encoders.words import WORDS, WordSpace
from firth.run.run import Run
from firth.run.stage import Stage
from firth.scorer.blend import BLEND, Blend, open_blended_encoder
from firth.scorer.components import AlignedWords, Component, EncodedSentences, SummedWords
from firth.scorer.contexts import CONTEXTS, Contexts, TopicFits
from firth.scorer.explanation import NUMBERS, TOPICS, Explanation, parts_of
from firth.scorer.explanation import WORDS as WORDS_PART
from firth.scorer.matches import WordReader
from firth.text.marks import names_in, number_difference_matrix, number_differences
from firth.text.types import Floats, TextPair, checked

SENTENCES, ALIGNED = "sentences", "words"
"""Names of the components."""


class Scorer:
    """Scores pairs of texts by sentence vectors and aligned words, and explains each score.

    The score is the weighted mean of two similarities. Where both texts have numbers, the penalty
    takes a share of it: `number_penalty` times the share of the numbers that only one text has.
    Scores are symmetric, and do not depend on other pairs, to the last bit.

    Args:
        components: Name → component: `sentences`, `words`.
        weights: Name → weight; a component of weight 0 is left out. Their sum becomes 1.
        number_penalty: Share of a score that is lost where all numbers differ, in [0, 1].
        space: Which words the corpus has.
        open_contexts: Opens the contexts that explain scores.

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
        number_penalty: float,
        space: WordSpace,
        open_contexts: Callable[[], Contexts],
    ) -> None:
        whole = sum(weights.values())
        self.weights = {name: weight / whole for name, weight in weights.items() if weight}
        self.components = components
        self._penalty, self._space, self._open_contexts = number_penalty, space, open_contexts

    @classmethod
    def open(cls, run: str | Path | Run, blend: Blend | None = None) -> "Scorer":
        """Open the scorer of a run whose words and blend are built, perhaps with another blend."""
        run = Run.open(run)
        blend = blend or Blend.of(run)
        space = blend.known(WordSpace.load(run.folder(WORDS)))
        sentences: Component = SummedWords(space, blend.spelling_weight)
        states = None
        if run.settings.encoder.model is not None:
            encoder = open_blended_encoder(run)
            sentences, states = EncodedSentences(encoder.encode), encoder.word_states
        components: dict[str, Component] = {
            SENTENCES: sentences,
            ALIGNED: AlignedWords(space, states),
        }
        weights = {SENTENCES: blend.sentence_weight, ALIGNED: blend.word_weight}
        penalty = run.settings.scorer.number_penalty
        return cls(components, weights, penalty, space, lambda: Contexts.load(run.folder(CONTEXTS)))

    @staticmethod
    def reads(run: Run) -> tuple[Stage, ...]:
        """Return the stages that decide the scores of a run."""
        return (WORDS, BLEND, *([PRETRAINED] if run.settings.encoder.model is not None else []))

    @staticmethod
    def settings(run: Run) -> tuple[str, ...]:
        """Return dotted paths of the settings that decide the scores of a run."""
        weights = ("sentence_weight", "word_weight", "spelling_weight", "number_penalty")
        return ("encoder", *(f"scorer.{name}" for name in weights))

    @property
    def name(self) -> str:
        """The weights of the components and the penalty, for tables."""
        mean = " + ".join(f"{weight:.2f} {name}" for name, weight in self.weights.items())
        penalty = f" - {self._penalty:.2f} numbers" if self._penalty else ""
        return f"scorer, {mean}{penalty}"

    def similarity(self, a: str, b: str) -> float:
        """Return the score of two texts, in [-1, 1]; 1 for equal texts."""
        return float(self.similarities([(a, b)])[0])

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        """Return the scores of n pairs, (n,), in [-1, 1]; 1 for equal texts."""
        return self._score(pairs)[0]

    def component_similarities(self, pairs: Sequence[TextPair]) -> dict[str, Floats]:
        """Return name → similarities, (n,), of each component that has a weight."""
        # Sorted, so that swapping the texts of a pair changes no bit.
        ordered = [pair if pair[0] <= pair[1] else (pair[1], pair[0]) for pair in checked(pairs)]
        return {name: self.components[name].similarities(ordered) for name in self.weights}

    def similarity_matrix(self, texts: Sequence[str]) -> Floats:
        """Return the scores of n texts with each other, (n, n), up to rounding."""
        parts = {name: self.components[name].matrix(texts) for name in self.weights}
        scores = self._mean(parts, (len(texts), len(texts)))
        scores -= self._lost(scores, number_difference_matrix(texts, self._space.idf.language))
        number = {text: n for n, text in enumerate(dict.fromkeys(texts))}
        numbers = np.array([number[text] for text in texts], np.int64)
        scored: Floats = np.where(numbers[:, None] == numbers, 1.0, np.clip(scores, -1.0, 1.0))
        return scored

    def explain(self, a: str, b: str) -> Explanation:
        """Return the score of two texts and where it comes from."""
        return next(self.explanations([(a, b)]))

    def explanations(self, pairs: Sequence[TextPair]) -> Iterator[Explanation]:
        """Yield the score of each pair and where it comes from; many pairs at once are faster."""
        pairs = checked(pairs)
        scores, lost = self._score(pairs)
        of_sentences = self.weights.get(SENTENCES, 0.0)
        of_words = self.weights.get(ALIGNED, 0.0)
        sums = list(self.components[SENTENCES].evidence(pairs))
        vectors = [one.vectors for one in sums if one.vectors is not None]
        ones, twos = (np.array([pair[side] for pair in vectors]) for side in (0, 1))
        products = self._fits.explain(pairs, ones, twos, of_sentences)
        alignments = self.components[ALIGNED].evidence(pairs)
        for (one, two), score, penalty, summed, (product, topics, contexts), aligned in zip(
            pairs, scores.tolist(), lost.tolist(), sums, products, alignments, strict=True
        ):
            assert aligned.words is not None
            assert aligned.matches is not None
            added, learned = of_words * aligned.words, None
            if summed.words is not None:
                added = added + of_sentences * summed.words
            if summed.learned is not None:
                learned = of_sentences * summed.learned
            word_matches, words1, words2, knowledge = self._reader.align(
                one, two, aligned.matches, added, learned, penalty
            )
            if not of_sentences:
                topics, contexts = (), ()
            listed = {
                WORDS_PART: (float(added.sum()), [each.contribution for each in word_matches]),
                TOPICS: (product, [topic.contribution for topic in topics]),
            }
            if penalty:
                listed[NUMBERS] = (-penalty, [-penalty])
            if not (of_words or summed.words is not None):
                del listed[WORDS_PART]
            parts = parts_of(score, listed)
            yield Explanation(
                one, two, score, parts, topics, word_matches, words1, words2, contexts, knowledge
            )

    def _score(self, pairs: Sequence[TextPair]) -> tuple[Floats, Floats]:
        """Return scores and what numbers that differ take from them, (n,) each."""
        scores = self._mean(self.component_similarities(pairs), (len(pairs),))
        lost = self._lost(scores, number_differences(pairs, self._space.idf.language))
        equal = np.array([a == b for a, b in pairs], dtype=bool)
        scored: Floats = np.where(equal, 1.0, np.clip(scores - lost, -1.0, 1.0))
        return scored, lost

    def _mean(self, parts: Mapping[str, Floats], shape: tuple[int, ...]) -> Floats:
        scores = np.zeros(shape)
        for name, weight in self.weights.items():
            scores += weight * parts[name]
        return scores

    def _lost(self, scores: Floats, differences: Floats) -> Floats:
        """Return the number penalty; a score below 0 loses nothing."""
        lost: Floats = self._penalty * differences * np.maximum(scores, 0.0)
        return lost

    @cached_property
    def _fits(self) -> TopicFits:
        return TopicFits(self._open_contexts())

    @cached_property
    def _reader(self) -> WordReader:
        return WordReader(self._space, names_in(self._fits.contexts.texts))

"""Origin's default: a sentence vector and an alignment of words, each a sum over its evidence."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property
from pathlib import Path

import numpy as np

from firth.context import CONTEXT
from firth.context.contexts import Contexts
from firth.context.encoder import SentenceEncoder
from firth.context.open import open_encoder
from firth.context.settings import Encoder
from firth.context.themes import open_themes
from firth.corpus.corpus import Corpus
from firth.lexical.arrays import Floats
from firth.lexical.numbers import all_differing, differing
from firth.lexical.scorer import Explainer, TextPair, checked
from firth.lexical.word_space import WordSpace
from firth.origin.blend import Blend
from firth.origin.components import AlignedWords, Component, EncodedSentences, SummedWords
from firth.origin.evidence import NUMBERS, THEMES, WORDS, parts_of
from firth.origin.fits import ThemeFits
from firth.origin.reasons import Reasons
from firth.origin.wording import WordReader, halves
from firth.run.errors import InputError
from firth.run.run import Run


class EnsembleOrigin(Explainer):
    """The weighted mean of two similarities, each the sum of its evidence.

    - *sentences*: cosine of sentence vectors, which is Eq. 4 over all contexts of the corpus
      (`firth.context.contexts`): of a pretrained model, or sums of words, where the directions that
      words have of their own add what the sentences share by themselves;
    - *words*: the alignment of their words.

    Where both texts name numbers, as large a share of the mean goes as `numbers` times the share of
    the numbers that only one of them has: neither component minds that *4* is not *23*.

    Args:
        components: By name.
        blend: Their weights; a component of weight 0 is left out.
        numbers: What numbers that differ take away, in [0, 1].
        space: Which words the corpus has.
        run: Whose contexts explain scores.

    Attributes:
        components: As given.
        weights: Name → weight of those that have one; they sum to 1.
    """

    def __init__(
        self,
        components: Mapping[str, Component],
        blend: Blend,
        numbers: float,
        space: WordSpace,
        run: Run,
    ) -> None:
        given = {name: float(getattr(blend, name)) for name in components}
        whole = sum(given.values())
        self.weights = {name: weight / whole for name, weight in given.items() if weight}
        self.components = components
        self._numbers, self._space, self._run = numbers, space, run

    @classmethod
    def open(
        cls, run: str | Path | Run, seed: int | None = None, **changes: object
    ) -> "EnsembleOrigin":
        """Open a run whose corpus, context and origin stages are built; errors as `Origin.open`.

        Raises:
            InputError: The pretrained model is gone, has changed, or cannot be loaded.
        """
        run = Run.open(run)
        config = run.config.changed({"seed": seed, "origin": changes}, "EnsembleOrigin.open")
        return cls.blended(run, Blend.of(run, config.origin), config.origin.numbers)

    @classmethod
    def blended(
        cls, run: Run, blend: Blend, numbers: float, encoder: SentenceEncoder | None = None
    ) -> "EnsembleOrigin":
        """Open a run whose corpus and context stages are built, with a blend of one's own.

        Args:
            run: The run.
            blend: Weights of the components.
            numbers: What numbers that differ take away.
            encoder: In place of the run's own, which is not opened then.
        """
        space = blend.known(WordSpace.load(run.folder(CONTEXT)))
        encoder = encoder or open_encoder(run)
        components = {
            "sentences": _compare_sentences(encoder, space, blend.length),
            "words": AlignedWords(space, encoder.words),
        }
        return cls(components, blend, numbers, space, run)

    def only(self, names: Collection[str]) -> "EnsembleOrigin":
        """This Origin with some of its components alone, as heavy beside each other as they were.

        Raises:
            InputError: None of them has a weight.
        """
        kept = {name: weight for name, weight in self.weights.items() if name in names}
        if not kept:
            raise InputError(
                f"components {', '.join(names)}: expected some of {', '.join(self.weights)}"
            )
        _ = self._reader  # what explains is opened once, for both
        found = copy(self)
        found.weights = {name: weight / sum(kept.values()) for name, weight in kept.items()}
        return found

    @property
    def name(self) -> str:
        """The method, the weights of its components, and what numbers take away."""
        less = f" - {self._numbers:.2f} numbers" if self._numbers else ""
        mean = " + ".join(f"{w:.2f} {name}" for name, w in self.weights.items())
        return f"Origin, {mean}{less}"

    def unknown(self, text: str) -> list[str]:
        """The distinct words of `text`, in order, that the corpus has not, nor their stems."""
        return self._space.idf.unknown(text)

    def similarities(self, pairs: Sequence[TextPair], title: str = "Origin") -> Floats:
        """Weighted means, less what numbers take away: (n,), in [-1, 1]; 1 for two equal texts."""
        return self.mean(pairs, self.parts(pairs))

    def parts(self, pairs: Sequence[TextPair]) -> dict[str, Floats]:
        """Name of each component that has a weight → its similarities, shape (n,)."""
        # Sorted, so that swapping the sentences of a pair changes no bit.
        ordered = [pair if pair[0] <= pair[1] else (pair[1], pair[0]) for pair in checked(pairs)]
        return {name: self.components[name].similarities(ordered) for name in self.weights}

    def mean(self, pairs: Sequence[TextPair], parts: Mapping[str, Floats]) -> Floats:
        """`similarities`, of the `parts` of the same pairs."""
        scores = self._weighed(parts, (len(pairs),))
        scores -= self._less(scores, differing(pairs))
        same = np.array([a == b for a, b in pairs], dtype=bool)
        clipped: Floats = np.where(same, 1.0, np.clip(scores, -1.0, 1.0))
        return clipped

    def gram(self, texts: Sequence[str]) -> Floats:
        """Similarities of all texts to each other, (n, n): `similarities` of all pairs at once."""
        scores = self._weighed(self.grams(texts), (len(texts), len(texts)))
        scores -= self._less(scores, all_differing(texts))
        number = {text: n for n, text in enumerate(dict.fromkeys(texts))}
        numbers = np.array([number[text] for text in texts], np.int64)
        same = numbers[:, None] == numbers
        clipped: Floats = np.where(same, 1.0, np.clip(scores, -1.0, 1.0))
        return clipped

    def grams(self, texts: Sequence[str]) -> dict[str, Floats]:
        """Name of each component that has a weight → its similarities of all texts, (n, n)."""
        return {name: self.components[name].gram(texts) for name in self.weights}

    def _weighed(self, parts: Mapping[str, Floats], shape: tuple[int, ...]) -> Floats:
        scores = np.zeros(shape)
        for name, weight in self.weights.items():
            scores += weight * parts[name]
        return scores

    def _less(self, scores: Floats, differ: Floats) -> Floats:
        """What numbers take away; nothing of a score below 0."""
        less: Floats = self._numbers * differ * np.maximum(scores, 0.0)
        return less

    def explain(self, a: str, b: str) -> Reasons:
        """The score of a pair, taken apart: the parts sum to it, and what they list to them."""
        return next(self.explanations([(a, b)]))

    def explanations(self, pairs: Sequence[TextPair]) -> Iterator[Reasons]:
        """The score of each pair, taken apart; many at once cost less each."""
        weight, aligned = self.weights.get("sentences", 0.0), self.weights.get("words", 0.0)
        pairs = checked(pairs)
        compared = self.parts(pairs)
        scores = self.mean(pairs, compared)
        taken = self._less(self._weighed(compared, (len(pairs),)), differing(pairs))
        sentences = list(self.components["sentences"].taken(pairs))
        ones, twos = (
            np.array([each.vectors[side] for each in sentences if each.vectors is not None])
            for side in (0, 1)
        )
        explained = self._fits.explained(
            ones, twos, np.full(len(pairs), weight), lambda i: sentences[i].summands
        )
        words = self.components["words"].taken(pairs)
        for (one, two), score, less, summed, fits, met in zip(
            pairs, scores.tolist(), taken.tolist(), sentences, explained, words, strict=True
        ):
            added = aligned * _given(met.words)
            if summed.words is not None:
                added = added + weight * summed.words
            hangs = None if summed.learned is None else added + weight * summed.learned
            wording = self._reader.wording(
                one,
                two,
                _given(met.matches),
                added,
                (None, None) if hangs is None else halves(hangs),
                less,
            )
            themes = fits.themes if weight else ()
            listed = {
                THEMES: (fits.added, [each.added for each in themes]),
                WORDS: (float(added.sum()), [each.added for each in wording.meetings]),
            }
            if less:
                listed[NUMBERS] = (-less, [-less])
            yield Reasons(
                one,
                two,
                score,
                parts_of(score, listed),
                themes,
                fits.alone1,
                fits.alone2,
                wording.meetings,
                wording.words1,
                wording.words2,
                hangs is not None,
                wording.knowledge,
            )

    @cached_property
    def _fits(self) -> ThemeFits:
        contexts, corpus = Contexts.load(self._run.folder(CONTEXT)), Corpus.open(self._run)
        themes = open_themes(self._run, contexts, corpus, self._space.idf)
        return ThemeFits(contexts, themes, corpus)

    @cached_property
    def _reader(self) -> WordReader:
        return WordReader(self._space, self._fits.names)


def _given(matrix: Floats | None) -> Floats:
    if matrix is None:
        raise TypeError("the alignment of words gives its meetings")
    return matrix


def _compare_sentences(encoder: SentenceEncoder, space: WordSpace, own: float) -> Component:
    """The component `sentences`, by the encoder that was built."""
    return SummedWords(space, own) if encoder.kind is Encoder.BAG else EncodedSentences(encoder)

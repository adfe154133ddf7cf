"""Reasons for the scores of any sentence encoder: by the contexts of a run, and by words.

All of a cosine is explained by what the run's context sentences are to the encoder itself. The same
cosine by words: exactly where sentence vectors are sums of token vectors, and by leaving each word
out elsewhere.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from firth.context import CONTEXT
from firth.context.contexts import Contexts
from firth.context.encoder import unit
from firth.context.themes import Themes
from firth.corpus.corpus import Corpus
from firth.lexical.arrays import Floats
from firth.lexical.scorer import CosineScorer, Explainer, TextPair, checked, numbered
from firth.lexical.word_space import WordSpace
from firth.lexical.words import spans, stems, without
from firth.origin.components import AlignedWords
from firth.origin.evidence import THEMES, parts_of
from firth.origin.fits import ThemeFits
from firth.origin.reasons import Reasons
from firth.origin.wording import Hangs, WordReader, halves
from firth.run.pretrained import open_encoder
from firth.run.run import Run
from firth.run.seeds import derive_seed

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding

_CONTEXTS = 2_000
"""Context sentences that are encoded, where an encoder is no table of vectors and takes long."""
_AT_ONCE = 64
"""Pairs whose words are left out together."""


class EncoderReasons(Explainer):
    """Cosines of an encoder, and what they come from.

    Args:
        encoder: Any sentence-transformers model.
        name: What it is called.
        run: A run whose corpus and context stages are built: its contexts and words explain.

    Example:
        >>> found = EncoderReasons.open("run", "run/surrogate").explain("A ship.", "A boat.")
        >>> abs(found.similarity) <= 1
        True
    """

    def __init__(self, encoder: "SentenceTransformer", name: str, run: Run) -> None:
        self._encoder, self._name = encoder, name
        self._space, corpus = WordSpace.load(run.folder(CONTEXT)), Corpus.open(run)
        self._static = _static(encoder)
        positions = Contexts.load(run.folder(CONTEXT)).positions
        if self._static is None:
            positions = positions[:: -(-len(positions) // _CONTEXTS)]
        vectors = self._encode(corpus.texts(positions)).astype(np.float32)
        contexts = Contexts(positions, vectors)
        seed = derive_seed(run.config.seed, "themes")
        most = run.config.context.themes
        themes = Themes.of(contexts, corpus, self._space.idf, most, seed)
        self._fits = ThemeFits(contexts, themes, corpus)
        self._aligned = AlignedWords(self._space)
        self._reader = WordReader(self._space, self._fits.names)

    @classmethod
    def open(cls, run: str | Path | Run, model: str | Path) -> "EncoderReasons":
        """The reasons of a model, by folder or hub name, with the contexts of a run.

        Raises:
            InputError: The model cannot be opened, or there is no such run.
            MissingStageError: The run has no context stage.
        """
        run = Run.open(run)
        run.folder(CONTEXT)  # before a model is loaded
        return cls(open_encoder(str(model)), str(model), run)

    @property
    def name(self) -> str:
        """What it is called."""
        return self._name

    def unknown(self, text: str) -> list[str]:
        """The distinct words of `text`, in order, that the run's corpus has not."""
        return self._space.idf.unknown(text)

    def similarities(self, pairs: Sequence[TextPair], title: str = "Encoder") -> Floats:
        """Cosines, shape (n,)."""
        return CosineScorer(self._name, self._encode).similarities(checked(pairs))

    def explain(self, a: str, b: str) -> Reasons:
        """The cosine of a pair and what it comes from."""
        return next(self.explanations([(a, b)]))

    def explanations(self, pairs: Sequence[TextPair]) -> Iterator[Reasons]:
        """The cosine of each pair and what it comes from; many at once cost less each."""
        texts, left, right = numbered(checked(pairs))
        vectors = self._encode(texts)
        ones, twos = vectors[left], vectors[right]

        def summands(i: int) -> tuple[Floats, Floats] | None:
            if self._static is None:
                return None
            return self._summed(pairs[i][0]), self._summed(pairs[i][1])

        explained = self._fits.explained(ones, twos, np.ones(len(pairs)), summands)
        met, hanging = self._aligned.taken(pairs), self._hangs(pairs)
        for (one, two), fits, words, (added, hangs) in zip(
            pairs, explained, met, hanging, strict=True
        ):
            if words.matches is None:
                raise TypeError("the alignment of words gives its matches")
            wording = self._reader.wording(one, two, words.matches, added, hangs)
            score = min(1.0, max(-1.0, fits.added))
            yield Reasons(
                one,
                two,
                score,
                parts_of(score, {THEMES: (fits.added, [each.added for each in fits.themes])}),
                fits.themes,
                fits.alone1,
                fits.alone2,
                wording.meetings,
                wording.words1,
                wording.words2,
                added is not None,
                wording.knowledge,
            )

    def _encode(self, texts: Sequence[str]) -> Floats:
        """Unit vectors, (n, d); 0 for a text of which the encoder knows nothing."""
        if not texts:
            return np.zeros((0, self._encoder.get_embedding_dimension() or 0))
        found = self._encoder.encode(list(texts), show_progress_bar=False)
        return unit(np.asarray(found, np.float64))

    def _hangs(self, pairs: Sequence[TextPair]) -> Iterator[tuple[Floats | None, Hangs]]:
        """What meetings of words add, where that is known, and what the score hangs on each."""
        if self._static is not None:
            for one, two in pairs:
                added = self._summed(one) @ self._summed(two).T
                yield added, halves(added)
            return
        for start in range(0, len(pairs), _AT_ONCE):
            block = pairs[start : start + _AT_ONCE]
            left_out = [
                [(short, two) for short in self._without(one)]
                + [(one, short) for short in self._without(two)]
                for one, two in block
            ]
            asked = [pair for some in left_out for pair in some]
            scores = self.similarities([*block, *asked])
            place = len(block)
            for (one, _), whole, some in zip(block, scores[:place].tolist(), left_out, strict=True):
                falls = whole - scores[place : place + len(some)]
                place += len(some)
                first = len(self._space.stems(one))
                yield None, (falls[:first], falls[first:])

    def _summed(self, text: str) -> Floats:
        """What the tokens of each distinct stem add to the unit vector of a text, (n, d)."""
        if self._static is None:
            raise TypeError("no table of vectors")
        numbers, where = self._spans(text)
        table = self._static.embedding
        read = self._static.tokenizer.encode(text, add_special_tokens=False)
        tokens = table.weight.detach()[read.ids].double().numpy()
        if table.padding_idx is not None:
            tokens[np.array(read.ids, int) == table.padding_idx] = 0.0
        found = np.zeros((len(numbers), tokens.shape[1]))
        for token, (start, end) in zip(tokens, read.offsets, strict=True):
            for (first, last), stem in where:
                if first <= start and end <= last:
                    found[numbers[stem]] += token
        length = float(np.linalg.norm(tokens.sum(axis=0)))
        return found / (length or 1.0)

    def _without(self, text: str) -> list[str]:
        """The text without each of its distinct stems."""
        numbers, where = self._spans(text)
        return [without(text, [span for span, of in where if of == stem]) for stem in numbers]

    def _spans(self, text: str) -> tuple[dict[str, int], list[tuple[tuple[int, int], str]]]:
        """Stem → its number; and where in the text each word stands, of which stem."""
        numbers = {stem: n for n, stem in enumerate(self._space.stems(text))}
        places = spans(text)
        of = stems([text[a:b].lower() for a, b in places], self._space.bag.stemmer)
        return numbers, [each for each in zip(places, of, strict=True) if each[1] in numbers]


def _static(encoder: "SentenceTransformer") -> "StaticEmbedding | None":
    """The table of an encoder whose vectors are means of token vectors, and maybe scaled after."""
    from sentence_transformers.sentence_transformer.modules import Normalize, StaticEmbedding

    first, *others = encoder
    if isinstance(first, StaticEmbedding) and all(isinstance(each, Normalize) for each in others):
        return first
    return None

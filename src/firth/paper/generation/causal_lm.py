"""The three likelihoods from one pretrained left-to-right language model.

Write the language model as p, and let a text begin with its start-of-text token. The chain rule
gives the probability that c_<, s and c_> follow one another,

    p(c_<, s, c_>) = p(c_<) p(s | c_<) p(c_> | c_<, s),

and the right term of Eq. 3 is its last factor. The other two are posteriors of parts that the model
reads before what they are conditioned on. By Bayes' rule

    p(s | c_<, c_>) = p(s | c_<) p(c_> | c_<, s) / Z(c)
    p(c_< | s, c_>) = p(c_<) p(s | c_<) p(c_> | c_<, s) / Z(s, c_>)

    Z(c)      = Σ_s' p(s' | c_<) p(c_> | c_<, s')
    Z(s, c_>) = Σ_c' p(c') p(s | c') p(c_> | c', s)

Neither sum over all texts can be computed. Both are probabilities of what remains when a part is
left out, and what the model says of a text that starts without the part, or goes on without it,
estimates them:

    Z(c) ≈ p(c_> | c_<),       c_> straight after c_<;
    Z(s, c_>) ≈ p(s) p(c_> | s),       s at the start of a text.

The first is a constant of the context: for one context the order of sentences is exact, and exp of
the unnormalised term is proportional to the model's true posterior. It is not dropped, because
divided by |s| it would tie the terms of all sentences to the context alone, and because with it the
term is what the seq2seq backend returns. With the seven log-likelihoods

    A = log p(s | c_<)        B = log p(c_> | c_<, s)    C = log p(c_> | c_<)    D = log p(s)
    E = log p(c_> | s)        F = log p(c_<)             G = log p(c_>)

the terms, and the same with the evidence left out, are

    term        likelihood                     baseline               difference: PMI a token
    sentence    (A + B − C) / |s|              D / |s|                s with (c_<, c_>)
    left        (F + A + B − D − E) / |c_<|    (F + C − G) / |c_<|    c_< with s, given c_>
    right       B / |c_>|                      C / |c_>|              c_> with s, given c_<

All are exact, but for the estimates of Z(c), of Z(s, c_>) and of p(c_>) ≈ G, the text that starts
with c_>. An empty sentence has A = D = 0, B = C and E = G: it says nothing, and each difference
is 0.

Each log-likelihood is that of a segment in a forest (see `firth.paper.generation.forest`): c_< is read
once for all sentences tried after it, s once for all right contexts tried after it.
"""

from collections.abc import Iterator, Sequence, Set

import numpy as np
import numpy.typing as npt
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from firth.corpus.context import Context
from firth.paper.generation.forest import ROOT, Forest, Tokens
from firth.paper.generation.language_model import LanguageModel, Layout
from firth.paper.generation.protocol import ALL_TERMS, Likelihoods, Pairs, Term
from firth.paper.generation.reading import Reader
from firth.run.errors import InputError

Values = npt.NDArray[np.float64]


class CausalLM:
    """A `Generator` over a causal language model and its tokenizer.

    Args:
        model: Used as it is: its number format and device are those of the computation.
        tokenizer: Of the model.
        max_tokens: Most tokens of a sentence, and of one side of a context.
        batch_tokens: Tokens read at once.
        start: The token that begins every text; by default the tokenizer's beginning-of-text
            token if it has one, else its end-of-text token.

    Raises:
        InputError: The model cannot hold three parts of `max_tokens`, or there is no start token.

    Example:
        ```python
        model = AutoModelForCausalLM.from_pretrained("HuggingFaceTB/SmolLM2-135M")
        tokenizer = AutoTokenizer.from_pretrained("HuggingFaceTB/SmolLM2-135M")
        generator = CausalLM(model, tokenizer)
        context = Context(("It rained all night.",), ("We stayed at home.",))
        generator.likelihoods(["The streets were flooded."], [context], np.array([[0, 0]]))
        ```
    """

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        *,
        max_tokens: int = 48,
        batch_tokens: int = 8_192,
        start: str | None = None,
    ) -> None:
        room = getattr(model.config.get_text_config(), "max_position_embeddings", None)
        if room is not None and 1 + 3 * max_tokens > room:
            raise InputError(
                f"the model reads {room} tokens; a start token and three parts of max_tokens = "
                f"{max_tokens} need {1 + 3 * max_tokens}. Lower max_tokens to {(room - 1) // 3}."
            )
        self._reader = Reader(tokenizer, max_tokens, start)
        self._model = LanguageModel.of(model)
        self._batch_tokens = batch_tokens

    @property
    def start(self) -> int:
        """The token that begins every text."""
        return self._reader.start

    @property
    def layout(self) -> Layout:
        """How texts are given to the model: as a forest unless its architecture forbids it."""
        return self._model.layout

    def likelihoods(
        self,
        sentences: Sequence[str],
        contexts: Sequence[Context],
        pairs: Pairs,
        terms: Set[Term] = ALL_TERMS,
    ) -> Likelihoods:
        """See `Generator.likelihoods`; the terms are derived above."""
        texts = _Texts(self._reader, sentences, contexts, pairs)
        forest = Forest(self._reader.start)
        bayes = Term.SENTENCE in terms or Term.LEFT in terms
        rows: list[list[int]] = []
        for s, left, right in texts:
            # Added in one fixed order for any choice of terms; what is not needed is not read.
            after = forest.add(ROOT, left, wanted=Term.LEFT in terms)
            filled = forest.add(after, s, wanted=bayes)
            row = [after, filled, forest.add(filled, right)]
            row.append(forest.add(after, right) if Term.SENTENCE in terms else ROOT)
            alone = forest.add(ROOT, s) if Term.LEFT in terms else ROOT
            row += [alone, forest.add(alone, right) if Term.LEFT in terms else ROOT]
            rows.append(row)
        f, a, b, c, d, e = self._score(forest, rows, 6)
        return texts.normalised(a + b - c, f + a + b - d - e, b, terms)

    def baseline(
        self,
        sentences: Sequence[str],
        contexts: Sequence[Context],
        pairs: Pairs,
        terms: Set[Term] = ALL_TERMS,
    ) -> Likelihoods:
        """See `Generator.baseline`; the terms are derived above."""
        texts = _Texts(self._reader, sentences, contexts, pairs)
        forest = Forest(self._reader.start)
        sides = Term.LEFT in terms or Term.RIGHT in terms
        rows: list[list[int]] = []
        for s, left, right in texts:
            row = [forest.add(ROOT, s) if Term.SENTENCE in terms else ROOT]
            after = forest.add(ROOT, left, wanted=Term.LEFT in terms) if sides else ROOT
            row += [after, forest.add(after, right) if sides else ROOT]
            row.append(forest.add(ROOT, right) if Term.LEFT in terms else ROOT)
            rows.append(row)
        d, f, c, g = self._score(forest, rows, 4)
        return texts.normalised(d, f + c - g, c, terms)

    def _score(self, forest: Forest, rows: list[list[int]], width: int) -> list[Values]:
        found = self._model.score(forest, self._batch_tokens)
        nodes = np.array(rows, dtype=np.int64).reshape(-1, width)
        return list(found[nodes].T)


class _Texts:
    """The tokens of the pairs asked for."""

    def __init__(
        self, reader: Reader, sentences: Sequence[str], contexts: Sequence[Context], pairs: Pairs
    ) -> None:
        pairs = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
        used_s, s = np.unique(pairs[:, 0], return_inverse=True)
        used_c, c = np.unique(pairs[:, 1], return_inverse=True)
        chosen = [contexts[i] for i in used_c]
        tokens = reader.sentences([sentences[i] for i in used_s])
        lefts, rights = reader.lefts(chosen), reader.rights(chosen)
        self._rows = [
            (tokens[i], lefts[j], rights[j]) for i, j in zip(s.tolist(), c.tolist(), strict=True)
        ]

    def __iter__(self) -> Iterator[tuple[Tokens, Tokens, Tokens]]:
        return iter(self._rows)

    def normalised(self, s: Values, left: Values, right: Values, terms: Set[Term]) -> Likelihoods:
        """Sums of log-likelihoods divided by the number of tokens; 0 for an empty text."""
        sums = dict(zip(Term, (s, left, right), strict=True))
        found = {}
        for part, term in enumerate(Term):
            sizes = np.array([len(row[part]) for row in self._rows], dtype=np.float64)
            asked = (sizes > 0) & (term in terms)
            value = np.where(asked, sums[term] / np.maximum(sizes, 1), 0.0)
            found[term.value] = value.astype(np.float32)
        return Likelihoods(**found)

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

Each log-likelihood is that of a segment in a forest (see `firth.paper.generation.language_model`):
c_< is read once for all sentences tried after it, s once for all right contexts tried after it.
"""

from collections.abc import Sequence, Set

import numpy as np
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from firth.corpus.context import Context
from firth.paper.generation.language_model import ROOT, Forest, LanguageModel, Layout
from firth.paper.generation.protocol import (
    ROLE_OF,
    Generator,
    Likelihoods,
    Pairs,
    PartReader,
    Term,
    Tokens,
)
from firth.run.errors import InputError


class Reader(PartReader):
    """Turns parts into tokens of a causal language model that can be put one after another.

    Each part is tokenised by itself, with the blank that divides it from the part before, so that
    a sentence has the same tokens wherever it stands.

    The arguments are those of `CausalLM`.
    """

    def __init__(
        self, tokenizer: PreTrainedTokenizerBase, max_tokens: int, start: str | None = None
    ) -> None:
        super().__init__(max_tokens)
        self._tokenizer = tokenizer
        token = start or tokenizer.bos_token or tokenizer.eos_token
        known = token in tokenizer.get_vocab() if token else False
        if not known:
            raise InputError(
                f"the tokenizer has no start-of-text token (got {token!r}): it defines neither a "
                "bos nor an eos token of its vocabulary. Name the token to start texts with."
            )
        self.start = int(tokenizer.get_vocab()[token])
        # What to put before a part so that its tokens are those it has in running text.
        self._lead = ""
        plain, blank, running = self._encode(["sea", " sea", "sea sea"])
        if running != plain + plain and (running == plain + blank or blank != plain):
            self._lead = " "

    def _encode(self, texts: Sequence[str]) -> list[list[int]]:
        if not texts:
            return []
        led = [self._lead + text for text in texts]
        encoded = self._tokenizer(led, add_special_tokens=False, verbose=False)
        return [list(ids) for ids in encoded["input_ids"]]

    def _joined(self, sides: Sequence[Sequence[str]]) -> list[list[int]]:
        return self.tokens([" ".join(side) for side in sides])


class CausalLM(Generator):
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

    def _terms(
        self,
        sentences: Sequence[str],
        contexts: Sequence[Context],
        pairs: Pairs,
        terms: Set[Term],
        whole: bool,
    ) -> Likelihoods:
        """The terms derived above."""
        triples = self._reader.triples(sentences, contexts, pairs)
        forest = Forest(self._reader.start)
        add = self._with_evidence if whole else self._without
        rows = [add(forest, *triple, terms) for triple in triples]
        found = self._model.score(forest, self._batch_tokens)
        nodes = np.array(rows, dtype=np.int64).reshape(-1, 6 if whole else 4)
        if whole:
            f, a, b, c, d, e = found[nodes].T
            sums = {Term.SENTENCE: a + b - c, Term.LEFT: f + a + b - d - e, Term.RIGHT: b}
        else:
            d, f, c, g = found[nodes].T
            sums = {Term.SENTENCE: d, Term.LEFT: f + c - g, Term.RIGHT: c}
        means = {}
        for term, values in sums.items():
            sizes = np.array([len(triple[ROLE_OF[term]]) for triple in triples], dtype=np.float64)
            asked = (sizes > 0) & (term in terms)
            mean = np.where(asked, values / np.maximum(sizes, 1), 0.0)
            means[term.value] = mean.astype(np.float32)
        return Likelihoods(**means)

    # Segments are added in one fixed order for any choice of terms; what is not needed is not read.

    @staticmethod
    def _with_evidence(
        forest: Forest, left: Tokens, s: Tokens, right: Tokens, terms: Set[Term]
    ) -> list[int]:
        """The nodes of F, A, B, C, D and E for one pair; the root's value is 0."""
        bayes = Term.SENTENCE in terms or Term.LEFT in terms
        after = forest.add(ROOT, left, wanted=Term.LEFT in terms)
        filled = forest.add(after, s, wanted=bayes)
        row = [after, filled, forest.add(filled, right)]
        row.append(forest.add(after, right) if Term.SENTENCE in terms else ROOT)
        alone = forest.add(ROOT, s) if Term.LEFT in terms else ROOT
        return [*row, alone, forest.add(alone, right) if Term.LEFT in terms else ROOT]

    @staticmethod
    def _without(
        forest: Forest, left: Tokens, s: Tokens, right: Tokens, terms: Set[Term]
    ) -> list[int]:
        """The nodes of D, F, C and G for one pair."""
        sides = Term.LEFT in terms or Term.RIGHT in terms
        row = [forest.add(ROOT, s) if Term.SENTENCE in terms else ROOT]
        after = forest.add(ROOT, left, wanted=Term.LEFT in terms) if sides else ROOT
        row += [after, forest.add(after, right) if sides else ROOT]
        return [*row, forest.add(ROOT, right) if Term.LEFT in terms else ROOT]

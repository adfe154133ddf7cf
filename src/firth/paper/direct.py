"""Each sentence as the other's only context, by a causal language model.

The paper asks whether the same contexts would produce both sentences. The shortest context of a
sentence is the other one: how much of it does that explain?

    share(b | a) = (log p(b | T(a)) - log p(b | T())) / -log p(b | T())

T(a) is a prompt with a, and T() the same without a sentence. The similarity is the mean of both
directions. It is the sum of what is explained of each token. `Sampled` compares how both sentences
continue instead (Liu et al. 2023, "Meaning Representations from Trajectories").
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from firth.paper.language_model import LanguageModel
from firth.run.settings import derive_seed
from firth.scorer.explanation import Explanation
from firth.scorer.parts import CONTEXTS, ContextShare, Word, parts_of
from firth.text.types import Floats, Ints, TextPair
from firth.text.words import checked, spans

PROMPT = "First sentence: {}\nThe same in other words:"
"""T of the module; a sentence follows it after a blank."""
_ENDS = (".", "?", "!", '"', "\u3002", "\uff1f", "\uff01")
_CONTINUATIONS, _LENGTH = 20, 12
"""Continuations that `Sampled` draws from a sentence, and tokens of each."""


class Reader(LanguageModel):
    """A language model that reads sentences by the prompt, at most `max_tokens` of each."""

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        max_tokens: int,
        batch_tokens: int,
    ) -> None:
        super().__init__(model, tokenizer, batch_tokens)
        self._max = max_tokens

    def tokens(self, text: str) -> list[int]:
        """Return the tokens of a text, without special ones."""
        return list(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    def target(self, text: str) -> tuple[list[int], list[int]]:
        """Return the tokens of a sentence that follows something, and where each ends in it."""
        read = self.tokenizer(
            f" {_ended(text)}", add_special_tokens=False, return_offsets_mapping=True
        )
        ends = [end - 1 for _, end in read["offset_mapping"]]
        return list(read["input_ids"])[: self._max], ends[: self._max]

    def prompt(self, text: str) -> list[int]:
        """Return the tokens of T of a sentence, which is cut at the limit; "" gives T()."""
        if text:
            kept = self.tokens(_ended(text))
            text = str(self.tokenizer.decode(kept[: self._max]))
        return [self.start, *self.tokens(PROMPT.format(text))]


class Direct:
    """How much of each sentence the other explains; a `PairScorer` that explains by tokens.

    Scores are at most 1, which equal texts have, and 0 where the other sentence tells nothing. They
    are below 0 where it misleads. They are symmetric, and depend on no other pair beyond rounding.
    """

    def __init__(self, reader: Reader, name: str = "direct contexts") -> None:
        self._reader, self.name = reader, name

    def similarity(self, text1: str, text2: str) -> float:
        """Return the similarity of two texts."""
        return float(self.similarities([(text1, text2)])[0])

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        """Return the similarities of n pairs, (n,)."""
        shares = [1.0] * len(pairs)
        for number, (one, two) in enumerate(self._explained(pairs)):
            if pairs[number][0] != pairs[number][1]:
                shares[number] = float(one.sum() + two.sum()) / 2
        return np.array(shares, np.float64)

    def explain(self, text1: str, text2: str) -> Explanation:
        """Return the similarity with what each sentence explains of every word of the other.

        The contexts are the two sentences. The details of a context are the words of the other
        sentence, each with what it adds to the score.
        """
        (shares,) = self._explained(checked([(text1, text2)]))
        texts, sides, contexts = (text1, text2), [], []
        for side, (text, share) in enumerate(zip(texts, shares, strict=True)):
            words = self._words(text, share / 2, texts[1 - side])
            sides.append(words)
            contexts.append(
                ContextShare(
                    text=texts[1 - side],
                    document=f"sentence {2 - side}",
                    fit1=float(share.sum()) if side == 0 else 1.0,
                    fit2=float(share.sum()) if side == 1 else 1.0,
                    contribution=float(share.sum()) / 2,
                    details={word.text: word.contribution or 0.0 for word in words},
                )
            )
        added = [context.contribution for context in contexts]
        score = sum(added)
        return Explanation(
            text1=text1,
            text2=text2,
            score=score,
            parts=parts_of(score, {CONTEXTS: (score, added)}),
            contexts=tuple(contexts),
            words1=sides[0],
            words2=sides[1],
        )

    def _explained(self, pairs: Sequence[TextPair]) -> Iterator[tuple[Floats, Floats]]:
        """Yield the share of each token of both texts of a pair, in the order of the pairs."""
        asked = list(dict.fromkeys(p for a, b in checked(pairs) for p in ((a, b), (b, a))))
        texts = list(dict.fromkeys(target for _, target in asked))
        read = {text: self._reader.target(text)[0] for text in texts}
        empty = self._reader.prompt("")
        alone = dict(
            zip(
                texts,
                self._reader.scores([empty] * len(texts), [read[text] for text in texts]),
                strict=True,
            )
        )
        prompts = {text: self._reader.prompt(text) for text in dict.fromkeys(a for a, _ in asked)}
        given = self._reader.scores(
            [prompts[context] for context, _ in asked],
            [read[target] for _, target in asked],
            "Direct contexts",
        )
        shares = {}
        for (context, target), logs in zip(asked, given, strict=True):
            surprise = -float(alone[target].sum())
            shares[context, target] = (logs - alone[target]) / (surprise or 1.0)
        for a, b in pairs:
            yield shares[b, a], shares[a, b]

    def _words(self, text: str, added: Floats, other: str) -> tuple[Word, ...]:
        """Return the distinct words of a text with what their tokens add to the score."""
        ends = self._reader.target(text)[1]
        written = spans(text)
        if not written:
            return ()
        starts = np.array([start for start, _ in written])
        # A token belongs to the last word that begins before its end, as a full stop does.
        owners = np.maximum(np.searchsorted(starts, np.array(ends, np.int64)) - 1, 0)
        sums: dict[str, float] = {text[start:end]: 0.0 for start, end in written}
        for owner, amount in zip(owners.tolist(), added.tolist(), strict=True):
            sums[text[slice(*written[owner])]] += amount
        known = {other[start:end].lower() for start, end in spans(other)}
        return tuple(
            Word(text=word, contribution=amount, matched=word.lower() in known)
            for word, amount in sums.items()
        )


class Sampled:
    """How differently two sentences judge the same continuations; a `PairScorer`.

    Continuations are drawn from both sentences. The similarity is minus the mean absolute
    difference of their log-likelihoods, in nats a token; equal texts have 0.
    """

    name = "sampled contexts"

    def __init__(self, reader: Reader, seed: int) -> None:
        self._reader, self._seed = reader, seed

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        """Return the similarities of n pairs, (n,)."""
        texts = list(dict.fromkeys(text for pair in checked(pairs) for text in pair))
        begins = {text: [self._reader.start, *self._reader.tokens(_ended(text))] for text in texts}
        drawn = {text: self._continued(text, begins[text]) for text in texts}
        asked = list(
            dict.fromkeys(
                (text, owner, row)
                for pair in pairs
                for text in pair
                for owner in pair
                for row in range(_CONTINUATIONS)
            )
        )
        logs = self._reader.scores(
            [begins[text] for text, _, _ in asked],
            [drawn[owner][row] for _, owner, row in asked],
            "Sampled contexts",
        )
        means = {key: float(values.mean()) for key, values in zip(asked, logs, strict=True)}
        scores = []
        for a, b in pairs:
            places = [(owner, row) for owner in (a, b) for row in range(_CONTINUATIONS)]
            scores.append(-np.mean([abs(means[a, *place] - means[b, *place]) for place in places]))
        return np.array(scores, np.float64)

    def _continued(self, text: str, begin: list[int]) -> list[list[int]]:
        """Draw continuations of a sentence; the seed and the text decide them."""
        network: Any = self._reader.model
        torch.manual_seed(derive_seed(self._seed, "continuations", text))
        tokens = torch.tensor([begin] * _CONTINUATIONS).to(network.device)
        with torch.inference_mode():
            drawn = network.generate(
                input_ids=tokens,
                attention_mask=torch.ones_like(tokens),
                max_new_tokens=_LENGTH,
                min_new_tokens=_LENGTH,
                do_sample=True,
                top_k=0,
                pad_token_id=self._reader.start,
            )
        rows: Ints = drawn[:, len(begin) :].cpu().numpy()
        return rows.tolist()  # type: ignore[no-any-return]


def _ended(text: str) -> str:
    """Return a sentence that ends in a mark."""
    stripped = text.strip()
    return stripped if stripped[-1:] in _ENDS else f"{stripped}."

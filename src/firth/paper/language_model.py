"""The three likelihoods from one pretrained left-to-right language model.

The chain rule gives the probability p(c_< s c_>) of a text, and with it the right term of Eq. 3. In
the other two, the model reads a part before its evidence. By Bayes' rule they are

    p(s | c_<, c_>) = p(c_< s c_>) / Z(c)
    p(c_< | s, c_>) = p(c_< s c_>) / Z(s, c_>)

with sums Z over all texts in the place of the part. The probability of the text without the part
estimates them: Z(c) ≈ p(c_< c_>) and Z(s, c_>) ≈ p(s c_>). Z(c) is a constant of the context, so
that the order of sentences in one context is exact. The terms, and the same with the evidence left
out, are differences of the log-probabilities of whole texts:

    term        likelihood                                  baseline
    sentence    (log p(c_< s c_>) − log p(c_< c_>)) / |s|   log p(s) / |s|
    left        (log p(c_< s c_>) − log p(s c_>)) / |c_<|   (log p(c_< c_>) − log p(c_>)) / |c_<|
    right       log p(c_> | c_< s) / |c_>|                  log p(c_> | c_<) / |c_>|
"""

from collections.abc import Mapping, Sequence, Set
from itertools import chain, pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from firth.corpus.corpus import Context
from firth.encoders.encoder import by_length
from firth.paper.tokens import ALL_ROLES, Generator, Pairs, PartReader, Role, joined
from firth.paper.transformer import next_token_scores
from firth.run.console import Progress
from firth.run.errors import InputError
from firth.text.types import Floats, Singles

_PROBE = 16
"""Tokens by which a model is tried."""
_LEFT, _S, _RIGHT = Role.LEFT, Role.SENTENCE, Role.RIGHT
_TEXTS: Mapping[bool, Mapping[Role, tuple[tuple[Role, ...], ...]]] = {
    True: {
        _S: ((_LEFT, _S, _RIGHT), (_LEFT, _RIGHT)),
        _LEFT: ((_LEFT, _S, _RIGHT), (_S, _RIGHT)),
        _RIGHT: ((_LEFT, _S, _RIGHT),),
    },
    False: {_S: ((_S,),), _LEFT: ((_LEFT, _RIGHT), (_RIGHT,)), _RIGHT: ((_LEFT, _RIGHT),)},
}
"""The texts of each term, with evidence and without: of the first, the second is subtracted."""


class LanguageModel:
    """A causal language model that scores tokens after other tokens.

    Args:
        model: The model, which is put into evaluation mode.
        tokenizer: Its tokenizer, which has a token to begin a text with.
        batch_tokens: Tokens of a batch, padding included.

    Raises:
        InputError: The tokenizer has no such token.
    """

    def __init__(
        self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, batch_tokens: int
    ) -> None:
        token = tokenizer.bos_token or tokenizer.eos_token
        known = token in tokenizer.get_vocab() if token else False
        if not known:
            raise InputError(
                f"The tokenizer has no start-of-text token (got {token!r}): it defines neither a "
                "bos nor an eos token of its vocabulary. Choose a model that has one."
            )
        self.start = int(tokenizer.get_vocab()[token])
        model.train(False)
        self.model, self.tokenizer = model, tokenizer
        self._budget = batch_tokens
        self._is_plain = self._gives_logits()

    def scores(
        self, before: Sequence[Sequence[int]], after: Sequence[Sequence[int]], title: str = ""
    ) -> list[Floats]:
        """Return log p of each token of `after` given `before` and the tokens between, in nats.

        Both have n rows of tokens, and no row of `before` is empty. With a title, a bar is shown.
        """
        found: list[Floats] = [np.zeros(0)] * len(before)
        sizes = [len(one) + len(two) for one, two in zip(before, after, strict=True)]
        bar = Progress(len(before), title) if title else None
        for batch in by_length(sizes, self._budget, len(sizes)):
            width = max(sizes[row] for row in batch)
            # Padding follows the text, where a causal model cannot see it.
            rows = [[*before[row], *after[row]] for row in batch]
            tokens = torch.tensor([row + [0] * (width - len(row)) for row in rows])
            sources = [
                place * width + position
                for place, row in enumerate(batch)
                for position in range(len(before[row]) - 1, sizes[row] - 1)
            ]
            targets = [token for row in batch for token in after[row]]
            values = self._log_p(tokens, *map(_numbers, (sources, targets)))
            ends = np.cumsum([0, *(len(after[row]) for row in batch)]).tolist()
            for row, (begin, end) in zip(batch, pairwise(ends), strict=True):
                found[row] = values[begin:end]
            if bar is not None:
                bar.advance(len(batch))
        return found

    def _log_p(self, tokens: Tensor, sources: Tensor, targets: Tensor) -> Floats:
        """Return log p of targets (m,) after places (m,) of tokens, (n, t), in the flat order."""
        network: Any = self.model
        read, sources, targets = (x.to(network.device) for x in (tokens, sources, targets))
        with torch.inference_mode():
            if self._is_plain:
                states = network.base_model(input_ids=read, use_cache=False).last_hidden_state
                head = network.get_output_embeddings()
                chosen = states.flatten(0, 1)[sources]
                logs = next_token_scores(chosen, targets, head.weight, head.bias)
            else:
                logits = network(input_ids=read, use_cache=False).logits.flatten(0, 1)[sources]
                logs = logits.float().log_softmax(-1).gather(1, targets[:, None])[:, 0]
        return np.asarray(logs.cpu().double().numpy())

    def _gives_logits(self) -> bool:
        """Return whether logits are the product of states and head: some models change them."""
        network: Any = self.model
        head = network.get_output_embeddings()
        if head is None:
            return False
        tokens = torch.arange(_PROBE, device=network.device)[None] % len(head.weight)
        with torch.inference_mode():
            states = network.base_model(input_ids=tokens, use_cache=False).last_hidden_state
            logits = network(input_ids=tokens, use_cache=False).logits
            return bool(torch.allclose(head(states).float(), logits.float(), rtol=1e-3))


def _numbers(values: Sequence[int]) -> Tensor:
    return torch.tensor(values, dtype=torch.long)


class _Reader(PartReader):
    """Turns sentences into tokens that can be put one after another.

    Each is tokenized by itself, with the blank before it: it has the same tokens in every context.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase, max_tokens: int) -> None:
        super().__init__(max_tokens)
        self._tokenizer = tokenizer
        # Put before a part, so that its tokens are those that it has in running text.
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


class CausalLM(Generator):
    """A `Generator` over a causal language model and its tokenizer.

    It reads `max_tokens` of a sentence, `window` sentences of a side, and `batch_tokens` at once.

    Raises:
        InputError: The model cannot hold so many sentences, or has no start token.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        *,
        max_tokens: int = 48,
        window: int = 1,
        batch_tokens: int = 8_192,
    ) -> None:
        room = getattr(model.config.get_text_config(), "max_position_embeddings", None)
        most = 2 * window + 1
        if room is not None and 1 + most * max_tokens > room:
            raise InputError(
                f"The model reads {room} tokens. A start token and {most} sentences of max_tokens "
                f"= {max_tokens} need {1 + most * max_tokens}. Lower max_tokens to "
                f"{(room - 1) // most}."
            )
        self.language_model = LanguageModel(model, tokenizer, batch_tokens)
        self.reader = _Reader(tokenizer, max_tokens)

    def likelihoods(
        self,
        sentences: Sequence[str],
        contexts: Sequence[Context],
        pairs: Pairs,
        roles: Set[Role] = ALL_ROLES,
        evidence: bool = True,
    ) -> Singles:
        """Return the terms of each pair; see `Generator`."""
        values = np.zeros((len(Role), len(pairs)), np.float32)
        triples = [
            tuple(map(joined, parts)) for parts in self.reader.triples(sentences, contexts, pairs)
        ]
        wanted = {role: _TEXTS[evidence][role] for role in sorted(roles)}
        asked = {
            role: [[tuple(chain(*(t[part] for part in text))) for text in texts] for t in triples]
            for role, texts in wanted.items()
        }
        every = chain.from_iterable(chain.from_iterable(asked.values()))
        distinct = [text for text in dict.fromkeys(map(tuple, every)) if text]
        start = [[self.language_model.start]] * len(distinct)
        logs = dict(zip(distinct, self.language_model.scores(start, distinct), strict=True))
        logs[()] = np.zeros(0)
        for role, rows in asked.items():
            for number, (triple, (whole, *less)) in enumerate(zip(triples, rows, strict=True)):
                if size := len(triple[role]):
                    scored = logs[whole][-size:] if role is Role.RIGHT else logs[whole]
                    total = scored.sum() - sum(logs[text].sum() for text in less)
                    values[role, number] = total / size
        return values

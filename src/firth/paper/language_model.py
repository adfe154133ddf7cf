"""The three likelihoods from one pretrained left-to-right language model.

The chain rule gives the probability that c_<, s and c_> follow one another,

    p(c_<, s, c_>) = p(c_<) p(s | c_<) p(c_> | c_<, s),

and the right term of Eq. 3 is its last factor. The other two are posteriors of parts that the model
reads before their evidence. By Bayes' rule

    p(s | c_<, c_>) = p(s | c_<) p(c_> | c_<, s) / Z(c)
    p(c_< | s, c_>) = p(c_<) p(s | c_<) p(c_> | c_<, s) / Z(s, c_>)

with sums Z over all texts. Both are probabilities of the rest where a part is left out, and the
probability of a text without the part estimates them: Z(c) ≈ p(c_> | c_<), with c_> directly after
c_<, and Z(s, c_>) ≈ p(s) p(c_> | s), with s at the start of a text. Z(c) is a constant of the
context, so that the order of sentences in one context is exact. With the seven log-likelihoods

    A = log p(s | c_<)        B = log p(c_> | c_<, s)    C = log p(c_> | c_<)    D = log p(s)
    E = log p(c_> | s)        F = log p(c_<)             G = log p(c_>)

the terms, and the same with the evidence left out, are

    term        likelihood                     baseline               difference: PMI a token
    sentence    (A + B − C) / |s|              D / |s|                s with (c_<, c_>)
    left        (F + A + B − D − E) / |c_<|    (F + C − G) / |c_<|    c_< with s, given c_>
    right       B / |c_>|                      C / |c_>|              c_> with s, given c_<

Each log-likelihood is that of a *segment* given the segments before it, back to the start of the
text. Segments with a common beginning form a tree, as in a prefix cache, and each distinct segment
is read once. Many segments of this forest are one row of tokens. A mask lets each token attend to
the ancestors of its segment and, causally, to the segment itself.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from firth.corpus.corpus import Context
from firth.paper.tokens import ALL_ROLES, Generator, Pairs, PartReader, Role, Tokens, joined
from firth.paper.transformer import next_token_scores
from firth.run.errors import InputError
from firth.text.types import Floats, Singles

ROOT = 0
"""The node of the start-of-text token."""
_ROW_TOKENS = 512
"""Tokens of a row. Longer rows cost more in the attention than they save."""
_PROBE = ((3, 5, 7), (11, 13), (17, 19, 23), (29,))
_TOLERANCE = {True: 1e-4, False: 0.03}
_REFUSALS = (TypeError, ValueError, RuntimeError, LookupError, AttributeError)


class Forest:
    """Distinct segments, each with its parent; node 0 holds `start`, which begins every text."""

    def __init__(self, start: int) -> None:
        self.tokens: list[Tokens] = [(start,)]
        self.parents: list[int] = [-1]
        self.wanted: list[bool] = [False]
        self._nodes: dict[tuple[int, Tokens], int] = {}

    def __len__(self) -> int:
        return len(self.tokens)

    def add(self, parent: int, tokens: Tokens, *, wanted: bool = True) -> int:
        """Return the node of `tokens` after `parent`, which is made if there is none.

        One that is not `wanted` is read, but not scored. An empty segment has log-likelihood 0.
        """
        node = self._nodes.setdefault((parent, tokens), len(self.tokens))
        if node == len(self.tokens):
            self.tokens.append(tokens)
            self.parents.append(parent)
            self.wanted.append(wanted)
        elif wanted:
            self.wanted[node] = True
        return node

    def path(self, node: int) -> list[int]:
        """Return the nodes from the root to `node`, both included."""
        path = []
        while node >= 0:
            path.append(node)
            node = self.parents[node]
        return path[::-1]

    def parts(self, budget: int) -> Iterator[dict[int, bool]]:
        """Yield parts of at most `budget` tokens, or one longer path, each to be read at once.

        A part is nodes, parents before children, with all their ancestors; those of nodes in
        several parts are read again. The value says whether this part gives the node's log-
        likelihood.
        """
        children: list[list[int]] = [[] for _ in self.tokens]
        for node, parent in enumerate(self.parents[1:], start=1):
            children[parent].append(node)
        part: dict[int, bool] = {}
        used, stack = 0, [ROOT]
        while stack:  # Parents before children, each subtree without a break.
            node = stack.pop()
            stack.extend(reversed(children[node]))
            if not self.wanted[node]:
                continue
            missing = [n for n in self.path(node) if n not in part]
            cost = sum(len(self.tokens[n]) for n in missing)
            if part and used + cost > budget:
                yield part
                part, used, missing = {}, 0, self.path(node)
                cost = sum(len(self.tokens[n]) for n in missing)
            part |= {n: n == node for n in missing}
            used += cost
        if part:
            yield part


@dataclass(frozen=True, kw_only=True)
class _Rows:
    """Parts of a forest, one row of tokens each, padded on the right: n rows of t tokens.

    `mask` (n, 1, t, t) is 0 where a token sees another. For each of m scored tokens `targets` has
    its id, `sources` the place before it in n · t places, and `owners` its node.
    """

    tokens: Tensor
    positions: Tensor
    mask: Tensor
    sources: Tensor
    targets: Tensor
    owners: Tensor

    @classmethod
    def of(
        cls, forest: Forest, parts: Sequence[Mapping[int, bool]], like: PreTrainedModel
    ) -> "_Rows":
        """Place the tokens of parts in rows, on the device of a model."""
        width = max(sum(len(forest.tokens[node]) for node in part) for part in parts)
        tokens = np.zeros((len(parts), width), np.int64)
        positions = np.zeros_like(tokens)
        # Padding sees itself, because a softmax over nothing is not a number.
        sees = np.repeat(np.eye(width, dtype=bool)[None], len(parts), axis=0)
        sources: list[int] = []
        targets: list[int] = []
        owners: list[int] = []
        for i, part in enumerate(parts):
            above: dict[int, list[int]] = {-1: []}
            end = 0
            for node, scored in part.items():
                segment, seen = forest.tokens[node], above[forest.parents[node]]
                begin, end = end, end + len(segment)
                above[node] = [*seen, *range(begin, end)]
                tokens[i, begin:end] = segment
                positions[i, begin:end] = np.arange(len(seen), len(above[node]))
                sees[i, begin:end, seen] = True
                sees[i, begin:end, begin:end] |= np.tri(end - begin, dtype=bool)
                if scored and segment:
                    sources.extend(
                        i * width + place for place in (seen[-1], *range(begin, end - 1))
                    )
                    targets.extend(segment)
                    owners.extend([node] * len(segment))
        mask = torch.zeros(sees.shape, dtype=like.dtype)
        mask.masked_fill_(~torch.from_numpy(sees), torch.finfo(like.dtype).min)

        def numbers(values: Sequence[int]) -> Tensor:
            return torch.tensor(values, dtype=torch.long, device=like.device)

        return cls(
            tokens=torch.from_numpy(tokens).to(like.device),
            positions=torch.from_numpy(positions).to(like.device),
            mask=mask[:, None].to(like.device),
            sources=numbers(sources),
            targets=numbers(targets),
            owners=numbers(owners),
        )


def forest_scores(model: PreTrainedModel, forest: Forest, budget: int) -> Floats:
    """Return the log-likelihood of each wanted node given its ancestors, in nats; else 0.

    Each segment is read once, many in a row, and at most `budget` tokens at once.
    """
    totals = torch.zeros(len(forest), dtype=torch.float64)
    network: Any = model
    head = network.get_output_embeddings()
    # On a processor one row at a time stays in the cache.
    at_once = 1 if _on_processor(model) else max(1, budget // _ROW_TOKENS)
    parts = list(forest.parts(min(budget, _ROW_TOKENS)))
    for start in range(0, len(parts), at_once):
        rows = _Rows.of(forest, parts[start : start + at_once], model)
        with torch.inference_mode():
            states = network.base_model(
                input_ids=rows.tokens,
                attention_mask=rows.mask,
                position_ids=rows.positions,
                use_cache=False,
            ).last_hidden_state.flatten(0, 1)
            places, row = torch.unique(rows.sources, return_inverse=True)
            scores = next_token_scores(states[places], rows.targets, head.weight, head.bias, row)
        totals.index_add_(0, rows.owners.cpu(), scores.cpu().double())
    return totals.numpy()


def text_scores(model: PreTrainedModel, forest: Forest, _: int = 0) -> Floats:
    """Return the same by one text at a time: slow, and right for every model."""
    totals = np.zeros(len(forest))
    pending = {node for node, wanted in enumerate(forest.wanted) if wanted}
    for leaf in set(range(len(forest))) - set(forest.parents):
        path = forest.path(leaf)
        if pending.isdisjoint(path):
            continue
        text = torch.tensor([[t for node in path for t in forest.tokens[node]]])
        text = text.to(model.device)
        with torch.inference_mode():
            logits = model(input_ids=text, use_cache=False).logits[0, :-1].float()
            scores = logits.log_softmax(-1).gather(1, text[0, 1:, None])[:, 0].cpu().double()
        end = 0
        for node in path:
            begin, end = end, end + len(forest.tokens[node])
            if node in pending:
                pending.remove(node)
                totals[node] = float(scores[max(begin - 1, 0) : end - 1].sum())
    return totals


def reads_forests(model: PreTrainedModel) -> bool:
    """Return whether a model reads forests as it reads texts.

    Some take no mask of pairs of tokens, scale or cap logits, or have no explicit positions.
    """
    size = _vocabulary(model)
    probe = [tuple(token % size for token in segment) for segment in _PROBE]
    forest = Forest(start=1 % size)
    for first in probe[:2]:
        top = forest.add(ROOT, first)
        for second in probe[2:]:
            forest.add(forest.add(top, second), first)
    try:
        got, expected = forest_scores(model, forest, 64), text_scores(model, forest)
    except _REFUSALS:
        return False
    difference = np.abs(got - expected).sum() / np.abs(expected).sum()
    return bool(difference < _TOLERANCE[model.dtype == torch.float32])


def _on_processor(model: PreTrainedModel) -> bool:
    return bool(model.device.type == "cpu")


def _vocabulary(model: Any) -> int:
    return int(model.get_input_embeddings().weight.shape[0])


class _Reader(PartReader):
    """Turns sentences into tokens that can be put one after another.

    Each is tokenized by itself, with the blank before it: it has the same tokens in every context.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase, max_tokens: int) -> None:
        super().__init__(max_tokens)
        self._tokenizer = tokenizer
        token = tokenizer.bos_token or tokenizer.eos_token
        known = token in tokenizer.get_vocab() if token else False
        if not known:
            raise InputError(
                f"The tokenizer has no start-of-text token (got {token!r}): it defines neither a "
                "bos nor an eos token of its vocabulary. Choose a model that has one."
            )
        self.start = int(tokenizer.get_vocab()[token])
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
    `scores` is `text_scores` where the model does not read forests.

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
        model.train(False)
        self.reader = _Reader(tokenizer, max_tokens)
        self._model, self._batch_tokens = model, batch_tokens
        self.scores = forest_scores if reads_forests(model) else text_scores

    def likelihoods(
        self,
        sentences: Sequence[str],
        contexts: Sequence[Context],
        pairs: Pairs,
        roles: Set[Role] = ALL_ROLES,
        evidence: bool = True,
    ) -> Singles:
        """Return the terms of each pair; see `Generator`."""
        parts = self.reader.triples(sentences, contexts, pairs)
        triples = [(joined(left), joined(s), joined(right)) for left, s, right in parts]
        forest = Forest(self.reader.start)
        add = _with_evidence if evidence else _without_evidence
        rows = [add(forest, *triple, roles) for triple in triples]
        logs = self.scores(self._model, forest, self._batch_tokens)
        nodes = np.array(rows, dtype=np.int64).reshape(-1, 6 if evidence else 4)
        if evidence:
            f, a, b, c, d, e = logs[nodes].T
            sums = np.array([f + a + b - d - e, a + b - c, b])
        else:
            d, f, c, g = logs[nodes].T
            sums = np.array([f + c - g, d, c])
        sizes = np.array([[len(part) for part in triple] for triple in triples]).reshape(-1, 3).T
        asked = (sizes > 0) & np.array([[role in roles] for role in Role])
        return np.where(asked, sums / np.maximum(sizes, 1), 0.0).astype(np.float32)


# Segments are added in one fixed order for any choice of terms. What is not needed is not read.


def _with_evidence(
    forest: Forest, left: Tokens, s: Tokens, right: Tokens, roles: Set[Role]
) -> list[int]:
    """Return the nodes of F, A, B, C, D and E for one pair; the value of the root is 0."""
    bayes = Role.SENTENCE in roles or Role.LEFT in roles
    after = forest.add(ROOT, left, wanted=Role.LEFT in roles)
    filled = forest.add(after, s, wanted=bayes)
    row = [after, filled, forest.add(filled, right)]
    row.append(forest.add(after, right) if Role.SENTENCE in roles else ROOT)
    alone = forest.add(ROOT, s) if Role.LEFT in roles else ROOT
    return [*row, alone, forest.add(alone, right) if Role.LEFT in roles else ROOT]


def _without_evidence(
    forest: Forest, left: Tokens, s: Tokens, right: Tokens, roles: Set[Role]
) -> list[int]:
    """Return the nodes of D, F, C and G for one pair."""
    sides = Role.LEFT in roles or Role.RIGHT in roles
    row = [forest.add(ROOT, s) if Role.SENTENCE in roles else ROOT]
    after = forest.add(ROOT, left, wanted=Role.LEFT in roles) if sides else ROOT
    row += [after, forest.add(after, right) if sides else ROOT]
    return [*row, forest.add(ROOT, right) if Role.LEFT in roles else ROOT]

"""Log-likelihoods of segments of text under any causal language model of transformers.

Every log-likelihood that a left-to-right model is asked for is that of a *segment* given the
segments before it, back to the start of the text. Segments with a common beginning form a tree, as
in a prefix cache: a left context is the parent of all sentences tried in it, a sentence the parent
of all right contexts tried after it. Each distinct segment is read once.

All tokens of a part of the forest lie one after another in one row, so that the linear layers, nine
tenths of the work, meet neither padding nor a token twice. Only in the attention do the segments
come apart: the queries of a segment attend to the keys of its ancestors and, causally, to its own.
Segments of similar length are treated together. Any model that dispatches through the
AttentionInterface of transformers can be given this attention, by the name `NAME`.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from transformers import AttentionInterface, PreTrainedModel

from firth.paper.generation.next_token import next_token_scores
from firth.paper.generation.protocol import Tokens

ROOT = 0
"""The node of the start-of-text token."""
NAME = "firth-forest"
_SCORES_AT_ONCE = 1 << 20
_QUERY_STEP, _KEY_STEP = 8, 16
_CACHED_TOKENS = 2_048
_LOGITS = 1 << 26
_PROBE = ((3, 5, 7), (11, 13), (17, 19, 23), (29,))
_TOLERANCE = {True: 1e-4, False: 0.03}
_REFUSALS = (TypeError, ValueError, RuntimeError, LookupError, AttributeError)


class Forest:
    """Distinct segments, each with its parent; node 0 holds `start`, which begins every text.

    Example:
        >>> forest = Forest(start=1)
        >>> left = forest.add(ROOT, (5, 6))
        >>> forest.add(left, (7,)) == forest.add(left, (7,))
        True
    """

    def __init__(self, start: int) -> None:
        self.tokens: list[Tokens] = [(start,)]
        self.parents: list[int] = [-1]
        self.wanted: list[bool] = [False]
        self._found: dict[tuple[int, Tokens], int] = {}

    def __len__(self) -> int:
        return len(self.tokens)

    def add(self, parent: int, tokens: Tokens, *, wanted: bool = True) -> int:
        """The node of `tokens` after `parent`, made if there is none.

        An empty segment has log-likelihood 0. One that is not `wanted` is only read, not scored.
        """
        node = self._found.setdefault((parent, tokens), len(self.tokens))
        if node == len(self.tokens):
            self.tokens.append(tokens)
            self.parents.append(parent)
            self.wanted.append(wanted)
        elif wanted:
            self.wanted[node] = True
        return node

    def path(self, node: int) -> list[int]:
        """The nodes from the root to `node`, both included."""
        path = []
        while node >= 0:
            path.append(node)
            node = self.parents[node]
        return path[::-1]

    def parts(self, budget: int) -> Iterator[dict[int, bool]]:
        """Cut the forest in parts of at most `budget` tokens, to be read at once.

        Ancestors needed in several parts are read again in each. A part exceeds the budget only
        where one path from the root does.

        Yields:
            The nodes of a part, parents before children, closed under taking parents; and for each
            whether this part is the one that gives its log-likelihood.
        """
        children: list[list[int]] = [[] for _ in self.tokens]
        for node, parent in enumerate(self.parents[1:], start=1):
            children[parent].append(node)
        part: dict[int, bool] = {}
        used, stack = 0, [ROOT]
        while stack:  # parents before children, each subtree without a break
            node = stack.pop()
            stack.extend(reversed(children[node]))
            missing = [n for n in self.path(node) if n not in part]
            cost = sum(len(self.tokens[n]) for n in missing)
            if used + cost > budget and any(part.values()):
                yield part
                part, used, missing = {}, 0, self.path(node)
                cost = sum(len(self.tokens[n]) for n in missing)
            part |= {n: n == node and self.wanted[n] for n in missing}
            used += cost
        if any(part.values()):
            yield part


@dataclass(frozen=True)
class Group:
    """n segments of similar length, padded to q queries and k keys.

    Attributes:
        queries: (n, q) places of the segments' tokens in the row; padding repeats place 0.
        keys: (n, k) places of the tokens they may see: ancestors, padding, own tokens, padding.
        mask: (n, 1, q, k) float32, 0 where a query sees a key and -inf where it does not.
        real: (n·q,) which queries are no padding.
    """

    queries: Tensor
    keys: Tensor
    mask: Tensor
    real: Tensor

    @classmethod
    def of(cls, members: Sequence[tuple[list[int], list[int]]], device: torch.device) -> "Group":
        """Of segments given as places of the tokens before them and of their own."""
        n_seen = max(len(seen) for seen, _ in members)
        n_own = max(len(own) for _, own in members)
        queries = torch.zeros(len(members), n_own, dtype=torch.long)
        keys = torch.zeros(len(members), n_seen + n_own, dtype=torch.long)
        visible = torch.zeros(len(members), 1, n_own, n_seen + n_own, dtype=torch.bool)
        visible[..., n_seen:] = torch.ones(n_own, n_own, dtype=torch.bool).tril()
        real = torch.zeros(len(members), n_own, dtype=torch.bool)
        for i, (seen, own) in enumerate(members):
            queries[i, : len(own)] = keys[i, n_seen : n_seen + len(own)] = torch.tensor(own)
            keys[i, : len(seen)] = torch.tensor(seen, dtype=torch.long)
            visible[i, :, :, : len(seen)] = True
            real[i, : len(own)] = True
        mask = torch.zeros(visible.shape).masked_fill_(~visible, float("-inf"))
        return cls(*(each.to(device) for each in (queries, keys, mask, real.flatten())))


@dataclass(frozen=True)
class Row:
    """A part of a forest as one row of tokens.

    Attributes:
        groups: Which tokens see which; together they hold every token once.
        tokens: (t,) token ids.
        positions: (t,) distance of each token from the start of its text.
        sources: (m,) for each scored token, the place of the token before it in its text.
        targets: (m,) ids of the scored tokens.
        owners: (m,) nodes of the forest they belong to.
    """

    groups: Sequence[Group]
    tokens: Tensor
    positions: Tensor
    sources: Tensor
    targets: Tensor
    owners: Tensor

    @classmethod
    def of(cls, forest: Forest, part: Mapping[int, bool], device: torch.device) -> "Row":
        """Place the tokens of a part of `forest` in a row and say which see which."""
        placed: list[int] = []
        positions: list[int] = []
        above: dict[int, list[int]] = {-1: []}
        sources: list[int] = []
        targets: list[int] = []
        owners: list[int] = []
        shapes = defaultdict(list)
        for node, scored in part.items():
            tokens, seen = forest.tokens[node], above[forest.parents[node]]
            own = list(range(len(placed), len(placed) + len(tokens)))
            above[node] = seen + own
            placed.extend(tokens)
            positions.extend(range(len(seen), len(seen) + len(own)))
            if tokens:
                shape = (-(-len(own) // _QUERY_STEP), -(-len(seen) // _KEY_STEP))
                shapes[shape].append((seen, own))
            if scored and tokens:
                sources.extend((seen[-1], *own[:-1]))
                targets.extend(tokens)
                owners.extend([node] * len(tokens))
        groups = [Group.of(members, device) for members in shapes.values()]
        rows = (placed, positions, sources, targets, owners)
        return cls(groups, *(torch.tensor(row, dtype=torch.long, device=device) for row in rows))


_current: ContextVar[Sequence[Group]] = ContextVar("groups")


def forest_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    **options: Any,
) -> tuple[Tensor, None]:
    """Attend as the current row says: every token sees the start of its own text, nothing else.

    Args:
        module: The calling layer; not used.
        query: (1, heads, t, d).
        key: (1, key heads, t, d); the number of key heads divides that of heads.
        value: (1, key heads, t, d).
        attention_mask: Must be None.
        scaling: Factor of the scores; d ** -0.5 by default.
        options: What else the model passes. Soft-capping and attention sinks are refused.

    Returns:
        (1, t, heads, d), and no weights.
    """
    if attention_mask is not None or options.get("softcap") or options.get("s_aux") is not None:
        raise NotImplementedError("attention with a mask, soft-capping or sinks")
    _, heads, length, d = query.shape
    key_heads = key.shape[1]
    scaling = d**-0.5 if scaling is None else scaling
    q = query[0].transpose(0, 1) * scaling
    k, v = key[0].transpose(0, 1), value[0].transpose(0, 1)
    out = q.new_empty(length, heads, d)
    for group in _current.get():
        n_own, n_keys = group.queries.shape[1], group.keys.shape[1]
        step = max(1, _SCORES_AT_ONCE // (heads * n_own * n_keys))
        for i in range(0, len(group.queries), step):
            queries, keys = group.queries[i : i + step], group.keys[i : i + step]
            n = len(queries)
            rows = (n * key_heads, heads // key_heads * n_own, d)
            columns = (n * key_heads, n_keys, d)
            own = q[queries].transpose(1, 2).reshape(rows)
            seen = k[keys].transpose(1, 2).reshape(columns)
            scores = torch.bmm(own, seen.transpose(1, 2)).float().view(n, heads, n_own, n_keys)
            weights = scores.add_(group.mask[i : i + step]).softmax(-1).to(v.dtype)
            mixed = torch.bmm(
                weights.view(n * key_heads, -1, n_keys), v[keys].transpose(1, 2).reshape(columns)
            )
            mixed = mixed.view(n, heads, n_own, d).transpose(1, 2).reshape(-1, heads, d)
            real = group.real[i * n_own : (i + n) * n_own]
            out[queries.flatten()[real]] = mixed[real]
    return out.unsqueeze(0), None


AttentionInterface.register(NAME, forest_attention)


class Layout(StrEnum):
    """How the texts of a forest are given to the model."""

    FOREST = "forest"
    """Each segment once, all in one row: a prefix cache without a copy."""
    ROWS = "rows"
    """Each text a row of its own, padded: slower, and right for every model."""


@dataclass(frozen=True)
class LanguageModel:
    """A causal language model and the way it is read.

    Attributes:
        model: In evaluation mode; its number format and device are kept.
        layout: Found by `LanguageModel.of`.
    """

    model: PreTrainedModel
    layout: Layout

    @classmethod
    def of(cls, model: PreTrainedModel) -> "LanguageModel":
        """Choose the layout: the forest, unless a probe shows that this model reads it wrongly.

        Some architectures do not dispatch their attention, scale or cap their logits, or have no
        explicit positions. They are read row by row.
        """
        model.train(False)
        rows, trial = cls(model, Layout.ROWS), cls(model, Layout.FOREST)
        size = _vocabulary(model)
        probe = [tuple(token % size for token in segment) for segment in _PROBE]
        forest = Forest(start=1 % size)
        for first in probe[:2]:
            top = forest.add(ROOT, first)
            for second in probe[2:]:
                forest.add(forest.add(top, second), first)
        try:
            found, expected = trial.score(forest, 64), rows.score(forest, 64)
        except _REFUSALS:
            return rows
        difference = np.abs(found - expected).sum() / np.abs(expected).sum()
        return trial if difference < _TOLERANCE[model.dtype == torch.float32] else rows

    def score(self, forest: Forest, budget: int) -> npt.NDArray[np.float64]:
        """Log-likelihood of every wanted node given its ancestors, in nats; 0 for the others.

        At most `budget` tokens are read at once.
        """
        with torch.inference_mode():
            if self.layout is Layout.FOREST:
                return self._score_forest(forest, budget)
            return self._score_rows(forest, budget)

    def _score_forest(self, forest: Forest, budget: int) -> npt.NDArray[np.float64]:
        found = torch.zeros(len(forest), dtype=torch.float64)
        network: Any = self.model
        head = network.get_output_embeddings()
        if self.model.device.type == "cpu":
            budget = min(budget, _CACHED_TOKENS)
        for part in forest.parts(budget):
            row = Row.of(forest, part, self.model.device)
            with _attending(self.model, row):
                hidden = self.model.base_model(
                    input_ids=row.tokens[None], position_ids=row.positions[None], use_cache=False
                ).last_hidden_state[0]
            places, rows = torch.unique(row.sources, return_inverse=True)
            scores = next_token_scores(hidden[places], row.targets, head.weight, head.bias, rows)
            found.index_add_(0, row.owners.cpu(), scores.cpu().double())
        return found.numpy()

    def _score_rows(self, forest: Forest, budget: int) -> npt.NDArray[np.float64]:
        found = np.zeros(len(forest))
        inner = set(forest.parents)
        pending = {node for node, wanted in enumerate(forest.wanted) if wanted}
        paths = [forest.path(node) for node in range(len(forest)) if node not in inner]
        paths = [path for path in paths if any(node in pending for node in path)]
        texts = {path[-1]: [t for node in path for t in forest.tokens[node]] for path in paths}
        paths.sort(key=lambda path: len(texts[path[-1]]))
        budget = max(1, min(budget, _LOGITS // _vocabulary(self.model)))
        while paths:
            width = len(texts[paths[-1][-1]])
            rows = [paths.pop() for _ in range(min(len(paths), max(1, budget // width)))]
            tokens = torch.zeros(len(rows), width, dtype=torch.long)
            real = torch.zeros(len(rows), width, dtype=torch.long)
            for i, path in enumerate(rows):
                text = texts[path[-1]]
                tokens[i, : len(text)], real[i, : len(text)] = torch.tensor(text), 1
            tokens, real = tokens.to(self.model.device), real.to(self.model.device)
            logits = self.model(input_ids=tokens, attention_mask=real, use_cache=False).logits
            picked = torch.gather(logits[:, :-1], 2, tokens[:, 1:, None])[..., 0].float()
            scores = (picked - logits[:, :-1].float().logsumexp(-1)).cpu().double()
            for i, path in enumerate(rows):
                end = 0
                for node in path:
                    begin, end = end, end + len(forest.tokens[node])
                    if node in pending:
                        pending.remove(node)
                        found[node] = float(scores[i, begin - 1 : end - 1].sum())
        return found


def _vocabulary(model: Any) -> int:
    return int(model.get_input_embeddings().weight.shape[0])


@contextmanager
def _attending(model: PreTrainedModel, row: Row) -> Iterator[None]:
    """Let the model's attention follow `row` inside the block."""
    before, token = model.config._attn_implementation, _current.set(row.groups)
    try:
        model.set_attn_implementation(NAME)
        yield
    finally:
        model.set_attn_implementation(before)
        _current.reset(token)

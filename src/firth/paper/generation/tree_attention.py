"""Attention over a forest: every token sees the start of its own text, and nothing else.

All tokens of a part lie one after another in one row, so that the linear layers, nine tenths of the
work, meet neither padding nor a token twice. Only here do the segments come apart: the queries of
a segment attend to the keys of its ancestors and, causally, to its own. Segments of similar length
are treated together. Any model that dispatches through the AttentionInterface of transformers can
be given this attention, by the name `NAME`.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface

from firth.paper.generation.forest import Forest, Part

NAME = "firth-forest"
_SCORES = 1 << 20
_QUERY_STEP, _KEY_STEP = 8, 16


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


@dataclass(frozen=True)
class Layout:
    """A part of a forest as one row of tokens.

    Attributes:
        tokens: (t,) token ids.
        positions: (t,) distance of each token from the start of its text.
        groups: Which tokens see which; together they hold every token once.
        sources: (m,) for each scored token, the place of the token before it in its text.
        targets: (m,) ids of the scored tokens.
        owners: (m,) nodes of the forest they belong to.
    """

    tokens: Tensor
    positions: Tensor
    groups: Sequence[Group]
    sources: Tensor
    targets: Tensor
    owners: Tensor


def lay_out(forest: Forest, part: Part, device: torch.device) -> Layout:
    """Place the tokens of `part` in a row and say which see which."""
    start: dict[int, int] = {}
    row: list[int] = []
    positions: list[int] = []
    above: dict[int, list[int]] = {-1: []}
    sources: list[int] = []
    owners: list[int] = []
    targets: list[int] = []
    shapes = defaultdict(list)
    for node, scored in zip(part.nodes, part.scored, strict=True):
        tokens, seen = forest.tokens[node], above[forest.parents[node]]
        start[node] = len(row)
        own = list(range(len(row), len(row) + len(tokens)))
        above[node] = seen + own
        row.extend(tokens)
        positions.extend(range(len(seen), len(seen) + len(own)))
        if tokens:
            shape = (-(-len(own) // _QUERY_STEP), -(-len(seen) // _KEY_STEP))
            shapes[shape].append((seen, own))
        if scored and tokens:
            sources.extend((seen[-1], *own[:-1]))
            targets.extend(tokens)
            owners.extend([node] * len(tokens))
    return Layout(
        tokens=torch.tensor(row, device=device),
        positions=torch.tensor(positions, device=device),
        groups=[_group(members, device) for members in shapes.values()],
        sources=torch.tensor(sources, dtype=torch.long, device=device),
        targets=torch.tensor(targets, dtype=torch.long, device=device),
        owners=torch.tensor(owners, dtype=torch.long, device=device),
    )


def _group(members: Sequence[tuple[list[int], list[int]]], device: torch.device) -> Group:
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
    return Group(queries.to(device), keys.to(device), mask.to(device), real.flatten().to(device))


_current: ContextVar[Sequence[Group]] = ContextVar("groups")


@contextmanager
def attending(layout: Layout) -> Iterator[None]:
    """Let the attention named `NAME` follow `layout` inside the block."""
    token = _current.set(layout.groups)
    try:
        yield
    finally:
        _current.reset(token)


def forest_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    **options: Any,
) -> tuple[Tensor, None]:
    """Attend as the current layout says.

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
        step = max(1, _SCORES // (heads * n_own * n_keys))
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

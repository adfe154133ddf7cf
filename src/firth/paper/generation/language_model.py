"""Log-likelihoods of the segments of a forest under any causal language model of transformers."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from transformers import PreTrainedModel

from firth.paper.generation import tree_attention
from firth.paper.generation.forest import ROOT, Forest, split
from firth.paper.generation.next_token import next_token_scores
from firth.paper.generation.tree_attention import attending, lay_out

_CACHED_TOKENS = 2_048
_LOGITS = 1 << 26
_PROBE = ((3, 5, 7), (11, 13), (17, 19, 23), (29,))
_TOLERANCE = {True: 1e-4, False: 0.03}
_REFUSALS = (TypeError, ValueError, RuntimeError, LookupError, AttributeError)


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
        rows = cls(model, Layout.ROWS)
        trial = cls(model, Layout.FOREST)
        vocabulary = _vocabulary(model)
        forest = Forest(start=1 % vocabulary)
        for first in _PROBE[:2]:
            top = forest.add(ROOT, tuple(t % vocabulary for t in first))
            for second in _PROBE[2:]:
                middle = forest.add(top, tuple(t % vocabulary for t in second))
                forest.add(middle, tuple(t % vocabulary for t in first))
        try:
            found, expected = trial.score(forest, 64), rows.score(forest, 64)
        except _REFUSALS:
            return rows
        difference = np.abs(found - expected).sum() / np.abs(expected).sum()
        return trial if difference < _TOLERANCE[model.dtype == torch.float32] else rows

    def score(self, forest: Forest, budget: int) -> npt.NDArray[np.float64]:
        """Log-likelihood of every wanted node given its ancestors, in nats; 0 for the others.

        Args:
            forest: What to score.
            budget: Tokens read at once.
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
        with _forest_attention(self.model):
            for part in split(forest, budget):
                layout = lay_out(forest, part, self.model.device)
                with attending(layout):
                    hidden = self.model.base_model(
                        input_ids=layout.tokens[None],
                        position_ids=layout.positions[None],
                        use_cache=False,
                    ).last_hidden_state[0]
                places, rows = torch.unique(layout.sources, return_inverse=True)
                scores = next_token_scores(
                    hidden[places], layout.targets, head.weight, head.bias, rows
                )
                found.index_add_(0, layout.owners.cpu(), scores.double().cpu())
        return found.numpy()

    def _score_rows(self, forest: Forest, budget: int) -> npt.NDArray[np.float64]:
        found = np.zeros(len(forest))
        inner = set(forest.parents)
        pending = {node for node, wanted in enumerate(forest.wanted) if wanted}
        paths = [forest.path(node) for node in range(len(forest)) if node not in inner]
        paths = [path for path in paths if any(node in pending for node in path)]
        sizes = {path[-1]: sum(len(forest.tokens[n]) for n in path) for path in paths}
        paths.sort(key=lambda path: sizes[path[-1]])
        budget = max(1, min(budget, _LOGITS // _vocabulary(self.model)))
        while paths:
            width = sizes[paths[-1][-1]]
            rows = [paths.pop() for _ in range(min(len(paths), max(1, budget // width)))]
            tokens = torch.zeros(len(rows), width, dtype=torch.long)
            real = torch.zeros(len(rows), width, dtype=torch.long)
            for i, path in enumerate(rows):
                text = [t for node in path for t in forest.tokens[node]]
                tokens[i, : len(text)], real[i, : len(text)] = torch.tensor(text), 1
            tokens = tokens.to(self.model.device)
            logits = self.model(
                input_ids=tokens, attention_mask=real.to(tokens.device), use_cache=False
            ).logits
            picked = torch.gather(logits[:, :-1], 2, tokens[:, 1:, None])[..., 0].float()
            scores = (picked - logits[:, :-1].float().logsumexp(-1)).double().cpu()
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
def _forest_attention(model: PreTrainedModel) -> Iterator[None]:
    before = model.config._attn_implementation
    model.set_attn_implementation(tree_attention.NAME)
    try:
        yield
    finally:
        model.set_attn_implementation(before)

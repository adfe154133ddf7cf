"""A batch that is worked on in parts: as much memory as one of them takes, and a process for each.

The vectors of all parts are there at once, so that a loss may set any two of them against each
other. What led to them is let go, and made again on the way back (Chen et al. 2016; for losses of
whole batches Gao et al. 2021). Chance is a function of the part, so that the result is the same,
bit for bit with two, whether one process has all parts or several share them.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from firth.run import sharing


def in_parts(encode: Callable[[slice], Tensor], rows: int, parts: int) -> Tensor:
    """The vectors of a batch, (rows, d), as of `encode(slice(rows))` but for dropout.

    Where processes share the parts, all have all vectors; gradients pass through their own ones,
    so many times as large as there are processes, for each has only that share of the loss
    (`firth.run.training`).

    Args:
        encode: Vectors of some rows of the batch.
        rows: Of the batch. Of fewer than there are parts, all are encoded at once, by each process.
        parts: How many, of about the same size.
    """
    if parts == 1 or rows < parts:
        return encode(slice(rows))
    *seeds, after = torch.randint(1 << 62, (parts + 1,)).tolist()
    bounds = [rows * part // parts for part in range(parts + 1)]

    def encoded(part: int, _: Tensor | None = None) -> Tensor:
        torch.manual_seed(seeds[part])
        return encode(slice(bounds[part], bounds[part + 1]))

    own = range(sharing.rank(), parts, sharing.size())
    if len(own) == 1:  # its memory is one part's in any case
        found = {own[0]: encoded(own[0])}
    else:
        # Re-entrant: the gradients of a part are summed by themselves, as in a process of its own.
        # That kind asks for an input with a gradient.
        some = torch.empty(0, requires_grad=True)
        found = {
            part: checkpoint(encoded, part, some, use_reentrant=True, preserve_rng_state=False)
            for part in own
        }
    torch.manual_seed(after)
    if sharing.size() > 1:
        for vectors in found.values():
            vectors.register_hook(lambda slope: slope * sharing.size())  # type: ignore[no-untyped-call]
        here = found[own[0]].device
        told = sharing.gather({part: vectors.detach().cpu() for part, vectors in found.items()})
        found = {part: vectors.to(here) for part, vectors in told.items()} | found
    return torch.cat([found[part] for part in range(parts)])


class InParts(nn.Module):
    """A sentence encoder as losses of sentence-transformers ask it, which reads in parts."""

    def __init__(self, model: nn.Module, parts: int) -> None:
        super().__init__()
        self.model, self._parts = model, parts

    def forward(self, features: dict[str, Tensor]) -> dict[str, Tensor]:
        """`sentence_embedding`, (n, d), of n texts as the model's tokenizer left them."""
        if self._parts == 1 or "attention_mask" not in features:  # words of a table: no rows
            whole: dict[str, Tensor] = self.model(features)
            return whole

        def encode(some: slice) -> Tensor:
            part = {k: v[some] if isinstance(v, Tensor) else v for k, v in features.items()}
            found: Tensor = self.model(part)["sentence_embedding"]
            return found

        rows = len(features["attention_mask"])
        return {"sentence_embedding": in_parts(encode, rows, self._parts)}

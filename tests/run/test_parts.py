"""`firth.run.parts`: a batch worked on in parts is the batch."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from firth.context.bag import contrast
from firth.run.parts import InParts, in_parts


def slopes(encoder: nn.Module, batch: Tensor, parts: int) -> tuple[Tensor, list[Tensor]]:
    """Vectors of a batch, and the gradients of a loss that sets all of them against each other."""
    encoder.zero_grad()
    torch.manual_seed(1)
    vectors = in_parts(lambda some: encoder(batch[some]), len(batch), parts)
    half = len(batch) // 2
    torch.autograd.backward(contrast(vectors[:half], vectors[half : 2 * half], 0.5))
    return vectors.detach(), [
        one.grad.clone() for one in encoder.parameters() if one.grad is not None
    ]


@given(rows=st.integers(2, 12), parts=st.integers(1, 5))
def test_parts_are_the_whole(rows: int, parts: int) -> None:
    """Of any number of rows and of parts, more than there are rows included, vectors and gradients
    are those of the batch at once."""
    torch.manual_seed(0)
    encoder = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3))
    batch = torch.randn(rows, 4)
    vectors, gradients = slopes(encoder, batch, parts)
    wanted, whole = slopes(encoder, batch, 1)
    torch.testing.assert_close(vectors, wanted)
    assert len(gradients) == len(whole) == 4
    for one, other in zip(gradients, whole, strict=True):
        torch.testing.assert_close(one, other)


def test_what_is_made_again_is_what_was_there() -> None:
    """Dropout is the same on the way there and back, other in each part, and goes on after them as
    if it were one part's: gradients are those of the masks that the vectors had."""
    weight = nn.Parameter(torch.ones(1))
    seen: list[Tensor] = []

    def encode(some: slice) -> Tensor:
        seen.append(nn.functional.dropout(torch.ones(some.stop - some.start, 50), 0.5))
        return weight * seen[-1]

    torch.manual_seed(1)
    vectors = in_parts(encode, 4, 2)
    after = torch.rand(1)
    torch.autograd.backward(vectors.sum())
    assert len(seen) == 4  # the premise: each part was encoded twice
    assert not torch.equal(seen[0], seen[1])
    again = {one.sum().item() for one in seen[2:]}
    assert again == {one.sum().item() for one in seen[:2]}
    assert weight.grad is not None
    assert weight.grad.item() == pytest.approx(vectors.detach().sum().item())
    torch.manual_seed(1)
    in_parts(encode, 4, 2)
    assert torch.equal(torch.rand(1), after)


def test_activations_of_one_part_are_held() -> None:
    """What a part needs for its gradients is gone before the next part is encoded."""
    held: list[int] = []
    alive = 0

    class Counted(torch.autograd.Function):
        @staticmethod
        def forward(ctx: object, given: Tensor) -> Tensor:
            return given * 2

        @staticmethod
        def backward(ctx: object, *gradients: Tensor) -> Tensor:
            nonlocal alive
            alive -= 1
            return gradients[0] * 2

    weight = nn.Parameter(torch.ones(3))

    def encode(some: slice) -> Tensor:
        nonlocal alive
        found: Tensor = Counted.apply(weight.expand(some.stop - some.start, 3))  # type: ignore[no-untyped-call]
        if torch.is_grad_enabled():
            alive += 1
            held.append(alive)
        return found

    torch.autograd.backward(in_parts(encode, 6, 3).sum())
    assert held == [1, 1, 1]


class Words(nn.Module):
    """An encoder as a loss of sentence-transformers sees it."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(9, 3)

    def forward(self, features: dict[str, Tensor]) -> dict[str, Tensor]:
        return {"sentence_embedding": self.table(features["input_ids"]).mean(dim=1)}


def test_a_model_in_parts_is_the_model() -> None:
    """Rows of all that a tokenizer made are cut alike; what has no rows is read at once."""
    model, ids = Words(), torch.arange(9).view(3, 3)
    features = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    found = InParts(model, 2)(features)["sentence_embedding"]
    assert torch.equal(found, model(features)["sentence_embedding"])
    assert torch.equal(InParts(model, 2)({"input_ids": ids})["sentence_embedding"], found)

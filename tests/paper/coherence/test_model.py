"""`firth.paper.coherence.model`: the vectors are those of a BiLSTM, padding does not exist."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence

from firth.paper.coherence.model import CoherenceModel, SentenceEncoder, Settings
from firth.paper.settings import Interaction

LENGTHS = torch.tensor([1, 7, 3, 5])


def tokens(width: int, padding: int = 0) -> torch.Tensor:
    """Four sentences of `LENGTHS`, padded to `width`."""
    drawn = torch.randint(5, 50, (4, 7), generator=torch.Generator().manual_seed(1))
    padded = torch.full((4, width), padding)
    for row, length in enumerate(LENGTHS.tolist()):
        padded[row, :length] = drawn[row, :length]
    return padded


def test_equals_a_packed_bilstm() -> None:
    """The last states of both directions of PyTorch's BiLSTM over packed sequences, normalised."""
    encoder = SentenceEncoder(50, 6, 9)
    peer = nn.LSTM(6, 9, batch_first=True, bidirectional=True)
    with torch.no_grad():
        for name, value in peer.named_parameters():
            ours = encoder.leftward if name.endswith("_reverse") else encoder.rightward
            value.copy_(ours.get_parameter(name.removesuffix("_reverse")))
        packed = pack_padded_sequence(
            encoder.pieces(tokens(7)), LENGTHS, batch_first=True, enforce_sorted=False
        )
        _, (last, _) = peer(packed)
        expected = nn.functional.layer_norm(torch.cat([last[0], last[1]], 1), (18,))
        torch.testing.assert_close(encoder(tokens(7), LENGTHS), expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize(("width", "padding"), [(8, 0), (8, 31), (40, 31)])
def test_padding_does_not_matter(width: int, padding: int) -> None:
    """Neither how much padding there is, nor what stands in it, and no gradient reaches it."""
    encoder = SentenceEncoder(50, 6, 9)
    plain = encoder(tokens(7), LENGTHS)
    padded = encoder(tokens(width, padding), LENGTHS)
    torch.testing.assert_close(padded, plain, atol=1e-5, rtol=0)
    padded.pow(3).sum().backward()
    gradient = encoder.pieces.weight.grad
    assert gradient is not None
    used = set(np.unique(tokens(7, 5).numpy())) | {5}
    for piece in {0, 31} - used:
        assert not gradient[piece].any()
    assert gradient[int(tokens(7)[1, 3])].any()


def test_word_order_matters() -> None:
    """The encoder reads sequences, not bags: another order is another vector."""
    encoder = SentenceEncoder(50, 6, 9)
    one, two = encoder(torch.tensor([[7, 8, 9], [9, 8, 7]]), torch.tensor([3, 3]))
    assert (one - two).abs().max() > 0.01


def test_bilinear_logits_are_the_written_formula() -> None:
    """h_<ᵀ W_< h_s + h_>ᵀ W_> h_s + h·[h_<; h_s; h_>] + b, term by term."""
    model = CoherenceModel(Settings(50, 6, 4, Interaction.BILINEAR, max_tokens=9, window=1))
    for value in model.query.parameters():
        nn.init.normal_(value)
    s, left, right = torch.randn(3, 5, 8).unbind(0)
    w_left, w_right = model.query.get_parameter("interaction").chunk(2)
    u_left, u_right = model.query.context.chunk(2)
    for row in range(5):
        expected = (
            left[row] @ w_left @ s[row] + right[row] @ w_right @ s[row]
            + u_left @ left[row] + model.query.centre @ s[row] + u_right @ right[row]
            + model.query.bias
        )  # fmt: skip
        got = model.logits(s, torch.cat([left, right], 1))[row]
        torch.testing.assert_close(got, expected, atol=1e-4, rtol=1e-4)

"""The coherence model: a BiLSTM without padding, and scores from cached vectors."""

import unicodedata
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import logsigmoid
from torch.nn.utils.rnn import pack_padded_sequence

from firth.corpus.corpus import Corpus
from firth.paper.coherence import (
    COHERENCE,
    Coherence,
    CoherenceModel,
    SentenceEncoder,
    Shape,
    load_model,
    neighbors,
    save_model,
)
from firth.paper.tokens import contexts_of, positions_of
from firth.paper.train_coherence import train_coherence
from firth.run.errors import MissingStageError
from firth.run.run import Run
from firth.text.types import Singles

from .conftest import all_pairs

FLOAT16 = 0.005
"""The rounding of the cache that the documentation states."""
LENGTHS = torch.tensor([1, 7, 3, 5])
ODD = ["", " ", "\x00", "\ud800 lone", "👩‍👩‍👧 e\u0301 ﬁ İ", "<s> </s> <mask>", "word " * 10_000]


def tokens() -> torch.Tensor:
    """Return four sentences of `LENGTHS`, padded to 7."""
    drawn = torch.randint(5, 50, (4, 7), generator=torch.Generator().manual_seed(1))
    padded = torch.zeros((4, 7), dtype=torch.long)
    for row, length in enumerate(LENGTHS.tolist()):
        padded[row, :length] = drawn[row, :length]
    return padded


@pytest.fixture(scope="module")
def coherence(built: Run) -> Coherence:
    return Coherence.open(built)


def logits_of(model: CoherenceModel, s: torch.Tensor, contexts: torch.Tensor) -> torch.Tensor:
    """Return the logit of each sentence with its context, (n,)."""
    query, constant = model.query(s)
    logits: torch.Tensor = (query * contexts).sum(1) + constant
    return logits


def read(coherence: Coherence, corpus: Corpus, texts: list[str], positions: list[int]) -> Singles:
    """Return log p(y=1 | s, c) of each text at each position: texts read one by one, Eq. 1."""
    model = coherence._model
    h = {t: torch.from_numpy(coherence.encode([t])) for t in texts}
    rows = []
    for s in texts:
        for position in positions:
            (context,) = contexts_of(corpus, [position], 2)
            sides = [
                np.pad(coherence.encode(side), ((0, 2 - len(side)), (0, 0)))
                for side in (context.left[::-1], context.right)
            ]
            around = torch.from_numpy(np.concatenate(sides)).view(1, -1)
            rows.append(logsigmoid(logits_of(model, h[s], around)))
    return torch.cat(rows).detach().numpy()


# The model


def test_equals_a_packed_bilstm() -> None:
    """The last states of both directions of PyTorch's BiLSTM over packed sequences, normalized."""
    encoder = SentenceEncoder(50, 9)
    peer = nn.LSTM(9, 9, batch_first=True, bidirectional=True)
    with torch.no_grad():
        for name, value in peer.named_parameters():
            ours = encoder.leftward if name.endswith("_reverse") else encoder.rightward
            value.copy_(ours.get_parameter(name.removesuffix("_reverse")))
        packed = pack_padded_sequence(
            encoder.tokens(tokens()), LENGTHS, batch_first=True, enforce_sorted=False
        )
        _, (last, _) = peer(packed)
        expected = nn.functional.layer_norm(torch.cat([last[0], last[1]], 1), (18,))
        torch.testing.assert_close(encoder(tokens(), LENGTHS), expected, atol=1e-5, rtol=0)


def test_bilinear_logits_are_the_written_formula() -> None:
    """h_<ᵀ W_< h_s + h_>ᵀ W_> h_s + h·[h_<; h_s; h_>] + b, term by term."""
    model = CoherenceModel(Shape(50, 4, "bilinear", max_tokens=9, window=1))
    for value in model.query.parameters():
        nn.init.normal_(value)
    s, left, right = torch.randn(3, 5, 8).unbind(0)
    w_left, w_right = model.query.get_parameter("interaction").chunk(2)
    u_left, u_right = model.query.context.chunk(2)
    for row in range(5):
        expected = (
            left[row] @ w_left @ s[row] + right[row] @ w_right @ s[row]
            + u_left @ left[row] + model.query.center @ s[row] + u_right @ right[row]
            + model.query.bias
        )  # fmt: skip
        got = logits_of(model, s, torch.cat([left, right], 1))[row]
        torch.testing.assert_close(got, expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("window", [1, 3])
def test_neighbors_are_the_sentences_of_the_context(corpus: Corpus, window: int) -> None:
    """As `Corpus.context` has them, at the edges of documents too."""
    around = neighbors(np.arange(len(corpus)), corpus.document_bounds, window)
    assert (around == -1).any(), "premise"
    for position in range(len(corpus)):
        context = contexts_of(corpus, [position], window)[0]
        left = [corpus.text(i) for i in around[position, 0] if i >= 0]
        right = [corpus.text(i) for i in around[position, 1] if i >= 0]
        assert (tuple(reversed(left)), tuple(right)) == (context.left, context.right)


def test_model_round_trip(built: Run, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A saved model is the loaded one, and loading does not touch torch's random state."""
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    model, shape = load_model(built.folder(COHERENCE))
    assert torch.equal(torch.rand(3), expected)
    folder = tmp_path_factory.mktemp("model")
    save_model(folder, model, shape)
    loaded, same = load_model(folder)
    assert same == shape
    assert not loaded.training
    for one, two in zip(model.parameters(), loaded.parameters(), strict=True):
        assert torch.equal(one, two)


# Scores


def test_cached_scores_equal_plain_ones(coherence: Coherence, corpus: Corpus) -> None:
    """Scores from cached float16 vectors equal those of texts that are read one by one."""
    positions = [*positions_of(corpus)[::15].tolist(), 0, len(corpus) - 1]
    sentences = [*corpus.texts([3, 50, 90]), "The ship feared the judge."]
    pairs = all_pairs(len(sentences), len(positions))
    cached = coherence.log_probabilities(sentences, np.array(positions), pairs)
    plain = read(coherence, corpus, sentences, positions)
    np.testing.assert_allclose(cached, plain, atol=FLOAT16, rtol=0)
    assert plain.std() > 10 * np.abs(cached - plain).max(), "premise: scores differ"
    assert (cached <= 0).all()
    some = np.random.default_rng(1).permutation(len(pairs))[:20]
    part = coherence.log_probabilities(sentences, np.array(positions), pairs[some])
    np.testing.assert_allclose(part, cached[some], atol=1e-6)


@pytest.mark.parametrize("window", [1, 2])
def test_ranking_is_the_log_probability(built: Run, fresh: Callable[..., Run], window: int) -> None:
    """One matrix product gives the scores of pair by pair, for windows of any size."""
    run = built
    if window != 2:
        run = fresh(window=window, coherence={"passes": 0.1})
        train_coherence(run)
    coherence, corpus = Coherence.open(run), Corpus.open(run)
    positions = np.concatenate((positions_of(corpus)[::-3], [0]))
    sentences = corpus.texts([3, 50, 90])
    pairs = all_pairs(3, len(positions))
    logits = coherence.rank_scores(coherence.encode(sentences), positions)
    singly = coherence.log_probabilities(sentences, positions, pairs).reshape(3, -1)
    np.testing.assert_allclose(-np.logaddexp(0.0, -logits), singly, atol=1e-4)


def test_additive_eq_1_orders_contexts_alike_for_each_sentence(
    built: Run, fresh: Callable[..., Run], corpus: Corpus, capsys: pytest.CaptureFixture[str]
) -> None:
    """Eq. 1 as printed cannot choose contexts for a sentence; the bilinear form can.

    sigmoid(h·[h_<; h_s; h_>]) is a function of s plus a function of c.
    """
    run = fresh(coherence={"interaction": "additive", "passes": 0.1})
    train_coherence(run)
    assert "orders contexts alike" in capsys.readouterr().err, "the choice is warned of"
    additive, bilinear = Coherence.open(run), Coherence.open(built)
    # Training hardly moves these weights from 0, since they cannot help it.
    nn.init.normal_(additive._model.query.context, generator=torch.Generator().manual_seed(1))
    positions = positions_of(corpus)
    sentences = corpus.texts(positions[[2, 40, 80, 120]])
    printed = additive.rank_scores(additive.encode(sentences), positions)
    assert printed.std(axis=1).min() > 0.01, "premise: contexts differ"
    constant = printed - printed[0]
    assert np.abs(constant - constant.mean(axis=1, keepdims=True)).max() < 1e-4
    assert len({row.argmax() for row in printed}) == 1
    orders = np.argsort(bilinear.rank_scores(bilinear.encode(sentences), positions), axis=1)
    assert all((order != orders[0]).any() for order in orders[1:])


def test_vectors_do_not_depend_on_the_batch(coherence: Coherence, corpus: Corpus) -> None:
    """Alone, among others, or in another order: the same vector, up to rounding."""
    sentences = [*corpus.texts(np.arange(0, 200, 17)), *ODD]
    together = coherence.encode(sentences)
    alone = np.concatenate([coherence.encode([sentence]) for sentence in sentences])
    np.testing.assert_allclose(together, alone, atol=1e-5)
    assert np.abs(together[0] - together[5]).max() > 0.1, "premise"
    assert np.isfinite(together).all()
    one, two = coherence.encode(["word " * 40 + "ship", "word " * 40 + "cow"])
    np.testing.assert_array_equal(one, two)  # Only the first tokens are read.
    forms = [unicodedata.normalize(form, "Émile naïve") for form in ("NFC", "NFD")]
    np.testing.assert_array_equal(*coherence.encode(forms))


def test_nothing_asked_nothing_answered(coherence: Coherence, base_run: Run) -> None:
    """No sentence, position or pair: arrays without rows. A missing model is named."""
    none = np.empty((0, 2), np.int64)
    assert coherence.encode([]).shape == (0, 24)
    assert coherence.rank_scores(coherence.encode(["a"]), none[:, 0]).shape == (1, 0)
    assert coherence.rank_scores(coherence.encode([]), np.array([1])).shape == (0, 1)
    assert coherence.log_probabilities(["a"], none[:, 0], none).shape == (0,)
    with pytest.raises(MissingStageError, match="firth paper build"):
        Coherence.open(base_run)

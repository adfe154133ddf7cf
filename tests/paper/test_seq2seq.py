"""The encoder-decoder as a generator: exact probabilities, independent of how they are batched."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from firth.corpus.corpus import Context
from firth.paper.seq2seq import Job, Seq2Seq, batches
from firth.paper.tokens import Part, Role, joined
from firth.paper.train_generator import open_generator
from firth.paper.transformer import (
    ContextTransformer,
    Memory,
    Packed,
    Prediction,
    Shape,
    mixture_loss,
    mixture_scores,
)
from firth.run.run import Run

from .conftest import CONTEXTS, SENTENCES, all_pairs


@pytest.fixture(params=[False, True], ids=["single", "joint"])
def seq2seq(request: pytest.FixtureRequest, built: Run) -> Seq2Seq:
    """The same weights for both ways to encode what is given."""
    generator = open_generator(built)
    assert isinstance(generator, Seq2Seq)
    model = generator.models[Role.SENTENCE]  # It is that of all roles.
    model.shape = replace(model.shape, joint=request.param)
    return generator


def one_by_one(generator: Seq2Seq, job: Job) -> float:
    """Return log p(target | given), token by token, with the mixture written out."""
    model, total = generator.models[Role.SENTENCE], 0.0
    where, reader = torch.device("cpu"), generator.reader
    rows: list[Part] = [((job.target[0][0], (reader.missing,)),)]
    rows += [job.given] if model.shape.joint and job.given else [(one,) for one in job.given]
    read = [model.read(Packed.of([row], where)) for row in rows]
    layers = [torch.cat(parts)[None] for parts in zip(*read, strict=True)]
    tokens = torch.tensor([[t for row in rows for t in joined(row)]])
    memory = Memory(layers, tokens, torch.ones_like(tokens, dtype=torch.bool))
    for number, (offset, sentence) in enumerate(job.target):
        for end, target in enumerate(sentence, 1):
            read_so_far = Packed.of([(*job.target[:number], (offset, sentence[:end]))], where)
            with torch.inference_mode():
                prediction = model.decode(read_so_far, reader.start, memory)
                logits = prediction.states[-1] @ model.word.weight.T + model.bias
                known = logits.softmax(-1)[target] * prediction.log_share[-1].exp()
                total += float((known + prediction.copied[-1]).log())
    return total


@pytest.mark.parametrize("evidence", [True, False])
def test_equals_a_plain_loop(seq2seq: Seq2Seq, evidence: bool) -> None:
    """Packing, sharing and batches change no term by more than 1e-3, the promised bound."""
    pairs = all_pairs()
    logs = seq2seq.likelihoods(SENTENCES, CONTEXTS, pairs, evidence=evidence)
    assert logs.std(axis=1).min() > 0.1, "premise: terms differ between pairs"
    for n, triple in enumerate(seq2seq.reader.triples(SENTENCES, CONTEXTS, pairs)):
        for row, role in enumerate(Role):
            if not triple[role]:
                assert logs[row, n] == 0
                continue
            job = Job.of(triple, role, evidence)
            mean = one_by_one(seq2seq, job) / len(joined(triple[role]))
            assert logs[row, n] == pytest.approx(mean, abs=1e-3)


def test_sentences_of_a_side_have_positions(seq2seq: Seq2Seq) -> None:
    """The nearest sentence and the one before it are told apart: swapped, they change terms."""
    contexts = [CONTEXTS[1], Context(CONTEXTS[1].left[::-1], CONTEXTS[1].right)]
    logs = seq2seq.likelihoods(SENTENCES, contexts, all_pairs(contexts=2)).reshape(3, -1, 2)
    assert np.ptp(logs, axis=2).max(axis=1).min() > 1e-4


def test_joint_encoding_lets_the_given_sentences_see_each_other(seq2seq: Seq2Seq) -> None:
    """With one sentence given it changes nothing, and with two it does."""
    given, model = ((-1, (30, 31, 30)), (1, (50,))), seq2seq.models[Role.SENTENCE]
    jobs, scores = [Job(((0, (40, 41)),), given[:count]) for count in (1, 2)], []
    for joint in (False, True):
        model.shape = replace(model.shape, joint=joint)
        scores.append(seq2seq.score(jobs, Role.SENTENCE))
    one, two = np.abs(scores[0] - scores[1])
    assert one < 1e-5 < 1e-4 < two


def test_probabilities_of_all_next_tokens_sum_to_one(seq2seq: Seq2Seq) -> None:
    """Vocabulary and pointer together are one distribution, after any beginning."""
    vocabulary = seq2seq.models[Role.SENTENCE].shape.vocabulary
    given = ((-1, (30, 31, 30)), (1, (50,)))
    first = [Job(((0, (token,)),), given) for token in range(vocabulary)]
    assert np.exp(seq2seq.score(first, Role.SENTENCE)).sum() == pytest.approx(1, abs=1e-4)
    start = np.exp(seq2seq.score([Job(((0, (40,)),), given)], Role.SENTENCE))[0]
    second = [Job(((0, (40, token)),), given) for token in range(vocabulary)]
    total = np.exp(seq2seq.score(second, Role.SENTENCE)).sum() / start
    assert total == pytest.approx(1, abs=1e-4)


def test_words_that_are_given_are_likelier(seq2seq: Seq2Seq) -> None:
    """The pointer: a word of the neighbor is generated more easily than another word."""
    near, far = (
        Context(("The captain left the island.",), (text,))
        for text in ("The anchor met the tide.", "The cow met the field.")
    )
    pairs = np.array([[0, 0], [0, 1]])
    logs = seq2seq.likelihoods(["The anchor saw the tide."], [near, far], pairs)[Role.SENTENCE]
    assert logs[0] > logs[1]


def test_loss_and_gradients_are_those_of_the_plain_mixture(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sliced loss equals −log of the mixture written out, and so do all its gradients."""
    monkeypatch.setattr("firth.paper.transformer._LOSS_ROWS", 3)
    torch.manual_seed(0)
    model = ContextTransformer(
        Shape(vocabulary=11, width=8, layers=1, heads=2, feedforward=8, max_tokens=6)
    )
    torch.nn.init.normal_(model.bias)
    targets = torch.tensor([3, 1, 3, 10, 0, 7, 7])
    states = torch.randn(7, 8)
    log_share = torch.randn(7).sigmoid().log()
    copied = torch.rand(7) * (1 - log_share.exp())

    def gradients(plain: bool) -> list[torch.Tensor]:
        s, a, c = (x.clone().requires_grad_() for x in (states, log_share, copied))
        prediction = Prediction(s, a, c)
        if plain:
            known = (s @ model.word.weight.T + model.bias).softmax(-1)[torch.arange(7), targets]
            loss = -(known * a.exp() + c).log().mean()
        else:
            loss = mixture_loss(model, prediction, targets)
            scores = mixture_scores(model, prediction, targets)
            torch.testing.assert_close(loss, -scores.mean())
        wanted = [s, a, c, model.word.weight, model.bias]
        return [loss, *torch.autograd.grad(3 * loss, wanted)]

    for got, expected in zip(gradients(False), gradients(True), strict=True):
        torch.testing.assert_close(got, expected)


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 20)), max_size=40), st.integers(1, 90))
def test_batches_hold_each_row_once_within_the_budget(
    sizes: list[tuple[int, int]], budget: int
) -> None:
    """Padded to its longest row, no batch of several exceeds the budget."""
    chosen = list(batches(sizes, budget))
    assert sorted(i for batch in chosen for i in batch) == list(range(len(sizes)))
    for batch in chosen:
        width = max(sizes[i][0] for i in batch) + max(sizes[i][1] for i in batch)
        assert len(batch) == 1 or len(batch) * width <= budget

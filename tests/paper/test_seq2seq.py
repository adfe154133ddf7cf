"""The encoder-decoder as a generator: exact probabilities, independent of how they are batched."""

import numpy as np
import pytest
import torch
from torch.nn import functional

from firth.paper.seq2seq import ContextTransformer, Job, Padded, Seq2Seq, Shape
from firth.paper.tokens import Context, Role, joined
from firth.paper.train_generator import open_generator
from firth.run.run import Run

from .conftest import CONTEXTS, SENTENCES, all_pairs


@pytest.fixture
def seq2seq(built: Run) -> Seq2Seq:
    return open_generator(built)


def one_by_one(generator: Seq2Seq, job: Job) -> float:
    """Return log p(target | given), token by token."""
    model, total = generator.models[Role.SENTENCE], 0.0  # It is that of all roles.
    where, reader = torch.device("cpu"), generator.reader
    given = Padded.of([((job.target[0][0], (reader.missing,)), *job.given)], where)
    for number, (offset, sentence) in enumerate(job.target):
        for end in range(1, len(sentence) + 1):
            begun = Padded.of([(*job.target[:number], (offset, sentence[:end]))], where)
            with torch.inference_mode():
                states = model.decode(begun, reader.start, model.read(given), given.real)
                total -= float(model.losses(states, begun.tokens[begun.real])[-1])
    return total


@pytest.mark.parametrize("evidence", [True, False])
def test_equals_a_plain_loop(seq2seq: Seq2Seq, evidence: bool) -> None:
    """Padding, sharing and batches change no term by more than 1e-3, the promised bound."""
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


def test_probabilities_of_all_next_tokens_sum_to_one(seq2seq: Seq2Seq) -> None:
    """After any beginning."""
    vocabulary = seq2seq.models[Role.SENTENCE].shape.vocabulary
    given = ((-1, (30, 31, 30)), (1, (50,)))
    first = [Job(((0, (token,)),), given) for token in range(vocabulary)]
    assert np.exp(seq2seq.score(first, Role.SENTENCE)).sum() == pytest.approx(1, abs=1e-4)
    start = np.exp(seq2seq.score([Job(((0, (40,)),), given)], Role.SENTENCE))[0]
    second = [Job(((0, (40, token)),), given) for token in range(vocabulary)]
    total = np.exp(seq2seq.score(second, Role.SENTENCE)).sum() / start
    assert total == pytest.approx(1, abs=1e-4)


def test_three_embeddings_are_added() -> None:
    """Of words, places in the sentence and offsets: each alone changes what is read (§3.2.2)."""
    torch.manual_seed(0)
    model = ContextTransformer(Shape(vocabulary=11, width=8, layers=1, max_tokens=6)).eval()
    where = torch.device("cpu")
    read = [
        model.read(Padded.of([row], where))[0, -1]
        for row in (((-1, (3, 4)),), ((-1, (4, 4)),), ((1, (3, 4)),), ((-1, (3,)), (1, (4,))))
    ]
    for number, one in enumerate(read):
        assert all(not torch.allclose(one, two, atol=1e-4) for two in read[:number])
    padded = Padded.of([((-1, (3, 4)),), ((0, (5,)), (1, (6, 7, 8)))], where)
    assert padded.offsets[1].tolist() == [0, 1, 1, 1]
    assert padded.places[1].tolist() == [0, 0, 1, 2]
    assert padded.real.tolist() == [[True, True, False, False], [True] * 4]
    expected = model.word.weight[3] * 8**0.5 + model.token_position.weight[0]
    expected = expected + model.sentence_position.weight[0]
    torch.testing.assert_close(model._embed(padded.tokens, padded)[0, 0], expected)


def test_the_start_knows_the_frequencies_of_tokens() -> None:
    model = ContextTransformer(Shape(vocabulary=4, width=8, layers=1, max_tokens=6))
    model.start_from(np.array([1, 0, 8]))
    frequencies = functional.softmax(model.bias, dim=0)
    assert frequencies.tolist() == pytest.approx([1.1 / 9.4, 0.1 / 9.4, 8.1 / 9.4, 0.1 / 9.4])

"""The encoder-decoder as a generator: exact probabilities, independent of how they are batched."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from firth.corpus.context import Context
from firth.corpus.tokenizer import open_tokenizer
from firth.paper.generation.protocol import ROLE_OF, Role
from firth.paper.generation.seq2seq import Job, Seq2Seq, batches
from firth.paper.generation.transformer import (
    ContextTransformer,
    Memory,
    Packed,
    Prediction,
    Shape,
    mixture_loss,
    mixture_scores,
)
from firth.run.run import Run

from .conftest import CONTEXTS, SENTENCES, all_pairs, stack


def one_by_one(generator: Seq2Seq, job: Job) -> float:
    """log p(target | given), token by token: each prefix anew, with the mixture written out."""
    model, total = generator._models[job.role], 0.0
    where = torch.device("cpu")
    given = ((job.role, (generator._missing,)), *job.given)
    read = [model.read(Packed.of([tokens], [role], where)) for role, tokens in given]
    layers = [torch.cat(parts)[None] for parts in zip(*read, strict=True)]
    tokens = torch.tensor([[t for _, part in given for t in part]])
    memory = Memory(layers, tokens, torch.ones_like(tokens, dtype=torch.bool))
    for i, target in enumerate(job.target):
        prefix = Packed.of([(generator._start, *job.target[:i])], [job.role], where)
        followers = torch.tensor(job.target[: i + 1])
        with torch.inference_mode():
            prediction = model.decode(prefix, memory, followers)
            logits = prediction.states[-1] @ model.word.weight.T + model.bias
            own = logits.softmax(-1)[target] * prediction.log_share[-1].exp()
            total += float((own + prediction.copied[-1]).log())
    return total


@pytest.mark.parametrize("whole", [True, False])
def test_equals_one_text_at_a_time(seq2seq: Seq2Seq, whole: bool) -> None:
    """Packing, sharing and batches change no term by more than 1e-3, the promised bound."""
    pairs = all_pairs()
    method = seq2seq.likelihoods if whole else seq2seq.baseline
    found = stack(method(SENTENCES, CONTEXTS, pairs))
    assert found.std(axis=1).min() > 0.1, "premise: terms differ between pairs"
    for n, triple in enumerate(seq2seq._reader.triples(SENTENCES, CONTEXTS, pairs)):
        for row, role in enumerate(ROLE_OF.values()):
            if not triple[role]:
                assert found[row, n] == 0
                continue
            job = Job.of(triple, role, whole=whole)
            mean = one_by_one(seq2seq, job) / len(job.target)
            assert found[row, n] == pytest.approx(mean, abs=1e-3)


def test_probabilities_of_all_next_tokens_sum_to_one(seq2seq: Seq2Seq) -> None:
    """Vocabulary and pointer together are one distribution, after any beginning."""
    vocabulary = seq2seq._models[Role.SENTENCE].shape.vocabulary
    given = ((Role.LEFT, (30, 31, 30)), (Role.RIGHT, (50,)))
    first = [Job((token,), Role.SENTENCE, given) for token in range(vocabulary)]
    assert np.exp(seq2seq.score(first, Role.SENTENCE)).sum() == pytest.approx(1, abs=1e-4)
    start = np.exp(seq2seq.score([Job((40,), Role.SENTENCE, given)], Role.SENTENCE))[0]
    second = [Job((40, token), Role.SENTENCE, given) for token in range(vocabulary)]
    total = np.exp(seq2seq.score(second, Role.SENTENCE)).sum() / start
    assert total == pytest.approx(1, abs=1e-4)


def test_what_is_given_again_is_likelier(seq2seq: Seq2Seq) -> None:
    """The pointer: a word that stands in the neighbour is generated more easily than elsewhere."""
    near, far = (
        Context(("The captain left the island.",), (text,))
        for text in ("The anchor met the tide.", "The cow met the field.")
    )
    pairs = np.array([[0, 0], [0, 1]])
    found = seq2seq.likelihoods(["The anchor saw the tide."], [near, far], pairs).sentence
    assert found[0] > found[1]


def test_spreading_and_collecting_are_each_others_reverse_and_gradient() -> None:
    """What is spread is collected again; the gradient written by hand is that of the function."""
    packed = Packed.of([(1,), (2, 3, 4), (5, 6)], [Role.LEFT] * 3, torch.device("cpu"))
    x = torch.randn(6, 2, dtype=torch.float64, requires_grad=True)
    y = torch.randn(9, 2, dtype=torch.float64, requires_grad=True)
    assert packed.spread(x).shape == (3, 3, 2)
    assert torch.equal(packed.collect(packed.spread(x).view(9, 2)), x)
    assert torch.autograd.gradcheck(packed.spread, (x,))
    assert torch.autograd.gradcheck(packed.collect, (y,))


def test_loss_and_gradients_are_those_of_the_plain_mixture(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The sliced loss equals −log of the mixture written out, and so do all its gradients."""
    monkeypatch.setattr("firth.paper.generation.transformer._LOSS_STEP", 3)
    torch.manual_seed(0)
    model = ContextTransformer(Shape(11, 8, 1, 2, 8, 6))
    torch.nn.init.normal_(model.bias)
    targets = torch.tensor([3, 1, 3, 10, 0, 7, 7])
    states = torch.randn(7, 8)
    log_share = torch.randn(7).sigmoid().log()
    copied = torch.rand(7) * (1 - log_share.exp())

    def gradients(plain: bool) -> list[torch.Tensor]:
        inputs = [states, log_share, copied]
        s, a, c = (x.clone().requires_grad_() for x in inputs)
        prediction = Prediction(s, a, c)
        if plain:
            own = (s @ model.word.weight.T + model.bias).softmax(-1)[torch.arange(7), targets]
            loss = -(own * a.exp() + c).log().mean()
        else:
            loss = mixture_loss(model, prediction, targets)
            scores = mixture_scores(model, prediction, targets)
            torch.testing.assert_close(loss, -scores.mean())
        wanted = [s, a, c, model.word.weight, model.bias]
        return [loss, *torch.autograd.grad(3 * loss, wanted)]

    for found, expected in zip(gradients(False), gradients(True), strict=True):
        torch.testing.assert_close(found, expected)


def test_sentence_position_says_what_to_generate(trained: Run, seq2seq: Seq2Seq) -> None:
    """The same tokens from the same evidence have another probability as another part."""
    tokens = tuple(open_tokenizer(trained).encode("The ship met the tide.").ids)
    scores = [seq2seq.score([Job(tokens, role, ())], role)[0] for role in Role]
    assert len({round(float(score), 4) for score in scores}) == 3


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 20)), max_size=40), st.integers(1, 90))
def test_batches_hold_each_row_once_within_the_budget(
    sizes: list[tuple[int, int]], budget: int
) -> None:
    """Padded to its longest row, no batch of several exceeds the budget."""
    found = list(batches(sizes, budget))
    assert sorted(i for batch in found for i in batch) == list(range(len(sizes)))
    for batch in found:
        width = max(sizes[i][0] for i in batch) + max(sizes[i][1] for i in batch)
        assert len(batch) == 1 or len(batch) * width <= budget

"""The encoder-decoder as a generator: exact probabilities, independent of how they are batched."""

import numpy as np
import numpy.typing as npt
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.corpus.context import Context
from firth.corpus.tokenizer import open_tokenizer
from firth.paper.generation import GENERATOR
from firth.paper.generation.open import open_seq2seq
from firth.paper.generation.protocol import ROLE_OF, Likelihoods, Role, Term
from firth.paper.generation.seq2seq import Job, Seq2Seq, batches
from firth.paper.generation.transformer import (
    ContextTransformer,
    Memory,
    Packed,
    Prediction,
    Shape,
    collect,
    mixture_loss,
    mixture_scores,
    spread,
)
from firth.paper.settings import GeneratorConfig
from firth.run.run import Run

from .conftest import CONTEXTS, SENTENCES, TERMS, all_pairs

ODD = ["", "   ", "naïve 😀 ‮ text", "lone \ud800 surrogate", "a\x00b", "\n\n", "long " * 10_000]


def stack(found: Likelihoods) -> npt.NDArray[np.float32]:
    """(3, n)."""
    return np.stack([getattr(found, term) for term in TERMS])


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


def test_order_repetition_company_and_budget_do_not_matter(trained: Run) -> None:
    """A pair's terms are its own, whatever else is asked for and however it is batched."""
    folder, config, pairs = trained.folder(GENERATOR), trained.config.generator, all_pairs()
    expected = stack(open_seq2seq(folder, config).likelihoods(SENTENCES, CONTEXTS, pairs))
    order = np.random.default_rng(0).permutation(np.repeat(np.arange(len(pairs)), 2))
    for budget in (1, 70, 10_000):
        changed = config.model_copy(update={"batch_tokens": budget})
        generator = open_seq2seq(folder, changed)
        found = stack(generator.likelihoods(SENTENCES, CONTEXTS, pairs[order]))
        np.testing.assert_allclose(found, expected[:, order], atol=1e-4)


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


def test_the_baseline_does_not_depend_on_the_sentence(seq2seq: Seq2Seq) -> None:
    """Side baselines leave the sentence out; the sentence's own leaves the context out."""
    found = seq2seq.baseline(SENTENCES, CONTEXTS, all_pairs())
    shape = (len(SENTENCES), len(CONTEXTS))
    assert np.ptp(found.left.reshape(shape), axis=0).max() < 1e-5
    assert np.ptp(found.right.reshape(shape), axis=0).max() < 1e-5
    assert np.ptp(found.sentence.reshape(shape), axis=1).max() < 1e-5
    assert np.ptp(found.sentence) > 0.1, "premise"


def test_empty_parts_are_left_out_evidence(seq2seq: Seq2Seq) -> None:
    """An empty sentence says nothing: every difference from the baseline is 0."""
    pairs = all_pairs(1)
    whole = seq2seq.likelihoods([""], CONTEXTS, pairs)
    np.testing.assert_allclose(stack(whole - seq2seq.baseline([""], CONTEXTS, pairs)), 0, atol=1e-5)
    assert not whole.sentence.any()


def test_terms_left_out_are_zero_and_change_no_other(seq2seq: Seq2Seq) -> None:
    """Asking for one term gives that term."""
    whole = seq2seq.likelihoods(SENTENCES, CONTEXTS, all_pairs())
    part = seq2seq.likelihoods(SENTENCES, CONTEXTS, all_pairs(), frozenset({Term.LEFT}))
    np.testing.assert_allclose(part.left, whole.left, atol=1e-5)
    assert not part.sentence.any()
    assert not part.right.any()


def test_no_pairs_and_odd_texts(seq2seq: Seq2Seq) -> None:
    """Zero pairs give zero terms; blank, enormous and broken texts have finite ones."""
    assert seq2seq.likelihoods([], [], np.zeros((0, 2), np.int64)).right.shape == (0,)
    contexts = [Context((text,), (text,)) for text in ODD]
    pairs = all_pairs(len(ODD), len(ODD))
    assert np.isfinite(stack(seq2seq.likelihoods(ODD, contexts, pairs))).all()
    assert np.isfinite(stack(seq2seq.baseline(ODD, contexts, pairs))).all()


def test_bfloat16_stays_near_float32(trained: Run, seq2seq: Seq2Seq) -> None:
    """Terms move by some thousandths, and do move."""
    config = GeneratorConfig.model_validate(
        {**trained.config.generator.model_dump(), "precision": "bfloat16"}
    )
    rough = open_seq2seq(trained.folder(GENERATOR), config)
    difference = stack(rough.likelihoods(SENTENCES, CONTEXTS, all_pairs())) - stack(
        seq2seq.likelihoods(SENTENCES, CONTEXTS, all_pairs())
    )
    assert 0 < np.abs(difference).mean() < 0.05


def test_spreading_and_collecting_are_each_others_gradient() -> None:
    """The gradients written by hand are those of the functions."""
    places = torch.tensor([4, 0, 2])
    x = torch.randn(3, 2, dtype=torch.float64, requires_grad=True)
    y = torch.randn(5, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda v: spread(v, places, 5), (x,))
    assert torch.autograd.gradcheck(lambda v: collect(v, places), (y,))


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


@settings(deadline=None)
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

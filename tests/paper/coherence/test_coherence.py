"""`Coherence`: scores from the cache are those of reading the text, one by one."""

import unicodedata

import numpy as np
import numpy.typing as npt
import pytest
import torch

from firth.corpus.context import Context
from firth.corpus.corpus import Corpus
from firth.paper.coherence.build import train_coherence
from firth.paper.coherence.coherence import Coherence
from firth.run.errors import MissingStageError
from firth.run.run import Run

from .conftest import again

FLOAT16 = 0.005
"""The tolerance that the documentation states for the cache's rounding."""
ODD = ["", " ", "\x00", "\ud800 lone", "👩‍👩‍👧 e\u0301 ﬁ İ", "<s> </s> <mask>", "word " * 10_000]


def log_sigmoid(logits: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    return -np.logaddexp(0.0, -logits.astype(np.float64))


def all_pairs(sentences: int, contexts: int) -> npt.NDArray[np.int64]:
    return np.stack(np.divmod(np.arange(sentences * contexts), contexts), axis=1)


def test_cached_equals_read(coherence: Coherence, corpus: Corpus) -> None:
    """Positions scored from cached float16 vectors equal their contexts read anew."""
    positions = np.concatenate((corpus.positions()[::5], [0, len(corpus) - 1]))
    sentences = [*corpus.texts([3, 50, 90]), "The ship feared the judge."]
    pairs = all_pairs(len(sentences), len(positions))
    cached = coherence.log_probabilities_at(sentences, positions, pairs)
    read = coherence.log_probabilities(sentences, corpus.contexts(positions), pairs)
    assert cached.dtype == read.dtype == np.float32
    np.testing.assert_allclose(cached, read, atol=FLOAT16, rtol=0)
    assert read.std() > 10 * np.abs(cached - read).max(), "nothing to tell apart"
    assert (read <= 0).all()


@pytest.mark.parametrize("window", [1, 2])
def test_ranking_is_the_log_probability(
    base_run: Run, tmp_path_factory: pytest.TempPathFactory, window: int
) -> None:
    """One matrix product gives what scoring pair by pair gives, for windows of any size."""
    run = base_run
    if window != 1:
        from firth.corpus.build import build_corpus
        from firth.corpus.tokenizer import build_tokenizer

        config = base_run.config.changed({"corpus": {"window": window}}, "test")
        run = Run.create(tmp_path_factory.mktemp("window") / "run", config)
        build_corpus(run)
        build_tokenizer(run)
    else:
        run = again(base_run, tmp_path_factory.mktemp("window") / "run")
    train_coherence(run)
    coherence, corpus = Coherence.open(run), Corpus.open(run)
    positions = np.concatenate((corpus.positions()[::-3], [0]))
    sentences = corpus.texts([3, 50, 90])
    pairs = all_pairs(3, len(positions))
    logits = coherence.rank_scores(coherence.encode(sentences), positions)
    assert logits.shape == (3, len(positions))
    singly = coherence.log_probabilities_at(sentences, positions, pairs).reshape(3, -1)
    np.testing.assert_allclose(log_sigmoid(logits), singly, atol=1e-4)
    read = coherence.log_probabilities(sentences, corpus.contexts(positions), pairs)
    np.testing.assert_allclose(singly.ravel(), read, atol=FLOAT16)


def test_additive_ranks_alike_for_every_sentence(
    additive: Coherence, coherence: Coherence, corpus: Corpus
) -> None:
    """What is wrong with Eq. 1 as printed, and that the bilinear form is free of it.

    sigmoid(h·[h_<; h_s; h_>]) is a function of s plus a function of c: the best context of one
    sentence is the best context of all, so that it cannot choose contexts for a sentence.
    """
    positions = corpus.positions()
    sentences = corpus.texts(positions[[2, 40, 80, 120]])
    # Training moves these weights hardly away from 0, since they cannot help it.
    torch.nn.init.normal_(additive._model.query.context, generator=torch.Generator().manual_seed(1))
    printed = additive.rank_scores(additive.encode(sentences), positions)
    bilinear = coherence.rank_scores(coherence.encode(sentences), positions)
    assert printed.std(axis=1).min() > 0.01, "contexts are not told apart at all"
    constant = printed - printed[0]
    assert np.abs(constant - constant.mean(axis=1, keepdims=True)).max() < 1e-4
    assert len({row.argmax() for row in printed}) == 1
    for row in printed[1:]:
        assert np.corrcoef(row, printed[0])[0, 1] > 0.9999
    orders = [np.argsort(row).tolist() for row in bilinear]
    assert all(order != orders[0] for order in orders[1:])
    assert min(np.corrcoef(row, bilinear[0])[0, 1] for row in bilinear[1:]) < 0.99


def test_vectors_do_not_depend_on_the_batch(coherence: Coherence, corpus: Corpus) -> None:
    """Alone, among others, or in another order: the same vector, up to rounding."""
    sentences = [*corpus.texts(np.arange(0, 200, 7)), *ODD]
    together = coherence.encode(sentences)
    alone = np.concatenate([coherence.encode([sentence]) for sentence in sentences])
    np.testing.assert_allclose(together, alone, atol=1e-5)
    np.testing.assert_allclose(coherence.encode(sentences[::-1])[::-1], together, atol=1e-5)
    assert np.abs(together[0] - together[5]).max() > 0.1


def test_scores_do_not_depend_on_other_pairs(coherence: Coherence, corpus: Corpus) -> None:
    """Any subset of the pairs, in any order, has the same scores, up to rounding."""
    positions, sentences = corpus.positions()[:30], corpus.texts([5, 6, 7])
    pairs = all_pairs(3, 30)
    whole = coherence.log_probabilities_at(sentences, positions, pairs)
    some = np.random.default_rng(1).permutation(90)[:40]
    part = coherence.log_probabilities_at(sentences, positions, pairs[some])
    np.testing.assert_allclose(part, whole[some], atol=1e-6)
    one = coherence.log_probabilities_at(sentences[2:], positions[4:5], np.array([[0, 0]]))
    np.testing.assert_allclose(one, whole[2 * 30 + 4], atol=1e-5)


def test_odd_sentences(coherence: Coherence) -> None:
    """Empty, very long and odd text is read, in the middle and around it."""
    vectors = coherence.encode(ODD)
    assert vectors.shape == (len(ODD), 24)
    assert np.isfinite(vectors).all()
    contexts = [Context((a,), (b,)) for a, b in zip(ODD, ODD[::-1], strict=True)]
    contexts += [Context((), ()), Context(("one", "two"), ())]
    scores = coherence.log_probabilities(ODD, contexts, all_pairs(len(ODD), len(contexts)))
    assert np.isfinite(scores).all()
    assert (scores <= 0).all()


def test_only_the_first_pieces_are_read(coherence: Coherence) -> None:
    """What comes after `max_tokens` word pieces changes nothing; composed forms are one."""
    long = "word " * 40
    one, two = coherence.encode([long + "ship", long + "cow"])
    np.testing.assert_array_equal(one, two)
    composed, decomposed = coherence.encode(
        [unicodedata.normalize(form, "Émile naïve") for form in ("NFC", "NFD")]
    )
    np.testing.assert_array_equal(composed, decomposed)


def test_nothing_asked_nothing_answered(coherence: Coherence) -> None:
    """No sentence, no position, no pair: arrays of the right shape without rows."""
    none = np.empty((0, 2), np.int64)
    assert coherence.encode([]).shape == (0, 24)
    assert coherence.rank_scores(coherence.encode(["a"]), np.empty(0, np.int64)).shape == (1, 0)
    assert coherence.rank_scores(coherence.encode([]), np.array([1])).shape == (0, 1)
    assert coherence.log_probabilities([], [], none).shape == (0,)
    assert coherence.log_probabilities_at(["a"], np.empty(0, np.int64), none).shape == (0,)


def test_a_missing_model_is_named(base_run: Run) -> None:
    """The error names the command that trains it."""
    with pytest.raises(MissingStageError, match="firth train coherence --run"):
        Coherence.open(base_run)

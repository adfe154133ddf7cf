"""What every scorer must do, checked on every scorer there is.

To add one, add a line to `CASES`.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from firth.baselines.glove import glove_files
from firth.baselines.ngrams import NgramTfIdf
from firth.baselines.registry import BASELINES
from firth.baselines.trained import TRAINED
from firth.evaluate.models import resolve_model
from firth.lexical.scorer import Scorer
from firth.lexical.tfidf import PlainTfIdf, TfIdf, fit_idf
from firth.lexical.words import Stemmer

Open = Callable[[pytest.FixtureRequest], Scorer]


@dataclass(frozen=True)
class Case:
    """A scorer under test.

    Attributes:
        open: Builds it, from fixtures where it needs any.
        low: Its lowest score; the highest is 1 for all.
        tolerance: How far scores may move when the batch around a pair changes; None for a scorer
            that learns from the batch.
    """

    open: Open
    low: float = 0.0
    tolerance: float | None = 1e-9


SENTENCES = ["the ship sailed", "the storm", "a harbour", "the old ship"]


def trained(name: str) -> Case:
    """A baseline trained on the tiny corpus."""
    return Case(
        lambda r: resolve_model(f"baseline:{name}@{r.getfixturevalue('trained_run')}"),
        low=-1.0,
        tolerance=1e-5,
    )


def vectors(options: str) -> Case:
    """Averaged word vectors of a file; RUN in the options is the tiny run."""

    def open_case(request: pytest.FixtureRequest) -> Scorer:
        file, run = (request.getfixturevalue(name) for name in ("vectors_file", "tiny_run"))
        return resolve_model(f"baseline:vectors{options.replace('RUN', str(run))}@{file}")

    learns = ("idf" in options or "sif" in options) and "RUN" not in options
    learns = learns or "set-component" in options
    return Case(open_case, low=-1.0, tolerance=None if learns else 1e-9)


def masked(name: str, options: str = "") -> Case:
    """Pooled token vectors of a tiny BERT."""
    return Case(
        lambda r: resolve_model(f"baseline:{name}{options}@{r.getfixturevalue('tiny_bert')}"),
        low=-1.0,
        tolerance=1e-5,
    )


def packaged(name: str) -> Case:
    """A tiny model in the form of the package that the baseline reads."""
    fixture = f"tiny_{name.replace('-', '_')}"
    return Case(
        lambda r: resolve_model(f"baseline:{name}@{r.getfixturevalue(fixture)}"),
        low=-1.0,
        tolerance=1e-5,
    )


def prompted(request: pytest.FixtureRequest) -> Scorer:
    """A tiny causal language model, z-scored on the tiny run."""
    model, run = (request.getfixturevalue(name) for name in ("tiny_llm", "tiny_run"))
    return resolve_model(f"baseline:prompt-eol+zscore={run}+float32@{model}")


def open_glove(_: pytest.FixtureRequest) -> Scorer:
    """The package's vectors; skipped without the package."""
    if not glove_files():
        pytest.skip("the GloVe package is not installed")
    return resolve_model("baseline:glove")


CASES = {
    "glove": Case(open_glove, low=-1.0),
    "vectors": vectors(""),
    **{
        f"vectors{options}": vectors(options)
        for options in (
            "+max",
            "+content",
            "+idf",
            "+idf=RUN",
            "+sif",
            "+sif=RUN",
            "+sif=RUN+set-component",
        )
    },
    "bert": masked("bert"),
    **{f"bert{options}": masked("bert", options) for options in ("+max", "+first-last", "+cls")},
    "roberta": masked("roberta"),
    "use": masked("use", "+distilled"),
    "use-lite": packaged("use-lite"),
    "wordllama": packaged("wordllama"),
    "prompt-eol": Case(prompted, low=-1.0, tolerance=1e-5),
    "dice": Case(lambda _: resolve_model("baseline:dice")),
    "tfidf": Case(lambda _: resolve_model("baseline:tfidf"), tolerance=None),
    "tfidf@RUN": Case(lambda _: TfIdf(fit_idf(SENTENCES, "four sentences"))),
    "tfidf-ngrams": Case(lambda _: resolve_model("baseline:tfidf-ngrams"), tolerance=None),
    "tfidf-ngrams@RUN": Case(lambda _: NgramTfIdf(fit_idf(SENTENCES, "four sentences"))),
    "tfidf-words": Case(lambda _: resolve_model("baseline:tfidf-words"), tolerance=None),
    "tfidf-words@RUN": Case(
        lambda _: PlainTfIdf(fit_idf(SENTENCES, "four sentences", Stemmer.NONE))
    ),
    **{name: trained(name) for name in TRAINED},
    "encoder": Case(
        lambda r: resolve_model(r.getfixturevalue("encoder_folder")), low=-1.0, tolerance=1e-5
    ),
    "Surrogate": Case(
        lambda r: resolve_model(r.getfixturevalue("tiny_run") / "surrogate"),
        low=-1.0,
        tolerance=1e-5,
    ),
    "Origin": Case(
        lambda r: resolve_model(r.getfixturevalue("tiny_run")), low=-1.0, tolerance=5e-3
    ),
}

ODD = {
    "empty": "",
    "blank": " \t\n",
    "one word": "ship",
    "punctuation": "?!…",
    "10,000 words": " ".join(["the old ship left the red harbour in a storm"] * 1_000),
    "one long word": "ship" * 2_500,
    "emoji and marks": "ship \U0001f6a2\u200d\U0001f9d1 é e\u0301 \u202e\ufeff",
    "no spaces": "船は港を出た。",
    "control characters": "the\x00ship\x1b[31m\x85\u2028",
    "capitals": "THE SHIP İSTANBUL ẞ",
}


OPENED: dict[str, Scorer] = {}


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> tuple[Case, Scorer]:
    """Each scorer in turn; opened once, so that no call may change the next."""
    name = request.param
    if name not in OPENED:
        OPENED[name] = CASES[name].open(request)
    return CASES[name], OPENED[name]


def ordinary_pairs(count: int = 24) -> list[tuple[str, str]]:
    """Pairs of made-up sentences."""
    rng = random.Random(9)
    words = ["the", "a", "ship", "storm", "harbour", "old", "sailed", "left", "judge", "piano"]
    texts = [" ".join(rng.choices(words, k=rng.randint(2, 12))) for _ in range(count)]
    return [(rng.choice(texts), rng.choice(texts)) for _ in range(count)]


def test_every_registered_baseline_has_a_case() -> None:
    """A baseline cannot be added without being tested here."""
    assert set(BASELINES) <= set(CASES)


def test_scores_are_finite_float64_in_range(case: tuple[Case, Scorer]) -> None:
    """One number a pair, for ordinary and for odd texts, also in one batch."""
    chosen, scorer = case
    pairs = ordinary_pairs() + [(text, "the old ship sailed") for text in ODD.values()]
    pairs += [(text, text) for text in ODD.values()]
    found = scorer.similarities(pairs)
    assert found.shape == (len(pairs),)
    assert found.dtype == np.float64
    assert np.isfinite(found).all()
    assert (found >= chosen.low).all()
    assert (found <= 1).all()
    assert len(set(found[:24].round(6).tolist())) > 3, "it tells pairs apart"


@pytest.mark.parametrize("text", ODD.values(), ids=list(ODD))
def test_odd_texts_alone_in_a_batch(case: tuple[Case, Scorer], text: str) -> None:
    """Each odd text is a batch of its own once: nothing else is there to keep it company."""
    chosen, scorer = case
    (found,) = scorer.similarities([(text, "ship")])
    assert chosen.low <= found <= 1


def test_no_pairs_no_scores(case: tuple[Case, Scorer]) -> None:
    """An empty batch gives an empty array."""
    found = case[1].similarities([])
    assert found.shape == (0,)
    assert found.dtype == np.float64


def test_scores_are_symmetric(case: tuple[Case, Scorer]) -> None:
    """Which text comes first does not matter."""
    chosen, scorer = case
    pairs = ordinary_pairs()
    assert any(a != b for a, b in pairs)
    there, back = scorer.similarities(pairs), scorer.similarities([(b, a) for a, b in pairs])
    np.testing.assert_allclose(there, back, atol=chosen.tolerance or 1e-9)


def test_scores_are_deterministic(case: tuple[Case, Scorer]) -> None:
    """The same call twice gives the same bits."""
    pairs = ordinary_pairs()
    np.testing.assert_array_equal(case[1].similarities(pairs), case[1].similarities(pairs))


def test_the_order_of_pairs_does_not_matter(case: tuple[Case, Scorer]) -> None:
    """Reversed pairs give reversed scores, also for scorers that learn from the batch."""
    chosen, scorer = case
    pairs = ordinary_pairs()
    there, back = scorer.similarities(pairs), scorer.similarities(pairs[::-1])
    np.testing.assert_allclose(there, back[::-1], atol=chosen.tolerance or 1e-9)


def test_a_batch_equals_one_by_one(case: tuple[Case, Scorer]) -> None:
    """A pair's score does not depend on its company."""
    chosen, scorer = case
    if chosen.tolerance is None:
        assert "evaluated set" in scorer.name, "a scorer that learns from the batch must say so"
        return
    pairs = [*ordinary_pairs(10), ("", "ship"), ("ship", "ship")]
    apart = np.concatenate([scorer.similarities([pair]) for pair in pairs])
    np.testing.assert_allclose(scorer.similarities(pairs), apart, atol=chosen.tolerance)


def test_a_text_is_most_similar_to_itself(case: tuple[Case, Scorer]) -> None:
    """Identical texts score 1."""
    scorer = case[1]
    pairs = [(text, text) for text, _ in ordinary_pairs() if "ship" in text]
    assert pairs
    np.testing.assert_allclose(scorer.similarities(pairs), 1.0, atol=1e-6)


def test_scorers_have_names(case: tuple[Case, Scorer]) -> None:
    """A line of text for people."""
    assert case[1].name
    assert "\n" not in case[1].name

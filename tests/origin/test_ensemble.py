"""Origin's default: a weighted mean, explained by what sums to it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from firth.context.settings import Encoder
from firth.corpus.corpus import Corpus
from firth.lexical.words import words
from firth.origin.ensemble import WEIGHTS, EnsembleOrigin
from firth.origin.origin import Origin
from firth.paper.origin import PaperOrigin
from firth.run.errors import ConfigError, InputError, MissingStageError
from firth.run.run import Run

A = "The ship reached the harbour near the island."
B = "A sailor left the harbour in a storm."
PAIRS = [(A, B), (B, A), (A, A), ("", A), ("", "")]


def opened(run: Path | Run, **changes: Any) -> EnsembleOrigin:
    found = Origin.open(run, method="ensemble", **changes)
    assert isinstance(found, EnsembleOrigin)
    return found


@pytest.fixture(scope="module")
def origin(tiny_run: Path) -> EnsembleOrigin:
    return opened(tiny_run)


def test_the_method_decides_the_kind(tiny_run: Path) -> None:
    """The run's setting, or the one given in its place."""
    assert isinstance(Origin.open(tiny_run), PaperOrigin)
    assert isinstance(Origin.open(tiny_run, method="ensemble"), EnsembleOrigin)
    with pytest.raises(ConfigError, match="method"):
        Origin.open(tiny_run, method="other")


def test_the_score_is_the_weighted_mean_of_its_components(
    tiny_run: Path, origin: EnsembleOrigin
) -> None:
    """Weights are divided by their sum; one of 0 leaves a component out."""
    found = {name: each.similarities(PAIRS[:2]) for name, each in origin.components.items()}
    expected = (2 * found["sentences"] + found["words"] + found["terms"]) / 4
    np.testing.assert_allclose(origin.similarities(PAIRS[:2]), expected, atol=1e-9)
    only = opened(tiny_run, weights={"sentences": 0, "words": 0.3, "terms": 0})
    np.testing.assert_allclose(only.similarities(PAIRS[:1]), found["words"][:1], atol=1e-12)
    assert set(only.explain(A, B).components) == {"words"}
    with pytest.raises(ConfigError, match="all three weights are 0"):
        opened(tiny_run, weights={"sentences": 0, "words": 0, "terms": 0})


def test_weights_are_those_of_the_encoder_that_was_built(prompt_run: Path) -> None:
    """A configuration that names another encoder by now does not change the ensemble."""
    run = Run.open(prompt_run)
    built = opened(run)
    assert run.config.context.encoder is Encoder.CAUSAL_LM, "premise: a language model was built"
    changed = run.changed({"context": {"encoder": "bag"}})
    assert WEIGHTS[Encoder.BAG] != WEIGHTS[Encoder.CAUSAL_LM], "premise"
    assert (
        opened(changed).weights
        == built.weights
        == pytest.approx({"sentences": 4 / 6, "words": 1 / 6, "terms": 1 / 6})
    )
    assert opened(changed).similarity(A, B) == built.similarity(A, B)


def test_it_is_symmetric_and_equal_texts_score_one(origin: EnsembleOrigin) -> None:
    """To the last bit; empty texts are no exception."""
    found = origin.similarities(PAIRS).tolist()
    assert found[0] == found[1]
    assert found[2] == found[4] == 1.0
    assert found[3] == 0.0
    assert 0 < found[0] < 1


@pytest.mark.parametrize(
    ("one", "two", "most"),
    [
        ("!!!", "???", 0.0),
        ("", "...", 0.0),
        ("Xqzzy blorped.", "Wuffle grommed.", 0.0),
        ("The xqzzy blorped.", "The wuffle grommed.", 0.2),
        ("The xqzzy ship blorped.", "The wuffle ships grommed.", 0.5),
    ],
)
def test_nothing_known_is_not_the_same(
    origin: EnsembleOrigin, one: str, two: str, most: float
) -> None:
    """Texts that differ in what the corpus never had are not one text for lack of knowledge."""
    known = [[w for w in words(text) if w not in origin.unknown(text)] for text in (one, two)]
    assert [w.rstrip("s") for w in known[0]] == [w.rstrip("s") for w in known[1]], "premise"
    assert 0.0 <= origin.similarity(one, two) <= most
    assert origin.similarity(one, two) == origin.similarity(two, one)
    found = origin.explain(one, two)
    assert found.similarity == pytest.approx(origin.similarity(one, two), abs=1e-9)
    listed = sum(item.contribution for item in found.evidence)
    assert listed + sum(found.rest.values()) == pytest.approx(found.similarity)


def test_a_language_model_sees_what_the_corpus_never_had(prompt_run: Path) -> None:
    """Its share of the score stays; that of the words the corpus knows is worth little."""
    origin = opened(prompt_run)
    pair = ("The xqzzy blorped.", "The wuffle grommed.")
    (sentences,) = origin.components["sentences"].similarities([pair])
    assert origin.components["words"].similarities([pair])[0] == pytest.approx(1), "premise"
    whole = origin.similarity(*pair)
    assert 4 / 6 * sentences <= whole + 1e-9
    assert whole < 4 / 6 * sentences + 0.1


def test_unknown_words_are_named(origin: EnsembleOrigin, tiny_run: Path) -> None:
    """Each once, in order, as lowercased words; none of a text that the corpus has."""
    assert origin.unknown("The Xqzzy ships blorped, xqzzy!") == ["xqzzy", "blorped"]
    assert origin.unknown(Corpus.open(tiny_run).text(0)) == []
    assert Origin.open(tiny_run, method="paper").unknown("xqzzy") == [], "it keeps no list"


def test_an_explanation_sums_to_the_score(origin: EnsembleOrigin) -> None:
    """Components sum to the score; evidence and rest of each to what it adds."""
    found = origin.explain(A, B)
    assert found.similarity == pytest.approx(origin.similarity(A, B), abs=1e-9)
    assert sum(each.added for each in found.components.values()) == pytest.approx(found.similarity)
    for name, each in found.components.items():
        listed = sum(item.contribution for item in found.evidence if item.component == name)
        assert listed + found.rest[name] == pytest.approx(each.added)
        assert each.added == pytest.approx(each.weight * each.similarity)
    shown = found.shown(2)
    assert len(shown) <= 6
    assert any("harbour" in item.text for item in shown)
    assert all(item.document for item in found.evidence if item.component == "sentences")
    assert set(found.as_dict()["evidence"][0]) >= {"component", "contribution", "position"}


def test_an_unbuilt_stage_names_its_command(tmp_path: Path, tiny_run: Path) -> None:
    """What to type, if the context stage is missing."""
    run = Run.create(tmp_path / "run", Run.open(tiny_run).config)
    with pytest.raises(MissingStageError, match="firth train context --run"):
        Origin.open(run, method="ensemble")


@pytest.mark.parametrize(("one", "two"), [(A, A), ("", ""), ("zzz qqq", "zzz qqq")])
def test_equal_texts_are_explained_as_equal(origin: EnsembleOrigin, one: str, two: str) -> None:
    """The explanation's score is the similarity, and still the sum of what its components add."""
    found = origin.explain(one, two)
    assert found.similarity == pytest.approx(origin.similarity(one, two)) == 1.0
    whole = sum(item.contribution for item in found.evidence) + sum(found.rest.values())
    assert whole == pytest.approx(1.0)


@pytest.mark.parametrize("method", ["ensemble", "paper"])
def test_what_is_no_pair_of_texts_is_refused(tiny_run: Path, method: str) -> None:
    """A string is not taken for a list of pairs, nor its letters for sentences."""
    found = Origin.open(tiny_run, method=method)
    for wrong in ("ab cd", [(A,)], [(A, B, A)], [(A, None)], [A]):
        with pytest.raises(InputError, match="expected two texts"):
            found.similarities(wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="pair 1"):
        found.similarities([(A, B), (A, 5)])  # type: ignore[list-item]
    with pytest.raises(InputError, match="expected two texts"):
        found.explain(A, 3)  # type: ignore[arg-type]


def test_an_origin_can_be_evaluated(origin: EnsembleOrigin) -> None:
    """It is a scorer as any other, with a name for the table."""
    from firth import evaluate

    found = evaluate(origin, ["lee"], resamples=2, leakage=False)
    assert "Origin, 0.50 sentences" in found.table()


def test_evidence_adds_something(origin: EnsembleOrigin) -> None:
    """Words that add nothing to the score are no evidence for it."""
    found, _ = origin.components["words"].contributions(A, "zzz", 20)
    assert found, "the premise: words of A"
    assert all(item.contribution == 0 for item in found), "the premise: they meet none"
    assert all(item.contribution != 0 for item in origin.explain(A, "zzz").evidence)

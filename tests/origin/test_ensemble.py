"""Origin's default: a weighted mean, explained by what sums to it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from firth.corpus.corpus import Corpus
from firth.origin import ORIGIN
from firth.origin.blend import BLEND, DEFAULT, Blend
from firth.origin.ensemble import EnsembleOrigin
from firth.origin.evidence import EQUAL, THEMES, WORDS
from firth.origin.origin import Origin
from firth.origin.settings import OriginConfig
from firth.paper.origin import PaperOrigin
from firth.run.errors import ConfigError, InputError, MissingStageError
from firth.run.run import Run

A = "The ship reached the harbour near the island."
B = "A sailor left the harbour in a storm."
PAIRS = [(A, B), (B, A), (A, A), ("", A), ("", ""), ("Xqzzy ships!", B), (B, "Xqzzy ships!")]


def opened(run: Path | Run, **changes: Any) -> EnsembleOrigin:
    found = Origin.open(run, method="ensemble", **changes)
    assert isinstance(found, EnsembleOrigin)
    return found


@pytest.fixture(scope="module")
def origin(tiny_run: Path) -> EnsembleOrigin:
    return opened(tiny_run)


@pytest.fixture(scope="module", params=["bag", "language model"])
def either(request: pytest.FixtureRequest, tiny_run: Path, prompt_run: Path) -> EnsembleOrigin:
    return opened(tiny_run if request.param == "bag" else prompt_run)


def test_the_method_decides_the_kind(tiny_run: Path) -> None:
    """The run's setting, or the one given in its place."""
    assert isinstance(Origin.open(tiny_run), PaperOrigin)
    assert isinstance(Origin.open(tiny_run, method="ensemble"), EnsembleOrigin)
    with pytest.raises(ConfigError, match="method"):
        Origin.open(tiny_run, method="other")


def test_the_score_is_the_weighted_mean_of_its_components(tiny_run: Path) -> None:
    """Weights are divided by their sum; one of 0 leaves a component out."""
    origin = opened(tiny_run, weights={"sentences": 1, "words": 3})
    found = {name: each.similarities(PAIRS[:2]) for name, each in origin.components.items()}
    expected = (found["sentences"] + 3 * found["words"]) / 4
    np.testing.assert_allclose(origin.similarities(PAIRS[:2]), expected, atol=1e-9)
    for name in found:
        only = opened(tiny_run, weights={"sentences": 0, "words": 0} | {name: 0.3})
        np.testing.assert_allclose(only.similarities(PAIRS[:1]), found[name][:1], atol=1e-12)
    assert only.explain(A, B).parts[THEMES].added == 0
    with pytest.raises(ConfigError, match="both weights are 0"):
        opened(tiny_run, weights={"sentences": 0, "words": 0})


FOUR, MORE = "4 ships left the harbour.", "23 ships left the harbour."


def test_numbers_that_differ_take_a_share(tiny_run: Path, prompt_run: Path) -> None:
    """As large a share as is set; none where one text has none, nor of a score below 0."""
    pairs = [(FOUR, MORE), (FOUR, "4 ships and 23 boats left."), (FOUR, "Ships left."), (A, B)]
    for run in (tiny_run, prompt_run):
        plain = opened(run, numbers=0).similarities(pairs)
        assert plain.max() > 0
        for share in (0.25, 1.0):
            found = opened(run, numbers=share).similarities(pairs)
            taken = share * np.array([1, 0.5, 0, 0]) * np.maximum(plain, 0)
            np.testing.assert_allclose(found, plain - taken, atol=1e-12)
    assert opened(tiny_run, numbers=0).similarity(FOUR, MORE) > 0.1, "it takes something away here"
    assert opened(tiny_run).name.endswith("- 0.25 numbers")
    assert "numbers" not in opened(tiny_run, numbers=0).name
    with pytest.raises(ConfigError, match="numbers"):
        opened(tiny_run, numbers=1.5)


def test_own_is_the_length_of_own_directions(tiny_run: Path) -> None:
    """Without them, only what was learned and which word meets which says anything."""
    added = [opened(tiny_run, own=own).explain(A, B).parts[WORDS].added for own in (0, 0.5, 2)]
    assert added[0] < added[1] < added[2]


def test_the_blend_is_as_configured_and_for_the_rest_as_chosen(
    tiny_run: Path, tmp_path: Path
) -> None:
    """A setting that is given wins; the stage is asked for what is left open, and only then."""
    run = Run.open(tiny_run)
    stored = json.loads((run.folder(ORIGIN) / BLEND).read_text())["chosen"]
    chosen = Blend(**stored)
    assert Blend.of(run, OriginConfig()) == chosen
    assert Blend.of(run, OriginConfig(own=3.0)) == Blend(chosen.sentences, chosen.words, 3.0)
    whole = OriginConfig.model_validate({"weights": {"sentences": 2, "words": 1}, "own": 0.1})
    assert Blend.of(Run.create(tmp_path / "run", run.config), whole) == Blend(2.0, 1.0, 0.1)
    weights = whole.model_copy(update={"own": None})
    assert Blend.of(run, weights) == Blend(2.0, 1.0, chosen.own)
    assert opened(run, weights={"words": 9.0}, own=0.1).weights["words"] == 0.9
    assert opened(run).weights["words"] == chosen.words / (chosen.sentences + chosen.words)


def test_it_is_symmetric_and_equal_texts_score_one(either: EnsembleOrigin) -> None:
    """To the last bit; empty texts are no exception."""
    found = either.similarities(PAIRS).tolist()
    assert found[0] == found[1]
    assert found[2] == found[4] == 1.0
    assert found[5] == found[6]
    assert -1 <= found[0] < 1


def test_company_changes_no_bit(origin: EnsembleOrigin) -> None:
    """A batch gives what its pairs give one by one."""
    assert origin.similarities(PAIRS).tolist() == [origin.similarity(*pair) for pair in PAIRS]
    assert origin.similarities([]).shape == (0,)


@pytest.mark.parametrize(
    ("one", "two", "most"),
    [
        ("!!!", "???", 0.0),
        ("", "...", 0.0),
        ("", A, 0.0),
        ("Xqzzy blorped.", "Wuffle grommed.", 0.0),
        ("The xqzzy blorped.", "The wuffle grommed.", 0.2),
        ("The xqzzy ship blorped.", "The wuffle ships grommed.", 0.5),
    ],
)
def test_nothing_shared_is_not_the_same(
    origin: EnsembleOrigin, one: str, two: str, most: float
) -> None:
    """Texts that differ in what the corpus never had are not one text for lack of knowledge."""
    assert 0.0 <= origin.similarity(one, two) <= most
    assert origin.similarity(one, two) == origin.similarity(two, one)


def test_a_shared_unknown_name_brings_together(either: EnsembleOrigin) -> None:
    """What the corpus never had counts as the rarest: with a language model, too."""
    same, other = either.similarities(
        [("Xqzzy left.", "The ship met Xqzzy."), ("Xqzzy left.", "The ship met Wuffle.")]
    )
    assert same > other + 0.05


def test_unknown_words_are_named(origin: EnsembleOrigin, tiny_run: Path) -> None:
    """Each once, in order, as lowercased words; none of a text that the corpus has."""
    assert origin.unknown("The Xqzzy ships blorped, xqzzy!") == ["xqzzy", "blorped"]
    assert origin.unknown(Corpus.open(tiny_run).text(0)) == []
    assert Origin.open(tiny_run, method="paper").unknown("xqzzy") == [], "it keeps no list"


def test_equal_texts_without_words_are_equal_for_that(origin: EnsembleOrigin) -> None:
    """No other texts have this part."""
    assert origin.explain("!", "!").parts[EQUAL].added == 1.0
    assert EQUAL not in origin.explain(A, A).parts
    assert EQUAL not in origin.explain("!", "?").parts


def test_an_unbuilt_stage_names_its_command(tmp_path: Path, tiny_run: Path) -> None:
    """What to type, if the context stage is missing, or the blend that nothing else names."""
    run = Run.create(tmp_path / "run", Run.open(tiny_run).config)
    with pytest.raises(MissingStageError, match="firth train context --run"):
        Origin.open(run, method="ensemble")
    with pytest.raises(MissingStageError, match="firth train context --run"):
        Blend.of(run, OriginConfig(own=DEFAULT.own))


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
    assert "Origin, 0.67 sentences" in found.table()

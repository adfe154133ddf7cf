"""Simulated annotators behave as their settings say, and noise can be found back."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm, spearmanr

from firth.relatedness.bws.answers import Fault, Judgements, sort_answers
from firth.relatedness.bws.design import design_tuples
from firth.relatedness.bws.records import Item, Tuple
from firth.relatedness.bws.reliability import split_half
from firth.relatedness.bws.simulate import (
    Crowd,
    Noise,
    calibrate_noise,
    choose,
    draw_noise,
    evenly_spread,
    make_plan,
    noise_of_pilot,
    simulate_answers,
    simulate_judgements,
    spread_like,
    with_random_truth,
)
from firth.run.errors import InputError

from .conftest import truth_of


def questionnaire(items: int, factor: float = 2.0) -> tuple[list[Item], list[Tuple]]:
    names = [f"i{n:03}" for n in range(items)]
    truth = truth_of(items).tolist()
    rows = design_tuples(items, factor=factor)
    tuples = [Tuple(f"t{n}", tuple(names[i] for i in row)) for n, row in enumerate(rows.tolist())]
    return [Item(n, ("text",), s) for n, s in zip(names, truth, strict=True)], tuples


@pytest.mark.parametrize("kind", Noise)
def test_noise_has_unit_scale(kind: Noise) -> None:
    """Mean 0, standard deviation 1: `Crowd.noise` means the same for both."""
    drawn = draw_noise((200_000,), kind, np.random.default_rng(1))
    assert abs(drawn.mean()) < 0.01
    assert abs(drawn.std() - 1) < 0.01


def test_the_best_is_chosen_as_often_as_thurstone_says() -> None:
    """Of two items with others far between them in doubt: p = Φ(difference / (σ √2))."""
    truth = np.array([10.0, 10.3, 0.0])
    tuples = np.tile([0, 1, 2], (40_000, 1))
    found, _ = simulate_judgements(truth, tuples, 1, Crowd(0.4), seed=1)
    assert np.all(found.worst == 2)
    assert (found.best == 1).mean() == pytest.approx(norm.cdf(0.3 / (0.4 * 2**0.5)), abs=0.01)


def test_the_best_is_chosen_as_often_as_luce_says() -> None:
    """Gumbel noise of scale β: shares are proportional to exp(score / β)."""
    truth = np.array([0.0, 0.2, 0.5, 0.4])
    tuples = np.tile([0, 1, 2, 3], (60_000, 1))
    found, _ = simulate_judgements(truth, tuples, 1, Crowd(0.3, Noise.GUMBEL), seed=1)
    weights = np.exp(truth / (0.3 * 6**0.5 / np.pi))
    shares = np.bincount(found.best, minlength=4) / 60_000
    assert shares == pytest.approx(weights / weights.sum(), abs=0.01)


def test_best_and_worst_differ_even_when_all_is_equal() -> None:
    """Without noise, equal items still get two different answers."""
    best, worst = choose(np.zeros((5, 4)), np.tile(np.arange(4), (5, 1)))
    assert np.all(best != worst)


def test_every_tuple_has_its_answers_by_different_people() -> None:
    """And work is dealt out evenly."""
    tuples = design_tuples(30)
    found, who = simulate_judgements(truth_of(30), tuples, 3, Crowd(0.1, annotators=7), seed=1)
    assert np.all(np.bincount(found.asked) == 3)
    assert len({(a, w) for a, w in zip(found.asked, who, strict=True)}) == len(found)
    assert np.ptp(np.bincount(who, minlength=7)) <= 1
    with pytest.raises(InputError, match="8 answers to a tuple by 7 annotators"):
        simulate_judgements(truth_of(30), tuples, 8, Crowd(0.1, annotators=7), seed=1)


def test_careless_annotators_are_caught_by_gold() -> None:
    """All of them, and none of the others; and scores are better without their answers."""
    items, tuples = questionnaire(120)
    crowd = Crowd(0.08, careless=0.25, annotators=40)
    found = simulate_answers(items, tuples, crowd, answers=4, gold=20)
    caught = sort_answers(tuples, found.annotations, found.gold)
    assert crowd.n_careless == 10
    assert {one.name for one in caught.failed} == {f"w{n:02}" for n in range(1, 11)}
    assert set(caught.faults) == {Fault.FAILED, Fault.GOLD}
    believed = sort_answers(tuples, found.annotations, found.gold, threshold=0)
    truth = np.array([item.score for item in items])
    right = [
        spearmanr(Judgements.of(tuples, one.kept).count().scores, truth).statistic
        for one in (caught, believed)
    ]
    assert right[0] > right[1] + 0.01


@pytest.mark.parametrize("kind", Noise)
def test_noise_is_found_for_a_reliability(kind: Noise) -> None:
    """With other random numbers, too, the noise found has the reliability asked for."""
    truth, tuples = truth_of(600), design_tuples(600)
    crowd = Crowd(0.0, kind)
    noise = calibrate_noise(truth, tuples, 2, crowd, 0.8, seed=1)
    again, _ = simulate_judgements(truth, tuples, 2, replace(crowd, noise=noise), seed=2)
    assert split_half(again, seed=2, splits=40).spearman.mean() == pytest.approx(0.8, abs=0.03)


def test_what_no_noise_reaches_is_said() -> None:
    """Careless annotators bound the reliability; scores that are all alike have none."""
    truth, tuples = truth_of(100), design_tuples(100)
    with pytest.raises(InputError, match=r"no noise gives a reliability of 0\.95: without noise"):
        calibrate_noise(truth, tuples, 2, Crowd(0, careless=0.6), 0.95, seed=1)
    with pytest.raises(InputError, match="all alike"):
        calibrate_noise(np.ones(100), tuples, 2, Crowd(0), 0.8, seed=1)
    with pytest.raises(InputError, match="between 0 and 1"):
        calibrate_noise(truth, tuples, 2, Crowd(0), 84, seed=1)


def test_the_noise_of_a_pilot_is_found_back() -> None:
    """From its answers alone, tuples with different numbers of answers included."""
    truth, tuples = truth_of(500), design_tuples(500)
    numbers = np.where(np.arange(len(tuples)) % 3 == 0, 3, 2)
    pilot, _ = simulate_judgements(truth, tuples, numbers, Crowd(0.25), seed=4)
    noise, reliability = noise_of_pilot(pilot, Crowd(0), None, seed=13)
    assert noise == pytest.approx(0.25, rel=0.1)
    assert 0.5 < reliability < 0.9


def test_spread_of_known_scores() -> None:
    """`spread_like` keeps the distribution, whatever the number of items."""
    scores = np.array([0.0, 0.1, 0.1, 0.9])
    means = [spread_like(scores, n).mean() for n in (4000, 400)]
    assert means[0] == pytest.approx(means[1], abs=1e-3)
    assert evenly_spread(4).tolist() == [0.125, 0.375, 0.625, 0.875]


def test_plan() -> None:
    """More answers are more reliable and dearer; the cheapest option is just what it says."""
    plan = make_plan(300, 0.75, Crowd(0.25), factors=(1.0, 2.0), answers=(2, 4, 8))
    cells = {(one.factor, one.answers): one for one in plan.options}
    assert len(cells) == 6
    for factor in (1.0, 2.0):
        shr = [cells[factor, n].shr.mean for n in (2, 4, 8)]
        truth = [cells[factor, n].truth for n in (2, 4, 8)]
        assert shr == sorted(shr)
        assert truth == sorted(truth)
        assert cells[factor, 4].judgements == 300 * factor * 4
    enough = [one for one in plan.options if one.shr.mean >= 0.75]
    assert 0 < len(enough) < 6
    assert plan.cheapest in enough
    assert plan.cheapest is not None
    assert plan.cheapest.judgements == min(one.judgements for one in enough)
    assert f"{plan.cheapest.judgements:,} judgements" in plan.text()
    assert plan.nearest is not None
    assert plan.nearest.judgements <= plan.cheapest.judgements
    assert plan.nearest.truth >= plan.cheapest.truth
    hopeless = make_plan(50, 0.99, Crowd(0.5), factors=(1.0,), answers=(2,))
    assert hopeless.cheapest is None
    assert "no design here reaches 0.99" in hopeless.text()


def test_fewer_tuples_look_more_reliable_than_they_are() -> None:
    """Halves share their tuples, so that split-half reliability does not see what chance put
    together: for as many judgements, more tuples are nearer to the truth."""
    plan = make_plan(400, 0.8, Crowd(0.1), factors=(1.0, 4.0), answers=(2, 8))
    few, many = (
        next(one for one in plan.options if (one.factor, one.answers) == key)
        for key in ((1.0, 8), (4.0, 2))
    )
    assert few.judgements == many.judgements
    assert many.truth > few.truth + 0.02
    assert few.shr.mean > many.shr.mean - 0.01


def test_files(tmp_path: Path) -> None:
    """What is written can be read by the other commands; same seed, same bytes."""
    items, tuples = questionnaire(40)
    for name in "xy":
        (tmp_path / name).mkdir()
        simulate_answers(items, tuples, Crowd(0.1), target=0.8, gold=3).write(tmp_path / name)
    for file in sorted(tmp_path.glob("x/*")):
        assert file.read_bytes() == (tmp_path / "y" / file.name).read_bytes()
    truth = list(csv.DictReader((tmp_path / "x/truth.csv").open()))
    assert [float(row["score"]) for row in truth] == [item.score for item in items]
    summary = json.loads((tmp_path / "x/summary.json").read_text())
    assert summary["split-half reliability"] == pytest.approx(0.8, abs=0.03)
    assert summary["annotations"] == 77 * 2 + 3 * 100


def test_items_need_scores() -> None:
    """Who simulates must know the truth."""
    items, tuples = questionnaire(10)
    items[3] = Item("i003", ("text",))
    with pytest.raises(InputError, match="1 of 10 items have no score, as 'i003'"):
        simulate_answers(items, tuples, Crowd(0.1))


def test_a_truth_can_be_made_up() -> None:
    """To try a questionnaire with: all scores differ, and say nothing about the order."""
    items, _ = questionnaire(40)
    made_up = with_random_truth([replace(item, score=None) for item in items], 5)
    scores = [item.score for item in made_up]
    assert [item.id for item in made_up] == [item.id for item in items]
    assert len(set(scores)) == 40
    assert scores != sorted(scores, key=lambda score: score or 0)
    assert made_up == with_random_truth(items, 5)


@pytest.mark.parametrize("wrong", [{"noise": -1}, {"careless": 2}, {"annotators": 0}])
def test_impossible_annotators(wrong: dict[str, float]) -> None:
    """Are named."""
    with pytest.raises(InputError, match="simulated annotators: got"):
        Crowd(**{"noise": 0.1, **wrong})  # type: ignore[arg-type]

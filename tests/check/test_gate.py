"""Do no harm: on constructed figures, nothing that fell on any kind is ever kept."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.check.gate import judge, keep, spare, telling
from firth.check.items import Kind
from firth.check.measure import Figure
from firth.check.report import Checked, CheckReport
from firth.context.settings import TuneConfig
from firth.context.tune import counting

REFERENCE = "as it is"
COUNTS = counting(TuneConfig())


def figure(low: float, high: float) -> Figure:
    return Figure((low + high) / 2, low, high)


def report(
    ahead: Mapping[str, Mapping[Kind, Figure]], documents: int = 50, base: float = 60.0
) -> CheckReport:
    """Candidates so far ahead of a reference that has `base` on every kind."""
    systems = [Checked(REFERENCE, {k: figure(base, base) for k in Kind},
                       {k: figure(0, 0) for k in Kind})]  # fmt: skip
    for name, leads in ahead.items():
        whole = {kind: leads.get(kind, figure(-1, 1)) for kind in Kind}
        accuracy = {k: figure(base + lead.value, base + lead.value) for k, lead in whole.items()}
        systems.append(Checked(name, accuracy, whole))
    counted = dict.fromkeys(Kind, documents)
    return CheckReport(tuple(systems), REFERENCE, counted, counted, 0, 13, 1_000)


UP, DOWN, LEVEL = figure(1, 3), figure(-3, -1), figure(-1, 1)
ENDS = st.tuples(st.floats(-40, 40), st.floats(-40, 40)).map(lambda ends: figure(*sorted(ends)))


@given(
    ahead=st.dictionaries(
        st.sampled_from(["centred", "tuned", "tuned, centred"]),
        st.dictionaries(st.sampled_from(list(Kind)), ENDS),
    ),
    documents=st.integers(1, 50),
)
def test_what_fell_is_never_kept(ahead: dict[str, dict[Kind, Figure]], documents: int) -> None:
    """What is kept is the reference, or fell on nothing, rose on what counts, and has no lower
    mean over what counts."""
    found = report(ahead, documents)
    kept, verdicts = keep(found, COUNTS)
    assert {verdict.candidate for verdict in verdicts} == set(ahead)
    if kept == REFERENCE:
        return
    one = next(system for system in found.systems if system.model == kept)
    assert all(lead.sign >= 0 for lead in one.ahead.values())
    assert any(one.ahead[kind].sign > 0 for kind in COUNTS)
    assert sum(one.ahead[kind].value for kind in COUNTS) > 0
    assert documents >= 10


@pytest.mark.parametrize(
    ("leads", "admitted", "why"),
    [
        ({Kind.CROP: UP}, True, "rose on crop and fell on nothing"),
        ({Kind.NUMBER: UP, Kind.NEXT: UP}, True, "rose on number and"),
        ({Kind.NEXT: UP}, False, "rose on next only"),
        ({Kind.CROP: UP, Kind.NEGATION: DOWN}, False, "fell on negation"),
        ({Kind.CROP: UP, Kind.NEXT: DOWN}, False, "fell on next"),
        ({}, False, "rose on nothing"),
        ({Kind.CROP: Figure(5.0, None, None)}, False, "rose on nothing"),
    ],
)
def test_verdicts(leads: dict[Kind, Figure], admitted: bool, why: str) -> None:
    """A rise of what counts admits; a fall of anything does not; `next` alone is no reason."""
    found = report({"tuned": leads})
    (verdict,) = keep(found, COUNTS)[1]
    assert verdict.admitted is admitted
    assert why in verdict.why
    assert (keep(found, COUNTS)[0] == "tuned") is admitted


def test_few_documents_admit_nothing() -> None:
    """A rise on items of nine documents is not believed; a fall is."""
    assert not judge(
        report({"a": {Kind.CROP: UP}}, 9).systems[1], dict.fromkeys(Kind, 9), COUNTS
    ).admitted
    found = judge(report({"a": {Kind.NAME: DOWN}}, 2).systems[1], dict.fromkeys(Kind, 2), COUNTS)
    assert found.lost == (Kind.NAME,)


def test_to_guess_is_no_gain() -> None:
    """A rise that ends below chance admits nothing, since forgetting gives it; the same rise does
    where it ends above."""
    risen = {"a": {Kind.NEGATION: figure(20, 30)}}
    kept, (verdict,) = keep(report(risen, base=10.0), COUNTS)
    assert (kept, verdict.admitted, verdict.gained) == (REFERENCE, False, (Kind.NEGATION,))
    assert "is right no more than by chance" in verdict.why
    assert keep(report(risen, base=30.0), COUNTS)[0] == "a"


def test_the_best_of_those_admitted_is_kept() -> None:
    """By the mean over the kinds that count; at equal means the earliest, the reference first."""
    better, best = {Kind.CROP: UP}, {Kind.CROP: figure(2, 6)}
    assert keep(report({"a": better, "b": best}), COUNTS)[0] == "b"
    assert keep(report({"a": best, "b": best}), COUNTS)[0] == "a"
    flattered = {Kind.NEXT: figure(20, 30), Kind.CROP: figure(0.1, 0.2)}
    assert keep(report({"a": better, "b": flattered}), COUNTS)[0] == "a"
    level = {Kind.CROP: UP, Kind.NAME: figure(-8, 1)}
    assert keep(report({"a": level}), COUNTS)[0] == REFERENCE


def test_what_training_asks_for_does_not_count() -> None:
    """`crop` is no reason to keep a model that was tuned on crops."""
    assert Kind.NEXT not in COUNTS
    assert Kind.CROP in COUNTS
    assert Kind.CROP not in counting(TuneConfig(pairs="crops"))  # type: ignore[arg-type]
    assert Kind.CROP in counting(TuneConfig(pairs="crops", steps=0))  # type: ignore[arg-type]


@pytest.mark.parametrize("fallen", ["mean", "together", "neither"])
def test_edits_do_not_outweigh_what_belongs_together(fallen: str) -> None:
    """A student that rose on the whole is thrown away where it fell on what belongs together."""
    checked = report({"trained": {Kind.NUMBER: UP}}).systems[1]
    mean, together = (DOWN if fallen == name else UP for name in ("mean", "together"))
    found = spare(checked, mean, (Kind.NEXT, Kind.NUMBER), together)
    assert found.admitted is (fallen == "neither")
    assert ("fell on the mean of next (-2.0 [-3.0, -1.0])" in found.why) is (fallen == "together")


@given(low=st.floats(-40, 40), width=st.floats(0, 10), few=st.booleans())
def test_what_is_asked_for_is_spared_unless_the_mean_falls(
    low: float, width: float, few: bool
) -> None:
    """A student is thrown away where the interval of its mean lies below zero, and nowhere else;
    what rose and fell is named whatever is decided."""
    checked = report({"trained": {Kind.CROP: UP, Kind.NAME: DOWN}}).systems[1]
    counts = telling(dict.fromkeys(Kind, 9 if few else 10))
    assert bool(counts) is not few
    mean = None if few else figure(low, low + width)
    found = spare(checked, mean, counts)
    assert found.admitted is (mean is None or low + width >= 0)
    assert (found.gained, found.lost) == ((Kind.CROP,), (Kind.NAME,))
    assert "by kind it rose on crop and fell on name" in found.why

"""What labels are worth: each warning where it is due, and none where nothing is wrong."""

import numpy as np
import pytest

from firth.harvest.labels import ONLY_LENGTH, label_report, told
from firth.lexical.arrays import Floats
from firth.lexical.scorer import TextPair
from firth.lexical.tfidf import TfIdf
from firth.lexical.words import words

RNG = np.random.default_rng(3)
WORDS = [f"word{number}" for number in range(300)]


def drawn(count: int) -> list[TextPair]:
    """Pairs of 3 to 12 words, of which some are shared."""
    found = []
    for _ in range(count):
        size, other, shared = (int(RNG.integers(*ends)) for ends in ((3, 13), (3, 13), (0, 4)))
        common = list(RNG.choice(WORDS, shared))
        one, two = (
            " ".join([*common, *RNG.choice(WORDS, max(0, many - shared))]) for many in (size, other)
        )
        found.append((one, two))
    return found


PAIRS = drawn(400)
NOISE = RNG.standard_normal(400)
TFIDF = TfIdf().similarities(PAIRS)
LENGTHS = np.array([len(words(one)) + len(words(two)) for one, two in PAIRS], float)


def test_good_labels_are_not_warned_of() -> None:
    """Figures are there, correlations say what the labels were made of, and nothing is wrong."""
    labels = TFIDF + 0.2 * NOISE
    parts = {"sentences": labels + 0.1 * RNG.standard_normal(400), "words": labels}
    report = label_report(PAIRS, labels, parts, {"blocked": 0})
    assert report["warnings"] == []
    assert report["tfidf"] > 0.3
    assert report["length"]["explained"] < 0.5
    assert report["components"]["words"] == 1.0
    assert 0.5 < report["agreement"]["sentences and words"] < 1
    assert sum(report["histogram"]["counts"]) == report["pairs"] == 400
    assert report["near_copies"] < 0.02
    assert told(report)["length"] == report["length"]["explained"]


@pytest.mark.parametrize(
    "labels",
    [LENGTHS + 0.01 * NOISE, -LENGTHS + NOISE, np.exp(LENGTHS / 4) + 0.01 * NOISE],
    ids=["longer", "shorter", "bent"],
)
def test_labels_that_are_only_length_are_called_worthless(labels: Floats) -> None:
    """Whatever the sign and the shape, and loudly."""
    report = label_report(PAIRS, labels, {})
    assert report["length"]["explained"] >= ONLY_LENGTH
    assert "WORTHLESS LABELS" in report["warnings"][0]
    assert "length" in report["warnings"][0]


def test_a_difference_of_lengths_is_length_too() -> None:
    """What no single length tells alone."""
    differences = np.array([abs(len(words(a)) - len(words(b))) for a, b in PAIRS], float)
    report = label_report(PAIRS, NOISE - 3 * differences, {})
    assert report["length"]["difference"] < -ONLY_LENGTH
    assert "WORTHLESS" in report["warnings"][0]


def test_other_faults_are_named() -> None:
    """tf-idf itself, parts that do not agree, few labels, near copies, leaks."""
    copies = [(one, one + " again") if n % 2 else (one, two) for n, (one, two) in enumerate(PAIRS)]
    copies = [
        (a, b) if len(words(a)) > 8 else pair for (a, b), pair in zip(copies, PAIRS, strict=True)
    ]
    parts = {"one": NOISE, "two": -NOISE}
    cases = {
        "tf-idf's": label_report(PAIRS, TFIDF + 1e-6 * NOISE, {}),
        "do not agree": label_report(PAIRS, NOISE, parts),
        "differ": label_report(PAIRS, np.where(NOISE > 0, 0.5, 0.25), {}),
        "near copies": label_report(copies, NOISE, {}),
        "LEAKAGE: 2": label_report(PAIRS, NOISE, {}, {"blocked": 2}),
    }
    for said, report in cases.items():
        assert said in " ".join(report["warnings"]), said


def test_what_cannot_be_told_is_none() -> None:
    """Two pairs, or one label for all: no figure, and no crash."""
    few = label_report(PAIRS[:2], NOISE[:2], {"one": NOISE[:2]})
    assert few["tfidf"] is None
    assert few["components"] == {"one": None}
    same = label_report(PAIRS, np.zeros(400), {})
    assert same["length"]["explained"] is None
    assert "WORTHLESS LABELS: only" in same["warnings"][0]

"""Overlap with a corpus: exactly what a comparison of all with all finds, counted by rows."""

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.corpus.build import build_corpus
from firth.evaluation import leakage
from firth.evaluation.files import Row
from firth.evaluation.leakage import find_copies, without_copies
from firth.evaluation.metrics import CORRELATIONS
from firth.evaluation.sets import evaluation_set
from firth.run.run import Run
from firth.text.words import normal_form

SEEN = "The old captain left the red harbour in a storm."
NEARLY = "The old captain left the red harbour in a storm yesterday."
OTHER = "Nobody had ever counted the lamps along that quiet street."


def test_rows_with_a_copy_of_a_text_or_of_a_sentence_in_it_are_left_out(
    empty_run: Run, tmp_path: Path
) -> None:
    """Exact and near copies; short texts are not looked for."""
    rows = [
        Row(texts=(SEEN.upper(), "Two cows stand alone in a field."), score=1.0),
        Row(texts=("It was late. " + SEEN, "Two cows stand alone in a field."), score=2.0),
        Row(texts=(NEARLY, "A ship."), score=3.0),
        Row(texts=("A ship.", "The sea."), score=4.0),
    ]
    (tmp_path / "day.txt").write_text(f"{OTHER} {SEEN} A ship.", encoding="utf-8")
    run = empty_run.changed({"corpus": {"held_out_fraction": 0.0}})
    build_corpus(run, [tmp_path / "day.txt"])
    made = evaluation_set("made", "test", rows, CORRELATIONS, "made up")
    (data,) = without_copies([made], run)
    assert data.rows == (rows[3],)
    assert data.notes[0].startswith("3 of 4 rows left out, with texts in ")


WORDS = ["a", "b", "c", "d", "The", "ship,", "sailed."]
TEXT = st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join)


def jaccard(one: str, two: str) -> float:
    first, second = (set(pairwise(normal_form(text).split())) for text in (one, two))
    return len(first & second) / max(len(first | second), 1)


@settings(max_examples=200)
@given(
    texts=st.lists(TEXT, max_size=8),
    sentences=st.lists(TEXT, max_size=12),
    threshold=st.sampled_from([0.3, 0.5, 0.7, 1.0]),
)
def test_nothing_is_missed_and_nothing_invented(
    texts: list[str], sentences: list[str], threshold: float
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(leakage, "MIN_WORDS", 3)
        patch.setattr(leakage, "_BLOCK", 5)
        patch.setattr("firth.text.near.NEAR", threshold)
        copies = find_copies(texts, sentences)
    long = [one for one in map(normal_form, sentences) if len(one.split()) >= 3]
    wanted = {one for one in map(normal_form, texts) if len(one.split()) >= 3}
    assert copies == {
        form
        for form in wanted
        if any(one == form or jaccard(form, one) >= threshold - 1e-9 for one in long)
    }

"""Finding sets: folder first, then hub; and what is said about what was found."""

import sys
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.evaluate.conftest import PAIR_COLUMNS, made_up_pairs, table

from firth.evaluate import load, readers
from firth.evaluate.load import load_set
from firth.evaluate.readers import hub_table, read_hub
from firth.evaluate.rows import Row, fingerprint_rows
from firth.evaluate.task import ALL, TASKS
from firth.run import progress
from firth.run.errors import InputError


def test_a_split_is_loaded_from_the_folder(data_dir: Path) -> None:
    """The default split, or the one asked for, and no row of another."""
    default, dev = load_set(TASKS["sts-b"], data_dir), load_set(TASKS["sts-b"], data_dir, "dev")
    assert (default.split, dev.split) == ("test", "dev")
    assert len(default.rows) == len(dev.rows) == 30
    assert default.fingerprint != dev.fingerprint
    assert list(dev.subtasks) == [ALL, "captions", "news"]


def test_missing_parts_are_said(data_dir: Path) -> None:
    """What was published and is not there: by name, count and reason."""
    notes = "\n".join(load_set(TASKS["sts13"], data_dir).notes)
    assert "SMT is missing (750 of 2250 published rows)" in notes
    assert "headlines: 0 rows, published with 750" in notes
    assert "FNWN: 20 rows, published with 189" in notes


def test_a_complete_set_has_nothing_to_be_said(tmp_path: Path) -> None:
    """Rows as published, all subtasks: no note; one row fewer: a note."""
    folder = tmp_path / "STS16"
    folder.mkdir()
    rows = [
        row
        for subtask, count in TASKS["sts16"].splits["test"].subtasks.items()
        for row in made_up_pairs(count, "test", [subtask], seed=count)
    ]
    rows = [(f"{i} {row[0]}", *row[1:]) for i, row in enumerate(rows)]
    (folder / "pairs.tsv").write_text(table(PAIR_COLUMNS, rows))
    assert load_set(TASKS["sts16"], tmp_path).notes == ()
    (folder / "pairs.tsv").write_text(table(PAIR_COLUMNS, rows[1:]))
    (note,) = load_set(TASKS["sts16"], tmp_path).notes
    assert note == "answer-answer: 253 rows, published with 254"


def write_year(folder: Path, year: int, subtasks: Mapping[str, int]) -> None:
    """A STSxx/pairs.tsv with so many rows of each subtask."""
    folder = folder / f"STS{year}"
    folder.mkdir(parents=True)
    rows = [row for name, n in subtasks.items() for row in made_up_pairs(n, "test", [name], seed=n)]
    (folder / "pairs.tsv").write_text(table(PAIR_COLUMNS, rows))


def test_smt_counts_only_where_it_is_asked_for(tmp_path: Path) -> None:
    """STS13 leaves SMT out and says so; sts13-smt counts it, and is nothing without it."""
    write_year(tmp_path, 13, {"FNWN": 5, "SMT": 7})
    without, counted = (load_set(TASKS[name], tmp_path) for name in ("sts13", "sts13-smt"))
    assert (len(without.rows), len(counted.rows)) == (5, 12)
    assert "SMT: its 7 rows are there and left out, as SentEval does" in without.notes
    assert not any("is missing" in note for note in without.notes)
    assert "SMT: 7 rows, published with 750" in counted.notes
    write_year(tmp_path / "other", 13, {"FNWN": 5})
    with pytest.raises(InputError, match="has no SMT"):
        load_set(TASKS["sts13-smt"], tmp_path / "other")


def test_the_cbos_sets_are_put_together_by_year(tmp_path: Path) -> None:
    """Each subtask under its year, SMT where it is; missing years and sets are noted."""
    write_year(tmp_path, 12, {"OnWN": 6})
    write_year(tmp_path, 13, {"OnWN": 5, "SMT": 3})
    found = load_set(TASKS["cbos-20"], tmp_path)
    assert {name: len(rows) for name, rows in found.subtasks.items()} == {
        ALL: 14,
        "2012 OnWN": 6,
        "2013 OnWN": 5,
        "2013 SMT": 3,
    }
    notes = "\n".join(found.notes)
    assert "sts14:test is missing" in notes
    assert "2012 MSRpar: 0 rows, published with 750" in notes
    assert len(TASKS["cbos-20"].splits["test"].subtasks) == 20
    with pytest.raises(InputError, match="none of its parts"):
        load_set(TASKS["cbos-20"], tmp_path / "STS12")


def test_odd_pairs_are_counted_in_the_notes(tmp_path: Path) -> None:
    """Tokenised, repeated and contradicting pairs."""
    folder = tmp_path / "STS14"
    folder.mkdir()
    rows = [
        ("A man plays .", "A man plays.", 5, "images", "test"),
        ("One cat.", "Two cats.", 3, "images", "test"),
        ("Two cats.", "One cat.", 3, "images", "test"),
        ("One cat.", "Two cats.", 2, "images", "test"),
    ]
    (folder / "pairs.tsv").write_text(table(PAIR_COLUMNS, rows))
    notes = load_set(TASKS["sts14"], tmp_path).notes
    assert notes[-3:] == (
        "1 of 4 pairs look tokenised",
        "1 times a pair repeats an earlier one",
        "1 times a pair contradicts an earlier one (same texts, other score)",
    )


def test_a_substitute_says_what_it_is(data_dir: Path) -> None:
    """Figures on the substitute are not comparable with published ones."""
    assert "substitute" in load_set(TASKS["wiki-sections"], data_dir).notes[0]


def test_broken_rows_are_named_counted_and_noted(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On the screen by file and line, at most ten; in the notes by number."""
    file = data_dir / "STS13" / "pairs.tsv"
    file.write_text(file.read_text() + "a\tb\tnine\tOnWN\ttest\n" * 12)
    monkeypatch.setattr(progress, "_quiet", False)
    found = load_set(TASKS["sts13"], data_dir)
    said = capsys.readouterr().err
    assert found.skipped == 12
    assert len(found.rows) == 40
    assert said.count("pairs.tsv, line ") == 10
    assert "line 42: score 'nine' is not a number" in said
    assert "2 more rows" in said
    assert any(note.startswith("12 broken rows skipped") for note in found.notes)


def test_a_set_that_is_nowhere_says_where_it_was_looked_for(data_dir: Path) -> None:
    """File, hub, and what to do."""
    with pytest.raises(InputError) as error:
        load_set(TASKS["sts14"], data_dir)
    message = str(error.value)
    assert str(data_dir / "STS14" / "pairs.tsv") in message
    assert "mteb/sts14-sts" in message
    assert "--data-dir" in message


def test_a_split_that_is_not_in_the_file_says_what_is(data_dir: Path) -> None:
    """The splits that the file has, with their sizes."""
    file = data_dir / "STSb" / "pairs.tsv"
    file.write_text(file.read_text().replace("\tdev\n", "\tvalidation\n"))
    with pytest.raises(InputError, match=r"no split dev; it has train \(30\), validation \(30\)"):
        load_set(TASKS["sts-b"], data_dir, "dev")


def test_no_folder_no_guess(tmp_path: Path) -> None:
    """A mistyped folder is an error, not a reason to go to the hub."""
    with pytest.raises(InputError, match="no such folder"):
        load_set(TASKS["sts13"], tmp_path / "evaluation")


def test_fingerprints_know_rows_and_not_their_order() -> None:
    """Order does not count; every text, score and subtask does; nothing is joined by accident."""
    rows = [Row(("a", "b"), 1.0, "x"), Row(("c", "d"), 2.0, "x"), Row(("c", "d"), 2.0, "x")]
    reference = fingerprint_rows(rows)
    assert fingerprint_rows(rows[::-1]) == reference
    changed = [
        rows[:2],
        [Row(("b", "a"), 1.0, "x"), *rows[1:]],
        [Row(("a", "b"), 1.5, "x"), *rows[1:]],
        [Row(("a", "b"), 1.0, "y"), *rows[1:]],
        [Row(("ab", ""), 1.0, "x"), *rows[1:]],
    ]
    others = [fingerprint_rows(other) for other in changed]
    assert len({reference, *others}) == 1 + len(changed)


def test_the_lee_set_is_gensims() -> None:
    """50 texts, each pair once, ratings in [0, 1], and the texts each row compares."""
    found = load_set(TASKS["lee"])
    assert len(found.rows) == 1225
    assert len({text for row in found.rows for text in row.texts}) == 50
    scores = [row.score for row in found.rows]
    assert 0 <= min(scores) < max(scores) <= 1
    assert found.units is not None
    assert found.units.shape == (1225, 2)
    texts: dict[int, str] = {}
    for row, pair in zip(found.rows, found.units.tolist(), strict=True):
        for unit, text in zip(pair, row.texts, strict=True):
            assert texts.setdefault(unit, text) == text
    assert any("resample the 50 texts" in note for note in found.notes)


def test_lee_ratings_are_read_from_the_right_cell(tmp_path: Path) -> None:
    """Row i and column j belong to texts i and j; Latin-1 texts are read."""
    from firth.evaluate.readers import read_lee

    (tmp_path / "lee.cor").write_bytes("one \xa35\ntwo\nthree".encode("latin-1"))
    (tmp_path / "similarities0-1.txt").write_text("1\t0.1\t0.2\n0\t1\t0.3\n0\t0\t1\n")
    rows = read_lee(tmp_path).rows
    assert [(row.texts, row.score) for row in rows] == [
        (("one £5", "two"), 0.1),
        (("one £5", "three"), 0.2),
        (("two", "three"), 0.3),
    ]
    (tmp_path / "similarities0-1.txt").write_text("1\t0.1\n0\t1\n")
    with pytest.raises(InputError, match=r"should have shape \(3, 3\); got \(2, 2\)"):
        read_lee(tmp_path)


def test_without_gensim_lee_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """No traceback about a module."""
    monkeypatch.setattr(load, "gensim_files", lambda: None)
    with pytest.raises(InputError, match="pip install gensim"):
        load_set(TASKS["lee"])


# The hub: `datasets` is replaced by a fake, since tests have no network.


def stsb_records(count: int) -> list[dict[str, Any]]:
    """As the hub's STS benchmark has them: more columns, numbers as numbers."""
    return [
        {"split": "dev", "genre": "main-captions", "sid": i, "score": i % 6,
         "sentence1": f"one {i}", "sentence2": f"two {i}"}
        for i in range(count)
    ]  # fmt: skip


def fake_hub(monkeypatch: pytest.MonkeyPatch, answer: Any) -> list[tuple[object, ...]]:
    """Make `datasets.load_dataset` give (or raise) `answer`; returns the calls it gets."""
    calls: list[tuple[object, ...]] = []

    def load_dataset(name: str, config: str | None, *, split: str) -> Any:
        calls.append((name, config, split))
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load_dataset))
    monkeypatch.setattr(readers, "hub_is_reachable", lambda: True)
    return calls


def test_the_hub_is_asked_by_its_own_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Our split and columns are translated; rows and notes are as from a file."""
    calls = fake_hub(monkeypatch, stsb_records(12))
    found = load_set(TASKS["sts-b"], split="dev")
    assert calls == [("mteb/stsbenchmark-sts", None, "validation")]
    assert found.rows[1] == Row(("one 1", "two 1"), 1.0, "captions")
    assert found.source == "mteb/stsbenchmark-sts on the hub"
    assert "captions: 12 rows, published with 625" in found.notes


def test_hub_rows_get_the_checks_of_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Missing cells and scores out of range are named and skipped."""
    records = stsb_records(5)
    records[1]["sentence2"] = None
    records[3]["score"] = 7
    fake_hub(monkeypatch, records)
    found = read_hub(TASKS["sts-b"], "test")
    assert len(found.splits["test"]) == 3
    assert found.broken == (
        "mteb/stsbenchmark-sts, row 1: sentence2 is empty",
        "mteb/stsbenchmark-sts, row 3: score 7 is outside 0 to 5",
    )


def test_a_renamed_hub_column_is_an_error() -> None:
    """Not a set without rows."""
    record: Mapping[str, Any] = {"text1": "a", "text2": "b", "score": 1}
    with pytest.raises(InputError, match="no column sentence1, sentence2; got text1"):
        hub_table([record], TASKS["sts12"], "test")


def test_sick_falls_back_to_what_the_hub_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """The hub has SICK-R undivided: that split is loaded, and named."""
    records = [{"sentence1": "a b", "sentence2": f"c {i}", "score": 3} for i in range(4)]
    calls = fake_hub(monkeypatch, records)
    found = load_set(TASKS["sick-r"])
    assert found.split == ALL
    assert calls == [("mteb/sickr-sts", None, "test")]
    assert found.notes == ("4 rows, published with 9927",)


def test_a_set_without_subtasks_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """The hub's STS years do not keep them: one figure, and a note."""
    fake_hub(monkeypatch, [{"sentence1": "a", "sentence2": "b", "score": 3.0}] * 3)
    found = load_set(TASKS["sts14"])
    assert list(found.subtasks) == [ALL]
    assert any("which subtask" in note for note in found.notes)


@pytest.mark.parametrize("failure", [ConnectionError("no route"), ValueError("Unknown split")])
def test_hub_failures_are_reasons_not_crashes(
    monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    """They are listed among the places looked at."""
    fake_hub(monkeypatch, failure)
    with pytest.raises(InputError, match=str(failure)):
        load_set(TASKS["sts14"])


def test_a_missing_datasets_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the extra to install."""
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(InputError, match=r"firth\[hub\]"):
        load_set(TASKS["sts14"])


def test_rows_of_a_set_are_columns_for_metrics(data_dir: Path) -> None:
    """Triplets are asked as two pairs each, and split again."""
    found = load_set(TASKS["wiki-sections"], data_dir)
    n = len(found.rows)
    assert len(found.pairs) == 2 * n
    assert found.pairs[0] == found.rows[0].texts[:2]
    assert found.pairs[n] == (found.rows[0].texts[0], found.rows[0].texts[2])
    x, y = found.columns(np.arange(2.0 * n))
    assert (x[0], y[0], len(x), len(y)) == (0.0, float(n), n, n)

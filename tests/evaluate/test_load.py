"""Finding sets: folder first, then hub; what is said about what was found; samples of it."""

import sys
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.evaluate.conftest import PAIR_COLUMNS, made_up_pairs, table

from firth.evaluate import load, readers
from firth.evaluate.evaluate import evaluate, evaluate_models
from firth.evaluate.load import load_set
from firth.evaluate.metrics import Metric
from firth.evaluate.oddities import looks_tokenised, oddities
from firth.evaluate.readers import gensim_files, hub_table, read_hub, read_lee
from firth.evaluate.rows import Row, fingerprint_rows
from firth.evaluate.task import ALL, TASKS, Kind, Task, find_task
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


def test_rows_of_a_set_are_columns_for_metrics(data_dir: Path) -> None:
    """Triplets are asked as two pairs each, and split again."""
    found = load_set(TASKS["wiki-sections"], data_dir)
    n = len(found.rows)
    assert len(found.pairs) == 2 * n
    assert found.pairs[0] == found.rows[0].texts[:2]
    assert found.pairs[n] == (found.rows[0].texts[0], found.rows[0].texts[2])
    x, y = found.columns(np.arange(2.0 * n))
    assert (x[0], y[0], len(x), len(y)) == (0.0, float(n), n, n)


# Odd pairs are counted, and only odd ones.


@pytest.mark.parametrize(
    ("text", "tokenised"),
    [
        ("A man plays a flute .", True),
        ("He did n't go", True),
        ("the dog 's bone", True),
        ("`` yes ''", True),
        ("-LRB- sic -RRB-", True),
        ("A man plays a flute.", False),
        ("It costs .50 and rose 3.5, she said.", False),
        ("don't; the dog's bone", False),
        ("Well ... no", False),
        ("", False),
    ],
)
def test_tokenised_texts_are_told_by_their_blanks(text: str, tokenised: bool) -> None:
    """Blanks before punctuation and clitics; decimals, ellipses and contractions are ordinary."""
    assert looks_tokenised(text) is tokenised


def test_repeated_and_contradicting_pairs() -> None:
    """Whichever text comes first; a pair is compared with all before it."""
    rows = [Row(("a", "b"), 1.0), Row(("b", "a"), 1.0), Row(("a", "b"), 2.0), Row(("a", "b"), 2.0)]
    assert oddities(rows) == [
        "2 times a pair repeats an earlier one",
        "1 times a pair contradicts an earlier one (same texts, other score)",
    ]
    assert oddities(rows[:1]) == []


# The registry says nothing that contradicts itself.


@pytest.mark.parametrize("task", TASKS.values(), ids=list(TASKS))
def test_each_task_is_consistent(task: Task) -> None:
    """Subtasks add up to their split, defaults and hub splits exist, metrics fit the kind."""
    for split in task.splits.values():
        counted = sum(split.subtasks.values()) + sum(n for n, _ in split.absent.values())
        assert counted in (0, split.rows)
    assert task.default
    assert set(task.default) <= set(task.splits)
    assert task.hub is None or set(task.hub.splits) <= set(task.splits)
    assert task.score_range[0] < task.score_range[1]
    assert (Metric.ACCURACY in task.metrics) == (task.kind is Kind.TRIPLETS)


def test_every_task_of_the_command_line_is_there() -> None:
    """The names that the command line promises."""
    promised = (
        "sts12 sts13 sts14 sts15 sts16 sts-b sick-r str-2021 afs wiki-sections lee "
        "sts13-smt cbos-20"
    )
    assert " ".join(TASKS) == promised


def test_parts_are_tasks() -> None:
    """A task put together from others names tasks and splits that exist, and is derived."""
    for task in TASKS.values():
        for name in (name for names in task.parts for name in names):
            assert find_task(name)[1] in find_task(name)[0].splits
        assert not task.parts or task.derived


def test_tasks_may_name_a_split() -> None:
    """`NAME:SPLIT`; wrong names list the right ones."""
    assert find_task("sts-b:dev") == (TASKS["sts-b"], "dev")
    assert find_task("sts-b") == (TASKS["sts-b"], None)
    with pytest.raises(InputError, match="wiki-sections"):
        find_task("sts-c")
    with pytest.raises(InputError, match="train, dev, test"):
        find_task("sts-b:validation")


# Samples of a set: nested, of its own rows, and said.


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sizes=st.tuples(st.integers(2, 50), st.integers(2, 50)), seed=st.integers(0, 9))
def test_samples_are_nested(data_dir: Path, sizes: tuple[int, int], seed: int) -> None:
    """A smaller sample begins a larger one; a row is taken once; only a real sample is noted."""
    whole = load_set(TASKS["sts13"], data_dir)
    small, large = (whole.sampled(size, seed) for size in sorted(sizes))
    assert large.rows[: len(small.rows)] == small.rows
    assert len(large.rows) == min(max(sizes), 40)
    assert len(set(large.rows)) == len(large.rows)
    assert set(large.rows) <= set(whole.rows)
    noted = any("random rows of 40" in note for note in small.notes)
    assert noted == (min(sizes) < 40)
    assert whole.sampled(None, seed) is whole


def test_units_follow_their_rows() -> None:
    """A row of Lee's sample names the texts that it names in the whole set."""
    folder = gensim_files()
    assert folder is not None, "premise: gensim is installed"
    whole = read_lee(folder)
    sample = whole.sampled(100, 13)
    assert whole.units is not None
    assert sample.units is not None
    known = {row.texts: tuple(unit) for row, unit in zip(whole.rows, whole.units, strict=True)}
    assert len(known) == len(whole.rows), "premise: texts tell rows apart"
    found = [known[row.texts] for row in sample.rows]
    assert found == [tuple(unit) for unit in sample.units]


def test_models_are_measured_on_one_sample(data_dir: Path) -> None:
    """Alone or together, every model gets the same rows, and the figures say how many."""
    report = evaluate_models(
        ["baseline:dice", "baseline:tfidf"], ["sts13"], data_dir, pairs=15, leakage=False
    )
    first, second = report.evaluations
    assert first.scored[0].data.rows == second.scored[0].data.rows
    assert {result.n for result in first.results if result.subtask == "all"} == {15}
    assert any("15 random rows of 40, seed 13" in note for note in first.notes)
    alone = evaluate("baseline:dice", ["sts13"], data_dir, pairs=15, leakage=False)
    assert alone.results == first.results
    other = evaluate("baseline:dice", ["sts13"], data_dir, pairs=15, seed=14, leakage=False)
    assert other.scored[0].data.rows != first.scored[0].data.rows


def test_a_sample_of_one_row_is_refused(data_dir: Path) -> None:
    """No correlation has one row."""
    with pytest.raises(InputError, match="pairs: got 1; expected at least 2"):
        evaluate("baseline:dice", ["sts13"], data_dir, pairs=1)

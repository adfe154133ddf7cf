"""Leakage: counted where it is, in every kind of training text, and reported with the figures."""

import json
import shutil
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth import evaluate
from firth.corpus.corpus import Corpus
from firth.evaluate import leakage
from firth.evaluate.cache import Cache
from firth.evaluate.evaluate import evaluate_models
from firth.evaluate.leakage import Finder, Kind, find_leakage, training_of, training_runs
from firth.evaluate.load import load_set
from firth.evaluate.task import TASKS
from firth.lexical.words import normal_form
from firth.run.errors import InputError

SEEN = "The old captain left the red harbour in a storm."
NEARLY = "The old captain left the red harbour in a storm yesterday."
OTHER = "Nobody had ever counted the lamps along that quiet street."


@pytest.fixture
def sets(tmp_path: Path) -> Path:
    """STSb test of four rows: two texts seen (one within a longer text), one nearly, two short."""
    folder = tmp_path / "eval" / "STSb"
    folder.mkdir(parents=True)
    rows = [
        (SEEN.upper(), "Two cows stand alone in a field.", 1),
        ("It was late. " + SEEN, "Two cows stand alone in a field.", 2),
        (NEARLY, "A ship.", 3),
        ("A ship.", "The sea.", 4),
    ]
    lines = [f"{a}\t{b}\t{score}\ttoy\ttest" for a, b, score in rows]
    header = "sentence1\tsentence2\tscore\tsubtask\tsplit"
    (folder / "pairs.tsv").write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")
    return folder.parent


def write_sources(folder: Path) -> dict[str, Path]:
    """The same sentences as text, as a run, as a set of pairs."""
    folder.mkdir(exist_ok=True)
    (folder / "day.txt").write_text(f"{OTHER} {SEEN} A ship.", encoding="utf-8")
    Corpus.build([folder / "day.txt"], folder / "run")
    pairs = pa.table({"sentence1": [OTHER, "A ship."], "sentence2": [SEEN, None], "score": [1, 2]})
    pq.write_table(pairs, folder / "pairs.parquet")
    return {name: folder / name for name in ("day.txt", "run", "pairs.parquet")}


@pytest.mark.parametrize("kind", ["day.txt", "run", "pairs.parquet"])
def test_every_kind_of_training_text_gives_the_same_counts(
    kind: str, sets: Path, tmp_path: Path
) -> None:
    """Texts and sentences within them, exact and near; short ones are not looked for."""
    data = load_set(TASKS["sts-b"], sets)
    found = find_leakage(training_of(write_sources(tmp_path / "texts")[kind]), [data])
    (one,) = found.sets
    assert (one.exact, one.near) == (1, 2), "SEEN; and NEARLY and the longer text, nearly"
    assert (one.rows, one.rows_touched) == (4, 3)
    untouched = [row.texts for i, row in enumerate(data.rows) if i not in one.touched]
    assert len(one.touched) == 3
    assert all(SEEN not in texts and NEARLY not in texts for texts in untouched)
    assert one.texts == 4
    examples = found.examples["sts-b", "test"]
    assert [match.sentence for match in examples] == [SEEN] * 3
    assert "examples" not in found.to_dict()
    assert len(found.to_dict(examples=True)["examples"]) == 3


def test_the_training_text_is_read_once_and_then_never(
    sets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cache knows text and set by their content."""
    source = write_sources(tmp_path / "texts")["day.txt"]
    data, cache = load_set(TASKS["sts-b"], sets), Cache(tmp_path / "cache")
    first = find_leakage(training_of(source), [data], cache)
    monkeypatch.setattr(leakage, "Finder", None)
    moved = Path(shutil.copy(source, tmp_path / "moved.txt"))
    assert find_leakage(training_of(moved), [data], cache).sets == first.sets
    moved.write_text(f"{OTHER}\n", encoding="utf-8")
    with pytest.raises(TypeError):
        find_leakage(training_of(moved), [data], cache)


def test_what_counts_as_found_is_a_setting(sets: Path, tmp_path: Path) -> None:
    """Shorter texts and nearer ones only, each with entries of its own in the cache; reported."""
    training = training_of(write_sources(tmp_path / "texts")["day.txt"])
    data, cache = load_set(TASKS["sts-b"], sets), Cache(tmp_path / "cache")
    usual = find_leakage(training, [data], cache)
    short = find_leakage(training, [data], cache, min_words=2)
    strict = find_leakage(training, [data], cache, threshold=1.0)
    assert [one.sets[0].exact for one in (usual, short, strict)] == [1, 2, 1], "A ship. counts"
    assert [one.sets[0].near for one in (usual, strict)] == [2, 0]
    assert (short.to_dict()["min_words"], strict.to_dict()["threshold"]) == (2, 1.0)


def test_damaged_entries_of_the_cache_are_made_again(sets: Path, tmp_path: Path) -> None:
    """Whole files with other values in them."""
    training = training_of(write_sources(tmp_path / "texts")["day.txt"])
    data, cache = load_set(TASKS["sts-b"], sets), Cache(tmp_path / "cache")
    first = find_leakage(training, [data], cache)
    (path,) = (tmp_path / "cache" / "leakage").iterdir()
    odd: object
    for odd in ([], {"touched": 1}, {"touched": [], "counts": {}, "examples": []}):
        cache.keep("leakage", path.name, odd)
        assert find_leakage(training, [data], cache) == first


def test_results_say_what_leaked(sets: Path, tmp_path: Path) -> None:
    """Of a model that knows its run: in its JSON and notes; of others: unknown."""
    run = write_sources(tmp_path / "texts")["run"]
    spec = f"baseline:tfidf@{run}"
    report = evaluate_models([spec, "baseline:dice"], ["sts-b"], sets)
    models = {model["spec"]: model["leakage"] for model in report.to_dict()["models"]}
    assert models["baseline:dice"] is None
    (leak,) = models[spec]
    assert leak["sets"][0]["exact"] == 1
    assert "1 of 4 texts exactly and 2 nearly, in 3 of 4 rows" in report.text()
    assert SEEN not in json.dumps(report.to_dict())
    assert evaluate(spec, ["sts-b"], sets, leakage=False).leakage is None


def test_touched_sets_are_measured_once_more_without(tmp_path: Path, sets: Path) -> None:
    """`decontaminated` is the figure of a file that never held the rows, and a note says so."""
    run = write_sources(tmp_path / "texts")["run"]
    path, spec = sets / "STSb" / "pairs.tsv", f"baseline:tfidf@{run}"
    more = [(f"{OTHER[:-1]} {word}.", f"A {word} ship.", i) for i, word in enumerate("abcde")]
    with path.open("a", encoding="utf-8") as file:
        file.writelines(f"{a}\t{b}\t{score}\ttoy\ttest\n" for a, b, score in more)
    found = evaluate(spec, ["sts-b"], sets)
    assert found.leakage is not None
    touched = found.leakage[0].sets[0].touched
    rest_of_set = found.find("sts-b", "spearman", subtask="decontaminated")
    assert 0 < len(touched) < 9
    assert rest_of_set.n == 9 - len(touched)
    assert any(f"without those {len(touched)} rows" in note for note in found.notes)

    header, *rows = path.read_text(encoding="utf-8").splitlines()
    left = [row for i, row in enumerate(rows) if i not in touched]
    path.write_text("\n".join([header, *left]) + "\n", encoding="utf-8")
    rest = evaluate(spec, ["sts-b"], sets)
    whole = rest.find("sts-b", "spearman")
    assert (whole.value, whole.low, whole.high) == (
        rest_of_set.value,
        rest_of_set.low,
        rest_of_set.high,
    )
    assert [result.subtask for result in rest.results if result.subtask == "decontaminated"] == []


def test_models_know_their_runs(tmp_path: Path) -> None:
    """A run, what lies in it, and baselines that name it; nothing else."""
    run = write_sources(tmp_path / "texts")["run"]
    for model in (
        run, run / "surrogate", f"baseline:tfidf@{run}", f"baseline:cbow@{run}/baselines/cbow",
        f"baseline:glove+sif={run}",
    ):  # fmt: skip
        assert training_runs(str(model)) == [run]
    for model in ("baseline:tfidf", "someone/some-model", "baseline:vectors@glove.txt"):
        assert training_runs(model) == []


def test_sources_that_cannot_be_read(tmp_path: Path) -> None:
    """Each names the file."""
    (tmp_path / "bad.parquet").write_text("not one")
    for name in ("absent.txt", "bad.parquet"):
        with pytest.raises(InputError, match=name):
            training_of(tmp_path / name)


# Finding texts: exactly what a plain comparison of all with all finds.

WORDS = ["a", "b", "c", "d", "The", "ship,", "sailed."]
TEXT = st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join)


def bigrams(text: str) -> set[tuple[str, str]]:
    return set(pairwise(normal_form(text).split()))


def jaccard(one: str, two: str) -> float:
    first, second = bigrams(one), bigrams(two)
    return len(first & second) / max(len(first | second), 1)


@settings(max_examples=150)
@given(
    texts=st.lists(TEXT, max_size=8),
    sentences=st.lists(TEXT, max_size=12),
    threshold=st.sampled_from([0.3, 0.5, 0.7, 1.0]),
)
def test_nothing_is_missed_and_nothing_made_up(
    texts: list[str], sentences: list[str], threshold: float
) -> None:
    """Equal to comparing every text with every sentence, best similarity first."""
    finder = Finder(texts, min_words=3, threshold=threshold)
    finder.read(sentences)
    found = {normal_form(match.text): match for match in finder.matches()}
    long = [s for s in sentences if len(normal_form(s).split()) >= 3]
    for text in texts:
        normal = normal_form(text)
        best = max((jaccard(text, s) for s in long), default=0.0)
        exact = any(normal_form(s) == normal for s in long)
        if len(normal.split()) < 3 or not (exact or best >= threshold - 1e-9):
            assert normal not in found
            continue
        match = found[normal]
        assert match.kind is (Kind.EXACT if exact else Kind.NEAR)
        assert match.similarity == pytest.approx(1.0 if exact else best)
        assert jaccard(text, match.sentence) == pytest.approx(match.similarity)


def test_blocks_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    """One block or many, one call or several: the same matches."""
    texts = ["the ship left the old harbour in a storm", "two cows stand in a wide green field"]
    sentences = [
        "The ship left the old harbour in a gale.",
        "The ship left the old harbour in a storm today.",
        "Two cows stand in a wide green field!",
        "Nothing of that kind was ever seen there.",
    ] * 3
    whole = Finder(texts)
    whole.read(sentences)
    monkeypatch.setattr(leakage, "_BLOCK", 2)
    parts = Finder(texts)
    for sentence in sentences:
        parts.read([sentence])
    assert whole.matches() == parts.matches()
    assert [match.kind for match in whole.matches()] == [Kind.NEAR, Kind.EXACT]
    assert "today" in whole.matches()[0].sentence, "premise: the nearest one is kept"


def test_short_texts_are_not_looked_for() -> None:
    """Nor empty ones, nor an empty list."""
    finder = Finder(["You don't have to.", "", "?!"])
    finder.read(["You don't have to.", ""])
    assert (len(finder), finder.matches()) == (0, [])

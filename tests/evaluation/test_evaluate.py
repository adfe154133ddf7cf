"""Evaluations: figures of the rows of the files, saved and compared later, whatever was broken."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from firth.corpus.build import build_corpus
from firth.evaluation.baselines import Dice, TfIdf
from firth.evaluation.evaluate import MEAN, Evaluation, evaluate, without_copies
from firth.evaluation.files import Row
from firth.evaluation.metrics import CORRELATIONS
from firth.evaluation.sets import evaluation_set, load_set
from firth.run.errors import InputError, MissingStageError
from firth.run.run import Run
from firth.text.types import Floats, PairScorer, TextPair
from firth.text.words import words

HEADER = "sentence1\tsentence2\tscore\tsubtask\tsplit\n"
WORDS = ["a", "the", "ship", "sea", "storm", "sailed", "left", "red", "old", "captain", "it", "was"]


class Noisy:
    """Word overlap with noise that depends on the pair and a seed."""

    name = "noisy"

    def __init__(self, seed: int, noise: float = 0.3) -> None:
        self._seed, self._noise = seed, noise

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        overlap = Dice().similarities(pairs)
        seeds = [[self._seed, *"".join(pair).encode()] for pair in pairs]
        noise = [np.random.default_rng(seed).normal() for seed in seeds]
        return overlap + self._noise * np.array(noise)


class Constant:
    name = "constant"

    def __init__(self, value: float = 0.5, extra: int = 0) -> None:
        self._value, self._extra = value, extra

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        return np.full(len(pairs) + self._extra, self._value)


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """Return a folder with made-up rows of sts13, sts-b and wiki-sections."""
    rng = np.random.default_rng(7)

    def sentence() -> str:
        return " ".join(rng.choice(WORDS, size=rng.integers(3, 9)))

    def rows(count: int, split: str, subsets: Sequence[str]) -> str:
        lines = []
        for i in range(count):
            one, two = sentence(), sentence()
            score = min(5.0, len(set(words(one)) & set(words(two))) + rng.uniform(0, 1))
            lines.append(f"{one}\t{two}\t{score:.3f}\t{subsets[i % len(subsets)]}\t{split}\n")
        return "".join(lines)

    triplets = [f"{sentence()}\t{sentence()}\t{sentence()}\ttest\n" for _ in range(20)]
    folder = tmp_path / "eval"
    for name, text in {
        "STS13/pairs.tsv": HEADER + rows(40, "test", ["FNWN", "OnWN"]),
        "STSb/pairs.tsv": HEADER + rows(30, "dev", ["main-news"]) + rows(30, "test", ["main-news"]),
        "WikiSections/triplets.tsv": "anchor\tpositive\tnegative\tsplit\n" + "".join(triplets),
    }.items():
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


TASKS = ["sts13", "sts-b:dev", "wiki-sections"]
MODELS: dict[str, PairScorer] = {"dice": Dice(), "noisy": Noisy(1), "tfidf": TfIdf()}


@pytest.fixture
def results(data_dir: Path) -> Evaluation:
    return evaluate(MODELS, TASKS, data_dir)


# Figures.


def test_figures_are_those_of_scipy(data_dir: Path, results: Evaluation) -> None:
    """On all rows, on each subset, and as the mean over subsets."""
    data = load_set("sts13", data_dir)
    scores, gold = Dice().similarities(data.pairs), data.scores

    def spearman(rows: Sequence[int] | slice) -> float:
        return 100 * float(stats.spearmanr(gold[rows], scores[rows]).statistic)

    assert results.find("dice", "sts13").value == pytest.approx(spearman(slice(None)))
    assert results.find("dice", "sts13:test", "pearson").value == pytest.approx(
        100 * float(stats.pearsonr(gold, scores).statistic)
    )
    each = {name: spearman(rows.tolist()) for name, rows in data.subsets.items()}
    assert len(each) == 2
    for name, value in each.items():
        assert results.find("dice", "sts13", subset=name).value == pytest.approx(value)
    mean = results.find("dice", "sts13", subset=MEAN)
    assert mean.value == pytest.approx(np.mean(list(each.values())))
    assert mean.n == 40
    triplets = load_set("wiki-sections", data_dir)
    positive, negative = triplets.columns(Dice().similarities(triplets.pairs))
    accuracy = results.find("dice", "wiki-sections", "accuracy")
    assert accuracy.value == pytest.approx(100 * np.mean(positive > negative))
    with pytest.raises(InputError, match="no figure of dice on sts14"):
        results.find("dice", "sts14")


def test_constant_and_broken_scores_are_undefined_with_a_note(
    data_dir: Path, tmp_path: Path
) -> None:
    models = {"constant": Constant(), "broken": Constant(float("nan"))}
    results = evaluate(models, ["sts13"], data_dir)
    assert results.find("constant", "sts13").reason == "sts13:test: all 40 similarities equal 0.5"
    assert any("broken on sts13:test" in note and "not finite" in note for note in results.notes)
    assert "undefined" in results.text()
    results.save(tmp_path / "r.json")
    assert json.loads((tmp_path / "r.json").read_text())["notes"] == list(results.notes)


def test_wrong_arguments_are_named(data_dir: Path, empty_run: Run) -> None:
    with pytest.raises(InputError, match=r"extra: got similarities of shape \(41,\) for 40 pairs"):
        evaluate({"extra": Constant(extra=1)}, ["sts13"], data_dir)
    with pytest.raises(InputError, match="expected at least one"):
        evaluate({}, ["sts13"], data_dir)
    with pytest.raises(MissingStageError):
        evaluate(MODELS, ["sts13"], data_dir, exclude_overlap=[empty_run])


# Overlap.


def test_rows_with_texts_of_a_run_or_set_are_left_out(
    data_dir: Path, tmp_path: Path, empty_run: Run
) -> None:
    """The figures are those of a file that never had these rows."""
    path = data_dir / "STS13" / "pairs.tsv"
    header, *lines = path.read_text().splitlines(keepends=True)
    seen = [line for line in lines if len(line.split("\t")[0].split()) >= 6][:3]
    assert len(seen) == 3, "premise: some texts are long enough to be looked for"
    texts = [line.split("\t")[0].capitalize() for line in seen]
    (tmp_path / "day.txt").write_text("\n\n".join(f"{text}." for text in texts))
    run = empty_run.changed({"corpus": {"held_out_fraction": 0.0}})
    build_corpus(run, [tmp_path / "day.txt"])
    other = data_dir / "held" / "pairs.tsv"
    other.parent.mkdir()
    other.write_text("".join([header, *lines[-2:]]))
    results = evaluate(MODELS, ["sts13"], data_dir, exclude_overlap=["held", run.path])
    assert len([note for note in results.notes if "rows left out" in note]) == 2
    rest = [line for line in lines if line not in (*seen, *lines[-2:])]
    path.write_text("".join([header, *rest]))
    cleared = evaluate(MODELS, ["sts13"], data_dir)
    assert results.sets[0].data.fingerprint == cleared.sets[0].data.fingerprint
    assert results.figures == cleared.figures
    with pytest.raises(InputError, match="no row is left"):
        evaluate(MODELS, ["held"], data_dir, exclude_overlap=["held"])


SEEN = "The old captain left the red harbour in a storm."
OTHER = "Nobody had ever counted the lamps along that quiet street."


def test_rows_with_a_copy_of_a_text_or_of_a_sentence_in_it_are_left_out(
    empty_run: Run, tmp_path: Path
) -> None:
    """Short texts are not looked for."""
    rows = [
        Row(texts=(SEEN.upper(), "Two cows stand alone in a field."), score=1.0),
        Row(texts=("It was late. " + SEEN, "Two cows stand alone in a field."), score=2.0),
        Row(texts=("A ship.", "The sea."), score=4.0),
    ]
    (tmp_path / "day.txt").write_text(f"{OTHER} {SEEN} A ship.", encoding="utf-8")
    run = empty_run.changed({"corpus": {"held_out_fraction": 0.0}})
    build_corpus(run, [tmp_path / "day.txt"])
    made = evaluation_set("made", "test", rows, CORRELATIONS, "made up")
    (data,) = without_copies([made], run)
    assert data.rows == (rows[2],)
    assert data.notes[0].startswith("2 of 3 rows left out, with texts in ")


# What is printed and saved.


def test_results_survive_the_file(results: Evaluation, tmp_path: Path) -> None:
    """They hold every figure and score, and no text."""
    path = tmp_path / "results.json"
    results.save(path)
    stored = path.read_text()
    assert "captain" not in stored
    figures = json.loads(stored)["figures"]
    assert {one["subset"] for one in figures} == {"all", MEAN, "FNWN", "OnWN"}


def test_differences_are_those_of_the_figures(results: Evaluation) -> None:
    """They are paired, which makes the intervals narrow, and the table shows them."""
    assert [*results.differences["sts13:test"]] == ["noisy", "tfidf"], "the first is the reference"
    for name, differences in results.differences.items():
        for model, difference in differences.items():
            figures = [results.find(each, name).value or 0 for each in (model, "dice")]
            assert difference.value == pytest.approx(figures[0] - figures[1])
            assert difference.signed.split(" [")[0] in str(results)


@dataclass(frozen=True)
class SetConstant:
    """Scores pairs by how many there are in the set that it knows."""

    known: int = 0
    name: str = "set"

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        return np.arange(len(pairs), dtype=np.float64) + self.known

    def among(self, pairs: Sequence[TextPair]) -> "SetConstant":
        return SetConstant(len(pairs))


def test_a_set_is_scored_as_a_whole_unless_pairs_are_scored_alone(data_dir: Path) -> None:
    """A scorer that knows sets gets the whole set; `alone` does without."""
    for alone in (False, True):
        (scored,) = evaluate({"set": SetConstant()}, ["sts-b:dev"], data_dir, alone=alone).sets
        first = 0 if alone else len(scored.data.pairs)
        assert scored.data.pairs
        assert scored.scores["set"][0] == first

"""Table 4: word vectors, features of pairs, their correlation with scores, and the command."""

import json
import random
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr
from typer.testing import CliRunner

from firth.baselines.dice import Dice
from firth.baselines.registry import open_baseline
from firth.cli.main import app
from firth.evaluate.own_files import Content, OwnFile, OwnRow
from firth.evaluate.own_sets import own_set
from firth.evaluate.rows import EvaluationSet, Row
from firth.lexical.word_vectors import WordVectors
from firth.lexical.words import words
from firth.relatedness.features import (
    FEATURES,
    OVERLAP,
    Block,
    correlate,
    mean_vector,
    measure_features,
    open_word_vectors,
    pair_features,
    relatedness,
)
from firth.relatedness.parse import GrammaticalRole, Parsed
from firth.relatedness.scored import check_scores
from firth.run.errors import InputError, MissingStageError

VECTORS = WordVectors.of(
    "toy", ["sea", "Sea", "ship", "anti"], np.array([[1, 0], [0, 1], [1, 1], [-1, 0]], np.float32)
)
LISTS = st.lists(st.sampled_from(["sea", "ship", "SHIP", "unknown"]), max_size=5)


def test_look_up_as_written_then_in_lower_case() -> None:
    """`Sea` has a vector of its own, `SHIP` that of `ship`; unknown words do not count."""
    expected = {("Sea",): [0, 1], ("SHIP", "xyz"): [1, 1], ("sea", "ship"): [1, 0.5]}
    for found, vector in expected.items():
        mean = mean_vector(VECTORS, found)
        assert mean is not None
        assert mean.tolist() == vector
    assert mean_vector(VECTORS, ["xyz"]) is None
    assert mean_vector(VECTORS, []) is None
    assert mean_vector(VECTORS, ["sea", "anti"]) is None, "a zero vector has no direction"


@given(LISTS, LISTS)
def test_relatedness_is_a_cosine_of_bags(one: list[str], two: list[str]) -> None:
    """Symmetric, blind to order, 1 with itself, NaN exactly where one side has no known word."""
    a, b = mean_vector(VECTORS, one), mean_vector(VECTORS, two)
    found = relatedness(a, b)
    assert np.isnan(found) == (a is None or b is None)
    assert found == pytest.approx(relatedness(b, mean_vector(VECTORS, one[::-1])), nan_ok=True)
    assert relatedness(a, a) == pytest.approx(1.0 if a is not None else np.nan, nan_ok=True)


@pytest.mark.parametrize("name", ["skip-gram", "bag"])
def test_trained_vectors_are_those_of_the_baseline(trained_run: Path, name: str) -> None:
    """Over all words of a text, relatedness is the baseline's own similarity: same words, same
    stems, same vectors."""
    spec = f"baseline:{name}@{trained_run}"
    pairs = [
        ("The ship reached the harbour", "A sailor watched the waves"),
        ("the judge praised the jury", "The judge feared the trial and the verdict"),
    ]
    vectors = open_word_vectors(spec)
    found = [relatedness(*(mean_vector(vectors, words(text)) for text in pair)) for pair in pairs]
    assert found == pytest.approx(open_baseline(spec).similarities(pairs).tolist(), abs=1e-6)


def test_glove_and_content() -> None:
    """The prefix may be left out; +content drops stop words."""
    plain, content = open_word_vectors("glove"), open_word_vectors("baseline:glove+content")
    assert plain.dimensions == 50
    assert plain.look_up("the") is not None
    assert content.look_up("the") is None
    assert content.look_up("ship") is not None


def test_files(tmp_path: Path) -> None:
    """Any file that the baselines read."""
    path = tmp_path / "vectors.txt"
    path.write_text("sea 1 0 2\nship 0 1 0.5\n")
    found = open_word_vectors(f"vectors@{path}").look_up("ship")
    assert found is not None
    assert found.tolist() == [0, 1, 0.5]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("glove+max", r"\+max goes with a sentence vector"),
        ("dice", "no word vectors. Expected baseline:glove"),
        ("vectors", "no word vectors"),
        ("skip-gram", "no word vectors"),
    ],
)
def test_what_has_no_word_vectors(spec: str, message: str) -> None:
    """Refused, with what is possible."""
    with pytest.raises(InputError, match=message):
        open_word_vectors(spec)


def test_models_without_vectors_of_words(trained_run: Path, tiny_run: Path) -> None:
    """skip-thought encodes sentences only; a run may lack what is asked of it."""
    with pytest.raises(InputError, match="no vector for a single word"):
        open_word_vectors(f"skip-thought@{trained_run}")
    with pytest.raises(MissingStageError, match="firth train baseline cbow"):
        open_word_vectors(f"cbow@{tiny_run}")


NOUNS, VERBS = ("ship", "sea", "cow", "barn", "judge"), ("sailed", "left", "saw")


def sentence(rng: np.random.Generator) -> tuple[str, Parsed]:
    """A noun or two and perhaps a verb; the first noun is the subject."""
    nouns = rng.choice(NOUNS, rng.integers(1, 3)).tolist()
    verbs = rng.choice(VERBS, rng.integers(0, 2)).tolist()
    words = (*nouns, *verbs)
    tags = ("NOUN",) * len(nouns) + ("VERB",) * len(verbs)
    return " ".join(words), Parsed(words, tags, {GrammaticalRole.SUBJECT: (0,)})


@pytest.fixture(scope="module")
def vectors() -> WordVectors:
    rng = np.random.default_rng(3)
    known = [*NOUNS, *VERBS[:2]]
    return WordVectors.of("toy", known, rng.normal(size=(len(known), 4)).astype(np.float32))


@pytest.fixture(scope="module")
def made() -> tuple[EvaluationSet, dict[str, Parsed]]:
    """60 pairs scored by their overlap and noise."""
    rng = np.random.default_rng(5)
    sentences: dict[str, Parsed] = {}
    rows: list[OwnRow] = []
    for _ in range(60):
        pair = [sentence(rng) for _ in range(2)]
        sentences |= dict(pair)
        texts = (pair[0][0], pair[1][0])
        score = float(Dice().similarities([texts])[0] + rng.normal(0, 0.3))
        rows.append(OwnRow(texts, len(rows) + 1, score))
    return own_set(OwnFile(Path("made.tsv"), Content.SCORED, tuple(rows), {})), sentences


def test_correlations_are_over_the_pairs_that_have_the_words(
    made: tuple[EvaluationSet, dict[str, Parsed]], vectors: WordVectors
) -> None:
    """Spearman as scipy has it, on exactly the pairs in which both sentences have such a word with
    a vector; `both` counts words without one too."""
    data, sentences = made
    found = pair_features(data, sentences, vectors)
    lines = {line.name: line for line in correlate(data, found, resamples=20)}
    assert set(lines) == {OVERLAP, *(feature.name for feature in FEATURES)}
    scores = np.array([row.score for row in data.rows])
    values, both = found["VERB"]
    there = np.isfinite(values)
    assert 2 < there.sum() < both < len(scores), "the premise: some verb has no vector"
    for name in ("NOUN", "VERB", "Noun group", "All", OVERLAP, "Subject"):
        values = found[name][0]
        there = np.isfinite(values)
        expected = 100 * spearmanr(values[there], scores[there]).statistic
        assert lines[name].figure.value == pytest.approx(expected)
        assert lines[name].figure.n == there.sum()
    assert lines["VERB"].both == both
    assert lines["ADJ"].figure.value is None
    assert not lines["ADJ"].shown


def test_groups_of_one_part_of_speech_are_that_part(
    made: tuple[EvaluationSet, dict[str, Parsed]], vectors: WordVectors
) -> None:
    """Where there are only nouns, the noun group is NOUN; Dice is the baseline's."""
    data, sentences = made
    found = pair_features(data, sentences, vectors)
    assert np.array_equal(found["NOUN"][0], found["Noun group"][0], equal_nan=True)
    assert not np.array_equal(found["NOUN"][0], found["Subject"][0], equal_nan=True)
    assert np.array_equal(found[OVERLAP][0], Dice().similarities(data.pairs))


def test_parts_of_speech_fall_and_rare_ones_are_hidden(
    made: tuple[EvaluationSet, dict[str, Parsed]], vectors: WordVectors
) -> None:
    """The blocks keep the paper's order; a share is a strict bound, as in its footnote 10."""
    data, sentences = made
    found = pair_features(data, sentences, vectors)
    lines = correlate(data, found, resamples=5)
    assert [line.block for line in lines] == sorted(
        (line.block for line in lines), key=list(Block).index
    )
    shown = [line.figure.value for line in lines if line.block is Block.POS and line.shown]
    assert shown == sorted(shown, key=lambda value: -(value or 0))
    verbs = next(line for line in lines if line.name == "VERB").figure.n
    exactly = correlate(data, found, resamples=5, min_share=verbs / len(data.rows))
    assert not next(line for line in exactly if line.name == "VERB").shown


def test_scores_that_cannot_correlate(made: tuple[EvaluationSet, dict[str, Parsed]]) -> None:
    """Found before anything is parsed."""
    data, _ = made
    check_scores(data)
    rows = tuple(Row(row.texts, 0.5) for row in data.rows)
    with pytest.raises(InputError, match="60 pairs with 1 different scores"):
        check_scores(EvaluationSet(data.task, "all", rows, "flat.tsv"))


FILES = {"manifest.json", "results.json", "features.parquet", "table.md", "table.tex",
         "scatter.png", "scatter.svg"}  # fmt: skip


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """40 pairs of sentences, of two domains, scored by their words in common."""
    rng = random.Random(4)
    path = tmp_path_factory.mktemp("pairs") / "pairs.tsv"
    text = "sentence1\tsentence2\tscore\tsubtask\n"
    for number in range(40):
        one, two = (
            f"The {rng.choice(['dog', 'judge', 'ship'])} {rng.choice(['saw', 'left'])} "
            f"a {rng.choice(['red', 'small'])} {rng.choice(['ball', 'house', 'barn'])}."
            for _ in range(2)
        )
        score = len({*one.split()} & {*two.split()}) / 6 + rng.random() / 10
        text += f"{one}\t{two}\t{score:.3f}\t{'sea' if number % 3 else 'land'}\n"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_folder(pairs: Path, tmp_path: Path) -> None:
    """Screen, JSON and Markdown hold the same figures; a second run gives equal bytes."""
    arguments = ["relatedness", "features", str(pairs), "--resamples", "50", "--quiet", "--out"]
    result = CliRunner().invoke(app, [*arguments, str(tmp_path / "one")])
    assert result.exit_code == 0, result.output
    assert {path.name for path in (tmp_path / "one").iterdir()} == FILES
    stored = json.loads((tmp_path / "one" / "results.json").read_text())
    lines = {line["name"]: line for line in stored["features"]}
    assert lines["NOUN"]["spearman"]["n"] == 40
    shown = f"{lines['NOUN']['spearman']['value']:.1f} [{lines['NOUN']['spearman']['low']:.1f}"
    assert shown in result.output
    assert shown in (tmp_path / "one" / "table.md").read_text()
    again = CliRunner().invoke(app, [*arguments, str(tmp_path / "two")])
    assert again.output == result.output
    for name in FILES - {"manifest.json", "results.json"}:  # which keeps the command line
        one, two = ((tmp_path / folder / name).read_bytes() for folder in ("one", "two"))
        assert one == two, name


def test_a_row_a_pair(pairs: Path, tmp_path: Path) -> None:
    """The Parquet holds what the figures are made of, and no text."""
    found = measure_features(pairs, resamples=5)
    found.write(tmp_path)
    table = pq.read_table(tmp_path / "features.parquet")
    assert table.column_names[:4] == ["row", "domain", "score", "Dice"]
    assert table["score"].to_pylist() == [row.score for row in found.data.rows]
    line = found.find("PROPN")
    assert table["PROPN"].null_count == 40 - line.figure.n
    with pytest.raises(InputError, match=r"no such feature\. Known: Dice, All"):
        found.find("VERBS")


def test_what_stops_it_comes_first(pairs: Path, tmp_path: Path) -> None:
    """Nothing is written when something cannot be used."""
    for arguments in (["--vectors", "dice"], ["--spacy", "nowhere"], ["--domain", "topic"]):
        result = CliRunner().invoke(
            app, ["relatedness", "features", str(pairs), "--out", str(tmp_path / "x"), *arguments]
        )
        assert isinstance(result.exception, InputError), arguments
    assert not (tmp_path / "x").exists()

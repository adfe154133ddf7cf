"""`firth relatedness features` from a file to its folder of results."""

import json
import random
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from firth.cli.main import app
from firth.relatedness.features.features import measure_features
from firth.run.errors import InputError

FILES = {"results.json", "features.parquet", "table.md", "table.tex", "scatter.png", "scatter.svg"}


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
    for name in FILES - {"results.json"}:  # which keeps the command line
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

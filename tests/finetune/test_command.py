"""`firth finetune` as it is typed."""

import json
from pathlib import Path

import pytest
from sentence_transformers import SentenceTransformer
from tests.finetune.conftest import Write, scored_rows
from typer.testing import CliRunner

from firth.cli.main import app
from firth.run.errors import InputError


def test_several_seeds_and_own_columns(static: Path, write: Write, tmp_path: Path) -> None:
    """`--seeds 1 2`, `--columns score=rating split=part`; JSON alone on standard output."""
    rows = [{**row, "part": "test" if n % 3 == 0 else "train"} for n, row in
            enumerate(scored_rows(60))]  # fmt: skip
    rows = [{("rating" if k == "score" else k): v for k, v in row.items()} for row in rows]
    given = ["finetune", "pairs", str(static), str(write(rows)), "--out", str(tmp_path / "model"),
             "--columns", "score=rating", "split=part", "--range", "0", "5", "--epochs", "1",
             "--resamples", "5", "--json", "--quiet", "--seeds", "1", "2"]  # fmt: skip
    done = CliRunner().invoke(app, given)
    assert done.exit_code == 0, done.exception
    report = json.loads(done.stdout)
    assert [one["seed"] for one in report["seeds"]] == [1, 2]
    assert report["data"]["test"]["rows"] == 20
    assert report["drawn"] == ["dev"]
    SentenceTransformer(str(tmp_path / "model"), device="cpu")
    assert CliRunner().invoke(app, given).exit_code == 0  # it is there already


@pytest.mark.parametrize(
    ("more", "part"),
    [
        (("--folds", "2", "--by", "topic"), "one of them"),
        (("--folds", "2", "--seeds", "1", "2"), "takes one"),
        (("--by", "topic", "--apart", "topic"), "--by alone"),
        (("--by", "topic", "--test", "sts-b"), "which make both"),
        (("--columns", "score"), "OURS=YOURS"),
        (("--range", "5", "0"), "lower score first"),
    ],
    ids=lambda x: x[0] if isinstance(x, tuple) else "",
)
def test_options_that_do_not_go_together(
    more: tuple[str, ...], part: str, static: Path, write: Write, tmp_path: Path
) -> None:
    """One message, and nothing is written."""
    given = ["finetune", "pairs", str(static), str(write(scored_rows(20)))]
    done = CliRunner().invoke(app, [*given, "--out", str(tmp_path / "model"), *more])
    assert isinstance(done.exception, InputError)
    assert part in str(done.exception)
    assert {path.name for path in tmp_path.iterdir()} == {"mine.csv"}


def test_pairs_need_data(static: Path, tmp_path: Path) -> None:
    """There is no usual set of one's own."""
    given = ["finetune", "pairs", str(static), "--out", str(tmp_path / "model")]
    assert "nothing to learn from" in str(CliRunner().invoke(app, given).exception)

"""The crowd CSV holds every question with its texts, gold ones at regular intervals."""

import csv
from pathlib import Path

from typer.testing import CliRunner

from firth.cli.main import app

from .conftest import N_TUPLES, gold, items, tuples


def test_every_tuple_is_a_row(files: dict[str, Path], tmp_path: Path) -> None:
    """Ids lead to the same texts as in the items; gold answers stand beside gold questions only."""
    out = tmp_path / "crowd.csv"
    options = [f"--{name}={path}" for name, path in files.items()]
    done = CliRunner().invoke(
        app, ["bws", "crowd", *options, "--gold-every", "4", "--out", str(out)]
    )
    assert done.exit_code == 0, done.output
    with out.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    texts = {item.id: item.texts for item in items()}
    members = {one.id: one.items for one in tuples()}
    right = {one.tuple: (one.best, one.worst) for one in gold()}
    assert sorted(row["tuple"] for row in rows) == sorted(members)
    for row in rows:
        assert tuple(row[f"item{k}"] for k in range(1, 5)) == members[row["tuple"]]
        for k in range(1, 5):
            found = (row[f"item{k}_text1"], row[f"item{k}_text2"])
            assert found == texts[row[f"item{k}"]]
        assert (row["gold_best"], row["gold_worst"]) == right.get(row["tuple"], ("", ""))
    flags = [row["gold"] == "true" for row in rows]
    assert flags == [number % 4 == 0 for number in range(1, N_TUPLES + 1)]

"""Runs over toy documents, and evaluation sets of random rows."""

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import toy_documents
from tests.encoders.conftest import tiny_bert  # noqa: F401

from firth.corpus.build import build_corpus
from firth.reproduce.result import Cell, Result
from firth.run.run import Run
from firth.run.settings import parse_settings

SMALL = {"baselines": {"min_count": 2, "dimensions": 12, "epochs": 2}}
NOUNS = ["ship", "boat", "harbor", "storm", "captain", "farmer", "field", "wheat", "cow", "barn"]


def find(result: Result, row: str, column: str) -> Cell:
    """Return the only cell of a row and a column."""
    (cell,) = [one for one in result.cells if (one.row, one.column) == (row, column)]
    return cell


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run with a corpus alone. Stages may be added to it."""
    folder = tmp_path_factory.mktemp("reproduce") / "run"
    run = Run.create(folder, parse_settings({"reproduce": SMALL}, "test"))
    build_corpus(run, toy_documents())
    return run


def write_set(
    folder: Path, rows: int, head: Sequence[str], more: Callable[[int, random.Random], list[Any]]
) -> None:
    """Write rows of two random sentences and more columns."""
    rng = random.Random(rows)
    folder.mkdir(parents=True)
    lines = ["\t".join(("sentence1", "sentence2", *head))]
    for number in range(rows):
        texts = [
            f"The {rng.choice(NOUNS)} saw the {rng.choice(NOUNS)} near the {rng.choice(NOUNS)}."
            for _ in range(2)
        ]
        lines.append("\t".join(map(str, (*texts, *more(number, rng)))))
    (folder / "pairs.tsv").write_text("\n".join(lines) + "\n")


@pytest.fixture(scope="session")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with sets of random rows."""
    folder = tmp_path_factory.mktemp("sets")
    sts = ("score", "split", "subset")
    write_set(folder / "STS14", 40, sts, lambda i, rng: [
        round(5 * rng.random(), 2), "test", ("OnWN", "images")[i % 2]])  # fmt: skip
    write_set(folder / "STSb", 45, sts[:2], lambda i, rng: [
        round(5 * rng.random(), 2), ("train", "dev", "test")[i % 3]])  # fmt: skip
    write_set(folder / "AFS", 60, ("score", "subtask"), lambda i, rng: [
        round(1 + 4 * rng.random(), 2), "GDA"[i % 3]])  # fmt: skip
    write_set(folder / "STR-2021", 60, ("score", "subset"), lambda i, rng: [
        round(rng.random(), 3), ("STS", "SNLI", "Wiki_r")[i % 3]])  # fmt: skip
    return folder

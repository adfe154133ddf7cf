"""No text makes an answer about it slow: time grows with the length, whatever is repeated."""

import json
from collections.abc import Callable
from itertools import combinations_with_replacement
from pathlib import Path

import pytest
from tests.conftest import grows

import firth
from firth.corpus.read import read_documents
from firth.model import Model
from firth.run.settings import Settings

CLASSES = ("_", "a", "1", ".", "'", " ", "\n", "(", "字", "<")
"""A character of each kind that words, sentences and readers tell apart. `tests/text` has more,
for the functions of texts alone."""
KINDS = ("txt", "md", "html", "csv", "jsonl")
Work = Callable[[Model, str], object]
WORKS: dict[str, Work] = {
    "explain": lambda model, text: model.explain(text, f"{text[1:]}x"),
    "search": lambda model, text: model.search(f"{text} ship"),
    "match": lambda model, text: firth.match([text, "a"], [text[1:], "b"], encoder=model.encoder),
}


@pytest.fixture(params=[*WORKS, *KINDS])
def work(request: pytest.FixtureRequest, tmp_path: Path) -> Work:
    """What is done with a text; a reader reads it from a file."""
    kind = request.param
    if kind in WORKS:
        return WORKS[kind]
    path, corpus = tmp_path / f"text.{kind}", Settings().corpus

    def read(_: Model, text: str) -> object:
        path.write_text(json.dumps({"text": text}) if kind == "jsonl" else f"text\n{text}")
        return list(read_documents([str(path)], corpus))

    return read


@pytest.mark.slow
def test_time_grows_with_the_length(work: Work, toy_folder: Path) -> None:
    """Repeats of a character of each kind, and of each two: four times the text may take six times
    the time; a quadratic function takes sixteen times."""
    model = firth.load(toy_folder, quiet=True)
    work(model, "a ship")

    pairs = map("".join, combinations_with_replacement(CLASSES, 2))
    assert [p for p in pairs if grows(lambda text: work(model, text), p, 2_000, 8_000, 6)] == []

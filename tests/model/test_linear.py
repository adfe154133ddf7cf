"""No text makes an answer about it slow: time grows with the length, whatever is repeated."""

import json
from collections.abc import Callable
from itertools import combinations_with_replacement
from pathlib import Path
from time import process_time

import pytest

import firth
from firth.corpus.read import read_documents
from firth.model import Model
from firth.run.settings import Settings

CLASSES = ("_", "a", "1", ".", "'", " ", "\n", "(", "字", "<")
"""A character of each kind that words, sentences and readers tell apart. `tests/text` has more,
for the functions of texts alone."""
SHORT, LONG, FACTOR, TRIES = 2_000, 8_000, 6, 3
"""Four times the text may take six times the time: a quadratic function takes sixteen times."""
SURE = 0.05
"""Seconds of processor time below which nothing is slow."""
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
    """Repeats of a character of each kind, and of each two, take processor time that grows by less
    than 6 from 2,000 to 8,000 characters, each the least of three tries."""
    model = firth.load(toy_folder, quiet=True)
    work(model, "a ship")

    def seconds(length: int) -> float:
        began = process_time()
        work(model, (pair * length)[:length])
        return process_time() - began

    slow = []
    for pair in map("".join, combinations_with_replacement(CLASSES, 2)):
        if seconds(LONG) > SURE:
            long, short = (min(seconds(size) for _ in range(TRIES)) for size in (LONG, SHORT))
            if long > FACTOR * short:
                slow.append(pair)
    assert slow == []

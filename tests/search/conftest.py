"""Small runs with an index: made-up documents of four topics, and an encoder that knows them."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from firth.corpus.build import build_corpus
from firth.encoders.static import STATIC, write_static
from firth.run.run import Run
from firth.run.settings import parse_settings
from firth.search.index import build_index

TOPICS = {
    "sea": "ship boat vessel harbor port storm captain sailor anchor island",
    "farm": "farmer field wheat barley cow barn harvest tractor seed meadow",
    "court": "judge lawyer trial jury witness verdict appeal hearing law crime",
    "music": "singer song violin cello concert piano melody orchestra choir drum",
}
Records = list[dict[str, Any]]


def document(topic: str, number: int, sentences: int = 5) -> dict[str, Any]:
    """A document about a topic; every sentence has three of its nouns."""
    nouns = TOPICS[topic].split()
    rng = np.random.default_rng([number, *topic.encode()])
    lines = []
    for _ in range(sentences):
        one, two, three = rng.choice(nouns, 3, replace=False)
        verb, word = rng.choice(["saw", "met", "left"]), f"{topic}{rng.integers(1000)}"
        lines.append(f"The {one} {verb} the {two} near the {three} of {word}.")
    return {
        "id": f"{topic}-{number}",
        "title": f"About the {nouns[number % 10]}",
        "date": f"20{10 + number:02}-05-01",
        "section": topic,
        "text": " ".join(lines),
    }


def documents(numbers: range = range(6)) -> Records:
    """Documents of all topics."""
    return [document(topic, number) for number in numbers for topic in TOPICS]


def write_encoder(folder: Path, seed: int = 3) -> None:
    """Words of one topic have similar vectors, and a few pairs of synonyms nearly the same."""
    rng = np.random.default_rng(seed)
    vocabulary, rows = [], []
    for nouns in TOPICS.values():
        center = rng.standard_normal(24)
        for noun in nouns.split():
            vocabulary.append(noun)
            rows.append(center + 1.5 * rng.standard_normal(24))
    for one, two in (("boat", "ship"), ("port", "harbor"), ("barley", "wheat")):
        rows[vocabulary.index(one)] = rows[vocabulary.index(two)] + 0.3 * rng.standard_normal(24)
    write_static(folder, vocabulary, np.array(rows, np.float32))


def build_encoder(run: Run, seed: int = 3) -> None:
    """Build the stage `encoder` of a run."""

    def fill(_: Run, workspace: Path) -> Mapping[str, Any]:
        write_encoder(workspace, seed)
        return {}

    run.build(STATIC, fill, inputs={"made up": str(seed)})


def made(folder: Path, records: Records, **sections: Mapping[str, Any]) -> Run:
    """A run of some documents, with an encoder and an index."""
    kept = ["section"] if any("section" in record for record in records) else []
    corpus = {"fields": kept, **sections.pop("corpus", {})}
    run = Run.create(folder, parse_settings({"corpus": corpus, **sections}, "test"))
    build_corpus(run, records)
    build_encoder(run)
    build_index(run)
    return run


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run of 24 documents, which no test changes."""
    return made(tmp_path_factory.mktemp("search") / "run", documents())


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., Run]:
    """Makes a run in a folder of the test: `make(records, **sections)`."""

    def made_here(records: Records, name: str = "run", **sections: Mapping[str, Any]) -> Run:
        return made(tmp_path / name, records, **sections)

    return made_here

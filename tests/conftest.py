"""Tiny inputs and models, built offline and shared by all tests."""

import random
from pathlib import Path

import pytest

from firth import progress

progress.set_quiet(True)

TOPICS = {
    "sea": "ship harbour wave sailor storm sail captain anchor island tide".split(),
    "farm": "farmer field wheat plough cow barn harvest tractor seed meadow".split(),
    "court": "judge lawyer trial jury witness verdict appeal court law crime".split(),
    "music": "singer song violin concert piano melody orchestra choir drum stage".split(),
}
VERBS = "saw met left found watched reached followed praised feared remembered".split()


def tiny_documents(count: int = 40, seed: int = 5) -> list[tuple[str, str]]:
    """(id, text) of made-up documents: four topics, paragraphs of three to five sentences."""
    rng = random.Random(seed)
    documents = []
    for number in range(count):
        topic = list(TOPICS)[number % len(TOPICS)]
        paragraphs = []
        for _ in range(3):
            sentences = []
            for _ in range(rng.randint(3, 5)):
                one, two, three = rng.sample(TOPICS[topic], 3)
                sentences.append(f"The {one} {rng.choice(VERBS)} the {two} near the {three}.")
            paragraphs.append(" ".join(sentences))
        documents.append((f"{topic}-{number}", "\n\n".join(paragraphs)))
    return documents


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of `tiny_documents` as .txt files."""
    folder = tmp_path_factory.mktemp("texts")
    for name, text in tiny_documents():
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")
    return folder

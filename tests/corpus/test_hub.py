"""Data sets through `datasets`; a folder stands in for the hub, which takes either."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from firth.corpus.corpus import Corpus
from firth.corpus.inputs import resolve_inputs
from firth.run.errors import InputError


def data_set(folder: Path, texts: list[str | None]) -> Path:
    folder.mkdir()
    lines = (json.dumps({"id": f"x{i}", "text": text}) for i, text in enumerate(texts))
    (folder / "train.jsonl").write_text("\n".join(lines))
    return folder


def test_rows_become_documents(tmp_path: Path) -> None:
    """Rows are read in order, and bad ones named by their row."""
    folder = data_set(tmp_path / "set", ["One. Two. Three.", None, "Four."])
    corpus = Corpus.build([f"hub:{folder}"], tmp_path / "run")
    assert corpus.texts([0, 1, 2, 3]) == ["One.", "Two.", "Three.", "Four."]
    assert corpus.document_source(1) == (f"hub:{folder}", 3)
    skipped = (tmp_path / "run" / "corpus" / "skipped.jsonl").read_text()
    assert json.loads(skipped)["line"] == 2


def test_columns_that_python_cannot_hold_cost_nothing(tmp_path: Path) -> None:
    """A date beyond the year 9999 beside the text does not end the reading."""
    (tmp_path / "set").mkdir()
    dates = pa.array([10**9, 10**9], pa.date32())
    table = pa.table({"text": ["One. Two.", "Three."], "title": dates, "when": dates})
    pq.write_table(table, tmp_path / "set" / "train.parquet")
    corpus = Corpus.build([f"hub:{tmp_path / 'set'}"], tmp_path / "run")
    assert [text for batch in corpus.batches() for text in batch] == ["One.", "Two.", "Three."]
    with pytest.raises(InputError, match="no column 'body'"):
        Corpus.build([f"hub:{tmp_path / 'set'}"], tmp_path / "other", text_field="body")


def test_fingerprint_follows_the_data(tmp_path: Path) -> None:
    """Another revision of the data makes the stage stale."""
    folder = data_set(tmp_path / "set", ["One."])
    (source,) = resolve_inputs([f"hub:{folder}"])
    first = source.fingerprint()
    assert source.fingerprint() == first
    (folder / "train.jsonl").write_text('{"text": "Two."}')
    assert source.fingerprint() != first


def test_a_missing_split_is_told(tmp_path: Path) -> None:
    """The name of the data set stands in the error."""
    folder = data_set(tmp_path / "set", ["One."])
    with pytest.raises(InputError, match="hub:"):
        Corpus.build([f"hub:{folder}::validation"], tmp_path / "run")


def test_without_a_network_nothing_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error comes at once, not after the client's retries."""
    from firth.corpus import hub

    monkeypatch.setattr(hub, "hub_is_reachable", lambda: False)
    monkeypatch.delattr("datasets.load_dataset_builder")
    (source,) = resolve_inputs(["hub:some/thing"])
    with pytest.raises(InputError, match="cannot be reached"):
        source.fingerprint()

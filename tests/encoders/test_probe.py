"""Models that would take all memory or time are refused, and others are opened twice only once."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from firth.encoders import probe as probe_module
from firth.encoders.folder import PretrainedFiles
from firth.encoders.kinds import open_encoder
from firth.encoders.probe import PROBED, probe
from firth.run.errors import InputError

Edited = Callable[..., Path]


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Models are probed, and an empty cache remembers what passed."""
    monkeypatch.setenv("FIRTH_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv(PROBED, raising=False)


def normalizers(*steps: dict[str, Any]) -> Callable[[Any], Any]:
    return lambda t: {**t, "normalizer": {"type": "Sequence", "normalizers": list(steps)}}


def replacing(old: str, new: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": {"String": old}, "content": new}


REGEX = {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated", "invert": False}
BY_LOOK: dict[str, tuple[str, Callable[[Any], Any], str]] = {
    "layers": ("config.json", lambda c: {**c, "num_hidden_layers": 10**7}, "is 10,000,000; exp"),
    "replaced": ("tokenizer.json", normalizers(*[replacing("a", "a" * 99)] * 8), "as long"),
    "prepended": (
        "tokenizer.json", normalizers({"type": "Prepend", "prepend": "a" * 10**7}), "as long",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BY_LOOK)
def test_sizes_without_measure_are_refused_by_look(
    tiny_bert: Path, edited: Edited, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, change, part = BY_LOOK[case]
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("it was opened"))
    with pytest.raises(InputError, match=part):
        open_encoder(str(edited(tiny_bert, file, change)))


def test_a_pattern_without_end_is_one_message(tiny_bert: Path, edited: Edited) -> None:
    """The library panics; this process does not."""
    model = edited(tiny_bert, "tokenizer.json", lambda t: {**t, "pre_tokenizer": REGEX})
    with pytest.raises(InputError, match=r"Expected|texts that it can") as caught:
        open_encoder(str(model)).encode(["a" * 60 + "!"])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("limit", "value"), [("_SECONDS", 0.01), ("_MEMORY", 1 << 20)])
def test_memory_and_time_are_bounded(
    tiny_onnx: Path, monkeypatch: pytest.MonkeyPatch, limit: str, value: float
) -> None:
    """A model that takes more than its bytes explain ends with the probe."""
    monkeypatch.setattr(probe_module, limit, value)
    with pytest.raises(InputError, match="needs more than"):
        probe(PretrainedFiles.find(str(tiny_onnx / "model.onnx")))


def test_a_model_that_passed_is_remembered_by_its_bytes(
    tiny_onnx: Path, edited: Edited, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[Any] = []
    run = subprocess.run

    def counted(*arguments: Any, **options: Any) -> Any:
        runs.append(arguments)
        return run(*arguments, **options)

    monkeypatch.setattr(subprocess, "run", counted)
    model = edited(tiny_onnx)
    for _ in range(2):
        open_encoder(str(model))
    assert len(runs) == 1
    settings = json.loads((model / "tokenizer_config.json").read_text())
    (model / "tokenizer_config.json").write_text(json.dumps(settings | {"padding_side": "left"}))
    open_encoder(str(model))
    assert len(runs) == 2

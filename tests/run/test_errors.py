"""Errors: all problems in one message, and the extra that is missing."""

from pathlib import Path

import pytest

from firth.run.errors import MissingExtraError, require


def test_an_optional_library_is_imported_or_its_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A library that is there and lacks another one is not reported as missing itself."""
    assert require("json", "torch", "x").loads("1") == 1
    with pytest.raises(MissingExtraError, match=r"An encoder needs .* 'firth\[onnx\]'"):
        require("no_such_library.part", "onnx", "An encoder")
    (tmp_path / "half_installed.py").write_text("import no_such_library")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="no_such_library"):
        require("half_installed", "onnx", "An encoder")

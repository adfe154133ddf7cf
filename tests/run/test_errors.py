"""A message about a missing extra has a command that works where firth was installed from."""

import json
import shlex
import shutil
import sys
from importlib import metadata
from pathlib import Path

import pytest

from firth.run.errors import MissingExtraError, install_command


class Installed:
    """A distribution that was installed from a place, or from an index."""

    def __init__(self, url: str | None) -> None:
        self.url = url

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        record = {"url": self.url, "dir_info": {"editable": "edited" in str(self.url)}}
        return None if self.url is None else json.dumps(record)


@pytest.mark.parametrize(
    ("url", "what"),
    [
        (None, "firth[onnx]"),
        ("file:///home/ann/edited", "-e /home/ann/edited[onnx]"),
        ("file:///home/ann/my%20firth", "/home/ann/my firth[onnx]"),
        ("file:///tmp/firth-1.whl", "firth[onnx] @ file:///tmp/firth-1.whl"),
        ("https://example.org/firth.git", "firth[onnx]"),
    ],
)
def test_the_command_names_the_place(
    url: str | None, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A checkout's folder, a wheel, or the name; and the pip of the Python that runs."""
    monkeypatch.setattr(metadata, "distribution", lambda name: Installed(url))
    words = ["-e", what[3:]] if what.startswith("-e ") else [what]
    own = str(Path(sys.executable).with_name("pip"))
    for path, called in ((own, ["pip"]), (None, [sys.executable, "-m", "pip"])):
        monkeypatch.setattr(shutil, "which", lambda _, path=path: path)
        assert shlex.split(install_command("onnx")) == [*called, "install", *words]
    assert install_command("onnx") in str(MissingExtraError("This", "onnx"))

"""A message about a missing extra has a command that works where firth was installed from."""

import json
import shlex
from importlib.metadata import distribution

import pytest

from firth.run import errors
from firth.run.errors import MissingExtraError, install_command


class Installed:
    """A distribution that was installed from a place, or from an index."""

    def __init__(self, url: str | None) -> None:
        self.url = url

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return None if self.url is None else json.dumps({"url": self.url})


@pytest.mark.parametrize(
    ("url", "what"),
    [
        (None, "firth[onnx]"),
        ("file:///home/ann/my%20firth", "/home/ann/my firth[onnx]"),
        ("file:///tmp/firth-1.whl", "firth[onnx] @ file:///tmp/firth-1.whl"),
        ("https://example.org/firth.git", "firth[onnx]"),
    ],
)
def test_the_command_names_the_place(
    url: str | None, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A checkout's folder, a wheel, or the name; one argument for the shell."""
    monkeypatch.setattr(errors, "distribution", lambda name: Installed(url))
    assert shlex.split(install_command("onnx")) == ["pip", "install", what]
    assert install_command("onnx") in str(MissingExtraError("This", "onnx"))


def test_this_installation_has_a_command() -> None:
    """The record of a real installation is read; the premise is that there is one."""
    assert distribution("firth").version
    assert install_command("serve").endswith("[serve]'") or "[serve]" in install_command("serve")

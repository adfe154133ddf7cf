"""`firth serve` as users run it: it says where, answers, and ends well when it is told to."""

import json
import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from typer.testing import CliRunner

from firth.cli.main import app
from firth.serve.token import VARIABLE

from .conftest import A, B

TOKEN = "a-token-of-the-tests"


def test_a_run_is_served_until_it_is_told_to_end(tiny_run: Path) -> None:
    """The address on standard output, a score over it with the token of the environment, status 0
    at the end, and nothing on standard error."""
    command = [sys.executable, "-m", "firth", "serve", str(tiny_run), "--port", "0", "--json"]
    environment = {**os.environ, VARIABLE: TOKEN}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as served:
        assert served.stdout is not None
        told = ""
        while not told.endswith("}\n"):
            told += served.stdout.readline()
        ready = json.loads(told)
        assert ready["run"] == str(tiny_run)
        assert ready["token"] is True
        body = json.dumps({"pairs": [[A, B]], "model": "surrogate"}).encode()
        headers = {"content-type": "application/json", "authorization": f"Bearer {TOKEN}"}
        request = urllib.request.Request(f"{ready['address']}api/similarity", body, headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            assert len(json.load(answer)["scores"]) == 1
        served.send_signal(signal.SIGTERM)
        _, problems = served.communicate(timeout=60)
    assert served.returncode == 0
    assert problems == ""


def test_what_is_no_run_and_what_others_would_reach_is_refused(
    tiny_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is opened or listens."""
    monkeypatch.delenv(VARIABLE, raising=False)
    (tmp_path / "empty").mkdir()
    for arguments, told in (
        ([tmp_path / "empty"], "not a run"),
        ([tiny_run, "--host", "0.0.0.0"], "there is no token"),
        ([tiny_run, "--token-file", tmp_path / "none"], "cannot be read"),
        ([tiny_run, "--set", "index.model=x"], "fixed by the run"),
    ):
        result = CliRunner().invoke(app, ["serve", *map(str, arguments)])
        assert result.exit_code == 1
        assert told in str(result.exception)

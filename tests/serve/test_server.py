"""`firth serve`: the command, tokens, and addresses."""

import re
import signal
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest

from firth.run.errors import InputError
from firth.serve.server import TOKEN_VARIABLE, kind_of_host, listen, read_token, serve


def test_the_command_serves_until_it_is_stopped(toy_folder: Path) -> None:
    """It prints its address, answers, and ends with status 0 on SIGTERM."""
    command = [
        sys.executable,
        "-u",
        *["-m", "firth", "serve", "--port", "0", "--run"],
        str(toy_folder),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        address = re.search(r"http://\S+/", line)
        assert address is not None, line
        assert urlopen(f"{address[0]}health", timeout=60).status == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


@pytest.mark.parametrize("token", ["short", "with blanks in it, long", "ünïcode-0123456789"])
def test_weak_tokens_are_refused(token: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message names the variable; a good token is returned, an empty one is none."""
    monkeypatch.setenv(TOKEN_VARIABLE, token)
    with pytest.raises(InputError, match=TOKEN_VARIABLE):
        read_token()
    monkeypatch.setenv(TOKEN_VARIABLE, "0123456789abcdef")
    assert read_token() == "0123456789abcdef"
    monkeypatch.setenv(TOKEN_VARIABLE, "")
    assert read_token() is None


def test_other_machines_need_a_token(toy_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An address that others reach is refused without one; so is a port that is taken."""
    monkeypatch.delenv(TOKEN_VARIABLE, raising=False)
    with pytest.raises(InputError, match="--no-auth"):
        serve(toy_folder, host="0.0.0.0")
    with listen("127.0.0.1", 0) as taken, pytest.raises(InputError, match="port"):
        serve(toy_folder, port=taken.getsockname()[1])


def test_kinds_of_hosts() -> None:
    """Loopback is this machine alone; addresses are no names."""
    assert kind_of_host("127.0.0.1") == kind_of_host("localhost") == "local"
    assert kind_of_host("0.0.0.0") == kind_of_host("10.0.0.1") == "address"
    assert kind_of_host("evil.com") == "name"

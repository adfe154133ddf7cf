"""`firth serve`: the command, tokens, and addresses."""

import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from firth.run.errors import InputError
from firth.serve.server import TOKEN_VARIABLE, has_other_users, kind_of_host, read_token, serve


def test_the_command_serves_until_it_is_stopped(toy_folder: Path) -> None:
    """It prints its address, answers, and ends with status 0 on SIGTERM."""
    arguments = ["-u", "-m", "firth", "serve", "--port", "0", "--run", str(toy_folder)]
    command = [sys.executable, *arguments]
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
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(InputError, match="port"):
        serve(toy_folder, port=taken.getsockname()[1])


def test_a_token_is_made_where_others_use_the_machine(
    toy_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is part of the address that is printed; alone, or with --no-auth, there is none."""
    said: list[str] = []

    def ready(_: Any, ready: Any, *__: Any) -> None:
        ready("http://127.0.0.1:1/")

    monkeypatch.delenv(TOKEN_VARIABLE, raising=False)
    monkeypatch.setattr("firth.serve.server.run_server", ready)
    monkeypatch.setattr("firth.serve.app.Service.start", lambda _: None)
    monkeypatch.setattr("firth.serve.server.say", said.append)
    for others, auth in ((True, True), (False, True), (True, False)):
        monkeypatch.setattr("firth.serve.server.has_other_users", lambda others=others: others)
        serve(toy_folder, auth=auth)
    assert re.search(r"http://127.0.0.1:1/#token=[\w-]{40,} ", said[0])
    assert all("token" not in line for line in said[1:])


def test_other_users_are_people_who_can_log_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """Accounts of services, nobody, and the user are none."""
    pwd = pytest.importorskip("pwd")
    mine = pwd.getpwuid(os.getuid())

    def account(number: int, shell: str) -> Any:
        return pwd.struct_passwd(("x", "x", number, number, "", "/", shell))

    for others, expected in (
        ([account(33, "/bin/sh"), account(1_000, "/usr/sbin/nologin")], False),
        ([account(65_534, "/bin/sh")], False),
        ([account(1_234, "/bin/bash")], True),
    ):
        monkeypatch.setattr(pwd, "getpwall", lambda others=others: [mine, *others])
        assert has_other_users() == expected


def test_kinds_of_hosts() -> None:
    """Loopback is this machine alone; addresses are no names."""
    assert kind_of_host("127.0.0.1") == kind_of_host("localhost") == "local"
    assert kind_of_host("0.0.0.0") == kind_of_host("10.0.0.1") == "address"
    assert kind_of_host("evil.com") == "name"

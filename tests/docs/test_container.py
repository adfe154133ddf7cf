"""The container file: slim, without rights, PyTorch from where it is told; it starts a command."""

import json
from pathlib import Path
from typing import Any

from typer.main import get_command
from typer.testing import CliRunner

from firth.cli.main import app

ROOT = Path(__file__).parents[2]


def steps() -> list[tuple[str, str]]:
    """(instruction, its words) of each step."""
    text = (ROOT / "Containerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in lines)]


def last(instruction: str) -> str:
    return [rest for word, rest in steps() if word == instruction][-1]


def test_the_image_is_slim_and_has_no_rights() -> None:
    """What is built with stays behind; PyTorch comes first, from where it is told; not as root."""
    images = [rest for word, rest in steps() if word == "FROM"]
    assert len(images) == 2
    assert all(image.split()[0].endswith("-slim") for image in images)
    installed = [rest for word, rest in steps() if word == "RUN" and "pip install" in rest]
    assert "TORCH_INDEX" in installed[0]
    assert installed[0].endswith(" torch")
    assert "[serve" in installed[1]
    assert last("USER") == "1000"


def test_what_it_copies_is_there() -> None:
    """Each source of a copy from outside exists."""
    copies = [rest.split() for word, rest in steps() if word == "COPY" and "--from" not in rest]
    assert copies
    assert all((ROOT / name).exists() for *names, _ in copies for name in names)


def test_what_it_starts_is_a_command() -> None:
    """`firth serve RUN`, with options that the command has, on the port that is exposed."""
    assert json.loads(last("ENTRYPOINT")) == ["firth"]
    command, _, *options = json.loads(last("CMD"))
    whole: Any = get_command(app)
    assert command in whole.commands
    told = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "200"})
    assert told.exit_code == 0
    assert all(option in told.output for option in options if option.startswith("--"))
    assert last("EXPOSE") in told.output

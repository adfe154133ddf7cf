"""firth duplicates, firth mine, firth compare-documents, as a user types them."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from firth.cli.main import app

DOCUMENTS = ["tiny-texts/court-10.txt", "tiny-texts/court-14.txt"]


@pytest.mark.parametrize(
    "command",
    [
        ["duplicates", "RUN", "--kind", "near", "--min-words", "4"],
        ["duplicates", "RUN", "--documents", "--threshold", "0.9", "--where", "id=*court*"],
        ["mine", "RUN", "--order", "kept", "--rate", "0.2", "--source", "*court*"],
        ["compare-documents", *DOCUMENTS, "--run", "RUN", "--rate", "0.2"],
    ],
    ids=lambda command: " ".join(command[:4]),
)
def test_commands_print_and_write(command: list[str], tiny_run: Path, tmp_path: Path) -> None:
    """Text within 80 columns; JSON with --json; a file with --out, replaced only with --force."""
    given = [str(tiny_run) if word == "RUN" else word for word in command] + ["-q"]
    text = CliRunner().invoke(app, given)
    assert text.exit_code == 0, text.output
    assert max(map(len, text.output.splitlines())) <= 80
    out = ["--out", str(tmp_path / "found.jsonl")]
    found = CliRunner().invoke(app, [*given, "--json", *out])
    told = json.loads(found.output)
    of_the_run = command[0] in ("mine", "compare-documents")  # the others ask no vectors of it
    assert ("scale" in told) == ("A similarity of" in text.output) == of_the_run
    assert (tmp_path / "found.jsonl").is_file()
    assert CliRunner().invoke(app, [*given, *out]).exit_code == 1
    assert CliRunner().invoke(app, [*given, *out, "--force"]).exit_code == 0

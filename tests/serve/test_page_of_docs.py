"""docs/serve.md tells the truth: its requests are answered, its options and statuses are all; and
docs/page.md shows every state."""

import re
import shlex
from pathlib import Path

from starlette.testclient import TestClient
from typer.main import get_command

from firth.cli.main import app
from firth.serve import bounds
from firth.serve.endpoints import ASKED

from .pictures import IMAGES, PICTURES

LOOK = (Path(__file__).parents[2] / "docs" / "page.md").read_text(encoding="utf-8")
PAGE = (Path(__file__).parents[2] / "docs" / "serve.md").read_text(encoding="utf-8")


def test_the_requests_of_the_page_are_answered(client: TestClient) -> None:
    """Each curl line, as it stands, gets a 200."""
    found = re.findall(r"^\$ (curl '?localhost:8017.*)$", PAGE, re.MULTILINE)
    assert len(found) >= 6
    for line in found:
        _, address, *options = shlex.split(line)
        path = address.removeprefix("localhost:8017")
        if options:
            body, headers = options[1], {"content-type": "application/json"}
            answer = client.post(path, content=body, headers=headers)
        else:
            answer = client.get(path)
        assert answer.status_code == 200, f"{line}\n{answer.text}"


def test_endpoints_and_options_are_all_named() -> None:
    """None is missing on the page; the numbers of the bounds are those of the code."""
    for endpoint in ASKED:
        path = endpoint.path.replace("{id:path}", "NAME")
        assert f"{path}`" in PAGE or f"{path}," in PAGE, path
    command = get_command(app).commands["serve"]  # type: ignore[attr-defined]
    for parameter in command.params:
        if (option := parameter.opts[0]).startswith("--") and option not in ("--help", "--quiet"):
            assert f"`{option}" in PAGE, option
    load = bounds.Load()
    for number in (bounds.PAIRS, bounds.TEXTS, bounds.CHARACTERS, load.requests, load.batch):
        assert f"{number:,} " in PAGE, number
    assert f"{load.seconds:.0f} seconds (long work: {load.long_seconds / 60:.0f} minutes)" in PAGE
    assert f"over {bounds.BODY >> 20} MiB" in PAGE


def test_every_state_is_shown() -> None:
    """A picture of each tab and state stands in docs, and no other of the page."""
    shown = re.findall(r"images/page-([\w-]+)\.png", LOOK)
    assert sorted(shown) == sorted(PICTURES)
    stored = sorted(path.stem.removeprefix("page-") for path in IMAGES.glob("page-*.png"))
    assert stored == sorted(PICTURES)

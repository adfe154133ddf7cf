"""The questionnaire filled in by a real browser, from the first question to the last.

Needs Chromium (or Chrome): `chromium` on the path, or its path in FIRTH_BROWSER. Without one these
tests are skipped; with FIRTH_REQUIRE_BROWSER=1, as in continuous integration, they fail.
"""

import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from firth.relatedness.bws.records import read_annotations
from firth.relatedness.questionnaire.store import Store

from .conftest import AWKWARD, N_GOLD, N_TUPLES, gold, items, tuples

GOLD = {one.tuple: one for one in gold()}
MEMBERS = {one.id: one.items for one in tuples()}


@pytest.mark.parametrize("required", ["", "0", "1"])
def test_without_a_browser(
    missing: Callable[[str], None], monkeypatch: pytest.MonkeyPatch, required: str
) -> None:
    """The tests below are skipped, or fail where FIRTH_REQUIRE_BROWSER is set; both say why."""
    monkeypatch.setenv("FIRTH_REQUIRE_BROWSER", required)
    stop = pytest.fail.Exception if required == "1" else pytest.skip.Exception
    with pytest.raises(stop, match="no browser here"):
        missing("no browser here")


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """A page of a headless browser."""
    opened = browser.new_page()
    opened.set_default_timeout(30_000)
    yield opened
    opened.close()


class Server:
    """`firth bws serve` in a process of its own."""

    def __init__(self, files: dict[str, Path], database: Path) -> None:
        options = [f"--{name}={path}" for name, path in files.items()]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "firth.cli.main", "bws", "serve", *options, f"--db={database}",
             "--port=0", "--gold-every=3", "--annotations=1"],
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self._process.stdout is not None
        told = next(line for line in self._process.stdout if line.startswith("Questionnaire at "))
        self.address = told.split()[2]

    def stop(self, how: signal.Signals) -> int:
        """End it with a signal; its exit status."""
        self._process.send_signal(how)
        self._process.communicate(timeout=60)
        return self._process.returncode


@pytest.fixture
def servers(files: dict[str, Path], tmp_path: Path) -> Iterator[Any]:
    """Starts servers on one database, and ends those still running."""
    started: list[Server] = []

    def start() -> Server:
        started.append(Server(files, tmp_path / "answers.db"))
        return started[-1]

    yield start
    for server in started:
        if server._process.poll() is None:
            server.stop(signal.SIGKILL)


def keys_of(asked: str) -> tuple[str, str]:
    """Number keys of the answer this test gives: right for gold, else second and third item."""
    found = MEMBERS[asked]
    if asked in GOLD:
        return (str(found.index(GOLD[asked].best) + 1), str(found.index(GOLD[asked].worst) + 1))
    return "2", "3"


def test_from_the_first_question_to_the_last(page: Any, servers: Any, tmp_path: Path) -> None:
    """By keys alone, with a server killed in the middle: every answer arrives once and as given."""
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on(
        "console",
        lambda message: problems.append(message.text) if message.type == "error" else None,
    )
    server = servers()
    page.goto(server.address)
    page.wait_for_selector("#name:focus")
    page.keyboard.type("Zoë 漢字")
    page.keyboard.press("Enter")
    given: dict[str, tuple[str, str]] = {}
    feedback = 0
    for number in range(1, N_TUPLES + 1):
        page.wait_for_selector(f"html[data-ready] h1:text-is('Question {number}')")
        asked = page.input_value("input[name=tuple]")
        assert asked not in given
        rows = page.locator("tbody tr")
        assert rows.count() == 4
        shown = [rows.nth(k).locator("td.texts").inner_text() for k in range(4)]
        texts = {item.id: item.texts for item in items()}
        for text, name in zip(shown, MEMBERS[asked], strict=True):
            assert text.split() == " ".join(texts[name]).split()
        best, worst = keys_of(asked)
        page.keyboard.press(best)
        if number == 1:
            check_slips(page, best)
        page.keyboard.press(worst)
        assert page.inner_text("#chosen") == f"most related: {best}, least related: {worst}"
        page.keyboard.press("Enter")
        members = MEMBERS[asked]
        given[asked] = members[int(best) - 1], members[int(worst) - 1]
        if asked in GOLD:
            page.wait_for_selector("html[data-ready] h1:text-is('Right!')")
            page.keyboard.press("Enter")
            feedback += 1
        if number == 5:
            page.wait_for_selector("html[data-ready] h1:text-is('Question 6')")
            assert server.stop(signal.SIGKILL) == -signal.SIGKILL
            server = servers()
            page.goto(server.address)
            page.fill("#name", "ZOË 漢字")
            page.keyboard.press("Enter")
    page.wait_for_selector("html[data-ready] h1:has-text('Thank you, Zoë 漢字')")
    assert feedback == N_GOLD == sum(one in GOLD for one in given)
    assert page.title() != "taken"
    # The page that was open when the server was killed may have asked it for its icon.
    killed = re.compile("ERR_CONNECTION|ERR_CONTENT_LENGTH_MISMATCH")
    assert [one for one in problems if not killed.search(one)] == []
    assert server.stop(signal.SIGINT) == 0
    store = Store.open(tmp_path / "answers.db")
    kept = {one.tuple: (one.best, one.worst) for one in store.annotations()}
    assert kept == given
    assert {one.annotator for one in store.annotations()} == {"Zoë 漢字"}
    store.close()
    assert len(AWKWARD) > 3  # the premise: texts that would break a careless page were shown


def check_slips(page: Any, best: str) -> None:
    """Enter too early, the same number twice, Escape: each is met with a message or undone."""
    page.keyboard.press("Enter")
    assert page.inner_text("#problem") == "Please choose one item of each kind."
    page.keyboard.press(best)
    assert page.inner_text("#problem") == "Please choose two different items."
    page.keyboard.press("Escape")
    assert page.locator("input:checked").count() == 0
    page.keyboard.press("9")
    assert page.locator("input:checked").count() == 0
    page.keyboard.press(best)


def test_by_mouse_with_a_wrong_gold_answer(page: Any, servers: Any, tmp_path: Path) -> None:
    """Clicks do what keys do; a wrong gold answer is told at once, beside the right one."""
    from typer.testing import CliRunner

    from firth.cli.main import app

    server = servers()
    page.goto(server.address)
    page.get_by_label("Your name").fill("mouse")
    page.get_by_role("button", name="Begin").click()
    for number in range(1, 4):
        page.wait_for_selector(f"html[data-ready] h1:text-is('Question {number}')")
        asked = page.input_value("input[name=tuple]")
        best, worst = keys_of(asked)
        if asked in GOLD:
            best, worst = worst, best
        page.get_by_label(f"Item {best}: most related").check()
        page.get_by_label(f"Item {worst}: least related").check()
        page.get_by_role("button", name="Next").click()
    page.wait_for_selector("html[data-ready] h1:text-is('Not quite.')")
    best, worst = keys_of(asked)
    known = page.locator("tr.known th").all_inner_texts()
    assert sorted(known) == sorted((best, worst))
    page.get_by_role("button", name="Stop for now").click()
    page.wait_for_selector("text=Your answers are saved")
    out = tmp_path / "annotations.csv"
    done = CliRunner().invoke(
        app, ["bws", "export", "--db", str(tmp_path / "answers.db"), "--out", str(out)]
    )
    assert done.exit_code == 0, done.output
    assert [one.annotator for one in read_annotations(out)] == ["mouse"] * 3

"""The console: text from a file cannot command a terminal, and tables break nothing."""

import ast
import io
import re
import sys
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import firth
from firth.run import console
from firth.run.console import (
    WIDTH,
    Progress,
    complain,
    escaped,
    listening,
    note,
    progress,
    say,
    set_quiet,
    silenced,
    table,
)

HARMLESS = "É漢\u200d🙂\n\t"
CLIPBOARD = "\x1b]52;c;cm0gLXJmIH4K\x07"
"""OSC 52: it sets the clipboard of most terminals."""
PRINTS = ("print", "typer.echo", "typer.secho", "sys.stdout.write", "sys.stderr.write")


# --- Text --------------------------------------------------------------------------------------


@given(st.text(st.characters()))
def test_no_character_that_acts_is_printed(text: str) -> None:
    """No control character except line breaks and tabs, no surrogate, no change of direction."""
    shown = escaped(text)
    assert all(c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cs") for c in shown)
    assert not set(shown) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
    shown.encode()
    assert [c for c in text if c in HARMLESS] == [c for c in shown if c in HARMLESS]


@pytest.mark.parametrize("is_terminal", [False, True])
def test_everything_printed_is_escaped(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, is_terminal: bool
) -> None:
    """Results, messages, notes, and progress with its status, in a terminal and in a log."""
    monkeypatch.setattr(console, "SECONDS_BETWEEN_LINES", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal)
    say(CLIPBOARD)
    complain(CLIPBOARD)
    note(CLIPBOARD)
    with Progress(4, f"title {CLIPBOARD}") as bar:
        note(CLIPBOARD)
        bar.advance(1, CLIPBOARD)
    printed = capsys.readouterr()
    assert "title" in printed.err
    for text in (printed.out, printed.err):
        assert "\\x1b]52" in text
        assert "\x1b]52" not in text


def test_a_poor_or_missing_stream_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Characters that the encoding lacks are escaped; a closed stream takes nothing."""
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, "ascii"))
    say("é \udcff")
    assert raw.getvalue() == b"\\xe9 \\udcff\n"
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    say("nobody reads this")
    complain("nor this")
    assert list(progress(range(2), "Nothing")) == [0, 1]


def test_nothing_else_prints() -> None:
    root = Path(firth.__file__).parent
    calls = [
        f"{path.relative_to(root)}: {name}"
        for path in root.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and (name := ast.unparse(node.func)) in PRINTS
    ]
    assert calls == []
    assert "stream.write" in Path(console.__file__).read_text(), "the premise: it does write"


# --- Progress ----------------------------------------------------------------------------------


def test_a_log_gets_a_line_now_and_then(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where standard error is no terminal, before the end."""
    monkeypatch.setattr(console, "monotonic", iter(range(0, 1000, 10)).__next__)
    with Progress(200, "Reading") as bar:
        for _ in range(3):
            bar.advance(50)
        assert capsys.readouterr().err == "Reading: 100 of 200 (50%), 20 s\n"


def test_quiet_is_silent(capsys: pytest.CaptureFixture[str]) -> None:
    set_quiet(True)
    note("note")
    list(progress(range(3), "Bar"))
    say("result")
    complain("error")
    assert capsys.readouterr() == ("result\n", "error\n")
    set_quiet(False)
    with silenced():
        note("note")
    note("after")
    assert capsys.readouterr().err == "after\n"


def test_a_listener_gets_progress_and_can_cancel() -> None:
    """It is called at the start and after each item; its error ends the work."""
    heard: list[tuple[str, float, float | None]] = []

    class CancelledError(Exception):
        pass

    def listener(title: str, done: float, total: float | None) -> None:
        heard.append((title, done, total))
        if done == 2:
            raise CancelledError

    done: list[int] = []

    def work() -> None:
        with listening(listener):
            for number in progress(iter(range(9)), "Words", total=9):
                done.append(number)

    with pytest.raises(CancelledError):
        work()
    assert heard == [("Words", 0, 9), ("Words", 1, 9), ("Words", 2, 9)]
    assert done == [0, 1]
    heard.clear()
    list(progress(range(2), "Outside"))
    assert heard == []


# --- Tables ------------------------------------------------------------------------------------

WORD = st.text("abcdefghij", min_size=1, max_size=9)
FIGURE = st.floats(-99, 99).map(lambda x: f"{x:.1f} [{x - 2:.1f}, {x + 2:.1f}]")
CELL = st.one_of(FIGURE, st.lists(WORD, min_size=1, max_size=4).map(" ".join))


@settings(max_examples=80)
@given(st.data(), st.integers(2, 9), st.integers(1, 5))
def test_every_table_fits_and_breaks_nothing(data: Any, columns: int, rows: int) -> None:
    """No line is wider than the screen; every word and every interval is whole on one line."""
    drawn = [[data.draw(CELL) for _ in range(columns)] for _ in range(rows + 1)]
    text = table(drawn)
    assert max(map(len, text.split("\n"))) <= WIDTH
    for cell in (cell for row in drawn for cell in row):
        for piece in re.findall(r"\[[^\]]*\]|[^ \[]+", cell):
            assert any(piece in line for line in text.split("\n"))


def test_columns_without_room_follow_with_their_keys() -> None:
    """Wide tables are split between columns; each part says what its rows are about."""
    sets = [f"set{number}" for number in range(9)]
    rows = [["system", *sets], *([name, *["78.1 [76.5, 79.6]"] * 9] for name in ("dice", "bag"))]
    parts = table(rows).split("\n\n")
    assert len(parts) > 1
    assert all(part.split()[0] == "system" and "dice" in part and "bag" in part for part in parts)
    assert [name for part in parts for name in part.split("\n")[0].split()[1:]] == sets


def test_long_words_are_broken_and_figures_are_right_aligned() -> None:
    path = "runs/" + "a-folder/" * 9 + "encoder"
    text = table([["model", "lee", "n"], [path, "60.1", "1,225"]])
    lines = text.split("\n")
    assert lines[0].endswith("  lee      n")
    assert "".join(line.split(" ")[0] for line in lines[2:]) == path

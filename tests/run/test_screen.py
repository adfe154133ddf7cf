"""`firth.run.screen`: what comes from a file cannot command a terminal."""

import ast
import io
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import firth
from firth.run import progress
from firth.run.progress import bar, note
from firth.run.screen import complain, escaped, say, say_styled

HARMLESS = "É漢\u200d🙂\n\t"
CLIPBOARD = "\x1b]52;c;cm0gLXJmIH4K\x07"
"""OSC 52: sets the clipboard of most terminals."""


PRINTS = ("print", "typer.echo", "typer.secho", "sys.stdout.write", "sys.stderr.write")


@given(st.text(st.characters()))
def test_nothing_that_acts_gets_through(text: str) -> None:
    """No control character but line breaks and tabs, no surrogate, no change of direction; all
    else stays as it is."""
    shown = escaped(text)
    assert all(c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cs") for c in shown)
    assert not set(shown) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
    shown.encode()
    assert [c for c in text if c in HARMLESS] == [c for c in shown if c in HARMLESS]


@pytest.mark.parametrize("is_terminal", [False, True])
def test_all_ways_to_the_screen_escape(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, is_terminal: bool
) -> None:
    """Results, messages, notes, and bars with their status, on a terminal and in a log."""
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal)
    monkeypatch.setattr(progress, "_quiet", False)
    say(CLIPBOARD)
    complain(CLIPBOARD)
    note(CLIPBOARD)
    with bar(f"title {CLIPBOARD}", 4) as shown:
        note(CLIPBOARD)
        shown.advance(1, CLIPBOARD)
    printed = capsys.readouterr()
    assert "title" in printed.err
    for text in (printed.out, printed.err):
        assert "\\x1b]52" in text
        assert "\x1b]52" not in text


def test_a_log_hears_of_progress_before_the_end(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where standard error is no terminal, lines tell how far a bar is while it runs."""
    monkeypatch.setattr(progress, "_quiet", False)
    monkeypatch.setattr(progress, "monotonic", iter(range(0, 1000, 10)).__next__)
    with bar("Reading", 200) as shown:
        for _ in range(3):
            shown.advance(50)
        assert capsys.readouterr().err == "Reading: 100 of 200 (50%), 20 s\n"


def test_nothing_else_prints() -> None:
    """No module writes to the screen but through `firth.run.screen`."""
    root, found = Path(firth.__file__).parent, []
    for path in root.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            if name in PRINTS:
                found.append(f"{path.relative_to(root)}: {name}")
    assert [place for place in found if not place.startswith("run/screen.py")] == []
    assert found  # the premise: such calls are found


class Terminal(io.StringIO):
    """A screen that moves."""

    def isatty(self) -> bool:
        return True


def test_colour_is_firths_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a terminal styles colour and texts do not; elsewhere, and with NO_COLOR, plain text."""
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    spans = (("bad " + CLIPBOARD, ""), ("[red]good[/red]", "green"))
    shown = {}
    for name, screen in (("terminal", Terminal()), ("file", io.StringIO())):
        monkeypatch.setattr(sys, "stdout", screen)
        say_styled(*spans)
        shown[name] = screen.getvalue()
        assert "\\x1b]52" in shown[name], "spelt out"
        assert "\x1b]52" not in shown[name]
        assert "[red]good[/red]" in shown[name], "a text is no markup"
    assert "\x1b[32m" in shown["terminal"]
    assert "\x1b" not in shown["file"]
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(sys, "stdout", plain := Terminal())
    say_styled(*spans)
    assert "\x1b[32m" not in plain.getvalue()

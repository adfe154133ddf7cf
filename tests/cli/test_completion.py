"""Shells complete firth's commands and options."""

import sys

import pytest

from firth.cli.main import main


@pytest.mark.parametrize(
    ("typed", "offered"), [("firth sea", "search"), ("firth search mine x --docu", "--documents")]
)
def test_words_are_completed(
    typed: str, offered: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What bash asks after a tab is answered with the command, or the option, that was begun."""
    monkeypatch.setattr(sys, "argv", ["firth"])
    monkeypatch.setattr(sys.modules["__main__"], "__package__", None)  # not: python -m pytest
    monkeypatch.setenv("_FIRTH_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", typed)
    monkeypatch.setenv("COMP_CWORD", str(typed.count(" ")))
    with pytest.raises(SystemExit) as stopped:
        main()
    assert not stopped.value.code
    assert offered in capsys.readouterr().out.split()

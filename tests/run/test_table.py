"""`firth.run.table`: 80 columns, and nothing is broken that belongs together."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.run.screen import WIDTH, tell, wrapped
from firth.run.table import table

WORD = st.text("abcdefghij", min_size=1, max_size=9)
FIGURE = st.floats(-99, 99).map(lambda x: f"{x:.1f} [{x - 2:.1f}, {x + 2:.1f}]")
CELL = st.one_of(FIGURE, st.lists(WORD, min_size=1, max_size=4).map(" ".join))


@settings(max_examples=80)
@given(st.data(), st.integers(2, 9), st.integers(1, 5))
def test_every_table_fits_and_breaks_nothing(data: st.DataObject, columns: int, rows: int) -> None:
    """No line is wider than the screen; every word and every interval stands whole on one line."""
    drawn = [[data.draw(CELL) for _ in range(columns)] for _ in range(rows + 1)]
    text = table(drawn)
    assert max(map(len, text.split("\n"))) <= WIDTH
    for cell in (cell for row in drawn for cell in row):
        for piece in re.findall(r"\[[^\]]*\]|[^ \[]+", cell):
            assert any(piece in line for line in text.split("\n"))


def test_columns_without_room_stand_below_with_their_keys() -> None:
    """Wide tables are parted between columns; each part says what its rows are of."""
    sets = [f"set{number}" for number in range(9)]
    rows = [["system", *sets], *([name, *["78.1 [76.5, 79.6]"] * 9] for name in ("dice", "bag"))]
    parts = table(rows).split("\n\n")
    assert len(parts) > 1
    assert all(part.split()[0] == "system" and "dice" in part and "bag" in part for part in parts)
    assert [name for part in parts for name in part.split("\n")[0].split()[1:]] == sets


def test_paths_break_after_a_slash_and_figures_stand_to_the_right() -> None:
    """A model's folder is parted where folders end; a row of one cell is a line of its own."""
    path = "runs/" + "a-folder/" * 9 + "surrogate"
    text = table([["model", "lee", "n"], [path, "60.1", "1,225"], ["(cross-validated)"]])
    lines = text.split("\n")
    assert lines[0].endswith("  lee      n")
    assert lines[-1] == "(cross-validated)"
    assert "".join(line.split(" ")[0] for line in lines[2:-1]) == path


def test_prose_is_wrapped_between_words(capsys: pytest.CaptureFixture[str]) -> None:
    """Long lines stand further in below; a word longer than the screen stays whole."""
    tell("head\n----\n" + "word " * 40 + "99 % of [1.5, 2.5]")
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= WIDTH
    assert lines[3].startswith("  word")
    assert wrapped("x" * 100) == "x" * 100
    for width in range(20, 60):
        assert "99 %" in wrapped("so many sentences that it is a share of 99 % of all", width)
        assert all(
            line.count("[") == line.count("]")
            for line in wrapped("between 60.1 [52.3, 66.8] and 40.0 [31.5, 48.8]", width).split(
                "\n"
            )
        )

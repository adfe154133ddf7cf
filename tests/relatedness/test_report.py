"""One table on a screen, as Markdown and as LaTeX."""

from firth.evaluate.metrics import Estimate
from firth.relatedness.report import NONE, TextTable, figure

TABLE = TextTable(
    ("what", "Spearman", "n"),
    (("Block",), ("  a|b", "49.1", "1,000"), ("  c_d", "5.0", "20")),
    "All of it, 100 %.",
    ("a remark",),
)


def test_columns_line_up() -> None:
    """Numbers end in one column, blocks have a line of their own."""
    head, rule, block, one, two, caption, remark = TABLE.text().splitlines()
    assert {len(head), len(one), len(two), len(rule)} == {len(rule)}
    assert (block, caption, remark) == ("Block", TABLE.caption, "(a remark)")


def test_markdown_has_as_many_cells_in_each_line() -> None:
    """Also where a name holds the sign that parts cells."""
    lines = [line for line in TABLE.markdown().splitlines() if line.startswith("|")]
    assert {line.replace("\\|", "").count("|") for line in lines} == {4}
    assert "| **Block** |" in lines[2]


def test_latex_is_escaped() -> None:
    """No sign that LaTeX would take for its own."""
    latex = TABLE.latex()
    assert r"c\_d & 5.0 & 20 \\" in latex
    assert r"100 \%" in latex
    assert latex.count(r"\midrule") == 1


def test_figures() -> None:
    """A missing figure is a dash."""
    assert figure(None) == figure(Estimate(None, None, None, 0, "no rows")) == NONE
    assert figure(Estimate(49.12, 46.5, 51.6, 9)) == "49.1 [46.5, 51.6]"

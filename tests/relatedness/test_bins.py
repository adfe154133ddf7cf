"""Two scores of the same pairs: joined by text, correlated within bins."""

import json
from pathlib import Path

import pytest
from scipy.stats import spearmanr
from typer.testing import CliRunner

from firth.cli.main import app
from firth.relatedness.bins import compare_in_bins
from firth.run.errors import InputError

RELATED = [  # relatedness, similarity
    (0.1, 0.0), (0.3, 0.5), (0.2, 1.0), (0.5, 1.2), (0.4, 1.9), (0.6, 2.0),
]  # fmt: skip


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """The same six pairs with two scores; the second file turns them round and shouts."""
    header = "sentence1\tsentence2\tscore\tsubtask\n"
    one, two = tmp_path / "related.tsv", tmp_path / "similar.tsv"
    one.write_text(header + "".join(
        f"the ship {i}\tthe sea, {i}.\t{score}\tsea\n" for i, (score, _) in enumerate(RELATED))
        + "only\there\t0.5\tland\n")  # fmt: skip
    shouted = [f"THE SEA {i}\tThe ship {i}!\t{b}\tx\n" for i, (_, b) in enumerate(RELATED)]
    two.write_text(header + "".join(shouted))
    return one, two


def test_bins_hold_their_upper_edge(files: tuple[Path, Path]) -> None:
    """[0, 1] and (1, 2]: a score of 1 belongs to the first; figures are scipy's."""
    found = compare_in_bins(files[0], [files[1]], bins=2, resamples=10)
    assert (found.shared, found.asked, found.total) == (6, 7, 7)
    assert [(name, one.n) for name, one in found.figures] == [
        ("all", 6), ("[0, 1]", 3), ("(1, 2]", 3)]  # fmt: skip
    for (_, figure), chosen in zip(found.figures, (RELATED, RELATED[:3], RELATED[3:]), strict=True):
        expected = spearmanr(*zip(*chosen, strict=True)).statistic
        assert figure.value == pytest.approx(100 * expected)


def test_several_scores_are_averaged(files: tuple[Path, Path], tmp_path: Path) -> None:
    """A pair that has two second scores gets their mean, and is counted."""
    more = tmp_path / "more.tsv"
    more.write_text("sentence1\tsentence2\tscore\nthe ship 0\tthe sea 0\t2\n")
    plain = compare_in_bins(files[0], [files[1]], bins=2, resamples=5)
    found = compare_in_bins(files[0], [files[1], more], bins=2, resamples=5)
    assert (plain.several, found.several) == (0, 1)
    assert found.shared == plain.shared
    assert [one.n for _, one in found.figures] == [6, 3, 3], "(0 + 2) / 2 is still in the first"


def test_one_domain(files: tuple[Path, Path], tmp_path: Path) -> None:
    """Only its pairs are looked for; the folder holds what the screen shows."""
    result = CliRunner().invoke(
        app, ["relatedness", "bins", *map(str, files), "--bins", "2", "--only", "sea",
              "--resamples", "10", "--out", str(tmp_path / "out")]
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "6 of 6 pairs have both scores" in result.output
    stored = json.loads((tmp_path / "out" / "results.json").read_text())
    assert stored["pairs"] == {"total": 7, "asked": 6, "shared": 6, "several": 0}
    assert "(1, 2]" in (tmp_path / "out" / "table.md").read_text()
    (tmp_path / "out" / "notes.txt").write_text("mine")
    again = ["--only", "sea", "--resamples", "20", "--out", str(tmp_path / "out"), "--json"]
    result = CliRunner().invoke(app, ["relatedness", "bins", *map(str, files), *again])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout) == json.loads((tmp_path / "out" / "results.json").read_text())
    assert (tmp_path / "out" / "notes.txt").read_text() == "mine"


def test_nothing_in_common(files: tuple[Path, Path]) -> None:
    """A domain that is not there, or pairs that are not."""
    with pytest.raises(InputError, match=r"no domain air\. It has: land, sea"):
        compare_in_bins(files[0], [files[1]], only="air")
    with pytest.raises(InputError, match="0 of 1 pairs"):
        compare_in_bins(files[0], [files[1]], only="land")
    with pytest.raises(InputError, match="expected a second set"):
        compare_in_bins(files[0], [])


@pytest.mark.parametrize("command", ["features", "models", "bins"])
def test_a_folder_of_the_user_is_refused_before_any_work(
    files: tuple[Path, Path], tmp_path: Path, command: str
) -> None:
    """Results of one's own under the same name are neither replaced nor mixed with."""
    out = tmp_path / "out"
    out.mkdir()
    (out / "results.json").write_text("precious")
    others = [str(files[1])] if command == "bins" else []
    arguments = ["relatedness", command, "nowhere.tsv", *others, "--out", str(out)]
    found = CliRunner().invoke(app, arguments)
    assert isinstance(found.exception, InputError)
    assert f"holds results.json, which firth relatedness {command} did not write" in str(
        found.exception
    )
    assert (out / "results.json").read_text() == "precious"

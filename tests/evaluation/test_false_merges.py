"""FALSE-MERGE scores anybody's function, and its command fails a build that merges too much."""

import subprocess
import sys
from pathlib import Path

import pytest

from firth.evaluation.false_merges import SAME, false_merges, imported
from firth.run.errors import InputError

HEADER = "sentence1\tsentence2\tlabel\tsource\n"


def test_extremes_and_a_rule_between_them() -> None:
    """One that merges all loses nothing, one that merges nothing is never wrong; kinds add up."""
    everything = false_merges(lambda a, b: True)
    assert (everything.wrong, everything.lost) == (1.0, 0.0)
    nothing = false_merges(lambda a, b: False)
    assert (nothing.wrong, nothing.lost) == (0.0, 1.0)
    long = false_merges(lambda a, b: len(a) == len(b), name="as long")
    assert 0 < long.wrong < 1
    *kinds, whole, same = long
    assert (whole.kind, same.kind) == ("all that differ", SAME)
    assert sum(item.pairs for item in kinds) == whole.pairs
    assert sum(item.merged for item in kinds) == whole.merged
    assert all(item.low <= item.share <= item.high for item in long)
    assert "as long merges" in long.summary()


def test_a_similarity_has_a_cut() -> None:
    half = false_merges(lambda a, b: 0.5, cut=0.5)
    assert half.wrong == 1.0
    assert false_merges(lambda a, b: 0.5, cut=0.6).wrong == 0.0


def test_a_table_of_ones_own(tmp_path: Path) -> None:
    """Its sources are kinds; what is no table, or fails, is one message."""
    table = tmp_path / "mine.tsv"
    table.write_text(f'{HEADER}say "a"\tsay "b"\t1\tshop\n', encoding="utf-8")
    result = false_merges(lambda a, b: a == b, tables=[table])
    assert [item.pairs for item in result if item.kind == "shop"] == [1]
    table.write_text("sentence1\tlabel\n", encoding="utf-8")
    with pytest.raises(InputError, match="sentence2 are missing"):
        false_merges(lambda a, b: True, tables=[table])
    with pytest.raises(InputError, match="the function fails on"):
        false_merges(lambda a, b: 1 / 0)
    for name in ("nothing", "os:nothing", "os:name", "no_such_module:same"):
        with pytest.raises(InputError, match="--check"):
            imported(name)


def test_the_command_fails_a_build(tmp_path: Path) -> None:
    """Exit status 1 if more than `--max-wrong` is merged; the working folder has the module."""
    code = "import firth\ndef same(a, b):\n    return not firth.differences(a, b)\n"
    (tmp_path / "ours.py").write_text(code, encoding="utf-8")
    command = [sys.executable, "-m", "firth", "falsemerge", "--check", "ours:same", "--max-wrong"]
    runs = [
        subprocess.run([*command, most], cwd=tmp_path, capture_output=True, text=True)
        for most in ("0.5", "0.01")
    ]
    assert [run.returncode for run in runs] == [0, 1]
    assert "of the pairs that differ" in runs[0].stdout

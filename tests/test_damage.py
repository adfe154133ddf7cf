"""Files that were changed or cut: an error that names the file, or the same answers as before."""

import random
import shutil
from pathlib import Path

import pytest

from firth.corpus.store import damage
from firth.model import load
from firth.run.errors import FirthError
from firth.run.stage import damage_of_opened


def answers(run: Path) -> list[object]:
    """Return what the parts of a run answer, every stage included."""
    model = load(run)
    hits = [(hit.text, hit.score, hit.answer) for hit in model.search("ship harbor", top=3)]
    why = model.explain("The ship saw the harbor.", "A boat left.").as_dict()
    return [hits, why, model.duplicates().as_dict(), model.encode(["ship"]).tolist()]


def problem(run: Path, expected: list[object] | None) -> str | None:
    """Return the message that a user sees; None where the answers are as expected."""
    try:
        found = answers(run)
    except FirthError as error:
        return str(error)
    except Exception as error:
        if (damage := damage_of_opened()) is None:
            raise AssertionError("a traceback") from error
        return str(damage)
    assert expected is None or found == expected
    return None


@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 2, 3))])
def test_an_edited_file_is_named_or_changes_nothing(
    seed: int, toy_folder: Path, tmp_path: Path
) -> None:
    """One bit of every file of a run but its lock is changed, or its end is cut, one at a time."""
    rng, expected, raised = random.Random(seed), answers(toy_folder), 0
    run = tmp_path / "run"
    names = [path.relative_to(toy_folder) for path in sorted(toy_folder.rglob("*.*"))]
    for name in (each for each in names if each.name not in (".lock", "corpus.db")):
        shutil.copytree(toy_folder, run)
        content = bytearray((run / name).read_bytes())
        if rng.random() < 0.5:
            content = content[: rng.randrange(len(content))]
        else:
            content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        (run / name).write_bytes(content)
        error = problem(run, expected)
        raised += error is not None
        assert error is None or name.parts[0] in error
        shutil.rmtree(run)
    assert raised > len(names) / 2


def test_an_edited_database_is_an_error_or_is_read(toy_folder: Path, tmp_path: Path) -> None:
    """A page that is overwritten, at twenty places: other answers only where `verify` finds it."""
    run, expected = Path(shutil.copytree(toy_folder, tmp_path / "run")), answers(toy_folder)
    content = (run / "corpus.db").read_bytes()
    for start in range(0, len(content), max(1, len(content) // 20)):
        page = content[:start] + bytes(512) + content[start + 512 :]
        (run / "corpus.db").write_bytes(page)
        is_found = damage(run / "corpus.db") != []
        assert "corpus.db" in (problem(run, None if is_found else expected) or "corpus.db")
    shutil.rmtree(run)

"""The cache: what comes back is what was kept under this very key, or nothing."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.evaluate.cache import Cache
from firth.evaluate.evaluate import evaluate
from firth.run import progress
from firth.run.errors import InputError


def entry(folder: Path) -> Path:
    """The only file in a cache."""
    (found,) = (path for path in folder.rglob("*") if path.is_file())
    return found


def test_what_is_kept_comes_back(tmp_path: Path) -> None:
    """Arrays bit by bit (NaN and infinities too), values by equality; by kind and by key."""
    cache = Cache(tmp_path / "new" / "cache")
    array = np.array([0.1, np.nan, -np.inf, 5e-324])
    cache.keep("similarities", "a", array)
    cache.keep("figures", "a", {"value": None, "list": [1, "ü"]})
    again = Cache(tmp_path / "new" / "cache")
    found = again.value("similarities", "a")
    assert found is not None
    assert found.tobytes() == array.tobytes()
    assert again.value("figures", "a") == {"value": None, "list": [1, "ü"]}
    assert again.value("similarities", "b") is None
    assert again.value("similarities ", "a") is None


@given(st.data())
def test_any_damage_is_noticed(data: st.DataObject) -> None:
    """One changed byte anywhere, or a torn end: the entry counts as absent."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        cache = Cache(folder)
        cache.keep("similarities", "a", np.arange(4.0))
        path = entry(Path(folder))
        content = path.read_bytes()
        place = data.draw(st.integers(0, len(content) - 1))
        if data.draw(st.booleans()):
            broken = content[:place]
        else:
            other = (content[place] + data.draw(st.integers(1, 255))) % 256
            broken = content[:place] + bytes([other]) + content[place + 1 :]
        path.write_bytes(broken)
        assert cache.value("similarities", "a") is None
        cache.keep("similarities", "a", np.arange(4.0))
        assert path.read_bytes() == content


def test_an_entry_of_another_key_is_not_taken(tmp_path: Path) -> None:
    """A file that was renamed or copied onto another key fails its checksum."""
    cache = Cache(tmp_path)
    cache.keep("figures", "a", 1)
    entry(tmp_path).rename(tmp_path / "figures" / "b")
    assert cache.value("figures", "b") is None


def test_no_folder_keeps_nothing_and_a_file_is_refused(tmp_path: Path) -> None:
    """`Cache(None)` is silent; a file in place of the folder is an error before any work."""
    nothing = Cache(None)
    nothing.keep("figures", "a", 1)
    assert nothing.value("figures", "a") is None
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="expected the folder of the cache"):
        Cache(tmp_path / "file")


def test_a_folder_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    """It only caches nothing."""
    (tmp_path / "figures").write_text("in the way")
    cache = Cache(tmp_path)
    cache.keep("figures", "a", 1)
    assert not cache.keeps


def test_entries_that_are_whole_and_wrong_are_made_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Named, and never a traceback: another kind of value, another shape, no array at all."""
    monkeypatch.setattr(progress, "_quiet", False)
    cache = Cache(tmp_path)
    for odd in ([1], {"a": 1}, "text", 3.5, [["all", "spearman", {"value": 1}]]):
        cache.keep("figures", "a", odd)
        made = cache.recall("figures", "a", lambda: {"x": 2}, lambda found: [found],
                            lambda known: {"x": known[0]["x"] + 0})  # fmt: skip
        assert made == {"x": 2}
        assert "figures/a: a damaged cache entry" in capsys.readouterr().err
        assert cache.value("figures", "a") == [{"x": 2}]
    (tmp_path / "figures" / "b").mkdir()
    assert cache.value("figures", "b") is None


def test_similarities_of_another_shape_are_asked_anew(
    data_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Another shape, another kind of number, no array at all: named, and the figures are right."""
    monkeypatch.setattr(progress, "_quiet", False)
    first = evaluate("baseline:dice", ["sts13"], data_dir, cache=tmp_path)
    (path,) = (tmp_path / "similarities").iterdir()
    length = len(first.scored[0].similarities)
    for odd in (np.zeros(length + 1), np.zeros(length, np.float32), "no array"):
        Cache(tmp_path).keep("similarities", path.name, odd)
        assert evaluate("baseline:dice", ["sts13"], data_dir, cache=tmp_path) == first
        assert capsys.readouterr().err.count("a damaged cache entry") == 1

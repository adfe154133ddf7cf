"""Files: whole or missing, never replaced unasked, and no place for another user's link."""

import errno
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors import SafetensorError
from safetensors.numpy import load_file

from firth.run.errors import DamagedError, FirthError, InputError
from firth.run.files import (
    create_mapped,
    fingerprint_file,
    fingerprint_value,
    is_inside,
    map_arrays,
    open_mapped,
    read_arrays,
    read_json,
    write_arrays,
    write_atomically,
    write_json,
    write_text,
)
from firth.run.settings import load_settings


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# --- Writing -----------------------------------------------------------------------------------


def test_a_failed_write_keeps_the_old_file(tmp_path: Path) -> None:
    """An error while writing keeps the earlier content and leaves nothing in the folder."""
    path = tmp_path / "new" / "file.json"
    write_json(path, {"a": 1})

    def torn() -> None:
        with write_atomically(path) as partial:
            partial.write_text("torn")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        torn()
    assert json.loads(path.read_text()) == {"a": 1}
    assert names(path.parent) == ["file.json"]


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
        OSError("4 requested and 0 written"),
        SafetensorError("disk is full"),
    ],
)
def test_an_error_of_a_full_disk_names_the_file(tmp_path: Path, error: Exception) -> None:
    """Neither the system nor the libraries say which one they wrote."""
    with (
        pytest.raises(OSError, match=r"No space.*file\.bin") as raised,
        write_atomically(tmp_path / "file.bin"),
    ):
        raise error
    assert raised.value.filename == str(tmp_path / "file.bin")


@pytest.mark.parametrize("read", [fingerprint_file, read_json, load_settings])
def test_a_file_that_may_never_end_is_not_read(
    tmp_path: Path, read: Callable[[Path], object]
) -> None:
    """A FIFO, whose writer is missing, and a device without end."""
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path / "fifo", Path("/dev/zero")):
        with pytest.raises(FirthError, match=r"a FIFO, socket or device|not a file"):
            read(path)


def killed_write(path: Path) -> None:
    code = (
        "import os, signal, sys; from pathlib import Path\n"
        "from firth.run.files import write_atomically\n"
        "with write_atomically(Path(sys.argv[1])) as partial:\n"
        "    partial.write_text('torn'); (partial.parent / '.tmp123').write_text('torn')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", code, path], check=False)
    assert done.returncode == -signal.SIGKILL


def test_the_next_write_removes_what_a_kill_left(tmp_path: Path) -> None:
    """Only private folders of processes that ended, and nothing that only resembles one."""
    killed_write(tmp_path / "first.txt")
    (leftover,) = names(tmp_path)
    assert leftover.startswith(".firth-"), "the premise"
    own = {".firth-notes": "mine", ".firth-0123456789abcdef": "mine"}
    for name, text in own.items():
        (tmp_path / name).write_text(text)
    (tmp_path / ".firth-00000000000000aa").mkdir()
    (tmp_path / ".firth-00000000000000aa" / "thesis.txt").write_text("mine")
    with write_atomically(tmp_path / "second.txt") as partial:
        partial.write_text("2")
        write_text(tmp_path / "third.txt", "3")  # While the second is being written.
    kept = [*own, ".firth-00000000000000aa"]
    assert names(tmp_path) == sorted([*kept, "second.txt", "third.txt"])
    assert (tmp_path / "second.txt").read_text() == "2"


def test_a_planted_link_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever guessed the random name gains nothing: an existing one is an error."""
    victim, shared = tmp_path / "victim", tmp_path / "shared"
    victim.mkdir()
    shared.mkdir()
    (victim / "lock").write_text("mine")
    monkeypatch.setattr(os, "urandom", lambda count: bytes(count))
    (shared / f".firth-{'00' * 8}").symlink_to(victim)
    with pytest.raises(FileExistsError):
        write_text(shared / "result.txt", "text")
    assert names(victim) == ["lock"]
    assert (victim / "lock").read_text() == "mine"


def test_equal_values_give_equal_bytes(tmp_path: Path) -> None:
    one, two = {"a": 1, "b": [2, "é"]}, {"b": [2, "é"], "a": 1}
    assert list(one) != list(two)
    write_json(tmp_path / "one", one)
    write_json(tmp_path / "two", two)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert fingerprint_value(one) == fingerprint_value(two) != fingerprint_value({"a": 1})


@pytest.mark.parametrize("text", ['{\n"a": }', '{\n"a": "b', "[" * 100_000, "\udcff"])
def test_broken_json_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "broken.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(InputError, match=r"broken\.json(, line 2)?: not valid JSON"):
        read_json(path)
    with pytest.raises(InputError, match="no such file"):
        read_json(tmp_path / "absent.json")


# --- Arrays ------------------------------------------------------------------------------------

ARRAYS = {
    "weights": np.arange(6, dtype=np.float32).reshape(2, 3)[:, ::-1],
    "é": np.array([True, False, True]),
    "empty": np.zeros((0, 4), np.float16),
    "big-endian": np.arange(3, dtype=">i8"),
    "scalar": np.array(2.5),
}


def test_arrays_come_back_and_other_libraries_read_them(tmp_path: Path) -> None:
    """Values, shapes, kinds and metadata; the library's own reader sees the same."""
    path = tmp_path / "a.safetensors"
    write_arrays(path, ARRAYS, {"a": "1"})
    arrays, metadata = read_arrays(path)
    assert metadata == {"a": "1"}
    for stored in (arrays, load_file(path)):
        assert stored.keys() == ARRAYS.keys()
        for name, array in ARRAYS.items():
            np.testing.assert_array_equal(stored[name], array)
            assert stored[name].dtype == array.dtype.newbyteorder("=")
    write_arrays(tmp_path / "b", dict(reversed(ARRAYS.items())), {"a": "1"})
    assert (tmp_path / "b").read_bytes() == path.read_bytes()


def test_every_cut_of_a_file_of_arrays_is_damage(tmp_path: Path) -> None:
    """A file that ends early is never read as if it were whole."""
    path = tmp_path / "a.safetensors"
    write_arrays(path, ARRAYS)
    whole = path.read_bytes()
    for length in range(0, len(whole), 7):
        path.write_bytes(whole[:length])
        for read in (read_arrays, map_arrays):
            with pytest.raises(DamagedError, match=r"a\.safetensors"):
                read(path)
    for read in (read_arrays, map_arrays):
        with pytest.raises(InputError, match="no such file"):
            read(tmp_path / "absent")


def test_mapped_tensors_are_those_that_are_read(tmp_path: Path) -> None:
    """Values and shapes are the same, and nobody can write into them; other kinds are named."""
    path = tmp_path / "a.safetensors"
    write_arrays(path, {name: array for name, array in ARRAYS.items() if array.dtype != bool})
    read, mapped = read_arrays(path)[0], map_arrays(path)
    assert read.keys() == mapped.keys()
    for name, array in read.items():
        np.testing.assert_array_equal(mapped[name], array)
        assert mapped[name].dtype == array.dtype
        assert not mapped[name].size or not mapped[name].flags.writeable
    write_arrays(path, ARRAYS)
    with pytest.raises(InputError, match="has BOOL; expected F16"):
        map_arrays(path)


@pytest.mark.parametrize("shape", [(3, 2), (0, 2)])
def test_mapped_arrays_come_back(tmp_path: Path, shape: tuple[int, ...]) -> None:
    """What was filled is read; a pickle or a torn file is refused."""
    path = tmp_path / "rows.npy"
    array = create_mapped(path, np.float32, shape)
    array[:] = 3
    del array
    stored = open_mapped(path)
    assert stored.shape == shape
    assert stored.dtype == np.float32
    assert (stored == 3).all()
    np.save(path, np.array([{}], object), allow_pickle=True)
    with pytest.raises(DamagedError, match=r"rows\.npy"):
        open_mapped(path)
    path.write_bytes(b"\x93NUMPY")
    with pytest.raises(DamagedError, match=r"rows\.npy"):
        open_mapped(path)
    with pytest.raises(InputError, match="no such file"):
        open_mapped(tmp_path / "absent")


# --- Paths -------------------------------------------------------------------------------------


@given(st.lists(st.sampled_from(["a", "..", ".", "", "b\\c", "/", "d\0"]), max_size=4))
def test_a_path_inside_stays_inside(parts: list[str]) -> None:
    name = "/".join(parts)
    if is_inside(name):
        place = os.path.normpath(os.path.join("/folder", name))
        assert place.startswith("/folder/")
        assert "\0" not in name
    assert is_inside("a/b.txt")

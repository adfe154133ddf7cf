"""Arrays in files: what was written is what is mapped."""

from pathlib import Path

import numpy as np
import pytest

from firth.run.mapped import create, mapped, write


@pytest.mark.parametrize("blocks", [[], [[]], [[1, 2], [], [3]]])
def test_blocks_are_read_as_one_array(tmp_path: Path, blocks: list[list[int]]) -> None:
    """One after the other, however many; of none, nothing."""
    path = tmp_path / "numbers"
    with path.open("wb") as file:
        assert write(file, (np.array(block, np.int64) for block in blocks)) == sum(map(len, blocks))
    assert mapped(path, np.int64).tolist() == [n for block in blocks for n in block]


@pytest.mark.parametrize("shape", [(3, 2), (0, 2)])
def test_a_new_file_has_the_bytes_of_a_saved_array(tmp_path: Path, shape: tuple[int, int]) -> None:
    """Once it is filled; an empty one at once."""
    expected = np.arange(shape[0] * shape[1], dtype=np.float32).reshape(shape)
    np.save(tmp_path / "saved.npy", expected)
    create(tmp_path / "made.npy", np.float32, shape)[:] = expected
    assert (tmp_path / "made.npy").read_bytes() == (tmp_path / "saved.npy").read_bytes()

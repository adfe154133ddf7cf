"""Arrays in files, memory-mapped: memory holds what of them is looked at.

Of what is written through a map the disk sets all bytes aside first (`firth.run.files.reserve`).
"""

from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from firth.run.files import reserve

Array = npt.NDArray[Any]


def create(path: Path, dtype: npt.DTypeLike, shape: tuple[int, ...]) -> Array:
    """A new .npy file to be filled; one without a number in it is whole at once."""
    if 0 in shape:
        np.save(path, np.zeros(shape, dtype))
        return np.zeros(shape, dtype)
    found = np.lib.format.open_memmap(path, "w+", dtype, shape)
    reserve(path)
    return found


def write(file: IO[bytes], blocks: Iterable[Array]) -> int:
    """Add the numbers of some blocks to a file that holds nothing else; how many they are."""
    count = 0
    for block in blocks:
        file.write(block.tobytes())
        count += block.size
    return count


def mapped(path: Path, dtype: npt.DTypeLike) -> Array:
    """All numbers of a file that holds nothing else, to be read."""
    if not path.stat().st_size:  # nothing of it can be mapped
        return np.empty(0, dtype)
    # A plain view: a `memmap` makes each slice another one.
    return np.asarray(np.memmap(path, dtype, mode="r"))

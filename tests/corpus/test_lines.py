"""Lines of files that are packed, broken, or too long."""

import gzip
import random
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.corpus.inputs import Reason, resolve_inputs
from firth.corpus.lines import Line, read_lines

from .conftest import packed

ENDINGS = ["", ".gz", ".zst"]


def lines_of(path: Path, max_bytes: int = 1 << 20) -> list[Line]:
    (source,) = resolve_inputs([path])
    return list(read_lines(source, max_bytes, lambda _: None))


def writer(path: Path, ending: str) -> Any:
    """A file that packs what is written to it."""
    if ending == ".gz":
        return gzip.open(path, "wb", compresslevel=1)
    return zstandard.open(path, "wb") if ending else path.open("wb")


def numbered(count: int) -> bytes:
    """Lines that do not compress well, so that a cut falls in the middle of many."""
    rng = random.Random(3)
    return b"".join(f"{i} {rng.getrandbits(256):x}\n".encode() for i in range(count))


@settings(max_examples=60)
@given(data=st.binary(max_size=400) | st.text("ab\n\r", max_size=60).map(str.encode))
def test_any_bytes_give_their_lines(data: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Packed or not, lines are those of the whole content, with their numbers."""
    folder = tmp_path_factory.mktemp("lines")
    mark = b"\xef\xbb\xbf"
    expected = data.removeprefix(mark).split(b"\n")
    if not expected[-1] and data != mark:  # a byte order mark alone makes a line, an empty one
        expected.pop()
    for ending in ENDINGS:
        path = folder / f"a.txt{ending}"
        path.write_bytes(packed(data, ending))
        found = lines_of(path)
        assert [line.content for line in found] == [e.removesuffix(b"\r") for e in expected]
        assert [line.number for line in found] == list(range(1, len(expected) + 1))
        assert all(line.flaw is None for line in found)


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_long_line_is_named_and_costs_no_memory(tmp_path: Path, ending: str) -> None:
    """A line of 50 MB, or of 1 GiB that was packed, is never held; its neighbours stay."""
    path = tmp_path / f"a.txt{ending}"
    mebibytes = 1_024 if ending else 50
    with writer(path, ending) as file:
        file.write(b"before\n")
        for _ in range(mebibytes):
            file.write(b"x" * (1 << 20))
        file.write(b"\nafter\n" + b"y" * 5_000_000)
    assert not ending or path.stat().st_size < 6_000_000  # the premise: little that becomes much
    (source,) = resolve_inputs([path])
    tracemalloc.start()
    found = list(read_lines(source, 1 << 20, lambda _: None))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [(line.number, line.content, line.flaw) for line in found] == [
        (1, b"before", None),
        (2, b"", Reason.TOO_LONG),
        (3, b"after", None),
        (4, b"", Reason.TOO_LONG),
    ]
    # One small piece of so extreme a file may unpack to some megabytes.
    assert peak < 45_000_000


@pytest.mark.parametrize("ending", [".gz", ".zst"])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 1.0])
def test_a_truncated_file_keeps_what_came_before(tmp_path: Path, ending: str, share: float) -> None:
    """Every whole line before the break is there, and the break is named once, at the end."""
    data = numbered(20_000)
    whole = packed(data, ending)
    path = tmp_path / f"a.txt{ending}"
    path.write_bytes(whole[: max(1, int(len(whole) * share) - 1)])
    *lines, last = lines_of(path)
    assert all(line.flaw is None for line in lines)
    assert last.flaw is Reason.TRUNCATED
    assert last.number == len(lines) + 1
    kept = b"\n".join([line.content for line in lines] + [last.content])
    assert data.startswith(kept)
    assert len(kept) >= len(data) * (share - 0.1)


@pytest.mark.parametrize("ending", [".gz", ".zst"])
def test_a_corrupt_member_keeps_the_members_before(tmp_path: Path, ending: str) -> None:
    """Members before a broken one are kept even if both lie in one piece of the file."""
    first, second = b"one\ntwo\n", b"three\n"
    broken = b"\x00garbage that is not packed at all"
    path = tmp_path / f"a.txt{ending}"
    path.write_bytes(packed(first, ending) + packed(second, ending) + broken)
    *lines, last = lines_of(path)
    assert [line.content for line in lines] == [b"one", b"two", b"three"]
    assert last.flaw is Reason.CORRUPT


def test_corruption_in_the_middle_keeps_all_before_it(tmp_path: Path) -> None:
    """A failing call of zlib returns nothing; firth reads again and loses no line before it."""
    data = numbered(300)
    blocks = [gzip.compress(data[:5_000], mtime=0), gzip.compress(data[5_000:], mtime=0)]
    tail = bytearray(blocks[1])
    tail[-8] ^= 0xFF  # the checksum: all of the second member has been unpacked by then
    path = tmp_path / "a.txt.gz"
    path.write_bytes(blocks[0] + bytes(tail))
    *lines, last = lines_of(path)
    assert last.flaw is Reason.CORRUPT
    assert b"".join(line.content + b"\n" for line in lines) == data


def test_members_frames_and_padding(tmp_path: Path) -> None:
    """Files joined end to end, zero-padded members and skippable frames are read through."""
    (tmp_path / "a.txt.gz").write_bytes(
        packed(b"one\ntw", ".gz") + b"\0" * 700 + packed(b"o\nthree", ".gz") + b"\0" * 20
    )
    skippable = (0x184D2A50).to_bytes(4, "little") + (4).to_bytes(4, "little") + b"abcd"
    frame = zstandard.ZstdCompressor(write_checksum=True).compress(b"o\nthree")
    (tmp_path / "a.txt.zst").write_bytes(skippable + packed(b"one\ntw", ".zst") + frame)
    for name in ("a.txt.gz", "a.txt.zst"):
        found = lines_of(tmp_path / name)
        assert [line.content for line in found] == [b"one", b"two", b"three"]
        assert all(line.flaw is None for line in found)


@pytest.mark.parametrize("ending", ENDINGS)
def test_progress_adds_up_to_the_size(tmp_path: Path, ending: str) -> None:
    """The bar ends at the size of the file on disk."""
    path = tmp_path / f"a.txt{ending}"
    path.write_bytes(packed(numbered(5_000), ending))
    (source,) = resolve_inputs([path])
    told: list[int] = []
    list(read_lines(source, 1 << 20, told.append))
    assert len(told) > 1
    assert sum(told) == source.size

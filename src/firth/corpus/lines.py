"""Files as lines of bytes, packed or not, however broken; no line is held beyond a limit.

The readers of `gzip` and `zstandard` lose what stood in the same block as a break, and the latter
takes a truncated file for a whole one. Hence their decompressors are fed here.
"""

import contextlib
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import zstandard

from firth.corpus.formats import Compression
from firth.corpus.inputs import Reason, Source

Advance = Callable[[int], None]
"""Told how many bytes of the file on disk have been read since the last call."""

_BLOCK = {Compression.NONE: 1 << 16, Compression.GZIP: 1 << 12, Compression.ZSTD: 1 << 8}
"""Bytes read at once. 1 byte of gzip can unpack to 1 KiB, and 8 bytes of zstd to 128 KiB."""
_UNPACK_ERRORS = (zlib.error, zstandard.ZstdError)


class _BrokenStreamError(Exception):
    def __init__(self, reason: Reason, detail: str) -> None:
        self.reason, self.detail = reason, detail


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a file.

    Attributes:
        number: Counted from 1.
        content: Its bytes without the line end; empty if it is too long.
        flaw: None; or TOO_LONG; or TRUNCATED or CORRUPT for the last line that could be read,
            whose `content` is what came before the break.
        detail: The flaw for a reader.
    """

    number: int
    content: bytes
    flaw: Reason | None = None
    detail: str = ""


def read_lines(source: Source, max_bytes: int, advance: Advance) -> Iterator[Line]:
    """The lines of a file, unpacked; at most `max_bytes` and one block are held.

    A byte order mark is dropped, and so is a carriage return before a line feed.
    """
    for line in _split(_blocks(source, advance), max_bytes):
        if line.number == 1 and line.content.startswith(b"\xef\xbb\xbf"):
            line = replace(line, content=line.content[3:])
        yield line


def _split(blocks: Iterator[bytes], max_bytes: int) -> Iterator[Line]:
    number, size = 1, 0
    held: list[bytes] = []

    def whole(last: bytes) -> Line:
        if size > max_bytes:
            detail = f"over {max_bytes:,} bytes (max_record_bytes)"
            return Line(number, b"", Reason.TOO_LONG, detail)
        return Line(number, (b"".join(held) + last).removesuffix(b"\r"))

    try:
        for block in blocks:
            *ended, rest = block.split(b"\n")
            for piece in ended:
                size += len(piece)
                yield whole(piece)
                number, size = number + 1, 0
                held.clear()
            size += len(rest)
            if size > max_bytes:
                held.clear()
            else:
                held.append(rest)
    except _BrokenStreamError as broken:
        yield Line(number, b"".join(held), broken.reason, broken.detail)
        return
    if size:
        yield whole(b"")


def _blocks(source: Source, advance: Advance) -> Iterator[bytes]:
    """Unpacked blocks; raises `_BrokenStreamError` after everything that could be unpacked."""
    given = fed = 0
    try:
        for end, block in _unpack(source):
            given += len(block)
            yield block
            advance(end - fed)
            fed = end
    except _UNPACK_ERRORS as error:
        # The failing call returned nothing of what it had unpacked. Read again up to there, go on
        # byte by byte, and pass on what had not been given out yet.
        again = 0
        with contextlib.suppress(*_UNPACK_ERRORS):
            for _, block in _unpack(source, careful_from=fed):
                again += len(block)
                if again > given:
                    yield block[given - again :]
                    given = again
        detail = f"cannot be unpacked further ({error})"
        raise _BrokenStreamError(Reason.CORRUPT, detail) from None


def _unpack(source: Source, careful_from: int | None = None) -> Iterator[tuple[int, bytes]]:
    """(bytes of the file used so far, what the last of them unpacked to).

    A file may hold several members or frames. From the offset `careful_from` on, the file is fed
    byte by byte.
    """
    packing = source.compression
    used, unpacker = 0, None
    with open(source.path, "rb") as file:
        while True:
            careful = careful_from is not None and used >= careful_from
            piece = file.read(1 if careful else _BLOCK[packing])
            if not piece:
                break
            used += len(piece)
            if packing is Compression.NONE:
                yield used, piece
                continue
            block = b""
            while piece:
                unpacker = unpacker or _unpacker(packing)
                block += unpacker.decompress(piece)
                if not unpacker.eof:
                    break
                piece, unpacker = unpacker.unused_data, None
                if packing is Compression.GZIP:
                    piece = piece.lstrip(b"\0")  # members may be padded
            yield used, block
    if unpacker is not None:
        raise _BrokenStreamError(Reason.TRUNCATED, "the file ends in the middle of packed data")


def _unpacker(packing: Compression) -> Any:
    if packing is Compression.GZIP:
        return zlib.decompressobj(wbits=31)
    return zstandard.ZstdDecompressor().decompressobj()

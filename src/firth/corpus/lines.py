"""Files as lines of bytes, packed or not, however broken; no line is held beyond a limit."""

import contextlib
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import zstandard

from firth.corpus.inputs import Compression, Source
from firth.corpus.records import Reason

Advance = Callable[[int], None]
"""Told how many bytes of the file on disk have been read since the last call."""

_BLOCK = 1 << 16
_PACKED_BLOCK = {Compression.GZIP: 1 << 12, Compression.ZSTD: 1 << 8}
"""Small, since 1 byte of gzip can unpack to 1 KiB and 8 bytes of zstd to 128 KiB."""


_UNPACK_ERRORS = (zlib.error, zstandard.ZstdError)


class BrokenStreamError(Exception):
    """A packed file that ends too early or cannot be unpacked further."""

    def __init__(self, reason: Reason, detail: str) -> None:
        self.reason, self.detail = reason, detail
        super().__init__(detail)


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
    if source.compression is Compression.NONE:
        blocks = _plain(source.path, advance)
    else:
        blocks = _unpacked(source.path, source.compression, advance)
    for line in _split(blocks, max_bytes):
        if line.number == 1 and line.content.startswith(b"\xef\xbb\xbf"):
            line = Line(1, line.content[3:], line.flaw, line.detail)
        yield line


def _split(blocks: Iterator[bytes], max_bytes: int) -> Iterator[Line]:
    number, held, size = 1, [b""], 0
    try:
        for block in blocks:
            *ended, rest = block.split(b"\n")
            for piece in ended:
                size += len(piece)
                if size > max_bytes:
                    yield _too_long(number, max_bytes)
                else:
                    yield Line(number, (b"".join(held) + piece).removesuffix(b"\r"))
                number, held, size = number + 1, [], 0
            size += len(rest)
            held = [] if size > max_bytes else [*held, rest]
    except BrokenStreamError as broken:
        yield Line(number, b"".join(held), broken.reason, broken.detail)
        return
    if size > max_bytes:
        yield _too_long(number, max_bytes)
    elif size:
        yield Line(number, b"".join(held).removesuffix(b"\r"))


def _too_long(number: int, max_bytes: int) -> Line:
    return Line(number, b"", Reason.TOO_LONG, f"over {max_bytes:,} bytes (max_record_bytes)")


def _plain(path: str, advance: Advance) -> Iterator[bytes]:
    with open(path, "rb") as file:
        while block := file.read(_BLOCK):
            yield block
            advance(len(block))


class _Unpacker(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, /) -> bytes: ...


def _unpacker(compression: Compression) -> _Unpacker:
    if compression is Compression.GZIP:
        return zlib.decompressobj(wbits=31)
    unpacker: _Unpacker = zstandard.ZstdDecompressor().decompressobj()
    return unpacker


def _unpacked(path: str, compression: Compression, advance: Advance) -> Iterator[bytes]:
    """Unpacked blocks; raises `BrokenStreamError` after everything that could be unpacked."""
    given = fed = 0
    try:
        for end, block in _unpack(path, compression, careful_from=None):
            advance(end - fed)
            given, fed = given + len(block), end
            yield block
    except _UNPACK_ERRORS as error:
        # The failing call returned nothing of what it had unpacked. Read again up to there, go on
        # byte by byte, and pass on what had not been given out yet.
        again = 0
        with contextlib.suppress(*_UNPACK_ERRORS):
            for _, block in _unpack(path, compression, careful_from=fed):
                again += len(block)
                if again > given:
                    yield block[given - again :]
                    given = again
        raise BrokenStreamError(Reason.CORRUPT, f"cannot be unpacked further ({error})") from None


def _unpack(
    path: str, compression: Compression, careful_from: int | None
) -> Iterator[tuple[int, bytes]]:
    """(bytes of the file used so far, what the last of them unpacked to).

    A file may hold several members or frames. From the offset `careful_from` on, the file is fed
    byte by byte.
    """
    used, unpacker = 0, None
    with open(path, "rb") as file:
        while True:
            careful = careful_from is not None and used >= careful_from
            piece = file.read(1 if careful else _PACKED_BLOCK[compression])
            if not piece:
                break
            used += len(piece)
            block = b""
            while piece:
                unpacker = unpacker or _unpacker(compression)
                block += unpacker.decompress(piece)
                if not unpacker.eof:
                    break
                piece, unpacker = unpacker.unused_data, None
                if compression is Compression.GZIP:
                    piece = piece.lstrip(b"\0")  # members may be padded
            yield used, block
    if unpacker is not None:
        raise BrokenStreamError(Reason.TRUNCATED, "the file ends in the middle of packed data")

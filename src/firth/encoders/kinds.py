"""Kinds of encoders: who recognizes a name or a folder, and who opens it.

The kinds of firth and those of other packages are registered alike, as entry points of the group
`firth.encoders`. `open_encoder` opens an encoder of any kind by name, and any object with `encode`.
"""

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from threading import RLock

from firth.encoders.encoder import AdaptedEncoder, Encoder, PretrainedEncoder
from firth.encoders.folder import PretrainedFiles
from firth.encoders.packaged import ImportedEncoder, is_imported, with_version
from firth.run.console import note
from firth.run.errors import InputError, first_line, require
from firth.run.files import fingerprint_value
from firth.run.settings import EncoderSettings

GROUP = "firth.encoders"
_OPEN, _LOCK = dict[tuple[object, ...], PretrainedEncoder](), RLock()
_MOST_OPEN = 3
"""Encoders that a process keeps open."""
OBJECT = "object:"
"""How the name of an encoder begins that was passed as an object, which no name can open."""


@dataclass(frozen=True, kw_only=True)
class EncoderKind:
    """A kind of encoder, which a package registers as an entry point of the group `firth.encoders`.

    Attributes:
        name: For messages and records, as `onnx`.
        open: Opens an encoder that was found. Anything with `encode` may be returned.
        recognizes: Whether a name, or a path, is of this kind. Nothing is opened or contacted.
        recognizes_files: Whether a folder is, which was looked at (`firth.encoders.folder.look`).
        adopts: Makes an encoder with states of words of an object that its library opened, or
            returns None.
        identity: What tells two encoders of one name apart, as the version of their weights. Files
            are compared by their bytes.
        library, extra: A module that must be installed, and the extra of firth that installs it.
        is_table: Whether vectors are looked up, so that all sentences of a corpus take seconds; for
            others, explanations sample fewer.
    """

    name: str
    open: "Callable[[FoundEncoder, EncoderSettings], Encoder]"
    recognizes: Callable[[str], bool] = lambda _: False
    recognizes_files: Callable[[PretrainedFiles], bool] = lambda _: False
    adopts: Callable[[object], PretrainedEncoder | None] = lambda _: None
    identity: Callable[[str], str] = str
    library: str = ""
    extra: str = ""
    is_table: bool = False


@dataclass(frozen=True)
class FoundEncoder:
    """An encoder that was found by its name, and is not open; or an object that was passed.

    The name is an absolute path, or what the kind recognized. `recorded` is the fingerprint that a
    run has of an object that is known to be the same.
    """

    name: str
    kind: EncoderKind
    files: PretrainedFiles | None = None
    passed: AdaptedEncoder | None = None
    recorded: str = ""

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle what it was found by: a kind may hold functions that cannot be pickled."""
        return _found_again, (self.passed or self.name, self.recorded)

    def known_as(self, fingerprint: str) -> "FoundEncoder":
        """Return the same encoder with the fingerprint that a run has of it."""
        return replace(self, recorded=fingerprint)

    @cached_property
    def fingerprint(self) -> str:
        """What changes when the encoder does."""
        if self.passed is not None:
            return self.recorded or self.passed.fingerprint
        if self.files is not None:
            return self.files.fingerprint
        return fingerprint_value([self.kind.name, self.kind.identity(self.name)])

    @property
    def place(self) -> PretrainedFiles:
        """The files of an encoder that has some."""
        return self.files or PretrainedFiles.find(self.name)

    def check_installed(self) -> None:
        """Raise `MissingExtraError` where a library is missing that the kind needs."""
        if self.kind.library:
            require(self.kind.library, self.kind.extra, f"{self.name} ({self.kind.name})")

    def open(self, settings: EncoderSettings | None = None) -> PretrainedEncoder:
        """Open the encoder, once for each process; what is no `PretrainedEncoder` is adapted."""
        if self.passed is not None:
            return self.passed
        self.check_installed()
        settings = settings or EncoderSettings()
        reading = settings.pooling, settings.max_tokens
        same = self.files.stamps if self.files is not None else self.fingerprint
        key = (self.kind.name, self.name, same, reading)
        with _LOCK:
            if key in _OPEN:
                return _OPEN[key]
            opened = self.kind.open(self, settings)
            if not isinstance(opened, PretrainedEncoder):
                opened = AdaptedEncoder(opened, self.name)
            while len(_OPEN) >= _MOST_OPEN:
                del _OPEN[next(iter(_OPEN))]
            return _OPEN.setdefault(key, opened)


def find_encoder(encoder: "str | Path | Encoder | FoundEncoder") -> FoundEncoder:
    """Find an encoder of any kind by name, without opening it, or adapt an object.

    Args:
        encoder: A name that a kind recognizes: an address, the name of a model that a package
            brings, a folder, an ONNX file, or a name on the hub. Or an object with `encode`.

    Raises:
        InputError: There is no such encoder, or the object is none.
    """
    if isinstance(encoder, FoundEncoder):
        return encoder
    if not isinstance(encoder, str | Path):
        if not isinstance(encoder, AdaptedEncoder):
            adopted = (kind.adopts(encoder) for kind in kinds())
            encoder = AdaptedEncoder(next(filter(None, adopted), encoder))
        return FoundEncoder(f"{OBJECT}{encoder.name}", _PASSED, passed=encoder)
    name = str(encoder)
    if name.startswith(OBJECT):
        raise InputError(
            f"{name}: the run was built with this object, which no name opens. Pass it in Python: "
            "firth.load(RUN, encoder=OBJECT), or firth.build(DOCUMENTS, RUN, encoder=OBJECT)"
        )
    registered = kinds()
    for kind in registered:
        if kind.recognizes(name):
            return FoundEncoder(name, kind)
    files = PretrainedFiles.find(name)
    for kind in registered:
        if kind.recognizes_files(files):
            return FoundEncoder(files.model, kind, files)
    raise InputError(
        f"{files.model}: its kind is {files.kind}; expected one of "
        f"{', '.join(kind.name for kind in registered)}, with weights as .safetensors or ONNX"
    )


def _found_again(encoder: "str | Encoder", recorded: str) -> FoundEncoder:
    return find_encoder(encoder).known_as(recorded)


def open_encoder(
    encoder: "str | Path | Encoder | FoundEncoder", settings: EncoderSettings | None = None
) -> PretrainedEncoder:
    """Open an encoder of any kind; arguments and errors as of `find_encoder`."""
    return find_encoder(encoder).open(settings)


def kinds() -> list[EncoderKind]:
    """Return the kinds that are registered, by name; one that cannot be imported is left out."""
    return _kinds(tuple(sys.path), entry_points)


@lru_cache(maxsize=1)
def _kinds(_: tuple[str, ...], points: Callable[..., Iterable[EntryPoint]]) -> list[EncoderKind]:
    """Return `kinds`, which do not change while Python looks for packages in the same places."""
    registered = []
    for point in sorted(points(group=GROUP), key=lambda point: point.name):
        try:
            kind = point.load()
            if not isinstance(kind, EncoderKind):
                raise TypeError(f"a {type(kind).__name__}; expected an EncoderKind")
        except Exception as error:  # noqa: BLE001
            note(f"{GROUP}: {point.name} ({point.value}) is left out: {first_line(error)}")
            continue
        registered.append(kind)
    return registered


_PASSED = EncoderKind(name="object", open=lambda encoder, _: encoder.open())
PACKAGE = EncoderKind(
    name="package",
    recognizes=is_imported,
    identity=with_version,
    open=lambda encoder, _: ImportedEncoder(encoder.name),
)

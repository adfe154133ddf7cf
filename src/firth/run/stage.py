"""Stages on disk: built beside, synced, described by a manifest, renamed; resumed, verified, kept.

A stage is built in a hidden workspace beside its final folder. When it is complete, every file is
synced, `manifest.json` is written last, and the workspace is renamed into place. A stage whose
manifest asks for the same inputs, settings and code is reused if its bytes are what they were; a
workspace left behind by an interrupted run with the same request is continued. A folder that firth
did not write is never replaced.
"""

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from firth.run import sharing
from firth.run.errors import DamagedError, InputError, MissingExtraError
from firth.run.files import (
    fingerprint_file,
    fingerprint_value,
    is_inside,
    read_json,
    sync,
    write_json,
)
from firth.run.progress import note

MANIFEST = "manifest.json"
SCRATCH = "scratch"
"""Folder of checkpoints in a workspace; gone when the stage is complete."""
_REQUEST = "request.json"
_TORN = (".*.partial", ".tmp??????")
"""Files that were being written when a process was killed: by firth, and by safetensors."""
_handed: dict[Path, str] = {}
"""Folder of each finished stage that is read in this process → how it is built again."""
_LEFT_BY_SYSTEMS = frozenset({".DS_Store", "Thumbs.db", "desktop.ini"})


@dataclass(frozen=True)
class Stage:
    """One step of a run.

    Attributes:
        name: Folder of the stage inside the run; `baselines/cbos` is a folder in a folder.
        command: What a user types to build the stage, for error messages.
        libraries: Distributions whose versions are part of the fingerprint.
        extra: Extra of firth that brings those which firth does without.
    """

    name: str
    command: str
    libraries: tuple[str, ...] = ()
    extra: str = ""

    def versions(self) -> dict[str, str]:
        """Distribution → version; raise `MissingExtraError` for one that is not installed."""
        try:
            return {name: version(name) for name in self.libraries}
        except PackageNotFoundError as error:
            what = f"{self.command.removesuffix(' --run')} ({error.name})"
            raise MissingExtraError(what, self.extra) from None


@dataclass(frozen=True)
class Manifest:
    """What a finished stage was made from, and what it consists of. Written last.

    Attributes:
        stage: Name of the stage.
        inputs: Name → fingerprint of everything read.
        config: Setting → value, of the settings that the stage was handed.
        code: Fingerprint of the import closure of what built it.
        libraries: Distribution → version.
        request: Fingerprint of all the above together.
        outputs: Relative path → {"bytes", "blake2b"} of each file.
        summary: Figures worth showing (counts, losses); never times, which would differ by run.
    """

    stage: str
    inputs: Mapping[str, str]
    config: Mapping[str, Any]
    code: str
    libraries: Mapping[str, str]
    request: str = ""
    outputs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    summary: Mapping[str, Any] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """Fingerprint of the outputs: what later stages name as their input."""
        return fingerprint_value({name: dict(known) for name, known in self.outputs.items()})

    def requested(self) -> "Manifest":
        """The same with its `request` worked out."""
        return replace(self, request=fingerprint_value(asdict(replace(self, request=""))))

    @classmethod
    def read(cls, folder: Path) -> "Manifest | None":
        """Read the manifest of a stage folder; None when the stage is absent or incomplete.

        Raises:
            DamagedError: The file is no manifest of firth's.
        """
        path = folder / MANIFEST
        if not path.is_file():
            return None
        try:
            return cls.parse(read_json(path), str(path))
        except InputError as error:
            raise DamagedError(str(error)) from error

    @classmethod
    def parse(cls, stored: Any, where: str) -> "Manifest":
        """Of what a manifest's file holds; raise `DamagedError` where that is none of firth's."""
        kinds = {"stage": str, "code": str, "request": str}
        names = {each.name for each in fields(cls)}
        whole = isinstance(stored, dict) and set(stored) == names
        if not whole or not all(isinstance(stored[n], kinds.get(n, dict)) for n in names):
            raise DamagedError(f"{where}: not a manifest of firth's")
        for name, known in stored["outputs"].items():
            sized = isinstance(known, dict) and isinstance(known.get("bytes"), int)
            if not sized or not isinstance(known.get("blake2b"), str):
                raise DamagedError(f"{where}: not a manifest of firth's")
            if not is_inside(name):
                raise DamagedError(f"{where}: not a manifest of firth's: leads out of its folder")
        return cls(**stored)

    def damage(self, folder: Path, *, bytes_too: bool = False) -> list[str]:
        """What of the outputs is not as it was written, a line each.

        Args:
            folder: Of the stage.
            bytes_too: Read every byte, instead of comparing sizes.
        """
        found = []
        for name, known in self.outputs.items():
            path = folder / name
            # Asked of `os`: a name that is too long is no file, and no error.
            size = path.stat().st_size if os.path.isfile(path) else None
            if size is None:
                found.append(f"{name} is gone")
            elif size != known["bytes"]:
                found.append(f"{name} has {size:,} bytes, not {known['bytes']:,}")
            elif bytes_too and fingerprint_file(path) != known["blake2b"]:
                found.append(f"{name} has other bytes than were written")
        return found

    @property
    def is_as_written(self) -> bool:
        """Whether what its `request` is the fingerprint of, is what it was."""
        return replace(self, outputs={}, summary={}).requested().request == self.request

    def foreign(self, folder: Path) -> list[str]:
        """Files in a stage's folder that firth did not write."""
        return [name for name in files_in(folder) if name not in {*self.outputs, MANIFEST}]


def files_in(folder: Path) -> list[str]:
    """Relative path of every file and link in a folder, but of what systems leave there."""
    files = (p for p in sorted(folder.rglob("*")) if p.is_symlink() or not p.is_dir())
    return [p.relative_to(folder).as_posix() for p in files if p.name not in _LEFT_BY_SYSTEMS]


def handed(folder: Path, again: str) -> Path:
    """A finished stage's folder, which is remembered with the command that builds it again."""
    _handed[folder] = again
    return folder


def handed_damage() -> DamagedError | None:
    """What is damaged of the stages that this process reads, every byte compared; None where all
    are whole.

    Opening a stage compares sizes alone, so that a flipped bit may end in whatever error a library
    has for it. Whoever meets one that nobody foresaw, asks here for its cause.
    """
    found = []
    for folder, again in _handed.items():
        try:
            manifest = Manifest.read(folder)
            damage = manifest.damage(folder, bytes_too=True) if manifest else []
        except (OSError, DamagedError):
            continue
        if damage:
            found.append(f"{folder}: damaged: {'; '.join(damage)}. Build it again: {again}")
    return DamagedError("\n".join(found)) if found else None


@dataclass(frozen=True)
class Outcome:
    """A stage that is in place: its manifest, and whether it was already there."""

    manifest: Manifest
    reused: bool


Build = Callable[[Path], Mapping[str, Any]]
"""Fills a workspace and returns the summary. Checkpoints go to `workspace / SCRATCH`."""


def up_to_date(final: Path, wanted: Manifest) -> Manifest | None:
    """The manifest of the stage in `final` if it is what `wanted` asks for, byte for byte."""
    try:
        found = Manifest.read(final)
    except DamagedError:
        return None
    if found is None or found.request != wanted.request:
        return None
    return None if found.damage(final, bytes_too=True) else found


def execute(final: Path, wanted: Manifest, build: Build) -> Outcome:
    """Bring the stage in the folder `final` up to date: reuse it, continue it, or build it.

    `build(workspace)` must be deterministic given inputs and settings, and may continue from what
    an interrupted call left in `workspace` (files it finds there belong to the same request).

    Of several processes (`firth.run.sharing`) the first does this. If it builds, so do the others,
    in folders that go.

    Raises:
        InputError: `final` holds something that firth did not write. Nothing was built.
    """
    if sharing.rank():
        return _followed(build)
    return sharing.tell(_executed(final, wanted, build))


def _followed(build: Build) -> Outcome:
    """`execute`, of a process beside the one that builds."""
    outcome: Outcome | None = sharing.tell(None)
    if outcome is None:  # the other one fills its workspace
        with TemporaryDirectory(prefix="firth-") as workspace:
            build(Path(workspace))
        outcome = sharing.tell(None)
    assert outcome is not None
    return outcome


def _executed(final: Path, wanted: Manifest, build: Build) -> Outcome:
    workspace = final.with_name(f".{final.name}.work")
    if found := up_to_date(final, wanted):
        _discard(workspace)
        return Outcome(found, reused=True)
    claim(final)
    if (old := Manifest.read(final)) and (damage := old.damage(final, bytes_too=True)):
        note(f"{final}: damaged ({'; '.join(damage)}); it is built again")
    finished = up_to_date(workspace, wanted) or _build(workspace, wanted, build)
    shutil.rmtree(workspace / SCRATCH, ignore_errors=True)
    move_into_place(workspace, final)
    return Outcome(finished, reused=False)


def copy_stage(folder: Path, out: Path) -> None:
    """Copy a finished stage to a folder of one's own, where only an earlier copy is replaced.

    Raises:
        InputError: `out` holds something that firth did not write.
    """
    found = Manifest.read(folder)
    assert found is not None, f"{folder}: not a finished stage"

    def fill(workspace: Path) -> Mapping[str, Any]:
        for name in found.outputs:
            (workspace / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(folder / name, workspace / name)
        return found.summary

    place = out.resolve()
    place.parent.mkdir(parents=True, exist_ok=True)
    execute(place, replace(found, outputs={}, summary={}), fill)


def open_workspace(workspace: Path, request: str) -> Path:
    """A folder to work in, with what an interrupted call left there of the same request.

    Returns:
        The file that marks whose it is.

    Raises:
        InputError: It holds files that firth did not write.
    """
    marker = workspace / _REQUEST
    if _request(marker) != request:
        _discard(workspace)
        workspace.mkdir(parents=True)
        write_json(marker, request)
    (workspace / MANIFEST).unlink(missing_ok=True)
    for pattern in _TORN:
        for torn in workspace.rglob(pattern):
            torn.unlink()
    return marker


def _build(workspace: Path, wanted: Manifest, build: Build) -> Manifest:
    marker = open_workspace(workspace, wanted.request)
    sharing.tell(None)
    summary = dict(build(workspace))
    # Checkpoints and marker stay until the manifest is written: a full disk costs no work.
    outputs = {}
    for path in sorted(p for p in workspace.rglob("*") if p.is_file() and p != marker):
        name = path.relative_to(workspace)
        if name.parts[0] == SCRATCH:
            continue
        path.chmod(0o644)  # some libraries write files that only their owner can read
        sync(path)
        size = path.stat().st_size
        outputs[name.as_posix()] = {"bytes": size, "blake2b": fingerprint_file(path)}
    manifest = replace(wanted, outputs=outputs, summary=summary)
    write_json(workspace / MANIFEST, asdict(manifest))
    return manifest


def _request(marker: Path) -> object:
    try:
        return read_json(marker)
    except InputError:  # absent or damaged: then nothing can be continued
        return None


def claim(final: Path) -> None:
    """Raise `InputError` where putting a stage to `final` would cost the user something.

    A stage whose manifest is damaged is set aside, for nobody can tell whose files are in it.
    """
    if final.is_symlink() or (final.exists() and not final.is_dir()):
        what = "a link" if final.is_symlink() else "a file"
        raise InputError(f"{final}: {what}, which firth did not write. Move it, or name another "
                         "folder for the run: --run")  # fmt: skip
    if not final.is_dir():
        return
    try:
        found = Manifest.read(final)
    except DamagedError as error:
        aside = _free(final.with_name(f"{final.name}.damaged"))
        os.replace(final, aside)
        note(f"{error}. The folder is kept as {aside}; delete it if nothing in it is yours")
        return
    if found is None:
        if any(final.iterdir()):
            raise InputError(
                f"{final}: a folder with files that firth did not write; it would be replaced. "
                "Move it, or name another folder for the run: --run"
            )
        return
    if foreign := found.foreign(final):
        more = f" and {len(foreign) - 3} more" if len(foreign) > 3 else ""
        raise InputError(
            f"{final}: holds {', '.join(foreign[:3])}{more}, which firth did not write; the "
            "folder would be replaced. Move what is yours out of it"
        )


def _free(path: Path) -> Path:
    number = 1
    while (found := path if number == 1 else path.with_name(f"{path.name}-{number}")).exists():
        number += 1
    return found


def _discard(folder: Path) -> None:
    """Remove a workspace or what a rename left over; raise `InputError` if it is not firth's."""
    if not folder.exists():
        return
    names = {path.name for path in folder.iterdir()}
    # A marker that was being written when the machine stopped is firth's too.
    own = {name for name in names if name.startswith(f".{_REQUEST}.")}
    if names - own and not names & {_REQUEST, MANIFEST}:
        raise InputError(
            f"{folder}: holds files that firth did not write, where it works. Move them"
        )
    shutil.rmtree(folder)


def move_into_place(workspace: Path, final: Path) -> None:
    """Put a finished stage to its place; errors as of `claim`."""
    (workspace / _REQUEST).unlink(missing_ok=True)
    stale = final.with_name(f".{final.name}.stale")
    _discard(stale)
    claim(final)
    if final.exists():
        os.replace(final, stale)
    os.replace(workspace, final)
    sync(final.parent)
    shutil.rmtree(stale, ignore_errors=True)

"""Stages: built in a hidden workspace, synced, described by a manifest, renamed into place.

A stage is built beside its final folder. When it is complete, every file is synced,
`manifest.json` is written last, and the workspace is renamed into place. A stage whose manifest
has the same request is reused if its bytes are as written. A workspace that an interrupted run
left is continued if it has the same request. firth never replaces a folder that it did not write.
"""

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from firth.run.console import note
from firth.run.errors import DamagedError, InputError
from firth.run.files import (
    fingerprint_file,
    fingerprint_value,
    is_inside,
    named_errors,
    read_json,
    remove_leftovers,
    remove_tree,
    sync,
    write_json,
)

MANIFEST = "manifest.json"
SCRATCH = "scratch"
"""Folder of checkpoints in a workspace; it is removed when the stage is complete."""
_REQUEST = "request.json"
_TORN = ".tmp??????"
"""Files that safetensors was writing when a process was killed."""
_SMALL = 1 << 20
"""Bytes of a file that is compared whenever its stage is opened: somebody may have edited it."""
_LEFT_BY_SYSTEMS = frozenset({".DS_Store", "Thumbs.db"})


@dataclass(frozen=True)
class Stage:
    """One step of a run.

    The name is its folder in the run; the version is raised by hand when its bytes change for equal
    requests. `extra` is what it needs installed, and `command` what builds it, for messages.
    """

    name: str
    version: int
    extra: str = ""
    command: str = "firth build"


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """What a finished stage was made from, and what it consists of; it is written last.

    Attributes:
        inputs: Name → fingerprint of everything that was read.
        settings: Dotted path → value of the settings that the stage declares.
        request: Fingerprint of all the above.
        outputs: Relative path → {"bytes", "blake2b"} of each file.
        summary: Counts and losses worth showing; never times, which differ from run to run.
    """

    stage: str
    version: int
    inputs: Mapping[str, str]
    settings: Mapping[str, Any]
    request: str = ""
    outputs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    summary: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def requested(
        cls, stage: str, version: int, inputs: Mapping[str, str], settings: Mapping[str, Any]
    ) -> "Manifest":
        """Return the manifest of a stage to be built: its request, without outputs."""
        request = fingerprint_value([stage, version, dict(inputs), dict(settings)])
        return cls(
            stage=stage,
            version=version,
            inputs=dict(inputs),
            settings=dict(settings),
            request=request,
        )

    @classmethod
    def read(cls, folder: Path) -> "Manifest | None":
        """Read the manifest of a stage's folder; return None where there is no file of its name."""
        path = folder / MANIFEST
        if not path.is_file():
            return None
        try:
            stored = read_json(path)
        except InputError as error:
            raise DamagedError(str(error)) from error
        try:
            manifest = cls(**stored)
            is_whole = all(
                is_inside(name) and {"bytes", "blake2b"} <= output.keys()
                for name, output in manifest.outputs.items()
            )
        except (TypeError, AttributeError):
            is_whole = False
        if not is_whole:
            raise DamagedError(f"{path}: not a manifest that firth wrote")
        return manifest

    @property
    def digest(self) -> str:
        """Fingerprint of the outputs, which later stages name as their input."""
        return fingerprint_value({name: dict(output) for name, output in self.outputs.items()})

    def damage(self, folder: Path, *, bytes_too: bool = False) -> list[str]:
        """Return a line for each output of a folder that is not as it was written.

        By default sizes and the bytes of small files are compared; with `bytes_too` every byte.
        """
        problems = []
        for name, output in self.outputs.items():
            path = folder / name
            size = path.stat().st_size if path.is_file() else None
            if size is None:
                problems.append(f"{name} is missing")
            elif size != output["bytes"]:
                problems.append(f"{name} has {size:,} bytes, not {output['bytes']:,}")
            elif (bytes_too or size <= _SMALL) and fingerprint_file(path) != output["blake2b"]:
                problems.append(f"{name} has other bytes than were written")
        return problems


@dataclass(frozen=True)
class Outcome:
    """A stage that is in place: its manifest, and whether it was there already."""

    manifest: Manifest
    reused: bool


Fill = Callable[[Path], Mapping[str, Any]]
"""Fills a workspace and returns the summary. Checkpoints go to `workspace / SCRATCH`."""


def up_to_date(folder: Path, requested: Manifest) -> Manifest | None:
    """Return the manifest in `folder` if its request is equal and no byte is damaged."""
    try:
        present = Manifest.read(folder)
    except DamagedError:
        return None
    if present is None or present.request != requested.request:
        return None
    return None if present.damage(folder, bytes_too=True) else present


def execute(final: Path, requested: Manifest, fill: Fill) -> Outcome:
    """Bring the stage in the folder `final` up to date: reuse it, continue it, or build it.

    The caller holds a lock, so that nobody else builds here. `fill` must be deterministic given the
    request. It may continue from files in the workspace: they belong to the same request.
    """
    workspace, stale = beside(final, "work"), beside(final, "stale")
    finish_rename(final)
    if present := up_to_date(final, requested):
        _discard(workspace)
        _discard(stale)
        return Outcome(present, reused=True)
    claim(final)
    if (old := Manifest.read(final)) and (damage := old.damage(final, bytes_too=True)):
        note(f"{final} is damaged ({'; '.join(damage)}). It is built again.")
    manifest = up_to_date(workspace, requested) or _build(workspace, requested, fill)
    _move_into_place(workspace, final)
    return Outcome(manifest, reused=False)


def beside(final: Path, suffix: str) -> Path:
    """Return the hidden path beside a folder, as `.NAME.work`."""
    return final.with_name(f".{final.name}.{suffix}")


def finish_rename(final: Path) -> None:
    """Finish or undo the replacement of `final` where a process was killed between two renames.

    Then `final` is missing, the old stage has the hidden name `.NAME.stale`, and the new one is in
    the workspace. The caller holds the lock.
    """
    if not is_half_renamed(final):
        return
    stale, workspace = beside(final, "stale"), beside(final, "work")
    try:
        new = Manifest.read(workspace)
    except DamagedError:
        new = None
    is_whole = new is not None and not new.damage(workspace, bytes_too=True)
    os.replace(workspace if is_whole else stale, final)
    sync(final.parent)


def is_half_renamed(final: Path) -> bool:
    """Return whether `finish_rename` has something to do."""
    return not os.path.lexists(final) and beside(final, "stale").is_dir()


def _build(workspace: Path, requested: Manifest, fill: Fill) -> Manifest:
    """Fill a workspace and write its manifest."""
    marker = workspace / _REQUEST
    if _request(marker) != requested.request:
        _discard(workspace)
        workspace.mkdir(parents=True)
        write_json(marker, requested.request)
    (workspace / MANIFEST).unlink(missing_ok=True)
    _remove_torn(workspace)
    with named_errors(workspace):
        summary = dict(fill(workspace))
    # Checkpoints and marker stay until the manifest is written: a full disk costs no work.
    mode = marker.stat().st_mode & 0o777
    outputs = {}
    for name in files_in(workspace):
        path = workspace / name
        if name == _REQUEST or name.startswith(f"{SCRATCH}/") or not path.is_file():
            continue
        path.chmod(mode)  # Some libraries write files that only their owner can read.
        sync(path)
        outputs[name] = {"bytes": path.stat().st_size, "blake2b": fingerprint_file(path)}
    for folder in {(workspace / name).parent for name in outputs}:
        sync(folder)
    manifest = replace(requested, outputs=outputs, summary=summary)
    write_json(workspace / MANIFEST, asdict(manifest))
    return manifest


def _remove_torn(workspace: Path) -> None:
    """Remove the files that were being written when a process was killed."""
    for folder in [workspace, *(path for path in workspace.rglob("*") if path.is_dir())]:
        if folder.is_dir():
            remove_leftovers(folder)
    for path in workspace.rglob(_TORN):
        path.unlink()


def _request(marker: Path) -> object:
    try:
        return read_json(marker)
    except InputError:  # It is missing or damaged, so nothing can be continued.
        return None


def files_in(folder: Path) -> list[str]:
    """Return the relative paths of files and links in a folder, but of those that systems leave."""
    paths = (path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())
    names = (p.relative_to(folder).as_posix() for p in paths if p.name not in _LEFT_BY_SYSTEMS)
    return sorted(names)


def claim(final: Path) -> None:
    """Raise `InputError` where a stage at `final` would replace something of the user.

    Where its manifest is damaged, it is unknown whose files are in it.
    """
    if final.is_symlink() or (final.exists() and not final.is_dir()):
        what = "a link" if final.is_symlink() else "a file"
        raise InputError(
            f"{final}: {what} that firth did not write. Move it, or name another folder"
        )
    if not final.is_dir():
        return
    try:
        present = Manifest.read(final)
    except DamagedError as error:
        raise InputError(f"{error}. Delete {final} if no file in it is yours") from error
    own = {*present.outputs, MANIFEST} if present else set()
    if foreign := [name for name in files_in(final) if name not in own]:
        more = f" and {len(foreign) - 3} more" if len(foreign) > 3 else ""
        raise InputError(
            f"{final}: holds {', '.join(foreign[:3])}{more}, which firth did not write. The folder "
            "would be replaced. Move your files out of it, or name another folder"
        )


def _discard(folder: Path) -> None:
    """Remove a workspace or a replaced stage; raise `InputError` if it is not from firth."""
    if not folder.exists():
        return
    marks = [name for name in (_REQUEST, MANIFEST) if (folder / name).is_file()]
    remove_leftovers(folder)
    if not marks and any(folder.iterdir()):
        raise InputError(
            f"{folder}: holds files that firth did not write, where it works. Move them"
        )
    # The mark goes last, so that a folder that is removed half is known by it.
    remove_tree(folder, last=(marks or [MANIFEST])[0])


def _move_into_place(workspace: Path, final: Path) -> None:
    """Rename a finished workspace to `final`, whose old stage is removed then."""
    scratch, stale = workspace / SCRATCH, beside(final, "stale")
    if scratch.is_dir():
        shutil.rmtree(scratch)
    (workspace / _REQUEST).unlink(missing_ok=True)
    _remove_torn(workspace)
    _discard(stale)
    claim(final)
    if final.exists():
        os.replace(final, stale)
    os.replace(workspace, final)
    sync(final.parent)
    _discard(stale)


# --- Damage ------------------------------------------------------------------------------------

_opened: dict[Path, tuple[Callable[[], list[str]], str]] = {}
"""What this process reads → its damage, and the command that builds it again."""


def note_opened(place: Path, damage: Callable[[], list[str]], command: str) -> None:
    """Note what this process reads, for `damage_of_opened`."""
    _opened[place] = damage, command


def damage_of_opened() -> DamagedError | None:
    """Return what is damaged of all that this process reads; None where all is whole.

    Opening a stage compares sizes of large files, so a changed bit may end in any error of any
    library. Code that catches an unforeseen error asks here for its cause. All bytes are read.
    """
    damage = {
        place: (find(), command) for place, (find, command) in _opened.items() if place.exists()
    }
    lines = [
        damage_message(place, problems, command)
        for place, (problems, command) in damage.items()
        if problems
    ]
    return DamagedError("\n".join(lines)) if lines else None


def damage_of(folder: Path) -> list[str]:
    """Return a line for each problem of a stage, of which all bytes are read."""
    try:
        manifest = Manifest.read(folder)
        return manifest.damage(folder, bytes_too=True) if manifest else []
    except (OSError, DamagedError) as error:
        return [str(error)]


def damage_message(folder: Path, damage: Sequence[str], command: str) -> str:
    """Return what is said of a damaged stage."""
    return f"{folder}: damaged: {'; '.join(damage)}. Build it again: {command}"

"""Folders of results: claimed before the work, known again by a manifest; nothing else is touched.

In each folder is a `manifest.json` (`firth.run.stage.Manifest`): its `stage` is the command that
writes there, its `outputs` are the files that are firth's. Whatever else is in the folder is the
user's, and so is a file that changed after firth wrote it.
"""

import glob
import importlib.metadata
import os
import shutil
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from fnmatch import fnmatchcase
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from filelock import FileLock, Timeout

from firth.run import sharing
from firth.run.code import fingerprint_code
from firth.run.errors import DamagedError, FirthError, InputError
from firth.run.files import check_writable, fingerprint_file, write_json
from firth.run.stage import MANIFEST, Manifest, Outcome, execute, files_in

Known = dict[str, Mapping[str, Any]]
"""Name, relative to the folder → {"bytes", "blake2b"}."""


def claim_folder(
    out: Path, command: str, names: Collection[str] | None = None, force: bool = False
) -> Known:
    """Find out before any work whether results may and can be written to a folder.

    Args:
        out: It may be missing, as may the folders above it: they are made when results are written.
        command: That asks. What others wrote there is not its own.
        names: Files that it may write, relative to `out`; `*` stands for any part of a file's name.
            Files of other names may be beside them. None: the folder is firth's as a whole.
        force: Whether files that firth did not write may be replaced.

    Returns:
        What the command wrote there before and is unchanged, its manifest included.

    Raises:
        InputError: `out` is a file, cannot be written to, or holds something in the way.
    """
    check_writable(out)
    own, changed = _written(out, command)
    there = files_in(out) if names is None else _matching(out, (MANIFEST, *names))
    for path in (out / name for name in there):
        if path.is_dir() and not path.is_symlink():
            raise InputError(f"{path}: a folder; expected the name of a file")
    theirs = [name for name in there if name not in own]
    if theirs and not force:
        foreign = [name for name in theirs if name not in changed]
        shown = ", ".join((foreign or theirs)[:3]) + (" …" if len(foreign or theirs) > 3 else "")
        why = f"{command} did not write" if foreign else f"changed after {command} wrote it"
        force_it = "" if names is None else ", or replace it: --force"
        raise InputError(
            f"{out}: holds {shown}, which {why}. Name another folder (--out), or move it{force_it}"
        )
    return own


def publish(
    out: Path,
    write: Callable[[Path], None],
    config: Mapping[str, Any],
    *,
    command: str,
    force: bool = False,
) -> None:
    """Write results to a folder in which other files may be; see `claim_folder`.

    All are written aside, then moved one by one; those of an earlier call that are made no more go.
    The manifest is written last, and at any time names all that are firth's.

    Args:
        out: The folder.
        write: Fills the folder that it is given. Its module's code is named by the manifest.
        config: What decides the results.
        command: That writes them.
        force: Whether files that firth did not write may be replaced.

    Raises:
        InputError: As `claim_folder`, before anything is replaced.
    """
    wanted = Manifest(command, {}, dict(config), fingerprint_code(write.__module__), {}).requested()

    def record(outputs: Known) -> None:
        write_json(out / MANIFEST, asdict(replace(wanted, outputs=outputs)))

    try:
        out.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=".work-", dir=out) as folder:
            work = Path(folder)
            write(work)
            new: Known = {name: _describe(work / name) for name in files_in(work)}
            own = claim_folder(out, command, [*map(glob.escape, new)], force)
            own.pop(MANIFEST, None)
            # While files are replaced one by one, either content is firth's.
            replaced = {name: {**one, "next": new[name]["blake2b"]}
                        for name, one in own.items() if name in new}  # fmt: skip
            record(new | own | replaced)
            for name in new:
                (out / name).parent.mkdir(parents=True, exist_ok=True)
                os.replace(work / name, out / name)
            for name in own.keys() - new.keys():
                (out / name).unlink(missing_ok=True)
            record(new)
    except OSError as error:
        raise InputError(f"{out}: cannot be written ({error.strerror})") from error


def write_folder(
    out: Path,
    *,
    command: str,
    inputs: Mapping[str, Path | None],
    config: Mapping[str, Any],
    build: Callable[[Path], str],
    libraries: tuple[str, ...] = ("numpy",),
    replace: bool = True,
) -> Outcome:
    """Bring a folder that is firth's as a whole up to date, as `firth.run.stage.execute` does.

    Args:
        out: The folder.
        command: That writes it.
        inputs: Name → file; None for one that was not given.
        config: What else decides its bytes, the seed included.
        build: Fills a folder and returns what goes to the screen, also when the results are there
            already: the lines `report` of the summary. Its module, and all of firth that it
            imports, are the code that decides the bytes.
        libraries: Distributions that decide its bytes.
        replace: Whether a result that is there already may be replaced. If not, one made from the
            same inputs and configuration is kept, also where firth has changed since.

    Raises:
        InputError: As `claim_folder`, or another result is there that must not be replaced, or
            another process is making one there.
    """
    claim_folder(out, command)
    given = {name: fingerprint_file(path) for name, path in sorted(inputs.items()) if path}
    versions = {name: importlib.metadata.version(name) for name in libraries}
    code = fingerprint_code(build.__module__)
    wanted = Manifest(command, given, dict(config), code, versions).requested()
    found = None if replace else Manifest.read(out)
    if found is not None:
        there, asked = {**found.inputs, **found.config}, {**given, **config}
        if there != asked:
            raise InputError(
                f"{out}: holds other results ({_differing(there, asked)}), on which others may "
                "rest. Name another folder (--out), or replace them: --force"
            )
        if missing := found.damage(out):
            raise InputError(f"{out}: {missing[0]}. Make it again: --force")
        return Outcome(found, reused=True)

    def whole(workspace: Path) -> Mapping[str, Any]:
        try:
            return {"report": build(workspace).split("\n")}
        except FirthError:  # nothing to go on with: the same request is refused again
            shutil.rmtree(workspace)
            raise

    place = out.resolve()
    if sharing.rank():  # another process holds the lock
        return execute(place, wanted, whole)
    lock = FileLock(place.with_name(f".{place.name}.lock"))
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with lock.acquire(timeout=0):
            try:
                return execute(place, wanted, whole)
            finally:
                with suppress(OSError):  # where an open file cannot go, the lock itself removes it
                    Path(lock.lock_file).unlink()
    except Timeout as error:
        raise InputError(f"{out}: another {command} is at work there") from error
    except OSError as error:
        raise InputError(f"{out}: cannot be written ({error.strerror})") from error


def _differing(there: Mapping[str, Any], asked: Mapping[str, Any]) -> str:
    """In which settings two results differ; fingerprints by name alone."""
    old, new = _settings(there), _settings(asked)
    names = [name for name in old | new if old.get(name) != new.get(name)]
    told = []
    for name in names:
        values = f"{old.get(name)} there, {new.get(name)} here"
        told.append(f"{name}: {values}" if len(values) < 60 else f"other {name}")
    return "; ".join(told)


def _settings(config: Mapping[str, Any], of: str = "") -> dict[str, Any]:
    """Name, after those of the sections it stands in → value."""
    found: dict[str, Any] = {}
    for name, value in config.items():
        inner = isinstance(value, Mapping)
        found |= _settings(value, f"{of}{name}.") if inner else {of + name: value}
    return found


def _written(out: Path, command: str) -> tuple[Known, set[str]]:
    """What a command wrote to a folder by its manifest there: unchanged, and changed since."""
    try:
        found = Manifest.read(out)
    except DamagedError:
        found = None
    if found is None or found.stage != command:
        return {}, set()
    own: Known = {MANIFEST: {}}
    changed = set()
    for name, known in found.outputs.items():
        path = out / name
        if not os.path.isfile(path) or not path.resolve().is_relative_to(out.resolve()):
            continue
        now = _describe(path)
        if not path.is_symlink() and now["blake2b"] in (known.get("blake2b"), known.get("next")):
            own[name] = now
        else:
            changed.add(name)
    return own, changed


def _matching(out: Path, names: Collection[str]) -> list[str]:
    """What is in a folder under some names, links into nothing included."""
    found = set()
    for pattern in (out / name for name in names):
        folder = pattern.parent
        if folder.is_dir():
            there = (path for path in folder.iterdir() if fnmatchcase(path.name, pattern.name))
            found |= {path.relative_to(out).as_posix() for path in there}
        else:
            check_writable(folder)
    return sorted(found)


def _describe(path: Path) -> Mapping[str, Any]:
    return {"bytes": path.stat().st_size, "blake2b": fingerprint_file(path)}

"""Where results go: folders with a manifest, and files; nothing of the user's is lost."""

import importlib.metadata
import os
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from firth.run.code import fingerprint_code
from firth.run.errors import DamagedError, FirthError, InputError
from firth.run.files import fingerprint_file, write_json
from firth.run.stage import MANIFEST, Build, Manifest, Outcome, execute

_WORK = ".work"
_OWN = re.compile(r"manifest\.json|\.manifest\.json\.\d+\.partial")


def claim_file(path: Path, force: bool = False) -> None:
    """Find out, before any work, whether a file may be written at its end.

    Its folder may be missing: it is made later.

    Raises:
        InputError: A folder is in its place, or a file and not `force`; or it cannot be written.
    """
    if path.is_dir():
        raise InputError(f"{path}: a folder; expected the name of a file")
    if not force and (path.exists() or path.is_symlink()):
        raise InputError(f"{path}: is there already. Name another file, or say --force")
    _check_folder(path.parent)


def claim_folder(out: Path, kept: str = "") -> None:
    """Find out, before any work, whether a folder of results may be written at its end.

    Args:
        out: It may be missing or empty, or hold what a manifest of firth's lists, unchanged.
        kept: A folder in it with results that have manifests of their own.

    Raises:
        InputError: It is a file, holds files that firth did not write there, or cannot be written.
    """
    if not out.exists() and not out.is_symlink():
        _check_folder(out.parent)
        return
    if not out.is_dir():
        raise InputError(f"{out}: a file; expected a folder")
    strange = _foreign(out, skip=kept)
    inside = out / kept
    for entry in sorted(inside.iterdir()) if kept and inside.is_dir() else ():
        if not entry.name.startswith("."):  # the workspace of one that was interrupted
            whole = entry.is_dir() and not entry.is_symlink()
            inner = _foreign(entry) if whole else {"": False}
            strange |= {
                f"{kept}/{entry.name}/{name}".rstrip("/"): one for name, one in inner.items()
            }
    changed = [name for name, listed in strange.items() if listed]
    if others := [name for name in strange if name not in changed]:
        raise InputError(
            f"{out}: holds {_few(others)}, which this command did not write. Choose a folder of "
            "its own, or move them away"
        )
    if changed:
        raise InputError(
            f"{out}: {_few(changed)} changed after firth wrote it. Move it away, or choose another "
            "folder"
        )
    _check_folder(out)


def write_folder(
    out: Path,
    *,
    inputs: Mapping[str, Path | None],
    config: Mapping[str, Any],
    build: Build,
    libraries: tuple[str, ...] = ("numpy",),
    replace: bool = True,
) -> Outcome:
    """Bring a folder of results up to date; its `manifest.json` says what it was made from.

    Args:
        out: Of the folder.
        inputs: Name → file; None for one that was not given.
        config: What else decides its bytes, the seed included.
        build: Fills a folder and returns what is worth showing. Its module, and all of firth that
            it imports, are the code that decides the bytes.
        libraries: Distributions that decide its bytes.
        replace: Whether a result that stands there already may be replaced. If not, one made from
            the same inputs and configuration is kept, also where firth has changed since.

    Raises:
        InputError: As `claim_folder`, or another result stands there that must not be replaced.
    """
    claim_folder(out)
    place = out.resolve()
    given = {name: path for name, path in inputs.items() if path is not None}
    prints = {name: fingerprint_file(path) for name, path in sorted(given.items())}
    wanted = Manifest(
        place.name,
        prints,
        config,
        fingerprint_code(build.__module__),
        {name: importlib.metadata.version(name) for name in libraries},
    ).requested()
    found = None if replace else Manifest.read(place)
    if found is not None:
        if dict(found.inputs) != prints or dict(found.config) != dict(config):
            raise InputError(
                f"{out}: holds other results (made with {dict(found.config)}), on which others may "
                "rest. Choose another folder, or say --force"
            )
        if not (missing := [name for name in found.outputs if not (out / name).is_file()]):
            return Outcome(found, reused=True)
        raise InputError(f"{out}: {_few(missing)} is missing. Say --force to make it again")

    def whole(workspace: Path) -> Mapping[str, Any]:
        try:
            return build(workspace)
        except FirthError:  # nothing to go on with: the same request is refused again
            shutil.rmtree(workspace)
            raise

    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        return execute(place, wanted, whole)
    except OSError as error:
        raise InputError(f"{out}: cannot be written ({error.strerror})") from error


def publish(out: Path, write: Callable[[Path], None], config: Mapping[str, Any]) -> None:
    """Write results into a folder that may keep others, and a manifest of them last.

    Files are written aside and moved one by one; at any time the manifest names all that are
    firth's. Call `claim_folder` before the work.

    Raises:
        InputError: The folder cannot be written.
    """
    before = _manifest(out)
    old = dict(before.outputs) if before else {}
    wanted = Manifest(
        out.resolve().name, {}, dict(config), fingerprint_code(write.__module__), {}
    ).requested()

    def record(outputs: Mapping[str, Any]) -> None:
        write_json(out / MANIFEST, asdict(replace(wanted, outputs=outputs)))

    try:
        out.mkdir(parents=True, exist_ok=True)
        record(old)
        work = out / _WORK
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        write(work)
        new = {path.name: _known(path) for path in sorted(work.iterdir())}
        # While files are replaced one by one, either content is firth's.
        both = {**new, **old}
        record({name: {**both[name], "next": new.get(name, {}).get("blake2b")} for name in both})
        for name in new:
            os.replace(work / name, out / name)
        for name in old.keys() - new.keys():
            (out / name).unlink(missing_ok=True)
        record(new)
        work.rmdir()
    except OSError as error:
        raise InputError(f"{out}: cannot be written ({error.strerror})") from error


def report(*texts: str) -> dict[str, list[str]]:
    """A summary: what goes to the screen, also when the results are found to be there already."""
    return {"report": [line for text in texts for line in text.split("\n")]}


def _foreign(folder: Path, skip: str = "") -> dict[str, bool]:
    """What a folder holds beside what its manifest lists: name → whether the manifest lists it with
    another content.
    """
    manifest = _manifest(folder)
    known = {} if manifest is None else dict(manifest.outputs)
    found = {}
    for where, folders, files in os.walk(folder):
        names = [*files, *(name for name in folders if Path(where, name).is_symlink())]
        if Path(where) == folder:
            folders[:] = [name for name in folders if name != skip]
            if manifest is not None:
                folders[:] = [name for name in folders if name != _WORK]
                names = [name for name in names if not _OWN.fullmatch(name)]
        for name in sorted(names):
            path = Path(where, name)
            relative = path.relative_to(folder).as_posix()
            if path.is_symlink() or not path.is_file() or relative not in known:
                found[relative] = False
            elif fingerprint_file(path) not in _prints(known, relative):
                found[relative] = True
    return found


def _known(path: Path) -> dict[str, Any]:
    return {"bytes": path.stat().st_size, "blake2b": fingerprint_file(path)}


def _prints(outputs: Mapping[str, Any], name: str) -> list[str]:
    """The contents a manifest allows a file: one, or while it is being replaced two."""
    known = outputs.get(name, {})
    return [known[key] for key in ("blake2b", "next") if known.get(key)]


def _manifest(folder: Path) -> Manifest | None:
    """The manifest of a folder; None where there is none, or what is there is not firth's."""
    try:
        return Manifest.read(folder)
    except DamagedError:
        return None


def _check_folder(folder: Path) -> None:
    """Raise unless files can be made in a folder, or in the nearest one above it that is there."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    if not folder.is_dir():
        raise InputError(f"{folder}: a file; expected a folder")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"{folder}: no permission to write there")


def _few(names: list[str]) -> str:
    return ", ".join(names[:3]) + (" …" if len(names) > 3 else "")

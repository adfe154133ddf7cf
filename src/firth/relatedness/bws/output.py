"""Folders of results: built aside, with a manifest, and renamed; nothing of the user's is lost."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from firth.run.errors import FirthError, InputError
from firth.run.files import fingerprint_file
from firth.run.stage import MANIFEST, Build, Manifest, Outcome, Stage, execute


def write_folder(
    out: Path,
    code: tuple[str, ...],
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
        code: Modules of `firth.relatedness.bws` that decide its bytes.
        inputs: Name → file; None for one that was not given.
        config: What else decides its bytes, the seed included.
        build: Fills a folder and returns what is worth showing.
        libraries: Distributions that decide its bytes.
        replace: Whether a result that stands there already may be replaced. If not, one made from
            the same inputs and configuration is kept, also where firth has changed since.

    Raises:
        InputError: `out` is a file, holds files that firth did not write there, or is another
            result that must not be replaced.
    """
    stage = Stage(
        name=out.resolve().name,
        code=tuple(f"relatedness/bws/{name}" for name in code),
        command="firth bws",
        libraries=libraries,
    )
    given = {name: path for name, path in inputs.items() if path is not None}
    prints = {name: fingerprint_file(path) for name, path in sorted(given.items())}
    _refuse_foreign(out)
    if not replace and (found := _kept(out, prints, config)):
        return Outcome(found, reused=True)

    def whole(workspace: Path) -> Mapping[str, Any]:
        try:
            return build(workspace)
        except FirthError:  # nothing to go on with: the same request is refused again
            shutil.rmtree(workspace)
            raise

    try:
        out.resolve().parent.mkdir(parents=True, exist_ok=True)
        return execute(out.resolve().parent, stage, inputs=prints, config=config, build=whole)
    except OSError as error:
        raise InputError(f"{out}: cannot be written ({error.strerror})") from error


def _refuse_foreign(out: Path) -> None:
    """Raise unless the folder is absent, empty, or holds exactly what a manifest lists."""
    if not out.exists():
        return
    if not out.is_dir():
        raise InputError(f"{out}: a file; expected a folder")
    manifest = Manifest.read(out)
    known = {MANIFEST, *manifest.outputs} if manifest else set()
    found = sorted(p.relative_to(out).as_posix() for p in out.rglob("*") if p.is_file())
    if strange := [name for name in found if name not in known]:
        raise InputError(
            f"{out}: holds {', '.join(strange[:3])}{' …' if len(strange) > 3 else ''}, which this "
            "command did not write. Choose a folder of its own, or move them away"
        )


def _kept(out: Path, inputs: Mapping[str, str], config: Mapping[str, Any]) -> Manifest | None:
    """What stands there and was asked for; raise if it is something else."""
    manifest = Manifest.read(out) if out.is_dir() else None
    if manifest is None:
        return None
    if dict(manifest.inputs) != dict(inputs) or dict(manifest.config) != dict(config):
        raise InputError(
            f"{out}: holds other tuples (made with {dict(manifest.config)}), to which there may be "
            "answers. Choose another folder, or say --replace"
        )
    if missing := [name for name in manifest.outputs if not (out / name).is_file()]:
        raise InputError(f"{out}: {', '.join(missing)} is missing. Say --replace to make it again")
    return manifest

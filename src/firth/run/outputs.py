"""Results that a user names with `--out`: checked before the work, written whole or not at all.

A file is replaced only with `--force`. A folder of results belongs to firth as a whole: it holds a
`manifest.json`, and is replaced only if firth wrote every file in it.
"""

import csv
import errno
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from firth.run.errors import DamagedError, FirthError, InputError
from firth.run.files import write_atomically, write_text
from firth.run.stage import Fill, Manifest, Outcome, beside, execute, finish_rename

CARD = "README.md"
"""The card of a model: what it is, how to open it, how good it is."""
_LONGEST_NAME = 255
_FORMULA = tuple("=+-@\t\r")
_DISK = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO})


def claim_output(path: str | Path, force: bool = False) -> None:
    """Check before the work that a file that a user named can be written at its end.

    Folders above it may be missing. `force` allows replacing a file that is there.
    """
    path = Path(path)
    if len(os.fsencode(path.name)) > _LONGEST_NAME:
        raise InputError(f"{path}: this name is too long. Name another file")
    if path.is_dir():
        raise InputError(f"{path}: a folder; expected the name of a file")
    if os.path.lexists(path):
        if not path.is_file():
            raise InputError(f"{path}: not an ordinary file, so it cannot be replaced")
        if not force:
            raise InputError(f"{path}: exists. Name another file, or replace it: --force")
    check_writable(path.parent)


def check_writable(folder: Path) -> None:
    """Raise `InputError` unless files can be made in `folder`, which may be missing itself."""
    ancestor = folder
    while not os.path.lexists(ancestor) and ancestor != ancestor.parent:
        ancestor = ancestor.parent
    if not ancestor.is_dir():
        raise InputError(f"{ancestor}: a file; expected a folder. Name another place")
    if not os.access(ancestor, os.W_OK | os.X_OK):
        raise InputError(f"{folder}: cannot be written: no permission to change {ancestor}")


def write_file(
    path: str | Path, content: str | Callable[[Path], object], force: bool = False
) -> None:
    """Write a text, or what a function writes to the path that it gets, as a result of a user."""
    path = Path(path)
    claim_output(path, force)
    with _disk_errors(path, any_error=True), write_atomically(path) as partial:
        if isinstance(content, str):
            partial.write_text(content, encoding="utf-8", newline="")
        else:
            content(partial)


def write_rows(
    path: str | Path,
    rows: Sequence[Mapping[str, Any]],
    force: bool = False,
    for_spreadsheets: bool = True,
) -> None:
    """Write records as CSV, where the name ends in `.csv`, and as JSON Lines otherwise.

    All have the same names. Lists and mappings become JSON in a cell of CSV. A text that a
    spreadsheet would take for a formula (it begins with = + - @, a tab or a carriage return) gets
    an apostrophe before it, unless `for_spreadsheets` is false. Errors are those of `write_file`.
    """

    def cell_of(value: Any) -> Any:
        if isinstance(value, list | dict):
            return json.dumps(value, ensure_ascii=False)
        is_formula = isinstance(value, str) and value.startswith(_FORMULA)
        return f"'{value}" if is_formula and for_spreadsheets else value

    def write_csv(partial: Path) -> None:
        with partial.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(rows[0] if rows else ())
            for row in rows:
                writer.writerow(map(cell_of, row.values()))

    if Path(path).suffix.lower() == ".csv":
        write_file(path, write_csv, force)
    else:
        write_json_lines(path, rows, force)


def write_json_lines(
    path: str | Path, rows: Iterable[Mapping[str, Any]], force: bool = False
) -> None:
    """Write records as JSON Lines; errors are those of `write_file`."""

    def write(partial: Path) -> None:
        with partial.open("w", encoding="utf-8") as file:
            for row in rows:
                file.write(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n")

    write_file(path, write, force)


def write_folder(
    out: str | Path,
    fill: Fill,
    *,
    command: str,
    settings: Mapping[str, Any],
    inputs: Mapping[str, str] | None = None,
    force: bool = False,
) -> Outcome:
    """Bring a folder of results up to date, as `firth.run.stage.execute` does.

    A result of the same command, settings and inputs (name → fingerprint of what is read) is
    reused. Work that was stopped is continued by the same request, and removed by another one.
    `force` allows replacing another result of firth. Other files are never replaced.
    """
    out = Path(out)
    check_writable(out)
    # A link to a folder stays a link.
    place = out.resolve()
    place.parent.mkdir(parents=True, exist_ok=True)
    requested = Manifest.requested(command, 1, inputs or {}, settings)
    lock = FileLock(beside(place, "lock"))

    def filled(workspace: Path) -> Mapping[str, Any]:
        try:
            return fill(workspace)
        except FirthError:  # The same request would be refused again.
            shutil.rmtree(workspace, ignore_errors=True)
            raise

    try:
        with lock.acquire(timeout=0), _disk_errors(out):
            try:
                finish_rename(place)
                try:
                    present = Manifest.read(place)
                except DamagedError as error:
                    raise InputError(f"{error}. Name another folder, or move the file") from error
                if present and present.request != requested.request and not force:
                    raise InputError(
                        f"{out}: holds another result of firth {present.stage}, of other settings "
                        "or inputs. Name another folder, or replace it: --force"
                    )
                return execute(place, requested, filled)
            finally:
                with suppress(OSError):
                    Path(lock.lock_file).unlink()
    except Timeout as error:
        raise InputError(
            f"{out}: another firth process writes there. Wait for it to end"
        ) from error


def copy_folder(
    source: Path, names: Iterable[str], out: str | Path, *, fingerprint: str, card: str, force: bool
) -> Path:
    """Copy files of an encoder to a folder that a user names, and write its card."""

    def fill(workspace: Path) -> Mapping[str, Any]:
        for name in names:
            (workspace / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / name, workspace / name)
        write_text(workspace / CARD, card)
        return {}

    write_folder(
        out, fill, command="encoder", settings={}, inputs={"copied": fingerprint}, force=force
    )
    return Path(out)


@contextmanager
def _disk_errors(out: Path, any_error: bool = False) -> Iterator[None]:
    """Turn the errors of a full or failing disk, or any of the system, into `InputError`."""
    try:
        yield
    except OSError as error:
        if not any_error and error.errno not in _DISK:
            raise
        raise InputError(f"{out}: cannot be written ({error.strerror})") from error

"""What is damaged of what was read: bytes that are not as they were written."""

from collections.abc import Callable, Sequence
from pathlib import Path

from firth.run.errors import DamagedError
from firth.run.stage import MANIFEST, Manifest

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
        place: (read(), command) for place, (read, command) in _opened.items() if place.exists()
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


def damage_of_stages(path: Path) -> dict[str, list[str]]:
    """Read every byte of every stage in a run, and return stage → a line for each problem."""
    folders = {file.parent.relative_to(path) for file in path.rglob(MANIFEST)}
    return {
        folder.as_posix(): damage_of(path / folder)
        for folder in sorted(folders)
        if folder.parts and not any(part.startswith(".") for part in folder.parts)
    }

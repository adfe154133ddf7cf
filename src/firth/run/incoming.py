"""A stage that comes from elsewhere: gathered in a workspace of its own until it is whole."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from firth.run.files import fingerprint_file, sync, write_atomically
from firth.run.stage import MANIFEST, Manifest, claim, move_into_place, open_workspace


@dataclass(frozen=True)
class Incoming:
    """A stage on its way.

    What an interrupted call gathered is kept, and so is what the stage that is in place has in
    common with it. A workspace in which the stage is being built is left alone.

    Attributes:
        final: Folder of the stage.
        manifest: What it is to be.
        written: The manifest's file, byte for byte.
        fingerprint: Of `written`.
    """

    final: Path
    manifest: Manifest
    written: bytes
    fingerprint: str

    @property
    def workspace(self) -> Path:
        """Where it is gathered."""
        return self.final.with_name(f".{self.final.name}.pull")

    def missing(self) -> dict[str, Path]:
        """Name of each output that is not at hand yet → where it is to be written.

        Raises:
            InputError: Something that firth did not write is in the place of the stage.
        """
        claim(self.final)
        open_workspace(self.workspace, self.fingerprint)
        found = {}
        for name, known in self.manifest.outputs.items():
            path = self.workspace / name
            if _is(path, known):
                continue
            if _is(self.final / name, known):
                path.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(self.final / name, path)
                sync(path)
            else:
                found[name] = path
        return found

    def damage(self) -> list[str]:
        """What of it is not as the manifest says, a line each; every byte is read."""
        return self.manifest.damage(self.workspace, bytes_too=True)

    def place(self) -> None:
        """Put it in the place of what was there; errors as of `missing`."""
        with write_atomically(self.workspace / MANIFEST) as partial:
            partial.write_bytes(self.written)
        move_into_place(self.workspace, self.final)


def _is(path: Path, known: Mapping[str, Any]) -> bool:
    whole = path.is_file() and path.stat().st_size == known["bytes"]
    return whole and fingerprint_file(path) == known["blake2b"]

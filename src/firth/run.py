"""A run: one folder, one configuration, one sub-folder for each finished stage."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from firth.artifacts import Build, Manifest, Outcome, Stage, execute, write_atomically
from firth.config import Config
from firth.errors import InputError, MissingStageError

CONFIG = "config.yaml"


class Run:
    """The folder of a run and the configuration that belongs to it.

    Args:
        path: Folder of the run.
        config: Its configuration; read from the folder by `Run.open`.
    """

    def __init__(self, path: Path, config: Config) -> None:
        self.path = path
        self.config = config

    @classmethod
    def open(cls, path: "str | Path | Run") -> "Run":
        """Open an existing run; raise `InputError` where there is none."""
        if isinstance(path, Run):
            return path
        path = Path(path)
        if not (path / CONFIG).is_file():
            raise InputError(
                f"{path}: not a run (it has no {CONFIG}). "
                f"Start one with: firth corpus build INPUT... --run {path}"
            )
        return cls(path, Config.load(path / CONFIG))

    @classmethod
    def create(cls, path: str | Path, config: Config) -> "Run":
        """Create the folder, or give an existing run a new configuration.

        Raises:
            InputError: `path` is a file.
        """
        path = Path(path)
        if path.exists() and not path.is_dir():
            raise InputError(f"{path}: a file; expected the folder of a run")
        path.mkdir(parents=True, exist_ok=True)
        text = config.to_yaml()
        if not (path / CONFIG).is_file() or (path / CONFIG).read_text(encoding="utf-8") != text:
            with write_atomically(path / CONFIG) as partial:
                partial.write_text(text, encoding="utf-8")
        return cls(path, config)

    def changed(self, changes: Mapping[str, Any]) -> "Run":
        """This run with `changes` (section → field → value) in its configuration, on disk too."""
        return Run.create(self.path, self.config.changed(dict(changes), str(self.path / CONFIG)))

    def folder(self, stage: Stage) -> Path:
        """Folder of a finished stage; raise `MissingStageError` if it is not built."""
        self.manifest(stage)
        return self.path / stage.name

    def manifest(self, stage: Stage) -> Manifest:
        """Manifest of a finished stage; raise `MissingStageError` if it is not built."""
        found = Manifest.read(self.path / stage.name)
        if found is None:
            raise MissingStageError(str(self.path), stage.name, f"{stage.command} {self.path}")
        return found

    def has(self, stage: Stage) -> bool:
        """Whether the stage is built."""
        return Manifest.read(self.path / stage.name) is not None

    def inputs(self, *stages: Stage) -> dict[str, str]:
        """Digests of finished stages, to be named as the inputs of a later one."""
        return {stage.name: self.manifest(stage).digest for stage in stages}

    def execute(
        self, stage: Stage, *, inputs: Mapping[str, str], config: Mapping[str, Any], build: Build
    ) -> Outcome:
        """Bring a stage up to date (see `firth.artifacts.execute`); one process at a time.

        Raises:
            InputError: Another process is building this run.
        """
        lock = FileLock(self.path / ".lock")
        try:
            with lock.acquire(timeout=0):
                return execute(self.path, stage, inputs=inputs, config=config, build=build)
        except Timeout:
            raise InputError(
                f"{self.path}: another firth process is building this run. Wait for it to end."
            ) from None

"""A run: one folder, one configuration, one sub-folder for each finished stage."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, cast

from filelock import FileLock, Timeout

from firth.run import sharing
from firth.run.code import fingerprint_code
from firth.run.config import Config
from firth.run.errors import ConfigError, DamagedError, InputError, MissingStageError
from firth.run.files import fingerprint_value, write_text
from firth.run.stage import MANIFEST, Manifest, Outcome, Stage, execute, handed, up_to_date

CONFIG = "config.yaml"
_SET_ASIDE = re.compile(r"\.damaged(-\d+)?$")
_HEADER = "# Written by firth: the settings of this run. Change them with --set, not here.\n"


class Run:
    """The folder of a run and the configuration that belongs to it.

    What is asked of a run (`changed`) reaches its `config.yaml` when a stage has been built with
    it, so that what cannot be built leaves nothing behind.

    Args:
        path: Folder of the run; made when the first stage is built.
        config: Its configuration; read from the folder by `Run.open`.
    """

    def __init__(self, path: str | Path, config: Config) -> None:
        self.path = Path(path)
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
        """A run whose configuration is written at once; errors as in `save`."""
        run = cls(path, config)
        run.save()
        return run

    def changed(self, changes: Mapping[str, Any]) -> "Run":
        """This run with `changes` (section → field → value) in its configuration.

        Raises:
            ConfigError: The result is not a configuration.
        """
        return Run(self.path, self.config.changed(dict(changes), str(self.path / CONFIG)))

    def save(self) -> None:
        """Write the configuration into the folder.

        Raises:
            InputError: A file that firth did not write is in its place.
        """
        self.claim()
        if self.path.exists() and not self.path.is_dir():
            raise InputError(f"{self.path}: a file; expected the folder of a run")
        self.path.mkdir(parents=True, exist_ok=True)
        if not self._is_saved():
            for torn in self.path.glob(f".{CONFIG}.*.partial"):
                torn.unlink()  # of a process that was killed
            write_text(self.path / CONFIG, _HEADER + self.config.to_yaml())

    def folder(self, stage: Stage) -> Path:
        """Folder of a finished stage.

        Raises:
            MissingStageError: It is not built.
            DamagedError: A file of it is gone or has another size (bytes: `firth check-run`).
        """
        damage = self.manifest(stage).damage(self.path / stage.name)
        if damage:
            raise DamagedError(
                f"{self.path / stage.name}: damaged: {'; '.join(damage)}. Build it again: "
                f"{stage.command} {self.path}"
            )
        return handed(self.path / stage.name, f"{stage.command} {self.path}")

    def manifest(self, stage: Stage) -> Manifest:
        """Manifest of a finished stage; raise `MissingStageError` if it is not built."""
        try:
            found = Manifest.read(self.path / stage.name)
        except DamagedError as error:
            again = f"Build the stage again: {stage.command} {self.path}"
            raise DamagedError(f"{error}. {again}") from error
        if found is None:
            raise MissingStageError(str(self.path), stage.name, f"{stage.command} {self.path}")
        return found

    def has(self, stage: Stage) -> bool:
        """Whether the stage is built."""
        return Manifest.read(self.path / stage.name) is not None

    def inputs(self, *stages: Stage) -> dict[str, str]:
        """Digests of finished stages, to be named as the inputs of a later one."""
        return {stage.name: self.manifest(stage).digest for stage in stages}

    def identity(self, module: str, reads: Sequence[Stage], settings: Sequence[str]) -> str:
        """Fingerprint of something that is computed when asked: its code, inputs and settings.

        Args:
            module: Whose import closure is its code.
            reads: The stages it reads.
            settings: Dotted paths of the settings it follows.
        """
        found = [self.inputs(*reads), self.config.values(settings), fingerprint_code(module)]
        return fingerprint_value(found)

    def build(
        self,
        stage: Stage,
        fill: "Callable[[Run, Path], Mapping[str, Any]]",
        *,
        reads: Sequence[Stage] = (),
        settings: Sequence[str] = (),
        places: Sequence[str] = (),
        inputs: Mapping[str, str] | None = None,
        code: str | None = None,
    ) -> Outcome:
        """Bring a stage up to date, one process at a time.

        Its request is made of what it is handed and of nothing else: the stages it reads, the
        settings it names, and the import closure of the module of `fill`.

        Args:
            stage: What to build.
            fill: Fills the workspace, and returns the summary; called with this run, of which it
                can see only `reads`, `settings` and `places`.
            reads: Stages that `fill` reads.
            settings: Dotted paths of sections or fields of the configuration, as `corpus.window`.
            places: Settings that say where something lies whose content is among `inputs`.
            inputs: Name → fingerprint of everything read from outside the run.
            code: Module that does the work, where `fill` only calls it.

        Raises:
            InputError: Another process is building this run, or something that firth did not
                write is where the stage would stand.
            DamagedError: A stage of `reads` is not as it was written.
        """
        wanted = self.wanted(stage, code or fill.__module__, reads, settings, inputs)
        final = self.path / stage.name
        leads = not sharing.rank()
        if leads and self._is_saved() and (found := up_to_date(final, wanted)):
            return sharing.tell(Outcome(found, reused=True))
        if leads:
            self.claim()
        with self.locked():
            handed = self.handed(stage, reads, (*settings, *places))
            outcome = execute(final, wanted, lambda workspace: fill(handed, workspace))
            if leads:
                self.save()
        return outcome

    def wanted(
        self,
        stage: Stage,
        code: str,
        reads: Sequence[Stage],
        settings: Sequence[str],
        inputs: Mapping[str, str] | None = None,
    ) -> Manifest:
        """What would be asked of `build`: its `request` is the same wherever the run lies.

        Raises:
            MissingStageError: A stage of `reads` is not built.
        """
        return Manifest(
            stage=stage.name,
            inputs={**self.inputs(*reads), **(inputs or {})},
            config=self.config.values(settings),
            code=fingerprint_code(code),
            libraries=stage.versions(),
        ).requested()

    def handed(self, stage: Stage, reads: Sequence[Stage], settings: Sequence[str]) -> "Run":
        """This run as a stage sees it, of which it can see only `reads` and `settings`.

        Raises:
            DamagedError: A stage of `reads` is not as it was written.
        """
        for read in reads:
            self._verify(read)
        return _HandedRun(self, stage, reads, settings)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from building this run inside the block; may be nested.

        Raises:
            InputError: Another one does.
        """
        if sharing.rank():  # another process holds the lock
            yield
            return
        is_new = not self.path.exists()
        if self.path.exists() and not self.path.is_dir():
            raise InputError(f"{self.path}: a file; expected the folder of a run")
        self.path.mkdir(parents=True, exist_ok=True)
        lock = FileLock(self.path / ".lock", is_singleton=True)
        try:
            with lock.acquire(timeout=0):
                yield
        except Timeout:
            raise InputError(
                f"{self.path}: another firth process is building this run. Wait for it to end."
            ) from None
        finally:
            if is_new and [each.name for each in self.path.iterdir()] == [".lock"]:
                (self.path / ".lock").unlink()
                with suppress(OSError):
                    self.path.rmdir()

    def manifests(self) -> Iterator[Path]:
        """The manifest of each stage that is built, and of each folder of results in the run."""
        for path in sorted(self.path.rglob(MANIFEST)):
            parts = path.parent.relative_to(self.path).parts
            # Workspaces, and what was kept of damaged stages, are none.
            if not any(part.startswith(".") or _SET_ASIDE.search(part) for part in parts):
                yield path

    def check(self) -> dict[str, list[str]]:
        """Read every byte of every stage; stage → what is not as it was written (docs/run.md)."""
        found = {}
        for path in self.manifests():
            name = path.parent.relative_to(self.path)
            try:
                manifest = Manifest.read(path.parent)
            except DamagedError as error:
                found[name.as_posix()] = [str(error)]
            else:
                problems = manifest.damage(path.parent, bytes_too=True) if manifest else []
                if manifest and not manifest.is_as_written:
                    problems.append(f"{MANIFEST} is not as it was written")
                found[name.as_posix()] = problems
        return found

    def _verify(self, stage: Stage) -> None:
        folder = self.folder(stage)
        if damage := self.manifest(stage).damage(folder, bytes_too=True):
            raise DamagedError(
                f"{folder}: damaged: {'; '.join(damage)}. Build it again: "
                f"{stage.command} {self.path}"
            )

    def _is_saved(self) -> bool:
        path = self.path / CONFIG
        try:
            return path.is_file() and Config.load(path) == self.config
        except ConfigError:
            return False

    def claim(self) -> None:
        """Raise `InputError` where a file that firth did not write is in the configuration's
        place."""
        path = self.path / CONFIG
        if not path.exists() or self._is_saved():
            return
        if not path.is_file() or not path.read_bytes().startswith(_HEADER.encode()):
            raise InputError(
                f"{path}: not written by firth, so it is not replaced. Name another folder for the "
                "run: --run"
            )


class _HandedRun(Run):
    """A run as a stage sees it: only what the stage declares, as it was when it was handed over,
    whoever looks at it, and from where."""

    def __init__(
        self, run: Run, stage: Stage, reads: Sequence[Stage], settings: Sequence[str]
    ) -> None:
        super().__init__(run.path, cast(Config, run.config.handed(settings, stage.name)))
        self._run, self._stage, self._reads = run, stage, run.inputs(*reads)

    def changed(self, changes: Mapping[str, Any]) -> Run:
        raise RuntimeError(f"stage {self._stage.name} changes its own configuration")

    def folder(self, stage: Stage) -> Path:
        self.manifest(stage)
        return self._run.folder(stage)

    def manifest(self, stage: Stage) -> Manifest:
        if stage.name not in self._reads:
            raise RuntimeError(
                f"stage {self._stage.name} reads {stage.name}, which it does not declare"
            )
        found = self._run.manifest(stage)
        if found.digest != self._reads[stage.name]:
            raise DamagedError(
                f"{self.path.absolute() / stage.name}: another than the one that stage "
                f"{self._stage.name} was begun with"
            )
        return found

    def has(self, stage: Stage) -> bool:
        return stage.name in self._reads and self._run.has(stage)

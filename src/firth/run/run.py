"""A run: one folder with one file of settings and one sub-folder for each finished stage."""

import os
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import Any, TypeVar, cast

from filelock import FileLock, Timeout

from firth.run.errors import (
    ChangedError,
    ConfigError,
    DamagedError,
    InputError,
    MissingStageError,
    install_command,
)
from firth.run.files import remove_leftovers, stamp_of, write_atomically
from firth.run.settings import (
    HEADER,
    Section,
    Settings,
    change_settings,
    load_changes,
    load_settings,
    parse_changes,
    settings_text,
    values_of,
)
from firth.run.stage import (
    MANIFEST,
    Manifest,
    Outcome,
    Stage,
    beside,
    damage_message,
    damage_of,
    execute,
    finish_rename,
    is_half_renamed,
    note_opened,
    up_to_date,
)

CONFIG = "settings.toml"
_LOCK = ".lock"
_PATIENCE = 5.0
"""Seconds in which another process surely has renamed two folders."""
_MOMENT = 0.05
_S = TypeVar("_S", bound=Section)


class Run:
    """The folder of a run, and its settings.

    Changed settings reach `settings.toml` when a stage has been built with them, so that a failed
    build leaves nothing behind. The folder, `path`, is made then, too. `encoder` is an encoder that
    was passed in Python, in place of the one that the settings name.
    """

    def __init__(self, path: str | Path, settings: Settings, encoder: object | None = None) -> None:
        if not os.fspath(path):
            raise InputError("the name of the run is empty; expected a folder: --run FOLDER")
        self.path = Path(path)
        self.settings = settings
        self.encoder = encoder

    @classmethod
    def open(cls, path: "str | Path | Run") -> "Run":
        """Open an existing run."""
        if isinstance(path, Run):
            return path
        if not isinstance(path, str | Path):
            raise InputError(f"run: got {path!r:.80}; expected the folder of a run")
        run = cls(path, Settings())
        if not (run.path / CONFIG).is_file():
            raise InputError(
                f"{path}: not a run (it has no {CONFIG}). Build one: "
                f"firth build DOCUMENTS --run {shlex.quote(str(path))}"
            )
        run.settings = load_settings(run.path / CONFIG)
        return run

    @classmethod
    def create(cls, path: str | Path, settings: Settings | None = None) -> "Run":
        """Make a run and write its settings at once; errors as of `save`."""
        run = cls(path, settings or Settings())
        run.save()
        return run

    def changed(self, changes: Mapping[str, Any], source: str = "") -> "Run":
        """Return this run with `changes` (section → field → value) in its settings."""
        settings = change_settings(self.settings, changes, source or "changed settings")
        return Run(self.path, settings, self.encoder)

    def wing(self, name: str, kind: type[_S]) -> _S:
        """Return the settings of a wing, as `run.wing("adapt", AdaptSettings)`."""
        return self.settings.wing(name, kind, str(self.path / CONFIG))

    def save(self) -> None:
        """Write the settings into the folder."""
        self._claim()
        self.path.mkdir(parents=True, exist_ok=True)
        if not self._is_saved():
            with write_atomically(self.path / CONFIG) as partial:
                text = settings_text(self.settings)  # It may name a file that is no UTF-8.
                partial.write_bytes(text.encode("utf-8", "surrogatepass"))

    def has(self, stage: Stage) -> bool:
        """Return whether the stage is built."""
        self._settle(stage.name)
        return Manifest.read(self.path / stage.name) is not None

    def manifest(self, stage: Stage) -> Manifest:
        """Return the manifest of a finished stage."""
        self._settle(stage.name)
        try:
            manifest = Manifest.read(self.path / stage.name)
        except DamagedError as error:
            raise DamagedError(f"{error}. Build it again: {self._command(stage)}") from error
        if manifest is None:
            raise MissingStageError(str(self.path), stage.name, self._command(stage))
        return manifest

    def folder(self, stage: Stage) -> Path:
        """Return the folder of a finished stage of the version that this firth reads.

        Sizes and the bytes of small files are checked.
        """
        self._check(stage, bytes_too=False)
        folder = self.path / stage.name
        note_opened(folder, lambda: damage_of(folder), self._command(stage))
        return folder

    def inputs(self, *stages: Stage) -> dict[str, str]:
        """Return the digests of finished stages, which a later stage names as its inputs."""
        return {stage.name: self.manifest(stage).digest for stage in stages}

    def build(
        self,
        stage: Stage,
        fill: "Callable[[Run, Path], Mapping[str, Any]]",
        *,
        reads: Sequence[Stage] = (),
        settings: Sequence[str] = (),
        inputs: Mapping[str, str] | None = None,
    ) -> Outcome:
        """Bring a stage up to date, one process at a time.

        Its request consists of the stage's version, the stages and settings that it reads, and
        `inputs`. If nothing of that has changed, the stage is reused.

        Args:
            stage: What to build.
            fill: Fills the workspace and returns the summary. It is called with this run, of which
                it sees `reads` and `settings` only.
            reads: Stages, which must be as they were written.
            settings: Dotted paths of sections or fields, as `corpus.language`.
            inputs: Name → fingerprint of everything else that decides the bytes. A name such as
                `paper.coherence` lets `fill` read that part of a wing's settings.
        """
        if self.path.is_dir():
            remove_leftovers(self.path)
        self._settle(stage.name)
        digests = {**self.inputs(*reads), **(inputs or {})}
        values = values_of(self.settings, settings)
        requested = Manifest.requested(stage.name, stage.version, digests, values)
        final = self.path / stage.name
        is_settled = self._is_saved() and not beside(final, "stale").exists()
        if is_settled and (present := up_to_date(final, requested)):
            return Outcome(present, reused=True)
        self._claim()
        with self.locked():
            for needed in reads:
                self._check(needed, bytes_too=True)
            seen = _DeclaredRun(self, stage, reads, settings, inputs or {})
            outcome = execute(final, requested, lambda workspace: fill(seen, workspace))
            self.save()
        return outcome

    @contextmanager
    def locked(self, patience: float = 0.0) -> Iterator[None]:
        """Keep other processes from building this run inside the block; it may be nested.

        It is refused where another one still builds after `patience` seconds.
        """
        is_new = not self.path.exists()
        self._check_folder()
        self.path.mkdir(parents=True, exist_ok=True)
        lock = FileLock(self.path / _LOCK, is_singleton=True)
        try:
            with lock.acquire(timeout=patience):
                yield
        except Timeout:
            raise InputError(
                f"{self.path}: another firth process builds this run. Wait until it ends"
            ) from None
        finally:
            if is_new and os.listdir(self.path) == [_LOCK]:
                with suppress(OSError):
                    (self.path / _LOCK).unlink()
                    self.path.rmdir()

    def verify(self) -> dict[str, list[str]]:
        """Read every byte of every stage, and return stage → a line for each problem."""
        folders = {file.parent.relative_to(self.path) for file in self.path.rglob(MANIFEST)}
        return {
            folder.as_posix(): damage_of(self.path / folder)
            for folder in sorted(folders)
            if folder.parts and not any(part.startswith(".") for part in folder.parts)
        }

    def _check(self, stage: Stage, *, bytes_too: bool) -> None:
        """Raise `DamagedError` where a stage is of another version, or not as it was written."""
        folder, manifest = self.path / stage.name, self.manifest(stage)
        if manifest.version != stage.version:
            raise DamagedError(
                f"{folder}: has version {manifest.version}, and this firth reads {stage.version}. "
                f"Build it again: {self._command(stage)}"
            )
        if damage := manifest.damage(folder, bytes_too=bytes_too):
            raise DamagedError(damage_message(folder, damage, self._command(stage)))

    def _settle(self, name: str) -> None:
        """Finish or undo the renames of a killed process before the stage is looked at."""
        end = monotonic() + _PATIENCE
        while is_half_renamed(self.path / name):  # A living process goes on in a moment.
            try:
                with self.locked(_MOMENT):
                    finish_rename(self.path / name)
            except InputError:
                if monotonic() > end:
                    raise

    def _command(self, stage: Stage) -> str:
        needs = f" (it needs {install_command(stage.extra)})" if stage.extra else ""
        return f"{stage.command} --run {shlex.quote(str(self.path))}{needs}"

    def _is_saved(self) -> bool:
        path = self.path / CONFIG
        try:
            return path.is_file() and load_settings(path) == self.settings
        except ConfigError:
            return False

    def _check_folder(self) -> None:
        if self.path.exists() and not self.path.is_dir():
            raise InputError(f"{self.path}: a file; expected the folder of a run")

    def _claim(self) -> None:
        """Raise `InputError` where the settings would replace a file that firth did not write."""
        self._check_folder()
        path = self.path / CONFIG
        if not os.path.lexists(path) or self._is_saved():
            return
        if not path.is_file() or not path.read_bytes().startswith(HEADER.encode()):
            raise InputError(
                f"{path}: firth did not write it, so it is not replaced. Name another folder: --run"
            )


def opened_with(
    path: str | Path, options: Sequence[str], values: Mapping[str, Any] | None = None
) -> Run:
    """Open a run, or begin one, with changes laid over its settings.

    Options are settings files, which may be partial and whose names end in `.toml`, and over them
    changes such as `corpus.language=de`. Values, such as a preset, lie below them.
    """
    files = [option for option in options if option.endswith(".toml") and "=" not in option]
    changes = parse_changes([option for option in options if option not in files])
    run = Run(path, Settings())
    if (run.path / CONFIG).is_file():
        run = Run.open(path)
    run = run.changed(values or {})
    for file in files:
        run = run.changed(load_changes(Path(file)), file)
    return run.changed(changes, "--set")


class PinnedRun(Run):
    """A run whose stages are read as they were when it was pinned, whoever builds meanwhile.

    `has` and `manifest` raise `ChangedError` where one of `stages` is another one by then.

    Attributes:
        stamps: What tells the manifests of these stages from any others.
        is_whole: Whether each stage was built from the others as they are.
    """

    def __init__(self, run: Run, stages: Sequence[Stage]) -> None:
        super().__init__(run.path, run.settings, run.encoder)
        self._stages = tuple(stage.name for stage in stages)
        self.stamps = self.stamps_now()
        self._pinned: dict[str, str | None] = {}
        inputs: list[tuple[str, str]] = []
        for name in self._stages:
            with suppress(DamagedError):  # It is said where the stage is opened.
                manifest = Manifest.read(self.path / name)
                self._pinned[name] = manifest.digest if manifest else None
                inputs += manifest.inputs.items() if manifest else ()
        self.is_whole = all(self._pinned.get(name, digest) == digest for name, digest in inputs)

    def has(self, stage: Stage) -> bool:
        """Return whether the stage is built, as it was when the run was pinned."""
        is_built = super().has(stage)
        if stage.name in self._pinned and is_built != (self._pinned[stage.name] is not None):
            raise self._changed()
        return is_built

    def manifest(self, stage: Stage) -> Manifest:
        """Return the manifest of a finished stage, as it was when the run was pinned."""
        manifest = super().manifest(stage)
        if self._pinned.get(stage.name, manifest.digest) != manifest.digest:
            raise self._changed()
        return manifest

    def stamps_now(self) -> tuple[tuple[int, ...], ...]:
        """Return the stamps of the manifests that are there now."""
        return tuple(stamp_of(self.path / name / MANIFEST) for name in self._stages)

    def _changed(self) -> ChangedError:
        return ChangedError(f"{self.path}: another process builds it. Try again when it is done")


class _DeclaredRun(Run):
    """A run as the `fill` of a stage sees it: what the stage declares, as it was at the start."""

    def __init__(
        self,
        run: Run,
        stage: Stage,
        reads: Sequence[Stage],
        settings: Sequence[str],
        inputs: Mapping[str, str],
    ) -> None:
        declared = cast(Settings, _Declared(run.settings, settings, stage.name))
        super().__init__(run.path, declared, run.encoder)
        self._run, self._stage, self._reads = run, stage, run.inputs(*reads)
        self._wings = (*settings, *inputs)

    def wing(self, name: str, kind: type[_S]) -> _S:
        parsed = self._run.wing(name, kind)
        inner = [path.partition(".")[2] for path in self._wings if path.split(".")[0] == name]
        if "" in inner:
            return parsed
        return cast(_S, _Declared(parsed, inner, self._stage.name))

    def has(self, stage: Stage) -> bool:
        return stage.name in self._reads and self._run.has(stage)

    def manifest(self, stage: Stage) -> Manifest:
        if stage.name not in self._reads:
            raise RuntimeError(
                f"stage {self._stage.name} reads stage {stage.name}, which it does not declare"
            )
        manifest = self._run.manifest(stage)
        if manifest.digest != self._reads[stage.name]:
            raise DamagedError(
                f"{self.path / stage.name}: changed while stage {self._stage.name} was built"
            )
        return manifest


class _Declared:
    """A section of which only the declared parts can be read."""

    def __init__(self, section: Any, paths: Sequence[str], stage: str) -> None:
        self._section, self._paths, self._stage = section, tuple(paths), stage

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # A copy or another process asks for these.
            raise AttributeError(name)
        inner = [path.partition(".")[2] for path in self._paths if path.split(".")[0] == name]
        if not inner:
            raise RuntimeError(
                f"stage {self._stage} reads the setting {name}, which it does not declare"
            )
        value = getattr(self._section, name)
        return value if "" in inner else _Declared(value, inner, self._stage)

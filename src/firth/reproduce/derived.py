"""A run inside a run: some stages of its own, all others those of the run it varies."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from firth.reproduce.options import Options
from firth.run.run import Run
from firth.run.stage import Manifest, Stage

FOLDER = "reproduce"


class Derived(Run):
    """Stages built in it go to `BASE/reproduce/NAME`; a stage it lacks is that of the base.

    Args:
        base: The run that is varied; nothing in it changes.
        name: Folder below `BASE/reproduce`.
        changes: Section → setting → value, laid over the configuration of the base.
    """

    def __init__(self, base: Run, name: str, changes: Mapping[str, Any]) -> None:
        super().__init__(base.path / FOLDER / name, base.config.changed(dict(changes), name))
        self._base = base
        self.path.mkdir(parents=True, exist_ok=True)

    def folder(self, stage: Stage) -> Path:
        """Its own folder of the stage, else that of the base."""
        return super().folder(stage) if self._owns(stage) else self._base.folder(stage)

    def manifest(self, stage: Stage) -> Manifest:
        """Its own manifest, else that of the base; raise `MissingStageError` if neither is built.

        The error names the base, which is what a user can build.
        """
        return super().manifest(stage) if self._owns(stage) else self._base.manifest(stage)

    def has(self, stage: Stage) -> bool:
        """Whether the stage is built here or in the base."""
        return self._owns(stage) or self._base.has(stage)

    def _owns(self, stage: Stage) -> bool:
        return Manifest.read(self.path / stage.name) is not None


def with_generator(run: Run, options: Options) -> Run:
    """The run itself, or with `options.model` one that scores with that causal language model.

    Raises:
        InputError: The model cannot be loaded or used.
    """
    if options.model is None:
        return run
    from firth.paper.generation.build import train_generator

    derived = Derived(run, f"causal-lm/{_label(options)}", generator_changes(options))
    train_generator(derived)
    return derived


def generator_changes(options: Options) -> dict[str, Any]:
    """What of a configuration makes a run use `options.model`; nothing where there is none."""
    if options.model is None:
        return {}
    named = {"backend": "causal-lm", "model": options.model, "gguf_file": options.gguf_file}
    return {"generator": named}


def _label(options: Options) -> str:
    name = options.gguf_file or Path(str(options.model)).name or "model"
    return "".join(c if c.isalnum() or c in "-_." else "-" for c in name)

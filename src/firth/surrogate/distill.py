"""The surrogate stage: a student of the run's Origin, or of another teacher (§3.4)."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from firth.check import CHECK
from firth.check.build import build_check
from firth.context import CONTEXT
from firth.corpus import CORPUS, TOKENIZER
from firth.corpus.settings import LIMITS
from firth.harvest import HARVEST
from firth.harvest.harvest import build_harvest
from firth.origin import ORIGIN
from firth.origin.origin import Origin
from firth.origin.settings import Method
from firth.run.engine import HERE, Engine
from firth.run.errors import InputError
from firth.run.files import read_json
from firth.run.model_files import PretrainedFiles
from firth.run.pretrained import find_cross_encoder
from firth.run.run import Run
from firth.run.stage import Outcome
from firth.surrogate import CROSS_ENCODER, SURROGATE, TEACHER
from firth.surrogate.calibration import LabelMap
from firth.surrogate.report import LABELS, REPORT
from firth.surrogate.settings import Architecture, BaseKind, Calibration, Way
from firth.surrogate.teacher import build_teacher, teacher_inputs
from firth.surrogate.way import way_of


@dataclass(frozen=True)
class Distilled:
    """A finished Surrogate.

    Attributes:
        path: Its folder, which `SentenceTransformer(path)` opens, or `CrossEncoder(path)`.
        report: Contents of `report.json`: `architecture`, `way`, `settings`, `corpus`, `model`,
            `sentences` or `pairs` (sizes), `before` and `after` (split → kind of pair → `n` and
            `spearman`; way paper: `firth.surrogate.report.measure`), `history` (`start`,
            `distillation`: lists of step and loss), `chosen` (the `step` whose weights were kept, 0
            being the start, of how many `steps`, and the rank correlation `seen` on dev at each
            look), `check` (what the check on held-out documents thinks of what was trained:
            `firth.surrogate.harmless.Start.judge`; None where the start was kept before it was
            asked), and `notes` in words; way matrices: `teacher`, and `sizes`
            (`firth.surrogate.smaller.sizes`).
        reused: Whether it was already there.
    """

    path: Path
    report: Mapping[str, Any]
    reused: bool

    @property
    def labels(self) -> LabelMap:
        """Way paper: the map between Origin's raw scores and the labels the Surrogate learned.

        Raises:
            InputError: It learned from matrices, and has no labels.
        """
        return LabelMap.model_validate(read_json(self.path / LABELS))

    @classmethod
    def open(
        cls,
        run: str | Path | Run,
        reused: bool = True,
        architecture: Architecture = Architecture.BI_ENCODER,
    ) -> "Distilled":
        """The Surrogate of a run; raise `MissingStageError` if it is not built."""
        cross = architecture is Architecture.CROSS_ENCODER
        folder = Run.open(run).folder(CROSS_ENCODER if cross else SURROGATE)
        return cls(folder, read_json(folder / REPORT), reused)


def distill(
    run: str | Path | Run,
    base: str | None = None,
    *,
    architecture: str | Architecture = Architecture.BI_ENCODER,
    teacher: str | None = None,
    way: str | Way | None = None,
    epochs: int | None = None,
    batch: int | None = None,
    learning_rate: float | None = None,
    calibration: str | Calibration | None = None,
    engine: Engine = HERE,
) -> Distilled:
    """Train the Surrogate of a run and save it in the run (§3.4).

    What is not given is taken from the run's configuration, and what is given goes into it when the
    Surrogate is built.

    Args:
        run: A run whose corpus, tokenizer and Origin are built; for way paper, whose harvest is.
        base: `static`, `transformer`, `layers`, or folder or hub name of an encoder.
        architecture: `bi-encoder`, or `cross-encoder`: another model, in a folder of its own, with
            the settings `cross_encoder`. It learns from the harvest; one that is missing is made,
            unless Origin is as printed.
        teacher: Another run, or folder or hub name of a sentence encoder, in place of the run's
            Origin; way matrices.
        way: `matrices` or `paper`.
        epochs: Passes over the training sentences, or pairs.
        batch: Sentences, or pairs, a step.
        learning_rate: Peak rate.
        calibration: `match`, `quantile`, `zscore` or `none`; way paper.
        engine: Who has the teacher read, or makes a harvest that is missing; one process learns.

    Raises:
        MissingStageError: A stage is not built; the message names the command.
        ConfigError: A setting is out of range.
        InputError: An unknown architecture, a teacher or way for a cross-encoder; the base or the
            teacher is refused or cannot be loaded, or there is too little to learn from.

    Example:
        >>> found = distill("run")
        >>> found.report["after"]["test"]["all"]["spearman"] <= 1
        True
    """
    if architecture not in list(Architecture):
        raise InputError(f"architecture {architecture!r}: expected {', '.join(Architecture)}")
    if Architecture(architecture) is Architecture.CROSS_ENCODER:
        if teacher is not None or way is not None:
            raise InputError("a cross-encoder learns from the harvest: leave out teacher and way")
        wanted = {"base": base, "epochs": epochs, "batch": batch, "learning_rate": learning_rate,
                  "calibration": None if calibration is None else str(calibration)}  # fmt: skip
        opened = Run.open(run).changed({"cross_encoder": wanted})
        outcome = build_cross_encoder(opened, engine=engine)
        return Distilled.open(opened, outcome.reused, Architecture.CROSS_ENCODER)
    changes = {"base": base, "teacher": teacher, "epochs": epochs, "batch": batch}
    names = {"way": way, "calibration": calibration}
    changes |= {name: None if kind is None else str(kind) for name, kind in names.items()}
    opened = Run.open(run).changed({"surrogate": changes | {"learning_rate": learning_rate}})
    if way_of(opened) is Way.MATRICES:
        build_teacher(opened, engine=engine)
    return Distilled.open(opened, build_surrogate(opened).reused)


def build_surrogate(run: Run) -> Outcome:
    """Bring the stage up to date with the run's configuration; see `distill`."""
    config, way = run.config.surrogate, way_of(run)
    reads, settings = [CORPUS], ["seed", "surrogate"]
    own = way is Way.MATRICES and config.teacher is None
    reads.append(HARVEST if way is Way.PAPER else TEACHER)
    if config.kind in (BaseKind.STATIC, BaseKind.TRANSFORMER):
        reads.append(TOKENIZER)
    if config.kind is BaseKind.STATIC:
        settings += LIMITS
        if CONTEXT not in Origin.reads(run):
            settings += ["context.bag", "context.trust"]
    if own or config.kind is BaseKind.LAYERS:
        settings.append("context.precision")
    known = config.kind is BaseKind.STATIC and CONTEXT in Origin.reads(run)
    if known or own or config.kind is BaseKind.LAYERS:
        reads += [CONTEXT, ORIGIN]
        settings += ["origin.numbers", "origin.own", "origin.weights"]
    run.inputs(*reads)  # a stage that is missing is named before a base is downloaded
    inputs = base_inputs(config.base) | (teacher_inputs(run) if way is Way.MATRICES else {})
    if config.passes(way):
        if not run.has(CHECK):
            build_check(run)
        reads.append(CHECK)
    # Either loads libraries, and takes seconds to.
    ways = {Way.PAPER: "firth.surrogate.by_pairs", Way.MATRICES: "firth.surrogate.by_matrices"}

    def fill(handed: Run, workspace: Path) -> Mapping[str, Any]:
        filled: Mapping[str, Any] = import_module(ways[way]).fill(handed, workspace)
        return filled

    return run.build(SURROGATE, fill, reads=reads, settings=settings, inputs=inputs, code=ways[way])


def build_cross_encoder(run: Run, *, engine: Engine = HERE) -> Outcome:
    """Bring the stage up to date with the run's configuration; see `distill`.

    A harvest that is missing is made first, by an engine, unless Origin is as printed, which takes
    days for it.
    """
    reads = [CORPUS, TOKENIZER, HARVEST]
    base = run.config.cross_encoder.base
    if inputs := base_inputs(base, "cross_encoder.base"):
        find_cross_encoder(base)
    if not run.has(HARVEST) and run.config.origin.method is not Method.PAPER:
        build_harvest(run, engine=engine)
    run.inputs(*reads)
    code = "firth.surrogate.by_cross"

    def fill(handed: Run, workspace: Path) -> Mapping[str, Any]:
        filled: Mapping[str, Any] = import_module(code).fill(handed, workspace)
        return filled

    settings = ["seed", "cross_encoder"]
    return run.build(CROSS_ENCODER, fill, reads=reads, settings=settings, inputs=inputs, code=code)


def base_inputs(base: str, setting: str = "surrogate.base") -> dict[str, str]:
    """Fingerprint of a pretrained base, downloaded if need be; empty for the other kinds.

    Raises:
        InputError: It looks like a folder and is none, there is no such model, or it is refused
            (`firth.run.model_files.look`).
    """
    folder = Path(base)
    if BaseKind.of(base) is not BaseKind.PRETRAINED:
        return {}
    looks_like_one = folder.is_absolute() or base.startswith(".") or base.count("/") > 1
    if not folder.is_dir() and (folder.exists() or looks_like_one):
        found = "a file" if folder.exists() else "no such folder"
        raise InputError(
            f"{setting}: {base}: {found}. Expected `static`, `transformer`, `layers`, or the "
            "folder or hub name of an encoder, such as roberta-base."
        )
    try:
        return {"base": PretrainedFiles.find(base).fingerprint}
    except InputError as error:
        more = "`static` and `transformer` need no model"
        raise InputError(f"{setting}: {error}. {more}") from error

"""Distillation: an encoder learns the similarities of a slower teacher, and is kept if no worse.

The default static encoder of a run needs no training (`firth.encoders.static.build_static`). Here
students are trained: static ones, Transformers, layers of the run's language model, and any
pretrained encoder.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file

from firth.corpus.corpus import Corpus
from firth.encoders.folder import PretrainedFiles
from firth.encoders.pretrained import PRETRAINED
from firth.encoders.transformer import device, has_bfloat16
from firth.encoders.words import WORDS
from firth.evaluation.compare import answer, decide
from firth.evaluation.questions import QUESTIONS, Question, build_questions, open_questions
from firth.run.console import quiet_libraries, table
from firth.run.errors import InputError
from firth.run.run import Run
from firth.run.settings import derive_seed
from firth.run.stage import SCRATCH, Outcome, Stage
from firth.scorer.blend import BLEND
from firth.scorer.scorer import Scorer
from firth.train.loop import Best, Schedule, build_together, first, train, write_tensors
from firth.train.objectives import ALL, HELD_OUT, SimilarityMatrix
from firth.train.settings import DistillSettings
from firth.train.students import BiEncoder, TrainedFolder, open_student, save_trained, shown_name
from firth.train.teacher import TEACHER, Teacher, build_teacher, teacher_inputs
from firth.train.tokenizer import TOKENIZER, build_tokenizer

STUDENT = Stage("student", 2, extra="torch", command="firth train distill")
_MADE = ("static", "transformer", "layers")
_LOOKS, _WARMUP, _CHECKPOINT_STEPS = 10, 0.1, 200


def distill(
    run: str | Path | Run,
    *,
    base: str | None = None,
    teacher: str | None = None,
    epochs: int | None = None,
) -> TrainedFolder:
    """Train a student of a run's scorer, or of another teacher, in the folder of the run.

    What is not given is taken from the settings `distill`, and what is given goes into them.
    Processes that torchrun started share the training, where `distill.micro_batches` says in how
    many parts.

    Args:
        run: A run that `firth build` has built.
        base: `static`, `transformer`, `layers`, or folder or hub name of an encoder.
        teacher: Another run, or folder or hub name of an encoder.
        epochs: Passes over the sentences.

    Raises:
        MissingStageError: The run is not built far enough.
        ConfigError: A setting is out of range.
        InputError: Base or teacher cannot be opened, or the student needs no training.
    """
    named = {"base": base, "teacher": teacher, "epochs": epochs}
    changes = {name: value for name, value in named.items() if value is not None}
    opened = Run.open(run).changed({"distill": changes})
    settings = opened.wing("distill", DistillSettings)
    if Plan.of(settings).epochs == 0:
        raise InputError(
            "a static student of the run's scorer shares its word vectors and needs no "
            "training: it is RUN/static. Set distill.epochs to train it all the same, or name a "
            "teacher or another base"
        )

    def prepare() -> None:
        if settings.base == "transformer":
            build_tokenizer(opened)
        build_questions(opened)
        build_teacher(opened)

    first(prepare)
    outcome = build_student(opened)
    return TrainedFolder.open(opened.folder(STUDENT), outcome.reused)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How a student learns: settings of `distill`, with what suits the base where they are silent.

    `rate` is the peak of Adam's rate.
    """

    base: str
    epochs: int
    batch: int
    rate: float
    micro_batches: int
    patience: int

    @classmethod
    def of(cls, settings: DistillSettings) -> "Plan":
        """Return the plan of some settings."""
        static, epochs = settings.base == "static", settings.epochs
        if epochs is None:
            epochs = (8 if settings.teacher else 0) if static else 2
        return cls(
            base=settings.base,
            epochs=epochs,
            batch=settings.batch or (256 if static else 64),
            rate=settings.learning_rate or (5e-4 if settings.base in _MADE else 2e-5),
            micro_batches=1 if static else settings.micro_batches,
            patience=settings.patience,
        )


def build_student(run: Run) -> Outcome:
    """Bring the stage of the student up to date; see `distill`."""
    settings = run.wing("distill", DistillSettings)
    made = {"static": [WORDS, BLEND], "transformer": [TOKENIZER], "layers": [PRETRAINED]}
    scorer = Scorer.reads(run) if settings.teacher is None else ()
    reads = dict.fromkeys([QUESTIONS, TEACHER, *made.get(settings.base, []), *scorer])
    inputs = {"corpus": Corpus.open(run).digest, **teacher_inputs(run)}
    if settings.base not in _MADE:
        inputs["base"] = PretrainedFiles.find(settings.base).fingerprint

    def fill(seen: Run, workspace: Path) -> Mapping[str, Any]:
        settings = seen.wing("distill", DistillSettings)
        plan = Plan.of(settings)
        seed = derive_seed(seen.settings.seed, "surrogate", "matrices")

        def start() -> BiEncoder:
            return open_student(seen, settings, workspace / SCRATCH / "start")

        def objective(student: BiEncoder) -> SimilarityMatrix:
            teacher = Teacher.open(seen)
            return SimilarityMatrix(student, teacher, plan.batch, plan.micro_batches, seed)

        return train_student(seen, workspace, plan, start, objective, open_questions(seen))

    paths = ["seed", "distill", "static", *Scorer.settings()]
    return build_together(run, STUDENT, fill, reads=list(reads), settings=paths, inputs=inputs)


def train_student(
    run: Run,
    workspace: Path,
    plan: Plan,
    start: Callable[[], Any],
    open_objective: Callable[[Any], Any],
    questions: Sequence[Question] = (),
    use: str = "",
) -> Mapping[str, Any]:
    """Train a student, and write it with report and card into the workspace of a stage.

    `start` opens the student, after torch's seed is set, and `open_objective` returns what it
    learns, an object like `SimilarityMatrix`. A student that became worse on label-free `questions`
    is rejected; without them, agreement with the teacher alone decides. `use` is code for the card,
    where the student is no sentence encoder.
    """
    scratch, seed = workspace / SCRATCH, run.settings.seed
    static = plan.base == "static"
    where = torch.device("cpu") if static else device()
    with quiet_libraries():
        torch.manual_seed(derive_seed(seed, "surrogate", "weights"))
        student = start()
        student.module.to(where)
        objective = open_objective(student)
        before, answers = objective.figures(), answer(student, questions)
        write_tensors(scratch / "start.safetensors", student.module.state_dict())
        best = Best(student.module, objective.agreement, scratch, "spearman")
        steps = plan.epochs * objective.batches.epoch_steps
        schedule = Schedule(
            steps=steps,
            rate=plan.rate,
            warmup=int(_WARMUP * steps),
            checkpoint_steps=_CHECKPOINT_STEPS,
            seed=objective.seed,
            report_steps=-(-steps // _LOOKS),
            bfloat16=not static and has_bfloat16(where),
            micro_batches=plan.micro_batches,
        )
        history = train(
            objective.module.to(where), objective.batches, objective.loss, schedule, scratch,
            "Distilling", best.look, lambda past: best.stalled(past, plan.patience),
        )  # fmt: skip
        best.restore()
        decision = None
        if best.step and questions:
            changed = answer(student, questions)
            decision = decide(answers, changed, must_gain=False, seed=seed)
            if not decision.accepted:
                student.module.load_state_dict(load_file(scratch / "start.safetensors"))
        after = objective.figures()
    report: dict[str, Any] = {
        "base": shown_name(plan.base),
        "unit": objective.unit,
        "teacher": objective.teacher,
        "settings": {**asdict(plan), "base": shown_name(plan.base), "seed": seed},
        "sizes": objective.sizes,
        "before": before,
        "after": after,
        "step": best.step,
        "steps": steps,
        "start": best.start,
        "history": history,
        "decision": None if decision is None else asdict(decision),
    }
    report["lines"] = lines_of(report)
    title = f"A {'cross-encoder' if use else 'sentence encoder'}, distilled with firth"
    save_trained(workspace, student.module, title, report, use)
    return {name: report[name] for name in ("base", "teacher", "sizes", "step", "steps", "lines")}


def lines_of(report: Mapping[str, Any]) -> list[str]:
    """Return what a report says, for the screen and the card."""
    settings, sizes = report["settings"], report["sizes"]
    rows = [["rank correlation with the teacher x 100", "n", "before", "after"]]
    for split in HELD_OUT:
        for kind, after in report["after"][split].items():
            both = (report["before"][split][kind]["spearman"], after["spearman"])
            shown = ["undefined" if value is None else f"{100 * value:.1f}" for value in both]
            rows.append([f"{split}, {kind}", f"{after['n']:,}", *shown])
    lines = [
        f"Start: {report['base']}. Teacher: {report['teacher']}, of {sizes['train']:,} "
        f"{report['unit']}.",
        f"{settings['epochs']} epochs in batches of {settings['batch']}, peak learning rate "
        f"{settings['rate']:g}, seed {settings['seed']}. Step {report['step']:,} of "
        f"{report['steps']:,} agreed best with the teacher.",
        table(rows),
    ]
    if decision := report["decision"]:
        kept = "The student" if decision["accepted"] else "The start"
        lines.append(f"{kept} was kept. Label-free questions: {decision['reason']}.")
    elif not report["step"]:
        lines.append("The start was kept: no later weights agreed better with the teacher.")
    for split in HELD_OUT:
        every = report["after"][split][ALL]
        if every.get("l2", 0.0) > every.get("constant_l2", 0.0):
            lines.append(f"On {split} the error is not below that of a constant.")
    return lines

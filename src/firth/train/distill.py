"""Distillation: an encoder learns the similarities of a slower teacher, and is kept if no worse.

The default static encoder of a run needs no training (`firth.encoders.static.build_static`). Here
students are trained: static ones, Transformers, layers of the run's language model, any pretrained
encoder, and cross-encoders.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

import torch
from safetensors.torch import load_file

from firth.corpus.corpus import Corpus
from firth.corpus.tokenizer import TOKENIZER, build_tokenizer
from firth.encoders.folder import PretrainedFiles
from firth.encoders.pretrained import PRETRAINED
from firth.encoders.transformer import device, has_bfloat16
from firth.encoders.words import WORDS
from firth.evaluation.compare import answer, decide
from firth.evaluation.questions import QUESTIONS, Question, build_questions, open_questions
from firth.run.console import quiet_libraries, table
from firth.run.errors import InputError
from firth.run.executor import Executor
from firth.run.run import Run
from firth.run.seeds import derive_seed
from firth.run.settings import DistillSettings
from firth.run.stage import SCRATCH, Outcome, Stage
from firth.scorer.blend import BLEND
from firth.scorer.scorer import Scorer
from firth.train.loop import Best, Schedule, build_together, first, train, write_tensors
from firth.train.objectives import ALL, HELD_OUT, PairLabels, SimilarityMatrix
from firth.train.pairs import PAIRS, score_pairs
from firth.train.students import (
    BiEncoder,
    TrainedFolder,
    open_student,
    save_trained,
    shown_name,
)
from firth.train.teacher import TEACHER, Teacher, build_teacher, teacher_inputs

Architecture = Literal["bi-encoder", "cross-encoder"]
STUDENT = Stage("student", 1, extra="torch", command="firth train distill")
CROSS_ENCODER = Stage("cross-encoder", 1, extra="torch", command="firth train distill")
_MADE = ("static", "transformer", "layers")
_LOOKS, _WARMUP, _CHECKPOINT_STEPS = 10, 0.1, 200


class Distilled(TrainedFolder):
    """A trained student; its report holds agreement with the teacher and the decision."""


def distill(
    run: str | Path | Run,
    *,
    base: str | None = None,
    objective: Literal["similarity-matrix", "pairs"] | None = None,
    teacher: str | None = None,
    architecture: Architecture = "bi-encoder",
    epochs: int | None = None,
    executor: Executor | None = None,
) -> Distilled:
    """Train a student of a run's scorer, or of another teacher, in the folder of the run.

    What is not given is taken from the settings `distill`, and what is given goes into them.

    Args:
        run: A run that `firth build` has built.
        base: `static`, `transformer`, `layers`, or folder or hub name of an encoder.
        objective: `similarity-matrix`, or `pairs`, which the run's scorer scores first.
        teacher: Another run, or folder or hub name of an encoder (similarity-matrix).
        architecture: A cross-encoder reads both texts at once, and learns from pairs.
        epochs: Passes over sentences or pairs.
        executor: Who scores pairs. Processes that torchrun started share the training, where
            `distill.micro_batches` says in how many parts.

    Raises:
        MissingStageError: The run is not built far enough.
        ConfigError: A setting is out of range.
        InputError: The settings contradict each other; base or teacher cannot be opened.
    """
    cross = architecture == "cross-encoder"
    given = {"base": base, "teacher": teacher, "epochs": epochs}
    given["objective"] = "pairs" if cross else objective
    changes = {name: value for name, value in given.items() if value is not None}
    opened = Run.open(run).changed({"distill": changes})
    settings = opened.settings.distill
    check_settings(settings, cross)
    if passes(settings) == 0:
        raise InputError(
            "a static student of the run's scorer shares its word vectors and needs no "
            "training: it is RUN/encoder. Set distill.epochs to train it all the same, or name a "
            "teacher or another base"
        )

    def prepare() -> None:
        if settings.base in ("static", "transformer"):
            build_tokenizer(opened)
        build_questions(opened)
        if settings.objective == "pairs":
            score_pairs(opened, executor=executor)
        else:
            build_teacher(opened)

    first(prepare)
    outcome = build_student(opened, cross)
    return Distilled.open(opened.folder(CROSS_ENCODER if cross else STUDENT), outcome.reused)


def check_settings(settings: DistillSettings, cross: bool) -> None:
    """Raise `InputError` where settings of a distillation contradict each other."""
    problems = []
    if settings.objective == "pairs" and settings.teacher is not None:
        problems.append("distill.teacher teaches by similarity-matrix, and pairs by the run alone")
    if cross and settings.base in ("static", "layers"):
        problems.append(f"a cross-encoder is no {settings.base}; expected transformer or a name")
    if cross and settings.calibration == "match":
        problems.append("distill.calibration match needs cosines, and a cross-encoder has none")
    if problems:
        raise InputError("; ".join(problems))


def passes(settings: DistillSettings) -> int:
    """Return the epochs: as set, else what suits base, objective and teacher."""
    if settings.epochs is not None:
        return settings.epochs
    if settings.base == "static" and settings.objective == "similarity-matrix":
        return 0 if settings.teacher is None else 8
    return 2


def build_student(run: Run, cross: bool = False) -> Outcome:
    """Bring the stage of the student up to date; see `distill`."""
    settings = run.settings.distill
    by_pairs = settings.objective == "pairs"
    reads = [QUESTIONS, PAIRS if by_pairs else TEACHER]
    reads += {
        "static": [WORDS, BLEND, TOKENIZER], "transformer": [TOKENIZER], "layers": [PRETRAINED]
    }.get(settings.base, [])  # fmt: skip
    paths = ["seed", "distill", *Scorer.settings(run)]
    if settings.teacher is None and not by_pairs:
        reads += Scorer.reads(run)
    inputs = {"corpus": Corpus.open(run).digest, **teacher_inputs(run)}
    if settings.base not in _MADE:
        inputs["base"] = PretrainedFiles.find(settings.base).fingerprint

    def fill(seen: Run, workspace: Path) -> Mapping[str, Any]:
        pairs = seen.folder(PAIRS) if by_pairs else None
        return train_student(
            seen, workspace, seen.settings.distill, cross, pairs, open_questions(seen)
        )

    stage = CROSS_ENCODER if cross else STUDENT
    reads = list(dict.fromkeys(reads))
    return build_together(run, stage, fill, reads=reads, settings=paths, inputs=inputs)


def train_student(
    run: Run,
    workspace: Path,
    settings: DistillSettings,
    cross: bool,
    pairs: Path | None,
    questions: Sequence[Question],
) -> Mapping[str, Any]:
    """Train a student, and write it with report and card into the workspace of a stage.

    Args:
        run: The run.
        workspace: Folder of the stage.
        settings: How to learn.
        cross: Whether the student is a cross-encoder.
        pairs: Folder of scored pairs; None learns the similarity matrices of the run's teacher.
        questions: Label-free questions, by which a student that became worse is rejected. Without
            questions, and for a cross-encoder, agreement with the teacher alone decides.

    Returns:
        The summary of the stage.
    """
    scratch, static = workspace / SCRATCH, settings.base == "static"
    batch = settings.batch or (256 if static else 64)
    rate = settings.learning_rate or (5e-4 if settings.base in _MADE else 2e-5)
    parts = 1 if static else settings.micro_batches
    purpose = "matrices" if pairs is None else "distillation"
    seed = derive_seed(run.settings.seed, "surrogate", purpose)
    where = torch.device("cpu") if static else device()
    with quiet_libraries():
        torch.manual_seed(derive_seed(run.settings.seed, "surrogate", "weights"))
        student = open_student(run, settings, cross, scratch / "start")
        student.module.to(where)
        objective: SimilarityMatrix | PairLabels
        if pairs is not None:
            kind = settings.calibration or ("match" if static else "quantile")
            objective = PairLabels(student, pairs, kind, batch, parts, seed)
        else:
            assert isinstance(student, BiEncoder)
            objective = SimilarityMatrix(student, Teacher.open(run), batch, parts, seed)
        before = objective.figures()
        asked = () if cross else questions
        answers = answer(student, asked)
        write_tensors(scratch / "start.safetensors", student.module.state_dict())
        best = Best(student.module, objective.agreement, scratch, "spearman")
        steps = passes(settings) * objective.batches.epoch_steps
        schedule = Schedule(
            steps=steps,
            rate=rate,
            warmup=int(_WARMUP * steps),
            checkpoint_steps=_CHECKPOINT_STEPS,
            seed=seed,
            report_steps=-(-steps // _LOOKS),
            bfloat16=not static and has_bfloat16(where),
            micro_batches=parts,
        )
        history = train(
            objective.module.to(where), objective.batches, objective.loss, schedule, scratch,
            "Distilling", best.look, lambda past: best.stalled(past, settings.patience),
        )  # fmt: skip
        best.restore()
        decision = None
        if best.step and asked:
            changed = answer(student, asked)
            decision = decide(answers, changed, must_gain=False, seed=run.settings.seed)
            if not decision.accepted:
                student.module.load_state_dict(load_file(scratch / "start.safetensors"))
        after = objective.figures()
    report: dict[str, Any] = {
        "base": shown_name(settings.base),
        "objective": settings.objective,
        "teacher": objective.teacher,
        "settings": {"batch": batch, "learning_rate": rate, "epochs": passes(settings)}
        | {"seed": run.settings.seed},
        "parameters": sum(each.numel() for each in student.module.parameters()),
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
    title = f"A {'cross-encoder' if cross else 'sentence encoder'}, distilled with firth"
    save_trained(workspace, student.module, title, report)
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
    unit = "pairs" if report["objective"] == "pairs" else "sentences"
    lines = [
        f"Start: {report['base']}. Teacher: {report['teacher']}. Objective: {report['objective']} "
        f"of {sizes['train']:,} {unit}.",
        f"{settings['epochs']} epochs in batches of {settings['batch']}, peak learning rate "
        f"{settings['learning_rate']:g}, seed {settings['seed']}. Step {report['step']:,} of "
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

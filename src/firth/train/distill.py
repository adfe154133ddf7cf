"""Distillation: an encoder learns the similarities of a slower teacher, and is kept if no worse.

The default static encoder of a run needs no training (`firth.encoders.static.build_static`). Here
students are trained: static ones, Transformers, layers of the run's language model, any pretrained
encoder, and cross-encoders.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from safetensors.torch import load_file

from firth.corpus.corpus import Corpus
from firth.corpus.tokenizer import TOKENIZER, build_tokenizer
from firth.encoders.folder import PretrainedFiles
from firth.encoders.pretrained import PRETRAINED, open_run_encoder
from firth.encoders.static import build_static
from firth.encoders.transformer import open_cross_encoder, open_sentence_transformer
from firth.encoders.words import WORDS, WordSpace
from firth.evaluate.compare import answer, decide
from firth.evaluate.questions import QUESTIONS, Question, build_questions, open_questions
from firth.run.console import quiet_libraries, table
from firth.run.errors import InputError
from firth.run.executor import Executor
from firth.run.files import read_json, write_json
from firth.run.run import Run
from firth.run.seeds import derive_seed
from firth.run.settings import DistillSettings
from firth.run.stage import SCRATCH, Outcome, Stage
from firth.scorer.blend import BLEND, Blend
from firth.scorer.scorer import Scorer
from firth.train.loop import (
    Best,
    History,
    Schedule,
    device,
    has_bfloat16,
    train,
    write_weights,
)
from firth.train.objectives import ALL, HELD_OUT, PairLabels, SimilarityMatrix
from firth.train.pairs import PAIRS, score_pairs
from firth.train.students import (
    REPORT,
    BiEncoder,
    PairEncoder,
    TrainedFolder,
    explicit_attention,
    freeze_words,
    layers_of_language_model,
    markdown,
    mean_pooled,
    open_static,
    save_model,
    shown_name,
    transformer_from_scratch,
    write_card,
)
from firth.train.teacher import TEACHER, Teacher, build_teacher, teacher_inputs

Architecture = Literal["bi-encoder", "cross-encoder"]
STUDENT = Stage("student", 1, extra="torch", command="firth train distill")
CROSS_ENCODER = Stage("cross-encoder", 1, extra="torch", command="firth train distill")
_MADE = ("static", "transformer", "layers")
_LOOKS = 10
_WARMUP = 0.1
_CHECKPOINT_STEPS = 200
_FEW = 200


class Distilled(TrainedFolder):
    """A trained student; its report holds settings, agreement with the teacher, and the check."""

    def text(self) -> str:
        """Return the report for a screen."""
        return "\n".join(
            [table(agreement_rows(self.report)), *self.report["notes"], str(self.path)]
        )


def distill(
    run: str | Path | Run,
    *,
    base: str | None = None,
    objective: Literal["similarity-matrix", "pairs"] | None = None,
    teacher: str | None = None,
    architecture: Architecture = "bi-encoder",
    epochs: int | None = None,
    batch: int | None = None,
    learning_rate: float | None = None,
    executor: Executor | None = None,
) -> Distilled:
    """Train a student of a run's scorer, or of another teacher, in the folder of the run.

    Settings that are not given are those of the run.

    Args:
        run: A run that `firth build` has built.
        base: `static`, `transformer`, `layers`, or folder or hub name of an encoder.
        objective: `similarity-matrix`, or `pairs`, which the run's scorer scores first.
        teacher: Another run, or folder or hub name of an encoder (similarity-matrix).
        architecture: A cross-encoder reads both texts at once, and learns from pairs.
        epochs: Passes over sentences or pairs.
        batch: Sentences or pairs in a step.
        learning_rate: Peak of Adam's rate.
        executor: Who lets the teacher read and score. One process learns, or those of torchrun.

    Raises:
        MissingStageError: The run is not built far enough.
        ConfigError: A setting is out of range.
        InputError: The settings contradict each other; base or teacher cannot be opened.
    """
    cross = architecture == "cross-encoder"
    given = {
        "base": base,
        "objective": "pairs" if cross else objective,
        "teacher": teacher,
        "epochs": epochs,
        "batch": batch,
        "learning_rate": learning_rate,
    }
    changes = {name: value for name, value in given.items() if value is not None}
    opened = Run.open(run).changed({"distill": changes})
    settings = opened.settings.distill
    check_settings(settings, architecture)
    if passes(settings) == 0:
        raise InputError(
            "A static student of the run's own scorer shares its word vectors, and needs no "
            "training: it is RUN/encoder. To train it all the same, set distill.epochs; or name a "
            "teacher or another base."
        )
    if settings.base == "transformer":
        build_tokenizer(opened)
    build_questions(opened)
    if settings.objective == "pairs":
        score_pairs(opened, executor=executor)
    else:
        build_teacher(opened, executor)
    outcome = build_student(opened, architecture)
    folder = opened.folder(CROSS_ENCODER if cross else STUDENT)
    return Distilled(folder, read_json(folder / REPORT), outcome.reused)


def build_student(run: Run, architecture: Architecture = "bi-encoder") -> Outcome:
    """Bring the stage of the student up to date; see `distill`."""
    settings = run.settings.distill
    own = settings.teacher is None
    reads = [QUESTIONS, PAIRS if settings.objective == "pairs" else TEACHER]
    paths = ["seed", "distill", "corpus", "encoder"]
    inputs = {"corpus": Corpus.open(run).digest}
    if settings.base == "transformer":
        reads.append(TOKENIZER)
    if settings.base == "static":
        reads += [WORDS, BLEND, TOKENIZER]
    if settings.base == "layers" or (own and run.has(PRETRAINED)):
        reads.append(PRETRAINED)
    if own and settings.objective == "similarity-matrix":
        reads += Scorer.reads(run)
        paths += Scorer.settings(run)
    else:
        inputs |= teacher_inputs(run)
    if settings.base not in _MADE:
        inputs["base"] = PretrainedFiles.find(settings.base).fingerprint

    def fill(seen: Run, workspace: Path) -> Mapping[str, Any]:
        pairs = seen.folder(PAIRS) if settings.objective == "pairs" else None
        return train_student(
            seen, workspace, seen.settings.distill, architecture, pairs, open_questions(seen)
        )

    stage = CROSS_ENCODER if architecture == "cross-encoder" else STUDENT
    return run.build(stage, fill, reads=list(dict.fromkeys(reads)), settings=paths, inputs=inputs)


def check_settings(settings: DistillSettings, architecture: Architecture) -> None:
    """Raise `InputError` where settings of a distillation contradict each other."""
    pairs = settings.objective == "pairs"
    problems = []
    if pairs and settings.teacher is not None:
        problems.append("distill.teacher teaches by similarity-matrix, and pairs by the run alone")
    if pairs and settings.base == "layers":
        problems.append("distill.base layers learns by similarity-matrix alone")
    if architecture == "cross-encoder" and settings.base in ("static", "layers"):
        problems.append(
            f"a cross-encoder cannot be {settings.base}: expected transformer or a name"
        )
    if architecture == "cross-encoder" and settings.calibration == "match":
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


def train_student(
    run: Run,
    workspace: Path,
    settings: DistillSettings,
    architecture: Architecture,
    pairs: Path | None,
    questions: Sequence[Question],
) -> Mapping[str, Any]:
    """Train a student, and write it with report and card into a workspace.

    Args:
        run: The run.
        workspace: Folder of the stage.
        settings: How to learn.
        architecture: What the student is.
        pairs: Folder of scored pairs; None learns similarity matrices of the run's teacher.
        questions: Label-free questions, by which a student that became worse is rejected. Without
            questions, and for a cross-encoder, agreement with the teacher alone decides.

    Returns:
        The summary of the stage.
    """
    scratch = workspace / SCRATCH
    scratch.mkdir(exist_ok=True)
    static = settings.base == "static"
    batch = settings.batch or (256 if static else 64)
    rate = settings.learning_rate or (5e-4 if settings.base in _MADE else 2e-5)
    parts = 1 if static else settings.micro_batches
    with quiet_libraries():
        student = open_student(run, settings, architecture, scratch)
        objective: SimilarityMatrix | PairLabels
        if pairs is not None:
            seed = derive_seed(run.settings.seed, "surrogate", "distillation")
            calibration = settings.calibration or ("match" if static else "quantile")
            objective = PairLabels(student, pairs, calibration, batch, parts, seed)
        else:
            assert isinstance(student, BiEncoder)
            seed = derive_seed(run.settings.seed, "surrogate", "matrices")
            objective = SimilarityMatrix(student, Teacher.open(run), batch, parts, seed)
        before = objective.figures()
        asked = questions if isinstance(student, BiEncoder) else ()
        answers = answer(student, asked)
        write_weights(student.module, scratch / "start.safetensors")
        where = torch.device("cpu") if static else device()
        objective.module.to(where)
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
        history: History = []
        with explicit_attention(student.module, where):
            history = train(
                objective.module, objective.batches, objective.loss, schedule, scratch,
                "Distilling", best.look, lambda past: best.stalled(past, settings.patience),
            )  # fmt: skip
        best.restore()
        student.module.to("cpu").eval()
        decision = None
        if best.step and asked:
            changed = answer(student, asked)
            decision = decide(answers, changed, must_gain=False, seed=run.settings.seed)
            if not decision.accepted:
                student.module.load_state_dict(load_file(scratch / "start.safetensors"))
        after = objective.figures()
        save_model(student.module, workspace)
    report: dict[str, Any] = {
        "architecture": architecture,
        "base": shown_name(settings.base),
        "objective": "similarity-matrix" if pairs is None else "pairs",
        "teacher": objective.teacher,
        "settings": {"epochs": passes(settings), "batch": batch, "learning_rate": rate}
        | {"seed": run.settings.seed},
        "parameters": sum(each.numel() for each in student.module.parameters()),
        "sizes": objective.sizes,
        "before": before,
        "after": after,
        "step": best.step,
        "steps": steps,
        "looks": best.looks(history),
        "decision": None if decision is None else asdict(decision),
    }
    report["notes"] = notes_of(report)
    write_json(workspace / REPORT, report)
    _card(workspace, report)
    kept = ("base", "teacher", "sizes", "step", "steps", "notes")
    figures = {when: {s: report[when][s][ALL] for s in HELD_OUT} for when in ("before", "after")}
    return {name: report[name] for name in kept} | figures


def open_student(
    run: Run, settings: DistillSettings, architecture: Architecture, scratch: Path
) -> BiEncoder | PairEncoder:
    """Return the student before training; its parts are written into `scratch`.

    Raises:
        InputError: The base cannot be opened, or is not what it must be.
    """
    torch.manual_seed(derive_seed(run.settings.seed, "surrogate", "weights"))
    folder, base = scratch / "start", settings.base
    if base == "transformer":
        transformer_from_scratch(run, settings, folder)
        base = str(folder)
    if architecture == "cross-encoder":
        model = open_cross_encoder(base)
        if model.num_labels != 1:
            raise InputError(
                f"distill.base: {base} is a classifier of {model.num_labels} classes. Expected an "
                "encoder, or a cross-encoder with one output."
            )
        return PairEncoder(model)
    if base == "static":
        space, blend = WordSpace.load(run.folder(WORDS)), Blend.load(run.folder(BLEND))
        build_static(run, space, blend.spelling_weight, folder)
        return BiEncoder(open_static(folder))
    if base == "layers":
        encoder = open_run_encoder(run)
        layers_of_language_model(encoder, settings.max_tokens, folder)
        return BiEncoder(freeze_words(mean_pooled(folder)))
    if base == str(folder):
        return BiEncoder(mean_pooled(folder))
    return BiEncoder(open_sentence_transformer(base))


def notes_of(report: Mapping[str, Any]) -> list[str]:
    """Return what a reader of the figures of a report must know."""
    notes = []
    if report["decision"]:
        kept = "The student" if report["decision"]["accepted"] else "The start"
        notes.append(f"{kept} was kept. Label-free questions: {report['decision']['reason']}.")
    elif not report["step"]:
        notes.append(
            "The student never agreed with the teacher better than its start, which was kept. "
            "Another learning rate or more text may teach more."
        )
    for split in HELD_OUT:
        all_pairs = report["after"][split][ALL]
        if all_pairs["n"] < _FEW:
            notes.append(f"{split} has {all_pairs['n']} pairs, so its figures are rough.")
        if all_pairs.get("l2", 0.0) > all_pairs.get("constant_l2", np.inf):
            notes.append(f"On {split} the student's error is not below that of a constant.")
    return notes


def agreement_rows(report: Mapping[str, Any]) -> list[list[str]]:
    """Return the table of a report: rank correlation with the teacher before and after."""
    rows = [["pairs", "n", "before", "after"]]
    for split in HELD_OUT:
        for kind, after in report["after"][split].items():
            both = (report["before"][split][kind]["spearman"], after["spearman"])
            shown = ["undefined" if value is None else f"{100 * value:.1f}" for value in both]
            rows.append([f"{split}, {kind}", f"{after['n']:,}", *shown])
    return rows


def _card(workspace: Path, report: Mapping[str, Any]) -> None:
    settings, sizes = report["settings"], report["sizes"]
    unit = "sentences" if report["objective"] == "similarity-matrix" else "pairs"
    agreement = (
        f"{markdown(agreement_rows(report))}\n\nRank correlation with the teacher x 100 on held-out "
        f"{unit}, before and after training. It says how faithful the copy is, not how good the "
        "teacher is.\n\n" + "\n\n".join(report["notes"])
    )
    made = (
        f"Start: {report['base']}. Teacher: {report['teacher']}. Objective: {report['objective']} on "
        f"{sizes['train']:,} {unit}, {settings['epochs']} epochs in batches of {settings['batch']}, "
        f"peak learning rate {settings['learning_rate']:g}, seed {settings['seed']}. Step "
        f"{report['step']:,} of {report['steps']:,} agreed best with the teacher on dev."
    )
    summary = f"A {report['architecture']} distilled with firth. No human judged a pair for it."
    sections = {"Agreement with the teacher": agreement, "How it was made": made}
    cross = report["architecture"] == "cross-encoder"
    write_card(workspace, "Sentence similarity, distilled", summary, sections, cross=cross)

"""The default way: a student learns whom each sentence of a batch is like; start, report."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from firth.check.build import open_items
from firth.context import CONTEXT
from firth.corpus.corpus import Corpus
from firth.harvest.labels import SAMPLE, label_report, told
from firth.run.files import write_json, write_text
from firth.run.progress import note
from firth.run.quiet import quiet_libraries
from firth.run.run import Run
from firth.run.seeds import derive_seed
from firth.run.stage import SCRATCH
from firth.surrogate.checked import START
from firth.surrogate.checked import told as told_of
from firth.surrogate.harmless import Start
from firth.surrogate.layers import freeze_words
from firth.surrogate.matrices import (
    FITTED,
    HeldOut,
    encode,
    fitted_map,
    train_student,
    with_dense,
)
from firth.surrogate.meaning import meaning
from firth.surrogate.report import (
    ALL,
    CARD,
    HELD_OUT,
    REPORT,
    counted,
    model_card,
    notes,
    settings_shown,
)
from firth.surrogate.settings import Architecture, BaseKind, Way
from firth.surrogate.smaller import halve, save, sizes, turn
from firth.surrogate.start import build_start
from firth.surrogate.teacher import Teacher


def fill(run: Run, workspace: Path) -> Mapping[str, Any]:
    """Distil a teacher into `workspace`; the summary."""
    config, seed = run.config.surrogate, derive_seed(run.config.seed, "surrogate", "matrices")
    scratch = workspace / SCRATCH
    scratch.mkdir(exist_ok=True)
    teacher = Teacher.open(run)
    parts = teacher.parts(config.learned)
    held = {
        split: HeldOut.of(teacher, parts[split], derive_seed(seed, split)) for split in HELD_OUT
    }
    worth = _worth(teacher, held["dev"])
    for warning in worth["warnings"]:
        note(warning)
    with quiet_libraries():
        model, learned = build_start(run, scratch, run.has(CONTEXT))
        if config.kind is BaseKind.LAYERS:
            fitted = fitted_map(model, teacher, parts["train"])
            model = model if fitted is None else with_dense(model, fitted)
            freeze_words(model)
        before = {split: one.figures(encode(model, one.texts)) for split, one in held.items()}
        start = Start(model, open_items(run), scratch) if config.passes(Way.MATRICES) else None
        history, chosen = train_student(
            model, teacher, parts["train"], held["dev"], config, seed, scratch
        )
        check = start.judge(run.config.seed) if start and chosen["step"] else None
        if start and check and check["kept"] == START:
            start.restore()
            chosen = {**chosen, "step": 0}
        usual = [teacher.texts[n] for n in parts["train"][:FITTED].tolist()]
        turn(model, usual)
        halve(model)
        after = {split: one.figures(encode(model, one.texts)) for split, one in held.items()}
        smaller = sizes(model, held["test"])
        corpus = Corpus.open(run)
        scale = meaning(model, corpus, seed)
        save(model, workspace)

    report: dict[str, Any] = {
        "architecture": Architecture.BI_ENCODER.value,
        "way": Way.MATRICES.value,
        "settings": settings_shown(config, Way.MATRICES, run.config.seed),
        "corpus": counted(corpus),
        "teacher": teacher.name,
        "model": {
            "dimensions": model.get_embedding_dimension(),
            "parameters": sum(parameter.numel() for parameter in model.parameters()),
        },
        "sentences": {split: len(numbers) for split, numbers in parts.items()},
        "labels": worth,
        "before": before,
        "after": after,
        "chosen": chosen,
        "check": check,
        "sizes": smaller,
        "scale": scale,
        "history": {"start": learned, "distillation": history},
    }
    report["notes"] = notes(report)
    write_json(workspace / REPORT, report)
    write_text(workspace / CARD, model_card(report))
    return {
        "base": report["settings"]["base"],
        "teacher": teacher.name,
        "sentences": report["sentences"],
        "labels": told(worth),
        "before": {split: before[split][ALL] for split in HELD_OUT},
        "after": {split: after[split][ALL] for split in HELD_OUT},
        "check": None if check is None else told_of(check),
        "notes": report["notes"],
    }


def _worth(teacher: Teacher, held: HeldOut) -> dict[str, Any]:
    """What the teacher's similarities are worth as labels, of held-out pairs."""
    some = np.linspace(0, len(held.scores) - 1, min(SAMPLE, len(held.scores))).astype(np.int64)
    one, two = held.rows[:, some]
    parts = {name: found[one, two] for name, found in teacher.parts_of(held.texts).items()}
    pairs = held.pairs
    return label_report([pairs[n] for n in some.tolist()], held.scores[some], parts)

"""Every training of firth that processes can share, one after the other; also as a program, which
torchrun starts (`tests/run/test_sharing.py`)."""

import shutil
import sys
from pathlib import Path

from firth.cli.main import main
from firth.context import CONTEXT
from firth.context.build import build_context
from firth.finetune.finetune import finetune
from firth.paper.coherence import COHERENCE
from firth.paper.coherence.build import train_coherence
from firth.paper.generation import GENERATOR
from firth.paper.generation.build import train_generator
from firth.run import sharing
from firth.run.run import Run
from firth.run.stage import Stage
from firth.surrogate import CROSS_ENCODER, SURROGATE
from firth.surrogate.distill import build_cross_encoder, build_surrogate
from firth.surrogate.teacher import build_teacher


def train_all(folder: Path) -> None:
    """Train in `folder`, which holds `run` (a tiny run), `bert`, `llm` and `pairs.csv`; under
    `made` is kept what came of each stage, under `tuned` are fine-tuned models."""
    base, run = str(folder / "bert"), Run.open(folder / "run")

    def keep(stage: Stage, name: str | None = None) -> None:
        if not sharing.rank():
            shutil.copytree(run.folder(stage), folder / "made" / (name or stage.name))

    run = run.changed({"coherence": {"parts": 2}})
    train_coherence(run)
    keep(COHERENCE)
    run = run.changed({"generator": {"accumulate": 2, "shared": False}})
    train_generator(run)
    keep(GENERATOR)
    # Its words have no setting to share them by: the first process learns them alone.
    words = {"bag": {"dimensions": 12, "epochs": 1, "batch": 32}, "contexts": 20}
    model = {"encoder": "causal-lm", "model": str(folder / "llm"), "precision": "float32"}
    run = run.changed({"context": words | model | {"tune": {"parts": 2}}})
    build_context(run)
    keep(CONTEXT)
    run = run.changed({"surrogate": {"base": base, "way": "paper", "parts": 2}})
    build_surrogate(run)
    keep(SURROGATE, "of pairs")
    run = run.changed({"surrogate": {"way": "matrices", "teacher": base, "near": 2}})
    build_teacher(run)
    for start in (base, "transformer"):
        run = run.changed({"surrogate": {"base": start}})
        build_surrogate(run)
        keep(SURROGATE, f"of matrices, {Path(start).name}")
    run = run.changed({"cross_encoder": {"base": base, "parts": 2}})
    build_cross_encoder(run)
    keep(CROSS_ENCODER)
    for objective in ("l2", "cosent"):
        finetune("pairs", base, folder / "tuned" / objective, data=[folder / "pairs.csv"], share=0,
                 objective=objective, epochs=1, batch=8, learning_rate=1e-3, parts=2,
                 resamples=5)  # fmt: skip


if __name__ == "__main__":
    train_all(Path(sys.argv[1]))
    sys.argv[1:] = ["train", "generator", "--run", f"{sys.argv[1]}/run"]  # which is there: a line
    main()

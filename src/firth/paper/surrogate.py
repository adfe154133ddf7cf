"""The harvest, pairs that Origin scores, and the *Surrogate*, which learns them (§3.4, §5.6)."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from firth.corpus.tokenizer import TOKENIZER
from firth.encoders.folder import PretrainedFiles
from firth.encoders.pretrained import PRETRAINED
from firth.paper.origin import READS, Origin
from firth.paper.settings import PaperSettings, SurrogateSettings
from firth.run.executor import Executor
from firth.run.files import write_text
from firth.run.run import Run
from firth.run.seeds import derive_seed
from firth.run.settings import DistillSettings
from firth.run.stage import SCRATCH, Outcome, Stage
from firth.train.distill import train_student
from firth.train.pairs import score_pairs

HARVEST = Stage("paper/harvest", 1, "torch", "firth paper build --to harvest")
SURROGATE = Stage("paper/surrogate", 1, "torch", "firth paper build --to surrogate")
_READS = {"transformer": (TOKENIZER,), "layers": (PRETRAINED,)}
_PATIENCE = 1_000
"""Evaluations without a gain after which training stops: the paper trains to the end."""


def build_harvest(run: Run, executor: Executor | None = None) -> Outcome:
    """Let Origin score pairs of corpus sentences, as the settings `paper.harvest` say (§3.4).

    Scores are raw values of Eq. 4 in float64: as printed, they are so near 1 that float32 would
    make some of them equal. 98 % of the pairs are in `train.jsonl`, and 1 % each in `dev.jsonl` and
    `test.jsonl`. An interrupted build continues with the first missing shard.

    Args:
        run: A run with the stages that Origin reads.
        executor: Who scores shards. The bytes are the same.

    Raises:
        MissingStageError: A stage is not built.
        InputError: The corpus has too few sentences.
    """
    settings = run.wing("paper", PaperSettings)
    return score_pairs(
        run,
        Origin.open,
        stage=HARVEST,
        reads=READS,
        settings=[],
        inputs=settings.inputs("window", "precision", "retrieve", "contexts", "fits", "harvest"),
        pairs=settings.harvest,
        executor=executor,
    )


def train_surrogate(
    run: Run, settings: SurrogateSettings | None = None, stage: Stage = SURROGATE
) -> Outcome:
    """Distil the harvest of a run into a Transformer by the squared difference (§3.4).

    The stage is a folder that sentence-transformers opens, with a report and a card. Its report has
    the squared error on dev and test, that of a constant, and the rank correlation with Origin.

    Args:
        run: A run with a harvest.
        settings: By default the settings `paper.surrogate`.
        stage: By default the Surrogate of the run; another name keeps a variant of it.

    Raises:
        MissingStageError: The run has no harvest, or lacks what the base is made from.
        InputError: The base cannot be opened, or all scores are equal.
    """
    chosen = settings or run.wing("paper", PaperSettings).surrogate
    inputs = PaperSettings(surrogate=chosen).inputs("surrogate")
    if chosen.base not in _READS:
        inputs["base"] = PretrainedFiles.find(chosen.base).fingerprint

    def fill(seen: Run, workspace: Path) -> Mapping[str, Any]:
        pairs = seen.folder(HARVEST)
        if chosen.pairs is not None:
            some = workspace / SCRATCH / "pairs"
            sample_pairs(pairs, some, chosen.pairs, seen.settings.seed)
            pairs = some
        student = DistillSettings(
            **chosen.model_dump(exclude={"structure", "pairs"}), objective="pairs",
            patience=_PATIENCE,
        )  # fmt: skip
        cross = chosen.structure == "cross-encoder"
        return train_student(seen, workspace, student, cross, pairs, ())

    reads = [HARVEST, *_READS.get(chosen.base, ())]
    return run.build(stage, fill, reads=reads, settings=["seed", "encoder"], inputs=inputs)


def sample_pairs(harvest: Path, folder: Path, count: int, seed: int) -> None:
    """Write a harvest with the first `count` training pairs of one shuffled order (Table 7).

    Fewer pairs are a part of more. The held-out pairs are all there.
    """
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(harvest, folder)
    lines = (harvest / "train.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    rng = np.random.default_rng(derive_seed(seed, "reproduce", "harvest"))
    chosen = np.sort(rng.permutation(len(lines))[:count])
    write_text(folder / "train.jsonl", "".join(lines[row] for row in chosen.tolist()))

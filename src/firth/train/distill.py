"""Distillation: an encoder learns the similarities of a slower one, and is kept if no worse."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from firth.corpus.corpus import Corpus
from firth.encoders.encoder import UnitEncoder
from firth.encoders.folder import PretrainedFiles
from firth.encoders.kinds import find_encoder
from firth.encoders.static import STATIC
from firth.evaluation.compare import answer, decide
from firth.evaluation.questions import QUESTIONS, build_questions, open_questions
from firth.run.console import progress
from firth.run.errors import InputError
from firth.run.files import write_atomically
from firth.run.run import Run
from firth.run.settings import derive_seed
from firth.run.stage import SCRATCH, Stage
from firth.text.types import Ints, Singles, unit
from firth.train.exclusions import Exclusions
from firth.train.loop import build_together, first
from firth.train.objectives import SimilarityMatrix
from firth.train.settings import DistillSettings
from firth.train.students import BiEncoder, Plan, TrainedFolder, is_static, train_student

STUDENT = Stage("student", 4, extra="torch", command="firth train distill")
_FEWEST, _HELD_OUT, _SHARD = 60, 1_000, 2_048
"""Fewest sentences, held-out ones of each split at most, and sentences that are read at once."""
_WORDS = (3, 40)
"""Fewest and most words of a sentence."""


def distill(
    run: str | Path | Run, teacher: str, *, base: str | Path | None = None
) -> TrainedFolder:
    """Train a student of an encoder on sentences of a run, in the folder of the run.

    The settings `distill` of the run say how. A student that answers label-free questions worse
    than its start is rejected.

    Args:
        run: A run that `firth build` has built.
        teacher: Folder or name of an encoder.
        base: Folder or name of the encoder that learns. By default the run's learned static model.

    Raises:
        MissingStageError: The run is not built far enough.
        InputError: Base or teacher cannot be opened, or there is too little text.
    """
    opened = Run.open(run)
    start = str(opened.folder(STATIC) if base is None else base)
    settings, found = opened.wing("distill", DistillSettings), find_encoder(teacher)
    first(lambda: build_questions(opened))
    inputs = {
        "corpus": Corpus.open(opened).digest,
        "teacher": found.fingerprint,
        "base": PretrainedFiles.find(start).fingerprint,
    }

    def fill(seen: Run, workspace: Path) -> Mapping[str, Any]:
        corpus, seed = Corpus.open(seen), derive_seed(seen.settings.seed, "distill")
        chosen = choose_sentences(corpus, settings.sentences, Exclusions.load(), seed)
        texts = list(corpus.texts(chosen))
        vectors = teacher_vectors(found.open(), texts, workspace / SCRATCH)
        held = min(_HELD_OUT, len(texts) // 20)
        rows = np.arange(len(texts))
        splits = {"dev": rows[:held], "test": rows[held : 2 * held], "train": rows[2 * held :]}
        questions, before = open_questions(seen), []

        def opened_student() -> BiEncoder:
            student = BiEncoder.open(start)
            before.append(answer(student, questions))
            return student

        def accepted(student: BiEncoder, restore: Callable[[], None]) -> str:
            if not questions:
                return ""
            seed = seen.settings.seed
            decision = decide(before[0], answer(student, questions), seed)
            if not decision.accepted:
                restore()
            kept = "The student" if decision.accepted else "The start"
            return f"{kept} was kept. Label-free questions: {decision.reason}."

        def objective(student: BiEncoder) -> SimilarityMatrix:
            return SimilarityMatrix(
                student, Path(teacher).name, texts, vectors, splits, plan.batch, seed
            )

        static = is_static(BiEncoder.open(start).module)
        plan = Plan(
            base=start,
            epochs=settings.epochs,
            batch=256 if static else 64,
            rate=5e-4 if static else 2e-5,
        )
        return train_student(workspace, plan, seed, opened_student, objective, accepted)

    outcome = build_together(
        opened, STUDENT, fill, reads=[QUESTIONS], settings=["seed", "distill"], inputs=inputs
    )
    return TrainedFolder.open(opened.folder(STUDENT), outcome.reused)


def choose_sentences(corpus: Corpus, most: int, excluded: Exclusions, seed: int) -> Ints:
    """Return at most `most` sentences of 3 to 40 words in random order, without evaluation data."""
    counts = np.asarray(corpus.word_counts)
    usual = np.flatnonzero((counts >= _WORDS[0]) & (counts <= _WORDS[1])).astype(np.int64)
    np.random.default_rng(seed).shuffle(usual)
    chosen = excluded.distinct(corpus, usual[:most])
    if len(chosen) < _FEWEST:
        raise InputError(
            f"the corpus has {len(chosen)} different sentences of {_WORDS[0]} to {_WORDS[1]} words "
            f"that are no evaluation data; distilling needs {_FEWEST} or more"
        )
    return chosen


def teacher_vectors(encoder: UnitEncoder, texts: list[str], scratch: Path) -> Singles:
    """Return the unit vectors of texts, (n, d); a reading that was stopped continues."""
    shards: list[npt.NDArray[Any]] = []
    for number in progress(range(-(-len(texts) // _SHARD)), "Reading with the teacher"):
        file = scratch / f"vectors-{number:05}.npy"
        if not file.is_file():
            vectors = encoder.encode(texts[number * _SHARD :][:_SHARD]).astype(np.float16)
            with write_atomically(file) as partial, partial.open("wb") as stream:
                np.save(stream, vectors)
        shards.append(np.load(file))
    return unit(np.concatenate(shards).astype(np.float64)).astype(np.float32)

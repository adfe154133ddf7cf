"""The index stage: vectors of all sentences, their codes, and lists of words."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from firth.corpus import CORPUS
from firth.corpus.library import Library
from firth.index import INDEX
from firth.index.codes import Turn
from firth.index.encoder import TextEncoder
from firth.index.index import CODES, ENCODER, VECTORS
from firth.index.vectors import SHARD, Stacked, open_array, write_vectors
from firth.index.words import MOST_SENTENCES, write_lists
from firth.run.engine import HERE, Engine
from firth.run.errors import InputError
from firth.run.files import write_json
from firth.run.mapped import create
from firth.run.model_files import PretrainedFiles
from firth.run.progress import track
from firth.run.run import Run
from firth.run.seeds import derive_seed
from firth.run.stage import SCRATCH, Outcome
from firth.surrogate import SURROGATE

ROWS = "rows.json"
_SAMPLE = 50_000
"""Vectors whose mean the codes are centred on."""


def build_index(run: Run, *, engine: Engine = HERE) -> Outcome:
    """Store the vectors of all sentences of a run, by its Surrogate or `index.model`.

    An interrupted call continues with the shard it was at.

    Args:
        run: The run.
        engine: Who encodes the sentences.

    Raises:
        MissingStageError: The run has no corpus, or no Surrogate and no other model is named.
        InputError: The model is refused or cannot be loaded, or there are more than
            `MOST_SENTENCES`.
    """
    if (count := len(Library.open(run))) > MOST_SENTENCES:
        raise InputError(
            f"{run.path}: got {count:,} sentences; an index has {MOST_SENTENCES:,} at most. "
            "Build several runs, each of a part of the documents"
        )
    model, reads, inputs = run.config.index.model, [CORPUS], {}
    if model is None:
        reads.append(SURROGATE)
    else:
        inputs["model"] = PretrainedFiles.find(model).fingerprint

    def fill(handed: Run, workspace: Path) -> Mapping[str, Any]:
        return _build(handed, workspace, engine)

    return run.build(
        INDEX, fill, reads=reads, settings=["seed"], places=["index.model"], inputs=inputs
    )


def _build(run: Run, workspace: Path, engine: Engine) -> Mapping[str, Any]:
    model = run.config.index.model
    library = Library.open(run)
    encoder = TextEncoder.open(model or run.folder(SURROGATE))
    files = PretrainedFiles.find(model) if model else None
    scratch = workspace / SCRATCH
    scratch.mkdir(exist_ok=True)

    def texts(start: int, end: int) -> Sequence[str]:
        return library.texts(np.arange(start, end))

    write_json(
        workspace / ENCODER,
        {
            "model": files.model if files else None,
            "files": dict(files.files) if files else {},
            "dimensions": encoder.dimensions,
        },
    )
    write_vectors(
        workspace / VECTORS,
        scratch / ROWS,
        encoder,
        texts,
        len(library),
        "Index: sentences",
        engine=engine,
    )
    vectors = Stacked([open_array(workspace / VECTORS)])
    chosen = np.linspace(0, len(vectors) - 1, min(_SAMPLE, len(vectors))).astype(np.int64)
    seed = derive_seed(run.config.seed, "index", "codes")
    turn = Turn.fit(vectors[chosen].astype(np.float32), seed)
    turn.save(workspace)
    write_codes(workspace, vectors, turn)
    batches = track(library.batches(), "Index: words")
    write_lists(workspace, (text for batch in batches for text in batch))
    return {
        "model": Path(encoder.name).name if model else "the run's Surrogate",
        "sentences": len(library),
        "dimensions": encoder.dimensions,
        "bytes": sum(path.stat().st_size for path in workspace.glob("*.npy")),
    }


def write_codes(folder: Path, vectors: Stacked, turn: Turn) -> None:
    """Write the codes of vectors, by column, into a folder."""
    words = turn.codes(np.zeros((1, vectors.shape[1]), np.float32)).shape[1]
    codes = create(folder / CODES, np.uint64, (words, len(vectors)))
    for start, block in vectors.blocks(SHARD):
        codes[:, start : start + len(block)] = turn.codes(block).T
    if isinstance(codes, np.memmap):
        codes.flush()

"""Part of a finished harvest: so many of its training pairs, all of its held-out ones."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from firth.harvest import HARVEST
from firth.reproduce.derived import Derived
from firth.run.files import write_atomically
from firth.run.run import Run
from firth.run.seeds import derive_seed
from firth.run.stage import Stage

_STAGE = Stage(HARVEST.name, ("reproduce/harvest_cut", "seeds"), HARVEST.command, ("pyarrow",))


def training_pairs(run: Run) -> int:
    """Training pairs of a run's harvest; raise `MissingStageError` if it has none."""
    return int(pq.read_metadata(run.folder(HARVEST) / "train.parquet").num_rows)


def with_training_pairs(run: Run, folder: str, count: int, changes: Mapping[str, Any]) -> Derived:
    """The run with the first `count` pairs of one shuffled order of its training pairs.

    Fewer pairs are a part of more, in the proportions of kinds of the whole harvest.

    Args:
        run: A run with a harvest.
        folder: Of the derived run, below `RUN/reproduce`.
        count: At most the training pairs there are.
        changes: Section → setting → value, laid over the configuration of the run.
    """
    derived = Derived(run, folder, changes)
    source = run.folder(HARVEST)

    def build(workspace: Path) -> Mapping[str, Any]:
        table = pq.read_table(source / "train.parquet")
        seed = derive_seed(run.config.seed, "reproduce", "harvest")
        chosen = np.sort(np.random.default_rng(seed).permutation(len(table))[:count])
        with write_atomically(workspace / "train.parquet") as partial:
            pq.write_table(table.take(pa.array(chosen)), partial, compression="zstd")
        for split in ("dev", "test"):
            shutil.copyfile(source / f"{split}.parquet", workspace / f"{split}.parquet")
        return {"train": count}

    inputs = run.inputs(HARVEST)
    derived.execute(_STAGE, inputs=inputs, config={"seed": run.config.seed, "train": count},
                    build=build)  # fmt: skip
    return derived

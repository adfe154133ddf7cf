"""Terms over shortlists as Parquet: one row a pair of sentences."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from firth.paper.fits import PairFits
from firth.paper.terms import Terms
from firth.run.files import write_atomically

_SIDES = ("own1", "own2", "cross1", "cross2")
_TERMS = ("coherence", "sentence", "left", "right")
SCHEMA = pa.schema(
    [
        ("sentence1", pa.string()),
        ("sentence2", pa.string()),
        ("slots1", pa.list_(pa.int64())),
        ("slots2", pa.list_(pa.int64())),
        *((f"{side}_{term}", pa.list_(pa.float32())) for side in _SIDES for term in _TERMS),
    ]
)
"""`own1` and `cross2` stand over `slots1`, `own2` and `cross1` over `slots2`."""


def write_fits(path: Path, fits: Sequence[PairFits]) -> None:
    """Write them atomically, in their order."""
    columns: dict[str, list[object]] = {
        name: [getattr(one, name) for one in fits]
        for name in ("sentence1", "sentence2", "slots1", "slots2")
    }
    for side in _SIDES:
        for term in _TERMS:
            columns[f"{side}_{term}"] = [getattr(getattr(one, side), term) for one in fits]
    with write_atomically(path) as partial:
        pq.write_table(pa.table(columns, schema=SCHEMA), partial, compression="zstd")


def read_fits(path: Path) -> list[PairFits]:
    """What `write_fits` wrote, to the last bit."""
    table = pq.read_table(path, schema=SCHEMA)
    columns = {name: table[name] for name in SCHEMA.names}

    def array(name: str, row: int) -> np.ndarray[tuple[int], np.dtype[np.generic]]:
        found: np.ndarray[tuple[int], np.dtype[np.generic]] = columns[name][row].values.to_numpy()
        return found

    def terms(side: str, row: int) -> Terms:
        return Terms(*(array(f"{side}_{term}", row).astype(np.float32) for term in _TERMS))

    return [
        PairFits(
            columns["sentence1"][row].as_py(),
            columns["sentence2"][row].as_py(),
            array("slots1", row).astype(np.int64),
            array("slots2", row).astype(np.int64),
            *(terms(side, row) for side in _SIDES),
        )
        for row in range(len(table))
    ]

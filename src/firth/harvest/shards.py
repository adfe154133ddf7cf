"""Shards, the unit of a harvest: a shard's key fixes its sentences, its random numbers, its bytes.

Whoever scores a shard, in whatever order and on whatever machine, makes the same table. An engine
(`firth.run.engine`), and the part of a harvest that it is given, only decide who scores which.
"""

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from firth.harvest.settings import HarvestConfig
from firth.run.files import write_atomically
from firth.run.progress import note

SCHEMA = pa.schema(
    [
        ("sentence1", pa.string()),
        ("sentence2", pa.string()),
        ("score", pa.float64()),
        ("kind", pa.string()),
        ("index1", pa.int64()),
        ("index2", pa.int64()),
        ("contexts1", pa.list_(pa.int64())),
        ("contexts2", pa.list_(pa.int64())),
        ("shard", pa.int32()),
    ]
)
"""`index*` and `contexts*` are numbers of corpus sentences: with the manifest's configuration they
are all that is needed to compute the row again. `contexts*` are empty where Origin compares the
fits into all contexts (method `ensemble`). Scores are float64: Eq. 4 as printed lies so near 1 that
in float32 different scores are one."""
PART = "part:"
"""Prefix of a shard's further columns, float64: what each component of Origin says of the pair. The
label report reads them; the harvest does not keep them."""
_KEY = b"firth.shard"


@dataclass(frozen=True)
class Shard:
    """Some pairs of a harvest.

    Attributes:
        harvest: Fingerprint of everything that the harvest is made of.
        number: From 0; with the seed it decides sentences and random numbers.
        size: Pairs.
    """

    harvest: str
    number: int
    size: int

    @property
    def key(self) -> str:
        """What no other shard of any harvest has."""
        return f"{self.harvest}/{self.number}"

    @property
    def file(self) -> str:
        """Name of its file."""
        return f"shard-{self.number:06}.parquet"

    def write(self, table: pa.Table, folder: Path) -> None:
        """Write its pairs into a folder, atomically."""
        table = table.replace_schema_metadata({_KEY: self.key})
        with write_atomically(folder / self.file) as partial:
            pq.write_table(table, partial, compression="zstd", write_page_checksum=True)

    def is_whole(self, folder: Path) -> bool:
        """Whether a folder holds it; one that is damaged, or another's, is named."""
        path = folder / self.file
        if not path.is_file():
            return False
        try:
            schema = read_shard(path).schema
        except (pa.ArrowException, OSError):
            note(f"{path}: damaged; it is scored again")
            return False
        if (schema.metadata or {}).get(_KEY, b"").decode() != self.key:
            note(f"{path}: of another harvest; it is scored again")
            return False
        return True


def shards_of(config: HarvestConfig, harvest: str) -> list[Shard]:
    """All shards of a harvest, in order."""
    each = config.shard_pairs
    return [
        Shard(harvest, number, min(each, config.pairs - number * each))
        for number in range(config.shards)
    ]


def read_shard(path: Path) -> pa.Table:
    """A shard's pairs, every page compared with its checksum: columns of `SCHEMA`, and `PART`s.

    Raises:
        ArrowException, OSError: The file is damaged.
    """
    return pq.read_table(path, page_checksum_verification=True)

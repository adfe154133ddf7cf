"""Parts of a harvest that meet in a store: machines that share nothing else score it together."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from time import monotonic

from firth.harvest.shards import Shard
from firth.run.store import Store, Transfer

_AT_ONCE = 64
_SECONDS = 5.0
"""A machine that is taken away loses what it scored since shards were last sent."""


class SharedParts:
    """The shards of one harvest in a store, and in a folder here of the same name.

    A shard's name and key say all that decides its bytes: two machines that put the same one put
    the same, and nothing needs to be locked.

    Args:
        store: Where all machines meet.
        folder: Of the shards here; its name and that of the folder around it are theirs there.

    Raises:
        InputError: The store cannot be reached, as from every method.
    """

    def __init__(self, store: Store, folder: Path) -> None:
        self._store, self._folder = store, folder
        self._below = f"{folder.parent.name}/{folder.name}"
        found = store.objects(self._below)
        self._there = {name.rpartition("/")[2]: one.size for name, one in found.items()}
        self._waiting: dict[str, Transfer] = {}
        self._sent = monotonic()

    def fetch(self, shards: Iterable[Shard]) -> None:
        """Bring those here that the folder lacks and the store has; one that is damaged there is
        named, and will be sent again when it was scored."""
        missing = [
            shard
            for shard in shards
            if shard.file in self._there and not shard.is_whole(self._folder)
        ]
        if missing:
            files = [self._transfer(shard, self._there[shard.file]) for shard in missing]
            self._store.fetch(files, "Fetching shards (bytes)")
        for shard in missing:
            if not shard.is_whole(self._folder):
                del self._there[shard.file]

    def keep(self, shard: Shard) -> None:
        """Send a shard that the folder holds, unless it is there; soon, together with others."""
        if shard.file in self._there:
            return
        size = (self._folder / shard.file).stat().st_size
        self._waiting[shard.file] = self._transfer(shard, size)
        if len(self._waiting) >= _AT_ONCE or monotonic() - self._sent >= _SECONDS:
            self.flush()

    def flush(self) -> None:
        """Send what waits."""
        if self._waiting:
            self._store.put([*self._waiting.values()], "Sending shards (bytes)")
            self._there |= {name: each.size for name, each in self._waiting.items()}
            self._waiting.clear()
        self._sent = monotonic()

    def missing(self, shards: Sequence[Shard]) -> int:
        """How many shards the store lacks, as far as it was seen from here."""
        return sum(shard.file not in self._there for shard in shards)

    def _transfer(self, shard: Shard, size: int) -> Transfer:
        return Transfer(f"{self._below}/{shard.file}", self._folder / shard.file, size)

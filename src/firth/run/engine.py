"""Engines: who does the shards of a stage. An engine is `map`, of work in place of a function.

A shard fixes all that comes of it: its sentences, its random numbers. So it changes no byte who
does it, where, beside what and how often; a stage keeps what came of a shard, and does not ask for
it again. Here are the protocol and the engine that every stage has: the process itself. Others
(`firth.run.processes`, `firth.run.cluster`) are handed in from above, and are no part of a stage's
code.
"""

from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from functools import cache
from typing import Protocol, TypeVar

Shard = TypeVar("Shard")
Made = TypeVar("Made")
_Shard = TypeVar("_Shard", contravariant=True)
_Made = TypeVar("_Made", covariant=True)


class EngineKind(StrEnum):
    """Engines by name."""

    HERE = "here"
    """This process, or several of this machine: `firth.run.processes`."""
    RAY = "ray"
    """Workers of a Ray cluster: `firth.run.cluster`."""


class Work(Protocol[_Shard, _Made]):
    """What is done with each shard. The work travels and is small; what it opens stays there."""

    def open(self) -> Callable[[_Shard], _Made]:
        """Open models and files, once for many shards; gives what makes something of a shard."""


class Engine(Protocol):
    """Does work."""

    def map(self, work: Work[Shard, Made], shards: Iterable[Shard]) -> Iterator[Made]:
        """What the work makes of each shard, in the order of the shards.

        Shards are taken as room for them comes, so that they may be large and many. Without any,
        nothing is opened.

        Raises:
            FirthError: As the work does; of what others than this process are, `InputError`.
        """


class Here:
    """This process, one shard after the other."""

    def map(self, work: Work[Shard, Made], shards: Iterable[Shard]) -> Iterator[Made]:
        """As `Engine.map`."""
        opened = cache(work.open)
        for shard in shards:
            yield opened()(shard)


HERE = Here()

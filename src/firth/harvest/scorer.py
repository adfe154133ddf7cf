"""What scores shards: all that a worker opens, once, whatever engine it works for."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from firth.corpus.corpus import Corpus
from firth.harvest.blocklist import Blocklist
from firth.harvest.plan import Planner
from firth.harvest.shards import PART, SCHEMA, Shard
from firth.lexical.scorer import Explainer, TextPair
from firth.origin.ensemble import EnsembleOrigin
from firth.origin.origin import Origin
from firth.paper.origin import PaperOrigin
from firth.paper.retrieve.index import ChunkIndex
from firth.paper.settings import Weights
from firth.run.run import Run

Contexts = list[list[int]]


@dataclass(frozen=True, eq=False)
class Scoring:
    """The work of a harvest: shards in, tables of scored pairs out.

    Attributes:
        run: As the stage sees it.
        blocklist: Sentences that must not be harvested.
    """

    run: Run
    blocklist: Blocklist

    def open(self) -> "Callable[[Shard], pa.Table]":
        """What scores shards; errors as of `ShardScorer`."""
        return ShardScorer(self.run, self.blocklist).score


class ShardScorer:
    """What scores shards, opened once by each worker.

    Args:
        run: As the stage sees it.
        blocklist: Sentences that must not be harvested.

    Raises:
        MissingStageError: A stage that Origin reads is not built.
        InputError: Too few sentences of usable length for a shard.
    """

    def __init__(self, run: Run, blocklist: Blocklist) -> None:
        self._corpus = Corpus.open(run)
        self._planner = Planner(self._corpus, ChunkIndex.open(run), blocklist, run.config)
        self._origin = Origin.open(run)

    def score(self, shard: Shard) -> pa.Table:
        """The pairs of a shard with their scores, as `firth.harvest.shards.read_shard` has them.

        Raises:
            InputError: Every sentence that was drawn is blocked.
        """
        planned = self._planner.shard(shard.number, shard.size)
        numbers = [[pair.first for pair in planned], [pair.second for pair in planned]]
        texts = [self._corpus.texts(side) for side in numbers]
        pairs = list(zip(*texts, strict=True))
        scores, parts, contexts = _scored(self._origin, pairs)
        kinds, shards = [pair.kind.value for pair in planned], [shard.number] * len(planned)
        columns = [*texts, scores, kinds, *numbers, *contexts, shards]
        table = pa.table(columns, SCHEMA.names).cast(SCHEMA)
        for name, values in parts.items():
            table = table.append_column(f"{PART}{name}", pa.array(values, pa.float64()))
        return table


def _scored(
    origin: Explainer, pairs: Sequence[TextPair]
) -> tuple[list[float], dict[str, list[float]], tuple[Contexts, Contexts]]:
    """Origin's scores of pairs, what its components say, and numbers of the contexts tried."""
    none: Contexts = [[] for _ in pairs]
    if isinstance(origin, PaperOrigin):
        profiles = list(origin.profiles(pairs, "Harvest: shard"))
        weights, measure = origin.config.weights, origin.config.measure
        alone = dict.fromkeys(Weights.model_fields, 0.0)
        terms = {name: Weights(**(alone | {name: 1.0})) for name in alone if getattr(weights, name)}
        return (
            [profile.similarity(weights, measure) for profile in profiles],
            {name: [p.similarity(one, measure) for p in profiles] for name, one in terms.items()},
            ([p.set1.positions.tolist() for p in profiles],
             [p.set2.positions.tolist() for p in profiles]),
        )  # fmt: skip
    if isinstance(origin, EnsembleOrigin):
        parts = origin.parts(pairs)
        scores = origin.mean(pairs, parts).tolist()
        return scores, {name: found.tolist() for name, found in parts.items()}, (none, none)
    return origin.similarities(pairs, "Harvest: shard").tolist(), {}, (none, none)

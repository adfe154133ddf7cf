"""Two models on the same pairs: who is ahead, and by how much."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from firth.evaluate.cache import Cache
from firth.evaluate.evaluation import Evaluation
from firth.evaluate.figures import differences_of
from firth.evaluate.metrics import Difference
from firth.evaluate.sample import Sample, sample_of
from firth.run.errors import InputError


@dataclass(frozen=True)
class Comparison:
    """A difference on one figure; `str()` says it in words. Averages over sets have no split."""

    first: str
    second: str
    task: str
    subtask: str
    split: str
    metric: str
    difference: Difference

    def __str__(self) -> str:
        """`sts-b test spearman: A beats B by 1.3 [0.4, 2.2]`."""
        subtask = "" if self.subtask == "all" else self.subtask
        verdict = self.difference.sentence(self.first, self.second)
        names = filter(None, (self.task, self.split, subtask, self.metric))
        return f"{' '.join(names)}: {verdict}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values: the names, and `value`, `low`, `high`, `n` of first minus second."""
        names = ("first", "second", "task", "subtask", "split", "metric")
        return {name: getattr(self, name) for name in names} | asdict(self.difference)


def compare(
    first: Evaluation,
    second: Evaluation,
    *,
    subtasks: bool = False,
    cache: Cache | None = None,
) -> list[Comparison]:
    """Paired bootstrap of every figure that two evaluations share.

    Intervals of two models that overlap may still hide a clear difference, since both err on the
    same hard pairs; the paired bootstrap measures the difference itself.

    Args:
        first: One model's evaluation.
        second: Another's, with the same seed and resamples.
        subtasks: Compare the subtasks too, not `all` alone.
        cache: Differences computed before.

    Raises:
        InputError: They share no set, saw different data, or were resampled differently.
    """
    if (first.seed, first.resamples) != (second.seed, second.resamples):
        raise InputError(
            f"{first.model} and {second.model}: resampled differently (seed, resamples: "
            f"{first.seed}, {first.resamples} and {second.seed}, {second.resamples})"
        )
    return compare_samples(
        (first.model, [sample_of(item) for item in first.scored]),
        (second.model, [sample_of(item) for item in second.scored]),
        seed=first.seed,
        resamples=first.resamples,
        subtasks=subtasks,
        cache=cache,
    )


def compare_samples(
    first: tuple[str, Sequence[Sample]],
    second: tuple[str, Sequence[Sample]],
    *,
    seed: int,
    resamples: int,
    subtasks: bool = False,
    cache: Cache | None = None,
) -> list[Comparison]:
    """`compare` for two models given by name and samples.

    Args:
        first: Name and samples of one model.
        second: Of another.
        seed: Of the resampling.
        resamples: Bootstrap resamples behind each interval.
        subtasks: Compare the subtasks too, not `all` alone.
        cache: Differences computed before.

    Raises:
        InputError: They share no set, or saw different rows of one.
    """
    (one, ours), (two, theirs) = first, second
    others = {(sample.task, sample.split): sample for sample in theirs}
    shared = [
        (sample, other)
        for sample in ours
        if (other := others.get((sample.task, sample.split))) is not None
    ]
    if not shared:
        raise InputError(f"{one} and {two} share no evaluated set")
    if differing := [sample for sample, other in shared if sample.data != other.data]:
        names = ", ".join(
            f"{sample.name} ({sample.data[:12]} and {others[sample.task, sample.split].data[:12]})"
            for sample in differing
        )
        raise InputError(
            f"{one} and {two} saw different data: the rows differ in {names}. "
            "Evaluate both on the same files"
        )
    return [
        Comparison(one, two, sample.task, group, sample.split, metric.value, difference)
        for sample, other in shared
        for (group, metric), difference in differences_of(
            sample, other, subtasks, seed, resamples, cache or Cache(None)
        ).items()
    ]

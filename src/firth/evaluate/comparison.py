"""Two models on the same pairs: who is ahead, and by how much."""

from dataclasses import dataclass

from firth.errors import InputError
from firth.evaluate.evaluate import bootstrap_seed
from firth.evaluate.evaluation import Evaluation, Scored
from firth.evaluate.metrics import Difference, Metric, paired_difference


@dataclass(frozen=True)
class Comparison:
    """A difference on one figure; `str()` says it in words."""

    first: str
    second: str
    task: str
    subtask: str
    split: str
    metric: str
    difference: Difference

    def __str__(self) -> str:
        """`sts-b test spearman: A beats B by 1.3 [0.4, 2.2]`."""
        subtask = "" if self.subtask == "all" else f" {self.subtask}"
        verdict = self.difference.sentence(self.first, self.second)
        return f"{self.task} {self.split}{subtask} {self.metric}: {verdict}"


def compare(first: Evaluation, second: Evaluation, *, subtasks: bool = False) -> list[Comparison]:
    """Paired bootstrap of every figure that two evaluations share.

    Intervals of two models that overlap may still hide a clear difference, since both err on the
    same hard pairs; the paired bootstrap measures the difference itself.

    Args:
        first: One model's evaluation.
        second: Another's, with the same seed and resamples.
        subtasks: Compare the subtasks too, not `all` alone.

    Raises:
        InputError: They share no set, saw different data, or were resampled differently.
    """
    if (first.seed, first.resamples) != (second.seed, second.resamples):
        raise InputError(
            f"{first.model} and {second.model}: resampled differently (seed, resamples: "
            f"{first.seed}, {first.resamples} and {second.seed}, {second.resamples})"
        )
    others = {(item.data.task.name, item.data.split): item for item in second.scored}
    shared = [
        (item, other)
        for item in first.scored
        if (other := others.get((item.data.task.name, item.data.split)))
    ]
    if not shared:
        raise InputError(f"{first.model} and {second.model} share no evaluated set")
    return [
        comparison
        for item, other in shared
        for comparison in _compare_sets(first, second, item, other, subtasks)
    ]


def _compare_sets(
    first: Evaluation, second: Evaluation, item: Scored, other: Scored, subtasks: bool
) -> list[Comparison]:
    data = item.data
    if data.rows != other.data.rows:
        raise InputError(
            f"{data.task.name} {data.split}: {first.model} saw {data.source}, {second.model} "
            f"{other.data.source}, and their rows differ. Evaluate both on the same files"
        )
    one, two = data.columns(item.similarities), data.columns(other.similarities)
    comparisons = []
    for subtask, rows in data.subtasks.items():
        if subtask != "all" and not subtasks:
            continue
        for metric in map(Metric, data.task.metrics):
            names = (data.task.name, data.split, subtask, metric.value)
            difference = paired_difference(
                metric,
                (one[0][rows], one[1][rows]),
                (two[0][rows], two[1][rows]),
                seed=bootstrap_seed(first.seed, *names),
                resamples=first.resamples,
                units=None if data.units is None else data.units[rows],
            )
            comparisons.append(
                Comparison(
                    first.model,
                    second.model,
                    data.task.name,
                    subtask,
                    data.split,
                    metric,
                    difference,
                )
            )
    return comparisons

"""Models that differ in their seed only: the mean of their figures, and how far they spread."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from firth.evaluate.cache import Cache
from firth.evaluate.evaluation import Evaluation
from firth.evaluate.figures import means_of
from firth.evaluate.sample import sample_of
from firth.run.errors import InputError


@dataclass(frozen=True)
class GroupResult:
    """One figure of a group of models, all × 100.

    Attributes:
        group: Name of the group.
        models: Its models.
        task: Name of the task.
        subtask: `all` or a subtask.
        split: Which split.
        metric: Which metric.
        mean: Mean of the figure over the models; None if one of them is undefined.
        deviation: Standard deviation over the models (n − 1): how much the seed of the training
            matters.
        lowest: Of the models' figures.
        highest: Of the models' figures.
        low: 2.5th percentile of the *mean* over bootstrap resamples, all models measured on the
            same ones: how much the choice of pairs matters.
        high: 97.5th percentile.
        n: Number of rows.
    """

    group: str
    models: tuple[str, ...]
    task: str
    subtask: str
    split: str
    metric: str
    mean: float | None
    deviation: float | None
    lowest: float | None
    highest: float | None
    low: float | None
    high: float | None
    n: int

    def __str__(self) -> str:
        """`cbos (5 models) sts-b test spearman: 63.1 [60.2, 65.8], seeds ± 0.4 (62.6 to 63.5)`."""
        subtask = "" if self.subtask == "all" else f" {self.subtask}"
        what = f"{self.group} ({len(self.models)} models) {self.task} {self.split}{subtask}"
        if self.mean is None or self.low is None or self.high is None:
            return f"{what} {self.metric}: undefined"
        return (
            f"{what} {self.metric}: {self.mean:.1f} [{self.low:.1f}, {self.high:.1f}], "
            f"seeds ± {self.deviation:.1f} ({self.lowest:.1f} to {self.highest:.1f})"
        )


def group_results(name: str, members: Sequence[Evaluation], cache: Cache) -> list[GroupResult]:
    """Mean and spread of every figure over models that differ in their seed.

    Args:
        name: Of the group.
        members: Its evaluations: of the same sets, with the same seed and resamples.
        cache: Looked at first.

    Raises:
        InputError: Fewer than two models.
    """
    if len(members) < 2:
        raise InputError(f"group {name}: got {len(members)} model; expected at least 2")
    first = members[0]
    results = []
    for place, item in enumerate(first.scored):
        samples = [sample_of(member.scored[place]) for member in members]
        means = means_of(samples, first.seed, first.resamples, cache)
        task, split = item.data.task.name, item.data.split
        for (group, metric), mean in means.items():
            figures = [
                one.find(task, metric.value, subtask=group, split=split).value for one in members
            ]
            known = [figure for figure in figures if figure is not None]
            spread = len(known) == len(figures)
            results.append(
                GroupResult(
                    group=name,
                    models=tuple(one.model for one in members),
                    task=task,
                    subtask=group,
                    split=split,
                    metric=metric.value,
                    mean=mean.value,
                    deviation=statistics.stdev(known) if spread else None,
                    lowest=min(known) if spread else None,
                    highest=max(known) if spread else None,
                    low=mean.low,
                    high=mean.high,
                    n=mean.n,
                )
            )
    return results

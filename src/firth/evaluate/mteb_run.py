"""Run tasks of MTEB on our models, by MTEB's own code."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from firth.evaluate.mteb_models import PairModel, import_mteb, mteb_model, mteb_version
from firth.lexical.scorer import Scorer
from firth.run.errors import FirthError, InputError
from firth.run.hub import hub_is_reachable


@dataclass(frozen=True)
class MtebFigure:
    """What MTEB reports of one model on one part of a task; figures × 100, without intervals."""

    model: str
    task: str
    split: str
    subset: str
    spearman: float
    pearson: float
    main_score: float
    revision: str
    """Of the task's data on the hub."""
    mteb: str
    """Version of mteb, which decides what a task is."""

    def to_dict(self) -> dict[str, Any]:
        """The figure as plain values."""
        return asdict(self)


def evaluate_mteb(model: str | Path | Scorer, tasks: Sequence[Any]) -> list[MtebFigure]:
    """Evaluate a model on tasks of type STS, by MTEB's own code and metrics.

    Nothing is cached, neither by MTEB nor by firth. Intervals and paired differences are not
    MTEB's business: `firth.evaluate` has them, for the sets that it reads itself.

    Args:
        model: As `firth.evaluate.evaluate.evaluate` takes it.
        tasks: Names such as `STS12`, or MTEB tasks themselves (`AbsTaskSTS`).

    Raises:
        InputError: No such task, one that is not of type STS, or data that cannot be fetched.
        MissingExtraError: mteb is not installed.
    """
    mteb = import_mteb()
    found = [_task(mteb, task) for task in tasks]
    for task in found:
        if task.metadata.type != "STS":
            raise InputError(
                f"{task.metadata.name}: of type {task.metadata.type}; only tasks of type STS run "
                "here"
            )
    if isinstance(model, str | Path):
        wrapped, label = mteb_model(model), str(model)
    else:
        wrapped, label = PairModel(model, model.name), model.name
    figures = []
    for task, asked in zip(found, tasks, strict=True):
        if isinstance(asked, str) and not hub_is_reachable():
            raise InputError(
                f"{asked}: its data comes from the hub, which cannot be reached "
                "(HF_HUB_OFFLINE=1 uses what is cached)"
            )
        try:
            result = mteb.evaluate(
                wrapped, task, cache=None, co2_tracker=False, show_progress_bar=False
            )
        except FirthError:
            raise
        except (OSError, ValueError, RuntimeError) as error:
            first = (str(error).splitlines() or [type(error).__name__])[0]
            raise InputError(f"{task.metadata.name}: mteb could not run it: {first}") from error
        figures += _figures(label, result)
    return figures


def _task(mteb: Any, task: Any) -> Any:
    if not isinstance(task, str):
        return task
    try:
        return mteb.get_task(task)
    except KeyError as error:
        message = str(error.args[0] if error.args else error).splitlines()[0]
        raise InputError(f"{task}: mteb has no such task: {message}") from error


def _figures(label: str, result: Any) -> list[MtebFigure]:
    return [
        MtebFigure(
            model=label,
            task=task.task_name,
            split=split,
            subset=part["hf_subset"],
            spearman=100 * part["spearman"],
            pearson=100 * part["pearson"],
            main_score=100 * part["main_score"],
            revision=str(task.dataset_revision),
            mteb=mteb_version(),
        )
        for task in result.task_results
        for split, parts in task.scores.items()
        for part in parts
    ]

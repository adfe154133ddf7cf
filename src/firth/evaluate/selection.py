"""From what a user asks for to sets and systems: `all` and `baseline:all` take what there is."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from firth.baselines.registry import BASELINES
from firth.baselines.spec import PREFIX
from firth.evaluate.load import load_set
from firth.evaluate.rows import EvaluationSet
from firth.evaluate.scoring import System, system_of
from firth.evaluate.task import TASKS, find_task
from firth.lexical.scorer import Scorer
from firth.run.errors import FirthError, InputError
from firth.run.run import CONFIG

EVERYTHING = "all"
ALL_BASELINES = PREFIX + EVERYTHING


@dataclass(frozen=True)
class LeftOut:
    """Something `all` would have taken, and why it is not there; `kind` is `task` or `model`."""

    kind: str
    name: str
    reason: str

    def __str__(self) -> str:
        """One line for a screen."""
        return f"{self.kind} {self.name} left out: {self.reason}"


def select_sets(
    tasks: Sequence[str], data_dir: str | Path | None, split: str | None
) -> tuple[list[EvaluationSet], list[LeftOut]]:
    """Load the sets behind some names.

    Args:
        tasks: Names from `TASKS`, each optionally with a split; `all` is every task whose data can
            be found, each row once (those without the split `split` are left out).
        data_dir: As in `load_set`.
        split: Split of all tasks that name none; None takes each task's default.

    Raises:
        InputError: No name, an unknown one, data of a named task that cannot be found, or `all`
            finds nothing.
    """
    if isinstance(tasks, str) or not tasks:
        raise InputError(
            f"tasks: got {tasks!r}; expected a list of names, such as ['sts-b', 'lee'], or ['all']"
        )
    named = {name: None for name in tasks if name != EVERYTHING}
    wanted = [(task, found or split) for task, found in map(find_task, named)]
    for task, chosen in wanted:
        if chosen:
            task.check_split(chosen)
    sets = [load_set(task, data_dir, chosen) for task, chosen in wanted]
    left_out = []
    if EVERYTHING in tasks:
        for task in TASKS.values():
            if task.name in named or task.derived:
                continue
            try:
                chosen = task.check_split(split) if split else None
                sets.append(load_set(task, data_dir, chosen))
            except FirthError as error:
                left_out.append(LeftOut("task", task.name, one_line(error)))
        order = {name: place for place, name in enumerate(TASKS)}
        sets.sort(key=lambda data: order.get(data.task.name, len(order)))
    if not sets:
        reasons = "".join(f"\n  - {item.name}: {item.reason}" for item in left_out)
        raise InputError(f"all: no evaluation set can be found:{reasons}")
    return _distinct(sets), left_out


def select_every_split(
    tasks: Sequence[str], data_dir: str | Path | None
) -> tuple[list[EvaluationSet], list[LeftOut]]:
    """As `select_sets`, but every split that can be found of a task that names none."""
    names: dict[str, None] = {}
    for name in tasks:
        if name == EVERYTHING:
            names |= {
                f"{task.name}:{split}": None
                for task in TASKS.values()
                if not task.derived
                for split in task.splits
            }
        elif ":" in name:
            names[name] = None
        else:
            task = find_task(name)[0]
            names |= {f"{task.name}:{split}": None for split in task.splits}
    sets: list[EvaluationSet] = []
    left_out = []
    for name in names:
        try:
            sets += select_sets([name], data_dir, None)[0]
        except FirthError as error:
            if name in tasks:
                raise
            left_out.append(LeftOut("task", name, one_line(error)))
    if not sets:
        reasons = "".join(f"\n  - {item.name}: {item.reason}" for item in left_out)
        raise InputError(f"{', '.join(tasks)}: no evaluation set can be found:{reasons}")
    return sets, left_out


def select_systems(
    models: Sequence[str | Path | Scorer],
) -> tuple[list[System], list[LeftOut]]:
    """The systems behind some models, none opened yet.

    Args:
        models: As `firth.evaluate.evaluate.evaluate` takes them; `baseline:all` is every baseline
            that needs nothing after `@`, and `baseline:all@RUN` those and the ones that the run
            serves: its idf, and what was trained in `RUN/baselines`.

    Raises:
        InputError: No model, no such baseline, or `RUN` is not a run.
    """
    systems: dict[str, System] = {}
    left_out: list[LeftOut] = []
    for model in models:
        if isinstance(model, str) and model.partition("@")[0] == ALL_BASELINES:
            found, missing = _all_baselines(model.partition("@")[2])
        else:
            found, missing = [system_of(model)], []
        for system in found:
            if system.label in systems and not isinstance(model, str | Path):
                raise InputError(f"{system.label}: two models of this name; give each its own")
            systems.setdefault(system.label, system)
        left_out += missing
    if not systems:
        raise InputError("no model given; expected a run, an encoder or baseline:NAME")
    return list(systems.values()), left_out


def _all_baselines(run: str) -> tuple[list[System], list[LeftOut]]:
    if run and not (Path(run) / CONFIG).is_file():
        raise InputError(f"{ALL_BASELINES}@{run}: {run} is not a run (it has no {CONFIG})")
    found, left_out = [], []
    for name, baseline in BASELINES.items():
        specs = [] if baseline.required else [PREFIX + name]
        if run and baseline.source == "RUN":
            specs.append(f"{PREFIX}{name}@{run}")
        if not specs:
            reason = f"needs {PREFIX}{name}@{baseline.source}"
            left_out.append(LeftOut("model", PREFIX + name, reason))
        for spec in specs:
            try:
                found.append(system_of(spec, optional=True))
            except FirthError as error:
                left_out.append(LeftOut("model", spec, one_line(error)))
    return found, left_out


def _distinct(sets: Sequence[EvaluationSet]) -> list[EvaluationSet]:
    return list({(data.task.name, data.split): data for data in sets}.values())


def one_line(error: FirthError) -> str:
    """The message of an error without its line breaks, list marks and closing advice."""
    lines = [line.strip().removeprefix("- ") for line in str(error).splitlines()]
    reasons = [line for line in lines if not line.startswith("Give ")]
    return "; ".join(reasons).replace(":; ", ": ")

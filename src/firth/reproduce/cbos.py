"""Table I and Figures 3 and 4 of Yuan & Zhang: ways to sentence vectors on STS 2012 to 2015."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from firth.baselines.trained import build_baseline, load_trained, stage_of
from firth.corpus import CORPUS
from firth.evaluate.evaluate import evaluate
from firth.evaluate.load import load_set
from firth.evaluate.results import Result
from firth.evaluate.rows import EvaluationSet
from firth.evaluate.task import find_task
from firth.lexical.scorer import Scorer
from firth.reproduce.derived import Derived
from firth.reproduce.options import Request
from firth.reproduce.published import CBOS_SETS, CBOS_SYSTEMS, CBOS_TABLE1
from firth.reproduce.report import Lines, Report, mean, row
from firth.run.errors import FirthError, InputError
from firth.run.progress import note
from firth.run.run import Run
from firth.run.stage import Outcome

Key = tuple[str, str]
"""(task, subtask)."""
Sets = dict[Key, str]
"""A set of the table → the task whose rows are evaluated: its own, or one that holds more."""
VALUES = (1, 2, 3, 4, 5)
"""Of k and m in the figures."""
_WITH_SMT = {"sts13": "sts13-smt"}
"""Table I counts SMT, which the task `sts13` leaves out."""


def cbos_table1(request: Request) -> Report:
    """Train the five systems on the run's corpus and measure them on the sets that can be had.

    Raises:
        InputError: No set can be had.
        MissingStageError: The run has no corpus.
    """
    run = request.run
    sets, missing = available(CBOS_SETS, request.data_dir)
    found, manifests = {}, {}
    for name in CBOS_SYSTEMS:
        found[name], built = _measured(run, name, name, sets, request)
        manifests[name] = {"config": dict(built.manifest.config), "digest": built.manifest.digest}
    rows = []
    for task in dict.fromkeys(task for task, _ in sets):
        keys = [key for key in sets if key[0] == task]
        for key in keys:
            ours = [found[name][key].value for name in CBOS_SYSTEMS]
            printed = [CBOS_TABLE1[name][key] for name in CBOS_SYSTEMS]
            rows.append(row(f"{task} {key[1]}", *ours, *printed))
        ours = [mean([found[name][key].value for key in keys]) for name in CBOS_SYSTEMS]
        means = [mean([CBOS_TABLE1[name][key] for key in keys]) for name in CBOS_SYSTEMS]
        rows.append(row(f"**{task} mean**", *ours, *means))
    columns = ("Pearson (%)", *CBOS_SYSTEMS.values(),
               *(f"{one}, printed" for one in CBOS_SYSTEMS.values()))  # fmt: skip
    shown = {label: [found[name][key].value for key in sets]
             for name, label in CBOS_SYSTEMS.items()}  # fmt: skip
    shown["CBOS, printed"] = [CBOS_TABLE1["cbos"][key] for key in sets]
    plot = Lines("set", "Pearson (%)", [" ".join(key) for key in sets], shown)
    notes = (
        *missing,
        f"Means are over the {len(sets)} of 20 sets found, also those of the printed figures.",
        "Printed figures were learned on the Toronto Book Corpus, ours on the corpus of the run.",
    )
    details = _details(request, found) | {"systems": manifests}
    return Report(request.name, "CBOS, Table I", columns, rows, plot, notes, details)


def cbos_k(request: Request) -> Report:
    """Figure 3: neighbours on each side, k = 1 to 5, with m = 2; errors as in `cbos_table1`."""
    return _sweep(request, "window", {"negatives": 2}, "k", "CBOS, Figure 3: k (m = 2)")


def cbos_m(request: Request) -> Report:
    """Figure 4: random sentences, m = 1 to 5, with k = 1; errors as in `cbos_table1`."""
    return _sweep(request, "negatives", {"window": 1}, "m", "CBOS, Figure 4: m (k = 1)")


def _sweep(
    request: Request, setting: str, fixed: dict[str, int], symbol: str, title: str
) -> Report:
    name, run = request.name, request.run
    sets, missing = available([key for key in CBOS_SETS if key[0] == "sts14"], request.data_dir)
    found, digests = {}, {}
    for value in VALUES:
        change = {"baselines": {"cbos": {**fixed, setting: value}}}
        varied = Derived(run, f"{name}-{value}", change)
        found[value], outcome = _measured(varied, "cbos", f"{symbol} = {value}", sets, request)
        digests[str(value)] = outcome.manifest.digest
    values = {key[1]: [found[value][key].value for value in VALUES] for key in sets}
    values["mean"] = [mean(column) for column in zip(*values.values(), strict=True)]
    details = _details(request, found) | {
        "settings": run.config.baselines.cbos.model_dump(mode="json") | fixed,
        "digests": digests,
    }
    notes = (*missing, "The paper prints its curves without figures; it takes k = 1 and m = 2.")
    columns = ("Pearson (%), STS 2014", *(f"{symbol} = {value}" for value in VALUES))
    rows = [row(subtask, *cells) for subtask, cells in values.items()]
    plot = Lines(symbol, "Pearson (%)", [str(value) for value in VALUES], values)
    return Report(name, title, columns, rows, plot, notes, details)


def available(wanted: Sequence[Key], data_dir: Path | None) -> tuple[Sets, list[str]]:
    """Look for the sets of `wanted`: those that can be had, and a note on each that cannot.

    Raises:
        InputError: None of them can be had; the message says where each was looked for.
    """
    found: Sets = {}
    missing, reasons = [], []
    for task in dict.fromkeys(task for task, _ in wanted):
        try:
            data = _load(task, data_dir)
        except FirthError as error:
            missing.append(f"missing: {task} (no source has it)")
            reasons.append(str(error))
            continue
        here = [key for key in wanted if key[0] == task]
        found |= {key: data.task.name for key in here if key[1] in data.subtasks}
        if lacking := [subtask for _, subtask in here if subtask not in data.subtasks]:
            source = Path(data.source).name
            missing.append(f"missing: {', '.join(lacking)} of {task}, not in {source}")
    if not found:
        raise InputError("no set of the table can be had:\n" + "\n".join(reasons))
    return found, missing


def pearson(scorer: Scorer, sets: Sets, data_dir: Path | None, seed: int) -> dict[Key, Result]:
    """Pearson (%) on each set, with its interval."""
    found = evaluate(scorer, list(dict.fromkeys(sets.values())), data_dir, seed=seed)
    return {key: found.find(task, "pearson", subtask=key[1]) for key, task in sets.items()}


def _load(task: str, data_dir: Path | None) -> EvaluationSet:
    """The task with SMT where that can be had, or as it is."""
    if task in _WITH_SMT:
        with suppress(FirthError):
            return load_set(find_task(_WITH_SMT[task])[0], data_dir)
    return load_set(find_task(task)[0], data_dir)


def _measured(
    run: Run, name: str, label: str, sets: Sets, request: Request
) -> tuple[dict[Key, Result], Outcome]:
    outcome = build_baseline(run, name)
    note(f"{label}: {'unchanged' if outcome.reused else 'trained'}")
    scorer = load_trained(name, run.folder(stage_of(name)))
    return pearson(scorer, sets, request.data_dir, request.seed), outcome


def _details(request: Request, found: Mapping[Any, Mapping[Key, Result]]) -> dict[str, object]:
    from_subtask = 0 if request.name == "cbos-table1" else 1
    figures = {
        str(name): {" ".join(key[from_subtask:]): [one.value, one.low, one.high, one.n]
                    for key, one in results.items()}
        for name, results in found.items()
    }  # fmt: skip
    corpus = request.run.inputs(CORPUS)["corpus"]
    return {"seed": request.seed, "corpus": corpus, "intervals": figures}

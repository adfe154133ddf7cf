"""The evaluation stage of a run: Dice, tf-idf, Origin and Surrogate on the same pairs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from firth.baselines.dice import Dice
from firth.corpus.settings import LIMITS
from firth.corpus.statistics import fit_idf_on_run
from firth.evaluate import EVALUATION
from firth.evaluate.cache import Cache
from firth.evaluate.evaluate import evaluate, with_leaks
from firth.evaluate.leakage import find_leakage, training_of
from firth.evaluate.load import load_set
from firth.evaluate.metrics import Floats
from firth.evaluate.models import OriginScorer, resolve_model
from firth.evaluate.report import Report
from firth.evaluate.results import tabulate
from firth.evaluate.settings import EvaluateConfig
from firth.evaluate.task import ALL, find_task
from firth.lexical.scorer import Scorer, TextPair
from firth.lexical.tfidf import TfIdf
from firth.origin.origin import Origin
from firth.run.files import write_text
from firth.run.run import Run
from firth.run.stage import Outcome
from firth.surrogate import SURROGATE


@dataclass(frozen=True)
class _Labelled:
    """A scorer under a name that does not depend on where the run lies."""

    name: str
    scorer: Scorer

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        return self.scorer.similarities(pairs)


def build_evaluation(run: Run) -> Outcome:
    """Evaluate what the run has built on the tasks of its configuration.

    Writes `results.json` (see `firth.evaluate.results`) and `table.txt`, all models side by side.

    Raises:
        InputError: A task is unknown or its data cannot be found; before anything is scored.
    """
    config, seed = run.config.evaluate, run.config.seed
    named = [find_task(name) for name in config.tasks]
    sets = [load_set(task, config.data_dir, split) for task, split in named]

    def build(handed: Run, workspace: Path) -> Mapping[str, Any]:
        scorers: dict[str, Scorer] = {
            "Dice": Dice(),
            "tf-idf": TfIdf(fit_idf_on_run(run.path)),
            "Origin": OriginScorer(handed),
            "Surrogate": resolve_model(handed.folder(SURROGATE)),
        }
        found = [
            evaluate(_Labelled(name, scorer), config.tasks, config.data_dir,
                     resamples=config.resamples, seed=seed)
            for name, scorer in scorers.items()
        ]  # fmt: skip
        training = replace(training_of(run.path), source="the corpus of this run")
        leaks, nothing = [find_leakage(training, sets)], Cache(None)
        found = [one if one.model == "Dice" else with_leaks(one, leaks, nothing) for one in found]
        Report(tuple(found)).to_json(workspace / "results.json")
        write_text(workspace / "table.txt", tabulate(found) + "\n")
        return {
            one.model: {
                f"{result.task} {result.split} {result.metric}": result.value
                for result in one.results
                if result.subtask == ALL
            }
            for one in found
        }

    own = [f"evaluate.{name}" for name in EvaluateConfig.model_fields if name != "data_dir"]
    return run.build(
        EVALUATION,
        build,
        reads=[*Origin.reads(run), SURROGATE],
        settings=[*dict.fromkeys([*Origin.settings(run), *LIMITS, "seed", *own])],
        places=["evaluate.data_dir"],
        inputs={f"data/{data.task.name}:{data.split}": data.fingerprint for data in sets},
    )

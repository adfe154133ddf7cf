"""The evaluation stage of a run: Dice, tf-idf, Origin and Surrogate on the same pairs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from firth.baselines.dice import Dice
from firth.corpus.settings import LIMITS
from firth.corpus.statistics import fit_idf_on_run
from firth.evaluate import EVALUATION
from firth.evaluate.cache import Cache
from firth.evaluate.evaluate import evaluate
from firth.evaluate.evaluation import Evaluation
from firth.evaluate.leakage import find_leakage
from firth.evaluate.load import load_set
from firth.evaluate.models import EncoderScorer, OriginScorer
from firth.evaluate.report import Report
from firth.evaluate.settings import EvaluateConfig
from firth.evaluate.table import tabulate
from firth.evaluate.task import ALL, find_task
from firth.evaluate.training_text import training_of
from firth.evaluate.unseen import with_leaks
from firth.lexical.scorer import Scorer, TextPair
from firth.lexical.tfidf import TfIdf
from firth.origin.origin import Origin
from firth.run.files import write_atomically
from firth.run.run import Run
from firth.run.stage import Outcome
from firth.surrogate import SURROGATE


@dataclass(frozen=True)
class _Labelled:
    """A scorer under a name that does not depend on where the run lies."""

    name: str
    scorer: Scorer

    def similarities(self, pairs: Sequence[TextPair]) -> npt.NDArray[np.float64]:
        return self.scorer.similarities(pairs)


def _scorers(run: Run) -> list[_Labelled]:
    from sentence_transformers import SentenceTransformer

    surrogate = SentenceTransformer(str(run.folder(SURROGATE)), local_files_only=True)
    return [
        _Labelled("Dice", Dice()),
        _Labelled("tf-idf", TfIdf(fit_idf_on_run(run.path))),
        _Labelled("Origin", OriginScorer(run.path)),
        _Labelled("Surrogate", EncoderScorer(surrogate, "Surrogate")),
    ]


def build_evaluation(run: Run) -> Outcome:
    """Evaluate what the run has built on the tasks of its configuration.

    Writes `results.json` (see `firth.evaluate.document`) and `table.txt`, all models side by side.

    Raises:
        InputError: A task is unknown or its data cannot be found; before anything is scored.
    """
    config = run.config.evaluate
    named = [find_task(name) for name in config.tasks]
    sets = [load_set(task, config.data_dir, split) for task, split in named]
    inputs = {f"data/{data.task.name}:{data.split}": data.fingerprint for data in sets}

    def build(handed: Run, workspace: Path) -> Mapping[str, Any]:
        found = [
            evaluate(
                scorer,
                config.tasks,
                config.data_dir,
                resamples=config.resamples,
                seed=run.config.seed,
            )
            for scorer in _scorers(run)
        ]
        training = replace(training_of(run.path), source="the corpus of this run")
        leak = find_leakage(training, sets)
        nothing = Cache(None)
        found = [one if one.model == "Dice" else with_leaks(one, [leak], nothing) for one in found]
        report = Report(tuple(found))
        report.to_json(workspace / "results.json")
        with write_atomically(workspace / "table.txt") as partial:
            partial.write_text(tabulate(found) + "\n", encoding="utf-8")
        return {one.model: _figures(one) for one in found}

    own = [f"evaluate.{name}" for name in EvaluateConfig.model_fields if name != "data_dir"]
    return run.build(
        EVALUATION,
        build,
        reads=[*Origin.reads(run), SURROGATE],
        settings=[*dict.fromkeys([*Origin.settings(run), *LIMITS, "seed", *own])],
        places=["evaluate.data_dir"],
        inputs=inputs,
    )


def _figures(found: Evaluation) -> dict[str, float | None]:
    return {
        f"{result.task} {result.split} {result.metric}": result.value
        for result in found.results
        if result.subtask == ALL
    }

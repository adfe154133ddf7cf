"""The whole way: the stages of a run in order, each reused, continued or built."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from time import perf_counter

from firth.artifacts import Outcome, Stage
from firth.coherence import COHERENCE
from firth.config import Config
from firth.corpus import CORPUS, TOKENIZER
from firth.evaluate import EVALUATION
from firth.fit import FIT
from firth.generation import GENERATOR
from firth.harvest import HARVEST
from firth.origin import READS
from firth.progress import note
from firth.retrieve import RETRIEVE
from firth.run import Run
from firth.surrogate import SURROGATE


@dataclass(frozen=True)
class Step:
    """A stage and where the function stands that builds it; imported when it is reached."""

    stage: Stage
    module: str
    function: str

    def build(self, run: Run) -> Outcome:
        """Bring the stage up to date."""
        function: Callable[[Run], Outcome] = getattr(import_module(self.module), self.function)
        return function(run)


STEPS = (
    Step(CORPUS, "firth.corpus.build", "build_corpus"),
    Step(TOKENIZER, "firth.corpus.tokenizer", "build_tokenizer"),
    Step(RETRIEVE, "firth.retrieve.build", "build_index"),
    Step(COHERENCE, "firth.coherence.build", "train_coherence"),
    Step(GENERATOR, "firth.generation.build", "train_generator"),
    Step(FIT, "firth.fit.build", "train_fit"),
    Step(HARVEST, "firth.harvest.harvest", "build_harvest"),
    Step(SURROGATE, "firth.surrogate.distill", "build_surrogate"),
    Step(EVALUATION, "firth.evaluate.stage", "build_evaluation"),
)


def needed(config: Config) -> tuple[Stage, ...]:
    """The stages of a whole run, in order: without the models of the method of Origin that is not
    used, and without the evaluation where no task is named."""
    unused = {COHERENCE, GENERATOR, FIT} - {*READS[config.origin.method]}
    if not config.evaluate.tasks:
        unused.add(EVALUATION)
    return tuple(step.stage for step in STEPS if step.stage not in unused)


def bring_up_to_date(run: Run, *stages: Stage) -> dict[str, Outcome]:
    """Build the given stages of a run in order, or all that it needs; say what was done.

    Returns:
        Stage name → outcome.
    """
    outcomes = {}
    wanted = stages or needed(run.config)
    for step in STEPS:
        if step.stage not in wanted:
            continue
        start = perf_counter()
        outcome = step.build(run)
        done = "unchanged" if outcome.reused else f"built in {perf_counter() - start:.0f} s"
        note(f"{step.stage.name}: {done}")
        outcomes[step.stage.name] = outcome
    return outcomes

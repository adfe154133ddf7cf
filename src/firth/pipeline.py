"""The whole way: the stages of a run in order, each reused, continued or built."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from time import perf_counter

from firth.context import CONTEXT
from firth.corpus import CORPUS, TOKENIZER
from firth.evaluate import EVALUATION
from firth.harvest import HARVEST
from firth.origin.origin import Origin
from firth.paper.coherence import COHERENCE
from firth.paper.generation import GENERATOR
from firth.paper.retrieve import RETRIEVE
from firth.run.progress import note
from firth.run.run import Run
from firth.run.stage import Outcome, Stage
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
    Step(RETRIEVE, "firth.paper.retrieve.build", "build_index"),
    Step(COHERENCE, "firth.paper.coherence.build", "train_coherence"),
    Step(GENERATOR, "firth.paper.generation.build", "train_generator"),
    Step(CONTEXT, "firth.context.build", "build_context"),
    Step(HARVEST, "firth.harvest.harvest", "build_harvest"),
    Step(SURROGATE, "firth.surrogate.distill", "build_surrogate"),
    Step(EVALUATION, "firth.evaluate.stage", "build_evaluation"),
)


def needed(run: Run) -> tuple[Stage, ...]:
    """The stages of a whole run, in order: without the models of the method of Origin that is not
    used, and without the evaluation where no task is named."""
    unused = {COHERENCE, GENERATOR, CONTEXT} - {*Origin.reads(run)}
    if not run.config.evaluate.tasks:
        unused.add(EVALUATION)
    return tuple(step.stage for step in STEPS if step.stage not in unused)


def bring_up_to_date(run: Run, *stages: Stage) -> dict[str, Outcome]:
    """Build the given stages of a run in order, or all that it needs; say what was done.

    Returns:
        Stage name → outcome.
    """
    outcomes = {}
    wanted = stages or needed(run)
    for step in STEPS:
        if step.stage not in wanted:
            continue
        start = perf_counter()
        outcome = step.build(run)
        done = "unchanged" if outcome.reused else f"built in {perf_counter() - start:.0f} s"
        note(f"{step.stage.name}: {done}")
        outcomes[step.stage.name] = outcome
    return outcomes

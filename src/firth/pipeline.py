"""The whole way: the stages of a run in order, and what would stop them, found first."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from time import perf_counter

from firth.check import CHECK
from firth.context import ADAPT, CONTEXT, THEMES
from firth.corpus import ADDED, CORPUS, TOKENIZER
from firth.evaluate import EVALUATION
from firth.harvest import HARVEST
from firth.index import ADDED_INDEX, INDEX
from firth.origin import ORIGIN
from firth.origin.origin import Origin
from firth.origin.settings import Method
from firth.paper.coherence import COHERENCE
from firth.paper.generation import GENERATOR
from firth.paper.retrieve import RETRIEVE
from firth.paper.settings import Backend
from firth.run.engine import HERE, Engine
from firth.run.errors import ConfigError, FirthError
from firth.run.progress import note
from firth.run.run import Run
from firth.run.stage import Outcome, Stage
from firth.scale import SCALE
from firth.surrogate import CROSS_ENCODER, SURROGATE, TEACHER
from firth.surrogate.settings import Way
from firth.surrogate.way import way_of


@dataclass(frozen=True)
class Step:
    """A stage and where the function stands that builds it; imported when it is reached.

    Attributes:
        stage, module, function: The three.
        in_shards: Whether the function takes an engine for its work.
    """

    stage: Stage
    module: str
    function: str
    in_shards: bool = False

    def build(self, run: Run, engine: Engine = HERE) -> Outcome:
        """Bring the stage up to date."""
        function: Callable[..., Outcome] = getattr(import_module(self.module), self.function)
        return function(run, engine=engine) if self.in_shards else function(run)


STEPS = (
    Step(CORPUS, "firth.corpus.build", "build_corpus", in_shards=True),
    Step(ADDED, "firth.corpus.add", "build_added"),
    Step(TOKENIZER, "firth.corpus.tokenizer", "build_tokenizer"),
    Step(CHECK, "firth.check.build", "build_check"),
    Step(ADAPT, "firth.context.adapt", "build_adapt"),
    Step(RETRIEVE, "firth.paper.retrieve.build", "build_index"),
    Step(COHERENCE, "firth.paper.coherence.build", "train_coherence"),
    Step(GENERATOR, "firth.paper.generation.build", "train_generator"),
    Step(CONTEXT, "firth.context.build", "build_context"),
    Step(THEMES, "firth.context.themes", "build_themes"),
    Step(ORIGIN, "firth.origin.choose", "build_origin"),
    Step(HARVEST, "firth.harvest.harvest", "build_harvest", in_shards=True),
    Step(TEACHER, "firth.surrogate.teacher", "build_teacher", in_shards=True),
    Step(SURROGATE, "firth.surrogate.distill", "build_surrogate"),
    Step(CROSS_ENCODER, "firth.surrogate.distill", "build_cross_encoder", in_shards=True),
    Step(INDEX, "firth.index.build", "build_index", in_shards=True),
    Step(ADDED_INDEX, "firth.index.add", "build_added_index"),
    Step(SCALE, "firth.scale.build", "build_scale"),
    Step(EVALUATION, "firth.evaluate.evaluate", "build_evaluation"),
)


def needed(run: Run) -> tuple[Stage, ...]:
    """The stages of a whole run, in order: without the models of the method of Origin that is not
    used and what the other way of distilling reads, without an adapted encoder or an evaluation
    where none is named, and without a cross-encoder, which `firth distill` makes."""
    unused = {RETRIEVE, COHERENCE, GENERATOR, CONTEXT, ORIGIN} - {*Origin.reads(run)}
    unused.add(CROSS_ENCODER)
    if way_of(run) is Way.PAPER:
        unused = (unused | {TEACHER}) - {RETRIEVE}
    else:
        unused.add(HARVEST)
    if run.config.adapt.encoder is None:
        unused.add(ADAPT)
    if CONTEXT in unused:
        unused.add(THEMES)
    if not run.has(ADDED):
        unused |= {ADDED, ADDED_INDEX}
    if not run.config.evaluate.tasks:
        unused.add(EVALUATION)
    return tuple(step.stage for step in STEPS if step.stage not in unused)


def bring_up_to_date(run: Run, *stages: Stage, engine: Engine = HERE) -> dict[str, Outcome]:
    """Build the given stages of a run in order, or all that it needs; say what was done.

    Documents that were added later follow the corpus, and their vectors the index.

    Args:
        run: The run.
        *stages: Which; none stands for all.
        engine: Who does what is done in shards.

    Returns:
        Stage name → outcome.

    Raises:
        InputError: Another process is building this run.
    """
    outcomes = {}
    wanted = stages or needed(run)
    if run.has(ADDED):
        wanted += (ADDED,) if {CORPUS, INDEX} & {*wanted} else ()
        wanted += (ADDED_INDEX,) if INDEX in wanted else ()
    with run.locked():
        for step in STEPS:
            if step.stage not in wanted:
                continue
            start = perf_counter()
            outcome = step.build(run, engine)
            done = "unchanged" if outcome.reused else f"built in {perf_counter() - start:.0f} s"
            note(f"{step.stage.name}: {done}")
            outcomes[step.stage.name] = outcome
    return outcomes


def check(run: Run, source: str) -> None:
    """Look at everything the configuration names outside itself, before any work starts.

    Args:
        run: What is to be brought up to date.
        source: Where it comes from, for the message.

    Raises:
        ConfigError: Every input, file, folder and model that cannot be used, and every unknown
            task, at once.
    """
    config, problems = run.config, []
    for question in _questions(run):
        try:
            question()
        except FirthError as error:
            problems.append(str(error).replace("\n", "\n  "))
    if not config.corpus.inputs:
        problems.append("corpus.inputs: got none; expected files, folders, globs or hub:NAME")
    problems += [
        f"harvest.blocklist: {name}: no such file"
        for name in config.harvest.blocklist
        if not Path(name).is_file()
    ]
    data_dir = config.evaluate.data_dir
    if data_dir and not Path(data_dir).is_dir():
        problems.append(f"evaluate.data_dir: {data_dir}: no such folder")
    if problems:
        raise ConfigError(source, problems)


def _questions(run: Run) -> Iterator[Callable[[], object]]:
    from firth.context.adapt import adapt_inputs
    from firth.context.build import context_inputs
    from firth.corpus.inputs import resolve_inputs
    from firth.evaluate.load import find_named
    from firth.run.model_files import PretrainedFiles
    from firth.surrogate.distill import base_inputs
    from firth.surrogate.teacher import teacher_inputs

    config = run.config
    if config.corpus.inputs:
        yield partial(resolve_inputs, config.corpus.inputs, run.path)
    yield from (partial(find_named, name) for name in config.evaluate.tasks)
    if config.adapt.encoder is not None:
        yield partial(adapt_inputs, config.adapt)
    if config.origin.method is Method.ENSEMBLE:
        yield partial(context_inputs, config.context)
    if config.origin.method is Method.PAPER and config.generator.backend is Backend.CAUSAL_LM:
        yield partial(PretrainedFiles.find, str(config.generator.model), config.generator.gguf_file)
    yield partial(base_inputs, config.surrogate.base)
    yield partial(way_of, run)
    yield partial(teacher_inputs, run)
    if config.index.model is not None:
        yield partial(PretrainedFiles.find, config.index.model)

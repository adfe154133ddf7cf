"""The stages of a run in order: bring them up to date, and see which are."""

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from firth.corpus import build as corpus_build
from firth.corpus.build import CorpusSummary
from firth.corpus.corpus import Corpus
from firth.corpus.read import input_names, named_files
from firth.corpus.store import FILE, damage
from firth.encoders.pretrained import PRETRAINED, build_pretrained, encoder_of
from firth.encoders.static import STATIC, build_static
from firth.encoders.words import WORDS, WordSpace, build_words
from firth.evaluation.questions import QUESTIONS, build_questions
from firth.pipeline.built import Built
from firth.pipeline.choice import with_chosen_encoder
from firth.run.console import note, plural, table
from firth.run.errors import ConfigError, DamagedError, FirthError, MissingStageError
from firth.run.executor import Executor, Local
from firth.run.results import Result
from firth.run.run import Run
from firth.run.settings import pretrained_name
from firth.run.stage import Outcome, Stage
from firth.scorer.contexts import CONTEXTS, build_contexts
from firth.scorer.scorer import Blend
from firth.search.calibrate import build_calibration
from firth.search.calibration import CALIBRATION
from firth.search.index import INDEX, build_added, build_index


def build_static_encoder(run: Run) -> Outcome:
    """Write the static encoder of a run: learned word vectors and character n-grams."""
    settings = ["corpus", "scorer", "seed", "static"]
    inputs = {"corpus": Corpus.open(run).digest}
    return run.build(STATIC, _fill_encoder, reads=[WORDS], settings=settings, inputs=inputs)


def _fill_encoder(run: Run, workspace: Path) -> Mapping[str, Any]:
    space = WordSpace.load(run.folder(WORDS))
    blend = Blend.of(run, space)
    return build_static(run, blend.counted(space), blend.spelling_weight, workspace)


STAGES: Mapping[Stage, Callable[[Run, Executor], Outcome | None]] = {
    WORDS: lambda run, _: build_words(run),
    QUESTIONS: lambda run, _: build_questions(run),
    PRETRAINED: lambda run, _: build_pretrained(run),
    CONTEXTS: lambda run, _: build_contexts(run),
    STATIC: lambda run, _: build_static_encoder(run),
    INDEX: build_index,
    CALIBRATION: lambda run, _: build_calibration(run),
}
"""The stages of a run in the order in which they are built, and what builds each."""


_OF_TEXT = (WORDS, QUESTIONS)
"""Stages that come before the choice of an encoder, which asks them."""


def bring_up_to_date(run: Run, documents: Any = None, executor: Executor | None = None) -> Built:
    """Read documents and build every stage that is missing or out of date.

    The run need not exist. Without documents, the inputs of its settings are read again, or the
    documents that it has are kept. Errors are those of `firth.build`.
    """
    executor, start = executor or Local(), perf_counter()
    check_settings(run)
    names = input_names(documents)
    if names is not None:
        run = run.changed({"corpus": {"inputs": names}})
    elif documents is None and run.settings.corpus.inputs:
        documents = named_files(run.settings.corpus.inputs)
    with run.locked():
        if documents is None:
            corpus = corpus_build.summarize(run)
        else:
            corpus = corpus_build.build_corpus(run, documents, executor)
            note(f"documents: read in {perf_counter() - start:.1f} s")
        built = _built(run, executor, _OF_TEXT)
        run = with_chosen_encoder(run)
        built |= _built(run, executor, [stage for stage in STAGES if stage not in _OF_TEXT])
        build_added(run, executor)
    return Built(run=run, corpus=corpus, stages=built, seconds=perf_counter() - start)


def _built(run: Run, executor: Executor, stages: Iterable[Stage]) -> dict[str, bool]:
    """Bring some stages up to date; return name → whether it was built now."""
    built = {}
    for stage in stages:
        began = perf_counter()
        outcome = STAGES[stage](run, executor)
        if outcome is None:
            continue
        built[stage.name] = not outcome.reused
        if not outcome.reused:
            note(f"{stage.name}: built in {perf_counter() - began:.1f} s")
    return built


def check_settings(run: Run) -> None:
    """Look at everything that the settings name outside the run, before any work starts."""
    if (model := pretrained_name(run.settings.encoder.model)) is not None:
        try:
            encoder_of(run, model).check_installed()
        except FirthError as error:
            raise ConfigError(str(run.path), [f"encoder.model: {error}"]) from error


def add_documents(run: Run, documents: Any) -> CorpusSummary:
    """Add documents to a run, or replace those with the same id, and index them."""
    with run.locked():
        summary = corpus_build.add_documents(run, documents)
        if run.has(INDEX):
            build_added(run)
    return summary


def remove_documents(run: Run, ids: Iterable[str]) -> CorpusSummary:
    """Remove documents from a run by id, and index the copies that take their places."""
    with run.locked():
        summary = corpus_build.remove_documents(run, ids)
        if run.has(INDEX):
            build_added(run)
    return summary


@dataclass(frozen=True, kw_only=True, repr=False)
class Status(Result):
    """What a run has, and what to do next.

    Attributes:
        newer: Number of sentences that the models have not learned from; below 0 they learned from
            sentences that are gone.
        stages: Name of each stage → `built`, `missing` or `older than the documents`.
    """

    run: str
    documents: int
    sentences: int
    held_out: int
    newer: int
    stages: Mapping[str, str]
    next: str

    def summary(self) -> str:
        """Return the counts of documents."""
        return (
            f"{self.run}: {plural(self.documents, 'document')}, "
            f"{plural(self.sentences, 'sentence')}; {plural(self.held_out, 'document')} held out"
        )

    def lines(self, top: int) -> Iterator[str]:
        """Yield the documents, a table of the stages, and the next command."""
        yield self.summary()
        if self.newer:
            change = "newer than the models" if self.newer > 0 else "fewer than they learned from"
            share = abs(self.newer) / max(1, self.sentences)
            yield f"{plural(abs(self.newer), 'sentence')} ({share:.0%}) {change}"
        yield ""
        yield table([["stage", "state"], *([name, state] for name, state in self.stages.items())])
        if self.next:
            yield f"Next: {self.next}"


def status(run: Run) -> Status:
    """Return the state of a run."""
    corpus, learned = Corpus.open(run, "all"), Corpus.open(run)
    states = {}
    for stage in STAGES:
        if stage is PRETRAINED and pretrained_name(run.settings.encoder.model) is None:
            continue
        states[stage.name] = "missing"
        if run.has(stage):
            digest = run.manifest(stage).inputs.get("corpus")
            is_new = digest in (None, learned.digest, corpus.digest)
            held_out = stage is QUESTIONS
            states[stage.name] = "built" if is_new or held_out else "older than the documents"
    is_old = states[WORDS.name] == "older than the documents"
    newer = 0
    if is_old and run.has(INDEX):
        newer = len(corpus) - int(run.manifest(INDEX).summary["sentences"])
    behind = any(state != "built" for state in states.values())
    return Status(
        run=str(run.path),
        documents=len(corpus.owners),
        sentences=len(corpus),
        held_out=corpus.n_documents - learned.n_documents,
        newer=newer,
        stages=states,
        next=f"firth build --run {shlex.quote(str(run.path))}" if behind else "",
    )


def verify(run: Run) -> dict[str, list[str]]:
    """Read every byte of a run; return each part's problems, which are none where all is well."""
    problems = {"corpus": damage(run.path / FILE), **run.verify()}
    for stage in STAGES:
        with suppress(DamagedError, MissingStageError):
            version = run.manifest(stage).version
            if version > stage.version:
                line = f"has version {version}, and this firth reads {stage.version}: update firth"
                problems[stage.name] = [*problems.get(stage.name, []), line]
    return problems

"""From documents to a model: the stages of a run in order, and what is said of the result."""

import resource
import shlex
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

from firth.corpus import build as corpus_build
from firth.corpus.build import CorpusSummary
from firth.corpus.corpus import Corpus
from firth.corpus.document import Document
from firth.corpus.read import input_names, read_documents
from firth.corpus.store import FILE, damage
from firth.encoders.folder import ModelKind, PretrainedFiles
from firth.encoders.pretrained import PRETRAINED, build_pretrained, tuning_of
from firth.encoders.static import ENCODER, StaticEncoder, build_static
from firth.encoders.words import WORDS, WordSpace, build_words
from firth.evaluation.baselines import open_baseline
from firth.evaluation.compare import FEWEST_QUESTIONS, MEAN, Comparison, compare_models
from firth.evaluation.questions import QUESTIONS, QuestionType, build_questions
from firth.run.console import note, plural, silenced, table, wrapped
from firth.run.errors import ConfigError, FirthError, InputError, require
from firth.run.executor import Executor, Local
from firth.run.run import Run
from firth.run.stage import Outcome, Stage
from firth.scorer.blend import BLEND, Blend, build_blend
from firth.scorer.contexts import CONTEXTS, build_contexts
from firth.scorer.scorer import Scorer
from firth.search.calibrate import build_calibration
from firth.search.calibration import CALIBRATION, Calibration
from firth.search.index import INDEX, build_added, build_index
from firth.text.types import CosineScorer, PairScorer

FALSE_MATCH_RATE = 0.01
"""Share of random pairs that reach the threshold which a summary names."""
_EXAMPLE_WORDS, _EXAMPLE_CHARACTERS, _EXAMPLE_COSINE = (6, 14), 70, 0.8
_ALIKE, _FORMULA = 0.5, 4
_ASKED = {
    QuestionType.NEXT.value: "which sentence follows",
    QuestionType.TITLE.value: "which text has a title",
    QuestionType.DOCUMENT.value: "which sentence is from the same document",
}
_PROBE_WORDS = 100_000
_SEEN = 2_000


def build_encoder(run: Run) -> Outcome:
    """Write the static encoder of a run: learned word vectors and character n-grams."""
    settings = ["corpus", "scorer", "seed", "static"]
    inputs = {"corpus": Corpus.open(run).digest}
    reads = [WORDS, BLEND]
    return run.build(ENCODER, _fill_encoder, reads=reads, settings=settings, inputs=inputs)


def _fill_encoder(run: Run, workspace: Path) -> Mapping[str, Any]:
    blend = Blend.of(run)
    space = blend.known(WordSpace.load(run.folder(WORDS)))
    return build_static(run, space, blend.spelling_weight, workspace)


def stages(run: Run, executor: Executor) -> Mapping[Stage, Callable[[], Outcome | None]]:
    """Return the stages of a run in the order in which they are built, and what builds each."""
    return {
        WORDS: lambda: build_words(run),
        QUESTIONS: lambda: build_questions(run),
        PRETRAINED: lambda: build_pretrained(run, tuning_of(run)),
        BLEND: lambda: build_blend(run),
        CONTEXTS: lambda: build_contexts(run),
        ENCODER: lambda: build_encoder(run),
        INDEX: lambda: build_index(run, executor),
        CALIBRATION: lambda: build_calibration(run),
    }


@dataclass(frozen=True)
class Built:
    """A run that is up to date, and what is worth knowing about it.

    `stages` says whether this call built each. The comparison on held-out documents is None where
    these give no questions. `threshold` is the cosine that one random pair in a hundred reaches,
    and `examples` are similar sentences of different documents, a pair or none.
    """

    run: Run
    corpus: CorpusSummary
    stages: Mapping[str, bool]
    seconds: float
    comparison: Comparison | None
    threshold: float | None
    examples: Sequence[tuple[str, str]]

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, with suggested commands."""
        return {
            "run": str(self.run.path),
            "corpus": asdict(self.corpus),
            "stages": dict(self.stages),
            "seconds": round(self.seconds, 2),
            "comparison": self.comparison and self.comparison.as_dict(),
            "threshold": self.threshold,
            "next": list(self.commands()),
        }

    def commands(self) -> tuple[str, ...]:
        """Return commands to run next, with sentences of the corpus."""
        run = f"--run {shlex.quote(str(self.run.path))}"
        commands = [f"firth duplicates {run}", f"firth report {run}"]
        for pair in self.examples[:1]:
            one, two = map(shlex.quote, pair)
            commands[:0] = [f"firth search {one} {run}", f"firth explain {one} {two} {run}"]
        return tuple(commands)

    def text(self) -> str:
        """Return all of it in sentences."""
        lines = [f"Verdict: {verdict(self.comparison)}", self.corpus.text()]
        done = [name for name, is_new in self.stages.items() if is_new]
        if done:
            lines.append(f"Built in {self.seconds:,.0f} s: {', '.join(done)}.")
        else:
            lines.append("Everything was up to date.")
        if self.threshold is not None:
            lines.append(
                f"Scores: {FALSE_MATCH_RATE:.0%} of random sentence pairs have a cosine of "
                f"{self.threshold:.2f} or more."
            )
        folder = str(self.run.path / ENCODER.name)
        lines.append(f"Encoder: SentenceTransformer({folder!r}) opens it.")
        return "\n".join([*map(wrapped, lines), "", "Next:", *(f"  {c}" for c in self.commands())])


def bring_up_to_date(run: Run, documents: Any = None, executor: Executor | None = None) -> Built:
    """Read documents and build every stage that is missing or out of date.

    The run need not exist. Without documents, the inputs of its settings are read again, or the
    documents that it has are kept. Errors are those of `firth.build`.
    """
    check_settings(run)
    executor, start = executor or Local(), perf_counter()
    names = input_names(documents)
    if names is not None:
        run = run.changed({"corpus": {"inputs": names}})
    elif documents is None and run.settings.corpus.inputs:
        documents = run.settings.corpus.inputs
    with run.locked():
        if documents is None:
            corpus = corpus_build.summarize(run)
        else:
            corpus = corpus_build.build_corpus(run, documents, executor)
        built = {}
        for stage, build in stages(run, executor).items():
            began = perf_counter()
            outcome = build()
            if outcome is None:
                continue
            built[stage.name] = not outcome.reused
            if not outcome.reused:
                note(f"{stage.name}: built in {perf_counter() - began:.1f} s")
        build_added(run, executor)
    return Built(
        run=run,
        corpus=corpus,
        stages=built,
        seconds=perf_counter() - start,
        comparison=compare_with_baseline(run),
        threshold=_threshold(run),
        examples=examples(run),
    )


def check_settings(run: Run) -> None:
    """Look at everything that the settings name outside the run, before any work starts."""
    problems = []
    for name, model in (
        ("encoder.model", run.settings.encoder.model),
        ("search.encoder", run.settings.search.encoder),
    ):
        if model is not None:
            try:
                kind = PretrainedFiles.find(model).kind
                if kind is ModelKind.ONNX:
                    require("onnxruntime", "onnx", f"{model} ({kind.value})")
                elif kind is not ModelKind.STATIC:
                    require("torch", "torch", f"{model} ({kind.value})")
            except FirthError as error:
                problems.append(f"{name}: {error}")
    if problems:
        raise ConfigError(str(run.path), problems)


def add_documents(run: Run, documents: Any) -> CorpusSummary:
    """Add documents to a run, or replace those with the same id, and index them."""
    with run.locked():
        summary = corpus_build.add_documents(run, documents)
        if run.has(INDEX):
            build_added(run)
    return summary


def compare_with_baseline(run: Run) -> Comparison | None:
    """Compare the scorer and the encoder of a run with n-grams of stems, without labels."""
    if not sum(run.manifest(QUESTIONS).summary.get("questions", {}).values()):
        return None
    encoder = StaticEncoder.open(run.folder(ENCODER))
    scorers: dict[str, PairScorer] = {
        "n-grams": open_baseline("ngrams", run),
        "scorer": Scorer.open(run),
        "encoder": CosineScorer("encoder", encoder.encode),
    }
    with suppress(InputError), silenced():
        return compare_models(scorers, run)
    return None


def verdict(comparison: Comparison | None) -> str:
    """Say how the scorer of a run does on held-out documents, by which measure, and what to do."""
    if comparison is None or comparison.accuracies["scorer"][MEAN].value is None:
        asked = max(comparison.questions.values()) if comparison else 0
        return (
            f"not measured: the held-out documents give {plural(asked, 'question')}, and "
            f"{FEWEST_QUESTIONS} are needed. Add documents, or use a pretrained encoder: "
            "firth build --encoder NAME."
        )
    every = {kind: one for kind, one in comparison.accuracies["scorer"].items() if kind != MEAN}
    # Where no type has enough questions, the mean is over all of them.
    asked_of = [kind for kind, one in every.items() if one.value is not None] or [*every]
    kinds = [_ASKED[kind] for kind in asked_of]
    figures = ", ".join(f"{name} {one[MEAN]}" for name, one in comparison.accuracies.items())
    gain = comparison.differences["scorer"][MEAN]
    if gain.sign > 0:
        said = "the scorer learned something from this text"
    elif gain.sign < 0:
        said = "n-grams of stems do better than what was learned"
    elif gain.low is None:
        said = "too few documents to say whether anything was learned"
    else:
        said = "no difference from n-grams of stems that is certain"
    advice = "" if gain.sign > 0 else " More text or a pretrained encoder may: --encoder NAME."
    return (
        f"{said}. Right candidates that score above wrong ones, in %, chance 50: {figures}. "
        f"Asked: {', '.join(kinds)} ({plural(comparison.questions[MEAN], 'question')} about "
        f"{plural(comparison.documents[MEAN], 'held-out document')}).{advice}"
    )


def examples(run: Run, most: int = 1) -> list[tuple[str, str]]:
    """Return pairs of short sentences of different documents that are similar, or fewer."""
    corpus = Corpus.open(run)
    low, high = _EXAMPLE_WORDS
    counts = corpus.word_counts
    short = ((low <= counts) & (counts <= high)).nonzero()[0]
    chosen = short[:: len(short) // _SEEN + 1]
    # An apostrophe would need two levels of quotes in the commands.
    known = [
        (text, home)
        for text, home in zip(corpus.texts(chosen), corpus.document_of(chosen), strict=True)
        if len(text) <= _EXAMPLE_CHARACTERS and text[-1:] in ".。।" and "'" not in text
    ]
    if not known or not run.has(ENCODER):
        return []
    texts, homes = zip(*known, strict=True)
    vectors = StaticEncoder.open(run.folder(ENCODER)).encode(texts)
    cosines = vectors @ vectors.T
    alike = (cosines > _ALIKE).sum(axis=1)
    is_formula = alike > _FORMULA * np.median(alike)  # as greetings
    cosines[np.equal.outer(homes, homes) | (cosines > _EXAMPLE_COSINE)] = -1.0
    cosines[np.logical_or.outer(is_formula, is_formula)] = -1.0
    pairs: list[tuple[str, str]] = []
    while len(pairs) < most and (best := cosines.max()) > 0:
        one, two = np.argwhere(cosines == best)[0]
        pairs.append((texts[one], texts[two]))
        cosines[[one, two]] = cosines[:, [one, two]] = -1.0
    return pairs


def _threshold(run: Run) -> float | None:
    calibration = Calibration.current(run)
    with suppress(InputError):
        return calibration.threshold(FALSE_MATCH_RATE) if calibration else None
    return None


# --- State -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Status:
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

    def text(self) -> str:
        """Return the documents, a table of the stages, and the next command."""
        counts = (
            f"{self.run}: {plural(self.documents, 'document')}, "
            f"{plural(self.sentences, 'sentence')}; {plural(self.held_out, 'document')} held out"
        )
        if self.newer:
            change = "newer than the models" if self.newer > 0 else "fewer than they learned from"
            share = abs(self.newer) / max(1, self.sentences)
            counts += f"\n{plural(abs(self.newer), 'sentence')} ({share:.0%}) {change}"
        rows = [["stage", "state"], *([name, state] for name, state in self.stages.items())]
        return "\n".join([counts, "", table(rows), *([f"Next: {self.next}"] if self.next else [])])


def status(run: Run) -> Status:
    """Return the state of a run."""
    whole, learn = Corpus.open(run, "all"), Corpus.open(run)
    states = {}
    for stage in stages(run, Local()):
        if stage is PRETRAINED and run.settings.encoder.model is None:
            continue
        states[stage.name] = "missing"
        if run.has(stage):
            digest = run.manifest(stage).inputs.get("corpus")
            is_new = digest in (None, learn.digest, whole.digest)
            held_out = stage is QUESTIONS
            states[stage.name] = "built" if is_new or held_out else "older than the documents"
    is_old = states[WORDS.name] == "older than the documents"
    newer = 0
    if is_old and run.has(INDEX):
        newer = len(whole) - int(run.manifest(INDEX).summary["sentences"])
    behind = any(state != "built" for state in states.values())
    return Status(
        str(run.path),
        whole.n_documents,
        len(whole),
        whole.n_documents - learn.n_documents,
        newer,
        states,
        f"firth build --run {shlex.quote(str(run.path))}" if behind else "",
    )


def verify(run: Run) -> dict[str, list[str]]:
    """Read every byte of a run; return each part's problems, which are none where all is well."""
    return {"corpus": damage(run.path / FILE), **run.verify()}


# --- Estimate ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Estimate:
    """What a build would cost, by a line through a probe of so many words of its documents."""

    words: int
    probe_words: int
    seconds: float
    peak_mib: float
    disk_mib: float

    def text(self) -> str:
        """Return the prediction in a sentence."""
        return wrapped(
            f"A build of about {self.words:,} words takes about {self.seconds:,.0f} s of processor "
            f"time, {self.peak_mib:,.0f} MiB of memory and {self.disk_mib:,.0f} MiB on disk. This "
            f"is a line through builds of {self.probe_words // 2:,} and {self.probe_words:,} words."
        )


def estimate(run: Run, documents: Any) -> Estimate:
    """Predict the cost of a build from two small builds of a sample of its documents."""
    texts, words = _sample(run, documents or run.settings.corpus.inputs)
    counts = [len(one.text.split()) for one in texts]
    if sum(counts) < _PROBE_WORDS // 2 or len(texts) < 4:
        raise InputError(
            f"firth build --estimate needs {_PROBE_WORDS // 2:,} words in 4 documents at least; "
            f"got {sum(counts):,} words in {plural(len(texts), 'document')}. Build them: at this "
            "size it takes seconds"
        )
    sizes, costs = [], []
    with tempfile.TemporaryDirectory(prefix="firth-estimate-") as folder, silenced():
        for name, share in (("half", 0.5), ("whole", 1.0)):
            some = texts[: max(2, int(share * len(texts)))]
            probe = Run(Path(folder) / name, run.settings)
            began = process_time()
            bring_up_to_date(probe, some)
            seconds = process_time() - began
            disk = sum(p.stat().st_size for p in probe.path.rglob("*") if p.is_file()) / 2**20
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
            sizes.append(sum(counts[: len(some)]))
            costs.append((seconds, peak, disk))
    (low, high), factor = sizes, words - sizes[1]

    def along(half: float, whole: float) -> float:
        return max(whole, whole + (whole - half) / max(1, high - low) * factor)

    predicted = [along(half, whole) for half, whole in zip(*costs, strict=True)]
    return Estimate(words, high, *predicted)


def _sample(run: Run, documents: Any) -> tuple[list[Document], int]:
    """Return evenly spread documents of about `_PROBE_WORDS` words, and the words of all."""
    sample: list[tuple[Document, int]] = []
    every, words, kept = 1, 0, 0
    items = read_documents(documents, run.settings.corpus, run.path)
    for number, one in enumerate(item for item in items if isinstance(item, Document)):
        count = len(one.text.split())
        words += count
        if number % every == 0:
            sample.append((one, count))
            kept += count
        if kept > 2 * _PROBE_WORDS:
            sample, every = sample[::2], 2 * every
            kept = sum(count for _, count in sample)
    return [one for one, _ in sample], words

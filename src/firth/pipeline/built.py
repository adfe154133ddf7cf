"""What is said of a run that is up to date: what it learned, examples, and what to do next."""

import shlex
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from firth import __version__
from firth.corpus.build import CorpusSummary, summarize
from firth.corpus.corpus import Corpus
from firth.encoders.encoder import UnitEncoder
from firth.encoders.folder import MODULES
from firth.encoders.static import STATIC, StaticEncoder, model_card
from firth.encoders.words import NOTHING, WORDS
from firth.evaluation.baselines import open_baseline
from firth.evaluation.compare import FEWEST_QUESTIONS, MEAN, Comparison, compare_models
from firth.evaluation.questions import QUESTIONS, QuestionType, first_questions, open_questions
from firth.run.console import plural, silenced
from firth.run.errors import InputError
from firth.run.outputs import CARD, copy_folder
from firth.run.results import TOP, Result
from firth.run.run import Run
from firth.run.settings import pretrained_name
from firth.scorer.scorer import Scorer
from firth.search.calibration import Calibration
from firth.search.index import index_encoder, open_index_encoder
from firth.text.types import CosineScorer, PairScorer

FALSE_MATCH_RATE = 0.01
"""Share of the sentences without a counterpart that reach the threshold of a run."""
_EXAMPLE_WORDS, _EXAMPLE_CHARACTERS, _EXAMPLE_COSINE = (6, 14), 70, 0.8
_ALIKE, _FORMULA = 0.5, 4
_ASKED = {
    QuestionType.NEXT.value: "which sentence follows",
    QuestionType.TITLE.value: "which text has a title",
    QuestionType.DOCUMENT.value: "which sentence is from the same document",
}
_SEEN, _ENCODED_QUESTIONS = 2_000, 500
"""Sentences among which examples are looked for; questions of a type that an encoder answers."""
_OPENS = """\
from firth.encoders.kinds import open_encoder

vectors = open_encoder("path/to/this/folder").encode(["The judge praised the witness."])
"""


@dataclass(frozen=True, kw_only=True, repr=False)
class Built(Result):
    """A run that is up to date, and what is worth knowing about it.

    Attributes:
        corpus: Counts of the documents, and what was done with them.
        stages: Name of each stage → whether this call built it.
        seconds: Of the clock, the reading of documents included.
    """

    run: Run
    corpus: CorpusSummary
    stages: Mapping[str, bool]
    seconds: float

    @cached_property
    def comparison(self) -> Comparison | None:
        """The comparison on held-out documents; None where these give no questions."""
        return compare_with_baseline(self.run)

    @property
    def threshold(self) -> float | None:
        """The threshold of the run (`threshold_of`)."""
        return threshold_of(self.run)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, with suggested commands."""
        return {
            "run": str(self.run.path),
            "corpus": self.corpus.as_dict(),
            "stages": dict(self.stages),
            "seconds": round(self.seconds, 2),
            "encoder": encoder_of_run(self.run),
            "nothing_learned": learned_nothing(self.run),
            "comparison": self.comparison and self.comparison.as_dict(),
            "threshold": self.threshold,
            "next": list(self.commands()),
        }

    def commands(self) -> tuple[str, ...]:
        """Return commands to run next, with sentences of the corpus."""
        run = f"--run {shlex.quote(str(self.run.path))}"
        commands = [f"firth duplicates {run}", f"firth report {run}"]
        for pair in examples(self.run):
            first, second = map(shlex.quote, pair)
            commands[:0] = [f"firth search {first} {run}", f"firth explain {first} {second} {run}"]
        return tuple(commands)

    def summary(self) -> str:
        """Return the verdict."""
        return verdict(self.run, self.comparison)

    def lines(self, top: int) -> Iterator[str]:
        """Yield the verdict, the counts, and what was built."""
        yield f"Verdict: {self.summary()}"
        yield self.corpus.summary()
        built = [name for name, is_new in self.stages.items() if is_new]
        if built:
            yield f"Built in {self.seconds:,.0f} s: {', '.join(built)}."
        else:
            yield "Everything was up to date."
        if self.threshold is not None:
            yield (
                f"Threshold: {FALSE_MATCH_RATE:.0%} of sentences without a counterpart reach a "
                f"cosine of {self.threshold:.2f} with the best of all others."
            )
        yield f"Encoder: {encoder_of_run(self.run) or 'learned from the text alone'}."

    def text(self, top: int = TOP) -> str:
        """Return all of it in sentences, and commands to run next, each in one line."""
        return "\n".join([super().text(top), "", "Next:", *(f"  {c}" for c in self.commands())])


def compare_with_baseline(run: Run, encoder: UnitEncoder | None = None) -> Comparison | None:
    """Compare the scorer and an encoder with n-grams of stems, without labels.

    By default it is the encoder of the run.
    """
    if not sum(run.manifest(QUESTIONS).summary.get("questions", {}).values()):
        return None
    encoder = encoder or open_index_encoder(run)
    scorers: dict[str, PairScorer] = {
        "n-grams": open_baseline("ngrams", run),
        "scorer": Scorer.open(run),
        "encoder": CosineScorer("encoder", encoder.encode),
    }
    questions = open_questions(run)
    if encoder_of_run(run):  # It takes a thousand times as long for each.
        questions = first_questions(questions, _ENCODED_QUESTIONS)
    with suppress(InputError), silenced():
        return compare_models(scorers, run, questions)
    return None


def save_static(run: Run, folder: Path, force: bool = False) -> Path:
    """Copy the learned static model of a run to a folder, with a model card."""
    summary, source = summarize(run), run.folder(STATIC)
    lines = [
        f"Learned from {plural(summary.documents, 'document')}, {summary.words:,} words, language "
        f"{summary.language}, by firth {__version__}.",
        *_figures(run, StaticEncoder.open(source), index_encoder(run) is None),
    ]
    card = model_card("A static sentence encoder, learned from documents", "\n".join(lines))
    manifest = run.manifest(STATIC)
    return copy_folder(
        source, manifest.outputs, folder, fingerprint=manifest.digest, card=card, force=force
    )


def save_encoder(run: Run, encoder: UnitEncoder, folder: Path, force: bool = False) -> Path:
    """Copy the encoder of a run to a folder, with a model card.

    Raises:
        InputError: It has no files, as an object and a service have none.
    """
    source = index_encoder(run)
    if source is None:
        return save_static(run, folder, force)
    if source.files is None:
        raise InputError(
            f"the encoder {source.name} has no files that can be copied. The model that was "
            "learned from the text has: save_static"
        )
    names = list(source.files.files)
    use = "" if any(name.endswith(MODULES) for name in names) else _OPENS
    lines = [
        f"The encoder {source.name}, fingerprint {source.fingerprint}, as a run of firth "
        f"{__version__} uses it: as vectors of length 1, {encoder.dimensions} dimensions.",
        *_figures(run, encoder),
    ]
    card = model_card(f"{encoder.name}, an encoder of sentences", "\n".join(lines), use)
    own = source.files.folder / CARD
    if own.is_file():  # The card of who trained it has the license.
        card = f"{own.read_text(encoding='utf-8', errors='replace').rstrip()}\n\n{card}"
    return copy_folder(
        source.files.folder, names, folder, fingerprint=source.fingerprint, card=card, force=force
    )


def _figures(run: Run, encoder: UnitEncoder, is_searched: bool = True) -> list[str]:
    """Return lines about how good an encoder is on the held-out documents of a run."""
    lines, comparison = list[str](), compare_with_baseline(run, encoder)
    if comparison is not None:
        lines += ["", "Which candidate belongs to a text? Without labels:", "", comparison.text()]
    threshold = threshold_of(run)
    if threshold is not None and is_searched:
        share = f"{FALSE_MATCH_RATE:.0%} of sentences without a counterpart"
        lines += ["", f"Threshold: {share} reach a cosine of {threshold:.2f} with the best others."]
    return lines


def learned_nothing(run: Run) -> str:
    """Return why a run learned nothing from its documents; "" where it learned something."""
    return str(run.manifest(WORDS).summary.get(NOTHING, ""))


def encoder_of_run(run: Run) -> str | None:
    """Return the name of the pretrained encoder of a run, or None."""
    return pretrained_name(run.settings.encoder.model)


def verdict(run: Run, comparison: Comparison | None) -> str:
    """Say how the scorer of a run does on held-out documents, by which measure, and what to do."""
    nothing, encoder = learned_nothing(run), encoder_of_run(run)
    advice = "" if encoder else ", or use a pretrained encoder: firth build --encoder NAME"
    if nothing:
        by = f"{encoder} compares sentences, and" if encoder else "scores compare"
        words = "scores add equal words." if encoder else "words and their spelling."
        return f"nothing was learned from so few sentences: {by} {words} Add documents{advice}."
    if comparison is None or comparison.accuracies["scorer"][MEAN].value is None:
        count = max(comparison.questions.values()) if comparison else 0
        return (
            f"not measured: the held-out documents give {plural(count, 'question')}, and "
            f"{FEWEST_QUESTIONS} are needed. Add documents{advice}."
        )
    accuracies = comparison.accuracies["scorer"]
    kinds = [kind for kind in accuracies if kind != MEAN]
    # Where no type has enough questions, the mean is over all of them.
    kinds = [kind for kind in kinds if accuracies[kind].value is not None] or kinds
    asked = [_ASKED[kind] for kind in kinds]
    figures = ", ".join(
        f"{name} {by_kind[MEAN]}" for name, by_kind in comparison.accuracies.items()
    )
    gain = comparison.differences["scorer"][MEAN]
    if gain.sign > 0:
        finding = "the scorer learned something from this text"
        if encoder:
            finding = f"the scorer over {encoder} does better than n-grams of stems"
    elif gain.sign < 0:
        finding = f"n-grams of stems do better than {encoder or 'what was learned'}"
    elif gain.low is None:
        finding = "too few documents to say whether anything was learned"
    else:
        finding = "no difference from n-grams of stems that is certain"
    advice = "" if gain.sign > 0 or encoder else " A pretrained encoder may help: --encoder NAME."
    return (
        f"{finding}. Right candidates that score above wrong ones, in %, chance 50: {figures}. "
        f"Asked: {', '.join(asked)} ({plural(comparison.questions[MEAN], 'question')} about "
        f"{plural(comparison.documents[MEAN], 'held-out document')}).{advice}"
    )


def examples(run: Run) -> list[tuple[str, str]]:
    """Return a pair of short sentences of different documents that are similar, or none."""
    corpus = Corpus.open(run)
    low, high = _EXAMPLE_WORDS
    counts = corpus.word_counts
    short = ((low <= counts) & (counts <= high)).nonzero()[0]
    chosen = short[:: len(short) // _SEEN + 1]
    # An apostrophe would need two levels of quotes in the commands.
    candidates = [
        (text, home)
        for text, home in zip(corpus.texts(chosen), corpus.document_of(chosen), strict=True)
        if len(text) <= _EXAMPLE_CHARACTERS and text[-1:] in ".。।" and "'" not in text
    ]
    if not candidates or not run.has(STATIC):
        return []
    texts, homes = zip(*candidates, strict=True)
    vectors = StaticEncoder.open(run.folder(STATIC)).encode(texts)
    cosines = vectors @ vectors.T
    alike = (cosines > _ALIKE).sum(axis=1)
    is_formula = alike > _FORMULA * np.median(alike)  # as greetings
    cosines[np.equal.outer(homes, homes) | (cosines > _EXAMPLE_COSINE)] = -1.0
    cosines[np.logical_or.outer(is_formula, is_formula)] = -1.0
    a, b = np.unravel_index(cosines.argmax(), cosines.shape)
    return [(texts[a], texts[b])] if cosines[a, b] > 0 else []


def threshold_of(run: Run) -> float | None:
    """Return the cosine that `FALSE_MATCH_RATE` of sentences reach by chance; None if unknown.

    It is the threshold that the summary, the report and the card of a run name.
    """
    calibration = Calibration.current(run)
    if calibration is None or calibration.matches is None:
        return None
    return calibration.threshold(FALSE_MATCH_RATE)

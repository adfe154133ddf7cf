"""The encoder that a run takes where none is named: setting `encoder.model: auto`.

Packages that are installed bring encoders, and each reads some languages. They are tried in the
order of their quality on rated pairs. Label-free questions overrule one that does not know the
text: it must not be less accurate on held-out documents than n-grams of stems, which learn nothing.
They do not choose between encoders: they order models as people do only in part.
"""

import os
from contextlib import suppress

from firth.corpus.corpus import Corpus
from firth.encoders.kinds import find_encoder
from firth.encoders.packaged import AUTOMATIC, BROUGHT_ALONE, MINUTES, is_brought
from firth.encoders.pretrained import encoder_of
from firth.evaluation.baselines import open_baseline
from firth.evaluation.compare import Decision, answer, decide
from firth.evaluation.questions import first_questions, open_questions
from firth.run.console import note
from firth.run.errors import FirthError, first_line, install_command
from firth.run.run import Run
from firth.run.settings import AUTO, TEXT_ALONE
from firth.text.types import CosineScorer
from firth.text.words import SEVERAL

VARIABLE = "FIRTH_ENCODER"
"""Environment variable that names the encoder of new runs, in place of `auto`."""
ASKED = 100
"""Questions of a type that an encoder answers: the fewest that count."""
SECONDS = 30
"""Seconds in which lists are encoded, where nobody named an encoder for them."""
_FEWEST = 2
"""Sentences of usual length by which an encoder can be centered."""


def with_chosen_encoder(run: Run) -> Run:
    """Return a run whose settings name an encoder, or `none`, in place of `auto`.

    Its words and questions are built. A note says what was chosen, and why. The name of a model of
    the hub gets its revision.
    """
    name = run.settings.encoder.model
    if name == TEXT_ALONE:
        return run
    if name != AUTO:
        full = encoder_of(run, name).name
        is_pinned = full.startswith(f"{name}@")
        return run.changed({"encoder": {"model": full}}) if is_pinned else run
    name, why = _chosen(run)
    note(f"encoder: {why}")
    return run.changed({"encoder": {"model": name}})


def _chosen(run: Run) -> tuple[str, str]:
    """Return the name of an encoder or `none`, and the reason."""
    corpus, refused = Corpus.open(run), ""
    language, sentences = corpus.language, len(Corpus.open(run, "all"))
    languages = language.split(SEVERAL)
    if (name := os.environ.get(VARIABLE) or AUTO) != AUTO:
        return name, f"{name}, by the variable {VARIABLE}"
    if len(corpus.usual_sentences()) < _FEWEST:
        return TEXT_ALONE, "text alone: fewer than two sentences of usual length"
    for name, automatic in AUTOMATIC.items():
        if not automatic.languages.issuperset(languages) or not is_installed(name):
            continue
        minutes = sentences / automatic.texts_per_second / 60
        if minutes > MINUTES:
            refused += f" {name} would take about {minutes:,.0f} minutes (--encoder {name})."
            continue
        try:
            decision = compared(run, name)
        except FirthError as error:
            refused += f" {name} cannot be opened: {first_line(error)}."
            continue
        reads = f"{name} reads {language}. On held-out text, against n-grams of stems: "
        reads += f"{decision.reason}."
        if decision.accepted:
            return name, f"{reads}{refused} Text alone: --encoder {TEXT_ALONE}"
        refused += f" {name} is rejected: {reads}"
    if refused:
        return TEXT_ALONE, f"text alone.{refused}"
    why = f"text alone: no installed encoder is known to read {language}"
    if AUTOMATIC[BROUGHT_ALONE].languages.issuperset(languages):
        why += f". {install_command('encoder')} brings one that does, without PyTorch"
    return TEXT_ALONE, why


def compared(run: Run, name: str) -> Decision:
    """Decide whether an encoder knows the text of a run; raise `FirthError` if it cannot encode."""
    encoder, questions = find_encoder(name).open(), first_questions(open_questions(run), ASKED)
    baseline = answer(open_baseline("ngrams", run), questions)
    answers = answer(CosineScorer(name, encoder.encode), questions)
    return decide(baseline, answers, run.settings.seed)


def affordable_encoder(texts: int, language: str) -> str:
    """Return the best installed encoder that reads a language, and encodes so many texts within
    `SECONDS`; `none` where there is none. The variable `FIRTH_ENCODER` names another."""
    if (named := os.environ.get(VARIABLE) or AUTO) != AUTO:
        return named
    languages = language.split(SEVERAL)
    for name, automatic in AUTOMATIC.items():
        is_fast = texts / automatic.texts_per_second <= SECONDS
        if is_fast and automatic.languages.issuperset(languages) and is_installed(name):
            return name
    return TEXT_ALONE


def is_installed(name: str) -> bool:
    """Return whether the packages of an encoder are installed; nothing is opened."""
    if not is_brought(name):
        return False
    with suppress(FirthError):
        find_encoder(name).check_installed()
        return True
    return False

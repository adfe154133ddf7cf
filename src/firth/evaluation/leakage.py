"""Overlap of evaluation sets with a corpus: equal texts and near copies.

A near copy has a Jaccard similarity of at least 0.7 of the sets of consecutive word pairs
(bigrams): one word of 14 changed in the middle, or three words of ten added at an end. The search
is exact. A text that shares enough bigrams with a sentence shares one of the sentence's rarest, so
that only texts with one of these are compared (prefix filtering, Chaudhuri et al. 2006).
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from firth.corpus.corpus import Corpus
from firth.evaluation.sets import EvaluationSet
from firth.run.errors import InputError
from firth.run.run import Run
from firth.text.sentences import split_sentences
from firth.text.words import language_of_texts, normal_form

MIN_WORDS = 6
"""Shorter texts occur in any large corpus by chance."""
THRESHOLD = 0.7


class CopyFinder:
    """Finds copies and near copies of some texts among any number of sentences.

    `exact` and `near` have the normal forms of texts with a copy, and with a near copy, so far.
    Texts with fewer than `MIN_WORDS` words are not looked for.

    Example:
        >>> finder = CopyFinder(["The ship left the old harbour in a storm."])
        >>> finder.read(["So it was.", "the ship left the old harbour in a storm"])
        >>> finder.exact, finder.near
        ({'the ship left the old harbour in a storm'}, set())
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self.exact: set[str] = set()
        self.near: set[str] = set()
        forms = dict.fromkeys(map(normal_form, texts))
        self._bigrams = {form: _bigrams(form) for form in forms if _is_long(form)}
        self._holders: dict[tuple[str, str], list[str]] = {}
        for form, bigrams in self._bigrams.items():
            for bigram in bigrams:
                self._holders.setdefault(bigram, []).append(form)

    def read(self, sentences: Iterable[str]) -> None:
        """Look for the texts in some sentences."""
        for sentence in sentences:
            form = normal_form(sentence)
            if not _is_long(form):
                continue
            if form in self._bigrams:
                self.exact.add(form)
            bigrams = _bigrams(form)
            for candidate in self._candidates(bigrams) - self.near:
                theirs = self._bigrams[candidate]
                shared = len(bigrams & theirs)
                union = len(bigrams) + len(theirs) - shared
                if candidate != form and shared >= THRESHOLD * union - 1e-9:
                    self.near.add(candidate)

    def _candidates(self, bigrams: set[tuple[str, str]]) -> set[str]:
        """Return the texts that may share enough bigrams with a sentence."""
        needed = math.ceil(THRESHOLD * len(bigrams) - 1e-9)
        counts = sorted((len(self._holders.get(bigram, ())), bigram) for bigram in bigrams)
        rarest = counts[: len(bigrams) - needed + 1]
        return {form for n, bigram in rarest if n for form in self._holders[bigram]}


def _is_long(form: str) -> bool:
    return form.count(" ") >= MIN_WORDS - 1


def _bigrams(form: str) -> set[tuple[str, str]]:
    return set(pairwise(form.split(" ")))


def without_copies(sets: Sequence[EvaluationSet], run: Run) -> list[EvaluationSet]:
    """Return sets without the rows of which a text, or a sentence of a text, is in a run's corpus.

    The documents that models learn from are read. An `InputError` names a set without any row left.
    """
    forms = [_forms(data) for data in sets]
    finder = CopyFinder(form for one in forms for some in one.values() for form in some)
    for sentences in Corpus.open(run).batches():
        finder.read(sentences)
    return [_without(data, one, finder, run.path) for data, one in zip(sets, forms, strict=True)]


def _forms(data: EvaluationSet) -> dict[str, set[str]]:
    """Return each text of a set with the normal forms of it and of its sentences."""
    texts = dict.fromkeys(text for row in data.rows for text in row.texts)
    language = language_of_texts(texts)
    # Splitting is slow, and most texts are one sentence.
    several = re.compile(r"[.!?\u0589\u061f\u0964\u1362]\s|[\u3002\uff01\uff1f]|\n")
    return {
        text: set(map(normal_form, (text, *sentences)))
        for text in texts
        for sentences in [split_sentences(text, language) if several.search(text) else ()]
    }


def _without(
    data: EvaluationSet, forms: Mapping[str, set[str]], finder: CopyFinder, corpus: Path
) -> EvaluationSet:
    wanted = {form for some in forms.values() for form in some}
    exact, near = wanted & finder.exact, wanted & finder.near - finder.exact
    copied = {text for text, some in forms.items() if not some.isdisjoint(exact | near)}
    kept = [row for row in data.rows if copied.isdisjoint(row.texts)]
    if not kept:
        raise InputError(f"{data.id}: no row is left without the texts of {corpus}")
    n = len(data.rows)
    remark = (
        f"{n - len(kept):,} of {n:,} rows left out, with texts in {corpus} ({len(exact):,} copies "
        f"and {len(near):,} near copies)"
    )
    return data.with_rows(kept, remark)

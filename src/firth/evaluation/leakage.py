"""Overlap of evaluation sets with a corpus: equal texts and near copies.

A near copy has a Jaccard similarity of at least 0.7 of the sets of consecutive word pairs
(bigrams): one word of 14 changed in the middle, or three words of ten added at an end. The search
is exact. A text that shares enough bigrams with a sentence shares one of the sentence's rarest, so
that only texts with one of these are compared (prefix filtering, Chaudhuri et al. 2006).
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from firth.corpus.corpus import Corpus
from firth.evaluation.sets import EvaluationSet
from firth.run.errors import InputError
from firth.run.run import Run
from firth.text.sentences import split_sentences
from firth.text.words import language_of_texts, normal_form

MIN_WORDS = 6
"""Shorter texts occur in any large corpus by chance."""
THRESHOLD = 0.7


@dataclass(frozen=True)
class Overlap:
    """The overlap of one set with a corpus.

    Attributes:
        set: Name and split of the set.
        texts: Distinct texts, and sentences of texts, that are long enough to look for.
        exact: Number of them that are sentences of the corpus.
        near: Number of them that have a near copy only.
        rows: Numbers of the rows of which a text, or a sentence of a text, has a copy.
    """

    set: str
    texts: int
    exact: int
    near: int
    rows: tuple[int, ...]


class CopyFinder:
    """Finds copies and near copies of some texts among any number of sentences.

    Attributes:
        exact: Normal forms of the texts that have a copy so far.
        near: Normal forms of the texts that have a near copy so far; some have a copy too.

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

    def __contains__(self, form: str) -> bool:
        """Return whether the text of a normal form is looked for."""
        return form in self._bigrams

    def read(self, sentences: Iterable[str]) -> None:
        """Look for the texts in some sentences."""
        for sentence in sentences:
            form = normal_form(sentence)
            if not _is_long(form):
                continue
            if form in self:
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


def find_overlap(sets: Sequence[EvaluationSet], corpus: Run | Iterable[str]) -> list[Overlap]:
    """Look for the texts of evaluation sets, and for their sentences, in a corpus.

    The corpus is a run, whose learned documents are read, or sentences.

    Raises:
        MissingStageError: The run has no corpus.
    """
    pieces = [_pieces(data) for data in sets]
    every = [piece for one in pieces for some in one.values() for piece in some]
    finder = CopyFinder(every)
    batches = Corpus.open(corpus).batches() if isinstance(corpus, Run) else [corpus]
    for sentences in batches:
        finder.read(sentences)
    return [_overlap(data, one, finder) for data, one in zip(sets, pieces, strict=True)]


def _pieces(data: EvaluationSet) -> dict[str, tuple[str, ...]]:
    """Return each text of a set with itself and, where it has several, its sentences."""
    texts = dict.fromkeys(text for row in data.rows for text in row.texts)
    language = language_of_texts(texts)
    # Splitting is slow, and most texts are one sentence.
    several = re.compile(r"[.!?\u0589\u061f\u0964\u1362]\s|[\u3002\uff01\uff1f]|\n")
    return {
        text: tuple(dict.fromkeys((text, *split_sentences(text, language))))
        if several.search(text)
        else (text,)
        for text in texts
    }


def _overlap(
    data: EvaluationSet, pieces: Mapping[str, Sequence[str]], finder: CopyFinder
) -> Overlap:
    forms = {text: {normal_form(piece) for piece in some} for text, some in pieces.items()}
    wanted = {form for some in forms.values() for form in some if form in finder}
    exact, near = wanted & finder.exact, wanted & finder.near - finder.exact
    copied = {text for text, some in forms.items() if not some.isdisjoint(exact | near)}
    rows = tuple(i for i, row in enumerate(data.rows) if not copied.isdisjoint(row.texts))
    return Overlap(data.id, len(wanted), len(exact), len(near), rows)


def remove_overlap(data: EvaluationSet, overlap: Overlap, run: Run) -> EvaluationSet:
    """Return a set without the rows that have a text in the corpus of a run.

    Raises:
        InputError: No row is left.
    """
    kept = [row for i, row in enumerate(data.rows) if i not in set(overlap.rows)]
    if not kept:
        raise InputError(f"{data.id}: no row is left without the texts of {run.path}")
    gone = len(data.rows) - len(kept)
    remark = (
        f"{gone:,} of {len(data.rows):,} rows left out, with texts in {run.path} "
        f"({overlap.exact:,} copies and {overlap.near:,} near copies)"
    )
    return data.with_rows(kept, remark)

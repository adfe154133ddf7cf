"""Overlap of evaluation sets with a corpus: equal texts and near copies (`firth.text.near`)."""

import re
from collections.abc import Iterable, Sequence
from itertools import chain, islice

from firth.corpus.corpus import Corpus
from firth.evaluation.sets import EvaluationSet
from firth.run.errors import InputError
from firth.run.run import Run
from firth.text.near import WordTable
from firth.text.sentences import split_sentences
from firth.text.words import language_of_texts, normal_form

MIN_WORDS = 6
"""Shorter texts occur in any large corpus by chance."""
_BLOCK = 50_000
"""Sentences that are compared at a time."""


def find_copies(texts: Iterable[str], sentences: Iterable[str]) -> set[str]:
    """Return the normal forms of texts that have a copy or a near copy among sentences.

    Texts with fewer than `MIN_WORDS` words are not looked for.
    """
    forms, left_to_read = [*dict.fromkeys(map(normal_form, texts))], iter(sentences)
    copies = set[str]()
    while block := [*islice(left_to_read, _BLOCK)]:
        table = WordTable([forms, block], MIN_WORDS)
        copied = {forms[first] for first in table.repeats() if first < len(forms)}
        pairs = table.near(before=len(forms))
        for left, right in zip(pairs.left.tolist(), pairs.right.tolist(), strict=True):
            if right >= len(forms) or forms[right] in copied:
                copies.add(forms[left])
            if right < len(forms) and forms[left] in copied:
                copies.add(forms[right])
        copies |= copied
    return copies


def without_copies(sets: Sequence[EvaluationSet], run: Run) -> list[EvaluationSet]:
    """Return sets without the rows of which a text, or a sentence of a text, is in a run's corpus.

    The documents that models learn from are read. An `InputError` names a set without any row left.
    """
    forms = [_forms(data) for data in sets]
    all_forms = (form for by_text in forms for forms_of in by_text.values() for form in forms_of)
    copies = find_copies(all_forms, chain.from_iterable(Corpus.open(run).batches()))
    cleared = []
    for data, by_text in zip(sets, forms, strict=True):
        copied = {text for text, own in by_text.items() if not own.isdisjoint(copies)}
        rows = [row for row in data.rows if copied.isdisjoint(row.texts)]
        if not rows:
            raise InputError(f"{data.id}: no row is left without the texts of {run.path}")
        n = len(data.rows)
        remark = f"{n - len(rows):,} of {n:,} rows left out, with texts in {run.path}"
        cleared.append(data.with_rows(rows, remark))
    return cleared


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

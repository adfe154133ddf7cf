"""Label-free questions about held-out documents: which candidate belongs to a text?

Each document orders its questions evenly over its length, from a seed of its id. Questions of all
documents are then taken in rounds, one from each document, so that long documents do not dominate.
The questions of a document do not depend on other documents, except for distractors that come from
these.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from firth.corpus.corpus import Corpus
from firth.run.console import note, plural
from firth.run.files import write_text
from firth.run.run import Run
from firth.run.settings import Settings, derive_seed
from firth.run.stage import Outcome, Stage
from firth.text.types import Ints
from firth.text.words import normal_form

QUESTIONS = Stage("questions", version=3)
USUAL_WORDS = (5, 40)
"""Words of a sentence that is asked about; the limits of the corpus apply as well."""
MIN_GAP = 4
"""Distractors from the sentence's own document lie at least so many sentences away."""
FEW = 100
"""With fewer next-sentence questions, distractors are taken from other documents too."""
_GOLDEN = (5**0.5 - 1) / 2
_FILE = "questions.jsonl"


class QuestionType(StrEnum):
    """What the right candidate is, and what the distractors are."""

    NEXT = "next-sentence"
    """The next sentence; other sentences of the document."""
    TITLE = "title"
    """The first sentence of the document whose title is given; first sentences of others."""
    DOCUMENT = "same-document"
    """Another sentence of the document, not near; sentences of other documents."""


TOGETHER = (QuestionType.NEXT, QuestionType.DOCUMENT)
"""Types that ask which texts belong together. Training raises them, also where agreement with
people falls, so that they cannot justify it."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """A text of a document, the candidate that should score highest, and at least one other.

    All candidates come from the text's own document where `same_document` says so.
    """

    type: QuestionType
    document: str
    text: str
    answer: str
    distractors: tuple[str, ...]
    same_document: bool = True


def build_questions(run: Run) -> Outcome:
    """Make the questions of a run's held-out documents, or reuse them; there may be none."""
    outcome = run.build(
        QUESTIONS,
        _fill,
        settings=["questions", "corpus.max_words", "corpus.min_words", "seed"],
        inputs={"corpus": Corpus.open(run, "held-out").digest},
    )
    documents = outcome.manifest.summary["documents"]
    if not any(outcome.manifest.summary["questions"].values()):
        note(
            f"questions: none in {plural(documents, 'held-out document')}, so models "
            "cannot be compared without labels here. Hold more documents out "
            "(corpus.held_out_fraction), or add longer ones"
        )
    return outcome


def open_questions(run: Run) -> list[Question]:
    """Read the questions of a run."""
    text = (run.folder(QUESTIONS) / _FILE).read_text(encoding="utf-8")
    rows = [json.loads(line) for line in text.split("\n")[:-1]]
    return [
        Question(
            type=QuestionType(row.pop("type")), distractors=tuple(row.pop("distractors")), **row
        )
        for row in rows
    ]


def first_questions(questions: Sequence[Question], most: int) -> list[Question]:
    """Return at most so many questions of each type."""
    counts, first = Counter[QuestionType](), []
    for question in questions:
        if counts[question.type] < most:
            counts[question.type] += 1
            first.append(question)
    return first


def _fill(run: Run, workspace: Path) -> Mapping[str, Any]:
    corpus = Corpus.open(run, "held-out")
    questions = make_questions(corpus, run.settings)
    lines = (json.dumps(asdict(question), ensure_ascii=False) for question in questions)
    write_text(workspace / _FILE, "".join(f"{line}\n" for line in lines))
    counts = Counter(question.type for question in questions)
    return {
        "documents": corpus.n_documents,
        "questions": {kind.value: counts[kind] for kind in QuestionType},
    }


def make_questions(corpus: Corpus, settings: Settings) -> list[Question]:
    """Make the questions that documents give, at most `questions.questions` of each type."""
    maker = _Maker(corpus, settings)
    return [*maker.next_sentences(), *maker.titles(), *maker.siblings()]


class _Maker:
    def __init__(self, corpus: Corpus, settings: Settings) -> None:
        self._corpus, self._seed = corpus, settings.seed
        self._most, self._distractors = settings.questions.questions, settings.questions.distractors
        low = max(USUAL_WORDS[0], settings.corpus.min_words)
        high = min(USUAL_WORDS[1], settings.corpus.max_words)
        counts = np.asarray(corpus.word_counts)
        self._usual: Ints = np.flatnonzero((counts >= low) & (counts <= high))
        self._homes = corpus.document_of(self._usual)
        self._ids = corpus.document_ids()
        seeds = [derive_seed(self._seed, "check", name) for name in self._ids]
        self._seeds = np.array(seeds, np.int64)

    def next_sentences(self) -> list[Question]:
        """Ask for the next sentence of a paragraph."""
        starts = self._usual[:-1][np.diff(self._usual) == 1]
        paragraphs = self._corpus.paragraph_of(starts)
        starts = starts[paragraphs == self._corpus.paragraph_of(starts + 1)]
        questions = self._take(self._next(*place) for place in self._rounds(starts))
        if len(questions) < FEW:
            pools = self._pools()
            more = self._take(self._next(*place, pools) for place in self._rounds(starts))
            questions += [question for question in more if not question.same_document]
        return questions[: self._most]

    def titles(self) -> list[Question]:
        """Ask which document a title belongs to, by the first sentences of documents."""
        _, first = np.unique(self._homes, return_index=True)
        firsts, titles = self._usual[first], self._corpus.document_titles()

        def question(start: int, document: int) -> Question | None:
            if not titles[document]:
                return None
            drawn = self._rng("title", document, start).permutation(firsts[firsts != start])
            answer, *distractors = self._corpus.texts([start, *drawn[: 2 * self._distractors]])
            return self._question(
                QuestionType.TITLE,
                document,
                titles[document],
                answer,
                *distractors,
                same_document=False,
            )

        return self._take(question(*place) for place in self._rounds(firsts))

    def siblings(self) -> list[Question]:
        """Ask which sentence comes from the document of a sentence."""

        def question(start: int, document: int) -> Question | None:
            low, high = np.searchsorted(self._homes, [document, document + 1])
            far = self._usual[low:high][np.abs(self._usual[low:high] - start) >= MIN_GAP]
            if not len(far) or high - low == len(self._usual):
                return None
            rng = self._rng("sibling", document, start)
            drawn = rng.integers(0, len(self._usual) - (high - low), 2 * self._distractors)
            drawn[drawn >= low] += high - low
            texts = self._corpus.texts([start, rng.choice(far), *self._usual[drawn]])
            return self._question(QuestionType.DOCUMENT, document, *texts, same_document=False)

        return self._take(question(*place) for place in self._rounds(self._usual))

    def _next(
        self, start: int, document: int, pools: Mapping[int, Ints] | None = None
    ) -> Question | None:
        """Return the question of a sentence; with `pools`, also one that needs other documents.

        They are, by document, the sentences of all documents of its file.
        """
        low, high = np.searchsorted(self._homes, [document, document + 1])
        own = self._usual[low:high]
        far = own[np.abs(own - start) >= MIN_GAP]
        if len(far) < self._distractors and pools is None:
            return None
        rng = self._rng("next", document, start)
        text, answer = self._corpus.texts([start, start + 1])
        distractors = self._corpus.texts(rng.permutation(far)[: 2 * self._distractors])
        question = self._question(QuestionType.NEXT, document, text, answer, *distractors)
        if question or pools is None:
            return question
        for pool in (pools[document], self._usual):
            drawn = rng.choice(pool, 4 * self._distractors)
            distractors += self._corpus.texts(drawn[self._corpus.document_of(drawn) != document])
        return self._question(
            QuestionType.NEXT, document, text, answer, *distractors, same_document=False
        )

    def _pools(self) -> dict[int, Ints]:
        files = self._corpus.source_numbers()[self._homes]
        by_file = {file: self._usual[files == file] for file in np.unique(files).tolist()}
        return {d: by_file[f] for d, f in zip(self._homes.tolist(), files.tolist(), strict=True)}

    def _question(
        self,
        kind: QuestionType,
        document: int,
        text: str,
        answer: str,
        *distractors: str,
        same_document: bool = True,
    ) -> Question | None:
        """Return a question with the first distinct distractors, or None where they are few."""
        distinct: dict[str, str] = {}
        for candidate in (text, answer, *distractors):
            distinct.setdefault(normal_form(candidate), candidate)
        same = normal_form(text) == normal_form(answer)
        if same or len(distinct) < self._distractors + 2:
            return None
        return Question(
            type=kind,
            document=self._ids[document],
            text=text,
            answer=answer,
            distractors=tuple(distinct.values())[2 : self._distractors + 2],
            same_document=same_document,
        )

    def _rounds(self, starts: Ints) -> Iterator[tuple[int, int]]:
        """Yield ascending sentences and their documents in the order in which they are asked."""
        homes = self._corpus.document_of(starts)
        places = np.arange(len(starts)) - np.searchsorted(homes, homes)
        # The first multiples of the golden ratio, modulo 1, are spread evenly over the document,
        # however many of them are taken.
        keys = (self._seeds[homes] / 2**63 + places * _GOLDEN) % 1
        ranks = np.empty(len(starts), np.int64)
        ranks[np.lexsort((keys, homes))] = places
        order = np.lexsort((self._seeds[homes], ranks))
        yield from zip(starts[order].tolist(), homes[order].tolist(), strict=True)

    def _take(self, questions: Iterable[Question | None]) -> list[Question]:
        return list(islice(filter(None, questions), self._most))

    def _rng(self, purpose: str, document: int, start: int) -> np.random.Generator:
        place = int(start - self._corpus.document_bounds[document])
        return np.random.default_rng(derive_seed(int(self._seeds[document]), purpose, place))

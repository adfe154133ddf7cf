"""Questions: what is asked, about which documents, and what decides it."""

import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from firth.corpus.build import build_corpus
from firth.corpus.corpus import Corpus
from firth.evaluation.questions import (
    FEW,
    MIN_GAP,
    Question,
    QuestionType,
    build_questions,
    make_questions,
    open_questions,
)
from firth.run.run import Run
from firth.run.settings import parse_settings
from firth.text.words import normal_form, words

Ints = npt.NDArray[np.int64]
_PLACE = re.compile(r"The (\w+) came to place number (\d+)")


def sentence(name: str, number: int) -> str:
    """A sentence of eight words that says where it is."""
    return f"The {name} came to place number {number} in time."


def place(text: str) -> tuple[str, int]:
    """Name of the document, and number of the first sentence in it."""
    found = _PLACE.match(text)
    assert found
    return found[1], int(found[2])


class FakeCorpus:
    """Documents of paragraphs of so many sentences; each mapping is one file."""

    def __init__(self, *files: dict[str, list[int]]) -> None:
        self._ids: list[str] = []
        self._texts: list[str] = []
        self._files: list[int] = []
        documents, paragraphs = [0], [0]
        for file, by_name in enumerate(files):
            for name, sizes in by_name.items():
                self._ids.append(name)
                self._files.append(file)
                self._texts += [sentence(name, number) for number in range(sum(sizes))]
                paragraphs += [paragraphs[-1] + end for end in np.cumsum(sizes).tolist()]
                documents.append(len(self._texts))
        self.document_bounds, self.paragraph_bounds = np.array(documents), np.array(paragraphs)
        self.word_counts = np.array([len(words(text)) for text in self._texts], np.int32)

    @property
    def n_documents(self) -> int:
        return len(self._ids)

    def __len__(self) -> int:
        return len(self._texts)

    def text(self, i: int) -> str:
        return str(self._texts[i])

    def texts(self, indices: Sequence[int]) -> list[str]:
        return [self._texts[i] for i in indices]

    def document_of(self, sentences: Ints) -> Ints:
        return np.searchsorted(self.document_bounds, sentences, side="right") - 1

    def paragraph_of(self, sentences: Ints) -> Ints:
        return np.searchsorted(self.paragraph_bounds, sentences, side="right") - 1

    def document_ids(self) -> list[str]:
        return self._ids

    def document_titles(self) -> list[str]:
        return ["" if name == "cow" else f"About the {name}" for name in self._ids]

    def source_numbers(self) -> Ints:
        return np.array(self._files)


def asked(
    *files: dict[str, list[int]], most: int = 2_000, seed: int = 13, **corpus: object
) -> list[Question]:
    """The questions about documents, each with 9 distractors."""
    values = {
        "seed": seed, "corpus": corpus, "questions": {"questions": most, "distractors": 9}
    }  # fmt: skip
    found = make_questions(FakeCorpus(*files), parse_settings(values, "test"))  # type: ignore[arg-type]
    return of_type(found, QuestionType.NEXT)


def of_type(questions: Sequence[Question], kind: QuestionType) -> list[Question]:
    return [question for question in questions if question.type is kind]


def test_next_sentences() -> None:
    """The answer follows in the same paragraph; distractors are distinct sentences of the document
    that are not near."""
    questions = of_type(asked({"ship": [5] * 9, "cow": [3, 1, 40]}), QuestionType.NEXT)
    assert len(questions) == 9 * 4 + 2 + 39  # each sentence but the last of its paragraph
    for question in questions:
        name, number = place(question.text)
        assert question.answer == sentence(name, number + 1)
        others = [place(text) for text in question.distractors]
        assert {other for other, _ in others} == {name} == {question.document}
        candidates = (question.text, question.answer, *question.distractors)
        assert len(set(map(normal_form, candidates))) == 11
        assert min(abs(other - number) for _, other in others) >= MIN_GAP
        assert question.same_document


def test_sentences_of_unusual_length_are_not_asked_about() -> None:
    """With other limits of the corpus there are no questions."""
    assert asked({"ship": [40]})
    assert not asked({"ship": [40]}, max_words=7)
    assert not asked({"ship": [40]}, min_words=12)


def test_questions_about_a_document_do_not_depend_on_others() -> None:
    """Next to other documents, it has the questions that it has alone, or the first of them."""

    def ours(questions: Sequence[Question]) -> list[tuple[str, tuple[str, ...]]]:
        return [(q.text, q.distractors) for q in questions if q.document == "ship"]

    alone = ours(asked({"ship": [120]}))
    several = {"cow": [40], "ship": [120], "tree": [30]}
    assert ours(asked(several)) == alone
    few = ours(asked(several, most=12))
    assert few == alone[: len(few)]
    assert len(few) == 4


def test_long_documents_do_not_dominate() -> None:
    """Of limited questions each document has as many as any other, or all that it gives."""
    questions = asked({"ship": [400], "cow": [60], "tree": [20]}, most=100)
    counts = Counter(question.document for question in questions)
    assert counts["tree"] == 19
    assert counts["ship"] + counts["cow"] == 81
    assert abs(counts["ship"] - counts["cow"]) <= 1


@pytest.mark.parametrize("most", [5, 20, 70])
def test_questions_are_spread_evenly_over_a_document(most: int) -> None:
    """No stretch without a question is much longer than the average."""
    questions = of_type(asked({"ship": [400]}, most=most), QuestionType.NEXT)
    places = sorted(place(question.text)[1] for question in questions)
    assert len(places) == most
    assert max(np.diff([0, *places, 400])) <= 2.7 * 400 / most


def test_short_documents_borrow_distractors() -> None:
    """Where questions are few, from documents of the file, then from any, and the questions say
    so. Where there are enough, none do."""
    short = {f"short{letter}": [6] for letter in "abcdefgh"}
    questions = of_type(asked(short, {"ship": [6], "cow": [20]}), QuestionType.NEXT)
    assert {q.document for q in questions if q.same_document} == {"cow"}
    assert len(questions) == 9 * 5 + 19
    for question in questions:
        name, number = place(question.text)
        others = [place(text) for text in question.distractors]
        assert question.same_document == all(other == name for other, _ in others)
        assert all(abs(at - number) >= MIN_GAP for other, at in others if other == name)
        if name in short:
            assert {other for other, _ in others} <= set(short)
    many = asked(short, {"cow": [FEW + 20]})
    assert len(many) > FEW
    assert all(question.same_document for question in many)


def test_titles_and_siblings() -> None:
    """The answer comes from the document of the title or sentence, distractors from others."""
    names = [f"ship{chr(97 + n)}" for n in range(14)]
    corpus = FakeCorpus({"cow": [12], **{name: [12] for name in names}})
    settings = parse_settings({"questions": {"distractors": 9, "questions": 100}}, "test")
    questions = make_questions(corpus, settings)  # type: ignore[arg-type]
    titles = of_type(questions, QuestionType.TITLE)
    assert sorted(question.document for question in titles) == names  # the cow has no title
    for question in titles:
        assert question.text == f"About the {question.document}"
        assert question.answer == sentence(question.document, 0)
        assert {place(text)[1] for text in question.distractors} == {0}
    siblings = of_type(questions, QuestionType.DOCUMENT)
    assert len(siblings) == 100
    for question in siblings:
        (name, number), (same, other) = place(question.text), place(question.answer)
        assert name == same == question.document
        assert abs(number - other) >= MIN_GAP
    for question in (*titles, *siblings):
        others = {place(text)[0] for text in question.distractors}
        assert question.document not in others
        assert len(question.distractors) == 9
    alone = make_questions(FakeCorpus({"ship": [40]}), settings)  # type: ignore[arg-type]
    assert {question.type for question in alone} == {QuestionType.NEXT}


def test_the_stage_stores_what_was_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """About held-out documents only; they are read back; without any, a message says so."""
    rows = [{"id": f"thing{n}", "text": " ".join(sentence(f"thing{n}", i) for i in range(30))}
            for n in range(20)]  # fmt: skip
    file = tmp_path / "texts.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    for fraction in (0.1, 0.0):
        values = {"corpus": {"held_out_fraction": fraction}, "questions": {"distractors": 9}}
        run = Run.create(tmp_path / f"run{fraction}", parse_settings(values, "test"))
        build_corpus(run, [str(file)])
        outcome = build_questions(run)
        found = open_questions(run)
        held_out = Corpus.open(run, "held-out")
        assert found == make_questions(held_out, run.settings)
        assert {question.document for question in found} == {*held_out.document_ids()}
        asked_next = of_type(found, QuestionType.NEXT)
        assert outcome.manifest.summary["questions"]["next-sentence"] == len(asked_next)
        assert bool(found) is bool(fraction)
        assert build_questions(run).reused
    assert "0 held-out documents give no question" in capsys.readouterr().err

"""Questions: what is asked, about which documents, and what decides it."""

import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
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
from firth.text.words import normal_form

Asked = Callable[..., list[Question]]
_PLACE = re.compile(r"The (\w+) came to place number (\d+)")


def sentence(name: str, number: int) -> str:
    """A sentence of eight words that says where it is."""
    return f"The {name} came to place number {number} in time."


def place(text: str) -> tuple[str, int]:
    """Name of the document, and number of the first sentence in it."""
    found = _PLACE.match(text)
    assert found
    return found[1], int(found[2])


@pytest.fixture
def asked(tmp_path: Path) -> Callable[..., list[Question]]:
    """Ask about files of documents, each with paragraphs of so many sentences."""

    def asked(*files: dict[str, list[int]], most: int = 2_000, **corpus: object) -> list[Question]:
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        for number, by_name in enumerate(files):
            lines = []
            for name, sizes in by_name.items():
                numbers = iter(range(sum(sizes)))
                paragraphs = [[sentence(name, next(numbers)) for _ in range(n)] for n in sizes]
                text = "\n\n".join(map(" ".join, paragraphs))
                title = "" if name == "cow" else f"About the {name}"
                lines.append(json.dumps({"id": name, "title": title, "text": text}))
            folder.mkdir(exist_ok=True)
            (folder / f"{number}.jsonl").write_text("\n".join(lines))
        values = {"corpus": {"held_out_fraction": 0.0, **corpus},
                  "questions": {"questions": most, "distractors": 9}}  # fmt: skip
        run = Run.create(folder / "run", parse_settings(values, "test"))
        build_corpus(run, tuple(sorted(map(str, folder.glob("*.jsonl")))))
        return make_questions(Corpus.open(run), run.settings)

    return asked


def of_type(questions: Sequence[Question], kind: QuestionType) -> list[Question]:
    return [question for question in questions if question.type is kind]


def test_next_sentences(asked: Asked) -> None:
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


def test_sentences_of_unusual_length_are_not_asked_about(asked: Asked) -> None:
    """With other limits of the corpus there are no questions."""
    assert asked({"ship": [40]})
    assert not asked({"ship": [40]}, max_words=7)
    assert not asked({"ship": [40]}, min_words=12)


def test_questions_about_a_document_do_not_depend_on_others(asked: Asked) -> None:
    """Next to other documents, it has the questions that it has alone, or the first of them."""

    def ours(questions: Sequence[Question]) -> list[tuple[str, tuple[str, ...]]]:
        of_ship = [q for q in of_type(questions, QuestionType.NEXT) if q.document == "ship"]
        return [(q.text, q.distractors) for q in of_ship]

    alone = ours(asked({"ship": [120]}))
    several = {"cow": [40], "ship": [120], "tree": [30]}
    assert ours(asked(several)) == alone
    few = ours(asked(several, most=12))
    assert few == alone[: len(few)]
    assert len(few) == 4


def test_long_documents_do_not_dominate(asked: Asked) -> None:
    """Of limited questions each document has as many as any other, or all that it gives."""
    files = {"ship": [400], "cow": [60], "tree": [20]}
    questions = of_type(asked(files, most=100), QuestionType.NEXT)
    counts = Counter(question.document for question in questions)
    assert counts["tree"] == 19
    assert counts["ship"] + counts["cow"] == 81
    assert abs(counts["ship"] - counts["cow"]) <= 1


@pytest.mark.parametrize("most", [5, 20, 70])
def test_questions_are_spread_evenly_over_a_document(asked: Asked, most: int) -> None:
    """No stretch without a question is much longer than the average."""
    questions = of_type(asked({"ship": [400]}, most=most), QuestionType.NEXT)
    places = sorted(place(question.text)[1] for question in questions)
    assert len(places) == most
    assert max(np.diff([0, *places, 400])) <= 2.7 * 400 / most


def test_short_documents_borrow_distractors(asked: Asked) -> None:
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
    many = of_type(asked(short, {"cow": [FEW + 20]}), QuestionType.NEXT)
    assert len(many) > FEW
    assert all(question.same_document for question in many)


def test_titles_and_siblings(asked: Asked) -> None:
    """The answer comes from the document of the title or sentence, distractors from others."""
    names = [f"ship{chr(97 + n)}" for n in range(14)]
    questions = asked({"cow": [12], **{name: [12] for name in names}}, most=100)
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
    assert {question.type for question in asked({"ship": [40]})} == {QuestionType.NEXT}


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
    assert "questions: none in 0 held-out documents" in capsys.readouterr().err

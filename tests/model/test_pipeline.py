"""`firth.pipeline`: summaries, status and verification of a run."""

import json
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import toy_documents

from firth.encoders.words import WORDS
from firth.evaluation.compare import Answers, compare_answers
from firth.evaluation.questions import Question, QuestionType
from firth.model import load
from firth.pipeline import stages
from firth.pipeline.built import examples, threshold_of, verdict
from firth.run.errors import ConfigError
from firth.run.run import Run


def test_a_summary_names_what_to_do_next(toy_copy: Path) -> None:
    """The text has the counts; the commands name the run; JSON has the same."""
    built = stages.bring_up_to_date(Run.open(toy_copy))
    assert f"Documents: {built.corpus.documents}" in built.text()
    assert all(str(toy_copy) in command for command in built.commands())
    assert built.as_dict()["next"] == list(built.commands())
    [(a, b)] = examples(Run.open(toy_copy))
    assert a in built.text()
    assert a != b
    threshold = f"{threshold_of(built.run):.2f}"
    assert f"Threshold: 1% of sentences without a counterpart reach a cosine of {threshold}" in (
        built.text().replace("\n  ", " ")
    )


@pytest.mark.parametrize("count", [60, 120])
def test_a_verdict_names_what_was_asked(count: int, toy_folder: Path) -> None:
    """It does so, too, where no type has enough questions and all together have."""
    kinds = (QuestionType.NEXT, QuestionType.DOCUMENT)
    questions = [
        Question(
            type=kind,
            document=f"d{n % 12}",
            text=f"{kind} {n}",
            answer="right",
            distractors=("wrong",),
        )
        for kind in kinds
        for n in range(count)
    ]
    given = {name: Answers(questions, np.full(2 * count, share))
             for name, share in (("n-grams", 0.5), ("scorer", 0.7))}  # fmt: skip
    note = verdict(Run.open(toy_folder), compare_answers(given))
    assert "n-grams 50.0" in note
    assert "Asked: which sentence follows, which sentence is from the same document" in note
    assert f"({2 * count} questions about 12 held-out documents)" in note


def test_status_shows_what_is_older_than_the_documents(toy_copy: Path) -> None:
    """After documents were added, models are older; a build makes them new."""
    run = Run.open(toy_copy)
    assert set(stages.status(run).stages.values()) == {"built"}
    assert not stages.status(run).next
    load(toy_copy).add(toy_documents(44)[40:])
    status = stages.status(run)
    assert status.stages["words"] == "older than the documents"
    assert status.documents == 44
    assert status.newer > 0
    assert "newer than the models" in status.text()
    assert str(toy_copy) in status.next
    assert "words" in status.text()


def test_verify_names_a_stage_of_a_later_version(toy_copy: Path) -> None:
    """An older one is no damage: the next build makes it again."""
    run = Run.open(toy_copy)
    for change, note in ((1, "update firth"), (-1, "")):
        path = toy_copy / "words" / "manifest.json"
        manifest = json.loads(path.read_text())
        path.write_text(json.dumps({**manifest, "version": WORDS.version + change}))
        assert note in " ".join(stages.verify(run)["words"])
        assert bool(stages.verify(run)["words"]) == bool(note)
    database = toy_copy / "corpus.db"
    database.write_bytes(database.read_bytes()[:9_000])
    assert stages.verify(run)["corpus"], "documents are read, too"


def test_a_model_that_does_not_exist_stops_a_build_before_it_begins(tmp_path: Path) -> None:
    """No run is made."""
    run = Run(tmp_path / "run", Run.create(tmp_path / "other").settings).changed(
        {"encoder": {"model": "./none"}}
    )
    with pytest.raises(ConfigError, match=r"encoder\.model"):
        stages.bring_up_to_date(run, toy_documents(4))
    assert not (tmp_path / "run").exists()

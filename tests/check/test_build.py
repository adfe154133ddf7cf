"""The check stage: made of held-out documents, stored, and read back."""

import json
from pathlib import Path

import pytest

from firth.check import CHECK
from firth.check.build import build_check, open_items
from firth.check.items import Kind, make_items
from firth.corpus.build import build_corpus
from firth.corpus.corpus import Corpus
from firth.pipeline import needed
from firth.run import progress
from firth.run.config import Config
from firth.run.errors import MissingStageError
from firth.run.run import Run

from .conftest import text


def create(folder: Path, documents: int, sentences: int = 30, **settings: object) -> Run:
    lines = [json.dumps({"text": text(f"thing{n}", [sentences])}) for n in range(documents)]
    (folder / "a.jsonl").write_text("\n".join(lines))
    corpus = {"inputs": [str(folder / "a.jsonl")], **settings}
    return Run.create(folder / "run", Config().changed({"corpus": corpus}, "test"))


def test_items_are_stored_as_they_were_made(tmp_path: Path) -> None:
    """Of the held-out documents only; the second call makes nothing."""
    run = create(tmp_path, 40)
    build_corpus(run)
    outcome = build_check(run)
    held_out = Corpus.held_out(run)
    found = open_items(run)
    assert found == make_items(held_out, run.config.check, run.config.seed)
    assert {item.document for item in found} == {0, 1} == {*range(held_out.n_documents)}
    assert outcome.manifest.summary["items"]["next"] == len(found) == 58
    assert build_check(run).reused
    assert not build_check(run.changed({"check": {"items": 7}})).reused
    assert len(open_items(run)) == 7


def test_nothing_that_is_asked_about_was_learned_from(tiny_run: Path) -> None:
    """The texts of held-out documents are in no file of a stage that learns: the sentences are
    disjoint, and the check's stage is the only one that has them."""
    learned, held_out = Corpus.open(tiny_run), Corpus.held_out(tiny_run)
    asked = {*held_out.texts(range(len(held_out)))}
    trained_on = {*learned.texts(range(len(learned)))}
    assert len(held_out) > 10
    assert not {held_out.document_id(d) for d in range(held_out.n_documents)} & {
        learned.document_id(d) for d in range(learned.n_documents)
    }
    only_asked = [sentence.encode() for sentence in asked - trained_on]
    assert len(only_asked) > 10  # the premise: made-up sentences rarely repeat
    items = [text for item in open_items(tiny_run) for text in (item.sentence, item.right)]
    assert {*items} <= asked
    files = [path for path in sorted(tiny_run.rglob("*.*")) if path.is_file()]
    holding = {
        path.relative_to(tiny_run).as_posix()
        for path in files
        if any(sentence in path.read_bytes() for sentence in only_asked)
    }
    assert holding == {"corpus/held_out/sentences.arrow", "check/items.parquet"}


def test_a_run_that_holds_none_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The stage is built without items, and says so each time: the run goes on."""
    run = create(tmp_path, 9)
    assert CHECK in needed(run)
    build_corpus(run)
    progress.set_quiet(False)
    for _ in range(2):
        outcome = build_check(run)
        assert "no item can be made of 0 held-out" in capsys.readouterr().err
        assert set(outcome.manifest.summary["items"]) == {*Kind}
        assert open_items(run) == []


def test_a_run_without_a_corpus(tmp_path: Path) -> None:
    """The message says what to build."""
    run = create(tmp_path, 19)
    with pytest.raises(MissingStageError, match="firth corpus build"):
        build_check(run)
    build_corpus(run)
    with pytest.raises(MissingStageError, match="firth check MODEL"):
        open_items(run)

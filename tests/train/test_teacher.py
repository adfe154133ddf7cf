"""The teacher: distinct sentences in random order, and its similarities of them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from firth.corpus.corpus import Corpus
from firth.encoders.kinds import open_encoder
from firth.run.errors import InputError
from firth.run.run import Run
from firth.scorer.scorer import Scorer
from firth.train import teacher as module
from firth.train.teacher import (
    Exclusions,
    Teacher,
    build_teacher,
    choose_sentences,
    sentence_hashes,
)


def test_a_teacher_knows_its_sentences(run: Run, tiny_bert: Path) -> None:
    build_teacher(run)
    teacher = Teacher.open(run)
    assert teacher.vectors is None
    some = teacher.texts[:5]
    np.testing.assert_allclose(teacher.similarities(some), Scorer.open(run).similarity_matrix(some))
    parts = teacher.parts()
    rows = np.concatenate([*parts.values()])
    assert np.array_equal(np.sort(rows), np.arange(len(teacher.texts)))
    changed = run.changed({"distill": {"teacher": str(tiny_bert)}})
    build_teacher(changed)
    other = Teacher.open(changed)
    assert other.vectors is not None
    assert other.texts == teacher.texts
    expected = open_encoder(str(tiny_bert)).encode(some)
    np.testing.assert_allclose(other.vectors[np.arange(5)], expected, atol=1e-3)
    np.testing.assert_allclose(other.similarities(some), expected @ expected.T, atol=2e-3)


def test_sentences_are_distinct_and_of_usual_length(session_run: Run) -> None:
    corpus = Corpus.open(session_run)
    chosen = choose_sentences(corpus, 200, Exclusions.load(), 3)
    assert len(np.unique(chosen)) == len(chosen) <= 200
    assert not np.array_equal(chosen, np.sort(chosen))
    with pytest.raises(InputError, match="distilling needs 60 or more"):
        choose_sentences(corpus, 20, Exclusions.load(), 3)


def test_a_stopped_reading_continues_with_the_first_missing_shard(
    run: Run, tiny_bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = run.changed({"distill": {"teacher": str(tiny_bert)}})
    monkeypatch.setattr(module, "_SHARD", 30)
    build_teacher(changed)
    whole = {path.name: path.read_bytes() for path in run.path.glob("teacher/*")}
    assert len(whole) > 5
    (run.path / "teacher" / "teacher.json").write_text("damaged")
    save = module._save
    saved: list[str] = []

    def counted(path: Path, array: Any) -> None:
        if len(saved) == 3:
            raise KeyboardInterrupt
        saved.append(path.name)
        save(path, array)

    monkeypatch.setattr(module, "_save", counted)
    with pytest.raises(KeyboardInterrupt):
        build_teacher(changed)
    first = run.path / ".teacher.work" / "vectors-00000.npy"
    written = first.stat().st_mtime_ns
    monkeypatch.setattr(module, "_save", save)
    build_teacher(changed)
    assert (run.path / "teacher" / first.name).stat().st_mtime_ns == written
    assert {path.name: path.read_bytes() for path in run.path.glob("teacher/*")} == whole


def test_excluded_sentences_are_not_chosen(run: Run, tmp_path: Path) -> None:
    """Sentences of public evaluation sets, and of files of the user, in any case."""
    hashes = sentence_hashes(["A man is playing a guitar.", "Nobody ever wrote this line, firth."])
    assert np.isin(hashes, Exclusions.load().hashes).tolist() == [True, False]
    corpus = Corpus.open(run)
    known = {corpus.text(n) for n in range(0, len(corpus), 3)}
    (tmp_path / "mine.tsv").write_text("\n".join(f"{one.upper()}\t0.5" for one in known))
    excluded = Exclusions.load([str(tmp_path / "mine.tsv")])
    chosen = corpus.texts(choose_sentences(corpus, 10_000, excluded, 3))
    assert len(chosen) > 100
    assert not known & set(chosen)
    with pytest.raises(InputError, match=r"missing\.tsv: cannot be read"):
        Exclusions.load([str(tmp_path / "missing.tsv")])

"""Pairs of corpus texts for tuning: what belongs together, drawn as a function of the step."""

from pathlib import Path

import numpy as np
import pytest

from firth.corpus.build import build_corpus
from firth.corpus.corpus import Corpus
from firth.run.errors import InputError
from firth.run.run import Run
from firth.run.settings import AdaptSettings
from firth.train.adapt import TextPairs, pair_kind, trained_types


def pairs(run: Run, kind: str, batch: int = 8, seed: int = 1) -> TextPairs:
    settings = AdaptSettings.model_validate({"pairs": kind, "batch": batch})
    return TextPairs(Corpus.open(run), settings, seed)


def test_neighbors_follow_each_other_in_one_document(session_run: Run) -> None:
    corpus, batches = Corpus.open(session_run), pairs(session_run, "neighbors")
    for step in range(20):
        chosen = batches.chosen(step)
        firsts, seconds = batches(step)
        assert firsts == list(corpus.texts(chosen))
        assert seconds == list(corpus.texts(chosen + 1))
        assert np.array_equal(corpus.document_of(chosen), corpus.document_of(chosen + 1))
        assert len(set(corpus.document_of(chosen).tolist())) == len(chosen) == 8


def test_a_batch_is_a_function_of_seed_and_step(session_run: Run) -> None:
    for kind in ("neighbors", "crops", "titles"):
        one, two = (pairs(session_run, kind) for _ in range(2))
        assert two(5) == one(5) != one(6)
        assert pairs(session_run, kind, seed=2)(5) != one(5)


def test_crops_are_runs_of_words_of_one_paragraph(session_run: Run) -> None:
    corpus, batches = Corpus.open(session_run), pairs(session_run, "crops")
    bounds = np.asarray(corpus.paragraph_bounds)
    for start, *crops in zip(batches.chosen(3).tolist(), *batches(3), strict=True):
        assert start in bounds
        end = int(bounds[np.searchsorted(bounds, start, side="right")])
        paragraph = " ".join(corpus.texts(np.arange(start, end)))
        for crop in crops:
            assert f" {crop} " in f" {' '.join(paragraph.split())} "
            assert 4 <= len(crop.split()) <= len(paragraph.split()) / 2 + 1


def test_titles_belong_to_the_document_of_the_sentence(session_run: Run) -> None:
    corpus, batches = Corpus.open(session_run), pairs(session_run, "titles")
    titles = corpus.document_titles()
    homes = corpus.document_of(batches.chosen(2)).tolist()
    assert batches(2)[0] == [titles[home] for home in homes]


def test_small_files_are_merged_and_files_are_drawn_equally(tmp_path: Path) -> None:
    large = "\n\n".join(f"Ship {n} left the harbor. The crew slept all night." for n in range(60))
    for number in range(3):
        (tmp_path / f"small-{number}.txt").write_text(f"Cow {number} ate the grass. A cow slept.")
    (tmp_path / "large.txt").write_text(large)
    run = Run.create(tmp_path / "run").changed({"corpus": {"held_out_fraction": 0.0}})
    build_corpus(run, [tmp_path / "large.txt", *tmp_path.glob("small-*.txt")])
    batches = pairs(run, "neighbors", batch=3)
    corpus = Corpus.open(run)
    about_cows = [
        {"cow" in text.lower() for text in corpus.texts(batches.chosen(step))} for step in range(60)
    ]
    assert all(len(found) == 1 for found in about_cows)
    assert 15 < sum(found == {True} for found in about_cows) < 45


def test_too_few_pairs_are_named(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run").changed({"corpus": {"held_out_fraction": 0.0}})
    build_corpus(run, ["One sentence stands here alone."] * 1 + ["Another one stands there."])
    with pytest.raises(InputError, match="has 0 sentences of documents with a title"):
        pairs(run, "titles")
    assert pair_kind(AdaptSettings(), Corpus.open(run)) == "crops"


def test_what_training_optimizes_cannot_justify_it(session_run: Run) -> None:
    assert pair_kind(AdaptSettings(), Corpus.open(session_run)) == "neighbors"
    assert trained_types("neighbors", 5) == {"next-sentence"}
    assert trained_types("crops", 5) == {"next-sentence", "same-paragraph"}
    assert trained_types("crops", 0) == {"next-sentence"}

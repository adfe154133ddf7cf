"""Adapting: pairs are functions of the step, candidates are tried, a harmless gain is kept."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from firth.corpus.build import build_corpus
from firth.corpus.corpus import Corpus
from firth.encoders.encoder import NORMALIZATIONS
from firth.encoders.kinds import open_encoder
from firth.encoders.pretrained import PRETRAINED, RunEncoder, build_pretrained
from firth.evaluation.compare import choose
from firth.run.errors import InputError
from firth.run.run import Run
from firth.text.types import unit
from firth.train import adapt as module
from firth.train.adapt import AS_IS, TextPairs, adapt, append_normalization, candidate_name
from firth.train.settings import AdaptSettings

TEXTS = ["The ship left the harbor.", "A cow saw the farmer."]


def vectors(folder: Path) -> Any:
    return SentenceTransformer(str(folder), device="cpu").encode(TEXTS)


def test_all_candidates_are_tried_and_one_is_kept(
    run: Run, tiny_bert: Path, tmp_path: Path
) -> None:
    result = adapt(run, str(tiny_bert), tmp_path / "out")
    names = {candidate_name(tuned, kind) for tuned in (False, True) for kind in NORMALIZATIONS}
    assert set(result.report["comparison"]["accuracies"]) == names
    assert set(result.report["decisions"]) == names - {AS_IS}
    assert result.report["kept"] in names
    assert f"Kept: {result.report['kept']}." in result.text()
    assert adapt(run, str(tiny_bert), tmp_path / "out").reused


@pytest.mark.parametrize("kept", [AS_IS, "standardized", "tuned", "tuned, centered"])
def test_what_is_saved_is_the_candidate_that_was_kept(
    run: Run, tiny_bert: Path, tmp_path: Path, kept: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "choose", lambda *one, **two: (kept, choose(*one, **two)[1]))
    result = adapt(run, str(tiny_bert), tmp_path / "out")
    before, after = unit(vectors(tiny_bert)), vectors(result.path)
    assert np.allclose(before, after, atol=1e-5) == (kept == AS_IS)
    np.testing.assert_allclose(np.linalg.norm(after, axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(open_encoder(str(result.path)).raw(TEXTS), after, atol=1e-5)


def test_normalization_is_a_part_of_the_model(tiny_bert: Path, tmp_path: Path) -> None:
    model = SentenceTransformer(str(tiny_bert), device="cpu")
    before = model.encode(TEXTS)
    mean, deviation = before.mean(axis=0) - 1.0, np.linspace(0.5, 2, 16)
    append_normalization(model, np.zeros(16), np.ones(16))
    assert len(model) == 2
    append_normalization(model, mean, deviation)
    expected = (before - mean) / deviation
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(model.encode(TEXTS), expected, atol=1e-5)


def test_a_language_model_is_tuned_as_the_encoder_of_the_run(
    run: Run, tiny_llm: Path, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="Make it the encoder of the run"):
        adapt(run, str(tiny_llm), tmp_path / "out")
    plain = run.changed({"encoder": {"model": str(tiny_llm), "normalization_sentences": 30}})
    tuned = plain.changed({"adapt": {"layers": 1, "steps": 3, "max_tokens": 8}})
    outcomes = [build_pretrained(tuned) for _ in range(2)]
    assert [outcome and outcome.reused for outcome in outcomes] == [False, True]
    opened = RunEncoder.open(tuned)
    assert opened.encoder.name == "tiny-llm, 1 layers tuned"
    before = open_encoder(str(tiny_llm), tuned.settings.encoder).raw(TEXTS)
    assert not np.allclose(opened.encoder.raw(TEXTS), before, atol=1e-4)
    assert (tuned.folder(PRETRAINED) / "tuned.safetensors").is_file()


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
    assert pairs(session_run, "neighbors")(5) == batches(5) != batches(6)
    assert pairs(session_run, "neighbors", seed=2)(5) != batches(5)


def test_crops_are_runs_of_words_of_one_paragraph(session_run: Run) -> None:
    corpus, batches = Corpus.open(session_run), pairs(session_run, "crops")
    assert pairs(session_run, "crops")(5) == batches(5) != batches(6)
    bounds = np.asarray(corpus.paragraph_bounds)
    for start, *crops in zip(batches.chosen(3).tolist(), *batches(3), strict=True):
        assert start in bounds
        end = int(bounds[np.searchsorted(bounds, start, side="right")])
        paragraph = " ".join(corpus.texts(np.arange(start, end)))
        for crop in crops:
            assert f" {crop} " in f" {' '.join(paragraph.split())} "
            assert 4 <= len(crop.split()) <= len(paragraph.split()) / 2 + 1


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
    assert all(len(result) == 1 for result in about_cows)
    assert 15 < sum(result == {True} for result in about_cows) < 45


def test_the_kind_of_pairs_follows_from_the_corpus(session_run: Run, tmp_path: Path) -> None:
    """Crops where sentences stand alone; too few pairs are named."""
    assert TextPairs(Corpus.open(session_run), AdaptSettings(), 1).kind == "neighbors"
    run = Run.create(tmp_path / "run").changed({"corpus": {"held_out_fraction": 0.0}})
    build_corpus(run, ["One sentence is here alone.", "Another one is there."])
    with pytest.raises(InputError, match="has 0 paragraphs"):
        TextPairs(Corpus.open(run), AdaptSettings(), 1)

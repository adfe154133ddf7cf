"""Tuning: batches of neighbours, exact resumption, and a model that learns the task."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from firth.context import CONTEXT
from firth.context.build import build_context
from firth.context.open import open_encoder
from firth.context.settings import Pairs, TuneConfig
from firth.context.tune import Crops, Neighbours, Titles, learnable
from firth.corpus.build import build_corpus
from firth.corpus.corpus import Corpus
from firth.corpus.settings import CorpusConfig
from firth.run.config import Config
from firth.run.errors import ConfigError, InputError
from firth.run.run import CONFIG, Run

EIGHT = TuneConfig(batch=8)


def test_batches_are_neighbours_of_one_file(tmp_path: Path) -> None:
    """Second = first + 1 in one document; one file a batch, every file in turn; a step's own."""
    for name, count in (("small", 3), ("middle", 40), ("large", 200)):
        (tmp_path / "texts").mkdir(exist_ok=True)
        text = "\n\n".join(
            f"One {name} thing happened {i}. Then came the next." for i in range(count)
        )
        (tmp_path / "texts" / f"{name}.txt").write_text(text)
    settings = {"corpus": {"inputs": [str(tmp_path / "texts")]}}
    run = Run.create(tmp_path / "run", Config.parse(settings, CONFIG))
    build_corpus(run)
    corpus = Corpus.open(run)
    batches = Neighbours(corpus, CorpusConfig(), EIGHT, seed=1)
    drawn = [batches.chosen(step) for step in range(60)]
    sources = [set(corpus.source_of(batch).tolist()) for batch in drawn]
    for batch in drawn:
        assert len(set(batch.tolist())) == 8
        assert (corpus.document_of(batch) == corpus.document_of(batch + 1)).all()
    # The small file has too few pairs for a batch of its own and joins another.
    counts = [sum(len(found) == 1 and k in found for found in sources) for k in range(3)]
    assert sorted(counts)[1] >= 15
    assert (batches.chosen(7) == Neighbours(corpus, CorpusConfig(), EIGHT, seed=1).chosen(7)).all()
    firsts, seconds = batches(7)
    assert firsts == corpus.texts(drawn[7])
    assert seconds == corpus.texts(drawn[7] + 1)


def test_a_corpus_of_single_sentences_is_refused(tmp_path: Path) -> None:
    """No neighbours, nothing to learn: said before any training."""
    for number in range(3):
        (tmp_path / f"{number}.txt").write_text("Only one sentence stands here.")
    settings = {"corpus": {"inputs": [str(tmp_path)]}}
    run = Run.create(tmp_path / "run", Config.parse(settings, CONFIG))
    build_corpus(run)
    with pytest.raises(InputError, match="running text"):
        Neighbours(Corpus.open(run), CorpusConfig(), EIGHT, seed=1)


def test_where_texts_stand_alone_crops_are_learned(tiny_run: Path, tmp_path: Path) -> None:
    """In place of neighbours alone; a corpus of running text changes nothing."""
    text = "".join(f'{{"text": "Only sentence {n} stands here."}}\n' for n in range(9))
    (tmp_path / "alone.jsonl").write_text(text)
    alone = Corpus.build(tmp_path / "alone.jsonl", tmp_path / "run")
    assert learnable(EIGHT, alone).pairs is Pairs.CROPS
    assert learnable(EIGHT, Corpus.open(tiny_run)) == EIGHT
    titles = EIGHT.model_copy(update={"pairs": Pairs.TITLES})
    assert learnable(titles, alone) == titles


def test_crops_are_spans_of_one_paragraph(tiny_run: Path) -> None:
    """Both texts of a pair are runs of words of the paragraph it stands for; a step's own."""
    corpus = Corpus.open(tiny_run)
    batches = Crops(corpus, CorpusConfig(), EIGHT, seed=1)
    for step in range(5):
        firsts, seconds = batches(step)
        assert firsts != seconds
        for start, *pair in zip(batches.chosen(step).tolist(), firsts, seconds, strict=True):
            bounds = corpus.paragraph_bounds
            place = int(corpus.paragraph_of(start))
            assert bounds[place] == start
            whole = " ".join(corpus.texts(list(range(start, int(bounds[place + 1])))))
            assert all(f" {text} " in f" {whole} " for text in pair)
            assert all(4 <= len(text.split()) <= len(whole.split()) / 2 + 1 for text in pair)
    assert batches(3) == Crops(corpus, CorpusConfig(), EIGHT, seed=1)(3)


def test_titles_stand_with_sentences_of_their_document(tiny_run: Path, tmp_path: Path) -> None:
    """Documents without a title give no pair; where there is none, it is said what to do."""
    lines = [
        {"title": f"Title {n}" * (n % 2), "text": f"Thing {n} was seen. It was number {n} here."}
        for n in range(12)
    ]
    (tmp_path / "texts.jsonl").write_text("\n".join(map(json.dumps, lines)))
    corpus = Corpus.build(tmp_path / "texts.jsonl", tmp_path / "run", held_out=0)
    titles, sentences = Titles(corpus, CorpusConfig(), EIGHT, seed=1)(0)
    assert len(titles) == 8
    for title, sentence in zip(titles, sentences, strict=True):
        number = title.removeprefix("Title ")
        assert int(number) % 2
        assert number in sentence
    with pytest.raises(InputError, match="field `title`"):
        Titles(Corpus.open(tiny_run), CorpusConfig(), EIGHT, seed=1)


def test_tuning_learns_the_task(prompt_run: Path) -> None:
    """The loss falls; only the named layers are stored."""
    summary = Run.open(prompt_run).manifest(CONTEXT).summary
    assert summary["tuned_layers"] == 1
    assert summary["losses"][-1] < summary["losses"][0]


def test_the_tuned_model_is_what_is_opened(
    prompt_run: Path, tiny_llm: Path, tmp_path: Path
) -> None:
    """Vectors have length 1, and differ from those of the untuned model."""
    texts = ["The ship reached the harbour.", "The judge left.", ""]
    tuned = open_encoder(prompt_run).encode(texts)
    np.testing.assert_allclose(np.linalg.norm(tuned, axis=1), 1.0, atol=1e-6)
    run = Run.create(
        shutil.copytree(prompt_run, tmp_path / "run"),
        Run.open(prompt_run).config.changed({"context": {"tune": {"steps": 0}}}, "test"),
    )
    build_context(run)
    plain = open_encoder(run)
    assert "not tuned" in plain.name
    assert not np.allclose(plain.encode(texts), tuned, atol=1e-3)


def test_resumed_tuning_ends_with_the_same_bytes(
    prompt_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped at a batch after the first checkpoint, and started again."""
    run = Run.create(tmp_path / "run", Run.open(prompt_run).config)
    shutil.copytree(prompt_run / "corpus", tmp_path / "run" / "corpus")
    chosen = Neighbours.chosen

    def stop(self: Neighbours, step: int) -> object:
        if step == 4:
            raise KeyboardInterrupt
        return chosen(self, step)

    monkeypatch.setattr(Neighbours, "chosen", stop)
    with pytest.raises(KeyboardInterrupt):
        build_context(run)
    assert not run.has(CONTEXT)
    monkeypatch.setattr(Neighbours, "chosen", chosen)
    build_context(run)
    for file in (prompt_run / "context").iterdir():
        assert (run.path / "context" / file.name).read_bytes() == file.read_bytes(), file.name


def test_a_language_model_needs_a_name(tmp_path: Path, prompt_run: Path) -> None:
    """encoder: causal-lm without a model is a problem of the configuration."""
    with pytest.raises(ConfigError, match="needs `model`"):
        Config.parse({"context": {"encoder": "causal-lm"}}, "test")
    changes = {"context": {"model": str(tmp_path / "nothing")}}
    config = Run.open(prompt_run).config.changed(changes, "test")
    run = Run.create(tmp_path / "run", config)
    build_corpus(run)
    with pytest.raises(InputError, match="nothing"):
        build_context(run)

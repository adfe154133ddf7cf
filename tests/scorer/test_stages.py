"""The stages of the scorer on a tiny corpus: with word vectors, and with a pretrained encoder."""

import json
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conftest import blocks

from firth.corpus.build import build_corpus
from firth.encoders import static
from firth.encoders.kinds import FoundEncoder
from firth.encoders.pretrained import build_pretrained
from firth.encoders.static import write_static
from firth.encoders.words import WORDS, WordSpace, build_words
from firth.evaluation.questions import build_questions
from firth.run.errors import ConfigError, MissingStageError
from firth.run.run import Run
from firth.run.settings import parse_settings
from firth.scorer import contexts as contexts_module
from firth.scorer.contexts import CONTEXTS, Contexts, build_contexts
from firth.scorer.parts import TOPICS as TOPICS_PART
from firth.scorer.parts import WORDS as WORDS_PART
from firth.scorer.scorer import Blend, Scorer, spelling_weight_of

from .conftest import TOPICS, sentences

A, B = "The ship reached the harbour.", "A sailor left the harbour in a storm."


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run whose scorer is built on word vectors."""
    folder = tmp_path_factory.mktemp("scorer")
    by_document: dict[str, list[str]] = {}
    for name, text in sentences(1_000):
        by_document.setdefault(name, []).append(text)
    rows = [{"id": name, "title": name.upper(), "text": " ".join(texts)}
            for name, texts in by_document.items()]  # fmt: skip
    (folder / "texts.jsonl").write_text("\n".join(map(json.dumps, rows)))
    values = {"words": {"dimensions": 12, "epochs": 2, "batch": 64, "min_count": 2},
              "corpus": {"held_out_fraction": 0.2}, "questions": {"distractors": 3}}  # fmt: skip
    run = Run.create(folder / "run", parse_settings(values, "test"))
    build_corpus(run, [str(folder / "texts.jsonl")])
    with pytest.raises(MissingStageError):
        Scorer.open(run)
    for build in (build_words, build_questions, build_contexts):
        build(run)
    return run


@pytest.fixture(scope="module")
def encoded(built: Run) -> Run:
    """The same run with a static encoder, which knows some of the words."""
    rng = np.random.default_rng(2)
    nouns = [noun for topic in TOPICS.values() for noun in topic]
    centers = np.repeat(rng.standard_normal((4, 12)), 10, axis=0)
    vectors = centers + 0.5 * rng.standard_normal((40, 12)) + 3.0
    folder = built.path.parent / "static"
    write_static(folder, nouns, vectors.astype(np.float32))
    run = built.changed({"encoder": {"model": str(folder)}})
    run = Run.create(built.path.parent / "encoded", run.settings)
    build_corpus(run, [str(built.path.parent / "texts.jsonl")])
    for build in (build_words, build_questions, build_pretrained, build_contexts):
        build(run)
    return run


def blend_of(run: Run) -> Blend:
    return Blend.of(run, WordSpace.load(run.folder(WORDS)))


def test_few_sentences_count_spelling_more() -> None:
    assert [spelling_weight_of(sentences) for sentences in (0, 5_000, 50_000)] == [4.0, 1.6, 0.8]


def test_sentences_that_stand_alone_leave_learned_vectors_out(tmp_path: Path) -> None:
    """They were learned from halves of a sentence."""
    run = Run.create(tmp_path / "run", parse_settings({"words.min_count": 2}, "test"))
    build_corpus(run, [text for _, text in sentences(60)])
    build_words(run)
    assert not blend_of(run).learned


def test_settings_override_the_choice(built: Run) -> None:
    weights = {"sentences": 2.0, "words": 1.0}
    changed = built.changed({"scorer": {"weights": weights, "spelling_weight": 0.1}})
    assert blend_of(changed) == Blend(weights, 0.1)
    nothing = {"weights": {"sentences": 0.0, "words": 0.0}, "spelling_weight": 1.0}
    with pytest.raises(ConfigError, match="all 0"):
        blend_of(built.changed({"scorer": nothing}))


def test_contexts_are_reused(built: Run) -> None:
    """A changed setting builds what it decides."""
    assert build_contexts(built).reused
    fewer = built.changed({"scorer": {"topics": 2}})
    assert not build_contexts(fewer).reused
    assert len(Contexts.load(fewer.folder(CONTEXTS)).topics) <= 2
    build_contexts(built.changed({"scorer": {"topics": built.settings.scorer.topics}}))


def test_the_scorer_of_a_run_explains(built: Run) -> None:
    """With topics and words, by the default blend."""
    scorer = Scorer.open(built)
    assert blend_of(built) == Blend(spelling_weight=3.8)
    explanation = scorer.explain(A, B)
    assert {TOPICS_PART, WORDS_PART} == set(explanation.parts)
    assert explanation.score == scorer.similarities([(A, B)])[0]
    assert explanation.contexts[0].document
    only = Scorer.open(built, Blend({"words": 1.0}))
    assert only.weights == {"words": 1.0}


def test_a_pretrained_encoder_gives_the_sentence_vectors(encoded: Run) -> None:
    """Its cosine is the sentence part, of which contexts explain all."""
    scorer = Scorer.open(encoded)
    assert blend_of(encoded) == Blend(spelling_weight=3.8)
    explanation = scorer.explain(A, B)
    parts = {name: one[0] for name, one in scorer.component_similarities([(A, B)]).items()}
    weight = scorer.weights["sentences"]
    contribution = explanation.parts[TOPICS_PART].contribution
    assert contribution == pytest.approx(weight * parts["sentences"], abs=1e-6)
    assert all(word.contribution is None for word in explanation.words1)
    assert scorer.explain("Xqzzy!", "The wuffle").knowledge == "both", "an encoder knows words"


def test_a_registered_component_counts(built: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """That of docs/design.md; an unknown name is an error that lists the others."""
    values: dict[str, Any] = {}
    exec(next(block for block in blocks("design.md") if "class Lengths" in block), values)
    point = EntryPoint("lengths", "my_package:open_lengths", "firth.components")
    monkeypatch.setattr(EntryPoint, "load", lambda self: values["open_lengths"])
    monkeypatch.setattr("firth.scorer.scorer.entry_points", lambda group: [point])
    scorer = Scorer.open(built.changed({"scorer": {"weights": {"lengths": 0.5}}}))
    explanation = scorer.explain(A, B)
    lengths = 0.25 * len(A) / len(B)
    assert explanation.parts["lengths"].contribution == pytest.approx(lengths)
    assert sum(row.contribution for row in explanation.rows) == pytest.approx(explanation.score)
    with pytest.raises(ConfigError, match=r"names nothing; the components are .*lengths"):
        Scorer.open(built.changed({"scorer": {"weights": {"nothing": 1.0}}}))


@pytest.mark.parametrize(("is_table", "count"), [(True, 20), (False, 10)])
def test_a_costly_encoder_reads_fewer_contexts(
    encoded: Run, is_table: bool, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contexts_module, "DEFAULT_CONTEXTS", 20)
    monkeypatch.setattr(contexts_module, "ENCODED_CONTEXTS", 10)
    kind = replace(static.KIND, is_table=is_table)
    found = FoundEncoder(str(encoded.settings.encoder.model), kind)
    monkeypatch.setattr(contexts_module, "encoder_of", lambda run, name: found)
    run = encoded.changed({"scorer": {"topics": 2 + count}})
    assert build_contexts(run).manifest.summary["contexts"] == count

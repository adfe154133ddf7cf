"""Themes: every context is in one, they are named by their own words, and found again."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import TOPICS

from firth.context import CONTEXT, THEMES
from firth.context.contexts import Contexts
from firth.context.themes import FILE, Themes, build_themes, open_themes
from firth.corpus.corpus import Corpus
from firth.lexical.tfidf import Idf
from firth.run.errors import InputError
from firth.run.run import Run


@pytest.fixture(scope="module")
def parts(tiny_run: Path) -> tuple[Contexts, Corpus, Idf]:
    folder = Run.open(tiny_run).folder(CONTEXT)
    return Contexts.load(folder), Corpus.open(tiny_run), Idf.load(folder)


def test_themes_are_what_the_corpus_is_about(parts: tuple[Contexts, Corpus, Idf]) -> None:
    """Of four topics, four themes find most; their words are those of one topic, no stop words."""
    found = Themes.of(*parts, 4, 1)
    contexts, corpus, _ = parts
    assert len(found.themes) == 4
    documents = corpus.document_of(contexts.positions)
    topics = [Path(corpus.document_id(int(d))).stem.split("-")[0] for d in documents]
    agree = 0
    for theme in range(4):
        of = [topic for topic, label in zip(topics, found.labels, strict=True) if label == theme]
        most = max(TOPICS, key=of.count)
        agree += of.count(most)
    assert agree > 0.6 * len(topics)
    said = {word for theme in found.themes for word in theme.words}
    assert not said & {"the", "near"}
    assert all(len(theme.typical) == 2 for theme in found.themes)


def test_there_are_never_more_themes_than_contexts(parts: tuple[Contexts, Corpus, Idf]) -> None:
    """Four contexts each on average; a corpus of one context has one theme; none is empty."""
    contexts, corpus, idf = parts
    one = Contexts(contexts.positions[:1], contexts.vectors[:1])
    assert Themes.of(one, corpus, idf, 100, 1).labels.tolist() == [0]
    same = Contexts(contexts.positions[:9], np.repeat(contexts.vectors[:1], 9, axis=0))
    assert len(Themes.of(same, corpus, idf, 100, 1).themes) == 1
    many = Themes.of(contexts, corpus, idf, 10_000, 1)
    assert len(many.themes) <= len(contexts.positions) // 4
    assert sorted(set(many.labels.tolist())) == list(range(len(many.themes)))


def test_the_stage_keeps_what_is_grouped_when_it_is_missing(
    tiny_run: Path, tmp_path: Path, parts: tuple[Contexts, Corpus, Idf]
) -> None:
    """With the stage, without it and built again: the same themes. A broken file is named."""
    shutil.copytree(tiny_run, tmp_path / "run")
    run = Run.open(tmp_path / "run")
    kept = open_themes(run, *parts)
    shutil.rmtree(run.folder(THEMES))
    grouped = open_themes(run, *parts)
    assert grouped.themes == kept.themes
    assert grouped.labels.tolist() == kept.labels.tolist()
    assert not build_themes(run).reused
    assert build_themes(run).reused
    assert Themes.load(run.folder(THEMES)).themes == kept.themes
    (tmp_path / FILE).write_text(json.dumps({"labels": []}))
    with pytest.raises(InputError, match="firth train context"):
        Themes.load(tmp_path)

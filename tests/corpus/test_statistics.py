"""What is learned of a run's corpus: from which of its sentences."""

from pathlib import Path

import pytest

from firth.corpus.build import build_corpus
from firth.corpus.corpus import Corpus
from firth.corpus.statistics import fit_idf_on_run
from firth.lexical.tfidf import fit_idf
from firth.run.config import Config
from firth.run.errors import InputError, MissingStageError
from firth.run.run import Run


def test_idf_of_a_run_is_idf_of_its_sentences(tmp_path: Path) -> None:
    """The run's sentences within its length limits, no others."""
    text = tmp_path / "texts"
    text.mkdir()
    (text / "one.txt").write_text("The ship left. Gone. A storm came over the sea that night.")
    settings = {"inputs": [str(text)], "min_words": 3, "max_words": 6}
    run = Run.create(tmp_path / "run", Config.parse({"corpus": settings}, "test"))
    build_corpus(run)
    corpus = Corpus.open(run)
    assert min(corpus.word_counts) < 3, "premise: one sentence is too short"
    assert max(corpus.word_counts) > 6, "premise: one sentence is too long"
    idf = fit_idf_on_run(run)
    kept = [corpus.text(i) for i in range(len(corpus)) if 3 <= corpus.word_counts[i] <= 6]
    assert kept == ["The ship left."]
    assert dict(idf.frequencies) == dict(fit_idf(kept, source="").frequencies)
    assert idf.sentences == 1


def test_no_run_and_no_corpus_are_told_apart(tmp_path: Path) -> None:
    """A folder that is no run, and a run without a corpus, get different errors."""
    with pytest.raises(InputError, match="not a run"):
        fit_idf_on_run(tmp_path)
    with pytest.raises(MissingStageError, match="corpus"):
        fit_idf_on_run(Run.create(tmp_path / "run", Config()))

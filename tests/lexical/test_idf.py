"""Counting in how many sentences a word occurs."""

import math
from pathlib import Path

import pytest

from firth.corpus.build import build_corpus
from firth.corpus.corpus import Corpus
from firth.lexical.idf import fit_idf, fit_idf_on_run
from firth.run.config import Config
from firth.run.errors import InputError, MissingStageError
from firth.run.run import Run


def test_a_word_counts_once_a_sentence() -> None:
    """df is a number of sentences, not of occurrences; case does not matter."""
    idf = fit_idf(["to be or not to be", "To go", "be"], source="three sentences")
    assert idf.frequencies == {"to": 2, "be": 2, "or": 1, "not": 1, "go": 1}
    assert idf.sentences == 3
    assert idf.weight("to") == pytest.approx(math.log(4 / 3) + 1)


def test_an_unseen_word_is_the_rarest() -> None:
    """df = 0 gives the largest weight, so that unseen words still count when they are shared."""
    idf = fit_idf(["one two", "two three"], source="two sentences")
    assert idf.weight("four") > idf.weight("one") > idf.weight("two") >= 1


def test_sentences_are_read_as_a_stream() -> None:
    """A generator is enough, and is read once."""
    left = iter(["a b", "b c"])
    assert fit_idf(left, source="a stream").sentences == 2
    assert next(left, None) is None


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

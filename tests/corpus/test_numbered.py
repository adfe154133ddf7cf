"""The corpus as numbered words, against loops in plain Python."""

import random
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from firth.corpus import numbered as module
from firth.corpus.build import build_corpus
from firth.corpus.corpus import Corpus
from firth.corpus.numbered import read_sentences
from firth.run.errors import InputError
from firth.run.run import Run
from firth.run.settings import WordSettings
from firth.text.words import stems, words

from .conftest import run_of

MIN_COUNT = 8
VOCABULARY = (
    "ships sailing sail harbour rained water tide crew song night is was the a it".split()  # noqa: SIM905
)


@pytest.fixture(scope="module", params=["en", "th"])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return a run with random sentences; Thai has no stemmer."""
    rng = random.Random(7)

    def sentence() -> str:
        chosen = rng.choices(VOCABULARY, k=rng.randint(2, 9))
        return " ".join([*chosen, f"w{rng.randint(0, 40)}"]).capitalize() + "."

    texts = [" ".join(sentence() for _ in range(rng.randint(1, 6))) for _ in range(60)]
    run = run_of(tmp_path_factory.mktemp("numbered") / request.param, language=request.param)
    build_corpus(run, texts)
    return run


@pytest.mark.parametrize(("max_words", "block"), [(3, 7), (120, 1 << 13)])
def test_sentences_are_those_of_a_plain_loop(
    run: Run, max_words: int, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stemmed, without rare words, long ones cut: however many are worked on at once.

    Arrays that grow with the corpus are mapped; another call on the same folder gives the same.
    """
    monkeypatch.setattr(module, "MAX_WORDS", max_words)
    monkeypatch.setattr(module, "_SENTENCES", block)
    monkeypatch.setattr(module, "_WORDS", block)
    corpus = Corpus.open(run)
    stemmer = {"en": "porter", "th": "none"}[run.settings.corpus.language]
    plain = [stems(words(text), stemmer) for text in corpus.texts(np.arange(len(corpus)))]
    counts: dict[str, int] = {}
    for word in (word for sentence in plain for word in sentence):
        counts[word] = counts.get(word, 0) + 1
    assert 0 < sum(count < MIN_COUNT for count in counts.values()) < len(counts)  # the premise
    expected = []
    for number, sentence in enumerate(plain):
        kept = [word for word in sentence if counts[word] >= MIN_COUNT]
        document = int(corpus.document_of([number])[0])
        expected += [(document, kept[i : i + max_words]) for i in range(0, len(kept), max_words)]
    read = read_sentences(run, WordSettings(min_count=MIN_COUNT), tmp_path)
    names = np.array(read.vocabulary, object)
    texts = [names[read.pieces[i:j]].tolist() for i, j in pairwise(read.bounds)]
    assert list(zip(read.documents.tolist(), texts, strict=True)) == expected
    assert read.counts.tolist() == [counts[word] for word in read.vocabulary]
    assert (np.diff(read.counts) <= 0).all()
    assert read.sources.tolist() == corpus.source_numbers().tolist()
    chosen = np.array([5, 0, 5, len(read) - 1])
    pieces, offsets = read.gather(chosen)
    for i, part in zip(chosen, np.split(pieces, offsets[1:]), strict=True):
        assert part.tolist() == read.pieces[read.bounds[i] : read.bounds[i + 1]].tolist()
    again = read_sentences(run, WordSettings(min_count=MIN_COUNT), tmp_path)
    for name in ("pieces", "bounds", "documents"):
        assert isinstance(getattr(again, name).base, np.memmap), name
        assert (getattr(again, name) == getattr(read, name)).all()


def test_of_a_large_vocabulary_the_most_frequent_are_kept(run: Run, tmp_path: Path) -> None:
    """Of words equally frequent, the first of the alphabet."""
    whole = read_sentences(run, WordSettings(min_count=1), tmp_path / "whole")
    equal = np.flatnonzero(np.diff(whole.counts) == 0)
    assert len(equal)  # the premise: a tie to cut through
    most = int(equal[0]) + 1
    assert whole.vocabulary[most - 1] < whole.vocabulary[most]
    read = read_sentences(run, WordSettings(min_count=1, vocabulary=most), tmp_path)
    assert read.vocabulary == whole.vocabulary[:most]
    assert read.pieces.tolist() == whole.pieces[whole.pieces < most].tolist()
    with pytest.raises(InputError, match="no word occurs 100000 times"):
        read_sentences(run, WordSettings(min_count=100_000), tmp_path)

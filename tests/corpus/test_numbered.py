"""The corpus as numbered words, against loops in plain Python."""

from pathlib import Path

import numpy as np
import pytest

from firth import Corpus
from firth.corpus.numbered import read_sentences
from firth.corpus.settings import WordSection
from firth.lexical.words import Stemmer, stems, words
from firth.run.run import Run


@pytest.mark.parametrize("max_words", [3, 120])
@pytest.mark.parametrize(("stemmer", "block"), [(Stemmer.NONE, 1 << 13), (Stemmer.PORTER, 7)])
def test_equals_the_plain_way(
    trained_run: Path,
    max_words: int,
    stemmer: Stemmer,
    block: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Stem, drop what is rare, cut what is long: the same sentences, in the same order, however
    many are worked on at once."""
    monkeypatch.setattr("firth.corpus.numbered._SENTENCES", block)
    monkeypatch.setattr("firth.corpus.numbered._WORDS", block)
    run, min_count = Run.open(trained_run), 40
    corpus = Corpus.open(run)
    plain = [stems(words(text), stemmer) for text in corpus.texts(np.arange(len(corpus)))]
    counts: dict[str, int] = {}
    for word in (word for sentence in plain for word in sentence):
        counts[word] = counts.get(word, 0) + 1
    assert 0 < sum(count < min_count for count in counts.values()) < len(counts), "premise"
    expected = []
    for number, sentence in enumerate(plain):
        kept = [word for word in sentence if counts[word] >= min_count]
        document = int(corpus.document_of([number])[0])
        expected += [(document, kept[i : i + max_words]) for i in range(0, len(kept), max_words)]

    section = WordSection(stemmer=stemmer, min_count=min_count, max_words=max_words)
    found = read_sentences(run, section, tmp_path)
    assert list(zip(found.documents.tolist(), found.texts(), strict=True)) == expected
    assert found.counts.tolist() == [counts[word] for word in found.vocabulary]
    assert (np.diff(found.counts) <= 0).all()


def test_of_a_large_vocabulary_the_most_frequent_are_kept(
    trained_run: Path, tmp_path: Path
) -> None:
    """What is beyond it is left out as a rare word is; of words equally frequent the first of the
    alphabet stay."""
    run = Run.open(trained_run)
    whole = read_sentences(run, WordSection(), tmp_path / "whole")
    equal = np.flatnonzero(np.diff(whole.counts) == 0)
    assert len(equal), "premise: a tie to cut through"
    most = int(equal[0]) + 1
    assert whole.vocabulary[most - 1] < whole.vocabulary[most]
    found = read_sentences(run, WordSection(vocabulary=most), tmp_path)
    assert found.vocabulary == whole.vocabulary[:most]
    assert (found.counts == whole.counts[:most]).all()
    assert found.pieces.tolist() == whole.pieces[whole.pieces < most].tolist()


def test_gather_is_slicing(trained_run: Path, tmp_path: Path) -> None:
    """Chosen sentences one after the other, repeats included."""
    found = read_sentences(Run.open(trained_run), WordSection(min_count=1), tmp_path)
    chosen = np.array([5, 0, 5, len(found) - 1])
    pieces, offsets = found.gather(chosen)
    parts = np.split(pieces, offsets[1:])
    for i, part in zip(chosen, parts, strict=True):
        assert part.tolist() == found.pieces[found.bounds[i] : found.bounds[i + 1]].tolist()


def test_what_grows_with_the_corpus_is_mapped(trained_run: Path, tmp_path: Path) -> None:
    """No array with a number for each word or sentence is in memory; another call on the same
    folder, as after an interruption, finds the same."""
    run = Run.open(trained_run)
    found, again = (read_sentences(run, WordSection(), tmp_path) for _ in range(2))
    for name in ("pieces", "bounds", "documents"):
        array = getattr(again, name)
        assert isinstance(array.base, np.memmap), name
        assert (array == getattr(found, name)).all()
    corpus = Corpus.open(run)
    assert found.sources.tolist() == corpus.source_numbers().tolist()
    assert len(found.sources) == corpus.n_documents


def test_files_are_numbered_by_name(tmp_path: Path) -> None:
    """In the order of names, whatever the order of reading and the length of one name; through
    several batches of documents."""
    names = ["b", "a" * 150, "a", "ä", "Z"]
    for number, name in enumerate(names):
        lines = (f'{{"text": "A word of {name} says {n}."}}' for n in range(3 + number))
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("firth.corpus.store.BATCH_ROWS", 4)
        inputs = [tmp_path / f"{name}.jsonl" for name in names]
        corpus = Corpus.build(inputs, tmp_path / "run", held_out=0)
    files = corpus.document_sources()
    assert len(set(files)) == 5
    expected = [sorted(set(files)).index(file) for file in files]
    assert expected != sorted(expected), "the premise"
    sentences = np.arange(len(corpus))[::-1]
    documents = corpus.document_of(sentences)
    assert corpus.source_of(sentences).tolist() == [expected[d] for d in documents.tolist()]

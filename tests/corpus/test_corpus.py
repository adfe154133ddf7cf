"""The stored corpus answers as a plain list of documents would."""

import json
from contextlib import closing
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.corpus import store
from firth.corpus.context import Context
from firth.corpus.corpus import Corpus, _Rows
from firth.corpus.split import split_paragraphs
from firth.lexical.words import words
from firth.run.errors import ConfigError, DamagedError, InputError

DOCUMENTS = st.lists(st.lists(st.integers(1, 6), min_size=1, max_size=4), min_size=1, max_size=8)
"""Documents as the lengths of their paragraphs."""


def sentence(document: int, number: int) -> str:
    """A sentence like no other, of 3 to 9 words."""
    return f"Text {document} says {'very ' * (number % 7)}much{number}."


def written(path: Path, documents: list[list[int]]) -> list[list[list[str]]]:
    """The documents, written to a file and returned as paragraphs of sentences."""
    content, lines = [], []
    for d, lengths in enumerate(documents):
        numbers = iter(range(sum(lengths)))
        paragraphs = [[sentence(d, next(numbers)) for _ in range(length)] for length in lengths]
        content.append(paragraphs)
        text = "\n\n".join(" ".join(paragraph) for paragraph in paragraphs)
        lines.append(json.dumps({"id": f"d{d}", "title": f"T{d}", "text": text}) + "\n")
    path.write_text("".join(lines))
    return content


@settings(max_examples=25)
@given(documents=DOCUMENTS, window=st.integers(1, 3), limit=st.integers(1, 6))
def test_corpus_equals_its_documents(
    documents: list[list[int]], window: int, limit: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Sentences, borders, contexts and positions are those of the documents read by hand."""
    folder = tmp_path_factory.mktemp("corpus")
    content = written(folder / "a.jsonl", documents)
    corpus = Corpus.build(
        [folder / "a.jsonl"], folder / "run", window=window, chunk_sentences=limit, max_words=8
    )
    flat = [s for paragraphs in content for sentences in paragraphs for s in sentences]
    assert [text for batch in corpus.batches() for text in batch] == flat
    assert [corpus.text(i) for i in range(len(corpus))] == flat
    assert corpus.word_counts.tolist() == [len(words(text)) for text in flat]

    assert corpus.document_bounds.tolist() == [0, *np.cumsum([sum(d) for d in documents])]
    assert corpus.paragraph_bounds.tolist() == [0, *np.cumsum([n for d in documents for n in d])]
    assert (corpus.n_documents, corpus.n_paragraphs) == (
        len(documents),
        sum(map(len, documents)),
    )
    assert [corpus.document_id(d) for d in range(len(documents))] == [
        f"d{d}" for d in range(len(documents))
    ]
    assert corpus.document_title(0) == "T0"
    assert corpus.document_source(len(documents) - 1) == ("a.jsonl", len(documents))

    starts, ends = corpus.chunk_bounds[:-1], corpus.chunk_bounds[1:]
    assert starts[0] == 0
    assert ends[-1] == len(corpus)
    assert np.all((ends - starts >= 1) & (ends - starts <= limit))
    assert np.array_equal(corpus.document_of(starts), corpus.document_of(ends - 1))
    for k in range(corpus.n_chunks):
        assert corpus.chunk_text(k) == " ".join(flat[starts[k] : ends[k]])

    expected = []
    for i, text in enumerate(flat):
        d = int(corpus.document_of(i))
        inside = [s for sentences in content[d] for s in sentences]
        place = i - int(corpus.document_bounds[d])
        left, right = inside[max(0, place - window) : place], inside[place + 1 : place + 1 + window]
        assert corpus.context(i) == Context(tuple(left), tuple(right))
        assert starts[corpus.chunk_of(i)] <= i < ends[corpus.chunk_of(i)]
        bounds = corpus.paragraph_bounds
        assert bounds[corpus.paragraph_of(i)] <= i < bounds[corpus.paragraph_of(i) + 1]
        if left and right and 3 <= len(words(text)) <= 8:
            expected.append(i)
    assert corpus.positions().tolist() == expected
    deep = [i for i in expected if len(corpus.context(i, 2).left + corpus.context(i, 2).right) == 4]
    assert corpus.positions(window=2).tolist() == deep
    assert corpus.contexts(expected) == [corpus.context(i) for i in expected]
    assert corpus.contexts([]) == []


def test_the_example_texts_are_split_as_written(corpus: Corpus, tiny_folder: Path) -> None:
    """The folder of the shared fixture comes back paragraph by paragraph, held-out files aside."""
    learned = [path for n, path in enumerate(sorted(tiny_folder.iterdir()), 1) if n % 20]
    assert len(learned) == corpus.n_documents
    for d, path in enumerate(learned):
        expected = [s for p in split_paragraphs(path.read_text()) for s in p]
        start, end = corpus.document_bounds[d : d + 2]
        assert corpus.texts(np.arange(start, end)) == expected
        assert corpus.document_id(d) == f"{tiny_folder.name}/{path.name}"


def test_many_texts_at_once(tmp_path: Path) -> None:
    """Any order, repeats, and rows of several batches: `texts` is `text` for each."""
    count = 20_000
    (tmp_path / "a.txt").write_text("\n\n".join(f"Number {i} is here." for i in range(count)))
    corpus = Corpus.build([tmp_path / "a.txt"], tmp_path / "run")
    assert len(corpus) == count
    assert sum(1 for _ in corpus.batches()) > 2
    rows = np.random.default_rng(3).integers(0, count, 5_000)
    assert corpus.texts(rows) == [f"Number {i} is here." for i in rows]
    assert corpus.texts(rows) == [corpus.text(int(i)) for i in rows]
    assert corpus.texts([]) == []
    assert [t for b in corpus.batches(stride=2) for t in b][:1] == ["Number 0 is here."]
    assert sum(1 for _ in corpus.batches(stride=2)) == 2


def test_out_of_range_is_an_error(corpus: Corpus) -> None:
    """No index wraps around silently."""
    for wrong in (-1, len(corpus)):
        with pytest.raises(IndexError):
            corpus.text(wrong)
        with pytest.raises(IndexError):
            corpus.texts([0, wrong])
        with pytest.raises(IndexError):
            corpus.context(wrong)
    with pytest.raises(IndexError):
        corpus.chunk_text(corpus.n_chunks)
    with pytest.raises(IndexError):
        corpus.document_id(-1)


def test_build_refuses_before_touching_the_run(tmp_path: Path) -> None:
    """Wrong inputs and wrong settings leave no run behind."""
    (tmp_path / "a.txt").write_text("One. Two. Three.")
    with pytest.raises(InputError, match=r"absent\.txt: no such file"):
        Corpus.build([tmp_path / "absent.txt"], tmp_path / "run")
    with pytest.raises(ConfigError, match="no such setting"):
        Corpus.build([tmp_path / "a.txt"], tmp_path / "run", windows=2)
    with pytest.raises(ConfigError, match="windw: no such setting") as caught:
        Corpus.build([tmp_path / "a.txt"], tmp_path / "run", windw=2, min_words=0)
    assert "min_words" in str(caught.value)
    assert not (tmp_path / "run").exists()


def test_opening_what_is_not_there(tmp_path: Path) -> None:
    """The error tells the command that builds a run."""
    with pytest.raises(InputError, match="firth corpus build"):
        Corpus.open(tmp_path)


@pytest.mark.parametrize("wrong", [[0, 1 << 30, 6], [0, 3, 1 << 30], [-1, 3, 6], [4, 3, 6]])
def test_texts_that_would_lie_elsewhere_are_not_read(tmp_path: Path, wrong: list[int]) -> None:
    """Arrow follows what a file says of itself, out of the file and to the end of the process."""
    path = tmp_path / "texts.arrow"
    with closing(store.ArrowWriter(path, {"text": pa.string()})) as writer:
        writer.append(("abc",))
        writer.append(("def",))
    assert _Rows(path).one(1, "text") == "def"
    borders, content = np.array([0, 3, 6], np.int32).tobytes(), path.read_bytes()
    assert content.count(borders) == 1  # the premise
    path.write_bytes(content.replace(borders, np.array(wrong, np.int32).tobytes()))
    with pytest.raises(DamagedError, match=r"texts\.arrow"):
        _Rows(path)

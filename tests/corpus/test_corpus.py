"""The corpus answers as a plain list of documents would."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.corpus import corpus as module
from firth.corpus.build import add_documents, build_corpus, remove_documents
from firth.corpus.corpus import Corpus
from firth.run.errors import ChangedError
from firth.text.words import words

from .conftest import built, json_lines, run_of

DOCUMENTS = st.lists(st.lists(st.integers(1, 6), min_size=1, max_size=4), min_size=1, max_size=8)
"""Documents as the lengths of their paragraphs."""


def sentence(document: int, number: int) -> str:
    """Return a sentence like no other, of 4 to 10 words."""
    return f"Text {document} says {'very ' * (number % 7)}much{number}."


def records(documents: list[list[int]]) -> tuple[list[dict[str, Any]], list[list[list[str]]]]:
    """Return documents as records, and as sentences of paragraphs."""
    rows, content = [], []
    for d, lengths in enumerate(documents):
        numbers = iter(range(sum(lengths)))
        paragraphs = [[sentence(d, next(numbers)) for _ in range(length)] for length in lengths]
        content.append(paragraphs)
        text = "\n\n".join(" ".join(paragraph) for paragraph in paragraphs)
        rows.append({"id": f"d{d}", "title": f"T{d}", "text": text, "date": f"20{d:02}-01-01"})
    return rows, content


@settings(max_examples=15)
@given(documents=DOCUMENTS, batch=st.integers(1, 9))
def test_a_corpus_equals_its_documents(
    documents: list[list[int]], batch: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Sentences and bounds are those of the documents."""
    rows, content = records(documents)
    corpus, _ = built(tmp_path_factory.mktemp("corpus") / "run", rows, max_words=8)
    flat = [s for paragraphs in content for sentences in paragraphs for s in sentences]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BATCH", batch)
        patch.setattr(module, "_DOCUMENTS", 2)
        batches = list(corpus.batches())
        assert [len(each) for each in batches[:-1]] == [batch] * (len(batches) - 1)
        assert [text for each in batches for text in each] == flat
        mixed = np.random.default_rng(0).integers(0, len(flat), 2 * len(flat))
        assert corpus.texts(mixed) == [flat[i] for i in mixed]
    assert [corpus.text(i) for i in range(len(corpus))] == flat
    assert corpus.word_counts.tolist() == [len(words(text)) for text in flat]
    assert corpus.document_bounds.tolist() == [0, *np.cumsum([sum(d) for d in documents])]
    assert corpus.paragraph_bounds.tolist() == [0, *np.cumsum([n for d in documents for n in d])]
    assert corpus.n_documents == len(documents)
    assert corpus.document_ids() == [row["id"] for row in rows]
    assert corpus.document_titles() == [row["title"] for row in rows]
    assert corpus.document_dates() == [row["date"] for row in rows]
    for i in range(len(flat)):
        bounds, p = corpus.paragraph_bounds, int(corpus.paragraph_of(i))
        assert bounds[p] <= i < bounds[p + 1]
    usual = [i for i, text in enumerate(flat) if 3 <= len(words(text)) <= 8]
    assert corpus.usual_sentences().tolist() == usual
    assert not corpus.texts([])


def test_numbers_out_of_range_are_refused(tmp_path: Path) -> None:
    """Never the last sentence for -1."""
    corpus, _ = built(tmp_path / "run", records([[2], [1]])[0])
    for wrong in (-1, 3):
        with pytest.raises(IndexError, match="expected 0 to 2"):
            corpus.text(wrong)
        with pytest.raises(IndexError, match="expected 0 to 2"):
            corpus.texts([0, wrong])
    with pytest.raises(IndexError, match="expected 0 to 1"):
        corpus.document(2)


def test_documents_have_places_and_fields(tmp_path: Path) -> None:
    """Files are numbered in the order of their names, whatever the order of reading."""
    names = ["b", "a" * 150, "a", "ä", "Z"]
    for number, name in enumerate(names):
        rows = [{"text": f"A word of {name} says {n}.", "tag": [n, "x"]} for n in range(3 + number)]
        (tmp_path / f"{name}.jsonl").write_bytes(json_lines(rows))
    paths = [tmp_path / f"{name}.jsonl" for name in names]
    corpus, _ = built(tmp_path / "run", paths, fields=("tag",))
    files = [corpus.document(d).source for d in range(corpus.n_documents)]
    expected = [sorted(set(files)).index(file) for file in files]
    assert expected != sorted(expected)  # the premise
    assert corpus.source_numbers().tolist() == expected
    known = corpus.document(4)
    assert (known.source, known.line, known.fields) == (f"{names[1]}.jsonl", 2, {"tag": ("1", "x")})
    assert corpus.fields == ("tag",)


def test_threads_share_a_corpus(tmp_path: Path) -> None:
    rows, _ = records([[3, 2]] * 30)
    corpus, _ = built(tmp_path / "run", rows)
    flat = corpus.texts(range(len(corpus)))
    with ThreadPoolExecutor(8) as pool:
        numbers = np.random.default_rng(0).integers(0, len(corpus), 800).tolist()
        assert list(pool.map(corpus.text, numbers)) == [flat[i] for i in numbers]


def test_an_open_corpus_stays_as_it_was(tmp_path: Path) -> None:
    """Documents that come later do not move its numbers; one that went is an error, not another
    document."""
    rows, _ = records([[1], [2], [1]])
    run = run_of(tmp_path / "run")
    build_corpus(run, rows)
    corpus = Corpus.open(run)
    flat = corpus.texts(range(4))
    add_documents(run, [{"id": "new", "text": "Another text is here."}])
    assert corpus.document_ids() == ["d0", "d1", "d2"]
    assert corpus.texts(range(4)) == flat
    assert len(corpus.word_counts) == len(corpus) == 4
    assert corpus.documents_where("date >= 2000").tolist() == [0, 1, 2]
    remove_documents(run, ["d1"])
    assert corpus.texts([0, 3]) == [flat[0], flat[3]]
    calls: list[Callable[[], object]] = [
        corpus.document_ids,
        lambda: corpus.text(1),
        lambda: corpus.document(1),
        lambda: corpus.documents_where("date >= 2000"),
    ]
    for call in calls:
        with pytest.raises(ChangedError, match="replaced or removed since"):
            call()
    remove_documents(run, ["d0", "d2", "new"])
    empty = Corpus.open(run)
    assert (len(empty), empty.n_documents, list(empty.batches())) == (0, 0, [])
    assert empty.word_counts.tolist() == []
    assert empty.document_ids() == empty.source_numbers().tolist() == []
    assert empty.documents_where("date >= 2000").tolist() == []


def test_a_digest_is_that_of_the_content(tmp_path: Path) -> None:
    """Equal documents give equal digests in other runs; another order, file or part another."""
    rows, _ = records([[1, 2], [2], [3]])
    digests = {
        name: built(tmp_path / name, given)[0].digest
        for name, given in {"a": rows, "b": list(rows), "c": rows[::-1], "d": rows[:2]}.items()
    }
    assert digests["a"] == digests["b"]
    (tmp_path / "a.jsonl").write_bytes(json_lines(rows))
    digests["file"] = built(tmp_path / "file", tmp_path / "a.jsonl")[0].digest
    assert len({*digests.values()}) == 4
    run = run_of(tmp_path / "run")
    build_corpus(run, rows)
    parts = [Corpus.open(run, part).digest for part in ("learn", "held-out", "all")]
    assert len({*parts}) == 3

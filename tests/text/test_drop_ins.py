"""The recipes of docs/guides/differences.md with the libraries that they are for."""

from typing import Any

import pytest
from tests.conftest import blocks

RIGHT, WRONG = "How do I pause my plan?", "How do I resume my plan?"


def recipe(name: str) -> dict[str, Any]:
    """Run the block of the page that has a name in it, and return what it defines."""
    namespace: dict[str, Any] = {}
    exec(next(block for block in blocks("guides/differences.md") if name in block), namespace)
    return namespace


def test_serve_from_cache() -> None:
    serve = recipe("def from_cache")["from_cache"]
    assert serve(RIGHT, RIGHT, 0.95)
    assert not serve(WRONG, RIGHT, 0.95)
    assert not serve(RIGHT, RIGHT, 0.5)


def test_gptcache() -> None:
    """GPTCache asks an evaluation, which keeps its range."""
    pytest.importorskip("gptcache")
    evaluation = recipe("import SearchDistanceEvaluation")["SameQuestion"]()
    low, high = evaluation.range()
    cached = {"question": RIGHT, "search_result": (0.1, None)}
    same = evaluation.evaluation({"question": RIGHT}, cached)
    other = evaluation.evaluation({"question": WRONG}, cached)
    assert low <= other < same <= high
    assert other == low


def test_langchain() -> None:
    """A compressor of documents leaves out what contradicts the question."""
    documents = pytest.importorskip("langchain_core.documents")
    compressor = recipe("BaseDocumentCompressor")["SaysTheSame"]()
    texts = [RIGHT, WRONG]
    results = compressor.compress_documents(
        [documents.Document(page_content=text) for text in texts], RIGHT
    )
    assert [document.page_content for document in results] == [RIGHT]

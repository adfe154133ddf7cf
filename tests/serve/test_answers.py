"""What the service answers is what the library does, in the shape that it describes."""

import json
from typing import Any

import pytest
from starlette.testclient import TestClient

from firth.origin.origin import Origin
from firth.scale.scale import Scale
from firth.search.search import Search
from firth.serve import schemas
from firth.serve.endpoints import ASKED, Manner
from firth.serve.opened import Opened

from .conftest import A, B


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def asked_for(opened: Opened) -> dict[str, dict[str, Any]]:
    """A request to each endpoint."""
    one, two = opened.library.document_ids()[:2]
    return {
        "/api/run": {},
        "/api/similarity": {"pairs": [[A, B], [A, A]], "model": "surrogate"},
        "/api/explain": {"first": A, "second": B, "top": 2},
        "/api/search": {"query": A, "top": 3, "where": ["id=*sea*"], "rerank": True},
        "/api/duplicates": {"unit": "documents", "top": 2},
        "/api/mine": {"top": 2},
        "/api/check": {},
        "/api/documents/compare": {"first": one, "second": {"text": f"{A} {B}"}},
        "/api/documents": {"query": "SEA"},
        "/api/document/{id:path}": {"id": two},
        "/api/encode": {"texts": [A, B, "Zoë saw 漢字 and a 🚢."]},
        "/v1/embeddings": {"input": [A, B], "model": "surrogate"},
        "/v1/models": {},
        "/health": {},
    }


def files_of(opened: Opened) -> dict[str, int]:
    """Each file of the run → when it was written."""
    return {str(path): path.stat().st_mtime_ns for path in opened.run.path.rglob("*")}


@pytest.mark.parametrize("endpoint", ASKED, ids=lambda one: one.path)
def test_answers_have_the_shape_that_is_described(
    endpoint: Any, client: TestClient, opened: Opened
) -> None:
    """Every endpoint answers, and its answer is what its schema says, no key more or less; the run
    stays as it is, though it is asked with another setting than its own."""
    before = files_of(opened)
    request = asked_for(opened)[endpoint.path]
    if endpoint.method == "GET":
        path = endpoint.path.replace("{id:path}", request.pop("id", ""))
        found = client.get(path, params=request)
    else:
        found = client.post(endpoint.path, json=request)
    assert found.status_code == 200, found.text
    if endpoint.manner is Manner.LONG:
        *before, last = lines(found.text)
        assert all([*line] == ["progress"] for line in before)
        plain = last["result"]
    else:
        plain = found.json()
    told = endpoint.gives.model_validate(plain)
    assert {*plain} <= {*endpoint.gives.model_fields}
    assert json.loads(told.model_dump_json(exclude_unset=True)) == plain
    assert files_of(opened) == before


def test_scores_are_those_of_the_library(client: TestClient, opened: Opened) -> None:
    """Similarity, reasons, hits: the same numbers."""
    origin = Origin.open(opened.run)
    found = client.post("/api/similarity", json={"pairs": [[A, B]]}).json()
    assert found["scores"] == [origin.similarity(A, B)]
    request = {"pairs": [[A, B]], "model": "surrogate"}
    scale = Scale.open(opened.run)
    found = client.post("/api/similarity", json=request).json()
    assert found["scale"] == [scale.shares(found["scores"][0])]
    hits = client.post("/api/search", json={"query": A, "top": 4}).json()["hits"]
    assert [hit["text"] for hit in hits] == [
        hit.text for hit in Search.open(opened.run).search(A, top=4)
    ]
    vectors = client.post("/api/encode", json={"texts": [A]}).json()["vectors"]
    assert vectors[0] == pytest.approx(opened.encoder.encode([A])[0].tolist(), abs=1e-7)


@pytest.mark.parametrize("components", [None, ["sentences"], ["words"], ["sentences", "words"]])
@pytest.mark.parametrize("top", [1, 3, 100])
def test_reasons_sum_to_the_score(
    client: TestClient, opened: Opened, components: list[str] | None, top: int
) -> None:
    """However few are told, and whichever components count."""
    weights = opened.reasons.weights
    request = {"first": A, "second": B, "top": top, "components": components}
    answer = client.post("/api/explain", json=request)
    if components and not {*components} & {*weights}:
        assert answer.status_code == 422
        return
    found = answer.json()
    assert len(found["themes"]) <= top
    assert len(found["meetings"]) <= top
    parts = found["parts"]
    assert sum(part["added"] for part in parts.values()) == pytest.approx(found["similarity"])
    for name, listed in (("themes", found["themes"]), ("words", found["meetings"])):
        told = sum(each["added"] for each in listed) + parts[name]["rest"]
        assert told == pytest.approx(parts[name]["added"])
    if components and len(components) == 1:
        name = components[0]
        alone = opened.reasons.only([name]).similarity(A, B)
        assert found["similarity"] == alone


def test_documents_are_found_by_name(client: TestClient, opened: Opened) -> None:
    """Part of a name is enough; pages add up; what is none is 404, a file's name too."""
    names = opened.library.document_ids()
    found = client.get("/api/documents").json()
    assert found["total"] == len(names)
    assert [one["id"] for one in found["documents"]] == names[:50]
    for other in ("nothing", "/etc/passwd", str(opened.run.path / "config.yaml")):
        assert client.get(f"/api/document/{other}").status_code == 404
        compared = {"first": other, "second": names[0]}
        assert client.post("/api/documents/compare", json=compared).status_code == 404


def test_long_answers_are_kept(client: TestClient) -> None:
    """Asked again, they come at once, without progress."""
    first = lines(client.post("/api/mine", json={"top": 3}).text)
    again = lines(client.post("/api/mine", json={"top": 3}).text)
    assert again == first[-1:]


def test_what_a_request_does_not_know_is_refused() -> None:
    """A misspelled name is an error, not a default."""
    for one in ASKED:
        extra = one.takes.model_config.get("extra")
        assert extra == ("ignore" if one.takes is schemas.AskedEmbeddings else "forbid")

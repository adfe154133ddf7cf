"""The API: answers equal those of the model, bad requests get problems, and limits hold."""

import base64
import json
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from tests.serve.conftest import TOKEN, running

import firth
from firth.serve.endpoints import ENDPOINTS, Work

A, B = "The ship saw the harbor.", "A boat left the storm."


def ask(address: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Any:
    """Return the answer's JSON, or its lines."""
    data = None if body is None else json.dumps(body).encode()
    given = {"Content-Type": "application/json"} if data is not None else {}
    with urlopen(Request(address + path, data, {**given, **(headers or {})}), timeout=60) as reply:
        content = reply.read().decode()
        if "ndjson" in reply.headers["content-type"]:
            return [json.loads(line) for line in content.splitlines()]
        return json.loads(content)


def problem(
    address: str, path: str, body: Any = None, **headers: str
) -> tuple[int, dict[str, str]]:
    """Return the status and the error of a request that fails."""
    with pytest.raises(HTTPError) as caught:
        ask(address, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
    return caught.value.code, json.loads(caught.value.read())["error"]


def test_answers_are_those_of_the_model(address: str, toy_folder: Path) -> None:
    """Similarity, explanation, search, documents and vectors."""
    model = firth.load(toy_folder)
    scores = ask(address, "/api/similarity", {"pairs": [[A, B], [A, A]]})["scores"]
    assert scores == [model.similarity(A, B), 1.0]
    explained = ask(address, "/api/explain", {"text1": A, "text2": B})
    assert explained["score"] == scores[0]
    assert 'class="text"' in explained["html"]
    hits = ask(address, "/api/search", {"query": "ship", "top": 3, "where": "section = 'sea'"})
    assert [hit["text"] for hit in hits["hits"]] == [
        hit.text for hit in model.search("ship", top=3, where="section = 'sea'")
    ]
    document = ask(address, "/api/document", {"id": "doc-0"})
    assert document["fields"] == {"section": ["sea"]}
    assert len(document["sentences"]) == 12
    listed = ask(address, "/api/documents", {"query": "farmer"})
    assert listed["total"] == 20
    run = ask(address, "/api/run", {})
    assert run["documents"] == 40
    assert len(run["examples"]) == 2


def test_embeddings_have_the_form_of_openai(address: str, toy_folder: Path) -> None:
    """Floats and base64 are those of the model; OpenAI's client reads both."""
    body = {"input": [A, B], "model": "encoder"}
    floats = [one["embedding"] for one in ask(address, "/v1/embeddings", body)["data"]]
    packed = ask(address, "/v1/embeddings", {**body, "encoding_format": "base64"})["data"]
    decoded = [np.frombuffer(base64.b64decode(one["embedding"]), "<f4") for one in packed]
    assert np.allclose(floats, decoded, atol=1e-6)
    assert np.allclose(floats, firth.load(toy_folder).encode([A, B]), atol=1e-6)
    openai = pytest.importorskip("openai")
    client = openai.OpenAI(base_url=f"{address}/v1", api_key="none")
    answer = client.embeddings.create(input=A, model="encoder")
    assert np.allclose(answer.data[0].embedding, floats[0], atol=1e-6)


def test_lists_are_matched(address: str) -> None:
    """As by `firth.match`, with the encoder of the search; one list is matched with itself."""
    left = [f"A ship of {number} tons left the harbor." for number in range(24)]
    body = {"left": left, "right": left[:-1], "precision": 0.8}
    result = ask(address, "/api/match", body)[-1]["result"]
    assert [item["right"] for item in result["items"][:-1]] == [*range(23)]
    assert result["precision"] == 0.8
    assert str(result["matches"]) in result["summary"]
    result = ask(address, "/api/match", {"left": left})[-1]["result"]
    assert all(item["nearest"] not in ("", item["text"]) for item in result["items"])
    wrong: dict[str, Any]
    for wrong in ({"left": []}, {"left": left, "precision": 1.5}):
        assert problem(address, "/api/match", wrong)[0] == 422


@pytest.mark.parametrize(
    ("path", "body"),
    [("/api/duplicates", {}), ("/api/duplicates", {"unit": "passage"}), ("/api/check", {})],
)
def test_long_work_ends_with_its_result(path: str, body: Any, address: str) -> None:
    """Lines are progress, and at last the result."""
    *progress, last = ask(address, path, body)
    assert "result" in last
    assert all(set(line) == {"progress"} for line in progress)


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/api/search", {"query": ""}, 422),
        ("/api/search", {"query": "ship", "colour": 1}, 422),
        ("/api/search", {"query": "ship", "where": "color = 'red'"}, 422),
        ("/api/search", {"query": "ship", "top": 10**9}, 422),
        ("/api/similarity", {"pairs": [[A]]}, 422),
        ("/api/explain", {"text1": A, "text2": "x" * 8_001}, 422),
        ("/api/documents/compare", {"first": "/etc/passwd", "second": "doc-0"}, 404),
        ("/v1/embeddings", {"input": A, "model": "gpt"}, 422),
        ("/v1/embeddings", {"input": A, "model": "encoder", "dimensions": 8}, 422),
        ("/v1/embeddings", {"input": ["a"] * 2_049, "model": "encoder"}, 422),
        ("/api/nothing", {}, 404),
    ],
)
def test_bad_requests_are_named(path: str, body: Any, status: int, address: str) -> None:
    """Each has its status, a code, and a message; nothing internal goes out."""
    code, error = problem(address, path, body)
    assert code == status
    assert error["message"]
    assert "Traceback" not in error["message"]
    assert ask(address, "/health") == {"status": "ok"}


def test_malformed_requests_are_refused(address: str) -> None:
    """No JSON, a foreign type, too long a body, and an unknown document."""
    for data, kind, status in ((b"{", "application/json", 422), (b"a=1", "text/plain", 415)):
        with pytest.raises(HTTPError) as caught:
            urlopen(Request(f"{address}/api/search", data, {"Content-Type": kind}), timeout=60)
        assert caught.value.code == status
    assert problem(address, "/api/search", {"query": "x" * (1 << 16)})[0] == 413
    long = {"input": "x" * (1 << 20), "model": "encoder"}
    assert problem(address, "/v1/embeddings", long)[0] == 413
    assert problem(address, "/api/document", {"id": "nobody"})[0] == 404


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.com"}, 421),
        ({"Host": "127.0.0.1/evil.com"}, 400),
        ({"Host": "evil.com@127.0.0.1"}, 400),
        ({"Host": "127.0.0.1,evil.com"}, 400),
        ({"Host": "127.0.0.1."}, 421),
        ({"Host": "2130706433"}, 421),
        ({"Origin": "http://evil.com"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec_Fetch_Site": "cross-site"}, 403),
        ({"Sec_Fetch_Site": "same-site"}, 403),
    ],
)
def test_foreign_requests_are_refused(headers: dict[str, str], status: int, address: str) -> None:
    """Hosts that are not this service, and pages of other sites, for GET and POST alike."""
    assert problem(address, "/metrics", None, **headers)[0] == status
    assert problem(address, "/api/search", {"query": "ship"}, **headers)[0] == status


def test_a_token_guards_what_shows_the_run(toy_folder: Path) -> None:
    """Without it 401; health and the page itself need none."""
    with running(toy_folder, TOKEN) as address:
        assert problem(address, "/api/run", {})[0] == problem(address, "/metrics")[0] == 401
        assert problem(address, "/api/run", {}, Authorization=f"Bearer {TOKEN[:-1]}")[0] == 401
        given = {"Authorization": f"Bearer {TOKEN}"}
        assert ask(address, "/api/run", {}, given)["documents"] == 40
        assert ask(address, "/health") == {"status": "ok"}
        assert urlopen(address, timeout=60).status == 200


def test_the_description_covers_every_endpoint(address: str) -> None:
    """OpenAPI has each path and method; metrics count what was answered."""
    described = ask(address, "/openapi.json")
    assert ask(address, "/api/run", {})
    for one in ENDPOINTS.values():
        assert "post" in described["paths"][one.path]
    with urlopen(f"{address}/metrics", timeout=60) as reply:
        assert 'firth_requests_total{path="/api/run",status="200"}' in reply.read().decode()


def test_requests_made_of_the_description_find_no_failure(address: str) -> None:
    """Generated requests, valid and not, are answered or refused; long work has its test."""
    schemathesis = pytest.importorskip("schemathesis")
    schema = schemathesis.openapi.from_url(f"{address}/openapi.json")

    def check(operation: Any) -> None:
        @settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
        @given(case=operation.as_strategy())
        def call(case: Any) -> None:
            assert case.call().status_code != 500

        call()

    for one in ENDPOINTS.values():
        if one.work is not Work.LONG:
            check(schema[one.path]["POST"])

"""What is refused, and how: a status, a code, a sentence; never a trace of the inside."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from firth.run.errors import InputError
from firth.run.run import Run
from firth.serve import bounds
from firth.serve.app import Service
from firth.serve.bounds import Load
from firth.serve.opened import Opened
from firth.serve.server import make_server, serve
from firth.serve.token import VARIABLE, read_token

from .conftest import A, B, client_of, quick

TOKEN = "0123456789abcdef-token"
ASK = "/api/similarity"


def error_of(found: Any) -> dict[str, str]:
    """The error of an answer, which has all three of its parts."""
    error: dict[str, str] = found.json()["error"]
    assert {*error} == {"code", "message", "hint"}
    assert error["message"]
    assert "Traceback" not in found.text
    return error


@pytest.mark.parametrize(
    ("body", "status", "told"),
    [
        (b"{", 422, "JSON"),
        (b"[]", 422, "object"),
        (b'{"texts": []}', 422, "texts"),
        (b'{"texts": [""]}', 422, "texts.0"),
        (b'{"texts": ["  "]}', 422, "texts.0"),
        (b'{"texts": [1]}', 422, "texts.0"),
        (b'{"texts": ["a"], "more": 1}', 422, "more"),
        (b'{"texts": ["\\ud800"]}', 422, "JSON"),
        (json.dumps({"texts": ["a" * (bounds.CHARACTERS + 1)]}).encode(), 422, "texts.0"),
        (json.dumps({"texts": ["a"] * (bounds.TEXTS + 1)}).encode(), 422, "texts"),
        (b" " * (bounds.BODY + 1), 413, "bytes"),
    ],
    ids=lambda given: repr(given)[:30],
)
def test_bodies_that_are_refused(client: TestClient, body: bytes, status: int, told: str) -> None:
    """Each says what is wrong with it, and where."""
    found = client.post("/api/encode", content=body, headers={"content-type": "application/json"})
    assert found.status_code == status, found.text
    assert told in error_of(found)["message"]


def test_whole_numbers_may_have_a_point(client: TestClient) -> None:
    """JSON's 2.0 is an integer, as the description says; what is none is refused."""
    plain, pointed = (client.post("/api/search", json={"query": "a", "top": n}) for n in (2, 2.0))
    assert len(plain.json()["hits"]) == 2
    assert pointed.json() == plain.json()
    for wrong in (2.5, True, "2", 1e300):
        assert client.post("/api/search", json={"query": "a", "top": wrong}).status_code == 422


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("GET", "/nothing", {}, 404),
        ("GET", "/static/%00", {}, 404),
        ("GET", "/static/../app.py", {}, 404),
        ("GET", ASK, {}, 405),
        ("DELETE", "/api/run", {}, 405),
        ("POST", ASK, {"content-type": "text/plain"}, 415),
        ("POST", ASK, {"host": "evil.example"}, 421),
        ("GET", "/api/run", {"host": "127.0.0.1.evil.example:8017"}, 421),
        ("GET", "/api/run", {"host": "10.0.0.1"}, 421),
        ("POST", ASK, {"origin": "https://evil.example"}, 403),
        ("POST", ASK, {"sec-fetch-site": "cross-site"}, 403),
        ("OPTIONS", ASK, {"origin": "https://evil.example"}, 403),
        ("GET", "/api/documents?page=0", {}, 422),
        ("GET", "/api/run?more=1", {}, 422),
    ],
)  # fmt: skip
def test_requests_that_are_refused(
    client: TestClient, method: str, path: str, headers: dict[str, str], status: int
) -> None:
    """Foreign names, foreign pages, other methods; all answers have the headers that protect."""
    found = client.request(method, path, headers=headers, content=b"{}")
    assert found.status_code == status, found.text
    if not path.startswith("/static"):
        error_of(found)
    assert "frame-ancestors 'none'" in found.headers["content-security-policy"]
    assert found.headers["x-content-type-options"] == "nosniff"
    assert found.headers["referrer-policy"] == "same-origin"
    assert not [name for name in found.headers if name.startswith("access-control")]


def test_the_token_is_asked_of_all_that_tells_something(opened: Opened) -> None:
    """Without it 401; health and the description are free."""
    client = client_of(Service(opened, token=TOKEN))
    wrong: list[dict[str, str]] = [{}]
    wrong += [{"authorization": said} for said in (TOKEN, f"Bearer {TOKEN}x", "Bearer ")]
    for headers in wrong:
        for path in ("/api/run", "/v1/models", "/metrics", "/api/nothing"):
            found = client.get(path, headers=headers)
            assert found.status_code == 401
            assert error_of(found)["code"] == "no_token"
            assert found.headers["www-authenticate"] == "Bearer"
    right = {"authorization": f"Bearer {TOKEN}"}
    assert client.get("/v1/models", headers=right).status_code == 200
    assert client.get("/health").status_code == 200
    assert client.get("/openapi.json").json()["security"] == [{"token": []}]


def test_there_is_room_for_so_many(opened: Opened) -> None:
    """Requests beyond are refused at once with 429, and told when to come again; there is room
    again when the others are answered."""
    service = Service(opened, quick())
    client, go = client_of(service), threading.Event()
    blocked = service.desk._thread.submit(go.wait, 20)
    found: list[Any] = []
    asking = [
        threading.Thread(target=lambda: found.append(client.post(ASK, json={"pairs": [[A, B]]})))
        for _ in range(4)
    ]
    for one in asking:
        one.start()
    for one in asking:
        one.join()
    go.set()
    blocked.result()
    statuses = sorted(one.status_code for one in found)
    assert statuses == [429, 429, 504, 504]
    for one in found:
        error_of(one)
        assert (one.headers.get("retry-after") == "1") == (one.status_code == 429)
    assert service.desk.under_way == 0
    service.desk.load = Load()  # time enough on any machine
    assert client.post(ASK, json={"pairs": [[A, B]]}).status_code == 200


def test_what_fails_inside_stays_inside(
    opened: Opened, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """500 and no word of what happened, which is in the log; the next request is answered."""

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("a secret")

    client = client_of(Service(opened))
    with monkeypatch.context() as patched:
        patched.setattr("firth.search.search.Search.search", fail)
        found = client.post("/api/search", json={"query": A})
    assert found.status_code == 500
    assert error_of(found)["code"] == "internal"
    assert "secret" not in found.text
    assert "a secret" in capsys.readouterr().err
    assert client.post("/api/search", json={"query": A}).status_code == 200


def test_a_run_without_its_parts_says_what_to_build(tiny_folder: Path, tmp_path: Path) -> None:
    """A corpus alone is listed; what needs more is 409, with the command."""
    from firth.corpus.corpus import Corpus

    Corpus.build(tiny_folder, tmp_path / "run")
    client = client_of(Service(Opened(Run.open(tmp_path / "run"))))
    about = client.get("/api/run").json()
    assert not any(about["has"].values())
    assert [stage["name"] for stage in about["stages"]] == ["corpus"]
    asked = {
        ASK: {"pairs": [[A, B]]},
        "/api/explain": {"first": A, "second": B},
        "/api/search": {"query": A},
        "/api/encode": {"texts": [A]},
        "/v1/embeddings": {"input": A},
        "/api/duplicates": {},
        "/api/mine": {},
    }
    for path, body in asked.items():
        found = client.post(path, json=body)
        assert found.status_code == 409, path
        error = error_of(found)
        assert error["code"] == "missing"
        assert "firth " in error["hint"]
    assert client.get("/v1/models").json()["data"] == []


def test_reasons_of_the_printed_method_are_told_elsewhere(tiny_run: Path) -> None:
    """Its scores are answered; its explanations are another object, of the command line."""
    client = client_of(Service(Opened(Run.open(tiny_run))))
    assert client.get("/api/run").json()["has"]["reasons"] is False
    assert client.post(ASK, json={"pairs": [[A, B]]}).status_code == 200
    found = client.post("/api/explain", json={"first": A, "second": B})
    assert found.status_code == 422
    assert "firth explain" in error_of(found)["hint"]


def test_other_machines_need_a_token(ensemble_run: Run) -> None:
    """A host that others reach is refused without one, before anything is opened."""
    with pytest.raises(InputError, match="there is no token"):
        serve(ensemble_run, lambda _: None, host="0.0.0.0", port=0)


def test_names_under_which_a_service_is_reached(ensemble_run: Run) -> None:
    """Where others reach it: addresses, and names that are given; no foreign name."""
    server = make_server(ensemble_run, host="0.0.0.0", names=["firth.example"], token=TOKEN)
    client = TestClient(server.config.app)  # type: ignore[arg-type]
    for host, status in {
        "firth.example:80": 200, "10.0.0.1:8017": 200, "[::1]": 200, "localhost": 200,
        "evil.example": 421, "": 421,
    }.items():  # fmt: skip
        assert client.get("/health", headers={"host": host}).status_code == status, host


def test_tokens_are_read_from_files_and_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file goes first; what is too short, or none, is refused, and not repeated."""
    monkeypatch.delenv(VARIABLE, raising=False)
    assert read_token(None) is None
    monkeypatch.setenv(VARIABLE, TOKEN)
    assert read_token(None) == TOKEN
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}-other\n")
    assert read_token(file) == f"{TOKEN}-other"
    for wrong in ("", "short", "with blanks in the middle", "ünicode-ünicode-ünicode"):
        file.write_text(wrong)
        with pytest.raises(InputError, match="expected a token") as caught:
            read_token(file)
        assert not wrong or wrong not in str(caught.value)
    with pytest.raises(InputError, match="cannot be read"):
        read_token(tmp_path / "none")


def test_long_work_is_one_at_a_time_and_ends(opened: Opened) -> None:
    """A second request is refused with 429; what takes too long ends with 504; and what nobody
    waits for stops at its next step."""
    from firth.run.progress import bar
    from firth.serve.problems import Problem

    service = Service(opened, quick())
    steps: list[int] = []

    def work() -> None:
        with bar("Working", 1_000) as shown:
            for step in range(1_000):
                steps.append(step)
                shown.advance()
                threading.Event().wait(0.02)

    async def rest(lines: AsyncIterator[dict[str, Any]], seen: list[dict[str, Any]]) -> None:
        async for line in lines:
            seen.append(line)

    async def both() -> list[dict[str, Any]]:
        first = service.desk.tell(work)
        seen = [await anext(first)]
        with pytest.raises(Problem) as refused:
            await anext(service.desk.tell(work))
        assert refused.value.status == 429
        with pytest.raises(Problem) as slow:
            await rest(first, seen)
        assert slow.value.status == 504
        return seen

    seen = asyncio.run(both())
    done = [line["progress"]["done"] for line in seen]
    assert done == sorted(done)
    assert {line["progress"]["what"] for line in seen} == {"Working"}
    service.desk._long.submit(lambda: None).result()  # behind the work
    assert 1 < len(steps) < 1_000

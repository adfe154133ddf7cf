"""An address is an encoder: what is asked, what is kept, and what is said of bad answers."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conftest import TOY_SETTINGS, toy_documents
from tests.encoders.test_kinds import hashed

import firth
from firth.encoders import endpoint
from firth.encoders.kinds import find_encoder, open_encoder
from firth.pipeline.stages import check_settings, status
from firth.run.errors import InputError
from firth.run.run import Run
from firth.run.settings import Settings

A, B = "The ship saw the harbor.", "A boat left the storm."
Answer = Callable[[dict[str, Any]], tuple[int, dict[str, str], Any]]


def vectors_of(body: dict[str, Any]) -> tuple[int, dict[str, str], Any]:
    """Answer as OpenAI does, with the last text first."""
    rows = enumerate(hashed(body["input"]).tolist())
    data = [{"object": "embedding", "index": place, "embedding": row} for place, row in rows]
    return 200, {}, {"object": "list", "data": data[::-1], "model": body["model"]}


class Service(ThreadingHTTPServer):
    """A service on this machine that notes what it is asked, and answers as it is told."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.answers: list[Answer] = []
        self.lock = threading.Lock()

    @property
    def name(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1#tiny"

    @property
    def texts(self) -> list[str]:
        return [text for body in self.asked for text in body["input"]]


class Handler(BaseHTTPRequestHandler):
    server: Service

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            self.server.asked.append(body)
            self.server.keys.append(self.headers.get("Authorization"))
            answer = self.server.answers.pop(0) if self.server.answers else vectors_of
        status, headers, value = answer(body)
        if not status:  # The connection breaks.
            self.close_connection = True
            return
        if self.path != "/v1/embeddings":
            status, value = 404, {"error": {"message": f"no {self.path}"}}
        text = value.encode() if isinstance(value, str) else json.dumps(value).encode()
        self.send_response(status)
        for header, said in {"Content-Length": str(len(text)), **headers}.items():
            self.send_header(header, said)
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *given: object) -> None:
        pass


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    """A running service, and an empty cache."""
    monkeypatch.setenv("FIRTH_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv(endpoint.KEY, raising=False)
    with Service() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that firth waits, which it does not in a test."""
    waited: list[float] = []
    monkeypatch.setattr(endpoint, "sleep", waited.append)
    return waited


def says(status: int, value: Any, **headers: str) -> Answer:
    return lambda _: (status, {name.replace("_", "-"): h for name, h in headers.items()}, value)


def test_no_text_is_sent_twice(service: Service) -> None:
    """Vectors are those of their texts, in batches; equal and empty texts are not sent."""
    texts = [*(f"text {n}" for n in range(100)), "text 5", "", " "]
    vectors = open_encoder(service.name).encode(texts)
    expected = hashed(texts)
    expected[-2:] = 0
    expected[:-2] /= np.linalg.norm(expected[:-2], axis=1, keepdims=True)
    np.testing.assert_allclose(vectors, expected, atol=1e-6)
    assert sorted(service.texts) == sorted(["a", *texts[:100]])
    assert {body["model"] for body in service.asked} == {"tiny"}
    assert max(len(body["input"]) for body in service.asked) == 32
    again = open_encoder(service.name)
    np.testing.assert_array_equal(again.encode(texts), vectors)
    assert len(service.texts) == 101
    other = open_encoder(service.name.replace("tiny", "other"))
    assert other.name == "other"
    assert len(service.texts) == 102


def test_what_came_before_a_kill_is_kept(service: Service) -> None:
    """The third group of requests fails; the next call asks for the rest only."""
    texts = [f"text {n}" for n in range(12 * 32)]
    encoder = open_encoder(service.name)
    service.answers = [vectors_of] * 8 + [says(400, {"error": {"message": "stop"}})] * 4
    with pytest.raises(InputError, match=r"answered 400 \(stop\)"):
        encoder.encode(texts)
    service.answers.clear()  # Of the last group some requests may have been given up unsent.
    before = len(service.texts)
    open_encoder(service.name).encode(texts)
    assert len(service.texts) - before == 4 * 32


def test_the_key_comes_from_the_environment(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.answers = [says(401, {"error": {"message": "who are you?"}})]
    with pytest.raises(InputError, match=r"answered 401 \(who are you\?\).*variable FIRTH_API_KEY"):
        open_encoder(service.name)
    monkeypatch.setenv(endpoint.KEY, "secret")
    open_encoder(service.name)
    assert service.keys == [None, "Bearer secret"]


def test_a_busy_service_is_asked_again(service: Service, waits: list[float]) -> None:
    """It waits longer each time, and as long as the service says in seconds."""
    service.answers = [
        says(503, "starting"),
        says(500, "oh"),
        says(429, "slow down", Retry_After="7"),
        says(429, "slow down", Retry_After="Sat, 28 Nov 2026 15:00:00 GMT"),
    ]
    assert open_encoder(service.name).dimensions == 24
    assert waits == [0.5, 1.0, 7.0, 4.0]


def test_a_connection_that_broke_is_made_again(service: Service, waits: list[float]) -> None:
    encoder = open_encoder(service.name)
    service.answers = [says(0, "")]
    assert encoder.encode(["x"]).any()
    assert waits == [0.5]


@pytest.mark.parametrize(
    ("answer", "times", "part"),
    [
        (says(429, "slow down"), 6, r"answered 429 \(slow down\)"),
        (says(429, "quota", Retry_After="3600"), 1, r"answered 429 \(quota\)"),
        (says(404, {"error": "no model tiny"}), 1, r"answered 404 \(no model tiny\)"),
        (says(302, "", Location="/other"), 1, "answered 302"),
    ],
)
def test_it_gives_up(
    service: Service, waits: list[float], answer: Answer, times: int, part: str
) -> None:
    """After six tries, where it would wait for an hour, and where asking again cannot help."""
    service.answers = [answer] * 10
    with pytest.raises(InputError, match=part):
        open_encoder(service.name)
    assert len(service.asked) == times


def with_rows(change: Callable[[list[Any]], list[Any]]) -> Answer:
    def answer(body: dict[str, Any]) -> tuple[int, dict[str, str], Any]:
        return 200, {}, {"data": change(vectors_of(body)[2]["data"])}

    return answer


WRONG: dict[str, tuple[Answer, str]] = {
    "too few": (with_rows(lambda rows: rows[1:]), "holds 2 vectors for 3 texts"),
    "one twice": (with_rows(lambda rows: [rows[0], *rows[:2]]), "holds 3 vectors for 3 texts"),
    "other width": (
        with_rows(lambda rows: [{**row, "embedding": [1.0]} for row in rows]),
        r"shape \(3, 1\), not \(3, 24\)",
    ),
    "ragged": (with_rows(lambda rows: [rows[0], {"embedding": [1.0]}, rows[2]]), "no vectors"),
    "NaN": (
        with_rows(lambda rows: [{**row, "embedding": [np.nan] * 24} for row in rows]),
        "NaN or infinity",
    ),
    "error": (says(200, {"error": {"message": "out of memory"}}), "no vectors: out of memory"),
    "page": (says(200, "<html>Sign in</html>"), "no vectors: <html>Sign in"),
    "list": (says(200, [1, 2]), "no vectors"),
    "null": (says(200, {"data": None}), "no vectors"),
    "deep": (says(200, "[" * 100_000), "no vectors"),
    "too large": (
        with_rows(lambda rows: [{**row, "embedding": [10**400] * 24} for row in rows]),
        "no vectors",
    ),
    "a place beyond": (
        with_rows(lambda rows: [{**row, "index": float("inf")} for row in rows]),
        "no vectors",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_bad_answer_is_one_message_and_nothing_is_kept(service: Service, case: str) -> None:
    answer, part = WRONG[case]
    encoder = open_encoder(service.name)
    service.answers = [answer]
    with pytest.raises(InputError, match=part) as caught:
        encoder.encode(["x", "y", "z"])
    assert "\n" not in str(caught.value)
    assert encoder.encode(["x", "y", "z"]).shape == (3, 24)


@pytest.mark.parametrize("name", ["http://localhost:1/v1", "https://#m", "http://me:key@host/v1#m"])
def test_an_address_needs_a_model_and_no_key(name: str) -> None:
    with pytest.raises(InputError, match="expected an address and a model"):
        find_encoder(name)


def test_an_address_where_nothing_listens(service: Service, waits: list[float]) -> None:
    """It is said at once: nothing came from there before."""
    service.server_close()
    with pytest.raises(InputError, match="cannot be reached"):
        open_encoder(service.name)
    assert waits == []


def test_a_run_over_a_service(service: Service, tmp_path: Path) -> None:
    """It is contacted for texts only; what was asked is known to the next process."""
    run = tmp_path / "kb"
    model = firth.build(toy_documents(20), run, encoder=service.name, settings=TOY_SETTINGS)
    score = model.similarity(A, B)
    assert len(service.texts) == len(set(service.texts)) > 100
    asked = len(service.texts)
    again = firth.load(run)
    assert again.similarity(A, B) == again.explain(A, B).score == score
    again.duplicates()
    built = firth.build(toy_documents(20), run).built
    assert built is not None
    assert not any(built.stages.values())
    assert len(service.texts) == asked
    status(Run.open(run))
    assert len(service.texts) == asked
    again.search("ship in a tempest", mode="dense")
    assert service.texts[asked:] == ["ship in a tempest"]


def test_nothing_is_contacted_that_is_not_asked(service: Service, tmp_path: Path) -> None:
    """Looking at the settings of a run is no question."""
    settings = Settings.model_validate({"encoder": {"model": service.name}})
    check_settings(Run(tmp_path / "kb", settings))
    assert find_encoder(service.name).fingerprint == find_encoder(service.name).fingerprint
    assert service.asked == []


def test_a_cache_that_is_damaged_is_named(service: Service, tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "endpoints.db").write_text("no database, but long enough to be one" * 99)
    with pytest.raises(InputError, match=r"endpoints\.db.*Remove the file"):
        open_encoder(service.name)
    assert service.asked == []

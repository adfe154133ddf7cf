"""Hostile and ordinary clients side by side: the ordinary ones are answered within a second."""

import json
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit

import pytest
from tests.serve.conftest import running
from tests.serve.test_api import A, B, ask, problem

WORDS = " ".join(f"word{number}" for number in range(1_900))
ORDINARY: list[tuple[str, Any]] = [
    ("/api/search", {"query": "ship"}),
    ("/api/explain", {"text1": A, "text2": B}),
    ("/api/encode", {"texts": [A, B]}),
    ("/api/document/doc-1", None),
]


def repeat(work: Callable[[], object], until: threading.Event) -> threading.Thread:
    """Do work again and again in a thread, whatever its answer, until the event."""

    def loop() -> None:
        while not until.is_set():
            try:
                work()
            except (HTTPError, OSError):
                time.sleep(0.01)

    thread = threading.Thread(target=loop)
    thread.start()
    return thread


@pytest.mark.parametrize("seconds", [4, pytest.param(60, marks=pytest.mark.slow)])
def test_ordinary_clients_are_answered_within_a_second(toy_folder: Path, seconds: int) -> None:
    """Explanations that never end, 4 MB of texts, long work, cut requests and slow senders."""
    longest, ended = 0.0, threading.Event()
    with running(toy_folder, seconds=3.0) as address:
        place = urlsplit(address)

        def leave_early() -> None:
            body = json.dumps({"text1": WORDS, "text2": WORDS}).encode()
            with socket.create_connection((place.hostname or "", place.port or 0), 30) as client:
                head = b"POST /api/explain HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n"
                client.sendall(head % len(body) + b"Content-Type: application/json\r\n\r\n" + body)
            time.sleep(0.05)  # A flood of connections is for a proxy to stop.

        def explain() -> None:
            ask(address, "/api/explain", {"text1": WORDS, "text2": WORDS})

        def encode() -> None:
            ask(address, "/api/encode", {"texts": [WORDS] * 200})

        def hold() -> None:
            with socket.create_connection((place.hostname or "", place.port or 0), 30) as client:
                client.sendall(b"POST /api/search HTTP/1.1\r\nHost: 127.0.0.1\r\n")
                ended.wait(1)

        def work_long() -> None:
            ask(address, "/api/duplicates", {})

        hostile = [explain, explain, encode, encode, leave_early, work_long, *[hold] * 8]
        threads = [repeat(work, ended) for work in hostile]
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for path, body in ORDINARY:
                began = time.monotonic()
                ask(address, path, body)
                longest = max(longest, time.monotonic() - began)
        ended.set()
        for thread in threads:
            thread.join()
    assert longest < 1


def test_heavy_work_ends_at_its_deadline(toy_folder: Path) -> None:
    """It is status 504, and the next heavy request is answered by a new process."""
    texts = {"text1": WORDS[:2_000], "text2": WORDS[:2_000]}
    with running(toy_folder, seconds=30.0) as address:
        explained = ask(address, "/api/explain", texts)
        assert explained["score"] == pytest.approx(1)
    with running(toy_folder, seconds=2.0) as address:
        code, error = problem(address, "/api/explain", {"text1": WORDS, "text2": WORDS + " b"})
        assert (code, error["code"]) == (504, "timeout")
    with running(toy_folder) as address:
        body = {"first": {"text": A}, "second": "nobody"}
        assert problem(address, "/api/documents/compare", body)[0] == 404


@pytest.mark.parametrize("count", [64, pytest.param(200, marks=pytest.mark.slow)])
def test_many_clients_at_once(count: int, address: str) -> None:
    """Each gets its answer, or is sent away with 429."""
    codes: list[int] = []

    def one() -> None:
        try:
            ask(address, "/api/search", {"query": "ship", "top": 3})
            codes.append(200)
        except HTTPError as error:
            codes.append(error.code)

    threads = [threading.Thread(target=one) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(codes) == count
    assert {*codes} <= {200, 429}
    assert codes.count(200) >= 32

"""Load of a service: throughput, latency next to hostile clients, memory over ten minutes.

usage: python benchmarks/load.py RUN
       python benchmarks/load.py RUN --minutes 10

The clients are other processes on the same machine. An ordinary client asks, in turn, what the web
app and a program ask, of texts of the run. A hostile one has another address. The second command
measures a mixed load: ordinary clients, heavy and long work, and a process that adds and removes
documents.
"""

import argparse
import contextlib
import http.client
import json
import multiprocessing
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from shutil import copytree
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

import numpy as np

import firth
from figures import Cell, record
from firth.corpus.corpus import Corpus
from firth.run.console import set_quiet

SEED, SECONDS, CLIENTS = 13, 15, (1, 8, 64)
LOCAL, HOSTILE = "127.0.0.1", "127.0.0.2"
TOKEN = "0123456789abcdef"
WORDS = " ".join(f"word{number}" for number in range(2_200))[:19_000]
HEADERS = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
Request = tuple[str, Any]
PAUSE = 0.2
"""Seconds between two requests of an ordinary client beside a hostile one."""


@contextlib.contextmanager
def service(run: Path) -> Iterator[tuple[str, int]]:
    """Serve a run inside the block; yield its address and the number of its process."""
    command = [sys.executable, "-u", "-m", "firth", "serve", "--port", "0", "--run", str(run)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, "FIRTH_TOKEN": TOKEN}
    ) as process:
        assert process.stdout is not None
        found = re.search(r"http://\S+/", process.stdout.readline())
        assert found is not None
        try:
            yield found[0], process.pid
        finally:
            process.send_signal(signal.SIGTERM)


class Client:
    """A client that keeps its connection."""

    def __init__(self, address: str, source: str = LOCAL) -> None:
        place = urlsplit(address)
        self.connection = http.client.HTTPConnection(
            place.hostname or "", place.port, timeout=120, source_address=(source, 0)
        )

    def ask(self, request: Request, headers: dict[str, str] | None = None) -> int:
        """Return the status of an answer; 0 where the connection was ended."""
        path, body = request
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        try:
            method = "GET" if data is None else "POST"
            self.connection.request(method, path, data, headers or HEADERS)
            answer = self.connection.getresponse()
            answer.read()
        except (OSError, http.client.HTTPException):
            self.connection.close()
            return 0
        return answer.status


def ordinary(texts: Sequence[str], ids: Sequence[str]) -> list[Request]:
    """Return the requests that an ordinary client makes in turn."""
    requests: list[Request] = []
    for number, text in enumerate(texts):
        other = texts[number - 1]
        requests += [
            ("/api/search", {"query": text[:80]}),
            ("/api/similarity", {"pairs": [[text, other]]}),
            ("/api/explain", {"text1": text, "text2": other}),
            (f"/api/document/{ids[number % len(ids)]}", None),
            ("/v1/embeddings", {"input": [text, other], "model": "encoder"}),
            ("/api/run", None),
            ("/api/documents", None),
            ("/health", None),
        ]
    return requests


def timed(
    address: str, requests: Sequence[Request], clients: int, pause: float, seconds: float, out: Any
) -> None:
    """Ask as so many clients, and send back the seconds and statuses."""
    taken: list[tuple[float, int]] = []

    def loop(number: int) -> None:
        client = Client(address)
        while time.monotonic() < end:
            began = time.perf_counter()
            status = client.ask(requests[number % len(requests)])
            taken.append((time.perf_counter() - began, status))
            number += 1
            time.sleep(pause)

    end = time.monotonic() + seconds
    threads = [Thread(target=loop, args=(37 * number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    out.put(taken)


def started(target: Callable[..., None], *arguments: Any) -> Any:
    """Start a function in another process."""
    process = multiprocessing.get_context("spawn").Process(target=target, args=arguments)
    process.start()
    return process


def measured(
    address: str, requests: Sequence[Request], clients: int, seconds: float, pause: float = 0.0
) -> list[tuple[float, int]]:
    """Return seconds and status of each request of so many clients at once."""
    out: Any = multiprocessing.get_context("spawn").Queue()
    client = started(timed, address, requests, clients, pause, seconds, out)
    taken: list[tuple[float, int]] = out.get()
    client.join()
    return taken


def summary(taken: Sequence[tuple[float, int]]) -> list[Cell]:
    """Return p50, p95 and p99 in ms, and the share that was sent away, in %."""
    times = np.array([seconds for seconds, status in taken if status == 200])
    cells: list[Cell] = [round(1_000 * float(q)) for q in np.quantile(times, (0.5, 0.95, 0.99))]
    return [*cells, round(100 * (1 - len(times) / len(taken)), 1)]


# --- Hostile clients ---------------------------------------------------------------------------


def repeat(address: str, request: Request, connections: int) -> None:
    """Ask the same for ever, on several connections at once."""

    def loop() -> None:
        client = Client(address, HOSTILE)
        while True:
            client.ask(request)

    for thread in [Thread(target=loop, daemon=True) for _ in range(connections)]:
        thread.start()
    time.sleep(3_600)


def churn(address: str, _: Request, a_second: int) -> None:
    """Make new connections, and ask something on each."""
    place = urlsplit(address)
    while True:
        with contextlib.suppress(OSError):
            client = socket.create_connection(
                (place.hostname or "", place.port or 0), 5, (HOSTILE, 0)
            )
            client.sendall(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            client.close()
        time.sleep(1 / a_second)


def hold(address: str, request: Request, connections: int) -> None:
    """Send requests without an end, or take no answer, on many connections."""
    place, held = urlsplit(address), []
    data = json.dumps(request[1]).encode()
    length = len(data) if len(data) > 10 else 99
    head = f"POST {request[0]} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    while True:
        with contextlib.suppress(OSError):
            client = socket.create_connection(
                (place.hostname or "", place.port or 0), 5, (HOSTILE, 0)
            )
            client.sendall(head.encode() + data)
            held.append(client)
        if len(held) > connections:
            held.pop(0).close()
        time.sleep(0.005)


def guess(address: str, request: Request, connections: int) -> None:
    """Ask with wrong tokens."""
    HEADERS["Authorization"] = "Bearer wrong"
    repeat(address, request, connections)


PAIRS = {"pairs": [[WORDS[:400], WORDS[400:800]]] * 20}
HEAVY = {"text1": WORDS, "text2": WORDS + " b"}
FILTER = " or ".join(f"title = '{number}'" for number in range(60))
KINDS: dict[str, tuple[Callable[[str, Request, int], None], Request, int]] = {
    "16 loops of GET /api/run": (repeat, ("/api/run", None), 16),
    "16 loops of /api/similarity": (repeat, ("/api/similarity", PAIRS), 16),
    "16 searches of 20,000 characters": (repeat, ("/api/search", {"query": WORDS}), 16),
    "16 searches with a long filter": (
        repeat, ("/api/search", {"query": "a", "where": FILTER}), 16
    ),
    "4 of 2,048 embeddings": (
        repeat, ("/v1/embeddings", {"input": ["a b c"] * 2_048, "model": "encoder"}), 4
    ),
    "4 of 200 long texts": (repeat, ("/api/encode", {"texts": [WORDS] * 200}), 4),
    "16 heavy explanations": (repeat, ("/api/explain", HEAVY), 16),
    "2 of all duplicates": (repeat, ("/api/duplicates", {}), 2),
    "8 bodies of 4 MB that are wrong": (
        repeat, ("/api/similarity", b'{"pairs": [' + b"1," * 2_000_000 + b"1]}"), 8
    ),
    "16 loops of /openapi.json": (repeat, ("/openapi.json", None), 16),
    "16 loops of wrong tokens": (guess, ("/api/run", None), 16),
    "1,000 connections a second": (churn, ("", None), 1_000),
    "600 connections that send no end": (hold, ("/api/search", ""), 600),
    "100 that take no answer": (
        hold, ("/api/encode", {"texts": ["a b c"] * 2_000}), 100
    ),
}  # fmt: skip


# --- Ten minutes -------------------------------------------------------------------------------


def change(run: str) -> None:
    """Add a document, and remove it, every few seconds."""
    set_quiet(True)
    model, number = firth.load(run, quiet=True), 0
    while True:
        number += 1
        model.add([{"id": "load", "text": f"Document {number} came while others asked."}])
        time.sleep(3)
        model.remove(["load"])
        time.sleep(3)


def memory(process: int) -> int:
    """Return the anonymous memory of a process and of its children, in MiB."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    status = Path(f"/proc/{process}/status").read_text()
    found = re.search(r"RssAnon:\s+(\d+)", status)
    own = int(found[1]) // 1024 if found else 0
    return own + sum(memory(int(child)) for child in children)


def throughput(address: str, requests: Sequence[Request], **given: Any) -> None:
    """Measure so many ordinary clients at once, and each kind of hostile client beside one."""
    rows: dict[str, list[Cell]] = {}
    for clients in CLIENTS:
        taken = measured(address, requests, clients, SECONDS)
        spent = sum(seconds for seconds, _ in taken) / clients
        rows[f"{clients} clients"] = [round(len(taken) / spent), *summary(taken)]
    columns = ["", "requests a second", "p50, ms", "p95, ms", "p99, ms", "sent away, %"]
    record("load", columns, rows, **given)
    rows = {"nobody": summary(measured(address, requests, 1, SECONDS, PAUSE))}
    for name, (target, request, connections) in KINDS.items():
        hostile = started(target, address, request, connections)
        time.sleep(2)
        rows[name] = summary(measured(address, requests, 1, SECONDS, PAUSE))
        hostile.kill()
        hostile.join()
    rows["nobody, at the end"] = summary(measured(address, requests, 1, SECONDS, PAUSE))
    record("load-hostile", ["next to", *columns[2:]], rows, **given)


def endurance(
    address: str, requests: Sequence[Request], process: int, run: Path, minutes: int, **given: Any
) -> None:
    """Measure the memory of a service during a mixed load."""
    busy = [
        started(change, str(run)),
        started(repeat, address, KINDS["16 heavy explanations"][1], 1),
        started(repeat, address, KINDS["2 of all duplicates"][1], 1),
    ]
    rows: dict[str, list[Cell]] = {}
    for minute in range(1, minutes + 1):
        taken = measured(address, requests, 8, 54)
        p50, p95, _, away = summary(taken)
        rows[f"minute {minute}"] = [memory(process), len(taken), p50, p95, away]
    for each in busy:
        each.kill()
        each.join()
    columns = ["", "MiB", "requests", "p50, ms", "p95, ms", "sent away, %"]
    record("load-memory", columns, rows, **given)


def main() -> None:
    """Measure, and record the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("--minutes", type=int, default=0)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run = Path(copytree(asked.run, Path(folder) / "run"))
        corpus = Corpus.open(run, "all")
        ids = corpus.document_ids()[:100]
        requests = ordinary(corpus.texts(corpus.usual_sentences()[:100]), ids)
        data = f"{asked.run.name}: {corpus.n_documents:,} documents, {len(corpus):,} sentences"
        command = "python benchmarks/load.py RUN"
        with service(run) as (address, process):
            if asked.minutes:
                command += f" --minutes {asked.minutes}"
                given = {"command": command, "data": data, "seed": SEED}
                endurance(address, requests, process, run, asked.minutes, **given)
            else:
                throughput(address, requests, command=command, data=data, seed=SEED)


if __name__ == "__main__":
    main()

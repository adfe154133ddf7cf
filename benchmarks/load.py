"""A service beside hostile clients: how long an ordinary one waits, and how much memory it takes.

usage: python benchmarks/load.py RUN [--minutes 10] [--only WORDS]

An ordinary client asks for a search, and whether the service runs, five times a second. Beside it
two connections of one hostile kind ask all the time, from the same address. No text comes twice.
Then all workers are killed once, and all kinds take turns for so many minutes.
"""

import argparse
import contextlib
import http.client
import json
import multiprocessing
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import copytree
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from figures import Cell, record
from firth.corpus.corpus import Corpus

SEED, SECONDS, CONNECTIONS, PAUSE = 13, 12, 2, 0.2
TOKEN = "0123456789abcdef"
HEADERS = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
LETTERS = "abcdefghijklmnopqrstuvwxyz"
Request = tuple[str, Any]


@contextlib.contextmanager
def service(run: Path) -> Iterator[tuple[str, int]]:
    """Serve a run inside the block; yield its address and the number of its process."""
    command = [sys.executable, "-u", "-m", "firth", "serve", "--port", "0", "--run", str(run)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, "FIRTH_TOKEN": TOKEN}
    ) as process:
        assert process.stdout is not None
        match = re.search(r"http://\S+/", process.stdout.readline())
        assert match is not None
        try:
            yield match[0], process.pid
        finally:
            process.send_signal(signal.SIGTERM)


class Client:
    """A client that keeps its connection."""

    def __init__(self, address: str) -> None:
        place = urlsplit(address)
        self.host = place.hostname or "", place.port or 0
        self.connection = http.client.HTTPConnection(*self.host, timeout=120)

    def ask(self, request: Request, headers: dict[str, str] = HEADERS) -> int:
        """Return the status of an answer; 0 where the connection was ended."""
        path, body = request
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        try:
            self.connection.request("GET" if data is None else "POST", path, data, headers)
            answer = self.connection.getresponse()
            answer.read()
        except (OSError, http.client.HTTPException):
            self.connection.close()
            return 0
        return answer.status

    def begin(self, request: Request, length: int | None = None) -> socket.socket:
        """Send a request, or a part of `length` bytes, and return its connection."""
        path, body = request
        data = json.dumps(body).encode()
        head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {length or len(data)}"
        fields = "".join(f"\r\n{name}: {value}" for name, value in HEADERS.items())
        connection = socket.create_connection(self.host, 5)
        connection.sendall(f"{head}{fields}\r\n\r\n".encode() + data)
        return connection


# --- Hostile clients ---------------------------------------------------------------------------


def words(rng: random.Random, characters: int) -> str:
    """Return words that no other text has."""
    text = ""
    while len(text) < characters:
        text += "".join(rng.choices(LETTERS, k=rng.randint(2, 9))) + " "
    return text[:characters]


def runs(rng: random.Random, characters: int) -> str:
    """Return a few characters, repeated."""
    return ("".join(rng.choices("_-.'\"/:%$€ 0aé\t", k=rng.randint(1, 3))) * characters)[
        :characters
    ]


def texts(rng: random.Random, count: int, characters: int) -> list[str]:
    """Return so many texts of words."""
    return [words(rng, characters) for _ in range(count)]


def withhold(client: Client, rng: random.Random) -> None:
    """Send half of a body to a path that there is, or not, and wait."""
    path = rng.choice(["/api/search", "/v1/embeddings", "/api/match", "/api/nothing"])
    with client.begin((path, {"query": words(rng, 9_000)}), 60_000) as connection:
        connection.settimeout(30)
        connection.recv(1)


def take_nothing(client: Client, rng: random.Random) -> None:
    """Ask for a large answer, and do not take it for a while."""
    with client.begin(("/api/encode", {"texts": texts(rng, 1_500, 9)})):
        time.sleep(20)


def leave(client: Client, rng: random.Random) -> None:
    """Ask for much, and go away at once."""
    client.begin(("/api/explain", pair(rng, 15_000))).close()
    time.sleep(0.01)


def drip(client: Client, rng: random.Random) -> None:
    """Send a byte of a header now and then."""
    with socket.create_connection(client.host, 5) as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ")
        for _ in range(100):
            connection.sendall(rng.choice(LETTERS).encode())
            time.sleep(0.2)


def guess(client: Client, rng: random.Random) -> None:
    """Ask with a wrong token."""
    client.ask(("/api/run", None), {"Authorization": f"Bearer {words(rng, 20)}"})


def pair(rng: random.Random, characters: int) -> dict[str, str]:
    """Return two texts that share words."""
    text = words(rng, characters)
    return {"text1": text, "text2": text[characters // 3 :] + words(rng, characters // 4)}


def embeddings(input: Any) -> Request:
    """Return a request for embeddings."""
    return "/v1/embeddings", {"input": input, "model": "encoder"}


def long_filter(rng: random.Random) -> str:
    """Return a filter that no document passes."""
    return " or ".join(f"title = '{rng.randint(0, 10**6)}'" for _ in range(40))


ASKED: dict[str, Callable[[random.Random], Request]] = {
    "underscores": lambda r: ("/api/differences", {"text1": "_" * 20_000, "text2": words(r, 99)}),
    "runs of characters": lambda r: (
        "/api/differences", {"text1": runs(r, 20_000), "text2": runs(r, 20_000)}
    ),
    "explanations of 15,000 characters": lambda r: ("/api/explain", pair(r, 15_000)),
    "explanations of 2,000 characters": lambda r: ("/api/explain", pair(r, 1_900)),
    "differences of 2,000 characters": lambda r: ("/api/differences", pair(r, 1_900)),
    "1,000 pairs": lambda r: ("/api/similarity", {"pairs": [texts(r, 2, 20) for _ in range(999)]}),
    "a query of 20,000 characters": lambda r: ("/api/search", {"query": words(r, 20_000)}),
    "a query of 3,900 characters": lambda r: ("/api/search", {"query": words(r, 3_900)}),
    "1,000 hits": lambda r: ("/api/search", {"query": words(r, 50), "top": 1_000}),
    "long filters": lambda r: ("/api/search", {"query": words(r, 9), "where": long_filter(r)}),
    "2,000 embeddings": lambda r: embeddings(texts(r, 2_000, 400)),
    "60 long embeddings": lambda r: embeddings(texts(r, 50, 19_000)),
    "two lists": lambda r: (
        "/api/match", {"left": texts(r, 2_000, 40), "right": texts(r, 2_000, 40)}
    ),
    "duplicates": lambda r: ("/api/duplicates", {"threshold": r.uniform(0.5, 0.9)}),
    "documents of 500,000 characters": lambda r: (
        "/api/documents/compare",
        {"first": {"text": words(r, 500_000)}, "second": {"text": words(r, 500_000)}},
    ),
    "wrong bodies": lambda r: ("/api/similarity", b'{"pairs": [' + b"1," * 30_000 + b"1]}"),
    "1 MB of wrong bodies": lambda r: (
        "/v1/embeddings", b'{"model": "encoder", "input": [' + b"{}," * 340_000 + b"{}]}"
    ),
    "deep bodies": lambda r: ("/api/search", b"[" * 60_000),
    "bodies that are too long": lambda r: ("/api/search", {"query": words(r, 2_000_000)}),
    "lists of documents": lambda r: (f"/api/documents?query={words(r, 4).strip()}", None),
    "descriptions": lambda r: (r.choice(["/openapi.json", "/metrics", "/api/run"]), None),
}  # fmt: skip
"""What a hostile client asks for again and again."""
DONE = {
    "bodies that do not arrive": withhold, "answers that nobody takes": take_nothing,
    "requests that are left": leave, "headers that drip": drip, "wrong tokens": guess,
}  # fmt: skip
"""What it does otherwise."""


def hostile(address: str, kind: str, seed: int) -> None:
    """Be hostile for ever, on a connection."""
    rng, client = random.Random(seed), Client(address)
    while True:
        with contextlib.suppress(OSError):
            if kind in DONE:
                DONE[kind](client, rng)
            elif client.ask(ASKED[kind](rng)) in (0, 503):
                time.sleep(0.05)


@contextlib.contextmanager
def beside(address: str, *kinds: str) -> Iterator[None]:
    """Have so many connections of hostile clients inside the block."""
    context = multiprocessing.get_context("spawn")
    clients = [
        context.Process(target=hostile, args=(address, kind, SEED + number), daemon=True)
        for number, kind in enumerate(kinds)
    ]
    for client in clients:
        client.start()
    time.sleep(2)
    yield
    for client in clients:
        client.kill()
        client.join()


# --- An ordinary client ------------------------------------------------------------------------


def measured(address: str, seconds: float, rng: random.Random, sentences: list[str]) -> list[Cell]:
    """Return p50 and p95 of searches and of health, in ms, and the share that was refused, in %."""
    taken: dict[str, list[float]] = {"/api/search": [], "/health": []}
    refused, asked, end = 0, 0, time.monotonic() + seconds

    def loop(path: str) -> None:
        nonlocal refused, asked
        client = Client(address)
        while time.monotonic() < end:
            query = " ".join(rng.sample(rng.choice(sentences).split(), 5)) + words(rng, 5)
            began = time.perf_counter()
            status = client.ask((path, {"query": query} if path == "/api/search" else None))
            taken[path].append(time.perf_counter() - began)
            asked, refused = asked + 1, refused + (status != 200)
            time.sleep(PAUSE)

    threads = [Thread(target=loop, args=(path,)) for path in taken]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    cells: list[Cell] = [
        round(1_000 * float(q), 1)
        for times in taken.values()
        for q in np.quantile(times, (0.5, 0.95))
    ]
    return [*cells, round(100 * refused / asked, 1)]


def tree(process: int) -> list[int]:
    """Return the number of a process and those of its descendants."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return [process, *(number for child in children for number in tree(int(child)))]


def memory(process: int) -> int:
    """Return the memory that a process and its descendants alone have, in MiB."""
    total = 0
    for number in tree(process):
        with contextlib.suppress(OSError):
            match = re.search(r"RssAnon:\s+(\d+)", Path(f"/proc/{number}/status").read_text())
            total += int(match[1]) if match else 0
    return total // 1024


def killed(address: str, process: int) -> float:
    """Kill all workers, which are below the process that forks them; time the next search."""
    workers = [
        int(worker)
        for child in tree(process)[1:]
        for worker in Path(f"/proc/{child}/task/{child}/children").read_text().split()
    ]
    for worker in workers:
        os.kill(worker, signal.SIGKILL)
    began, client = time.perf_counter(), Client(address)
    while client.ask(("/api/search", {"query": "whoever comes next"})) != 200:
        time.sleep(0.05)
    return time.perf_counter() - began


def main() -> None:
    """Measure, and record the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("--minutes", type=int, default=0)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    rng = random.Random(SEED)
    with tempfile.TemporaryDirectory() as folder:
        run = Path(copytree(options.run, Path(folder) / "run"))
        corpus = Corpus.open(run, "all")
        sentences = [
            text for text in corpus.texts(corpus.usual_sentences()[:999]) if len(text.split()) > 5
        ]
        data = f"{options.run.name}: {corpus.n_documents:,} documents, {len(corpus):,} sentences"
        told: dict[str, Any] = {
            "command": "python benchmarks/load.py RUN --minutes 10",
            "data": data,
            "seed": SEED,
        }
        with service(run) as (address, process):

            def row() -> list[Cell]:
                cells = measured(address, SECONDS, rng, sentences)
                print(cells, memory(process), flush=True)
                return cells

            measured(address, 3, rng, sentences)
            rows = {"nobody": row()}
            for kind in [*ASKED, *DONE]:
                if options.only in kind:
                    print(kind, end=" ", flush=True)
                    with beside(address, *[kind] * CONNECTIONS):
                        rows[kind] = row()
            rows["nobody, at the end"] = row()
            columns = [
                "next to",
                "search p50, ms",
                "p95, ms",
                "health p50, ms",
                "p95, ms",
                "refused, %",
            ]
            print("after a kill", killed(address, process), flush=True)
            minutes: dict[str, list[Cell]] = {"start": [memory(process), *rows["nobody"]]}
            if options.only:
                return
            record("load-hostile", columns, rows, **told)
            for minute in range(1, options.minutes + 1):
                with beside(address, *rng.sample([*ASKED, *DONE], 4)):
                    cells = measured(address, 55, rng, sentences)
                minutes[f"minute {minute}"] = [memory(process), *cells]
                print(minutes[f"minute {minute}"], flush=True)
            record(
                "load-memory",
                ["", "MiB", *columns[1:5]],
                {k: v[:5] for k, v in minutes.items()},
                **told,
            )


if __name__ == "__main__":
    main()

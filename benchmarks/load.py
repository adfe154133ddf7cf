"""A service beside hostile clients: how long an ordinary one waits, and how much memory it takes.

usage: python benchmarks/load.py RUN [--minutes 10]

An ordinary client asks for a search, and whether the service runs, five times a second. Beside it
two connections of one hostile kind ask all the time, from the same address. No text comes twice.
Then all workers are killed once, and all kinds take turns for so many minutes.
"""

import argparse
import contextlib
import http.client
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from pathlib import Path
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
COLUMNS = ["search p50, ms", "p95, ms", "health p95, ms", "refused, %", "most MiB"]


class Client:
    """A client that keeps its connection."""

    def __init__(self, address: str) -> None:
        place = urlsplit(address)
        self.host = place.hostname or "", place.port or 0
        self.connection = http.client.HTTPConnection(*self.host, timeout=120)

    def ask(self, path: str, body: Any = None, headers: dict[str, str] = HEADERS) -> int:
        """Return the status of an answer; 0 where the connection was ended."""
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        try:
            self.connection.request("GET" if data is None else "POST", path, data, headers)
            answer = self.connection.getresponse()
            answer.read()
        except (OSError, http.client.HTTPException):
            self.connection.close()
            return 0
        return answer.status

    def send(self, path: str, body: Any, seconds: float, most: int = 0) -> None:
        """Send a request, or less of it than `most` bytes, and leave after so many seconds."""
        data = json.dumps(body).encode()
        lines = {**HEADERS, "Host": "127.0.0.1", "Content-Length": str(max(len(data), most))}
        head = f"POST {path} HTTP/1.1\r\n" + "".join(f"{k}: {v}\r\n" for k, v in lines.items())
        with socket.create_connection(self.host, 5) as connection:
            connection.sendall(f"{head}\r\n".encode() + data)
            time.sleep(seconds)

    def drip(self, rng: random.Random) -> None:
        """Send a byte of a header now and then."""
        with socket.create_connection(self.host, 5) as connection:
            connection.sendall(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ")
            for letter in rng.choices(LETTERS, k=100):
                connection.sendall(letter.encode())
                time.sleep(0.2)


def words(rng: random.Random, characters: int) -> str:
    """Return words that no other text has."""
    text = "".join(rng.choices(LETTERS, k=characters))
    return re.sub("[aeiou]", " ", text[:-1]) + text[-1:]


def runs(rng: random.Random, characters: int) -> str:
    """Return one to three characters, repeated."""
    unit = "".join(rng.choices("_-.'\"/:%$€ 0aé\t", k=rng.randint(1, 3)))
    return (unit * characters)[:characters]


def texts(rng: random.Random, count: int, characters: int) -> list[str]:
    """Return so many texts of words."""
    return [words(rng, characters) for _ in range(count)]


def pair(rng: random.Random, characters: int) -> dict[str, str]:
    """Return two texts that share words."""
    text = words(rng, characters)
    return {"text1": text, "text2": text[characters // 3 :] + words(rng, characters // 4)}


def filters(rng: random.Random) -> str:
    """Return a filter that no document passes."""
    return " or ".join(f"title = '{rng.randint(0, 10**6)}'" for _ in range(40))


SEARCH, EXPLAIN, DIFFER = "/api/search", "/api/explain", "/api/differences"
VECTORS, PATHS = "/v1/embeddings", ["/api/search", "/v1/embeddings", "/api/match", "/api/none"]
KINDS: dict[str, Callable[[Client, random.Random], Any]] = {
    "underscores": lambda c, r: c.ask(DIFFER, {"text1": "_" * 20_000, "text2": words(r, 99)}),
    "runs of characters": lambda c, r: c.ask(
        DIFFER, {"text1": runs(r, 20_000), "text2": runs(r, 20_000)}
    ),
    "explanations of 8,000 characters": lambda c, r: c.ask(EXPLAIN, pair(r, 8_000)),
    "explanations of 450 characters": lambda c, r: c.ask(EXPLAIN, pair(r, 220)),
    "differences of 450 characters": lambda c, r: c.ask(DIFFER, pair(r, 220)),
    "1,000 pairs": lambda c, r: c.ask(
        "/api/similarity", {"pairs": [texts(r, 2, 20) for _ in range(999)]}
    ),
    "queries of 20,000 characters": lambda c, r: c.ask(SEARCH, {"query": words(r, 20_000)}),
    "queries of 480 characters": lambda c, r: c.ask(SEARCH, {"query": words(r, 480)}),
    "100 hits": lambda c, r: c.ask(SEARCH, {"query": words(r, 50), "top": 100}),
    "long filters": lambda c, r: c.ask(SEARCH, {"query": words(r, 9), "where": filters(r)}),
    "2,000 embeddings": lambda c, r: c.ask(
        VECTORS, {"model": "encoder", "input": texts(r, 2_000, 400)}
    ),
    "50 long embeddings": lambda c, r: c.ask(
        VECTORS, {"model": "encoder", "input": texts(r, 50, 19_000)}
    ),
    "two lists": lambda c, r: c.ask(
        "/api/match", {"left": texts(r, 2_000, 40), "right": texts(r, 2_000, 40)}
    ),
    "duplicates": lambda c, r: c.ask("/api/duplicates", {"threshold": r.uniform(0.5, 0.9)}),
    "wrong bodies": lambda c, r: c.ask("/api/similarity", b'{"pairs":[' + b"1," * 30_000 + b"1]}"),
    "1 MB of wrong bodies": lambda c, r: c.ask(
        VECTORS, b'{"model":"encoder","input":[' + b"{}," * 340_000 + b"{}]}"
    ),
    "deep bodies": lambda c, r: c.ask(SEARCH, b"[" * 60_000),
    "bodies that are too long": lambda c, r: c.ask(SEARCH, {"query": words(r, 2_000_000)}),
    "lists of documents": lambda c, r: c.ask("/api/documents", {"page": r.randint(1, 50)}),
    "descriptions": lambda c, r: c.ask(r.choice(["/openapi.json", "/metrics", "/explanation.css"])),
    "bodies that do not arrive": lambda c, r: c.send(r.choice(PATHS), {}, 30, 60_000),
    "answers that nobody takes": lambda c, r: c.send(
        VECTORS, {"model": "encoder", "input": texts(r, 999, 9)}, 9
    ),
    "requests that are left": lambda c, r: c.send(EXPLAIN, pair(r, 8_000), 0.01),
    "headers that drip": Client.drip,
    "wrong tokens": lambda c, r: c.ask("/metrics", None, {"Authorization": "Bearer wrong"}),
}  # fmt: skip


def hostile(address: str, kind: str, seed: int) -> None:
    """Be hostile for ever, on a connection."""
    rng, client = random.Random(seed), Client(address)
    while True:
        with contextlib.suppress(OSError):
            if KINDS[kind](client, rng) in (0, 503):
                time.sleep(0.05)


@contextlib.contextmanager
def beside(address: str, *kinds: str) -> Iterator[None]:
    """Have so many connections of hostile clients inside the block."""
    start = get_context("spawn").Process
    named = [(address, kind, SEED + number) for number, kind in enumerate(kinds)]
    clients = [start(target=hostile, args=arguments, daemon=True) for arguments in named]
    for client in clients:
        client.start()
    time.sleep(2)
    yield
    for client in clients:
        client.kill()
        client.join()


def measured(
    address: str, process: int, seconds: float, rng: random.Random, sentences: list[str]
) -> list[Cell]:
    """Return p50 and p95 of searches and p95 of health in ms, the share that was refused in %, and
    the most memory that the service had.
    """
    taken: dict[str, list[float]] = {SEARCH: [], "/health": []}
    statuses, sizes, end = list[int](), [0], time.monotonic() + seconds

    def loop(path: str) -> None:
        client = Client(address)
        while time.monotonic() < end:
            query = " ".join(rng.sample(rng.choice(sentences).split(), 5)) + words(rng, 5)
            began = time.perf_counter()
            statuses.append(client.ask(path, {"query": query} if path == SEARCH else None))
            taken[path].append(1_000 * (time.perf_counter() - began))
            time.sleep(PAUSE)

    def watch() -> None:
        while time.monotonic() < end:
            sizes.append(memory(process))
            time.sleep(1)

    threads = [Thread(target=watch), *(Thread(target=loop, args=(path,)) for path in taken)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    quantiles = *np.quantile(taken[SEARCH], (0.5, 0.95)), np.quantile(taken["/health"], 0.95)
    refused = 100 * sum(status != 200 for status in statuses) / len(statuses)
    return [*np.round(quantiles, 1).tolist(), round(refused, 1), max(sizes)]


def told(process: int, file: str) -> str:
    """Return what the system tells of a process; nothing of one that is gone."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{process}/{file}").read_text()
    return ""


def tree(process: int) -> list[int]:
    """Return the number of a process and those of its descendants."""
    children = told(process, f"task/{process}/children").split()
    return [process, *(number for child in children for number in tree(int(child)))]


def memory(process: int) -> int:
    """Return the memory that a process and its descendants alone have, in MiB."""
    lines = [re.search(r"Pss_Anon:\s+(\d+)", told(p, "smaps_rollup")) for p in tree(process)]
    return sum(int(match[1]) for match in lines if match) // 1024


def killed(address: str, process: int) -> float:
    """Kill all workers, which are below the process that forks them; time the next search."""
    for child in tree(process)[1:]:
        for worker in tree(child)[1:]:
            with contextlib.suppress(OSError):
                os.kill(worker, signal.SIGKILL)
    began, client = time.perf_counter(), Client(address)
    while client.ask(SEARCH, {"query": "whoever comes next"}) != 200:
        time.sleep(0.05)
    return round(time.perf_counter() - began, 1)


def main() -> None:
    """Measure, and record the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("--minutes", type=int, default=0)
    options = parser.parse_args()
    rng, corpus = random.Random(SEED), Corpus.open(options.run, "all")
    usual = corpus.texts(corpus.usual_sentences()[:999])
    sentences = [text for text in usual if len(text.split()) > 5]
    data = f"{options.run.name}: {corpus.n_documents:,} documents, {len(corpus):,} sentences"
    rows, minutes = dict[str, list[Cell]](), dict[str, list[Cell]]()
    command = [sys.executable, "-u", "-m", "firth", "serve", "--port", "0", "--run", options.run]
    variables = {**os.environ, "FIRTH_TOKEN": TOKEN}
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=variables) as service,
        contextlib.ExitStack() as stack,
    ):
        stack.callback(service.terminate)
        assert service.stdout is not None
        [address] = re.findall(r"http://\S+/", service.stdout.readline())
        measured(address, service.pid, 3, rng, sentences)
        begin = memory(service.pid)
        for kind in ["", *KINDS, ""]:
            with beside(address, *[kind] * CONNECTIONS if kind else []):
                name = kind or ("nobody, at the end" if rows else "nobody")
                rows[name] = measured(address, service.pid, SECONDS, rng, sentences)
            print(name, *rows[name], flush=True)
        print("seconds after a kill:", *(killed(address, service.pid) for _ in range(3)))
        for minute in range(options.minutes):
            with beside(address, *rng.sample([*KINDS], 4)):
                cells = measured(address, service.pid, 55, rng, sentences)
            minutes[f"minute {minute + 1}"] = [begin, *cells[:3], cells[4]]
            print(*minutes.values(), sep="\n", flush=True)
    line = "python benchmarks/load.py RUN"
    record("load-hostile", ["next to", *COLUMNS], rows, command=line, data=data)
    if minutes:
        line, columns = f"{line} --minutes {options.minutes}", [*COLUMNS[:3], COLUMNS[4]]
        record("load-memory", ["", "MiB at start", *columns], minutes, command=line, data=data)


if __name__ == "__main__":
    main()

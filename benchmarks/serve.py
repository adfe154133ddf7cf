"""How fast a service answers on loopback, beside its bare models: latency and requests a second.

    python benchmarks/serve.py RUN

The service runs as it does for users, in a process of its own (`firth serve`); clients are
connections that each ask, read the answer, and ask again, with sentences of the run. The bare
models are asked the same in this process, without a service, one call after the other; for vectors
also in batches, as many texts a call as there are clients. What the run lacks, as an index, is left
out. In each round everything is measured for so many seconds; what is printed is of all rounds,
by default after five minutes.
"""

import argparse
import asyncio
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any
from urllib.parse import SplitResult, urlsplit

import numpy as np

from firth.run import progress
from firth.run.run import Run
from firth.serve.opened import Opened

CLIENTS = (1, 8, 32)
SENTENCES = 5_000
TOP = 10
Texts = Sequence[str]


@dataclass(frozen=True)
class Question:
    """Something that is asked of the service, and of its model without it.

    Attributes:
        path: Of the endpoint.
        needs: A part of the run, as `Opened.has` calls it.
        reads: Texts of a request.
        body: The request, of its texts.
        bare: Asks the model, of the texts of a call.
        sizes: Texts of a call.
    """

    path: str
    needs: str
    reads: int
    body: Callable[[Texts], dict[str, Any]]
    bare: Callable[[Opened, Texts], object]
    sizes: tuple[int, ...]


ASKED = {
    "encode": Question(
        "/api/encode", "surrogate", 1, lambda texts: {"texts": texts},
        lambda opened, texts: opened.encoder.encode(texts), CLIENTS,
    ),
    "similarity": Question(
        "/api/similarity", "origin", 2, lambda texts: {"pairs": [texts]},
        lambda opened, texts: opened.origin.similarity(*texts), (2,),
    ),
    "explain": Question(
        "/api/explain", "reasons", 2, lambda texts: {"first": texts[0], "second": texts[1]},
        lambda opened, texts: opened.reasons.explain(*texts), (2,),
    ),
    "search": Question(
        "/api/search", "index", 1, lambda texts: {"query": texts[0], "top": TOP},
        lambda opened, texts: opened.search.search(texts[0], top=TOP), (1,),
    ),
}  # fmt: skip


class Times:
    """Seconds of calls by name, and calls a second of each round."""

    def __init__(self) -> None:
        self._seconds: dict[str, list[float]] = {}
        self._rates: dict[str, list[float]] = {}

    def note(self, name: str, seconds: list[float], whole: float, size: int = 1) -> None:
        """Keep what a round found: seconds of each call of so many, and of all together."""
        self._seconds.setdefault(name, []).extend(seconds)
        self._rates.setdefault(name, []).append(len(seconds) * size / whole)

    def __str__(self) -> str:
        lines = [f"{'':32}{'median':>9}{'95 %':>9}{'99 %':>9}  ms{'a second':>12}"]
        for name, seconds in self._seconds.items():
            shown = "".join(f"{1e3 * q:9.2f}" for q in np.quantile(seconds, (0.5, 0.95, 0.99)))
            lines.append(f"{name:32}{shown}    {np.mean(self._rates[name]):12,.0f}")
        return "\n".join(lines)


def main() -> None:
    """Print a table: median, 95th and 99th percentile in milliseconds, and how many a second."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("--seconds", type=float, default=5.0, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=13)
    given = parser.parse_args()
    opened = Opened(Run.open(given.run))
    library = opened.library
    rng = np.random.default_rng(given.seed)
    texts = library.texts(rng.permutation(len(library))[:SENTENCES])
    asked = {name: each for name, each in ASKED.items() if opened.has[each.needs]}
    opened.open_all()
    found = Times()
    measured = given.rounds * sum(len(CLIENTS) + len(each.sizes) for each in asked.values())
    with service(given.run) as place, progress.bar("Measuring", measured) as shown:
        for _ in range(given.rounds):
            for name, each in asked.items():
                for clients in CLIENTS:
                    begun = perf_counter()
                    seconds = asyncio.run(load(place, each, texts, clients, given.seconds))
                    found.note(f"{name}, {clients} at once", seconds, perf_counter() - begun)
                    shown.advance()
                for size in each.sizes:
                    begun = perf_counter()
                    seconds = bare(opened, each, texts, size, given.seconds)
                    told = f"{name}, bare model, {size // each.reads} a call"
                    found.note(told, seconds, perf_counter() - begun, size // each.reads)
                    shown.advance()
    print(found)


@contextmanager
def service(run: Path) -> Iterator[SplitResult]:
    """A service of a run, in a process of its own; its address."""
    command = [sys.executable, "-m", "firth", "serve", str(run), "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as served:
        assert served.stdout is not None
        told = ""
        while not told.endswith("}\n") and served.poll() is None:
            told += served.stdout.readline()
        try:
            yield urlsplit(json.loads(told)["address"])
        finally:
            served.terminate()


def bare(opened: Opened, each: Question, texts: Texts, size: int, seconds: float) -> list[float]:
    """Seconds of each call of the model, with `size` texts."""
    found, end, place = [], perf_counter() + seconds, 0
    while (begun := perf_counter()) < end:
        each.bare(opened, texts[place : place + size])
        found.append(perf_counter() - begun)
        place = (place + size) % (len(texts) - size)
    return found


async def load(
    address: SplitResult, each: Question, texts: Texts, clients: int, seconds: float
) -> list[float]:
    """Seconds of each request of so many clients."""
    found: list[float] = []
    end = perf_counter() + seconds

    async def ask(place: int) -> None:
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
        while perf_counter() < end:
            body = json.dumps(each.body(texts[place : place + each.reads])).encode()
            begun = perf_counter()
            writer.write(
                f"POST {each.path} HTTP/1.1\r\nHost: {address.netloc}\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
                + body
            )
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200"), head
            (size,) = (
                int(line.split(b":")[1])
                for line in head.split(b"\r\n")
                if line.lower().startswith(b"content-length")
            )
            await reader.readexactly(size)
            found.append(perf_counter() - begun)
            place = (place + clients * each.reads) % (len(texts) - each.reads)
        writer.close()

    await asyncio.gather(*(ask(number * each.reads) for number in range(clients)))
    return found


if __name__ == "__main__":
    main()

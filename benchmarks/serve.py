"""How fast a service answers on loopback, beside its bare model: latency and texts a second.

    python benchmarks/serve.py RUN

The service runs as it does for users, in a process of its own (`firth serve`); clients are
connections that each ask for the vector of a sentence of the run, read the answer, and ask again.
The bare model encodes the same sentences, one call a sentence, then in the batches that as many
clients could make. In each round everything is measured for so many seconds; what is printed is of
all rounds.
"""

import argparse
import asyncio
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from urllib.parse import urlsplit

import numpy as np

from firth.corpus.library import Library
from firth.index.encoder import TextEncoder
from firth.run.run import Run
from firth.surrogate import SURROGATE

CLIENTS = (1, 8, 32)
SENTENCES = 5_000


def main() -> None:
    """Print a table: median, 95th and 99th percentile in milliseconds, and texts a second."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("--seconds", type=float, default=5.0, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=13)
    given = parser.parse_args()
    run = Run.open(given.run)
    library = Library.open(run)
    rng = np.random.default_rng(given.seed)
    texts = library.texts(rng.permutation(len(library))[:SENTENCES])
    encoder = TextEncoder.open(str(run.folder(SURROGATE)))
    command = [sys.executable, "-m", "firth", "serve", str(given.run), "--port", "0", "--json"]
    times: dict[str, list[float]] = {}
    rates: dict[str, list[float]] = {}

    def note(name: str, seconds: Sequence[float], size: int, whole: float) -> None:
        times.setdefault(name, []).extend(seconds)
        rates.setdefault(name, []).append(len(seconds) * size / whole)

    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as served:
        assert served.stdout is not None
        told = ""
        while not told.endswith("}\n"):
            told += served.stdout.readline()
        place = urlsplit(json.loads(told)["address"])
        try:
            for _ in range(given.rounds):
                for clients in CLIENTS:
                    begun = perf_counter()
                    found = asyncio.run(
                        load(str(place.hostname), int(place.port or 0), texts, clients,
                             given.seconds)
                    )  # fmt: skip
                    note(f"service, {clients:>2} at once", found, 1, perf_counter() - begun)
                for size in CLIENTS:
                    begun = perf_counter()
                    found = bare(encoder, texts, size, given.seconds)
                    note(f"model, {size:>2} a call", found, size, perf_counter() - begun)
        finally:
            served.terminate()
    print(f"{'':24}{'median':>9}{'95 %':>9}{'99 %':>9}  ms{'texts a second':>18}")
    for name, seconds in times.items():
        shown = "".join(f"{1e3 * q:9.2f}" for q in np.quantile(seconds, (0.5, 0.95, 0.99)))
        print(f"{name:24}{shown}    {np.mean(rates[name]):18,.0f}")


def bare(encoder: TextEncoder, texts: Sequence[str], size: int, seconds: float) -> list[float]:
    """Seconds of each call of the model, with `size` texts."""
    found, end, place = [], perf_counter() + seconds, 0
    while (begun := perf_counter()) < end:
        encoder.encode(texts[place : place + size])
        found.append(perf_counter() - begun)
        place = (place + size) % (len(texts) - size)
    return found


async def load(
    host: str, port: int, texts: Sequence[str], clients: int, seconds: float
) -> list[float]:
    """Seconds of each request of so many clients."""
    found: list[float] = []
    end = perf_counter() + seconds

    async def ask(place: int) -> None:
        reader, writer = await asyncio.open_connection(host, port)
        while perf_counter() < end:
            body = json.dumps({"texts": [texts[place % len(texts)]]}).encode()
            begun = perf_counter()
            writer.write(
                b"POST /api/encode HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json"
                b"\r\nContent-Length: %d\r\n\r\n" % len(body) + body
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
            place += clients
        writer.close()

    await asyncio.gather(*map(ask, range(clients)))
    return found


if __name__ == "__main__":
    main()

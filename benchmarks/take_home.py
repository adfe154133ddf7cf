"""Speed, size, memory and start of systems that read the same sentences, each in its own process.

    python benchmarks/take_home.py RUN SYSTEM … [--against SYSTEM] [--sentences 20000]
        [--batches 32 1024] [--rounds 3] [--seconds 10] [--threads N] [--out FILE]

RUN has the corpus that the sentences are drawn from. SYSTEM is one of

- `FOLDER` of a sentence-transformers model (a Surrogate, all-MiniLM): `SentenceTransformer.encode`;
- `fast:FOLDER` of a static Surrogate: `firth.surrogate.fast`;
- `wordllama`: the package of this name, by its own code, as it is installed;
- whatever else `firth evaluate` takes: `baseline:tfidf@RUN`, a run (its Origin). These compare: two
  sentences are a pair, so that a system scores half as many pairs a second.

Texts come in batches, as to a server. In each round every system reads for so many seconds, one
after the other, so that whatever else the machine does falls on all of them; shown is the median of
the rounds, and behind it the ratio to `--against` (by default the first), the median of the ratios
of each round. Memory is the peak of the process; the start ends when two sentences are read, and
counts what Python takes. Size is of the files that the system reads: a folder, a package's data, an
Origin's stages and its pretrained model, an idf's corpus. Linux only.
"""

import argparse
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from importlib import import_module
from multiprocessing import get_context
from multiprocessing.connection import Connection
from os import environ
from pathlib import Path
from statistics import median
from types import ModuleType
from typing import Any

Read = Callable[[list[str]], object]
WORDLLAMA = "wordllama"
_LIBRARY_BATCH = 32
"""Of sentence-transformers, where it pads: its default."""


@dataclass
class Measured:
    """What one system takes.

    Attributes:
        system: As named.
        start: Seconds until it has read two sentences.
        size: Bytes of its files.
        memory: Bytes at most.
        rates: Batch → sentences a second, a figure a round.
    """

    system: str
    start: float
    size: int
    memory: int = 0
    rates: dict[int, list[float]] = field(default_factory=dict)

    def ratio(self, other: "Measured", batch: int) -> float:
        """Median over the rounds of how many times faster than another it is."""
        return median(a / b for a, b in zip(self.rates[batch], other.rates[batch], strict=True))


def open_reader(system: str) -> Read:
    """What reads some texts."""
    if system == WORDLLAMA:
        package = import_module(WORDLLAMA)
        read: Read = package.WordLlama.load(cache_dir=_folder(package), disable_download=True).embed
        return read
    if system.startswith("fast:"):
        from firth.surrogate.fast import StaticEncoder

        return StaticEncoder.open(system.removeprefix("fast:")).encode
    if (Path(system) / "modules.json").is_file():
        return _library(system)
    from firth.evaluate.models import resolve_model

    scorer = resolve_model(system)
    return lambda texts: scorer.similarities(list(zip(texts[::2], texts[1::2], strict=True)))


def _folder(package: ModuleType) -> Path:
    return Path(str(package.__file__)).parent


def _library(folder: str) -> Read:
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding

    from firth.run.pretrained import open_encoder

    model = open_encoder(folder)
    static = isinstance(model[0], StaticEmbedding)

    def read(texts: list[str]) -> object:
        size = len(texts) if static else _LIBRARY_BATCH
        return model.encode(texts, batch_size=size, show_progress_bar=False)

    return read


def files_of(system: str) -> Iterator[Path]:
    """The files and folders that a system reads."""
    from firth.context import CONTEXT
    from firth.corpus import CORPUS
    from firth.origin.origin import Origin
    from firth.run.files import read_json
    from firth.run.run import CONFIG, Run

    folder = Path(system.removeprefix("fast:").rpartition("@")[2])
    if system == WORDLLAMA:
        package = import_module(WORDLLAMA)
        yield from (_folder(package) / name for name in ("weights", "tokenizers"))
    elif not (folder / CONFIG).is_file():
        yield folder
    elif system.startswith("baseline:"):
        yield Run.open(folder).folder(CORPUS)
    else:
        run = Run.open(folder)
        yield from map(run.folder, Origin.reads(run))
        known = run.folder(CONTEXT) / "encoder.json"
        model = read_json(known).get("model") if known.is_file() else None
        if model:
            yield from (Path(model["model"]) / name for name in model["files"])


def bytes_of(system: str) -> int:
    """How much a system reads."""
    found = [file for path in files_of(system) for file in (path, *path.rglob("*"))]
    return sum(file.stat().st_size for file in found if file.is_file())


def serve(pipe: Connection, system: str, texts: list[str]) -> None:
    """Open a system, say so, and read as often as asked; at the end say how much memory it took."""
    from firth.run import progress

    progress.set_quiet(True)
    read = open_reader(system)
    read(texts[:2])
    pipe.send("ready")
    while asked := pipe.recv():
        pipe.send(rate(read, texts, *asked))
    status = Path("/proc/self/status").read_text()  # getrusage would know a parent's peak, too
    pipe.send(int(status.partition("VmHWM:")[2].split()[0]) * 1024)


def rate(read: Read, texts: Sequence[str], batch: int, seconds: float) -> float:
    """Sentences a second, batch by batch, all texts once but for those that take too long."""
    begin = time.perf_counter()
    for start in range(0, len(texts) - batch + 1, batch):
        read(list(texts[start : start + batch]))
        if (taken := time.perf_counter() - begin) >= seconds:
            break
    return (start + batch) / taken


def measure(
    systems: Sequence[str], texts: list[str], batches: Sequence[int], rounds: int, seconds: float
) -> list[Measured]:
    """Start every system, let them take turns."""
    context, found, pipes = get_context("spawn"), [], []
    for system in systems:
        mine, theirs = context.Pipe()
        process = context.Process(target=serve, args=(theirs, system, texts), daemon=True)
        begin = time.perf_counter()
        process.start()
        theirs.close()  # so that the end of a process that fails is seen
        mine.recv()
        found.append(Measured(system, time.perf_counter() - begin, bytes_of(system)))
        pipes.append(mine)
    for batch in batches:
        for turn in range(rounds + 1):
            for one, pipe in zip(found, pipes, strict=True):
                pipe.send((batch, seconds if turn else seconds / 4))
                figure = pipe.recv()
                if turn:  # the first one warms up
                    one.rates.setdefault(batch, []).append(figure)
    for one, pipe in zip(found, pipes, strict=True):
        pipe.send(None)
        one.memory = pipe.recv()
    return found


def table(found: Sequence[Measured], against: Measured, batches: Sequence[int]) -> str:
    """Markdown: a row a system."""
    titles = [f"sentences a second, {batch:,} at once" for batch in batches]
    lines = [
        "| | " + " | ".join([*titles, "files, MB", "memory, MB", "start, s"]) + " |",
        "|---" * (len(titles) + 4) + "|",
    ]
    for one in found:
        rates = [
            f"{_short(median(one.rates[batch]))} ({_short(one.ratio(against, batch))}x)"
            for batch in batches
        ]
        sizes = [
            f"{_short(mine / 1e6)} ({_short(mine / theirs)}x)"
            for mine, theirs in ((one.size, against.size), (one.memory, against.memory))
        ]
        lines.append(f"| {one.system} | {' | '.join([*rates, *sizes])} | {one.start:.1f} |")
    return "\n".join(lines)


def _short(figure: float) -> str:
    """Three figures that count."""
    return f"{float(f'{figure:.3g}'):,.10g}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run")
    parser.add_argument("systems", nargs="+", metavar="SYSTEM")
    parser.add_argument("--against", metavar="SYSTEM", help="by default the first")
    parser.add_argument("--sentences", type=int, default=20_000)
    parser.add_argument("--batches", type=int, nargs="+", default=[32, 1024])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=10.0, help="a system, batch and round")
    parser.add_argument("--threads", type=int, help="of each process; by default all")
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--out", type=Path, help="file of JSON")
    parser.add_argument("--force", action="store_true", help="replace it")
    asked = parser.parse_args()
    against = asked.against or asked.systems[0]
    if against not in asked.systems:
        parser.error(f"--against {against}: expected one of {', '.join(asked.systems)}")
    if odd := [batch for batch in asked.batches if batch < 2 or batch % 2]:
        parser.error(f"--batches {odd[0]}: expected even numbers, since pairs are two sentences")
    if asked.threads:
        environ["OMP_NUM_THREADS"] = environ["RAYON_NUM_THREADS"] = str(asked.threads)
    import numpy as np

    from firth.corpus.corpus import Corpus
    from firth.run.files import claim_file, write_text

    if asked.out:
        claim_file(asked.out, force=asked.force)
    corpus = Corpus.open(asked.run)
    numbers = np.random.default_rng(asked.seed).integers(0, len(corpus), asked.sentences)
    if asked.sentences < max(asked.batches):
        parser.error(f"--sentences {asked.sentences}: expected as many as a batch has at least")
    found = measure(
        asked.systems, corpus.texts(numbers), asked.batches, asked.rounds, asked.seconds
    )
    peer = next(one for one in found if one.system == against)
    print(table(found, peer, asked.batches))
    if asked.out:
        settings: dict[str, Any] = {"against": against, "sentences": asked.sentences}
        settings |= {"seconds": asked.seconds, "threads": asked.threads, "seed": asked.seed}
        cells = [asdict(one) for one in found]
        write_text(asked.out, json.dumps({"systems": cells, **settings}, indent=1) + "\n")


if __name__ == "__main__":
    main()

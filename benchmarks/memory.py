"""How much memory stages take at growing sizes, and what a harvest's tables take.

    python benchmarks/memory.py stages CORPUS.jsonl WORK [--sizes 100000 1000000]
        [--stages corpus tokenizer retrieve context]
    python benchmarks/memory.py plot STAGES.json IMAGE.svg
    python benchmarks/memory.py splits WORK [--sizes 100000 1000000]
    python benchmarks/memory.py parts [--sizes 1000000 4000000]
    python benchmarks/memory.py harvest CORPUS.jsonl WORK [--pairs 10000000] [--sentences 200000]
        [--max-words 12] [--cluster 40] [--killed-at 0.5]

    [--out FILE]

`stages`: documents of CORPUS (JSON lines, .gz too) again and again, each time with a word in seven
of every sentence replaced by another of its document, so that none is dropped as a duplicate, and
half of all names changed, so that there are ever new words, until there are so many sentences. Each
stage is built in a process of its own. `plot` draws what `--out` wrote.

`splits`: shards of so many made-up pairs, one in ten of them drawn before, become train, dev and
test (`firth.harvest.splits`); beside it, a set of all texts alone, as it was once done.

`parts`: single steps on made-up data, a second each, by what Python and NumPy allocate
(tracemalloc): the words of a corpus numbered and cut (`words`), the file of each document
(`files`, a tenth as many, names of 120 characters), repeated pairs (`pairs`), their scores
described (`scores`), and an index's lists of words (`lists`; a tenth as many, of fifteen words).

`harvest`: a run of so many sentences of CORPUS, with Origin by word vectors; then a whole harvest
of so many pairs, in one process, which is sent SIGKILL when this share of its shards is there, and
started again. Of 20 shards drawn by a fixed seed, on both sides of the kill, all pairs are then
scored anew and compared with the tables, to the last bit.

Measured of each process, beside seconds of processor: the most memory the system counted for it
(VmHWM), pages of mapped files included, which the system takes back when it needs them; and the
most of its own (RssAnon), looked at every 20 ms. An exponent is the slope of log bytes over log
size between two sizes, less what the process has for one hundredth of the smallest size; or of log
seconds, of which nothing is taken.
"""

import argparse
import gzip
import json
import math
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any
from zlib import crc32

from firth.run.screen import say

STAGES = ("corpus", "tokenizer", "retrieve", "context")
_REPLACED = 1 / 7
_NAME = 5
"""Letters of the shortest capitalised word that is taken for a name."""
_ENDINGS = "bfgkmptvxz"
_SHARD = 10_000
_VERIFIED = 20
Measured = dict[str, Any]


# What is measured on


def varied(text: str, turn: int, rng: random.Random) -> str:
    """A text with some words replaced by others of it, and half of all names by others."""
    words, ending = text.split(" "), _ENDINGS[turn % len(_ENDINGS)]

    def one(word: str) -> str:
        if word.isalpha() and rng.random() < _REPLACED:
            word = rng.choice(words)
        name = len(word) >= _NAME and word[0].isupper() and word.isalpha()
        return word + ending if name and crc32(word.encode()) % 2 else word

    return " ".join(map(one, words))


def write_corpus(source: Path, size: int, path: Path) -> None:
    """JSON lines of about `size` sentences."""
    from firth.corpus.split import split_paragraphs

    opened: Any = gzip.open if source.suffix == ".gz" else open
    with opened(source, "rt", encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in lines]
    counts: dict[int, int] = {}
    there = 0
    with path.open("w", encoding="utf-8") as file:
        for turn in count():
            for number, text in enumerate(texts):
                if number not in counts:
                    counts[number] = sum(map(len, split_paragraphs(text)))
                there += counts[number]
                given = varied(text, turn, random.Random(f"{turn} {number}")) if turn else text
                file.write(json.dumps({"text": given}) + "\n")
                if there >= size:
                    return


def write_shards(size: int, folder: Path) -> None:
    """Shards of made-up pairs of twelve words a sentence."""
    import pyarrow as pa

    from firth.harvest.plan import Kind
    from firth.harvest.shards import SCHEMA, Shard

    folder.mkdir(parents=True)
    rng, kinds = random.Random(13), [kind.value for kind in Kind]

    def sentence(number: int) -> str:
        return f"sentence {number} " + " ".join(f"w{number * k % 9973}" for k in range(3, 13))

    for number in range(size // _SHARD):
        firsts = [number * _SHARD + n for n in range(_SHARD)]
        firsts = [rng.randrange(1 + one) if rng.random() < 0.1 else one for one in firsts]
        table = pa.table(
            {
                "sentence1": [sentence(one) for one in firsts],
                "sentence2": [sentence(one + 7) for one in firsts],
                "score": [rng.random() for _ in firsts],
                "kind": [rng.choice(kinds) for _ in firsts],
                "index1": firsts,
                "index2": firsts,
                "contexts1": [[] for _ in firsts],
                "contexts2": [[] for _ in firsts],
                "shard": [number] * _SHARD,
            }
        )
        Shard("made up", number, _SHARD).write(table.cast(SCHEMA), folder)


# Steps


def number_words(size: int) -> Callable[[], object]:
    """Sentences of twenty words, of 5,000 different ones."""
    import numpy as np

    from firth.corpus.numbered import _cut, _vocabulary
    from firth.corpus.settings import WordSection
    from firth.run.mapped import mapped

    pieces = Path(tempfile.mkdtemp()) / "pieces.i32"
    (np.random.default_rng(0).zipf(1.5, size) % 5_000).astype(np.int32).tofile(pieces)
    names, lengths = [f"w{number}" for number in range(5_000)], np.full(size // 20, 20, np.int32)

    def step() -> None:
        types = mapped(pieces, np.int32)
        for _ in _cut(pieces, lengths, _vocabulary(names, types, WordSection(min_count=2))[2], 120):
            pass

    return step


def number_files(size: int) -> Callable[[], object]:
    """Documents of 50 files."""
    import pyarrow as pa

    from firth.corpus.corpus import _Rows
    from firth.corpus.store import ArrowWriter

    path = Path(tempfile.mkdtemp()) / "documents.arrow"
    writer = ArrowWriter(path, {"source": pa.string()})
    for number in range(size // 10):
        writer.append((f"reports/{'x' * 100}/{number * 500 // size:05}.jsonl",))
    writer.close()
    rows = _Rows(path)
    return lambda: rows.numbers("source")


def know_pairs(size: int) -> Callable[[], object]:
    """Keys of pairs, in blocks of 10,000, one in ten of them drawn before."""
    import numpy as np

    from firth.harvest.splits import first_of_each

    rng = np.random.default_rng(0)

    def blocks() -> Iterator[Any]:
        for start in range(0, size, _SHARD):
            first = np.arange(start, start + _SHARD, dtype=np.uint64)
            again = rng.random(_SHARD) < 0.1
            first[again] = rng.integers(0, start + 1, int(again.sum()), dtype=np.uint64)
            yield np.stack((first * np.uint64(0x9E3779B97F4A7C15), first), axis=1)

    return lambda: first_of_each(blocks(), size, Path(tempfile.mkdtemp()) / "seen")


def describe_scores(size: int) -> Callable[[], object]:
    """Scores of three kinds; they and the kinds, nine bytes a pair, are there before."""
    import numpy as np

    from firth.harvest.splits import _distribution

    rng = np.random.default_rng(0)
    scores, kinds = rng.random(size), rng.integers(0, 3, size).astype(np.int8)
    return lambda: _distribution(scores, kinds)


def list_words(size: int) -> Callable[[], object]:
    """An index's lists of sentences of fifteen words, of 5,000 different ones."""
    import numpy as np

    from firth.index.words import write_lists

    drawn = np.random.default_rng(0).zipf(1.5, (size, 15)) % 5_000
    texts = (" ".join(f"w{number}" for number in row) for row in drawn)
    return lambda: write_lists(Path(tempfile.mkdtemp()), texts)


STEPS = {
    "words": number_words,
    "files": number_files,
    "pairs": know_pairs,
    "scores": describe_scores,
    "lists": list_words,
}


def parts(sizes: list[int]) -> None:
    """A line for each step and size: the most that was allocated."""
    for name, prepare in STEPS.items():
        for size in sizes:
            count = size // 10 if name in ("files", "lists") else size
            step = prepare(count if name == "lists" else size)
            tracemalloc.start()
            step()
            most = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            say(f"{name:7} {count:>11,}  {most / 2**20:7,.1f} MiB  {most / count:7.1f} B each")


# Processes of their own


def build_stage(folder: str, name: str) -> None:
    """Build a stage of a run."""
    from firth.pipeline import STEPS
    from firth.run.run import Run

    (step,) = (step for step in STEPS if step.stage.name == name)
    step.build(Run.open(folder))


def build_splits(folder: str, size: str) -> None:
    """Three tables from shards."""
    from firth.harvest.blocklist import Blocklist
    from firth.harvest.settings import HarvestConfig
    from firth.harvest.splits import write_splits

    config = HarvestConfig(pairs=int(size), shard_pairs=_SHARD)
    out = Path(folder) / "tables"
    out.mkdir()
    write_splits(out, sorted(Path(folder).glob("*.parquet")), config, Blocklist.load())


def build_set(folder: str, size: str) -> None:
    """A set of the texts of all pairs, and nothing else of the work."""
    from firth.harvest.shards import read_shard
    from firth.lexical.words import normal_form

    seen: set[frozenset[str]] = set()
    for path in sorted(Path(folder).glob("*.parquet")):
        table = read_shard(path)
        columns = (table[name].to_pylist() for name in ("sentence1", "sentence2"))
        seen |= {frozenset(map(normal_form, pair)) for pair in zip(*columns, strict=True)}


def build_harvest(folder: str, pairs: str) -> None:
    """A harvest, or what an earlier process left of it to do."""
    from firth.harvest.harvest import harvest

    harvest(folder, int(pairs))


def verify_harvest(folder: str, _: str) -> None:
    """Score some shards anew; end with an error where a table has anything else."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from firth.harvest import HARVEST
    from firth.harvest.blocklist import Blocklist
    from firth.harvest.scorer import ShardScorer
    from firth.harvest.shards import SCHEMA, shards_of
    from firth.harvest.splits import SPLITS
    from firth.run.run import Run

    run = Run.open(folder)
    shards = {shard.number: shard for shard in shards_of(run.config.harvest, "")}
    drawn = random.Random(13).sample(sorted(shards), min(len(shards), _VERIFIED))
    columns = [name for name in SCHEMA.names if not name.startswith("contexts")]
    kept = pa.concat_tables(
        pq.read_table(
            run.folder(HARVEST) / f"{split}.parquet",
            columns=columns,
            filters=[("shard", "in", drawn)],
        )
        for split in SPLITS
    )
    scorer = ShardScorer(run, Blocklist.load())
    anew = [scorer.score(shards[number]).select(columns).to_pylist() for number in drawn]
    known = {(row["shard"], row["index1"], row["index2"]): row for rows in anew for row in rows}
    wrong = sum(known.get((r["shard"], r["index1"], r["index2"])) != r for r in kept.to_pylist())
    told = f"{len(kept):,} of {len(known):,} pairs of {len(drawn)} shards stand in the tables"
    say(f"{told}, {wrong} of them otherwise than they are scored now")
    if wrong or not len(kept):
        raise SystemExit(1)


CHILDREN = {
    "stage": build_stage,
    "splits": build_splits,
    "set": build_set,
    "harvest": build_harvest,
    "verify": verify_harvest,
}


def measured(name: str, *arguments: str, until: Path | None = None) -> Measured:
    """What a process took; it is sent SIGKILL as soon as there is a file `until`."""
    started = time.time()
    command = [sys.executable, __file__, "child", name, *arguments]
    process = subprocess.Popen(command)
    anonymous = peak = 0
    while True:
        try:
            status = Path(f"/proc/{process.pid}/status").read_text()
        except OSError:
            break
        figures = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
        if "RssAnon" not in figures:
            break
        anonymous = max(anonymous, 1024 * int(figures["RssAnon"].split()[0]))
        peak = max(peak, 1024 * int(figures["VmHWM"].split()[0]))
        if until is not None and until.exists():
            process.kill()
            break
        time.sleep(0.02)
    _, ended, used = os.wait4(process.pid, 0)
    killed = until is not None and os.waitstatus_to_exitcode(ended) == -signal.SIGKILL
    if ended and not killed:
        raise SystemExit(f"{name} {arguments}: ended with {os.waitstatus_to_exitcode(ended)}")
    return {
        "anonymous": anonymous,
        "peak": peak,
        "processor": used.ru_utime + used.ru_stime,
        "clock": time.time() - started,
        "killed": killed,
    }


def stages(source: Path, work: Path, size: int, names: list[str]) -> dict[str, Measured]:
    """What each stage takes on so many sentences."""
    from firth.corpus.corpus import Corpus
    from firth.run.config import Config
    from firth.run.run import Run

    work.mkdir(parents=True)
    write_corpus(source, size, work / "documents.jsonl")
    config = {"corpus": {"inputs": [str(work / "documents.jsonl")]}}
    run = Run.create(work / "run", Config.parse(config, "memory.py"))
    found = {}
    for name in names:
        one = found[name] = measured("stage", str(run.path), name)
        one["size"] = len(Corpus.open(run))
        told = f"own {one['anonymous'] / 2**20:7,.0f} MiB  {one['processor']:7,.0f} s"
        say(f"{name:10} {one['size']:>11,}  {told}")
    return found


def splits(work: Path, size: int) -> dict[str, Measured]:
    """What a harvest's tables take of so many pairs."""
    write_shards(size, work)
    found = {name: measured(name, str(work), str(size)) for name in ("splits", "set")}
    return {name: one | {"size": size} for name, one in found.items()}


def harvest(given: argparse.Namespace) -> None:
    """What a large harvest takes, before and after its kill."""
    from firth.harvest import HARVEST
    from firth.run.config import Config
    from firth.run.run import Run
    from firth.run.stage import SCRATCH, Manifest

    given.work.mkdir(parents=True)
    write_corpus(given.corpus, given.sentences, given.work / "documents.jsonl")
    config = {
        "corpus": {
            "inputs": [str(given.work / "documents.jsonl")],
            "max_words": given.max_words,
        },
        "context": {"bag": {"epochs": 1}},
        "harvest": {
            "pairs": given.pairs,
            "near": 0.6,
            "same_document": 0.1,
            "cluster": given.cluster,
            "shard_pairs": _SHARD,
        },
    }
    run = Run.create(given.work / "run", Config.parse(config, "memory.py"))
    folder = str(run.path)
    found = {
        name: measured("stage", folder, name)
        for name in ("corpus", "check", "retrieve", "context", "origin")
    }
    last = round(given.killed_at * given.pairs / _SHARD)
    scratch = run.path / f".{HARVEST.name}.work" / SCRATCH
    before = measured(
        "harvest", folder, str(given.pairs), until=scratch / f"shard-{last:06}.parquet"
    )
    whole = len(list(scratch.glob("shard-*.parquet")))
    after = measured("harvest", folder, str(given.pairs))
    found |= {"until the kill": before | {"shards": whole}, "after it": after}
    found["verified"] = measured("verify", folder, "")
    for name, one in found.items():
        say(
            f"{name:15} own {one['anonymous'] / 2**20:7,.0f} MiB  peak {one['peak'] / 2**20:7,.0f} "
            f"MiB  {one['processor']:7,.0f} s of processor, {one['clock']:7,.0f} by the clock"
            + (f", killed with {whole} shards" if one["killed"] else "")
        )
    manifest = Manifest.read(run.folder(HARVEST))
    assert manifest is not None
    say(json.dumps(manifest.summary, indent=2))
    if given.out:
        found["summary"] = dict(manifest.summary)
        given.out.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


def exponents(before: Measured, one: Measured, base: Measured) -> dict[str, float]:
    """Slopes of the logarithms of memory, less that of `base`, and of processor time."""
    grown = math.log(one["size"] / before["size"])
    over = {
        "anonymous": [max(each["anonymous"] - base["anonymous"], 1) for each in (before, one)],
        "processor": [each["processor"] for each in (before, one)],
    }
    return {key: math.log(more / less) / grown for key, (less, more) in over.items()}


def show(found: list[dict[str, Measured]]) -> None:
    """A line for each way and size; `found` begins with a hundredth of the smallest."""
    base, *rest = found
    for name in base:
        before: Measured | None = None
        for one in (each[name] for each in rest):
            told = (
                f"{name:10} {one['size']:>11,}  own {one['anonymous'] / 2**20:7,.0f} MiB  "
                f"peak {one['peak'] / 2**20:7,.0f} MiB  {one['processor']:7,.0f} s"
            )
            if before is not None:
                memory, seconds = exponents(before, one, base[name]).values()
                added = (one["anonymous"] - before["anonymous"]) / (one["size"] - before["size"])
                told += f"  exponents {memory:.2f}, {seconds:.2f}; {added:.0f} B each"
            say(told)
            before = one


def plot(measured: Path, image: Path) -> None:
    """Memory and processor time of each stage over sentences; exponents of the last two sizes."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    base, *rest = json.loads(measured.read_text(encoding="utf-8"))
    figure = Figure(figsize=(9, 4.2), layout="constrained")
    shown = (("anonymous", 2**20, "memory of its own, MiB"), ("processor", 1, "processor, s"))
    for axes, (key, unit, what) in zip(figure.subplots(1, 2), shown, strict=True):
        for number, name in enumerate(base):
            some = [one[name] for one in rest if name in one]
            before, last = some[-2:]
            slope = exponents(before, last, base[name])[key]
            sizes, values = [one["size"] for one in some], [one[key] / unit for one in some]
            style = "o-" if number < 10 else "o--"  # ten colours
            axes.loglog(sizes, values, style, markersize=3, label=f"{name} {slope:.2f}")
        axes.set(xlabel="sentences", ylabel=what)
        axes.grid(alpha=0.2)
        axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    with mpl.rc_context({"svg.hashsalt": "firth", "svg.fonttype": "none"}):
        figure.savefig(image, metadata={"Date": None})


def main() -> None:
    """Measure what is asked for."""
    if sys.argv[1] == "child":
        from firth.run import progress

        progress.set_quiet(True)
        CHILDREN[sys.argv[2]](*sys.argv[3:])
        return
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    of_stages, of_splits = commands.add_parser("stages"), commands.add_parser("splits")
    of_plot = commands.add_parser("plot")
    of_plot.add_argument("measured", type=Path)
    of_plot.add_argument("image", type=Path)
    of_parts = commands.add_parser("parts")
    of_parts.add_argument("--sizes", nargs="+", type=int, default=[1_000_000, 4_000_000])
    of_stages.add_argument("corpus", type=Path)
    of_stages.add_argument("--stages", nargs="+", default=list(STAGES))
    for one in (of_stages, of_splits):
        one.add_argument("work", type=Path)
        one.add_argument("--sizes", nargs="+", type=int, default=[100_000, 1_000_000])
        one.add_argument("--out", type=Path)
    of_harvest = commands.add_parser("harvest")
    of_harvest.add_argument("corpus", type=Path)
    of_harvest.add_argument("work", type=Path)
    of_harvest.add_argument("--pairs", type=int, default=10_000_000)
    of_harvest.add_argument("--sentences", type=int, default=200_000)
    of_harvest.add_argument("--max-words", type=int, default=12)
    of_harvest.add_argument("--cluster", type=int, default=40)
    of_harvest.add_argument("--killed-at", type=float, default=0.5)
    of_harvest.add_argument("--out", type=Path)
    given = parser.parse_args()
    if given.command == "harvest":
        harvest(given)
        return
    if given.command == "plot":
        plot(given.measured, given.image)
        return
    if given.command == "parts":
        parts(given.sizes)
        return
    found = []
    for size in (
        min(given.sizes) // 100 if given.command == "stages" else _SHARD * 3,
        *given.sizes,
    ):
        folder = given.work / f"{given.command}-{size}"
        found.append(
            stages(given.corpus, folder, size, given.stages)
            if given.command == "stages"
            else splits(folder, size)
        )
    show(found)
    if given.out:
        given.out.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

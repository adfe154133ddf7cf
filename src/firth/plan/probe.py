"""A probe: every stage of a run really built, on small random parts of the same documents."""

import heapq
import json
import resource
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, TypeVar

import numpy as np

from firth.context import CONTEXT
from firth.corpus import CORPUS
from firth.corpus.corpus import Corpus
from firth.corpus.inputs import HUB, Source, resolve_inputs
from firth.corpus.read import read_source
from firth.corpus.records import Record
from firth.corpus.statistics import fit_idf_on_run
from firth.evaluate import EVALUATION
from firth.harvest import HARVEST
from firth.lexical.tfidf import Idf
from firth.lexical.words import Stemmer, words
from firth.origin.settings import Method
from firth.paper.retrieve import RETRIEVE
from firth.pipeline import STEPS, Step, needed
from firth.plan.units import Size
from firth.run.config import Config
from firth.run.errors import InputError
from firth.run.progress import bar, silenced
from firth.run.run import Run
from firth.run.seeds import derive_seed
from firth.run.stage import Stage
from firth.surrogate import SURROGATE
from firth.surrogate.settings import BaseKind
from firth.surrogate.start import frequent_words

PARTS = (
    (1 / 16, 1 / 8, 1), (1 / 8, 1 / 8, 16), (1 / 4, 1 / 8, 1), (1 / 2, 1 / 2, 16), (1.0, 1 / 4, 1)
)  # fmt: skip
"""Shares of the probe's text, and of work that is the same for any text (steps, questions, pairs),
and how many times as many steps the training of words is divided into: they differ, so that one can
be told from the other. What the first part costs is not believed: it loads the libraries."""
FEWEST_DOCUMENTS, FEWEST_WORDS = 40, 20_000
STEPS_EACH, ASKED, TAUGHT, PAIRS = 160, 800, 20_000, 8_000
"""Whole of that work: steps of each training, questions of a kind, sentences learned from, pairs
harvested."""
PRINTED_STEPS, PRINTED_CONTEXTS, PRINTED_PAIRS = 40, 32, 30
"""The same for Origin as printed, which takes seconds a step and a pair: steps of each training,
contexts of a sentence. All parts have as few pairs as a harvest can have."""
Done = TypeVar("Done")
_LOOKED_AT = 1 << 28
"""Bytes of the inputs that are looked at, shared evenly among files."""


@dataclass(frozen=True)
class Cost:
    """What building a stage took.

    Attributes:
        seconds, processor: By the clock, and of all threads.
        disk: Bytes of its files.
        memory: Most bytes of the process.
    """

    seconds: float
    processor: float
    disk: int
    memory: int


@dataclass(frozen=True)
class Probe:
    """A part of the documents, and what each stage took on it.

    Attributes:
        size: Of the part.
        config: It was built with.
        counting: Its words, all of them.
        costs: Stage → its cost, in order.
    """

    size: Size
    config: Config
    counting: Cost
    costs: dict[Stage, Cost]


@dataclass(frozen=True)
class Sample:
    """Documents drawn from inputs.

    Attributes:
        texts: Of each document its title and text, in random order.
        words: Of all of them.
        whole: How many words the inputs have in all, judged by their bytes; None of a hub's.
    """

    texts: list[tuple[str, str]]
    words: int
    whole: float | None


def draw(config: Config, most: int) -> Sample:
    """Documents of `corpus.inputs`, each as likely as any other that is looked at.

    Args:
        config: Names the inputs and their fields.
        most: Words, about.

    Raises:
        InputError: An input cannot be used, or there is too little text for a probe.
    """
    sources = resolve_inputs(config.corpus.inputs)
    rng = np.random.default_rng(derive_seed(config.seed, "plan"))
    kept: list[tuple[float, int, str, str]] = []
    held = seen = looked = 0
    with bar("Plan: drawing documents", sum(source.size for source in sources) or None) as shown:
        for source in sources:
            for record, read in _beginning(source, config, _LOOKED_AT // len(sources)):
                looked += read
                shown.advance(read)
                if record is None:
                    continue
                count = len(words(record.text))
                seen += count
                # The documents of the lowest keys; a heap has its smallest on top.
                heapq.heappush(kept, (-rng.random(), count, record.title, record.text))
                held += count
                while held - kept[0][1] >= most:
                    held -= heapq.heappop(kept)[1]
    if len(kept) < FEWEST_DOCUMENTS or held < FEWEST_WORDS:
        raise InputError(
            f"{', '.join(config.corpus.inputs)}: got {len(kept)} documents of {held:,} words; a "
            f"probe needs {FEWEST_DOCUMENTS} documents and {FEWEST_WORDS:,} words at least"
        )
    hub = any(str(given).startswith(HUB) for given in config.corpus.inputs)
    whole = sum(source.size for source in sources)
    return Sample(
        [(title, text) for _, _, title, text in sorted(kept, reverse=True)],
        held,
        None if hub or not looked else seen * whole / looked,
    )


def _beginning(source: Source, config: Config, most: int) -> Iterator[tuple[Record | None, int]]:
    """Records of a source, and how many bytes of it were read for each, until there are so many."""
    read = [0, 0]

    def advance(amount: int) -> None:
        read[0] += amount

    for item in read_source(source, config.corpus, advance):
        yield item if isinstance(item, Record) else None, read[0] - read[1]
        read[1] = read[0]
        if read[0] >= most:
            return
    yield None, source.size - read[1]


def _steps(run: Run, pairs: bool) -> list[Step]:
    """What is built, and the harvest where pairs are asked for; an evaluation costs what it costs,
    however large the corpus."""
    wanted = {*needed(run), *((HARVEST, RETRIEVE) if pairs else ())} - {EVALUATION}
    return [step for step in STEPS if step.stage in wanted]


def probes(config: Config, sample: Sample, pairs: bool) -> list[Probe]:
    """Build each part of a sample in a folder of its own, which is gone afterwards.

    Args:
        config: Of the run that is planned.
        sample: Of its documents.
        pairs: Whether a harvest is planned.

    Raises:
        FirthError: As the stages do.
    """
    found = []
    with (
        tempfile.TemporaryDirectory(prefix="firth-plan-") as folder,
        bar("Plan: parts", len(PARTS)) as shown,
    ):
        steps = _steps(Run(Path(folder) / "run", config), pairs)
        for number, (share, *how) in enumerate(PARTS):
            place, settings = Path(folder) / str(number), _smaller(config, *how)
            found.append(build_part(place, settings, _part(sample, share), steps))
            shown.advance(1, f"{share:.0%} of the documents")
    return found[1:]


def build_part(
    folder: Path, config: Config, texts: Sequence[tuple[str, str]], steps: Sequence[Step]
) -> Probe:
    """Build stages of a run of some documents, and say what each took.

    Args:
        folder: Where the run stands.
        config: Its settings, but for where documents are.
        texts: Of each document its title and text.
        steps: What is built.
    """
    folder.mkdir(exist_ok=True)
    path = folder / "documents.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for title, text in texts:
            file.write(json.dumps({"title": title, "text": text}) + "\n")
    corpus: dict[str, Any] = {"inputs": (str(path),), "text_field": "text", "fields": ()}
    corpus |= {"id_field": None, "date_field": None, "group_by": None}
    settings = config.model_copy(update={"corpus": config.corpus.model_copy(update=corpus)})
    run = Run.create(folder / "run", settings)
    with silenced():
        done = {step.stage: _done(run.path / step.stage.name, step.build, run) for step in steps}
    counted, counting = _done(run.folder(CORPUS), fit_idf_on_run, run, Stemmer.NONE)
    costs = {stage: cost for stage, (_, cost) in done.items()}
    return Probe(_size(run, counted), settings, counting, costs)


def _part(sample: Sample, share: float) -> Sequence[tuple[str, str]]:
    """The first documents, with a share of the words, and enough of them for a run."""
    held, count = 0, 0
    for count, (_, text) in enumerate(sample.texts, 1):
        held += len(words(text))
        if held >= share * sample.words and count >= FEWEST_DOCUMENTS:
            break
    return sample.texts[:count]


def _smaller(config: Config, share: float, finer: float) -> Config:
    """The settings of a part: with a share of the work that is the same for any text."""
    batch = max(2, round(config.context.bag.batch / finer))
    steps = {"steps": round(share * STEPS_EACH)}
    harvest = {"pairs": max(3 * config.harvest.shard_pairs, round(share * PAIRS))}
    paper = {}
    if config.origin.method is Method.PAPER:
        steps = {"steps": round(share * PRINTED_STEPS)}
        harvest = {"shard_pairs": PRINTED_PAIRS // 3, "pairs": PRINTED_PAIRS}
        contexts = min(config.paper.contexts, max(2, round(share * PRINTED_CONTEXTS)))
        listed = round(config.paper.shortlist * contexts / config.paper.contexts)
        paper = {"contexts": contexts, "shortlist": listed}
    return config.changed(
        {
            "check": {"items": round(share * ASKED)},
            "context": {
                "bag": {"batch": batch},
                "tune": steps if config.context.tune.steps else {},
            },
            "coherence": steps,
            "generator": steps,
            "harvest": harvest,
            "paper": paper,
            "surrogate": {"sentences": round(share * TAUGHT)},
        },
        "firth plan",
    )


def _done(folder: Path, work: Callable[..., Done], *given: object) -> tuple[Done, Cost]:
    """What some work on a folder gave, and took."""
    _forget_peak()
    before, busy = perf_counter(), process_time()
    result = work(*given)
    seconds, processor = perf_counter() - before, process_time() - busy
    files = folder.rglob("*")
    size = sum(file.stat().st_size for file in files if file.is_file())
    return result, Cost(seconds, processor, size, _peak())


def _forget_peak() -> None:
    """On Linux the most memory is counted anew; elsewhere it is that of all stages so far."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _peak() -> int:
    """Most bytes of this process that were in memory."""
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return 1024 * int(line.split()[1])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def _size(run: Run, counted: Idf) -> Size:
    """What was made of a part."""
    summary = run.manifest(CORPUS).summary
    stems = whole = rows = 0
    if run.has(CONTEXT):
        stems = run.manifest(CONTEXT).summary["words"]["vocabulary"]
    if run.has(SURROGATE) and run.config.surrogate.kind is BaseKind.STATIC:
        from safetensors import safe_open

        with safe_open(run.folder(SURROGATE) / "model.safetensors", framework="np") as weights:
            rows = weights.get_slice("embedding.weight").get_shape()[0]
        how = run.config.surrogate
        whole = len(frequent_words(counted.frequencies, how.vocabulary, how.min_sentences))
    return Size(
        summary["documents"], len(Corpus.open(run)), summary["words"], stems, whole, rows - whole,
        run.config.harvest.pairs if run.has(HARVEST) else 0,
    )  # fmt: skip

"""What a build would cost, by two small builds of a sample of its documents."""

import sys
import tempfile
from dataclasses import dataclass
from math import log
from pathlib import Path
from time import process_time
from typing import Any

from firth.corpus.document import Document
from firth.corpus.read import read_documents
from firth.pipeline.stages import bring_up_to_date
from firth.run.console import plural, silenced, wrapped
from firth.run.errors import InputError
from firth.run.run import Run

_PROBE_WORDS = 100_000
_SHARES = 0.05, 0.5, 1.0
"""Parts of the probe that are built: a first one, which loads code, half of it, and all of it."""


@dataclass(frozen=True)
class Estimate:
    """What a build would cost, by the growth from half a probe of its documents to all of it.

    `peak_mib` is resident memory. Large runs map files besides, as far as the system has room.
    """

    words: int
    probe_words: int
    seconds: float
    peak_mib: float
    disk_mib: float

    def text(self) -> str:
        """Return the prediction in a sentence."""
        return wrapped(
            f"A build of about {self.words:,} words takes about {self.seconds:,.0f} s of processor "
            f"time, {self.peak_mib:,.0f} MiB of memory and {self.disk_mib:,.0f} MiB on disk: "
            f"as they grew from a build of {self.probe_words // 2:,} to one of "
            f"{self.probe_words:,} words."
        )


def estimate(run: Run, documents: Any) -> Estimate:
    """Predict the cost of a build from two small builds of a sample of its documents."""
    texts, words = _sample(run, documents or run.settings.corpus.inputs)
    counts = [len(document.text.split()) for document in texts]
    if sum(counts) < _PROBE_WORDS // 2 or len(texts) < 4:
        raise InputError(
            f"firth build --estimate needs {_PROBE_WORDS // 2:,} words in 4 documents at least; "
            f"got {sum(counts):,} words in {plural(len(texts), 'document')}. Build them: at this "
            "size it takes seconds"
        )
    probes: list[_Probe] = []
    with tempfile.TemporaryDirectory(prefix="firth-estimate-") as folder, silenced():
        for share in _SHARES:
            part = texts[: max(2, int(share * len(texts)))]
            probe = Run(Path(folder) / str(share), run.settings, run.encoder)
            began = process_time()
            bring_up_to_date(probe, part)
            seconds = process_time() - began
            disk = sum(p.stat().st_size for p in probe.path.rglob("*") if p.is_file()) / 2**20
            probes.append(_Probe(sum(counts[: len(part)]), (seconds, _peak_mib(), disk)))
    half, whole = probes[-2:]
    return Estimate(words, whole.words, *_grown(half, whole, words))


@dataclass(frozen=True)
class _Probe:
    """A small build: its words, and its seconds, MiB of memory and MiB on disk."""

    words: int
    costs: tuple[float, ...]


def _grown(half: _Probe, whole: _Probe, words: int) -> list[float]:
    """Return the costs of so many words, each a power of the words through both builds.

    The power is in [0, 1]: vocabularies, and with them tables and memory, grow ever slower, so that
    a line would predict far too much.
    """
    times, known = max(words / whole.words, 1.0), log(whole.words / max(half.words, 1))
    grown = []
    for low, high in zip(half.costs, whole.costs, strict=True):
        power = log(high / low) / known if 0 < low < high and known > 0 else 0.0
        grown.append(high * times ** min(power, 1.0))
    return grown


def _peak_mib() -> float:
    """Return the most memory that this process had, in MiB; 0 where the system does not tell."""
    try:
        import resource
    except ImportError:  # Windows has none.
        return 0.0
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def _sample(run: Run, documents: Any) -> tuple[list[Document], int]:
    """Return evenly spread documents of about `_PROBE_WORDS` words, and the words of all."""
    sample: list[tuple[Document, int]] = []
    every, words, kept = 1, 0, 0
    items = read_documents(documents, run.settings.corpus, run.path)
    for number, document in enumerate(item for item in items if isinstance(item, Document)):
        count = len(document.text.split())
        words += count
        if number % every == 0:
            sample.append((document, count))
            kept += count
        if kept > 2 * _PROBE_WORDS:
            sample, every = sample[::2], 2 * every
            kept = sum(count for _, count in sample)
    return [document for document, _ in sample], words

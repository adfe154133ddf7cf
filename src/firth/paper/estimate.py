"""What the method would cost with some settings: its operations, over the rate of this machine.

Operations are those of the products of weights: two for each weight and token that is read, six
where it is learned, for as many passes as the settings allow. A part does a share of what plain
products of its size do; the shares were measured with `paper-small` on 63 news articles and one
busy core. Screening, word vectors and files are not counted.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import torch

from firth.corpus.corpus import Corpus
from firth.corpus.document import Document
from firth.corpus.read import read_documents
from firth.encoders.transformer import device
from firth.paper.settings import PaperSettings
from firth.run.console import table, wrapped
from firth.run.errors import InputError
from firth.run.run import Run
from firth.train.settings import TokenizerSettings

_WORDS, _TOKENS = 18.0, 1.3
"""Words of a sentence where no corpus is built, and tokens of a word."""
_SHARES = {"coherence": 0.3, "generator": 0.12, "harvest": 0.16, "surrogate": 0.12}
_BASE = (12, 768)
"""Layers and width of a Surrogate's base that is an encoder."""
_ROWS, _SECONDS = 256, 0.3


@dataclass(frozen=True)
class Estimate:
    """The cost of each part, in operations and in seconds of one process with its device."""

    words: int
    rate: float
    operations: Mapping[str, float]
    seconds: Mapping[str, float]

    def text(self) -> str:
        """Return a table and the sum for a screen."""
        rows = [["part", "operations", "time"]]
        for part, count in self.operations.items():
            rows.append([part, f"{count:.1e}", _span(self.seconds[part])])
        whole = wrapped(
            f"{self.words:,} words take about {_span(sum(self.seconds.values()))} of one process "
            f"here, whose products do {self.rate / 1e9:,.0f} billion operations a second. The true "
            "time may be half or twice as long; models of larger widths need less."
        )
        return f"{table(rows)}\n\n{whole}"


def estimate(run: Run, inputs: Any = None, to: str = "origin") -> Estimate:
    """Predict the cost of `firth paper build --to` for the documents of a run, or for others.

    Raises:
        InputError: There are no documents, or a language model is to answer.
    """
    settings, corpus = run.wing("paper", PaperSettings), None
    if settings.generator.backend != "seq2seq":
        raise InputError(
            "generator.backend causal-lm: the cost of a language model is not estimated, as only "
            "its files know its size; expected backend seq2seq, or no --estimate"
        )
    if inputs:
        documents = read_documents(inputs, run.settings.corpus, run.path)
        words = sum(len(read.text.split()) for read in documents if isinstance(read, Document))
    else:
        corpus = Corpus.open(run)
        words = int(corpus.word_counts.sum())
    if not words:
        raise InputError("the documents have no word; expected texts to plan for")
    sentences = len(corpus) if corpus else words / _WORDS
    positions = len(corpus.positions()) if corpus else sentences
    tokens = _TOKENS * words / sentences
    vocabulary = run.wing("tokenizer", TokenizerSettings).vocabulary
    counts = operations(settings, vocabulary, sentences, positions, tokens)
    parts = list(counts)[: {"origin": 2, "harvest": 3}.get(to, 4)]
    rate = _rate(settings)
    seconds = {part: counts[part] / (_SHARES[part] * rate) for part in parts}
    return Estimate(words, rate, {part: counts[part] for part in parts}, seconds)


def operations(
    settings: PaperSettings, vocabulary: int, sentences: float, positions: float, tokens: float
) -> dict[str, float]:
    """Return the operations of each part: of all sentences, places to learn, tokens of each."""
    coherence, generator = settings.coherence, settings.generator
    contexts, harvest, surrogate = settings.contexts, settings.harvest, settings.surrogate
    lstm = 16 * coherence.hidden**2
    read = min(coherence.max_tokens, tokens)
    learned = coherence.passes * positions * (1 + 2 * settings.window)
    found = {"coherence": lstm * read * (6 * learned + 2 * sentences)}

    layer = 4 * generator.width**2
    inner = 2 * generator.width * generator.feedforward
    encoder = generator.layers * (layer + inner)
    decoder = generator.layers * (2 * layer + inner) + generator.width * vocabulary
    read = min(generator.max_tokens, tokens)
    job = read * (2 * settings.window * encoder + decoder)
    found["generator"] = 6 * 3 * generator.passes * positions * job

    fits = 2 * (contexts.shortlist + contexts.size)
    ranked = 2 * settings.retrieve.chunks * settings.retrieve.chunk_sentences
    roles = 3 * read * decoder + coherence.hidden * 8
    found["harvest"] = harvest.pairs * 2 * (fits * roles + ranked * 4 * coherence.hidden)

    layers, width = _BASE
    if surrogate.base in ("static", "transformer"):
        layers, width = surrogate.layers, surrogate.dimensions
    weights = 12 * layers * width**2 if surrogate.base != "static" else width
    pairs = min(harvest.pairs, surrogate.pairs or harvest.pairs)
    found["surrogate"] = 6 * surrogate.epochs * pairs * 2 * tokens * weights
    return found


def _rate(settings: PaperSettings) -> float:
    """Return the operations a second of products of the generator's size on the device.

    Of a processor the best product of one thread counts, times the threads: other work on a busy
    machine hardly lowers it.
    """
    where, width, threads = device(), settings.generator.width, torch.get_num_threads()
    dtype = settings.number_format(where)
    one = torch.ones(_ROWS, width, device=where, dtype=dtype)
    two = torch.ones(width, 4 * width, device=where, dtype=dtype)
    on_processor, best, began = where.type == "cpu", float("inf"), perf_counter()
    try:
        torch.set_num_threads(1)
        while perf_counter() - began < _SECONDS:
            at = perf_counter()
            (one @ two).sum().item()
            best = min(best, perf_counter() - at)
    finally:
        torch.set_num_threads(threads)
    return 2 * _ROWS * 4 * width**2 / best * (threads if on_processor else 1)


def _span(seconds: float) -> str:
    """Return a time in the largest unit that it fills."""
    for unit, size in (("years", 31_557_600), ("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= size:
            return f"{seconds / size:,.1f} {unit}"
    return f"{seconds:,.0f} seconds"

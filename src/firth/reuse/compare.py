"""Two documents side by side: which sentences say the same, how much of each is in the other."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import chain, pairwise
from pathlib import Path
from textwrap import shorten
from typing import Any

import numpy as np

from firth.corpus.inputs import resolve_inputs
from firth.corpus.library import Library
from firth.corpus.read import read_source
from firth.corpus.records import Record
from firth.corpus.settings import CorpusConfig
from firth.corpus.split import split_paragraphs
from firth.lexical.arrays import Floats, Ints
from firth.lexical.scorer import TextPair
from firth.lexical.words import normal_form
from firth.reuse.align import SPREAD, Bead, Windows, align
from firth.reuse.chance import chance_threshold, check_bounds, pairs_within, scale_threshold
from firth.reuse.copies import NEAR
from firth.reuse.kinds import Kind, Order
from firth.reuse.measure import Measure, count_words, joined
from firth.reuse.spans import reused, runs, spans
from firth.run.errors import InputError
from firth.run.run import Run
from firth.run.seeds import derive_seed

RATE = 0.001
"""Share of the pairs of sentences of one document that may be taken for alike."""
_PAIRS = 20_000
"""Pairs of sentences of one document that say what chance is."""
_FEW = 100
_WIDTH = 80


@dataclass(frozen=True)
class Document:
    """A name, and the sentences."""

    name: str
    sentences: tuple[str, ...]

    @classmethod
    def of(cls, name: str, text: str) -> "Document":
        """A text, split into sentences."""
        return cls(name, tuple(one for part in split_paragraphs(text) for one in part))

    @classmethod
    def named(cls, name: str, library: Library) -> "Document":
        """A document of a run by its name; raise `InputError` if there is none."""
        names = library.document_ids()
        if name not in names:
            raise InputError(
                f"{name}: neither a file nor a document of the run, such as {names[0]!r}"
            )
        return document_of(library, names.index(name))


@dataclass(frozen=True)
class Match:
    """Sentences that say the same.

    Attributes:
        a, b: Their numbers in either document, counted from 1, in order; one of them is alone.
        a_text, b_text: They themselves.
        score: Their similarity, in [0, 1].
        kind: How near they are.
    """

    a: tuple[int, ...]
    b: tuple[int, ...]
    a_text: str
    b_text: str
    score: float
    kind: Kind


@dataclass(frozen=True)
class Reuse:
    """A run of equal words: as normal forms, how many, and the sentences in which it begins."""

    text: str
    words: int
    a: int
    b: int


@dataclass(frozen=True)
class Comparison:
    """What two documents have in common.

    Attributes:
        a, b: Their names.
        score: Of the alignment: the mean similarity over all words of both documents, where those
            that are not aligned have 0; in [0, 1], the same whichever document comes first.
        coverage_a, coverage_b: Share of the words of each that is found in the other: aligned, or
            in a run of equal words; in [0, 1].
        reused_a, reused_b: Share of the words of each in runs of equal words.
        sentences_a, sentences_b: How many sentences each has.
        matches: The alignment, in the order of A.
        reuses: Runs of at least `RUN` equal words, in the order of A.
        threshold: Least similarity of a match.
        rate: Share of pairs of sentences of one document that reach the threshold; None: the
            threshold was given.
        model, order: What was asked, and whether sentences may have moved.
        remarks: What else a reader must know.
    """

    a: str
    b: str
    score: float
    coverage_a: float
    coverage_b: float
    reused_a: float
    reused_b: float
    sentences_a: int
    sentences_b: int
    matches: tuple[Match, ...]
    reuses: tuple[Reuse, ...]
    threshold: float
    rate: float | None
    model: str
    order: Order
    remarks: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)

    def text(self) -> str:
        """For people, at most 80 columns wide."""
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        for side, name, size in (("A", self.a, self.sentences_a), ("B", self.b, self.sentences_b)):
            yield (
                shorten(f"{side}: {name}", _WIDTH - 18, placeholder=" …") + f" ({size:,} sentences)"
            )
        yield f"Found in B: {self.coverage_a:4.0%} of A, of which word for word {self.reused_a:.0%}"
        yield f"Found in A: {self.coverage_b:4.0%} of B, of which word for word {self.reused_b:.0%}"
        yield f"Score:      {self.score:.2f}"
        chance = "" if self.rate is None else f", as of {self.rate:g} of pairs by chance"
        yield f"Matches:    {len(self.matches)}, similarity at least {self.threshold:.2f}{chance}"
        yield from self.remarks
        if self.matches:
            yield "\n    A     B  score"
        for match in self.matches:
            yield f"{_numbers(match.a):>5} {_numbers(match.b):>5}  {match.score:5.2f}  {match.kind}"
            for side, text in (("A", match.a_text), ("B", match.b_text)):
                yield f"      {side} " + shorten(text, _WIDTH - 8, placeholder=" …")
        for side, size in (("A", self.sentences_a), ("B", self.sentences_b)):
            met = {number for match in self.matches for number in getattr(match, side.lower())}
            if alone := [number for number in range(1, size + 1) if number not in met]:
                line = f"Without a match in {side}: {_ranges(alone)}"
                yield "\n" * (side == "A") + shorten(line, _WIDTH, placeholder=" …")


def compare_documents(
    a: str | Path | Sequence[str] | Document,
    b: str | Path | Sequence[str] | Document,
    run: str | Path | Run | None = None,
    *,
    model: str | Path | None = None,
    origin: bool = False,
    order: str | Order = Order.FREE,
    threshold: float | None = None,
    rate: float = RATE,
    seed: int | None = None,
) -> Comparison:
    """Say which sentences of two documents say the same, and how much of each is in the other.

    Args:
        a: A file that `firth corpus build` reads, with one document; the name of a document of the
            run; or sentences; or what `Document.named` or `Document.of` gives.
        b: The other, likewise.
        run: Its documents can be named, its Surrogate is asked, and its sentences say what comes
            about by chance.
        model: Folder or hub name of a sentence-transformers model, or `baseline:NAME`, instead.
        origin: Ask the run's Origin instead.
        order: `free`: sentences may have moved; `kept`: they stand in the same order.
        threshold: Least similarity of sentences that say the same.
        rate: Or which share of pairs of sentences of one document, which have a subject in common
            and say different things, may reach it, in (0, 1).
        seed: Of the pairs drawn; by default the run's (13).

    Raises:
        InputError: A document or a model that cannot be read, or neither a run nor a model.
        MissingStageError: The run lacks a corpus, a Surrogate or an Origin.

    Example:
        >>> from firth import compare_documents
        >>> a = ["The ship reached the harbour.", "It rained.", "The crew slept in the old town."]
        >>> found = compare_documents(a, a[::-1], model="baseline:dice", threshold=0.5)
        >>> found.score, found.coverage_a, [(match.a, match.b) for match in found.matches]
        (1.0, 1.0, [((1,), (3,)), ((2,), (2,)), ((3,), (1,))])
    """
    opened = None if run is None else Run.open(run)
    if opened is None and (model is None or origin):
        raise InputError("expected a run (--run) or, without Origin, a model (--model)")
    check_bounds(threshold, rate)
    documents = [_document(given, opened) for given in (a, b)]
    measure = Measure.open(model, opened, origin)
    remarks: tuple[str, ...] = ()
    wanted = rate if threshold is None else None
    if threshold is None and opened is not None and model is None and not origin:
        threshold = scale_threshold(opened, rate)
    if threshold is None:
        seed = seed if seed is not None else opened.config.seed if opened else 13
        pairs = _within(documents, opened, derive_seed(seed, "compare-documents"))
        if len(pairs) < _FEW:
            remarks = (f"Only {len(pairs)} pairs tell what comes by chance: better give a run.",)
        scores = measure.similarities(pairs) if pairs else np.array([0.5])
        threshold = chance_threshold(scores, rate)
    windows = measure.windows(documents[0].sentences, documents[1].sentences)
    return compared(
        documents[0], documents[1], windows, threshold, Order(order),
        model=measure.name, rate=wanted, remarks=remarks,
    )  # fmt: skip


def compared(
    a: Document,
    b: Document,
    windows: Windows,
    threshold: float,
    order: Order,
    *,
    model: str,
    rate: float | None,
    remarks: tuple[str, ...] = (),
) -> Comparison:
    """The comparison of two documents whose sentences' similarities are known."""
    one, two = (Side.of(side.sentences, count_words(side.sentences)) for side in (a, b))
    met = meet(one, two, windows, threshold, order)
    reuses = tuple(
        Reuse(
            " ".join(one.words[span.a : span.a + span.words]),
            span.words,
            int(one.owners[span.a]) + 1,
            int(two.owners[span.b]) + 1,
        )
        for span in spans(one.words, two.words)
    )
    return Comparison(
        a.name, b.name, met.score, *met.coverage, *met.reused, len(a.sentences), len(b.sentences),
        tuple(_match(bead, a, b) for bead in met.beads), reuses,
        threshold, rate, model, order, remarks,
    )  # fmt: skip


@dataclass(frozen=True)
class Side:
    """A document as it is compared.

    Attributes:
        forms: The normal form of each sentence.
        masses: Words of each sentence, (n,), at least 1.
        words: All words of the forms.
        owners: The number of each word's sentence.
    """

    forms: tuple[str, ...]
    masses: Floats
    words: tuple[str, ...]
    owners: Ints

    @classmethod
    def of(cls, sentences: Sequence[str], masses: Floats) -> "Side":
        """What sentences of so many words are compared by."""
        forms = tuple(map(normal_form, sentences))
        said = [form.split() for form in forms]
        owners = np.repeat(np.arange(len(said)), [len(each) for each in said])
        return cls(forms, masses, tuple(chain.from_iterable(said)), owners)

    @cached_property
    def runs(self) -> frozenset[tuple[str, ...]]:
        """Runs of words that are too long to be there by chance."""
        return frozenset(runs(self.words))

    @cached_property
    def joined(self) -> tuple[list[str], ...]:
        """Forms of runs of 1, 2 … sentences."""
        return tuple(joined(self.forms, size) for size in range(1, SPREAD + 1))

    @cached_property
    def texts(self) -> frozenset[str]:
        """All of `joined`."""
        return frozenset(chain.from_iterable(self.joined))


@dataclass(frozen=True)
class Met:
    """Where two documents meet: the alignment, and as in `Comparison` the score and both sides'
    coverage and reuse."""

    beads: list[Bead]
    score: float
    coverage: tuple[float, float]
    reused: tuple[float, float]


def meet(a: Side, b: Side, windows: Windows, threshold: float, order: Order) -> Met:
    """Align two documents whose sentences' similarities are known."""
    sides = a, b
    beads = align(_same_is_one(windows, a, b), a.masses, b.masses, threshold, order)
    met = [np.zeros(len(side.masses), bool) for side in sides]
    total = 0.0
    for bead in beads:
        for side, (start, stop) in enumerate((bead.a, bead.b)):
            met[side][start:stop] = True
            total += bead.score * sides[side].masses[start:stop].sum()
    common = a.runs & b.runs
    again = reused(a.words, common), reused(b.words, common)
    found = [again[n] | met[n][side.owners] for n, side in enumerate(sides)]
    return Met(
        beads,
        min(1.0, float(total / (a.masses.sum() + b.masses.sum()))),
        (_share(found[0]), _share(found[1])),
        (_share(again[0]), _share(again[1])),
    )


def kind_of(one: str, two: str) -> Kind:
    """How near two texts that say the same are, by their words."""
    forms = [normal_form(text).split() for text in (one, two)]
    if forms[0] == forms[1]:
        return Kind.EXACT
    left, right = ({*pairwise(form)} for form in forms)
    near = len(left & right) >= NEAR * len(left | right) > 0
    return Kind.NEAR if near else Kind.REWORDED


def _match(bead: Bead, a: Document, b: Document) -> Match:
    (one, two), (start, stop) = bead.a, bead.b
    texts = " ".join(a.sentences[one:two]), " ".join(b.sentences[start:stop])
    numbers = tuple(range(one + 1, two + 1)), tuple(range(start + 1, stop + 1))
    return Match(*numbers, *texts, bead.score, kind_of(*texts))


def _same_is_one(windows: Windows, a: Side, b: Side) -> Windows:
    """Equal words have similarity 1, whatever a model knows of them, and the rest is in [0, 1]."""
    found = {shape: np.clip(scores, 0.0, 1.0) for shape, scores in windows.items()}
    if common := a.texts & b.texts:
        for (m, n), scores in found.items():
            places: dict[str, list[int]] = {}
            for j, text in enumerate(b.joined[n - 1]):
                if text in common:
                    places.setdefault(text, []).append(j)
            for i, text in enumerate(a.joined[m - 1]):
                if text in places:
                    scores[i, places[text]] = 1.0
    return found


def _share(found: "np.ndarray[Any, Any]") -> float:
    return float(found.mean()) if len(found) else 0.0


def _within(documents: Sequence[Document], run: Run | None, seed: int) -> list[TextPair]:
    """Pairs of different sentences of one document: of the run, else of these documents."""
    if run is not None:
        library = Library.open(run)
        places = pairs_within(library.document_of(np.arange(len(library))), _PAIRS, seed)
        texts = [library.texts(places[:, side]) for side in (0, 1)]
        drawn = zip(*texts, strict=True)
        return [(a, b) for a, b in drawn if normal_form(a) != normal_form(b)]
    found = [
        (one, two)
        for document in documents
        for n, one in enumerate(document.sentences)
        for two in document.sentences[n + 1 :]
        if normal_form(one) != normal_form(two)
    ]
    chosen = np.random.default_rng(seed).permutation(len(found))[:_PAIRS]
    return [found[n] for n in np.sort(chosen)]


def _document(given: str | Path | Sequence[str] | Document, run: Run | None) -> Document:
    if isinstance(given, Document):
        return given
    if not isinstance(given, str | Path):
        return Document("sentences", tuple(given))
    if Path(given).is_file():
        return _read(Path(given))
    if run is None:
        raise InputError(f"{given}: no such file")
    return Document.named(str(given), Library.open(run))


def _read(path: Path) -> Document:
    records = [
        item
        for source in resolve_inputs([path])
        for item in read_source(source, CorpusConfig(), lambda _: None)
        if isinstance(item, Record)
    ]
    if len(records) != 1:
        raise InputError(
            f"{path}: holds {len(records)} documents; expected one. Of a file of many, build a "
            "corpus, and name two by their ids: firth compare-documents ID ID --run RUN"
        )
    return Document.of(records[0].id, records[0].text)


def document_of(library: Library, number: int) -> Document:
    """A document of a run."""
    sentences = library.texts(np.arange(*library.document_bounds[number : number + 2]))
    return Document(library.document_id(number), tuple(sentences))


def _numbers(numbers: Sequence[int]) -> str:
    return str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]}-{numbers[-1]}"


def _ranges(numbers: Sequence[int]) -> str:
    """`1, 3-5`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(map(_numbers, runs))

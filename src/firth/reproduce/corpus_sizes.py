"""Table 5 of Sun et al.: Origin as its corpus grows, each size a run of its own."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from firth.corpus.corpus import Corpus
from firth.evaluate.metrics import Estimate
from firth.paper.coherence import COHERENCE
from firth.paper.context_set import Choice
from firth.paper.generation import GENERATOR
from firth.reproduce.ablation import (
    Ablation,
    Measured,
    Rated,
    check_stages,
    fixed_size,
    rated_pairs,
)
from firth.reproduce.derived import Part, generator_changes, part_of, run_over, with_generator
from firth.reproduce.options import Request
from firth.reproduce.published import SUN_TABLE5
from firth.reproduce.report import STSB, UNKNOWN, Lines, Report, Values, intervals, percent, row
from firth.run.progress import note

SIZES = ("1%", "10%", "100%")


def table5(request: Request) -> Report:
    """Spearman of the paper's Origin when it has read more and more of the run's corpus.

    Each size is a run in `RUN/reproduce/table5/SIZE` with tokenizer, index, coherence model and
    generator of its own, by the settings of the run: every model sees the same number of training
    steps. The whole corpus is the run itself. With `--model` all share that generator.

    Raises:
        ConfigError: A size that is no number, or above the corpus.
        InputError: STSb cannot be found, or a part is too small for a stage.
        MissingStageError: The run lacks its corpus, or for the whole a stage Origin needs.
    """
    contexts, shortlist = fixed_size(request)
    rated = rated_pairs(request)
    parts = _parts(request, Corpus.open(request.run))
    if any(part.whole for part in parts.values()):
        check_stages(request)
    ours = [_measured(request, rated, label, part, contexts, shortlist)
            for label, part in parts.items()]  # fmt: skip
    rows = [
        row(f"{one.words:,} words", one.origin.cosine, one.origin.centred.value, one.tfidf.value,
            one.accuracy)
        for one in ours
    ]  # fmt: skip
    rows += [
        row(f"{tokens:,} tokens", *[None] * 6, printed) for tokens, printed in SUN_TABLE5.items()
    ]
    rows.append(row("Dice", rated.dice()))
    gap = [None] * len(SUN_TABLE5)
    lines: Values = {
        "Origin, cosine": [*(one.origin.cosine for one in ours), *[UNKNOWN] * len(gap)],
        "Origin, centred": [*(one.origin.centred.value for one in ours), *gap],
        "tf-idf, the same corpus": [*(one.tfidf.value for one in ours), *gap],
        "Origin, printed": [*[None] * len(ours), *SUN_TABLE5.values()],
    }
    places = [_short(count) for count in (*(one.words for one in ours), *SUN_TABLE5)]
    plot = Lines("size of the corpus (ours: words; printed: tokens)", STSB, places, lines)
    grown = rated.difference(ours[-1].origin.similarities, ours[0].origin.similarities)
    notes = (
        *ours[-1].notes,
        f"|C_s| = {contexts} from a shortlist of {shortlist}; the paper: 500.",
        f"{grown.sentence('The largest corpus', 'the smallest')}.",
        "Each size has models of its own, trained for the same number of steps; the documents of a "
        "smaller size are among those of a larger one.",
        "tf-idf has the idf of the same part; accuracy is that of the coherence model on held-out "
        "examples, half of them right.",
    )
    columns = ("corpus", "ours", "low", "high", "centred", "tf-idf", "coherence accuracy",
               "printed")  # fmt: skip
    title = "Sun et al., Table 5: the size of the corpus (Spearman, %)"
    details = {
        "seed": rated.seed,
        "contexts": contexts,
        "shortlist": shortlist,
        "sizes": {label: one.details for label, one in zip(parts, ours, strict=True)},
        "grown": [grown.value, grown.low, grown.high, grown.n],
    }
    return Report(request.name, title, columns, rows, plot, notes, details)


@dataclass(frozen=True, eq=False)
class _Size:
    words: int
    origin: Measured
    tfidf: Estimate
    accuracy: float | None
    notes: list[str]
    details: Mapping[str, Any]


def _measured(
    request: Request, rated: Rated, label: str, part: Part, contexts: int, shortlist: int
) -> _Size:
    note(f"{label}: {part.words:,} words in {len(part.documents):,} documents")
    if part.whole:
        run = with_generator(request.run, request.options)
    else:
        changes = generator_changes(request.options)
        run = run_over(request.run, part, f"{request.name}/{label}", changes)
    ablation = Ablation(request, run, rated, shortlist)
    fits = ablation.fits()
    origin = ablation.measured(fits, fits.kept(Choice(contexts, ablation.weights)), contexts)
    note(f"{label}: {origin.cosine}")
    coherence = dict(run.manifest(COHERENCE).summary)
    details = ablation.details(fits) | {
        "documents": len(part.documents),
        "words": part.words,
        "coherence": coherence,
        "generator": dict(run.manifest(GENERATOR).summary),
        "intervals": intervals({"cosine": origin.cosine, "centred": origin.centred}),
    }
    # A corpus of very few documents holds none of them out.
    tfidf, accuracy = ablation.overlap["tf-idf"], percent(coherence.get("accuracy"))
    return _Size(part.words, origin, tfidf, accuracy, ablation.notes(), details)


def _parts(request: Request, corpus: Corpus) -> dict[str, Part]:
    """Label of the folder → its documents, ascending; equal parts once."""
    parts: dict[str, Part] = {}
    whole = int(corpus.word_counts.sum(dtype="int64"))
    for text, words in request.sizes(SIZES, whole).items():
        part = part_of(corpus, words, request.run.config.seed)
        if all(part.documents != other.documents for other in parts.values()):
            parts[text.replace("%", "pct")] = part
    return parts


def _short(count: int) -> str:
    for unit, size in (("B", 10**9), ("M", 10**6), ("K", 10**3)):
        if count >= size:
            return f"{count / size:.3g}{unit}"
    return str(count)

"""Table 5 of Sun et al.: Origin as its corpus grows, each size a run of its own."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from firth.corpus.corpus import Corpus
from firth.evaluate.metrics import Estimate
from firth.origin.settings import Measure
from firth.paper.coherence import COHERENCE
from firth.paper.fits import Choice
from firth.paper.generation import GENERATOR
from firth.reproduce.ablation import Ablation, check_stages, fixed_size
from firth.reproduce.corpus_cut import Part, part_of, run_over
from firth.reproduce.derived import generator_changes, with_generator
from firth.reproduce.options import parse_size
from firth.reproduce.published_sun import TABLE5
from firth.reproduce.rated import Floats, Rated, cells, dice, interval, rated_pairs
from firth.reproduce.registry import Request
from firth.reproduce.report import Lines, Report, Row
from firth.run.errors import ConfigError
from firth.run.progress import note
from firth.run.run import Run

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
    contexts, shortlist = fixed_size(request, "table5")
    rated = rated_pairs(request)
    parts = _parts(request, Corpus.open(request.run))
    if any(part.whole for part in parts.values()):
        check_stages(request)
    found, details = {}, {}
    for label, part in parts.items():
        note(f"{label}: {part.words:,} words in {len(part.documents):,} documents")
        one = _measured(request, rated, label, part, contexts, shortlist)
        note(f"{label}: {one.cosine}")
        found[label], details[label] = one, one.details

    rows = [
        Row(
            f"{one.words:,} words",
            (*cells(one.cosine), one.centred.value, one.tfidf.value, one.accuracy, None),
        )
        for one in found.values()
    ]
    rows += [
        Row(f"{tokens:,} tokens", (None, None, None, None, None, None, printed))
        for tokens, printed in TABLE5.items()
    ]
    rows.append(Row("Dice", (*cells(dice(rated)), None, None, None, None)))
    ours = list(found.values())
    gap: list[float | None] = [None] * len(TABLE5)
    plot = Lines(
        "size of the corpus (ours: words; printed: tokens)",
        "Spearman (%), STSb",
        [_short(one.words) for one in ours] + [_short(tokens) for tokens in TABLE5],
        {
            "Origin, cosine": [one.cosine.value for one in ours] + gap,
            "Origin, centred": [one.centred.value for one in ours] + gap,
            "tf-idf, the same corpus": [one.tfidf.value for one in ours] + gap,
            "Origin, printed": [None] * len(ours) + list(TABLE5.values()),
        },
        frozenset({"Origin, printed"}),
        {
            "Origin, cosine": [(one.cosine.low, one.cosine.high) for one in ours]
            + [(None, None)] * 5
        },
    )
    first, last = ours[0], ours[-1]
    grown = rated.difference(last.similarities, first.similarities)
    notes = (
        *last.notes,
        f"|C_s| = {contexts} from a shortlist of {shortlist}; the paper: 500.",
        f"{grown.sentence('The largest corpus', 'the smallest')}.",
        "Each size has models of its own, trained for the same number of steps; the documents of a "
        "smaller size are among those of a larger one.",
        "tf-idf has the idf of the same part; accuracy is that of the coherence model on held-out "
        "examples, half of them right.",
    )
    columns = (
        "corpus", "ours", "low", "high", "centred", "tf-idf", "coherence accuracy", "printed"
    )  # fmt: skip
    title = "Sun et al., Table 5: the size of the corpus (Spearman, %)"
    kept = {"seed": rated.seed, "contexts": contexts, "shortlist": shortlist, "sizes": details,
            "grown": interval(grown)}  # fmt: skip
    return Report("table5", title, columns, tuple(rows), plot, notes, kept)


@dataclass(frozen=True, eq=False)
class _Measured:
    words: int
    cosine: Estimate
    centred: Estimate
    tfidf: Estimate
    accuracy: float
    similarities: Floats
    notes: tuple[str, ...]
    details: Mapping[str, Any]


def _measured(
    request: Request, rated: Rated, label: str, part: Part, contexts: int, shortlist: int
) -> _Measured:
    run = _run_of(request, part, label)
    ablation = Ablation.over(request, rated, run, shortlist)
    fits, weights = ablation.fits(), ablation.weights
    kept = fits.kept(Choice(contexts, weights))
    scores = {m: fits.similarities(kept, contexts, weights, m) for m in Measure}
    cosine, centred = (rated.spearman(scores[m]) for m in (Measure.COSINE, Measure.CENTRED))
    coherence = dict(run.manifest(COHERENCE).summary)
    details = ablation.details(fits) | {
        "documents": len(part.documents),
        "words": part.words,
        "coherence": coherence,
        "generator": dict(run.manifest(GENERATOR).summary),
        "intervals": {"cosine": interval(cosine), "centred": interval(centred)},
    }
    return _Measured(
        part.words, cosine, centred, ablation.overlap["tf-idf"], 100 * coherence["accuracy"],
        scores[Measure.COSINE], tuple(ablation.notes()), details,
    )  # fmt: skip


def _parts(request: Request, corpus: Corpus) -> dict[str, Part]:
    """Label of the folder → its documents, ascending; equal parts once."""
    total, typed = int(corpus.word_counts.sum(dtype="int64")), request.options.sizes or SIZES
    sizes = {text: parse_size(text, whole=total) for text in typed}
    problems = [
        f"--sizes: got {text!r}, {words:,} words; the corpus has {total:,}"
        for text, words in sizes.items()
        if words > total
    ]
    if problems:
        raise ConfigError("table5", problems)
    parts: dict[str, Part] = {}
    for text, words in sorted(sizes.items(), key=lambda item: item[1]):
        part = part_of(corpus, words, request.run.config.seed)
        if all(part.documents != other.documents for other in parts.values()):
            parts[text.replace("%", "pct")] = part
    return parts


def _run_of(request: Request, part: Part, label: str) -> Run:
    if part.whole:
        return with_generator(request.run, request.options)
    return run_over(request.run, part, f"table5/{label}", generator_changes(request.options))


def _short(count: int) -> str:
    for unit, size in (("B", 10**9), ("M", 10**6), ("K", 10**3)):
        if count >= size:
            return f"{count / size:.3g}{unit}"
    return str(count)

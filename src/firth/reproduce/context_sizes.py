"""Table 6 of Sun et al.: Origin as |C_s| grows, from one computation at the largest size."""

from itertools import pairwise

from firth.evaluate.metrics import Estimate
from firth.origin.settings import Measure
from firth.paper.fits import Choice
from firth.reproduce.ablation import Ablation
from firth.reproduce.options import parse_size
from firth.reproduce.published_sun import TABLE6
from firth.reproduce.rated import cells, flat, interval
from firth.reproduce.registry import Request
from firth.reproduce.report import Lines, Report, Row
from firth.run.errors import ConfigError
from firth.run.progress import note

SIZES = (4, 8, 16, 20, 32, 64, 100)


def table6(request: Request) -> Report:
    """Spearman of the paper's Origin for each |C_s|.

    Contexts are chosen greedily, so that a smaller C_s begins every larger one: all sizes are cut
    from the terms of one shortlist, by default twice as long as the largest size.

    Raises:
        ConfigError: A size that is a share, or above the shortlist.
        InputError: STSb cannot be found.
        MissingStageError: The run lacks a stage that Origin needs.
    """
    sizes = _sizes(request)
    ablation = Ablation.start(request, shortlist=request.options.shortlist or 2 * sizes[-1])
    fits = ablation.fits()
    kept = fits.kept(Choice(sizes[-1], ablation.weights))
    scores = {
        (size, measure): fits.similarities(kept, size, ablation.weights, measure)
        for size in sizes
        for measure in Measure
    }
    found = {key: ablation.rated.spearman(values) for key, values in scores.items()}
    for size in sizes:
        note(f"|C_s| = {size}: {found[size, Measure.COSINE]}")

    places = sorted({*sizes, *TABLE6})
    rows = []
    for size in places:
        ours = found.get((size, Measure.COSINE), Estimate(None, None, None, 0))
        centred = found.get((size, Measure.CENTRED))
        rows.append(
            Row(str(size), (*cells(ours), centred.value if centred else None, TABLE6.get(size)))
        )
    rows += ablation.overlap_rows(columns=5)
    words = ablation.overlap
    plot = Lines(
        "contexts of each sentence",
        "Spearman (%), STSb",
        [str(size) for size in places],
        {
            "Origin, cosine": [_value(found, size, Measure.COSINE) for size in places],
            "Origin, centred": [_value(found, size, Measure.CENTRED) for size in places],
            **{name: flat(one, places) for name, one in words.items()},
            "Origin, printed": [TABLE6.get(size) for size in places],
        },
        frozenset({"Origin, printed"}),
        {"Origin, cosine": [_bounds(found, size) for size in places]},
    )
    steps = {
        f"{larger} minus {smaller}": interval(
            ablation.rated.difference(
                scores[larger, Measure.COSINE], scores[smaller, Measure.COSINE]
            )
        )
        for smaller, larger in pairwise(sizes)
    }
    short = sum(len(one) < sizes[-1] for pair in kept for one in pair) / (2 * len(kept))
    notes = [*ablation.notes(), f"Shortlist: {fits.shortlist}.", *ablation.looks(fits)]
    if short:
        notes.append(
            f"{100 * short:.0f} % of the sentences got fewer than {sizes[-1]} contexts: the others "
            "of the shortlist are too like those chosen. A longer --shortlist gives more."
        )
    details = ablation.details(fits) | {
        "intervals": {
            f"{size} {measure.value}": interval(one) for (size, measure), one in found.items()
        },
        "differences": steps,
        "short_sets": round(short, 4),
    }
    columns = ("contexts", "ours", "low", "high", "ours, centred", "printed")
    title = "Sun et al., Table 6: the size of C_s (Spearman, %)"
    return Report("table6", title, columns, tuple(rows), plot, tuple(notes), details)


def _sizes(request: Request) -> list[int]:
    typed, shortlist = request.options.sizes, request.options.shortlist
    problems = [f"--sizes: got {t!r}; expected numbers" for t in typed or () if "%" in t]
    sizes = sorted({parse_size(text, whole=100) for text in typed or ()} or SIZES)
    if shortlist is not None and shortlist < sizes[-1]:
        problems.append(f"--shortlist: got {shortlist}, below the largest size {sizes[-1]}")
    if problems:
        raise ConfigError("table6", problems)
    return sizes


def _value(found: dict[tuple[int, Measure], Estimate], size: int, measure: Measure) -> float | None:
    one = found.get((size, measure))
    return one.value if one else None


def _bounds(
    found: dict[tuple[int, Measure], Estimate], size: int
) -> tuple[float | None, float | None]:
    one = found.get((size, Measure.COSINE))
    return (one.low, one.high) if one else (None, None)

"""Table 6 of Sun et al.: Origin as |C_s| grows, from one computation at the largest size."""

from itertools import pairwise

from firth.paper.context_set import Choice
from firth.paper.settings import Measure
from firth.reproduce.ablation import Ablation
from firth.reproduce.options import Request, parse_size
from firth.reproduce.published import SUN_TABLE6
from firth.reproduce.report import UNKNOWN, Lines, Report, flat, intervals, row
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
    largest = sizes[-1]
    ablation = Ablation.start(request, request.options.shortlist or 2 * largest)
    fits = ablation.fits()
    kept = fits.kept(Choice(largest, ablation.weights))
    found = {size: ablation.measured(fits, kept, size) for size in sizes}
    for size, one in found.items():
        note(f"|C_s| = {size}: {one.cosine}")

    places = sorted({*sizes, *SUN_TABLE6})
    cosine = [found[size].cosine if size in found else UNKNOWN for size in places]
    centred = [found[size].centred.value if size in found else None for size in places]
    printed = [SUN_TABLE6.get(size) for size in places]
    rows = [row(str(size), *of) for size, *of in zip(places, cosine, centred, printed, strict=True)]
    rows += [row(name, one) for name, one in ablation.overlap.items()]
    plot = Lines(
        "contexts of each sentence",
        "Spearman (%), STSb",
        [str(size) for size in places],
        {
            "Origin, cosine": cosine,
            "Origin, centred": centred,
            **{name: flat(one, places) for name, one in ablation.overlap.items()},
            "Origin, printed": printed,
        },
    )
    short = sum(len(one) < largest for pair in kept for one in pair) / (2 * len(kept))
    notes = [*ablation.notes(), f"Shortlist: {fits.shortlist}.", *ablation.looks(fits)]
    if short:
        notes.append(
            f"{100 * short:.0f} % of the sentences got fewer than {largest} contexts: the others "
            "of the shortlist are too like those chosen. A longer --shortlist gives more."
        )
    by_measure = {
        f"{size} {measure.value}": getattr(one, measure.value)
        for size, one in found.items()
        for measure in Measure
    }
    steps = {
        f"{larger} minus {smaller}": ablation.rated.difference(
            found[larger].similarities, found[smaller].similarities
        )
        for smaller, larger in pairwise(sizes)
    }
    details = ablation.details(fits) | {
        "intervals": intervals(by_measure),
        "differences": intervals(steps),
        "short_sets": round(short, 4),
    }
    columns = ("contexts", "ours", "low", "high", "ours, centred", "printed")
    title = "Sun et al., Table 6: the size of C_s (Spearman, %)"
    return Report(request.name, title, columns, rows, plot, notes, details)


def _sizes(request: Request) -> list[int]:
    typed, shortlist = request.options.sizes, request.options.shortlist
    problems = [f"--sizes: got {t!r}; expected numbers" for t in typed or () if "%" in t]
    sizes = sorted({parse_size(text, whole=100) for text in typed or ()} or SIZES)
    if shortlist is not None and shortlist < sizes[-1]:
        problems.append(f"--shortlist: got {shortlist}, below the largest size {sizes[-1]}")
    if problems:
        raise ConfigError(request.name, problems)
    return sizes

"""Tables 6 and 8 and §5.4 of Sun et al.: the size of C_s, the terms of Eq. 3, how C is built.

All are cut from one computation of the terms, by the paper's Origin; see `context_fits`. Each
raises as `Ablation.start`, and `ConfigError` where the shortlist is below |C_s|.
"""

from collections.abc import Mapping
from itertools import pairwise

import numpy as np

from firth.paper.context_set import Choice
from firth.paper.settings import Measure, Selection, Weights
from firth.reproduce.ablation import Ablation, fixed_size
from firth.reproduce.context_fits import TERMS, ContextFits, Floats, alone, without
from firth.reproduce.options import Request, parse_size
from firth.reproduce.published import CONSTRUCTION, SUN_TABLE6, SUN_TABLE8
from firth.reproduce.report import STSB, UNKNOWN, Lines, Report, Values, flat, intervals, row
from firth.run.errors import ConfigError
from firth.run.progress import note

SIZES = (4, 8, 16, 20, 32, 64, 100)
FULL = "Full"
TWO_STEP, GREEDY, RANDOM = "two-step", "without diversity", "random"
_NAMES = dict(
    zip(TERMS, ("discriminative", "sentence", "left-context", "right-context"), strict=True)
)


def table6(request: Request) -> Report:
    """Spearman of the paper's Origin for each |C_s|; no size may be a share, or over the shortlist.

    Contexts are chosen greedily, so that a smaller C_s begins every larger one: all sizes are cut
    from the terms of one shortlist, by default twice as long as the largest size.
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
    lines: Values = {
        "Origin, cosine": cosine,
        "Origin, centred": centred,
        **{name: flat(one, places) for name, one in ablation.overlap.items()},
        "Origin, printed": printed,
    }
    plot = Lines("contexts of each sentence", STSB, [str(size) for size in places], lines)
    short = sum(len(one) < largest for pair in kept for one in pair) / (2 * len(kept))
    notes = [f"Shortlist: {fits.shortlist}.", *ablation.looks(fits)]
    if short:
        notes.append(
            f"{100 * short:.0f} % of the sentences got fewer than {largest} contexts: the others "
            "of the shortlist are too like those chosen. A longer --shortlist gives more."
        )
    by_measure = {f"{size} {measure.value}": getattr(one, measure.value)
                  for size, one in found.items() for measure in Measure}  # fmt: skip
    steps = {
        f"{larger} minus {smaller}": ablation.rated.difference(*(found[size].similarities
                                                                 for size in (larger, smaller)))
        for smaller, larger in pairwise(sizes)
    }  # fmt: skip
    details = {
        "intervals": intervals(by_measure),
        "differences": intervals(steps),
        "short_sets": round(short, 4),
    }
    columns = ("contexts", "ours", "low", "high", "ours, centred", "printed")
    title = "Sun et al., Table 6: the size of C_s (Spearman, %)"
    return ablation.report(title, columns, rows, plot, notes, details, fits)


def _sizes(request: Request) -> list[int]:
    typed, shortlist = request.options.sizes or (), request.options.shortlist
    problems = [f"--sizes: got {text!r}; expected numbers" for text in typed if "%" in text]
    sizes = sorted({parse_size(text, whole=100) for text in typed} or SIZES)
    if shortlist is not None and shortlist < sizes[-1]:
        problems.append(f"--shortlist: got {shortlist}, below the largest size {sizes[-1]}")
    if problems:
        raise ConfigError(request.name, problems)
    return sizes


def table8(request: Request) -> Report:
    """Spearman of the paper's Origin with some terms of Eq. 3 left out.

    A term that is left out is left out of the greedy choice of contexts too; a column shows what
    comes out with the contexts of the full sum.
    """
    contexts, shortlist = fixed_size(request)
    ablation = Ablation.start(request, shortlist)
    choices, fits, rated = _choices(ablation.weights), ablation.fits(), ablation.rated
    kept_full = fits.kept(Choice(contexts, ablation.weights))
    found, same, changes, rows = {}, {}, {}, []
    for name, weights in choices.items():
        kept = fits.kept(Choice(contexts, weights))
        one = found[name] = ablation.measured(fits, kept, contexts, weights)
        same[name] = rated.spearman(fits.similarities(kept_full, contexts, weights))
        note(f"{name}: {one.cosine}")
        printed, drop = SUN_TABLE8.get(name), None
        if name != FULL:
            changes[name] = rated.difference(one.similarities, found[FULL].similarities)
            drop = None if printed is None else printed - SUN_TABLE8[FULL]
        rows.append(row(name, one.cosine, changes.get(name, UNKNOWN), same[name].value,
                        one.centred.value, printed, drop))  # fmt: skip
    lines: Values = {
        "ours": [one.cosine for one in found.values()],
        "ours, contexts of Full": [one.value for one in same.values()],
        "printed": [SUN_TABLE8.get(name) for name in found],
    }
    plot = Lines("terms of Eq. 3", STSB, list(found), lines, connected=False)
    notes = [
        f"|C_s| = {contexts}, chosen from a shortlist of {shortlist}; the paper: 500.",
        "Change: minus Full, on the same resamples. A change whose interval holds 0 shows nothing.",
        *ablation.looks(fits),
    ]
    details = {
        "contexts": contexts,
        "weights": {name: weights.model_dump(mode="json") for name, weights in choices.items()},
        "intervals": intervals({name: one.cosine for name, one in found.items()}),
        "contexts_of_full": intervals(same),
        "centred": intervals({name: one.centred for name, one in found.items()}),
        "differences": intervals(changes),
    }
    columns = ("terms", "ours", "low", "high", "change", "low", "high", "contexts of Full",
               "centred", "printed", "printed change")  # fmt: skip
    title = "Sun et al., Table 8: terms of Eq. 3 (Spearman, %)"
    return ablation.report(title, columns, rows, plot, notes, details, fits)


def _choices(full: Weights) -> Mapping[str, Weights]:
    """Row → its λ, `Full` first; a row without any term left is not there."""
    dropped: dict[str, tuple[str, ...]] = {f"w/o {n}": (term,) for term, n in _NAMES.items()}
    dropped["w/o both contexts"] = ("left", "right")
    used = {name for name, value in full.model_dump().items() if value}
    rows = {FULL: full}
    for name, terms in dropped.items():
        if used - set(terms) and used & set(terms):
            rows[name] = without(full, *terms)
    return rows | {f"{name} alone": alone(term) for term, name in _NAMES.items()}


def context_construction(request: Request) -> Report:
    """Spearman of the paper's Origin for three ways to build C_s, |C_s| fixed.

    Two-step contexts with and without diversity are cut from the computation that `table6` and
    `table8` use at the same shortlist; random contexts need their own. The plot shows how each
    strategy does with the first contexts of its sets.
    """
    contexts, shortlist = fixed_size(request)
    ablation = Ablation.start(request, shortlist)
    rated, weights = ablation.rated, ablation.weights
    chosen, drawn = ablation.fits(), ablation.fits(Selection.RANDOM, contexts)
    greedy = chosen.kept(Choice(contexts, weights, diverse=False))
    built = {
        TWO_STEP: (chosen, chosen.kept(Choice(contexts, weights))),
        GREEDY: (chosen, greedy),
        RANDOM: (drawn, drawn.kept(Choice(contexts, weights))),
    }
    found = {name: ablation.measured(*sets, contexts) for name, sets in built.items()}
    ahead, rows = {}, []
    for name, one in found.items():
        note(f"{name}: {one.cosine}")
        gap = None
        if name != TWO_STEP:
            ahead[name] = rated.difference(found[TWO_STEP].similarities, one.similarities)
            gap = CONSTRUCTION[TWO_STEP] - CONSTRUCTION[name]
        rows.append(row(name, one.cosine, ahead.get(name, UNKNOWN), one.centred.value,
                        CONSTRUCTION[name], gap))  # fmt: skip
    shared = rated.spearman(_shared(chosen))
    rows.append(row("shared contexts alone", shared))

    places = [size for size in (2, 4, 8, 16, 32, 64, 128, 256, 512) if size < contexts]
    places.append(contexts)
    curves = {
        name: [rated.spearman(fits.similarities(kept, size, weights)).value for size in places]
        for name, (fits, kept) in built.items()
    }
    overlap = {name: flat(one, places) for name, one in ablation.overlap.items()}
    sizes = [str(size) for size in places]
    plot = Lines("first contexts of C_s", STSB, sizes, {**curves, **overlap})
    alike = sum(
        len(set(chosen.corpus.chunk_of(positions[kept]).tolist())) < len(kept)
        for pair, pair_kept in zip(chosen.pairs, greedy, strict=True)
        for positions, kept in zip((pair.positions1, pair.positions2), pair_kept, strict=True)
    ) / (2 * len(chosen.pairs))
    notes = [
        f"|C_s| = {contexts}; two-step sets are chosen from a shortlist of {shortlist}. "
        "The paper: 500.",
        "Ahead: two-step minus this strategy, on the same resamples.",
        "Shared contexts alone: pairs ranked by how many contexts both two-step shortlists hold, "
        "without any fit.",
        f"Without diversity, {100 * alike:.0f} % of the sets hold two contexts of one chunk.",
        *(f"{TWO_STEP}: {look}" for look in ablation.looks(chosen)),
        *(f"{RANDOM}: {look}" for look in ablation.looks(drawn)),
    ]
    details = {
        "contexts": contexts,
        "intervals": intervals({name: one.cosine for name, one in found.items()}),
        "centred": intervals({name: one.centred for name, one in found.items()}),
        "shared_contexts": [shared.value, shared.low, shared.high, shared.n],
        "differences": intervals(ahead),
        "curves": {"sizes": places, **curves},
        "sets_with_a_chunk_twice": round(alike, 4),
    }
    columns = ("contexts", "ours", "low", "high", "two-step ahead by", "low", "high", "centred",
               "printed", "printed: ahead by")  # fmt: skip
    title = "Sun et al., §5.4: how C is built (Spearman, %)"
    return ablation.report(title, columns, rows, plot, notes, details, chosen, drawn)


def _shared(fits: ContextFits) -> Floats:
    """Contexts that stand in both shortlists of each pair, as a share of the shorter one."""
    shares = [
        len(np.intersect1d(*both)) / min(map(len, both))
        for both in ((one.positions1, one.positions2) for one in fits.pairs)
    ]
    return np.array(shares, dtype=np.float64)

"""Table 8 of Sun et al.: Origin without each term of Eq. 3, and with each alone."""

from collections.abc import Mapping

from firth.origin.settings import Measure, Weights
from firth.paper.fits import Choice
from firth.reproduce.ablation import Ablation, fixed_size
from firth.reproduce.context_fits import alone, without
from firth.reproduce.published_sun import TABLE8
from firth.reproduce.rated import cells, interval
from firth.reproduce.registry import Request
from firth.reproduce.report import Lines, Report, Row
from firth.run.progress import note

FULL = "Full"


def table8(request: Request) -> Report:
    """Spearman of the paper's Origin with some terms of Eq. 3 left out.

    All rows come from one computation of the terms. A term that is left out is left out of the
    greedy choice of contexts too; a column shows what comes out with the contexts of the full sum.

    Raises:
        ConfigError: The shortlist is below |C_s|.
        InputError: STSb cannot be found.
        MissingStageError: The run lacks a stage that Origin needs.
    """
    contexts, shortlist = fixed_size(request, "table8")
    ablation = Ablation.start(request, shortlist)
    choices = _choices(ablation.weights)
    fits = ablation.fits()
    rated = ablation.rated
    kept_full = fits.kept(Choice(contexts, ablation.weights))
    scores, fixed, centred = {}, {}, {}
    for name, weights in choices.items():
        kept = fits.kept(Choice(contexts, weights))
        scores[name] = fits.similarities(kept, contexts, weights)
        fixed[name] = fits.similarities(kept_full, contexts, weights)
        centred[name] = rated.spearman(fits.similarities(kept, contexts, weights, Measure.CENTRED))
    found = {name: rated.spearman(values) for name, values in scores.items()}
    same = {name: rated.spearman(values) for name, values in fixed.items()}
    changes = {
        name: rated.difference(values, scores[FULL])
        for name, values in scores.items()
        if name != FULL
    }
    for name, one in found.items():
        note(f"{name}: {one}")

    rows = []
    for name, one in found.items():
        change = changes.get(name)
        moved = (change.value, change.low, change.high) if change else (None, None, None)
        printed = TABLE8.get(name)
        drop = None if printed is None or name == FULL else printed - TABLE8[FULL]
        rows.append(
            Row(name, (*cells(one), *moved, same[name].value, centred[name].value, printed, drop))
        )
    rows += ablation.overlap_rows(columns=10)
    names = list(found)
    plot = Lines(
        "terms of Eq. 3",
        "Spearman (%), STSb",
        names,
        {
            "ours": [found[name].value for name in names],
            "ours, contexts of Full": [same[name].value for name in names],
            "printed": [TABLE8.get(name) for name in names],
        },
        frozenset({"printed"}),
        {"ours": [(found[name].low, found[name].high) for name in names]},
        connected=False,
    )
    notes = (
        *ablation.notes(),
        f"|C_s| = {contexts}, chosen from a shortlist of {shortlist}; the paper: 500.",
        "Change: minus Full, on the same resamples. A change whose interval holds 0 shows nothing.",
        *ablation.looks(fits),
    )
    details = ablation.details(fits) | {
        "contexts": contexts,
        "weights": {name: w.model_dump(mode="json") for name, w in choices.items()},
        "intervals": {name: interval(one) for name, one in found.items()},
        "contexts_of_full": {name: interval(one) for name, one in same.items()},
        "centred": {name: interval(one) for name, one in centred.items()},
        "differences": {name: interval(one) for name, one in changes.items()},
    }
    columns = (
        "terms", "ours", "low", "high", "change", "low", "high", "contexts of Full", "centred",
        "printed", "printed change",
    )  # fmt: skip
    title = "Sun et al., Table 8: terms of Eq. 3 (Spearman, %)"
    return Report("table8", title, columns, tuple(rows), plot, notes, details)


def _choices(full: Weights) -> Mapping[str, Weights]:
    """Row → its λ; a row without any term left is not there."""
    dropped = {
        "w/o discriminative": ("coherence",),
        "w/o sentence": ("sentence",),
        "w/o left-context": ("left",),
        "w/o right-context": ("right",),
        "w/o both contexts": ("left", "right"),
    }
    used = {name for name, value in full.model_dump().items() if value}
    rows = {FULL: full}
    for name, terms in dropped.items():
        if used - set(terms) and used & set(terms):
            rows[name] = without(full, *terms)
    single = {
        "coherence": "discriminative alone",
        "sentence": "sentence alone",
        "left": "left-context alone",
        "right": "right-context alone",
    }
    return rows | {name: alone(term) for term, name in single.items()}

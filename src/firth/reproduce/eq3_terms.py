"""Table 8 of Sun et al.: Origin without each term of Eq. 3, and with each alone."""

from collections.abc import Mapping

from firth.paper.context_set import Choice
from firth.paper.settings import Weights
from firth.reproduce.ablation import Ablation, fixed_size
from firth.reproduce.context_fits import TERMS, alone, without
from firth.reproduce.options import Request
from firth.reproduce.published import SUN_TABLE8
from firth.reproduce.report import UNKNOWN, Lines, Report, intervals, row
from firth.run.progress import note

FULL = "Full"
_NAMES = dict(
    zip(TERMS, ("discriminative", "sentence", "left-context", "right-context"), strict=True)
)


def table8(request: Request) -> Report:
    """Spearman of the paper's Origin with some terms of Eq. 3 left out.

    All rows come from one computation of the terms. A term that is left out is left out of the
    greedy choice of contexts too; a column shows what comes out with the contexts of the full sum.

    Raises:
        ConfigError: The shortlist is below |C_s|.
        InputError: STSb cannot be found.
        MissingStageError: The run lacks a stage that Origin needs.
    """
    contexts, shortlist = fixed_size(request)
    ablation = Ablation.start(request, shortlist)
    choices, fits, rated = _choices(ablation.weights), ablation.fits(), ablation.rated
    kept_full = fits.kept(Choice(contexts, ablation.weights))
    found, same = {}, {}
    for name, weights in choices.items():
        kept = fits.kept(Choice(contexts, weights))
        found[name] = ablation.measured(fits, kept, contexts, weights)
        same[name] = rated.spearman(fits.similarities(kept_full, contexts, weights))
        note(f"{name}: {found[name].cosine}")
    changes = {
        name: rated.difference(one.similarities, found[FULL].similarities)
        for name, one in found.items()
        if name != FULL
    }
    rows = []
    for name, one in found.items():
        printed = SUN_TABLE8.get(name)
        drop = None if printed is None or name == FULL else printed - SUN_TABLE8[FULL]
        rows.append(row(name, one.cosine, changes.get(name, UNKNOWN), same[name].value,
                        one.centred.value, printed, drop))  # fmt: skip
    rows += [row(name, one) for name, one in ablation.overlap.items()]
    plot = Lines(
        "terms of Eq. 3",
        "Spearman (%), STSb",
        list(found),
        {
            "ours": [one.cosine for one in found.values()],
            "ours, contexts of Full": [one.value for one in same.values()],
            "printed": [SUN_TABLE8.get(name) for name in found],
        },
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
        "intervals": intervals({name: one.cosine for name, one in found.items()}),
        "contexts_of_full": intervals(same),
        "centred": intervals({name: one.centred for name, one in found.items()}),
        "differences": intervals(changes),
    }
    columns = (
        "terms", "ours", "low", "high", "change", "low", "high", "contexts of Full", "centred",
        "printed", "printed change",
    )  # fmt: skip
    title = "Sun et al., Table 8: terms of Eq. 3 (Spearman, %)"
    return Report(request.name, title, columns, rows, plot, notes, details)


def _choices(full: Weights) -> Mapping[str, Weights]:
    """Row → its λ; a row without any term left is not there."""
    dropped = {f"w/o {name}": (term,) for term, name in _NAMES.items()}
    dropped["w/o both contexts"] = ("left", "right")
    used = {name for name, value in full.model_dump().items() if value}
    rows = {FULL: full}
    for name, terms in dropped.items():
        if used - set(terms) and used & set(terms):
            rows[name] = without(full, *terms)
    return rows | {f"{name} alone": alone(term) for term, name in _NAMES.items()}

"""§5.4 of Sun et al.: contexts by two steps, at random, and without the diversity constraint."""

import numpy as np

from firth.paper.context_set import Choice
from firth.paper.settings import Selection
from firth.reproduce.ablation import Ablation, fixed_size
from firth.reproduce.context_fits import ContextFits, Floats
from firth.reproduce.options import Request
from firth.reproduce.published import CONSTRUCTION
from firth.reproduce.report import UNKNOWN, Lines, Report, flat, intervals, row
from firth.run.progress import note

TWO_STEP, GREEDY, RANDOM = "two-step", "without diversity", "random"


def context_construction(request: Request) -> Report:
    """Spearman of the paper's Origin for three ways to build C_s, |C_s| fixed.

    Two-step contexts with and without diversity are cut from one computation, the one that `table6`
    and `table8` use at the same shortlist; random contexts need their own. The plot shows how each
    strategy does with the first contexts of its sets.

    Raises:
        ConfigError: The shortlist is below |C_s|.
        InputError: STSb cannot be found.
        MissingStageError: The run lacks a stage that Origin needs.
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
    ahead = {
        name: rated.difference(found[TWO_STEP].similarities, found[name].similarities)
        for name in (GREEDY, RANDOM)
    }
    rows = []
    for name, one in found.items():
        note(f"{name}: {one.cosine}")
        printed = CONSTRUCTION[name]
        gap = None if name == TWO_STEP else CONSTRUCTION[TWO_STEP] - printed
        rows.append(
            row(name, one.cosine, ahead.get(name, UNKNOWN), one.centred.value, printed, gap)
        )
    shared = rated.spearman(_shared(chosen))
    rows.append(row("shared contexts alone", shared))
    rows += [row(name, one) for name, one in ablation.overlap.items()]

    places = [size for size in (2, 4, 8, 16, 32, 64, 128, 256, 512) if size < contexts]
    places.append(contexts)
    curves = {
        name: [rated.spearman(fits.similarities(kept, size, weights)).value for size in places]
        for name, (fits, kept) in built.items()
    }
    plot = Lines(
        "first contexts of C_s",
        "Spearman (%), STSb",
        [str(size) for size in places],
        {**curves, **{name: flat(one, places) for name, one in ablation.overlap.items()}},
    )
    alike = sum(
        len(set(chosen.corpus.chunk_of(slots[kept]).tolist())) < len(kept)
        for pair, pair_kept in zip(chosen.pairs, greedy, strict=True)
        for slots, kept in zip((pair.positions1, pair.positions2), pair_kept, strict=True)
    ) / (2 * len(chosen.pairs))
    notes = (
        *ablation.notes(),
        f"|C_s| = {contexts}; two-step sets are chosen from a shortlist of {shortlist}. "
        "The paper: 500.",
        "Ahead: two-step minus this strategy, on the same resamples.",
        "Shared contexts alone: pairs ranked by how many contexts both two-step shortlists hold, "
        "without any fit.",
        f"Without diversity, {100 * alike:.0f} % of the sets hold two contexts of one chunk.",
        *(f"{TWO_STEP}: {look}" for look in ablation.looks(chosen)),
        *(f"{RANDOM}: {look}" for look in ablation.looks(drawn)),
    )
    details = ablation.details(chosen, drawn) | {
        "contexts": contexts,
        "intervals": intervals({name: one.cosine for name, one in found.items()}),
        "centred": intervals({name: one.centred for name, one in found.items()}),
        "shared_contexts": [shared.value, shared.low, shared.high, shared.n],
        "differences": intervals(ahead),
        "curves": {"sizes": places, **curves},
        "sets_with_a_chunk_twice": round(alike, 4),
    }
    columns = (
        "contexts", "ours", "low", "high", "two-step ahead by", "low", "high", "centred",
        "printed", "printed: ahead by",
    )  # fmt: skip
    title = "Sun et al., §5.4: how C is built (Spearman, %)"
    return Report(request.name, title, columns, rows, plot, notes, details)


def _shared(fits: ContextFits) -> Floats:
    """Contexts that stand in both shortlists of each pair, as a share of the shorter one."""
    return np.array(
        [
            len(np.intersect1d(*both)) / min(map(len, both))
            for both in ((one.positions1, one.positions2) for one in fits.pairs)
        ],
        dtype=np.float64,
    )

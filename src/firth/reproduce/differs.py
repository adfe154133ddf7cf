"""How much of a term tells the two sentences of a pair apart, and how much only the contexts."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from firth.origin.settings import Weights
from firth.paper.terms import Terms
from firth.reproduce.context_fits import ContextFits

TERMS = ("coherence", "sentence", "left", "right")
SUM = "sum"


def differing(fits: ContextFits, weights: Weights) -> Mapping[str, float]:
    """Term, and `sum` for S → the share of its variance that differs between two sentences, 0 to 1.

    Over the shortlists of a pair, the variances of v_{s1} and v_{s2} add up to twice that of their
    mean, which is what makes a context likely whatever sentence stands in it, and half that of
    their difference. The share is the second part of the whole, over all pairs.
    """
    parts = {name: np.zeros(2) for name in (*TERMS, SUM)}
    for one in fits.pairs:
        own = {name: (_of(one.own1, name, weights), _of(one.own2, name, weights)) for name in parts}
        cross = {
            name: (_of(one.cross1, name, weights), _of(one.cross2, name, weights)) for name in parts
        }
        for name, sums in parts.items():
            v1 = np.concatenate((own[name][0], cross[name][0]))
            v2 = np.concatenate((cross[name][1], own[name][1]))
            sums += (2 * float(np.var((v1 + v2) / 2)), float(np.var(v1 - v2)) / 2)
    return {
        name: round(float(differs / (common + differs)), 4) if common + differs > 0 else 0.0
        for name, (common, differs) in parts.items()
    }


def _of(terms: Terms, name: str, weights: Weights) -> npt.NDArray[np.float64]:
    values = terms.fit(weights) if name == SUM else getattr(terms, name)
    found: npt.NDArray[np.float64] = np.asarray(values, np.float64)
    return found


def differing_note(shares: Mapping[str, float]) -> str:
    """The shares in words."""
    parts = ", ".join(f"{name} {100 * share:.2g}" for name, share in shares.items())
    return (
        "Of a term's variance over the contexts of a pair, what differs between its two sentences "
        f"(%; the rest both have in common): {parts}."
    )

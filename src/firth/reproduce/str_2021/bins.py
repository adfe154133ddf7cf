"""§4: similarity against relatedness within the bins of STS, for the pairs taken from there."""

from contextlib import suppress
from dataclasses import asdict

from firth.evaluate.rows import EvaluationSet
from firth.relatedness.models.bins import compare_in_bins
from firth.relatedness.scored import load_pairs
from firth.reproduce.report import Lines, Report, Row
from firth.reproduce.str_2021.published import BINS
from firth.reproduce.str_2021.request import RESAMPLES, StrRequest
from firth.run.errors import FirthError, InputError

_SPLITS = ("sts-b:train", "sts-b:dev", "sts-b:test")
_DOMAIN = "STS"


def str_bins(request: StrRequest) -> Report:
    """Find the pairs from STS in the STS benchmark, and correlate the two scores in each bin.

    Raises:
        InputError: STR-2021 or the STS benchmark cannot be had.
    """
    pairs = request.pairs()
    similar: list[EvaluationSet] = []
    for name in _SPLITS:
        with suppress(FirthError):
            similar.append(load_pairs(name, request.data_dir))
    if not similar:
        raise InputError(
            "the STS benchmark is nowhere to be found. Give a folder that holds STSb/pairs.tsv "
            "(--data-dir DIR), or a connection to the hub"
        )
    found = compare_in_bins(
        pairs, similar, len(BINS), only=_DOMAIN, seed=request.seed, resamples=RESAMPLES
    )
    rows = [Row(name, (one.value, BINS.get(name), one.n)) for name, one in found.figures]
    bounds = [(one.low, one.high) for _, one in found.figures[1:]]
    plot = Lines("bin of similarity", "Spearman (%)", list(BINS), {
        "ours": [row.cells[0] for row in rows[1:]], "printed": list(BINS.values()),
    }, frozenset({"printed"}), {"ours": bounds}, connected=False)  # fmt: skip
    notes = (
        f"{found.shared} of {found.asked} pairs were found in the STS benchmark by their texts.",
        "missing: the paper gives no figure over all bins.",
        *pairs.notes,
    )
    details = {
        "source": pairs.source,
        "fingerprint": pairs.fingerprint,
        "bins": {name: asdict(one) for name, one in found.figures},
    }
    columns = ("STS score", "Spearman (%)", "printed", "pairs")
    return Report("str-bins", "STR-2021, §4: relatedness and similarity", columns, tuple(rows),
                  plot, notes, details)  # fmt: skip

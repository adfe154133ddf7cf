"""Table 3: the annotations. They were not released, so most of it is design or simulation."""

import numpy as np

from firth.relatedness.bws.balance import measure_balance
from firth.relatedness.bws.calibrate import calibrate_noise
from firth.relatedness.bws.design import design_tuples
from firth.relatedness.bws.simulate import Crowd, simulate_judgements
from firth.relatedness.bws.split_half import split_half
from firth.reproduce.report import Lines, Report, Row
from firth.reproduce.str_2021.published import TABLE3
from firth.reproduce.str_2021.request import StrRequest

_ROUNDING = 6e-4
"""Released scores have three decimals."""


def str_table3(request: StrRequest) -> Report:
    """Design the tuples anew, read what the scores tell, and simulate the rest.

    Raises:
        InputError: STR-2021 cannot be had.
    """
    data = request.pairs()
    scores = np.array([row.score for row in data.rows])
    tuples = design_tuples(len(scores), seed=request.seed)
    balance = measure_balance(tuples, len(scores))
    steps = 2 * TABLE3.tuples_a_pair * TABLE3.answers_a_tuple
    crowd = Crowd(noise=0.0, annotators=TABLE3.annotators)
    answers = TABLE3.answers_a_tuple
    noise = calibrate_noise(
        scores, tuples, answers, crowd, TABLE3.reliability / 100, seed=request.seed
    )
    judged, _ = simulate_judgements(
        scores, tuples, answers, Crowd(noise, annotators=TABLE3.annotators), seed=request.seed
    )
    halves = split_half(judged, seed=request.seed)
    shr = 100 * float(np.mean(halves.spearman))
    whole = float(np.mean(np.abs(scores * steps - np.round(scores * steps)) < steps * _ROUNDING))
    a_pair = 4 * len(tuples) / len(scores)
    rows = (
        Row("sentence pairs", (len(scores), TABLE3.pairs)),
        Row("tuples, 2 a pair, designed anew", (len(tuples), TABLE3.tuples)),
        Row("tuples a pair stands in, mean", (a_pair, TABLE3.tuples_a_pair)),
        Row(f"scores that are multiples of 1/{steps} (%)", (100 * whole, None)),
        Row("annotations, two a tuple", (answers * len(tuples), TABLE3.annotations)),
        Row("annotators", (None, TABLE3.annotators)),
        Row("split-half reliability, simulated", (shr, TABLE3.reliability)),
    )
    plot = Lines("", "count", ["pairs", "tuples", "annotations"], {
        "ours": (float(len(scores)), float(len(tuples)), float(answers * len(tuples))),
        "printed": (float(TABLE3.pairs), float(TABLE3.tuples), float(TABLE3.annotations)),
    }, frozenset({"printed"}), connected=False)  # fmt: skip
    notes = (
        "The annotations were not released: who answered what, and so reliability, cannot be "
        "computed. Tuples are ours, by the same rules.",
        f"A score by counting of {steps // 2} judgements is a multiple of 1/{steps}: that so many "
        "scores are shows two answers to each of eight tuples, the 8 under annotations per tuple "
        "being tuples a pair.",
        f"Simulated annotators see the released scores with normal noise of {noise:.3f}, chosen so "
        "that the reliability is the printed one: it shows what noise that means, not that the "
        "figure is right.",
        *data.notes,
    )
    details = {
        "source": data.source,
        "fingerprint": data.fingerprint,
        "seed": request.seed,
        "noise": noise,
        "balance": balance.to_dict(),
        "split_half": {
            "splits": len(halves.spearman),
            "spearman": [float(np.mean(halves.spearman)), float(np.std(halves.spearman))],
            "pearson": [float(np.mean(halves.pearson)), float(np.std(halves.pearson))],
        },
    }
    columns = ("annotation statistics", "ours", "printed")
    return Report("str-table3", "STR-2021, Table 3", columns, rows, plot, notes, details)

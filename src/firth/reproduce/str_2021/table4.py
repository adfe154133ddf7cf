"""Table 4: what makes sentences related."""

from dataclasses import asdict

from firth.relatedness.features.features import VECTORS, measure_features
from firth.reproduce.report import Lines, Report, Row
from firth.reproduce.str_2021.published import TABLE4
from firth.reproduce.str_2021.request import RESAMPLES, StrRequest

_TRIPLE = " of a triple"


def str_table4(request: StrRequest) -> Report:
    """Correlate the features with the scores.

    Raises:
        InputError: STR-2021, the vectors or an English spaCy pipeline cannot be had.
        MissingExtraError: spaCy or what the vectors need is not installed.
    """
    found = measure_features(
        request.pairs(), request.vectors or VECTORS, seed=request.seed, resamples=RESAMPLES
    )
    shown = [line for line in found.lines if line.shown or line.name in TABLE4]
    rows = []
    for line in shown:
        printed = TABLE4.get(line.name, (None, None))
        rows.append(Row(line.name, (line.figure.value, printed[0], line.figure.n, printed[1])))
    bounds = [(line.figure.low, line.figure.high) for line in shown]
    plot = Lines("feature", "Spearman (%)", [line.name for line in shown], {
        "ours": [line.figure.value for line in shown],
        "printed": [TABLE4.get(line.name, (None,))[0] for line in shown],
    }, frozenset({"printed"}), {"ours": bounds}, connected=False)  # fmt: skip
    notes = (
        f"Ours: {found.settings['vectors_name']}, spaCy pipeline {found.settings['spacy']}. The "
        "paper: word2vec of Google News, a spaCy of 2020 whose pipeline it does not name.",
        "Only words with a vector count. Google News has none for a, and, of, to: that fits the "
        "paper's fewer pairs of ADP and its lack of CCONJ and PART. spaCy before its version 3 "
        "tagged my and his as DET, which fits its fewer pairs of PRON.",
        "The paper's subjects and objects are from an extractor of subject-verb-object triples: "
        f"compare those{_TRIPLE}. Subject and Object are all words so labelled.",
        *found.data.notes,
    )
    details = {
        "source": found.data.source,
        "fingerprint": found.data.fingerprint,
        "settings": dict(found.settings),
        "features": {line.name: asdict(line.figure) for line in found.lines},
    }
    columns = ("Spearman (%)", "ours", "printed", "pairs", "pairs, printed")
    return Report("str-table4", "STR-2021, Table 4", columns, tuple(rows), plot, notes, details)

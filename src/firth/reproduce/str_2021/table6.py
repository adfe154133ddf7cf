"""Table 6: by domain, with and without training pairs of that domain."""

from pathlib import Path

from firth.reproduce.report import Lines, Report, Row
from firth.reproduce.str_2021.models import base_of
from firth.reproduce.str_2021.published import TABLE6
from firth.reproduce.str_2021.request import StrRequest
from firth.reproduce.str_2021.table5 import bounds_of, details_of, measure, tuning_notes

_DICE = "baseline:dice"
_LABELS = {_DICE: "Dice", "cross-validated": "CV", "leave-one-domain-out": "leave-one-out"}


def str_table6(request: StrRequest) -> Report:
    """Dice and a fine-tuned encoder by domain; errors as in `str_table5`."""
    base = base_of(request)
    found = measure(request, [_DICE], base, leave_one_out=True)
    labels = [label for label in _LABELS if label in found.figures]
    rows = []
    for name, printed in TABLE6.items():
        ours = [
            found.figures[label][name].value if name in found.figures[label] else None
            for label in labels
        ]
        rows.append(Row(name, (*ours, *printed)))
    columns = ("Spearman (%)", *(_LABELS[label] for label in labels),
               *(f"{name}, printed" for name in _LABELS.values()))  # fmt: skip
    values = {_LABELS[label]: [row.cells[place] for row in rows]
              for place, label in enumerate(labels)}  # fmt: skip
    printed_lines = {
        f"{name}, printed": [row.cells[len(labels) + place] for row in rows]
        for place, name in enumerate(_LABELS.values())
    }
    bands = {_LABELS[label]: [bounds_of(found.figures[label].get(name)) for name in TABLE6]
             for label in labels}  # fmt: skip
    plot = Lines("domain", "Spearman (%)", list(TABLE6), {**values, **printed_lines},
                 frozenset(printed_lines), bands, connected=False)  # fmt: skip
    encoder = "none" if base is None else Path(base).name
    notes = (
        f"CV and leave-one-out: {encoder} here, RoBERTa-base in the paper.",
        *tuning_notes(found, base),
        *found.data.notes,
    )
    return Report("str-table6", "STR-2021, Table 6", columns, tuple(rows), plot, notes,
                  details_of(found))  # fmt: skip

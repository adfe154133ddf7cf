"""Do no harm: a student's start, to which it returns where the check finds that it fell."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from safetensors.torch import load_file

from firth.check.gate import TOGETHER, spare, telling
from firth.check.items import Item
from firth.check.judged import MORE, judged, nothing_asked, plain
from firth.check.measure import cosine_accuracies, mean_ahead, texts_of
from firth.check.report import FEW_DOCUMENTS, compare
from firth.lexical.arrays import Floats
from firth.surrogate.checked import START, TRAINED
from firth.surrogate.matrices import encode
from firth.surrogate.training import write_weights

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

_UNTOLD = (
    "whether training did harm was not asked, and agreement with the teacher on dev alone decided. "
    f"Build the corpus from more and longer documents, or {MORE}."
)


class Start:
    """A student as it starts: its weights, in a file, and its answers to the check.

    Args:
        model: The student, before training.
        items: Questions of held-out documents; there may be none.
        scratch: Folder of the file.
    """

    def __init__(self, model: "SentenceTransformer", items: Sequence[Item], scratch: Path) -> None:
        self._model, self._items = model, items
        self._file = scratch / "start.safetensors"
        self._answers = self._asked(START)
        write_weights(model, self._file)

    def judge(self, seed: int) -> dict[str, Any]:
        """What the check thinks of the student after training, the start being the reference.

        Returns:
            Plain values (`firth.check.judged`): `kept` is `start` or `trained`, `counts` are the
            kinds over whose mean `mean` is the lead over the start, `together` the same over those
            of `TOGETHER`. Where no kind counts, both are None, what was trained is kept, and a note
            says so.
        """
        if not self._items:
            found = nothing_asked(START, (), f"The held-out documents give no items: {_UNTOLD}")
            return found | {"kept": TRAINED, "mean": None, "together": None}
        answers = {START: self._answers, TRAINED: self._asked(TRAINED)}
        compared = compare(answers, self._items, against=START, seed=seed)
        counts = telling(compared.documents)
        asked = {"mean": counts, "together": [kind for kind in counts if kind in TOGETHER]}
        leads = {
            name: mean_ahead(self._items, answers[TRAINED], self._answers, kinds, seed=seed)
            if kinds else None
            for name, kinds in asked.items()
        }  # fmt: skip
        verdict = spare(compared.systems[1], leads["mean"], counts, leads["together"])
        found = judged(compared, TRAINED if verdict.admitted else START, [verdict], counts)
        few = f"No kind of item is of {FEW_DOCUMENTS} held-out documents: {_UNTOLD}"
        notes = [] if counts else [few]
        shown = {name: lead and plain(lead) for name, lead in leads.items()}
        return found | shown | {"notes": notes}

    def restore(self) -> None:
        """Give the student the weights it started with."""
        self._model.load_state_dict(load_file(self._file))

    def _asked(self, name: str) -> Floats:
        vectors = encode(self._model, texts_of(self._items), f"Check: the student, {name}")
        return cosine_accuracies(name, self._items, vectors.astype(np.float64))

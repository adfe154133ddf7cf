"""The stage `origin`: how Origin's parts are weighed, chosen by the check, without labels.

Of a sentence's candidates, the true next one should score highest (`firth.check`). Of all blends
that cannot be told from the best one on the run's held-out documents, that nearest to the default
is taken (as the one-standard-error rule has it: Breiman et al. 1984): a few hundred sentences move
it little, and many move it as far as they can tell.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from firth.check import CHECK
from firth.check.build import open_items
from firth.check.items import Item, Kind
from firth.check.measure import accuracies_of, figures, pairs_of
from firth.context import CONTEXT
from firth.context.open import open_encoder
from firth.context.settings import Encoder
from firth.corpus import CORPUS
from firth.lexical.arrays import Floats
from firth.lexical.word_space import WordSpace
from firth.origin import ORIGIN
from firth.origin.blend import BLEND, DEFAULT, Blend
from firth.origin.components import AlignedWords
from firth.origin.ensemble import compare_sentences
from firth.run.files import write_json
from firth.run.progress import note
from firth.run.run import Run
from firth.run.stage import Outcome

OWN = (0.5, 0.6, 0.8, 1.0, 1.4)
WORDS = (0.0, 0.15, 0.3, 0.5, 1.0)
"""Candidates: lengths of own directions, weights of the alignment beside 1 for the sentences. No
length below 0.5: the check asks for what word vectors are trained on, and would trust them more
than people do (docs/research/origin.md)."""
SUMMED_ITEMS, ENCODED_ITEMS = 2_000, 500
"""Sentences asked about where the configuration gives no number."""
FEWEST = 500
"""With fewer, the default is taken: of so few documents no interval can be believed."""


def build_origin(run: Run) -> Outcome:
    """Choose the blend of a run, or reuse what was chosen.

    Raises:
        MissingStageError: Its corpus, check or context stage is not built.
    """
    settings = ["context.precision", "origin.items", "seed"]
    outcome = run.build(ORIGIN, _fill, reads=[CORPUS, CHECK, CONTEXT], settings=settings)
    found = outcome.manifest.summary
    blend = f"sentences + {found['words']:g} words, own directions {found['own']:g}"
    said = "chosen by" if found["changed"] else "the default, not worse than any by"
    note(f"origin: {blend}: {said} {found['held_out_sentences']:,} held-out sentences")
    return outcome


def _fill(run: Run, workspace: Path) -> Mapping[str, Any]:
    encoder, space = open_encoder(run), WordSpace.load(run.folder(CONTEXT))
    # A language model's vectors cost a thousand times as much, and have no length to be chosen.
    summed = encoder.kind is Encoder.BAG
    most = run.config.origin.items or (SUMMED_ITEMS if summed else ENCODED_ITEMS)
    items = [item for item in open_items(run) if item.kind is Kind.NEXT][:most]
    owns = OWN if summed else (DEFAULT.own,)
    chosen, table = DEFAULT, list[dict[str, Any]]()
    if items:
        pairs = pairs_of(items)
        aligned = AlignedWords(space).similarities(pairs)
        measured = {}
        for own in owns:
            sentences = compare_sentences(run, encoder, space, own).similarities(pairs)
            for words in WORDS:
                blend = Blend(DEFAULT.sentences, words, own)
                measured[blend] = accuracies_of(items, sentences + words * aligned)
        chosen, table = _choose(items, measured, run.config.seed)
    write_json(workspace / BLEND, {"chosen": asdict(chosen), "candidates": table})
    return {"held_out_sentences": len(items), "changed": chosen != DEFAULT, **asdict(chosen)}


def _choose(
    items: Sequence[Item], measured: Mapping[Blend, Floats], seed: int
) -> tuple[Blend, list[dict[str, Any]]]:
    """Of the blends that cannot be told from the best, that nearest to the default; and a table.

    With fewer than `FEWEST` items it is the default.
    """
    blends, accuracies = list(measured), list(measured.values())
    best = int(np.argmax([accuracy.mean() for accuracy in accuracies]))
    found = figures(items, accuracies, against=best, seed=seed)
    equal = [blend for blend, (_, ahead) in zip(blends, found, strict=True) if ahead.sign == 0]
    table = [
        {**asdict(blend), "accuracy": asdict(accuracy), "behind_the_best": asdict(ahead)}
        for blend, (accuracy, ahead) in zip(blends, found, strict=True)
    ]
    return DEFAULT if len(items) < FEWEST else min(equal, key=_steps), table


def _steps(blend: Blend) -> int:
    """How many steps of the grid a blend is away from the default."""
    steps = ((OWN, blend.own, DEFAULT.own), (WORDS, blend.words, DEFAULT.words))
    return sum(abs(grid.index(one) - grid.index(other)) for grid, one, other in steps)

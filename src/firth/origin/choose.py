"""The stage `origin`: how Origin's parts are weighed, chosen by the check, without labels.

Of a sentence's candidates, the true next one should score highest (`firth.check`). Of all blends
that cannot be told from the best one on the run's held-out documents, that nearest to the default
is taken (as the one-standard-error rule has it: Breiman et al. 1984): a few hundred sentences move
it little, and many move it as far as they can tell.

Where texts stand alone, words are learned from parts of one sentence, and hardly a held-out
sentence has a next one: the default then leaves out what was learned, and Origin is tf-idf of
n-grams of stems, aligned. What was learned counts only where the check shows that it is better.
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
from firth.context.encoder import SentenceEncoder
from firth.context.open import open_encoder
from firth.context.settings import Encoder
from firth.corpus import CORPUS
from firth.corpus.context import stand_alone
from firth.corpus.corpus import Corpus
from firth.lexical.arrays import Floats
from firth.lexical.scorer import CosineScorer
from firth.lexical.word_space import WordSpace
from firth.origin import ORIGIN
from firth.origin.blend import BLEND, DEFAULT, Blend, default_blend
from firth.origin.components import AlignedWords, WordProducts
from firth.run.files import write_json
from firth.run.progress import note
from firth.run.run import Run
from firth.run.stage import Outcome

OWN = (0.5, 0.6, 0.8, 1.0, 1.4)
WORDS = (0.0, 0.15, 0.3, 0.5, 1.0)
"""Candidates: lengths of own directions, weights of the alignment beside 1 for the sentences. No
length below 0.5: the check asks for what word vectors are trained on, and would trust them more
than people do (docs/research/origin.md). Where texts stand alone, nothing learned is one more."""
SUMMED_ITEMS, ENCODED_ITEMS = 2_000, 500
"""Sentences asked about where the configuration gives no number."""
FEWEST, FEWEST_DOCUMENTS = 500, 30
"""With fewer sentences, or of fewer documents, the default is taken: no interval of so few can be
believed."""


def build_origin(run: Run) -> Outcome:
    """Choose the blend of a run, or reuse what was chosen.

    Raises:
        MissingStageError: Its corpus, check or context stage is not built.
        InputError: The pretrained model is gone, has changed, or cannot be loaded.
    """
    settings = ["context.precision", "origin.items", "seed"]
    outcome = run.build(ORIGIN, _fill, reads=[CORPUS, CHECK, CONTEXT], settings=settings)
    if not outcome.reused:
        note(_said(**outcome.manifest.summary))
    return outcome


def _said(
    held_out_sentences: int, changed: bool, sentences: float, words: float, own: float | None
) -> str:
    blend = Blend(sentences, words, own)
    if changed:
        return f"origin: {blend}: chosen by {held_out_sentences:,} held-out sentences"
    why = f"{held_out_sentences:,} held-out sentences give no reason for another"
    if not held_out_sentences:
        why = "no held-out sentence has a next one to ask for, so nothing else could be tried"
    return f"origin: {blend}: the default; {why}"


def _fill(run: Run, workspace: Path) -> Mapping[str, Any]:
    encoder, space = open_encoder(run), WordSpace.load(run.folder(CONTEXT))
    # A language model's vectors cost a thousand times as much.
    few = SUMMED_ITEMS if encoder.kind is Encoder.BAG else ENCODED_ITEMS
    most = run.config.origin.items or few
    items = [item for item in open_items(run) if item.kind is Kind.NEXT][:most]
    corpus = Corpus.open(run)
    alone = stand_alone(len(corpus) - corpus.n_documents, len(corpus))
    default = default_blend(encoder.kind, encoder.words is not None, alone)
    measured = _measure(items, encoder, space, alone)
    chosen, table = _choose(items, measured, run.config.seed, default)
    write_json(workspace / BLEND, {"chosen": asdict(chosen), "candidates": table})
    return {"held_out_sentences": len(items), "changed": chosen != default, **asdict(chosen)}


def _measure(
    items: Sequence[Item], encoder: SentenceEncoder, space: WordSpace, alone: bool = False
) -> dict[Blend, Floats]:
    """Accuracy of each item under each candidate."""
    pairs = pairs_of(items)
    unlearned = (None,) if alone else ()
    sentences: dict[float | None, Floats]
    if encoder.kind is Encoder.BAG:
        products = WordProducts.of(space, pairs)
        sentences = {own: products.cosines(own) for own in (*OWN, *unlearned)}
    else:  # a pretrained model's vectors have no own directions
        encoded = CosineScorer(encoder.name, encoder.encode).similarities(pairs)
        sentences = dict.fromkeys((DEFAULT.own, *unlearned), encoded)
    aligned = {False: AlignedWords(space, encoder.words).similarities(pairs)}
    if alone:
        aligned[True] = AlignedWords(space.unlearned(), encoder.words).similarities(pairs)
    return {
        Blend(1.0, words, own): accuracies_of(items, cosines + words * aligned[own is None])
        for own, cosines in sentences.items()
        for words in WORDS
    }


def _choose(
    items: Sequence[Item], measured: Mapping[Blend, Floats], seed: int, default: Blend = DEFAULT
) -> tuple[Blend, list[dict[str, Any]]]:
    """Of the blends that cannot be told from the best, that nearest to the default; and a table.

    With too few items, or of too few documents, it is the default.
    """
    if not items:
        return default, []
    blends, accuracies = list(measured), list(measured.values())
    best = int(np.argmax([accuracy.mean() for accuracy in accuracies]))
    found = figures(items, accuracies, against=best, seed=seed)
    equal = [blend for blend, (_, ahead) in zip(blends, found, strict=True) if ahead.sign == 0]
    table = [
        {**asdict(blend), "accuracy": asdict(accuracy), "behind_the_best": asdict(ahead)}
        for blend, (accuracy, ahead) in zip(blends, found, strict=True)
    ]
    few = len(items) < FEWEST or len({item.document for item in items}) < FEWEST_DOCUMENTS
    return default if few else min(equal, key=lambda blend: _steps(blend, default)), table


def _steps(blend: Blend, default: Blend = DEFAULT) -> int:
    """How many steps of the grid a blend is away from the default."""
    lengths = (*OWN, None)  # beside endless directions nothing learned counts
    return abs(lengths.index(blend.own) - lengths.index(default.own)) + abs(
        WORDS.index(blend.words) - WORDS.index(default.words)
    )

"""An encoder adapted to a corpus, as far as the check on held-out documents finds no harm in it.

Candidates are the encoder as it is, tuned on the corpus, and either with its dimensions centred or
standardised; `firth.check.gate` says which is kept.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from firth.check.build import open_items
from firth.check.gate import keep
from firth.check.items import Item
from firth.check.judged import MORE, judged, nothing_asked
from firth.check.measure import cosine_accuracies, texts_of
from firth.check.report import FEW_DOCUMENTS, CheckReport, compare
from firth.context.kept import Kept
from firth.context.references import reference_texts
from firth.context.sentence_encoder import GivenEncoder, Scaling
from firth.context.settings import ContextConfig, Scale, TuneConfig
from firth.context.tune import PAIRS, counting, learnable, tune
from firth.corpus.corpus import Corpus
from firth.lexical.arrays import Floats
from firth.run.model_files import PretrainedFiles
from firth.run.run import Run
from firth.run.seeds import derive_seed
from firth.run.training import History

_SEED = "adapt"


@dataclass(frozen=True)
class Candidate:
    """A way to change an encoder."""

    tuned: bool
    scale: Scale

    @property
    def name(self) -> str:
        """What it is, for people."""
        parts = ["tuned"] * self.tuned + [self.scale.value] * (self.scale is not Scale.NONE)
        return ", ".join(parts) or "as it is"


@dataclass(frozen=True, eq=False)
class Adapted:
    """An encoder as the check allows it.

    Attributes:
        encoder: With the changes that were kept.
        kept: Which these are.
        tuned: Weights of the part that was tuned; empty where it was not, or not kept.
        scaling: Of its vectors.
        history: Losses of the tuning.
        report: Plain values (`firth.check.judged`).
    """

    encoder: GivenEncoder
    kept: Candidate
    tuned: Mapping[str, torch.Tensor]
    scaling: Scaling
    history: History
    report: Mapping[str, Any]

    def save(self, folder: Path, files: PretrainedFiles, config: ContextConfig) -> None:
        """Write what differs from the pretrained model, and which one that is."""
        settings = {
            "pooling": config.pooling,
            "layers": config.tune.layers,
            "candidate": self.kept.name,
        }
        words = None if self.encoder.words is None else self.encoder.words.mean
        scaling = self.scaling
        found = Kept(files, settings, self.tuned, scaling.mean, scaling.deviation, words)
        found.save(folder, self.encoder.kind)


def adapt_encoder(run: Run, model: str, scratch: Path) -> Adapted:
    """Adapt an encoder to a run's corpus, and keep what does no harm.

    Args:
        run: Its corpus and check are built; `context.pooling`, `.scale`, `.references` and `.tune`
            say how.
        model: Folder or hub name.
        scratch: Holds the checkpoint.

    Raises:
        InputError: The model is refused, cannot be loaded or tuned, or the corpus is too small.
    """
    config, seed = run.config.context, derive_seed(run.config.seed, _SEED)
    items, corpus = open_items(run), Corpus.open(run)
    how = learnable(config.tune, corpus)
    encoder = GivenEncoder.open(model, config.pooling, seed)
    asked = _Asked(items, reference_texts(run, config.references))
    scales = [config.scale] if config.scale else list(Scale)
    measured, scalings = asked.measure(encoder, False, scales)
    history: History = []
    before: dict[str, torch.Tensor] = {}
    after: dict[str, torch.Tensor] = {}
    if how.steps and items:  # without items nothing could be kept
        part, rate = encoder.learning(how)
        order = derive_seed(seed, "order")
        batches = PAIRS[how.pairs](corpus, run.config.corpus, how, order)
        before = _copied(part)
        history = tune(encoder, part, batches, how, rate, seed, scratch)
        after = _copied(part)
        more, scaled = asked.measure(encoder, True, scales)
        measured, scalings = measured | more, scalings | scaled
    reference = Candidate(False, scales[0])
    report = _judged(items, measured, reference, how, run.config.seed)
    kept = next(one for one in measured if one.name == report["kept"])
    if before and not kept.tuned:
        part.load_state_dict(before)
    encoder.scale(scalings[kept])
    encoder.name = f"{encoder.name}, {kept.name}"
    tuned = after if kept.tuned else {}
    return Adapted(encoder, kept, tuned, scalings[kept], history, report)


class _Asked:
    """The check's questions, their distinct texts, and sentences of the corpus for scaling."""

    def __init__(self, items: Sequence[Item], references: Sequence[str]) -> None:
        self._items, self._references = items, references
        self._texts = texts_of(items)

    def measure(
        self, encoder: GivenEncoder, tuned: bool, scales: Sequence[Scale]
    ) -> tuple[dict[Candidate, Floats], dict[Candidate, Scaling]]:
        """Accuracy of each item under each scale, and the scaling itself; encodes once."""
        title = "Check: the tuned encoder" if tuned else "Check: the encoder as it is"
        vectors = encoder.raw(self._texts, title)
        references = encoder.raw(self._references, "Sentences of the corpus")
        found, scalings = {}, {}
        for scale in scales:
            candidate = Candidate(tuned, scale)
            scalings[candidate] = Scaling.fit(references, scale)
            scaled = scalings[candidate](vectors)
            found[candidate] = cosine_accuracies(candidate.name, self._items, scaled)
        return found, scalings


def _copied(part: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {name: each.detach().cpu().clone() for name, each in part.state_dict().items()}


def _judged(
    items: Sequence[Item],
    measured: Mapping[Candidate, Floats],
    reference: Candidate,
    config: TuneConfig,
    seed: int,
) -> dict[str, Any]:
    counts = counting(config)
    if not items:
        note = (
            "The held-out documents give no items, so that nothing can be said of a change, and "
            f"none was made. Build the corpus from more and longer documents, or {MORE}."
        )
        return nothing_asked(reference.name, counts, note)
    named = {candidate.name: found for candidate, found in measured.items()}
    compared = compare(named, items, against=reference.name, seed=seed)
    kept, verdicts = keep(compared, counts)
    return judged(compared, kept, verdicts, counts) | {"notes": _notes(compared, counts)}


def _notes(report: CheckReport, counts: Sequence[str]) -> list[str]:
    few = all(report.documents.get(kind, 0) < FEW_DOCUMENTS for kind in report.items
              if kind in counts)  # fmt: skip
    if not few:
        return []
    return [
        f"No kind that counts has items of {FEW_DOCUMENTS} documents, so that nothing could be "
        f"admitted. Build the corpus from more documents, or {MORE}."
    ]

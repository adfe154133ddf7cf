"""The coherence stage: learn the model, then cache the vectors of all sentences (§3.2.1, §3.3)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn.functional import softplus

from firth.corpus.corpus import Corpus, Part
from firth.encoders.transformer import device
from firth.evaluation.bootstrap import Estimate
from firth.paper.coherence import (
    COHERENCE,
    VECTORS,
    CoherenceModel,
    SentenceEncoder,
    Shape,
    context_vectors,
    encode,
    neighbors,
    save_model,
    seeded,
    token_rows,
)
from firth.paper.settings import PaperSettings
from firth.paper.tokens import TokenTable, positions_of
from firth.run.console import Progress, note
from firth.run.errors import InputError
from firth.run.files import create_mapped, write_json
from firth.run.run import Run
from firth.run.settings import derive_seed
from firth.run.stage import SCRATCH, Outcome
from firth.text.types import Floats, Ints
from firth.train.loop import Batches, Best, Schedule, mean_of, train, verdict
from firth.train.tokenizer import TOKENIZER, open_tokenizer

HISTORY = "history.json"
ADDITIVE = (
    "paper.coherence.interaction is additive, Eq. 1 as printed. It orders contexts alike for every "
    "sentence, and its ranks stay at chance. bilinear does not have this limit."
)
_BLOCK = 16_384
"""Sentences that are encoded together."""
_PER_DOCUMENT = 32
"""Positions of one document in a batch."""
_REPORTS, _PATIENCE = 20, 8
"""Entries of the history, at most, and those without a better figure that end the training."""
_TESTED = 2_000
"""Held-out positions, at most, that choose the step; and as many that measure it."""

SAME, RANDOM = "same_document", "random"
"""The two kinds of negatives, in the order of `negatives`."""
CHOOSES = f"ranked_{SAME}"
"""The figure by which the best step is chosen: what coherence is for."""
Mask = npt.NDArray[np.bool_]
Encode = Callable[[Ints], Tensor]
"""Sentence numbers (n,) to vectors (n, size)."""
Tokens = Callable[[Sequence[str]], list[list[int]]]


def train_coherence(run: Run) -> Outcome:
    """Learn p(y=1 | c_<, s, c_>) on the corpus of a run, as its settings `paper.coherence` say.

    The best step ranks most true sentences above others of their document, on half of the held-out
    documents. The other half measures it: the summary holds the figures of `Tested`, and whether
    the model `learned`. A corpus with too few sentences is an `InputError`.
    """
    settings = run.wing("paper", PaperSettings)
    inputs = settings.inputs("window", "precision", "coherence") | corpus_inputs(run)

    def fill(run: Run, workspace: Path) -> Mapping[str, Any]:
        return _fill(run, settings, workspace)

    return run.build(COHERENCE, fill, reads=[TOKENIZER], settings=["seed"], inputs=inputs)


def corpus_inputs(run: Run) -> dict[str, str]:
    """Return fingerprints of the documents that a model learns from, and is measured on."""
    parts: dict[str, Part] = {"corpus": "learn", "held-out": "held-out"}
    return {name: Corpus.open(run, part).digest for name, part in parts.items()}


def _fill(run: Run, settings: PaperSettings, workspace: Path) -> Mapping[str, Any]:
    config, scratch = settings.coherence, workspace / SCRATCH
    corpus, tokenizer = Corpus.open(run), open_tokenizer(run)

    def tokens(texts: Sequence[str]) -> list[list[int]]:
        return token_rows(texts, tokenizer, config.max_tokens)

    table = TokenTable.of([row for texts in corpus.batches() for row in tokens(texts)])
    shape = Shape(
        vocabulary=tokenizer.get_vocab_size(),
        hidden=config.hidden,
        interaction=config.interaction,
        max_tokens=config.max_tokens,
        window=settings.window,
    )
    if config.interaction == "additive":
        note(ADDITIVE)
    seed, where = derive_seed(run.settings.seed, "coherence"), device()
    with seeded(derive_seed(seed, "weights")):
        model = CoherenceModel(shape, config.dropout).to(where)
    positions = Positions(positions_of(corpus), corpus.document_bounds, shape.window)
    check_positions(positions)
    source = batches_of(positions, config.batch, derive_seed(seed, "batches"))
    steps = max(1, round(config.passes * source.epoch_steps))
    half = settings.number_format(where) is torch.bfloat16
    drawn = derive_seed(seed, "steps")
    schedule = Schedule.of(steps, config.learning_rate, drawn, reports=_REPORTS, bfloat16=half)

    def vectors(sentences: Ints) -> Tensor:
        return encode(model.encoder, table, sentences)

    chooses, measures = Tested.halves(Corpus.open(run, "held-out"), tokens, shape.window, seed)
    model.eval()
    before = chooses.ranks(model, seed)[SAME]
    # The interval of a model that knows nothing: a figure within it is luck.
    luck = 0.0 if before.low is None else (float(before.high or 0) - before.low) / 200
    latest: dict[str, float] = {}

    def fit() -> float | None:
        latest.update(chooses.figures(model))
        return latest.get(CHOOSES)

    best = Best(model, fit, scratch, CHOOSES, 0.5 + luck)
    history = train(
        model,
        lambda step: positions[source(step)],
        lambda batch: batch_loss(model, vectors, batch, corpus.document_bounds),
        schedule,
        scratch,
        "Training coherence",
        lambda step: best.look(step) | latest,
        lambda past: best.start is not None and best.stalled(past, _PATIENCE, schedule.warmup),
    )
    chosen = steps
    if best.start is not None:
        best.restore()
        chosen = best.step
    ranked = measures.ranks(model, seed)
    passes = chosen / source.epoch_steps
    figures: dict[str, Any] = {"step": chosen, "steps": steps, "passes": passes}
    figures |= {"loss": history[-1]["loss"], **measures.figures(model)}
    figures |= {f"{CHOOSES}_interval": ranked[SAME].interval}
    lacks = "longer documents, or more of them (see ranked_same_document)"
    figures |= verdict("Coherence", chosen, lacks, ranked[SAME], 50)
    write_json(workspace / HISTORY, history)
    save_model(workspace, model, shape)
    encode_corpus(model.encoder, table, workspace / VECTORS)
    return {"sentences": len(corpus), "positions": len(positions), **figures}


def encode_corpus(encoder: SentenceEncoder, table: TokenTable, path: Path) -> None:
    """Write the vectors of all sentences to `path`, float16 .npy of shape (n, 2 · hidden)."""
    size = 2 * encoder.rightward.hidden_size
    vectors: Any = create_mapped(path, np.float16, (len(table), size))
    with Progress(len(table), "Encoding sentences") as bar, torch.inference_mode():
        for begin in range(0, len(table), _BLOCK):
            block = np.arange(begin, min(begin + _BLOCK, len(table)))
            vectors[block] = encode(encoder, table, block).half().cpu().numpy()
            bar.advance(len(block))
    vectors.flush()


@dataclass(frozen=True)
class Positions:
    """Positions in the corpus to learn from; sentences ascend, `bounds` are those of documents.

    Negatives are centers of others, so that nothing can be learned from a sentence alone.
    """

    sentences: Ints
    bounds: Ints
    window: int

    @property
    def documents(self) -> Ints:
        """The document of each position."""
        return np.searchsorted(self.bounds, self.sentences, side="right") - 1

    def __len__(self) -> int:
        return len(self.sentences)

    def __getitem__(self, part: Mask | Ints) -> "Positions":
        """Return the positions of a mask, or of indices."""
        return Positions(self.sentences[part], self.bounds, self.window)


def check_positions(positions: Positions) -> None:
    """Raise `InputError` where positions offer no negative example."""
    if len(positions):
        ends = positions[np.array([0, -1])]
        if np.ptp(ends.documents) or np.ptp(ends.sentences) > positions.window:
            return
    raise InputError(
        f"The corpus has {len(positions)} positions, too few to learn coherence from. A position "
        "is a sentence of corpus.min_words to corpus.max_words words with a neighbor on each side "
        "in its document. Add longer documents."
    )


def batches_of(positions: Positions, size: int, seed: int) -> Batches:
    """Return batches of about `size` positions: groups of 32 of one document, or of few.

    An epoch deals each position once; other groups straddle two documents in each.
    """
    n, documents = len(positions), positions.documents
    group = min(_PER_DOCUMENT, n)
    groups = min(-(-size // group), n // group)

    def deal(rng: np.random.Generator) -> Ints:
        shuffled = np.roll(np.lexsort((rng.random(n), documents)), int(rng.integers(n)))
        dealt = rng.permutation(shuffled[: n // group * group].reshape(-1, group))
        return dealt[: len(dealt) // groups * groups].reshape(-1, groups * group)

    return Batches(deal, seed)


def negatives(batch: Positions) -> tuple[Mask, Mask]:
    """Return where center i is a negative for position j: from j's document, and from another."""
    together = batch.documents[:, None] == batch.documents
    near = np.abs(batch.sentences[:, None] - batch.sentences) <= batch.window
    return together & ~near, ~together


def batch_logits(
    model: CoherenceModel, encode: Encode, batch: Positions, document_bounds: Ints
) -> Tensor:
    """Return the logit of center i at position j, (n, n); each sentence is read once."""
    around = neighbors(batch.sentences, document_bounds, batch.window)
    numbers = np.unique(np.concatenate((batch.sentences, around[around >= 0])))
    table = encode(numbers)
    rows = torch.from_numpy(np.searchsorted(numbers, batch.sentences)).to(table.device)
    places = np.where(around < 0, -1, np.searchsorted(numbers, around))
    with torch.autocast(table.device.type, enabled=False):
        query, constant = model.query(table[rows])
        logits: Tensor = query @ context_vectors(table, places).T + constant[:, None]
    return logits


def batch_loss(
    model: CoherenceModel, encode: Encode, batch: Positions, document_bounds: Ints
) -> Tensor:
    """Return the loss of a batch in nats: binary cross-entropy, and the softmax of each context.

    Every center is tried at every position. Positives have half of the weight, negatives from the
    document a quarter. The softmax over centers is added where sentence and context interact: it
    learns the order, which cross-entropy alone learns slowly.
    """
    logits = batch_logits(model, encode, batch, document_bounds)
    with torch.autocast(logits.device.type, enabled=False):
        positive = softplus(-logits.diagonal()).mean()
        kinds = [torch.from_numpy(kind).to(logits.device) for kind in negatives(batch)]
        wrong = [softplus(logits)[kind].mean() for kind in kinds if kind.any()]
        if not wrong:
            return positive / 2
        loss: Tensor = (positive + torch.stack(wrong).mean()) / 2
        if model.query.interaction is not None:
            itself = torch.eye(len(logits), dtype=torch.bool, device=logits.device)
            ranked = logits.masked_fill(~(kinds[0] | kinds[1] | itself), float("-inf"))
            loss = loss + (ranked.logsumexp(0) - logits.diagonal()).mean()
    return loss


@dataclass(frozen=True, eq=False)
class Tested:
    """Held-out positions by which a model is measured; centers of the others are the negatives.

    `table` has the tokens of their sentences and neighbors, whose numbers in `corpus` are `rows`.
    """

    corpus: Corpus
    positions: Positions
    table: TokenTable
    rows: Ints

    @classmethod
    def halves(
        cls, corpus: Corpus, tokens: Tokens, window: int, seed: int
    ) -> tuple["Tested", "Tested"]:
        """Return positions of every second held-out document, and of the others.

        Each has at most `_TESTED`. A single document is in both.
        """
        every = Positions(positions_of(corpus), corpus.document_bounds, window)
        side = every.documents % 2
        halves = [every[side == number] for number in (0, 1)]
        if not all(map(len, halves)):
            halves = [every, every]
        rng, tested = np.random.default_rng(derive_seed(seed, "held out")), []
        for half in halves:
            positions = half[np.sort(rng.permutation(len(half))[:_TESTED])]
            around = neighbors(positions.sentences, corpus.document_bounds, window)
            rows = np.unique(np.concatenate((positions.sentences, around[around >= 0])))
            table = TokenTable.of(tokens(corpus.texts(rows)))
            tested.append(cls(corpus, positions, table, rows))
        return tested[0], tested[1]

    def figures(self, model: CoherenceModel) -> dict[str, float]:
        """Return shares ranked below, in [0, 1], and the loss in nats.

        `ranked` is the share of the negatives of a context whose logit is below that of its true
        center, a mean over contexts. Positives have half of the weight in `held_out_loss`, a mean
        over negatives of the same document and of others. Chance is 0.5 and 0.693. No position
        gives no figure.
        """
        if not len(self.positions):
            return {}
        logits = self._logits(model)
        positive, figures, losses = logits.diagonal(), dict[str, float](), []
        for name, kind in zip((SAME, RANDOM), negatives(self.positions), strict=True):
            if kind.any():
                wrong = logits[torch.from_numpy(kind)]
                figures[f"ranked_{name}"] = float(np.nanmean(ranked_below(logits.numpy(), kind)))
                losses.append((softplus(-positive).mean() + softplus(wrong).mean()).item() / 2)
        return {**figures, "held_out_loss": sum(losses) / len(losses)} if losses else {}

    def ranks(self, model: CoherenceModel, seed: int) -> dict[str, Estimate]:
        """Return the share ranked below, with intervals over documents, for each kind."""
        documents = self.positions.documents
        logits = self._logits(model).numpy() if len(documents) else np.zeros((0, 0))
        kinds = zip((SAME, RANDOM), negatives(self.positions), strict=True)
        return {
            name: mean_of(ranked_below(logits, kind), documents, derive_seed(seed, name))
            for name, kind in kinds
        }

    def _logits(self, model: CoherenceModel) -> Tensor:
        def encoded(sentences: Ints) -> Tensor:
            return encode(model.encoder, self.table, np.searchsorted(self.rows, sentences))

        with torch.inference_mode():
            bounds = self.corpus.document_bounds
            return batch_logits(model, encoded, self.positions, bounds).cpu()


def ranked_below(logits: npt.NDArray[np.floating], kind: Mask) -> Floats:
    """Return the share of each context's negatives of a kind that rank below its center, (n,).

    Equal ones count half; a context without such a negative has NaN.
    """
    true = logits.diagonal()
    below = ((logits < true) & kind).sum(axis=0) + ((logits == true) & kind).sum(axis=0) / 2
    counts = kind.sum(axis=0)
    return np.where(counts > 0, below / np.maximum(counts, 1), np.nan)

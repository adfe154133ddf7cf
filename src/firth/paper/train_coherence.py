"""The coherence stage: learn the model, then cache the vectors of all sentences (§3.2.1, §3.3)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn.functional import softplus

from firth.corpus.corpus import Corpus, Part
from firth.encoders.transformer import device
from firth.paper.coherence import (
    BATCH_TOKENS,
    COHERENCE,
    VECTORS,
    WEIGHTS,
    CoherenceModel,
    SentenceEncoder,
    Shape,
    context_vectors,
    encode,
    load_model,
    neighbors,
    save_model,
    seeded,
    token_rows,
)
from firth.paper.settings import PaperSettings
from firth.paper.tokens import TokenTable
from firth.run.console import Progress, note
from firth.run.errors import InputError
from firth.run.files import create_mapped, mapped, open_mapped, read_json, write_json
from firth.run.run import Run
from firth.run.settings import derive_seed
from firth.run.stage import SCRATCH, Outcome
from firth.text.types import Floats, Ints
from firth.train.loop import Best, Schedule, agreed, build_together, first, in_parts, rank, train
from firth.train.tokenizer import TOKENIZER, open_tokenizer

HISTORY, FIGURES = "history.json", "figures.json"
ADDITIVE = (
    "paper.coherence.interaction is additive, Eq. 1 as printed. It orders contexts alike for every "
    "sentence, and its accuracy stays at chance. bilinear does not have this limit."
)
BLOCK = 16_384
"""Sentences that are encoded between two marks to resume at."""
_WARMUP, _PER_DOCUMENT = 0.1, 8
"""Share of the steps in which the rate rises; positions of one document in a batch."""
_REPORTS, _PATIENCE = 20, 8
"""Entries of the history, at most, and those without a better loss after which training stops."""
_TESTED = 2_000
"""Held-out positions, at most, on which accuracy is measured."""
_OF_SOURCE = 50
"""Fewest tested positions of a source whose figures are listed separately."""
_FIT = "held_out_fit"
"""Name of the figure by which the best step is chosen: minus the loss of held-out positions."""

_KINDS = ("same_document", "random")
"""Names of the two kinds of negatives, as `negatives` returns them."""

Mask = npt.NDArray[np.bool_]
Encode = Callable[[Ints], Tensor]
"""Sentence numbers (n,) to vectors (n, size)."""
Tokens = Callable[[Sequence[str]], list[list[int]]]


def train_coherence(run: Run) -> Outcome:
    """Learn p(y=1 | c_<, s, c_>) on the corpus of a run, as its settings `paper.coherence` say.

    Training stops at the best held-out loss. The summary holds the step of the best weights, their
    figures of `Tested`. A corpus with too few sentences is an `InputError`.
    """
    settings = run.wing("paper", PaperSettings)
    inputs = settings.inputs("window", "precision", "coherence") | corpus_inputs(run)

    def fill(run: Run, workspace: Path) -> Mapping[str, Any]:
        return _fill(run, settings, workspace)

    return build_together(run, COHERENCE, fill, reads=[TOKENIZER], settings=["seed"], inputs=inputs)


def corpus_inputs(run: Run) -> dict[str, str]:
    """Return fingerprints of the documents that a model learns from, and is measured on."""
    parts: dict[str, Part] = {"corpus": "learn", "held-out": "held-out"}
    return {name: Corpus.open(run, part).digest for name, part in parts.items()}


def _fill(run: Run, settings: PaperSettings, workspace: Path) -> Mapping[str, Any]:
    config, scratch = settings.coherence, workspace / SCRATCH
    corpus, tokenizer = Corpus.open(run), open_tokenizer(run)

    def tokens(texts: Sequence[str]) -> list[list[int]]:
        return token_rows(texts, tokenizer, config.max_tokens)

    table = shared_table(corpus, tokens, scratch)
    if agreed(not (workspace / WEIGHTS).is_file()):
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
        positions = Positions(
            shared(scratch / "positions.npy", corpus.positions),
            corpus.document_bounds,
            shape.window,
        )
        check_positions(positions)
        source = BatchSource(
            positions, config.batch, _PER_DOCUMENT, derive_seed(seed, "batches"), agreed(scratch)
        )
        first(lambda: source(0))
        steps = max(1, round(config.passes * source.steps_of_a_pass))
        schedule = Schedule(
            steps=steps,
            rate=config.learning_rate,
            warmup=int(steps * _WARMUP),
            checkpoint_steps=config.checkpoint_steps,
            seed=derive_seed(seed, "steps"),
            report_steps=-(-steps // _REPORTS),
            bfloat16=settings.number_format(where) is torch.bfloat16,
            micro_batches=config.micro_batches,
        )

        def read(sentences: Ints) -> Tensor:
            def some(part: slice) -> Tensor:
                return encode(model.encoder, table, sentences[part])

            return in_parts(some, len(sentences), config.micro_batches)

        tested = Tested.of(Corpus.open(run, "held-out"), tokens, shape.window, seed)
        model.eval()
        latest: dict[str, float] = {}

        def fit() -> float | None:
            latest.update(tested.figures(model))
            return -tested.loss(model) if latest else None

        def look(step: int) -> dict[str, float]:
            fitted = best.look(step)
            return latest | fitted

        best = Best(model, fit, scratch, _FIT)

        history = train(
            model,
            source,
            lambda batch: batch_loss(model, read, batch, corpus.document_bounds),
            schedule,
            scratch,
            "Training coherence",
            look,
            lambda past: best.start is not None and best.stalled(past, _PATIENCE),
        )
        chosen = steps
        if best.start is not None:
            best.restore()
            chosen = best.step
        figures = {"step": chosen, "steps": steps, "passes": chosen / source.steps_of_a_pass}
        figures |= {"loss": history[-1]["loss"], **tested.figures(model)}
        write_json(workspace / FIGURES, {**figures, "sources": tested.by_source(model)})
        write_json(workspace / HISTORY, history)
        if not rank():
            save_model(workspace, model, shape)
    if rank():
        return {}
    model, _ = load_model(workspace)
    encode_corpus(model.to(device()).encoder, table, workspace / VECTORS, scratch)
    figures = read_json(workspace / FIGURES)
    return {"sentences": len(corpus), "positions": len(corpus.positions()), **figures}


def shared_table(corpus: Corpus, encode: Tokens, scratch: Path) -> TokenTable:
    """Tokenize a corpus into files of a folder; all processes map those of the first one."""
    scratch = agreed(scratch)
    first(lambda: TokenTable.stored(corpus.batches(), encode, scratch))
    return TokenTable.stored((), encode, scratch)


def shared(path: Path, make: Callable[[], Ints]) -> Ints:
    """Return an array that process 0 makes and all map; its file is kept for interrupted calls."""
    path = agreed(path)
    first(lambda: mapped(path, make))
    return open_mapped(path)


def encode_corpus(encoder: SentenceEncoder, table: TokenTable, path: Path, scratch: Path) -> None:
    """Write the vectors of all sentences to `path`, float16 .npy of shape (n, 2 · hidden).

    An interrupted call continues with the block that it was in.
    """
    mark, size = scratch / "encoded.json", 2 * encoder.rightward.hidden_size
    where = encoder.tokens.weight.device
    start = read_json(mark) if mark.is_file() and path.is_file() else 0
    shape = (len(table), size)
    vectors: Any = np.load(path, "r+") if start else create_mapped(path, np.float16, shape)
    bar = Progress(len(table), "Encoding sentences")
    with bar, torch.inference_mode():
        bar.advance(start)
        for begin in range(start, len(table), BLOCK):
            block = np.arange(begin, min(begin + BLOCK, len(table)))
            for batch in table.batches(block, BATCH_TOKENS):
                padded = (torch.from_numpy(p).to(where) for p in table.padded(block[batch]))
                vectors[block[batch]] = encoder(*padded).half().cpu().numpy()
            vectors.flush()
            write_json(mark, int(block[-1]) + 1)
            bar.advance(len(block))


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


class BatchSource:
    """Returns the batch of each training step, a function of seed and step alone.

    A batch holds groups of `group` positions from one document each. A pass deals all positions;
    its order is a file of `scratch`, which processes share.
    """

    def __init__(
        self, positions: Positions, size: int, group: int, seed: int, scratch: Path
    ) -> None:
        self._positions, self._seed, self.scratch = positions, seed, scratch
        self._dealt = lru_cache(maxsize=2)(self._deal)
        self._group = min(group, len(positions))
        self._groups = -(-size // self._group)

    @property
    def steps_of_a_pass(self) -> float:
        """How many batches all positions make."""
        return len(self._positions) // self._group / self._groups

    def __call__(self, step: int) -> Positions:
        """Return the batch of a step, counted from 0."""
        per_pass = len(self._positions) // self._group
        numbers = step * self._groups + np.arange(self._groups)
        rows = [self._dealt(int(number // per_pass))[number % per_pass] for number in numbers]
        return self._positions[np.concatenate(rows)]

    def _deal(self, number: int) -> Ints:
        """Return the groups of one pass, (groups, group); the few left over wait for the next."""

        def dealt() -> Ints:
            n = len(self._positions)
            rng = np.random.default_rng(derive_seed(self._seed, "pass", number))
            shuffled = np.lexsort((rng.random(n), self._positions.documents))
            # A random start, so that other groups straddle two documents in each pass.
            shuffled = np.roll(shuffled, int(rng.integers(n)))[: n // self._group * self._group]
            return rng.permutation(shuffled.reshape(-1, self._group))

        return mapped(self.scratch / f"pass-{number}.npy", dealt)


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
        return loss_of_logits(logits, batch, model.query.interaction is not None)


def loss_of_logits(logits: Tensor, batch: Positions, ordered: bool) -> Tensor:
    """Return the loss of `batch_loss` from the logits of a batch, (n, n), with its softmax or not.

    `ordered` says whether sentence and context interact.
    """
    where = logits.device
    positive = softplus(-logits.diagonal()).mean()
    kinds = [torch.from_numpy(kind).to(where) for kind in negatives(batch)]
    some = [kind for kind in kinds if kind.any()]
    if not some:
        return positive / 2
    wrong = softplus(logits)
    loss = (positive + torch.stack([wrong[kind].mean() for kind in some]).mean()) / 2
    if ordered:
        tried = kinds[0] | kinds[1] | torch.eye(len(logits), dtype=torch.bool, device=where)
        ranked = logits.masked_fill(~tried, float("-inf"))
        loss = loss + (ranked.logsumexp(0) - logits.diagonal()).mean()
    return loss


@dataclass(frozen=True, eq=False)
class Tested:
    """Held-out positions by which a model is measured; centers of the others are the negatives.

    `table` has the tokens of their sentences and neighbors, whose numbers in `corpus` are `read`.
    """

    corpus: Corpus
    positions: Positions
    table: TokenTable
    read: Ints

    @classmethod
    def of(cls, corpus: Corpus, tokens: Tokens, window: int, seed: int) -> "Tested":
        """Draw at most `_TESTED` positions of held-out documents."""
        every = Positions(corpus.positions(), corpus.document_bounds, window)
        order = np.random.default_rng(derive_seed(seed, "held out")).permutation(len(every))
        positions = every[np.sort(order[:_TESTED])]
        around = neighbors(positions.sentences, corpus.document_bounds, window)
        read = np.unique(np.concatenate((positions.sentences, around[around >= 0])))
        return cls(corpus, positions, TokenTable.of(tokens(corpus.texts(read))), read)

    def figures(self, model: CoherenceModel) -> dict[str, float]:
        """Return accuracies in [0, 1] at p = 1/2, shares ranked below, and the loss in nats.

        `ranked` is the share of the negatives of a context whose logit is below that of its true
        center, a mean over contexts. Positives have half of the weight in accuracy and loss.
        `accuracy` and `held_out_loss` are means over negatives of the same document and of others.
        Chance is 0.5, 0.5 and 0.693. No position gives no figure.
        """
        if not len(self.positions):
            return {}
        logits = self._logits(model)
        positive, figures, losses = logits.diagonal(), dict[str, float](), []
        for name, kind in zip(_KINDS, negatives(self.positions), strict=True):
            if kind.any():
                wrong = logits[torch.from_numpy(kind)]
                right = (positive > 0).float().mean() + (wrong <= 0).float().mean()
                figures[f"accuracy_{name}"] = right.item() / 2
                figures[f"ranked_{name}"] = float(np.nanmean(_ranked(logits.numpy(), kind)))
                losses.append((softplus(-positive).mean() + softplus(wrong).mean()).item() / 2)
        if not losses:
            return {}
        accuracies = [value for name, value in figures.items() if name.startswith("accuracy")]
        mean = sum(accuracies) / len(accuracies)
        return {"accuracy": mean, **figures, "held_out_loss": sum(losses) / len(losses)}

    def loss(self, model: CoherenceModel) -> float:
        """Return the loss of training (`batch_loss`) over all positions at once, in nats."""
        ordered = model.query.interaction is not None
        return float(loss_of_logits(self._logits(model), self.positions, ordered))

    def by_source(self, model: CoherenceModel) -> dict[str, dict[str, float]]:
        """Return file → positions, and the share ranked below among negatives of the document.

        A pooled figure can be high because sources differ. A context's own ranks cannot.
        """
        if not len(self.positions):
            return {}
        ranked = _ranked(self._logits(model).numpy(), negatives(self.positions)[0])
        documents, found = self.positions.documents, dict[str, dict[str, float]]()
        sources = self.corpus.source_numbers()[documents]
        for number in np.unique(sources).tolist():
            known = (sources == number) & ~np.isnan(ranked)
            if known.sum() >= _OF_SOURCE:
                name = self.corpus.document(int(documents[known.argmax()])).source
                share = float(ranked[known].mean())
                found[name] = {"positions": int(known.sum()), "ranked_same_document": share}
        return found

    def _logits(self, model: CoherenceModel) -> Tensor:
        def encoded(sentences: Ints) -> Tensor:
            return encode(model.encoder, self.table, np.searchsorted(self.read, sentences))

        with torch.inference_mode():
            bounds = self.corpus.document_bounds
            return batch_logits(model, encoded, self.positions, bounds).cpu()


def _ranked(logits: npt.NDArray[np.floating], kind: Mask) -> Floats:
    """Return the share of each context's negatives of a kind that rank below its center, (n,).

    Equal ones count half; a context without such a negative has NaN.
    """
    true = logits.diagonal()
    below = ((logits < true) & kind).sum(axis=0) + ((logits == true) & kind).sum(axis=0) / 2
    counts = kind.sum(axis=0)
    return np.where(counts > 0, below / np.maximum(counts, 1), np.nan)

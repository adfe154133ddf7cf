"""The three likelihoods from encoder-decoder Transformers learned on the corpus (§3.2.2, Eq. 2).

Word, sentence-position and token-position embeddings are added (§3.2.2). The encoder reads all
given sentences as one text. The decoder generates the missing part, sentence by sentence.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional

from firth.paper.tokens import ALL_ROLES, Context, Pairs, Part, PartReader, Role, Triple, joined
from firth.text.types import Floats, Ints, Singles, by_budget

_BLOCK = 1024
"""Pairs that are scored together, which bounds their parts in memory."""
_HEAD = 64
"""Dimensions of an attention head at most (Vaswani et al. 2017)."""
_ROWS = 128
"""Tokens whose logits a processor holds at once: more leave its cache, and take twice as long."""


@dataclass(frozen=True, kw_only=True)
class Shape:
    """Sizes of the Transformer.

    `window` is the largest offset of a sentence, and `max_tokens` the most tokens of one.
    """

    vocabulary: int
    width: int
    layers: int
    max_tokens: int
    window: int = 1


@dataclass(frozen=True)
class Padded:
    """Rows of sentences one after another, padded on the right, (n, longest) each.

    They are the ids of tokens, offsets of sentences, places in them, and which are no padding.
    """

    tokens: Tensor
    offsets: Tensor
    places: Tensor
    real: Tensor

    @classmethod
    def of(cls, rows: Sequence[Part], device: torch.device) -> "Padded":
        """Pad rows that are not empty."""
        cells = [
            torch.tensor([(t, offset, k) for offset, s in row for k, t in enumerate(s)])
            for row in rows
        ]
        sizes = torch.tensor([len(row) for row in cells], device=device)
        padded = nn.utils.rnn.pad_sequence(cells, batch_first=True).to(device)
        real = torch.arange(padded.shape[1], device=device) < sizes[:, None]
        tokens, offsets, places = padded.unbind(-1)
        return cls(tokens, offsets, places, real)


class ContextTransformer(nn.Module):
    """Generates a missing part from the parts around it; input and output embeddings are tied."""

    def __init__(self, shape: Shape, dropout: float = 0.0) -> None:
        super().__init__()
        self.shape, width = shape, shape.width
        self.word = nn.Embedding(shape.vocabulary, width)
        self.sentence_position = nn.Embedding(2 * shape.window + 1, width)
        self.token_position = nn.Embedding(shape.max_tokens, width)
        for embedding in (self.word, self.sentence_position, self.token_position):
            nn.init.normal_(embedding.weight, std=width**-0.5)
        sizes = {"dim_feedforward": 4 * width, "dropout": dropout, "activation": functional.gelu}
        heads, order = max(1, width // _HEAD), {"batch_first": True, "norm_first": True}
        self.encoder = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(width, heads, **sizes, **order),  # type: ignore[arg-type]
            shape.layers, nn.LayerNorm(width), enable_nested_tensor=False,
        )  # fmt: skip
        self.decoder = nn.TransformerDecoder(
            nn.TransformerDecoderLayer(width, heads, **sizes, **order),  # type: ignore[arg-type]
            shape.layers, nn.LayerNorm(width),
        )  # fmt: skip
        for weight in (*self.encoder.parameters(), *self.decoder.parameters()):
            if weight.dim() > 1:
                nn.init.xavier_uniform_(weight)
        self.bias = nn.Parameter(torch.zeros(shape.vocabulary))
        self.dropout = nn.Dropout(dropout)

    def _embed(self, tokens: Tensor, padded: Padded) -> Tensor:
        offsets = self.sentence_position(padded.offsets + self.shape.window)
        place = self.token_position(padded.places) + offsets
        embedded: Tensor = self.dropout(self.word(tokens) * self.shape.width**0.5 + place)
        return embedded

    def read(self, given: Padded) -> Tensor:
        """Return the states of what is given, (n, longest, width)."""
        states: Tensor = self.encoder(
            self._embed(given.tokens, given), src_key_padding_mask=~given.real
        )
        return states

    def decode(self, targets: Padded, start: int, memory: Tensor, known: Tensor) -> Tensor:
        """Return states that predict the tokens of the targets, (t, width), row after row.

        Each is made from the tokens before it in its row, and memory, (n, m, width), of which
        `known` (n, m) are no padding. The input is the token before it, or `start`, with the offset
        and place of the target.
        """
        before = targets.tokens.roll(1, 1).index_fill(1, targets.tokens.new_zeros(1), start)
        longest = before.shape[1]
        hidden = torch.ones(longest, longest, dtype=torch.bool, device=before.device).triu(1)
        states: Tensor = self.decoder(
            self._embed(before, targets), memory, tgt_mask=hidden,
            tgt_key_padding_mask=~targets.real, memory_key_padding_mask=~known,
        )  # fmt: skip
        return states[targets.real]

    def losses(self, states: Tensor, tokens: Tensor) -> Tensor:
        """Return -log p of tokens, (t,), in nats, from the states that predict them, (t, width)."""
        logits = functional.linear(states, self.word.weight, self.bias)
        return functional.cross_entropy(logits.float(), tokens, reduction="none")

    def start_from(self, counts: Ints) -> None:
        """Start the softmax as the frequencies of the first tokens, from their counts."""
        frequencies = torch.full_like(self.bias, 0.1)
        frequencies[: len(counts)] += torch.from_numpy(counts)
        with torch.no_grad():
            self.bias.copy_((frequencies / frequencies.sum()).log())


@dataclass(frozen=True)
class Job:
    """A part to generate, and the sentences of other parts (`given`). Equal jobs are done once."""

    target: Part
    given: Part

    @classmethod
    def of(cls, triple: Triple, role: Role, evidence: bool = True) -> "Job":
        """Generate the part `role` of a triple from the two other parts.

        Without evidence, a side is generated from the other side, and the sentence from nothing.
        """
        dropped = set() if evidence else {Role.SENTENCE} if role is not Role.SENTENCE else set(Role)
        return cls.without(triple, role, dropped)

    @classmethod
    def without(cls, triple: Triple, role: Role, dropped: Set[Role]) -> "Job":
        """Generate the part `role` of a triple from the other parts, except dropped ones."""
        roles = [r for r in Role if r is not role and r not in dropped]
        return cls(triple[role], tuple(given for r in roles for given in triple[r]))

    @property
    def size(self) -> int:
        """Tokens that are generated."""
        return len(joined(self.target))


class Seq2Seq:
    """A generative context model (§3.2.2): the Transformer of each part; one may serve all three.

    log p(target | given) is Eq. 2, the sum over the target's tokens; the end of the text is no part
    of it. A batch has `batch_tokens` tokens, padding included.
    """

    def __init__(
        self,
        models: Mapping[Role, ContextTransformer],
        tokenizer: Tokenizer,
        *,
        batch_tokens: int = 8_192,
    ) -> None:
        self.models = models
        self.reader = PartReader(tokenizer, models[Role.SENTENCE].shape.max_tokens)
        self._batch_tokens = batch_tokens

    def likelihoods(
        self,
        sentences: Sequence[str],
        contexts: Sequence[Context],
        pairs: Pairs,
        roles: Set[Role] = ALL_ROLES,
        evidence: bool = True,
    ) -> Singles:
        """Return log p(part | the two others) of each (sentence, context), (3, n), rows by `Role`.

        They are in nats a token. Each distinct sentence and context is given once, and `pairs`
        (n, 2) holds indices of both. A result does not depend on the other pairs, beyond rounding.
        A part without tokens is 0, and so are `roles` that are not named. Without evidence it is a
        baseline: log p(s), and each side given the other side alone.
        """
        values = np.zeros((len(Role), len(pairs)), np.float32)
        order = np.lexsort((pairs[:, 0], pairs[:, 1]))
        for begin in range(0, len(order), _BLOCK):
            block = order[begin : begin + _BLOCK]
            triples = self.reader.triples(sentences, contexts, pairs[block])
            for role in sorted(roles):
                of_pairs = [Job.of(t, role, evidence) if t[role] else None for t in triples]
                jobs = list(dict.fromkeys(job for job in of_pairs if job))
                scores = self.score(jobs, role).tolist()
                mean = {job: s / job.size for job, s in zip(jobs, scores, strict=True)}
                values[role, block] = [mean[job] if job else 0.0 for job in of_pairs]
        return values

    def score(self, jobs: Sequence[Job], role: Role) -> Floats:
        """Return log p(target | given) of each job, in nats; all jobs generate the part `role`."""
        scores, model = np.zeros(len(jobs)), self.models[role]
        sizes = np.array([job.size + len(joined(job.given)) for job in jobs], np.int64)
        with torch.inference_mode():
            for batch in by_budget(sizes, self._batch_tokens):
                chosen = [jobs[i] for i in batch.tolist()]
                states, targets = decode(model, chosen, self.reader)
                rows = _ROWS if states.device.type == "cpu" else len(states)
                parts = [slice(at, at + rows) for at in range(0, len(states), rows)]
                losses = torch.cat([model.losses(states[part], targets[part]) for part in parts])
                numbers = np.repeat(np.arange(len(chosen)), [job.size for job in chosen])
                scores[batch] = -np.bincount(numbers, losses.cpu().double().numpy())
        return scores


def decode(
    model: ContextTransformer, jobs: Sequence[Job], reader: PartReader
) -> tuple[Tensor, Tensor]:
    """Return states, (t, width), and the tokens of the targets of jobs, (t,), one after another.

    What is given begins with `<mask>` in place of the first missing sentence. Equal texts are read
    once.
    """
    where = model.word.weight.device
    given = [((job.target[0][0], (reader.missing,)), *job.given) for job in jobs]
    rows = {row: n for n, row in enumerate(dict.fromkeys(given))}
    texts = Padded.of(list(rows), where)
    numbers = torch.tensor([rows[row] for row in given], device=where)
    targets = Padded.of([job.target for job in jobs], where)
    memory = model.read(texts)[numbers]
    states = model.decode(targets, reader.start, memory, texts.real[numbers])
    return states, targets.tokens[targets.real]

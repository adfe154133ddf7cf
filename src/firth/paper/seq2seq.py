"""The three likelihoods from encoder-decoder Transformers learned on the corpus (§3.2.2, Eq. 2)."""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor

from firth.corpus.corpus import Context
from firth.paper.tokens import ALL_ROLES, Generator, Pairs, Part, PartReader, Role, Triple, joined
from firth.paper.transformer import ContextTransformer, Memory, Packed, Prediction, mixture_scores
from firth.text.types import Floats, Singles

_BLOCK = 1024
"""Pairs that are scored together, which bounds the encoded sentences in memory."""


class CorpusPartReader(PartReader):
    """Reads parts with the tokenizer of a run.

    `start` begins a part to generate, and `missing` takes the place of that part in what is given.
    """

    def __init__(self, tokenizer: Tokenizer, max_tokens: int) -> None:
        super().__init__(max_tokens)
        self._tokenizer = tokenizer
        self.start, self.missing = (tokenizer.get_vocab()[token] for token in ("<s>", "<mask>"))

    def _encode(self, texts: Sequence[str]) -> list[list[int]]:
        encoded = self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        return [each.ids for each in encoded]


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
        kept = [r for r in Role if r is not role and r not in dropped]
        return cls(triple[role], tuple(given for r in kept for given in triple[r]))

    @property
    def size(self) -> tuple[int, int]:
        """Tokens that are generated, and tokens that are attended to."""
        return len(joined(self.target)), len(joined(self.given))


class Seq2Seq(Generator):
    """A `Generator` over the Transformer of each part; one may serve all three.

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
        self.reader = CorpusPartReader(tokenizer, models[Role.SENTENCE].shape.max_tokens)
        self._batch_tokens = batch_tokens

    def likelihoods(
        self,
        sentences: Sequence[str],
        contexts: Sequence[Context],
        pairs: Pairs,
        roles: Set[Role] = ALL_ROLES,
        evidence: bool = True,
    ) -> Singles:
        """Return the terms of each pair; see `Generator`."""
        values = np.zeros((len(Role), len(pairs)), np.float32)
        order = np.lexsort((pairs[:, 0], pairs[:, 1]))
        for begin in range(0, len(order), _BLOCK):
            block = order[begin : begin + _BLOCK]
            triples = self.reader.triples(sentences, contexts, pairs[block])
            for role in sorted(roles):
                asked = [Job.of(t, role, evidence) if t[role] else None for t in triples]
                jobs = list(dict.fromkeys(job for job in asked if job))
                scores = self.score(jobs, role).tolist()
                mean = {job: s / job.size[0] for job, s in zip(jobs, scores, strict=True)}
                values[role, block] = [mean[job] if job else 0.0 for job in asked]
        return values

    def score(self, jobs: Sequence[Job], role: Role) -> Floats:
        """Return log p(target | given) of each job, in nats; all jobs generate the part `role`."""
        scores = np.zeros(len(jobs))
        if not jobs:
            return scores
        model = self.models[role]
        with torch.inference_mode():
            encoded = EncodedParts(model, jobs, self.reader, self._batch_tokens)
            for batch in batches([job.size for job in jobs], self._batch_tokens):
                chosen = [jobs[i] for i in batch]
                prediction, targets = encoded.predict(chosen)
                logs = mixture_scores(model, prediction, targets).cpu().double()
                rows = np.repeat(np.arange(len(chosen)), [job.size[0] for job in chosen])
                scores[batch] = np.bincount(rows, logs.numpy())
        return scores


class EncodedParts:
    """What jobs are given, each distinct row encoded once, as keys and values.

    A row is one sentence, or with `Shape.joint` all of a job, which few jobs share. `budget` tokens
    are encoded at once, padding included.
    """

    def __init__(
        self, model: ContextTransformer, jobs: Sequence[Job], reader: CorpusPartReader, budget: int
    ) -> None:
        self._model, self._reader = model, reader
        self._where = model.word.weight.device
        distinct = list(dict.fromkeys(row for job in jobs for row in self._rows(job)))
        sizes = [len(joined(row)) for row in distinct]
        layers: list[list[Tensor]] = []
        self._spans: dict[Part, range] = {}
        end = 0
        for batch in batches([(size, 0) for size in sizes], budget):
            packed = Packed.of([distinct[i] for i in batch], self._where)
            layers.append([*model.read(packed), packed.tokens])
            for i in batch:
                begin, end = end, end + sizes[i]
                self._spans[distinct[i]] = range(begin, end)
        self._layers = [torch.cat(parts) for parts in zip(*layers, strict=True)]

    def _rows(self, job: Job) -> list[Part]:
        """Return `<mask>` in place of the first missing sentence, and then what is given."""
        missing = (job.target[0][0], (self._reader.missing,))
        if self._model.shape.joint and job.given:
            return [(missing,), job.given]
        return [(sentence,) for sentence in (missing, *job.given)]

    def predict(self, jobs: Sequence[Job]) -> tuple[Prediction, Tensor]:
        """Predict the targets of some of the jobs; return these too, one after another."""
        rows = [[place for row in self._rows(j) for place in self._spans[row]] for j in jobs]
        longest = max(map(len, rows))
        places = np.zeros((len(jobs), longest), np.int64)
        real = np.zeros((len(jobs), longest), np.bool_)
        for i, row in enumerate(rows):
            places[i, : len(row)], real[i, : len(row)] = row, True
        index = torch.from_numpy(places.ravel()).to(self._where)
        *layers, tokens = (
            x.index_select(0, index).view(len(jobs), longest, *x.shape[1:]) for x in self._layers
        )
        memory = Memory(layers, tokens, torch.from_numpy(real).to(self._where))
        targets = Packed.of([job.target for job in jobs], self._where)
        return self._model.decode(targets, self._reader.start, memory), targets.tokens


def batches(sizes: Sequence[tuple[int, int]], budget: int) -> Iterator[list[int]]:
    """Yield indices of rows, longest first, in batches of at most `budget` padded tokens.

    A row is given as two lengths, and is padded to the longest of each in its batch.
    """
    order = sorted(range(len(sizes)), key=lambda i: sizes[i], reverse=True)
    batch: list[int] = []
    queries = keys = 0
    for i in order:
        queries, keys = max(queries, sizes[i][0]), max(keys, sizes[i][1])
        if batch and (len(batch) + 1) * (queries + keys) > budget:
            yield batch
            batch, (queries, keys) = [], sizes[i]
        batch.append(i)
    if batch:
        yield batch

"""The three likelihoods from encoder-decoder Transformers trained on the corpus (§3.2.2, Eq. 2)."""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from tokenizers import Tokenizer
from torch import Tensor

from firth.corpus.context import Context
from firth.paper.generation.protocol import (
    ROLE_OF,
    Generator,
    Likelihoods,
    Pairs,
    PartReader,
    Role,
    Term,
    Tokens,
    Triple,
)
from firth.paper.generation.transformer import ContextTransformer, Memory, Packed, mixture_scores
from firth.run.errors import InputError

_BLOCK = 1024
"""Pairs treated together: bounds the encoded sentences held at once."""

Given = tuple[Role, Tokens]


class CorpusPartReader(PartReader):
    """Reads parts with the tokenizer of a run; sentences of one side are tokenised one by one."""

    def __init__(self, tokenizer: Tokenizer, max_tokens: int) -> None:
        super().__init__(max_tokens)
        self._tokenizer = tokenizer

    def _encode(self, texts: Sequence[str]) -> list[list[int]]:
        encoded = self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        return [each.ids for each in encoded]

    def _joined(self, sides: Sequence[Sequence[str]]) -> list[list[int]]:
        encoded = iter(self.tokens([text for side in sides for text in side]))
        return [[token for _ in side for token in next(encoded)] for side in sides]


def special_tokens(tokenizer: Tokenizer) -> tuple[int, int]:
    """Ids of `<s>`, which begins a part to be generated, and `<mask>`, which stands for it.

    Raises:
        InputError: The tokenizer lacks them.
    """
    start, missing = tokenizer.token_to_id("<s>"), tokenizer.token_to_id("<mask>")
    if start is None or missing is None:
        raise InputError("the tokenizer lacks <s> or <mask>; expected the tokenizer of a run")
    return start, missing


@dataclass(frozen=True)
class Job:
    """A part to be generated, and what from. Equal jobs are done once.

    Attributes:
        target: The tokens to be generated; not empty.
        role: Which part they are.
        given: The other parts, without empty ones.
    """

    target: Tokens
    role: Role
    given: tuple[Given, ...]

    @classmethod
    def of(cls, triple: Triple, role: Role, *, whole: bool) -> "Job":
        """Generate the part `role` of `triple`.

        With the evidence of the likelihoods, the other two parts; where not `whole`, with that of
        the baseline: the other side without the sentence, and for the sentence nothing.
        """
        kept = [r for r in Role if r is not role and (whole or Role.SENTENCE not in (r, role))]
        return cls(triple[role], role, tuple((r, triple[r]) for r in kept if triple[r]))

    @property
    def size(self) -> tuple[int, int]:
        """Tokens generated, and tokens attended to."""
        return len(self.target), sum(len(tokens) for _, tokens in self.given)


class Seq2Seq(Generator):
    """A `Generator` over trained Transformers.

    log p(target | given) is Eq. 2: the sum of the log-probabilities of the target's tokens. That a
    text ends after its last token is not part of it, as for a causal language model.

    Args:
        models: The Transformer that generates each part; one may serve all three.
        tokenizer: Of the run.
        batch_tokens: Tokens of a batch, padding included.
    """

    def __init__(
        self,
        models: Mapping[Role, ContextTransformer],
        tokenizer: Tokenizer,
        *,
        batch_tokens: int = 8_192,
    ) -> None:
        self._models = models
        self._reader = CorpusPartReader(tokenizer, models[Role.SENTENCE].shape.max_tokens)
        self._start, self._missing = special_tokens(tokenizer)
        self._batch_tokens = batch_tokens

    def _terms(
        self,
        sentences: Sequence[str],
        contexts: Sequence[Context],
        pairs: Pairs,
        terms: Set[Term],
        whole: bool,
    ) -> Likelihoods:
        found = {term.value: np.zeros(len(pairs), np.float32) for term in Term}
        order = np.lexsort((pairs[:, 0], pairs[:, 1]))
        for begin in range(0, len(order), _BLOCK):
            block = order[begin : begin + _BLOCK]
            triples = self._reader.triples(sentences, contexts, pairs[block])
            for term in (term for term in Term if term in terms):
                role = ROLE_OF[term]
                asked = [Job.of(t, role, whole=whole) if t[role] else None for t in triples]
                jobs = list(dict.fromkeys(job for job in asked if job))
                scores = self.score(jobs, role).tolist()
                mean = {job: s / len(job.target) for job, s in zip(jobs, scores, strict=True)}
                found[term.value][block] = [mean[job] if job else 0.0 for job in asked]
        return Likelihoods(**found)

    def score(self, jobs: Sequence[Job], role: Role) -> npt.NDArray[np.float64]:
        """log p(target | given) of each job, in nats; all jobs generate the part `role`."""
        found = np.zeros(len(jobs))
        if not jobs:
            return found
        model = self._models[role]
        with torch.inference_mode():
            encoded = _Encoded(model, jobs, (role, (self._missing,)), self._batch_tokens)
            for batch in batches([job.size for job in jobs], self._batch_tokens):
                chosen = [jobs[i] for i in batch]
                inputs = [(self._start, *job.target[:-1]) for job in chosen]
                given = Packed.of(inputs, [role] * len(chosen), encoded.device)
                targets = torch.tensor(
                    [t for job in chosen for t in job.target], device=encoded.device
                )
                memory = encoded.memory([job.given for job in chosen])
                scores = mixture_scores(model, model.decode(given, memory, targets), targets)
                rows = torch.arange(len(chosen)).repeat_interleave(given.lengths.cpu())
                sums = torch.zeros(len(chosen), dtype=torch.float64)
                found[batch] = sums.index_add_(0, rows, scores.cpu().double()).numpy()
        return found


class _Encoded:
    """What the jobs are given, each distinct part encoded once, as keys and values."""

    def __init__(
        self, model: ContextTransformer, jobs: Sequence[Job], missing: Given, budget: int
    ) -> None:
        self.device = model.word.weight.device
        texts = list({missing: 0} | {given: 0 for job in jobs for given in job.given})
        layers: list[list[Tensor]] = []
        self._spans: dict[Given, tuple[int, int]] = {}
        end = 0
        for batch in batches([(len(tokens), 0) for _, tokens in texts], budget):
            chosen = [texts[i] for i in batch]
            packed = Packed.of([t for _, t in chosen], [r for r, _ in chosen], self.device)
            layers.append([*model.read(packed), packed.tokens])
            for given in chosen:
                self._spans[given] = (end, end + len(given[1]))
                end += len(given[1])
        self._layers = [torch.cat(parts) for parts in zip(*layers, strict=True)]
        self._missing = missing

    def memory(self, given: Sequence[Sequence[Given]]) -> Memory:
        """The memory of decoder rows that are given these parts, and the missing one's mark."""
        spans = [[self._spans[g] for g in (self._missing, *parts)] for parts in given]
        longest = max(sum(end - begin for begin, end in row) for row in spans)
        places = np.zeros((len(given), longest), np.int64)
        real = np.zeros((len(given), longest), np.bool_)
        for i, row in enumerate(spans):
            own = np.concatenate([np.arange(begin, end) for begin, end in row])
            places[i, : len(own)], real[i, : len(own)] = own, True
        index = torch.from_numpy(places).to(self.device)
        *layers, tokens = (x[index] for x in self._layers)
        return Memory(layers, tokens, torch.from_numpy(real).to(self.device))


def batches(sizes: Sequence[tuple[int, int]], budget: int) -> Iterator[list[int]]:
    """Indices of rows, the longest first, in batches of at most `budget` padded tokens."""
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

"""The three likelihoods from encoder-decoder Transformers trained on the corpus (§3.2.2, Eq. 2)."""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from tokenizers import Tokenizer
from torch import Tensor

from firth.corpus.context import Context
from firth.paper.generation.forest import Tokens
from firth.paper.generation.mixture import mixture_scores
from firth.paper.generation.packed import Packed
from firth.paper.generation.protocol import ALL_TERMS, Likelihoods, Pairs, Term
from firth.paper.generation.roles import PartReader, Role, special_tokens
from firth.paper.generation.transformer import ContextTransformer, Memory

PART_OF = {Term.SENTENCE: Role.SENTENCE, Term.LEFT: Role.LEFT, Term.RIGHT: Role.RIGHT}
_BLOCK = 1024
"""Pairs treated together: bounds the encoded sentences held at once."""

Given = tuple[Role, Tokens]


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
    def of(cls, parts: Mapping[Role, Tokens], role: Role) -> "Job":
        """Generate the part `role` from the others in `parts`."""
        given = tuple((r, parts[r]) for r in Role if r is not role and parts.get(r))
        return cls(parts[role], role, given)

    @property
    def size(self) -> tuple[int, int]:
        """Tokens generated, and tokens attended to."""
        return len(self.target), sum(len(tokens) for _, tokens in self.given)


class Seq2Seq:
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
        self._reader = PartReader(tokenizer, models[Role.SENTENCE].shape.max_tokens)
        self._start, self._missing = special_tokens(tokenizer)
        self._batch_tokens = batch_tokens

    def likelihoods(
        self,
        sentences: Sequence[str],
        contexts: Sequence[Context],
        pairs: Pairs,
        terms: Set[Term] = ALL_TERMS,
    ) -> Likelihoods:
        """See `Generator.likelihoods`."""
        return self._terms(sentences, contexts, pairs, terms, whole=True)

    def baseline(
        self,
        sentences: Sequence[str],
        contexts: Sequence[Context],
        pairs: Pairs,
        terms: Set[Term] = ALL_TERMS,
    ) -> Likelihoods:
        """See `Generator.baseline`."""
        return self._terms(sentences, contexts, pairs, terms, whole=False)

    def _terms(
        self,
        sentences: Sequence[str],
        contexts: Sequence[Context],
        pairs: Pairs,
        terms: Set[Term],
        whole: bool,
    ) -> Likelihoods:
        pairs = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
        found = {term: np.zeros(len(pairs), np.float32) for term in Term}
        order = np.lexsort((pairs[:, 0], pairs[:, 1]))
        for begin in range(0, len(order), _BLOCK):
            block = order[begin : begin + _BLOCK]
            parts = self._parts(sentences, contexts, pairs[block])
            for term in Term:
                if term in terms:
                    role = PART_OF[term]
                    kept = [evidence(p, role, whole=whole) for p in parts]
                    found[term][block] = self._mean_scores(kept, role)
        return Likelihoods(found[Term.SENTENCE], found[Term.LEFT], found[Term.RIGHT])

    def _parts(
        self, sentences: Sequence[str], contexts: Sequence[Context], pairs: Pairs
    ) -> list[dict[Role, Tokens]]:
        used_s, s = np.unique(pairs[:, 0], return_inverse=True)
        used_c, c = np.unique(pairs[:, 1], return_inverse=True)
        chosen = [contexts[i] for i in used_c]
        tokens = self._reader.sentences([sentences[i] for i in used_s])
        lefts = self._reader.sides(chosen, Role.LEFT)
        rights = self._reader.sides(chosen, Role.RIGHT)
        return [
            {Role.LEFT: lefts[j], Role.SENTENCE: tokens[i], Role.RIGHT: rights[j]}
            for i, j in zip(s.tolist(), c.tolist(), strict=True)
        ]

    def _mean_scores(
        self, parts: Sequence[Mapping[Role, Tokens]], role: Role
    ) -> npt.NDArray[np.float64]:
        jobs = {Job.of(p, role): 0 for p in parts if p[role]}
        scores = self.score(list(jobs), role)
        mean = {job: s / len(job.target) for job, s in zip(jobs, scores.tolist(), strict=True)}
        return np.array([mean[Job.of(p, role)] if p[role] else 0.0 for p in parts])

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
                found[batch] = sums.index_add_(0, rows, scores.double().cpu()).numpy()
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


def evidence(parts: Mapping[Role, Tokens], role: Role, *, whole: bool) -> dict[Role, Tokens]:
    """What is used to generate the part `role`, and that part itself.

    Args:
        parts: All three parts.
        role: The part to be generated.
        whole: Whether with the evidence of the likelihoods, which is the other two parts, or with
            that of the baseline: the other side without the sentence, and for the sentence nothing.
    """
    if whole:
        return dict(parts)
    kept = {role} if role is Role.SENTENCE else set(Role) - {Role.SENTENCE}
    return {part: tokens for part, tokens in parts.items() if part in kept}


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

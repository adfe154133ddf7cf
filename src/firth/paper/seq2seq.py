"""The three likelihoods from encoder-decoder Transformers learned on the corpus (§3.2.2, Eq. 2)."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor

from firth.paper.neighbors import Context
from firth.paper.tokens import ALL_ROLES, Pairs, Part, PartReader, Role, Triple, by_budget, joined
from firth.paper.transformer import ContextTransformer, Padded
from firth.text.types import Floats, Singles

_BLOCK = 1024
"""Pairs that are scored together, which bounds their parts in memory."""


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
        scores = np.zeros(len(jobs))
        sizes = np.array([job.size + len(joined(job.given)) for job in jobs], np.int64)
        with torch.inference_mode():
            for batch in by_budget(sizes, self._batch_tokens):
                chosen = [jobs[i] for i in batch.tolist()]
                logits, targets = predict(self.models[role], chosen, self.reader)
                logs = logits.float().log_softmax(-1).gather(1, targets[:, None])[:, 0]
                rows = np.repeat(np.arange(len(chosen)), [job.size for job in chosen])
                scores[batch] = np.bincount(rows, logs.cpu().double().numpy())
        return scores


def predict(
    model: ContextTransformer, jobs: Sequence[Job], reader: PartReader
) -> tuple[Tensor, Tensor]:
    """Return logits, (t, vocabulary), and the tokens of the targets of jobs, one after another.

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
    logits = model.logits(targets, reader.start, memory, texts.real[numbers])
    return logits, targets.tokens[targets.real]

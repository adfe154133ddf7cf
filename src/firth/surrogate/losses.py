"""What a student is to learn of its teacher: whom a sentence is like, and where it lies."""

import torch
from torch import Tensor
from torch.nn import functional


def listwise(vectors: Tensor, similarities: Tensor, temperature: float) -> Tensor:
    """How far the student's order of a batch is from the teacher's, at least 0.

    Each sentence has a distribution over the others of the batch, the softmax of its similarities
    to them; this is the mean Kullback-Leibler divergence of the student's from the teacher's (the
    loss ListMLE's peer ListNet has: Cao et al. 2007; in RankCSE: Liu et al. 2023, §3.3).

    Args:
        vectors: The student's, (n, d), of any length; their cosines are its similarities.
        similarities: The teacher's, (n, n), on the scale of cosines.
        temperature: Of both distributions.
    """
    with torch.autocast(vectors.device.type, enabled=False):  # no product of these may be rounded
        units = functional.normalize(vectors.float(), dim=1)
        itself = torch.eye(len(units), dtype=torch.bool, device=units.device)
        student, teacher = (
            functional.log_softmax((found / temperature).masked_fill(itself, -1e9), dim=1)
            for found in (units @ units.T, similarities)
        )
        return functional.kl_div(student, teacher, log_target=True, reduction="batchmean")


def apart(vectors: Tensor, wanted: Tensor) -> Tensor:
    """One minus the mean cosine of the student's vectors and the teacher's, both (n, d)."""
    return 1 - functional.cosine_similarity(vectors.float(), wanted, dim=1).mean()

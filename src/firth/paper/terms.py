"""Context fit (Eq. 3): how well a sentence fits a context, from four terms."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from firth.origin.settings import Weights


@dataclass(frozen=True)
class Terms:
    """The four terms of Eq. 3 for n (sentence, context) pairs; float32 arrays of shape (n,).

    Attributes:
        coherence: log p(y=1 | s, c), in nats, ≤ 0.
        sentence: log p(s | c) / |s|, in nats a token.
        left: log p(c_< | s, c_>) / |c_<|, in nats a token.
        right: log p(c_> | c_<, s) / |c_>|, in nats a token.
    """

    coherence: npt.NDArray[np.float32]
    sentence: npt.NDArray[np.float32]
    left: npt.NDArray[np.float32]
    right: npt.NDArray[np.float32]

    def __getitem__(self, index: npt.NDArray[np.int64] | slice) -> "Terms":
        """The terms of some of the pairs."""
        return Terms(
            self.coherence[index], self.sentence[index], self.left[index], self.right[index]
        )

    def __len__(self) -> int:
        return len(self.coherence)

    def fit(self, weights: Weights) -> npt.NDArray[np.float64]:
        """S(s, c), the weighted sum of the terms (Eq. 3); float64 of shape (n,)."""
        total = np.zeros(len(self), dtype=np.float64)
        for weight, term in (
            (weights.coherence, self.coherence),
            (weights.sentence, self.sentence),
            (weights.left, self.left),
            (weights.right, self.right),
        ):
            if weight:
                total += weight * term.astype(np.float64)
        return total

    @classmethod
    def concatenate(cls, parts: "list[Terms]") -> "Terms":
        """Several runs of terms, one after the other."""
        return cls(
            np.concatenate([part.coherence for part in parts]),
            np.concatenate([part.sentence for part in parts]),
            np.concatenate([part.left for part in parts]),
            np.concatenate([part.right for part in parts]),
        )

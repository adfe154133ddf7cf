"""What a request may take."""

from dataclasses import dataclass

CHARACTERS = 20_000
"""Of a text."""
DOCUMENT_CHARACTERS = 1_000_000
"""Of a document that is compared."""
TEXTS = 2_048
"""Encoded by one request; as many as OpenAI's."""
PAIRS = 1_000
"""Scored by one request."""
HITS = 1_000
"""Of one search; groups or pairs of documents of one answer."""
PAGE = 50
"""Documents listed at once."""
BODY = 4 << 20
"""Bytes."""


@dataclass(frozen=True)
class Load:
    """How much is done at once, and for how long.

    Attributes:
        requests: Under way at once, those that wait included; more are refused: 429.
        batch: Texts of different requests that are encoded together, at most.
        seconds: Until an answer: 504 afterwards.
        long_seconds: Until the answer of what tells its progress.
    """

    requests: int = 64
    batch: int = 256
    seconds: float = 30.0
    long_seconds: float = 1_800.0

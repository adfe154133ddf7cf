"""Seeds: every random choice of a run follows from one number and the name of what it decides."""

import hashlib


def derive_seed(seed: int, *names: str | int) -> int:
    """Return a 63-bit seed for the purpose `names`, independent of every other purpose.

    Example:
        >>> derive_seed(13, "coherence") == derive_seed(13, "coherence")
        True
        >>> derive_seed(13, "coherence") == derive_seed(13, "generator")
        False
    """
    text = "/".join(str(part) for part in (seed, *names))
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1

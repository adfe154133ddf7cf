"""Labels of pairs of texts: which one says that the two are alike."""

from collections.abc import Collection

NLI = ("entailment", "neutral", "contradiction")
"""The labels of natural language inference, in the order in which SNLI numbers them."""
_ALIKE = ("1", "true", "yes", "entailment", "duplicate", "paraphrase", "equivalent", "similar",
          "same", "match")  # fmt: skip


def alike(labels: Collection[str]) -> str | None:
    """The label, of two or of those of inference, that says that two texts are alike; of `not_X`
    and `X` it is `X`. None where none of them does, or they are of another number.

    Args:
        labels: In lower case.

    Example:
        >>> alike(["0", "1"]), alike(["match", "not_match"]), alike(NLI), alike(["cow", "ship"])
        ('1', 'match', 'entailment', None)
    """
    if set(labels) != set(NLI) and len(set(labels)) != 2:
        return None
    for label in labels:
        if not {f"not_{label}", f"not {label}"}.isdisjoint(labels):
            return label
    return next((label for label in _ALIKE if label in labels), None)

"""Settings of the check without labels."""

from firth.run.section import Count, Section


class CheckConfig(Section):
    """Questions whose answers the documents themselves give."""

    items: Count = 2_000
    """Most items of a kind."""
    others: Count = 9
    """Wrong candidates of an item of kind `next` or `crop`."""
    distance: Count = 4
    """Wrong candidates from the sentence's own document stand at least so many sentences away."""

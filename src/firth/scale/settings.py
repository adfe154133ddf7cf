"""Settings of the scale of scores."""

from firth.run.section import Count, Section


class ScaleConfig(Section):
    """How many pairs are drawn, and what people said of some."""

    pairs: Count = 200_000
    """Random pairs that the vectors are asked about; of the other kinds a quarter."""
    origin_pairs: Count = 5_000
    """Random pairs that Origin is asked about; of the other kinds a quarter."""
    labels: str | None = None
    """TSV file of pairs that people judged: two sentences, and 1 or 0."""

"""Settings of the index of vectors."""

from firth.run.section import Section


class IndexConfig(Section):
    """Which vectors are stored."""

    model: str | None = None
    """Folder or hub name of a sentence encoder; none: the run's Surrogate."""

"""Settings of the evaluation at the end of a run."""

from firth.run.section import Count, Section


class EvaluateConfig(Section):
    """What `firth run` evaluates at the end."""

    tasks: tuple[str, ...] = ()
    data_dir: str | None = None
    resamples: Count = 1_000
    """Bootstrap resamples of the 95 % intervals."""

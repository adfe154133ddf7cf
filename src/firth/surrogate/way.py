"""Which way a run's Surrogate is taught."""

from firth.origin.settings import Method
from firth.run.errors import ConfigError
from firth.run.run import Run
from firth.surrogate.settings import Way


def way_of(run: Run) -> Way:
    """As configured, else by the teacher: pairs for Origin as printed, matrices for all others.

    Raises:
        ConfigError: Origin as printed is to give matrices, which would take it weeks.
    """
    config = run.config.surrogate
    printed = config.teacher is None and run.config.origin.method is Method.PAPER
    if config.way is Way.MATRICES and printed:
        problem = (
            "surrogate.way: got matrices, all similarities of every batch, of origin.method paper, "
            "which takes a second for each; expected way paper, or a surrogate.teacher"
        )
        raise ConfigError(str(run.path), [problem])
    return config.way or (Way.PAPER if printed else Way.MATRICES)

"""Quiet libraries: their warnings, logs and bars stay off the screen; errors are still raised."""

import logging
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_LOGGERS = ("sentence_transformers", "datasets", "accelerate", "torch")


@contextmanager
def quiet_libraries() -> Iterator[None]:
    """Keep what transformers, sentence-transformers and datasets say off the screen inside."""
    import transformers

    hub: Any = transformers.utils.logging  # mypy: untyped
    datasets = sys.modules.get("datasets")  # optional, and slow to import
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    levels = [logger.level for logger in loggers]
    verbosity, barred = hub.get_verbosity(), hub.is_progress_bar_enabled()
    data_bars = datasets is not None and not datasets.are_progress_bars_disabled()
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    hub.set_verbosity_error()
    hub.disable_progress_bar()
    if datasets is not None:
        datasets.disable_progress_bars()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
        hub.set_verbosity(verbosity)
        if barred:
            hub.enable_progress_bar()
        if datasets is not None and data_bars:
            datasets.enable_progress_bars()

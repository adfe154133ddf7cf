"""Silence for libraries that talk to the screen: errors still come out as exceptions."""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import datasets
import transformers

_LOGGERS = ("sentence_transformers", "datasets", "accelerate", "torch")
_transformers: Any = transformers.utils.logging  # mypy: untyped


@contextmanager
def silence() -> Iterator[None]:
    """Keep warnings, logs and bars of the training libraries off the screen inside the block."""
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    levels = [logger.level for logger in loggers]
    verbosity, barred = _transformers.get_verbosity(), _transformers.is_progress_bar_enabled()
    data_bars = datasets.are_progress_bars_disabled()
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    _transformers.set_verbosity_error()
    _transformers.disable_progress_bar()
    datasets.disable_progress_bars()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
        _transformers.set_verbosity(verbosity)
        if barred:
            _transformers.enable_progress_bar()
        if not data_bars:
            datasets.enable_progress_bars()

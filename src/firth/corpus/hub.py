"""Data sets of the Hugging Face hub, streamed through `datasets`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa

from firth.run.errors import InputError
from firth.run.files import fingerprint_value
from firth.run.hub import hub_is_reachable


def _parts(name: str) -> tuple[str, str | None, str]:
    """(data set, configuration, split) of NAME[:CONFIG[:SPLIT]]; `train` is the default split."""
    path, _, rest = name.partition(":")
    config, _, split = rest.partition(":")
    return path, config or None, split or "train"


def fingerprint_hub(name: str) -> str:
    """Of the data set's name, configuration, split and revision.

    Raises:
        InputError: If the data set cannot be reached or has no such configuration or split.
    """
    path, config, split = _parts(name)
    if not Path(path).is_dir() and not hub_is_reachable():
        raise InputError(
            f"hub:{name}: the hub cannot be reached from here. Expected a network, or with "
            "HF_HUB_OFFLINE=1 a copy in its cache; or download the data set elsewhere, as files"
        )
    try:
        builder = datasets.load_dataset_builder(path, config)
    except Exception as error:  # whatever the client raises, the user must hear it
        raise InputError(f"hub:{name}: cannot be opened ({_first_line(error)})") from error
    files = sorted(map(str, (builder.config.data_files or {}).get(split, ())))
    return fingerprint_value([path, config, split, str(builder.hash), files])


def hub_batches(name: str) -> Iterator[pa.RecordBatch]:
    """The rows of a data set in order, in batches whose values are not converted.

    Raises:
        InputError: The data set cannot be opened, or reading it stops before its end.
    """
    path, config, split = _parts(name)
    try:
        stream: Any = datasets.load_dataset(path, config, split=split, streaming=True)
        for table in stream.with_format("arrow").iter(64):
            yield from table.to_batches()
    except Exception as error:
        raise InputError(f"hub:{name}: reading stopped ({_first_line(error)})") from error


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"

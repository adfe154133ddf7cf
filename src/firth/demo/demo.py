"""The demo: from documents to a similarity model in minutes, with everything shown on the way."""

from collections.abc import Sequence
from importlib import resources
from typing import Any

import yaml

from firth.config import Config

_SCALED = {"coherence": "steps", "generator": "steps", "harvest": "pairs"}


def demo_config(inputs: Sequence[str], size: float, seed: int | None) -> Config:
    """The demo's configuration, with steps and pairs reduced to the share `size`."""
    text = resources.files("firth.demo").joinpath("demo.yaml").read_text(encoding="utf-8")
    values: dict[str, Any] = yaml.safe_load(text)
    for section, name in _SCALED.items():
        values[section][name] = max(20, round(size * values[section][name]))
    shards = values["harvest"]["pairs"] // 10
    values["harvest"]["shard_pairs"] = min(values["harvest"]["shard_pairs"], max(10, shards))
    values["harvest"]["pairs"] = max(values["harvest"]["pairs"], 100)
    values["corpus"] = {"inputs": list(inputs)}
    return Config.parse(values, "demo.yaml").changed({"seed": seed}, "--seed")

"""Baselines: plain ways to compare two sentences, behind the one protocol of everything scored."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from firth.baselines.protocol import Scorer
    from firth.baselines.registry import BASELINES, open_baseline

__all__ = ["BASELINES", "Scorer", "open_baseline"]


def __getattr__(name: str) -> Any:
    if name == "Scorer":
        from firth.baselines.protocol import Scorer

        return Scorer
    if name in ("BASELINES", "open_baseline"):
        from firth.baselines import registry

        return getattr(registry, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

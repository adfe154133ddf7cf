"""The contrastive bag of words (`firth.context.bag`) as a baseline."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from firth.context.bag import learn
from firth.lexical.word_vectors import load
from firth.run.run import Run
from firth.run.seeds import derive_seed
from firth.run.stage import SCRATCH

__all__ = ["fit", "load"]


def fit(run: Run, name: str, workspace: Path) -> Mapping[str, Any]:
    """Train it; see `firth.baselines.trained`. Errors as in `firth.context.bag.learn`."""
    seed = derive_seed(run.config.seed, "baseline", name)
    config = run.config.baselines.bag
    bag, summary, _ = learn(run, config, seed, workspace / SCRATCH, f"Baseline {name}")
    bag.save(workspace)
    return summary

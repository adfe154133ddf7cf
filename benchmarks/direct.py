"""Direct contexts of a language model beside word overlap, and added to tf-idf and to the scorer.

usage: python benchmarks/direct.py RUN MODEL --data-dir DATA

RUN gives word counts and a scorer. Scores of the model are kept in shards of 50 pairs, so that a
stopped call continues. Pairs are random; a smaller sample is part of a larger one.
"""

import argparse
from pathlib import Path

import numpy as np
import torch

from figures import Cell, record
from firth.encoders.transformer import has_bfloat16
from firth.evaluation.baselines import Dice, open_baseline
from firth.evaluation.metrics import Metric, measure, measure_difference
from firth.evaluation.sets import load_set
from firth.model import open_scorer
from firth.paper.direct import Direct
from firth.run.console import note
from firth.run.settings import derive_seed
from firth.text.types import Floats, PairScorer, TextPair

SEED, SHARD = 13, 50
SETS = {
    "STSb dev": ("sts-b:dev", 200),
    "STS12": ("sts12:test", 200),
    "STSb test": ("sts-b:test", 1_379),
    "STS13": ("sts13:test", 500),
    "STS14": ("sts14:test", 500),
}
"""Sets and their random pairs. The first two choose, the others report."""
WEIGHT = 0.25
"""Weight of direct contexts beside the scorer, both of deviation 1."""


def opened(model: str) -> Direct:
    """Open direct contexts by a language model."""
    where = torch.device("cpu")
    dtype = torch.bfloat16 if has_bfloat16(where) else torch.float32
    return Direct.open(model, dtype, where)


def scores(direct: Direct | None, name: str, pairs: list[TextPair], folder: Path) -> Floats:
    """Return the scores of pairs by shards of a folder; without a model, those that are there."""
    found: list[Floats] = [np.zeros(0)]
    for start in range(0, len(pairs), SHARD):
        file = folder / f"{name.replace(':', '-')}-{start:05d}.npy"
        if not file.is_file():
            if direct is None:
                break
            np.save(file, direct.similarities(pairs[start : start + SHARD]))
            note(file.name)
        found.append(np.load(file))
    return np.concatenate(found)


def alike(values: Floats) -> Floats:
    """Return scores of mean 0 and deviation 1."""
    return np.asarray((values - values.mean()) / values.std())


def column(name: str, most: int, direct: Direct | None, given: argparse.Namespace) -> list[Cell]:
    """Return the cells of a set, of which `most` pairs are scored."""
    data = load_set(name, given.data_dir)
    # The order of `EvaluationSet.sampled`.
    rng = np.random.default_rng(derive_seed(SEED, "reproduce", "pairs"))
    drawn = rng.permutation(len(data.rows))[:most]
    known = scores(direct, name, [data.pairs[row] for row in drawn], given.shards)
    drawn = drawn[: len(known)]
    gold, pairs = data.scores[drawn], [data.pairs[row] for row in drawn]
    rivals: dict[str, PairScorer] = {
        "Dice": Dice(),
        "tf-idf": open_baseline("tfidf", given.run),
        "scorer": open_scorer(str(given.run)),
    }
    found = {row: scorer.similarities(pairs) for row, scorer in rivals.items()} | {"direct": known}

    def change(first: Floats, second: str) -> Cell:
        both = (gold, first), (gold, found[second])
        return measure_difference(Metric.SPEARMAN, *both, seed=SEED)

    return [
        len(known),
        *(measure(Metric.SPEARMAN, gold, found[row], seed=SEED) for row in found),
        change(known, "Dice"),
        change(known, "tf-idf"),
        change(alike(found["tf-idf"]) + alike(known), "tf-idf"),
        change(alike(found["scorer"]) + WEIGHT * alike(known), "scorer"),
    ]


ROWS = (
    "pairs", "Dice", "tf-idf of stems", "firth's scorer", "direct contexts",
    "direct minus Dice", "direct minus tf-idf", "tf-idf + direct, minus tf-idf",
    "scorer + ¼ direct, minus scorer",
)  # fmt: skip


def main() -> None:
    """Measure, and record the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("model", help="folder, GGUF file or hub name; - takes stored scores alone")
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--shards", type=Path, default=Path("direct-shards"))
    given = parser.parse_args()
    given.shards.mkdir(parents=True, exist_ok=True)
    direct = None if given.model == "-" else opened(given.model)
    columns = [column(name, most, direct, given) for name, most in SETS.values()]
    rows = {row: list(cells) for row, cells in zip(ROWS, zip(*columns, strict=True), strict=True)}
    record(
        "paper-direct",
        ["", *SETS],
        rows,
        command="python benchmarks/direct.py kb SmolLM2-135M-Instruct --data-dir DATA",
        data="random pairs of each set; word counts and scorer of 9.7M words",
        seed=SEED,
    )


if __name__ == "__main__":
    main()

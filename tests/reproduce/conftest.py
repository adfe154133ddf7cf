"""A rated set and a run that the ablations may change."""

import random
import shutil
from pathlib import Path

import pytest

from firth.evaluate import readers
from firth.reproduce.options import Options, Request
from firth.run.config import Config
from firth.run.run import CONFIG, Run

NOUNS = ["ship", "harbour", "wave", "sailor", "storm", "judge", "lawyer", "trial", "cow", "barn"]


@pytest.fixture
def stsb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An evaluation folder whose STSb has 24 test pairs and 12 dev pairs, rated by word overlap."""
    monkeypatch.setattr(readers, "hub_is_reachable", lambda: False)
    rng = random.Random(7)
    text = "sentence1\tsentence2\tscore\tsubtask\tsplit\n"
    for split, rows in (("test", 24), ("dev", 12)):
        for _ in range(rows):
            one, two = rng.sample(NOUNS, 3), rng.sample(NOUNS, 3)
            kept = rng.randint(0, 3)
            two[:kept] = one[:kept]
            first, second = (f"The {a} saw the {b} near the {c}." for a, b, c in (one, two))
            score = 5 * len({*one} & {*two}) / len({*one} | {*two})
            text += f"{first}\t{second}\t{score:.2f}\tmain\t{split}\n"
    path = tmp_path / "sets" / "STSb" / "pairs.tsv"
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
    return path.parents[1]


@pytest.fixture
def whole_run(tiny_run: Path, tmp_path: Path) -> Run:
    """A copy of the finished tiny run, scoring in float32, so that batches change no more than the
    last bits. Its own Origin is far from the paper's: centred, corrected, other weights."""
    path = Path(shutil.copytree(tiny_run, tmp_path / "whole"))
    origin = {"measure": "centred", "pmi": True, "contexts": 3,
              "weights": {"coherence": 0.1, "left": 2.0}}  # fmt: skip
    changes = {"generator": {"precision": "float32"}, "paper": origin, "run": None}
    return Run.create(path, Config.load(path / CONFIG).changed(changes, "test"))


def request_of(run: Run, data_dir: Path, **options: object) -> Request:
    """What an experiment is given."""
    asked = Options(**options)  # type: ignore[arg-type]
    return Request("trial", run.path / "out", run, data_dir, asked, run.config.seed)

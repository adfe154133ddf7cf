"""Processes that torchrun starts share trainings: the bytes of one that did all."""

import csv
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
from sentence_transformers import SentenceTransformer
from tests.finetune.conftest import scored_rows
from tests.run import shared_trainings
from tests.run.shared_trainings import train_all

from firth.lexical.arrays import Singles


def lay_out(folder: Path, run: Path, bert: Path, llm: Path) -> None:
    folder.mkdir()
    for source, name in ((run, "run"), (bert, "bert"), (llm, "llm")):
        shutil.copytree(source, folder / name)
    rows = scored_rows(40)
    with (folder / "pairs.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def files(folder: Path) -> dict[str, bytes]:
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def read(model: Path) -> Singles:
    """Vectors of some sentences."""
    texts = [str(row[name]) for row in scored_rows(40) for name in ("sentence1", "sentence2")]
    found: Singles = SentenceTransformer(str(model), device="cpu").encode(texts)
    return found


def test_two_processes_train_as_one(
    tiny_run: Path, tiny_bert: Path, tiny_llm: Path, tmp_path: Path
) -> None:
    """Batches of a step (the generator), parts of a batch (coherence, a language model's tuning,
    students of pairs and of matrices, a cross-encoder), or nothing (word vectors), shared by two
    processes (gloo): weights, histories, reports and manifests are those of one process, and one of
    them speaks. Of losses that read each side of a pair by itself (fine-tuning) gradients are added
    in another order."""
    folder = tmp_path / "trainings"  # paths are told in reports: it is the same for both
    lay_out(folder, tiny_run, tiny_bert, tiny_llm)
    train_all(folder)
    alone = files(folder / "made")
    tuned = {model.name: read(model) for model in (folder / "tuned").iterdir()}
    assert len(alone) > 30  # the premise: there is something to compare
    assert all(np.abs(one - read(tiny_bert)).max() > 1e-2 for one in tuned.values())
    shutil.rmtree(folder)
    lay_out(folder, tiny_run, tiny_bert, tiny_llm)
    start = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    path = os.pathsep.join(map(os.path.abspath, sys.path))
    done = subprocess.run(
        [sys.executable, *start, shared_trainings.__file__, str(folder)],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": path, "FIRTH_DEVICE": "cpu"},
    )
    assert done.returncode == 0, done.stderr
    assert sum(line.startswith("generator") for line in done.stdout.splitlines()) == 1
    shared = files(folder / "made")
    assert [name for name in alone if alone[name] != shared.get(name)] == []
    assert alone.keys() == shared.keys()
    for name, one in tuned.items():
        np.testing.assert_allclose(read(folder / "tuned" / name), one, atol=1e-4)

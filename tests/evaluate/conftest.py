"""Evaluation folders of a few rows, and an encoder of a few words."""

import random
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.normalizers import Lowercase
from tokenizers.pre_tokenizers import Whitespace

from firth.evaluate import models, readers
from firth.run import model_files

WORDS = "a the ship sea storm sailed left harbour red old captain it was"
VOCABULARY = WORDS.split()
PAIR_COLUMNS = ("sentence1", "sentence2", "score", "subtask", "split")
TRIPLET_COLUMNS = ("anchor", "positive", "negative", "article_section", "split")

Cells = Sequence[object]
WriteSet = Callable[..., Path]


def made_up_sentence(rng: random.Random) -> str:
    """Three to nine words of the tiny vocabulary."""
    return " ".join(rng.choices(VOCABULARY, k=rng.randint(3, 9)))


def made_up_pairs(count: int, split: str, subtasks: Sequence[str], seed: int = 1) -> list[Cells]:
    """Rows of pairs whose score, 0 to 5, follows the number of shared words, roughly."""
    rng = random.Random(seed)
    rows: list[Cells] = []
    for i in range(count):
        one, two = made_up_sentence(rng), made_up_sentence(rng)
        shared = len(set(one.split()) & set(two.split()))
        score = min(5.0, max(0.0, shared + rng.uniform(-1, 1)))
        rows.append((one, two, f"{score:.3f}", subtasks[i % len(subtasks)], split))
    return rows


def table(columns: Sequence[str], rows: Sequence[Cells]) -> str:
    """Rows as tab-separated text."""
    return "".join("\t".join(map(str, row)) + "\n" for row in (columns, *rows))


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """An evaluation folder with made-up rows of sts13, sts-b (three splits) and wiki-sections."""
    rng = random.Random(7)
    folder = tmp_path / "eval"
    stsb = [
        row
        for split in ("train", "dev", "test")
        for row in made_up_pairs(30, split, ["main-captions/x", "main-news/y"], seed=len(split))
    ]
    triplets = [(*(made_up_sentence(rng) for _ in range(3)), "section", "test") for _ in range(20)]
    for name, text in {
        "STS13/pairs.tsv": table(PAIR_COLUMNS, made_up_pairs(40, "test", ["FNWN", "OnWN"])),
        "STSb/pairs.tsv": table(PAIR_COLUMNS, stsb),
        "WikiSections-substitute/triplets.tsv": table(TRIPLET_COLUMNS, triplets),
    }.items():
        path = folder / name
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def encoder_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sentence-transformers folder: averaged random word vectors, unknown words left out."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding

    tokenizer = Tokenizer(
        WordLevel({word: i for i, word in enumerate(VOCABULARY)}, unk_token="the")
    )
    tokenizer.normalizer = Lowercase()
    tokenizer.pre_tokenizer = Whitespace()
    weights = np.random.default_rng(2).normal(size=(len(VOCABULARY), 12)).astype(np.float32)
    folder = tmp_path_factory.mktemp("encoder") / "model"
    model = SentenceTransformer(modules=[StaticEmbedding(tokenizer, weights)], device="cpu")
    model.save(str(folder))
    return folder


@pytest.fixture(scope="session")
def vectors_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of random word vectors in GloVe's format."""
    words = [*VOCABULARY, "judge", "piano", "in", "İstanbul", "船は港を出た"]
    rng = np.random.default_rng(6)
    lines = [f"{word} {' '.join(map(str, rng.normal(size=8)))}\n" for word in words]
    path = tmp_path_factory.mktemp("vectors") / "tiny.txt"
    path.write_text("".join(lines), encoding="utf-8")
    return path


@pytest.fixture(autouse=True)
def _no_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test waits for a network: the hub is out of reach unless a test says otherwise."""
    for module in (readers, models, model_files):
        monkeypatch.setattr(module, "hub_is_reachable", lambda: False)

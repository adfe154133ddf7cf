"""A run with a harvest whose scores are known to be learnable, and a tiny random RoBERTa."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from transformers import PreTrainedTokenizerFast, RobertaConfig, RobertaForMaskedLM

from firth.check.build import build_check
from firth.context.build import build_context
from firth.corpus.build import build_corpus
from firth.corpus.corpus import Corpus
from firth.corpus.tokenizer import build_tokenizer, open_tokenizer
from firth.harvest import HARVEST
from firth.harvest.labels import LABELS, label_report
from firth.lexical.words import jaccard, words
from firth.origin.choose import build_origin
from firth.run.config import Config
from firth.run.files import write_json
from firth.run.run import Run


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a folder, by its path inside."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def write_pairs(run: Run, sizes: dict[str, int]) -> None:
    """A harvest whose score is the Jaccard similarity of words, plus 0.5 for the same topic."""
    corpus, rng = Corpus.open(run), np.random.default_rng(7)
    topics = np.array([corpus.document_id(d).split("-")[0] for d in range(corpus.n_documents)])
    assert len(set(topics)) == 4

    def fill(_: Run, workspace: Path) -> dict[str, Any]:
        for split, size in sizes.items():
            one, two = rng.integers(0, len(corpus), (2, size))
            texts = corpus.texts(one), corpus.texts(two)
            same = topics[corpus.document_of(one)] == topics[corpus.document_of(two)]
            scores = [
                jaccard(frozenset(words(a)), frozenset(words(b))) + 0.5 * alike
                for a, b, alike in zip(*texts, same, strict=True)
            ]
            columns = {
                "sentence1": texts[0],
                "sentence2": texts[1],
                "score": pa.array(scores, pa.float32()),
                "kind": rng.choice(["near", "random"], size),
            }
            pq.write_table(pa.table(columns), workspace / f"{split}.parquet")
            if split == "train" and size:
                pairs = list(zip(*texts, strict=True))
                write_json(workspace / LABELS, label_report(pairs, np.array(scores), {}))
        return {}

    run.build(HARVEST, fill, inputs={"sizes": str(sizes)}, code="firth.harvest.harvest")


@pytest.fixture(scope="session")
def harvested(tiny_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with all that `distill` reads; copied by `fresh`, never changed."""
    settings = {
        "corpus": {"inputs": [str(tiny_folder)]},
        "tokenizer": {"vocabulary": 400},
        "context": {"bag": {"dimensions": 12, "epochs": 4, "batch": 32, "by_source": True}},
        "surrogate": {"dimensions": 32, "way": "paper"},
    }
    path = tmp_path_factory.mktemp("harvested") / "run"
    run = Run.create(path, Config.parse(settings, "conftest"))
    for build in (build_corpus, build_tokenizer, build_check, build_context, build_origin):
        build(run)
    write_pairs(run, {"train": 600, "dev": 220, "test": 220})
    return path


@pytest.fixture
def fresh(harvested: Path, tmp_path: Path) -> Callable[..., Run]:
    """Copies of the harvested run."""
    return copies(harvested, tmp_path)


@pytest.fixture(scope="session")
def roberta(harvested: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a random RoBERTa masked language model, as a hub would give it."""
    folder = tmp_path_factory.mktemp("roberta")
    tokenizer: Any = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=open_tokenizer(harvested), pad_token="<pad>", unk_token="<unk>"
    )
    tokenizer.save_pretrained(folder)
    config = RobertaConfig(
        vocab_size=400,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=66,
        pad_token_id=0,
    )
    RobertaForMaskedLM(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def taught(harvested: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose Origin, of a bag, has been asked; never changed."""
    from firth.surrogate.teacher import build_teacher

    path = tmp_path_factory.mktemp("taught") / "run"
    shutil.copytree(harvested, path)
    build_teacher(Run.open(path).changed({"surrogate": {"way": "matrices"}}))
    return path


@pytest.fixture(scope="session")
def prompt_taught(prompt_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose Origin, of a language model, has read 160 sentences; never changed."""
    from firth.corpus.tokenizer import build_tokenizer
    from firth.surrogate.teacher import build_teacher

    path = tmp_path_factory.mktemp("prompt-taught") / "run"
    shutil.copytree(prompt_run, path)
    build_tokenizer(Run.open(path))
    build_teacher(Run.open(path).changed({"surrogate": {"sentences": 160}}))
    return path


def copies(source: Path, folder: Path) -> Callable[..., Run]:
    """Copies of a run, each under its own name, with changed settings."""

    def copy(name: str, **surrogate: object) -> Run:
        shutil.copytree(source, folder / name)
        return Run.open(folder / name).changed({"surrogate": surrogate})

    return copy


@pytest.fixture
def fresh_taught(taught: Path, tmp_path: Path) -> Callable[..., Run]:
    """Copies of the run that a bag teaches."""
    return copies(taught, tmp_path)


@pytest.fixture
def fresh_prompt(prompt_taught: Path, tmp_path: Path) -> Callable[..., Run]:
    """Copies of the run that a language model teaches."""
    return copies(prompt_taught, tmp_path)

"""The tokenizer of a run."""

import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.corpus.conftest import run_of

from firth.corpus.build import build_corpus
from firth.run.run import Run
from firth.train.tokenizer import SPECIAL_TOKENS, build_tokenizer, open_tokenizer

WORDS = "the ship ships sailed harbour rained water tide crew sang song night".split()  # noqa: SIM905


@pytest.fixture
def run(tmp_path: Path) -> Run:
    rng = random.Random(1)
    run = run_of(tmp_path / "run")
    build_corpus(run, [" ".join(rng.choices(WORDS, k=9)).capitalize() + "." for _ in range(80)])
    return run


def test_processes_and_hash_seeds_give_the_same_bytes(run: Run) -> None:
    """Neither seeds nor threads decide a merge."""
    build_tokenizer(run)
    file = run.path / "tokenizer" / "tokenizer.json"
    first = file.read_bytes()
    code = (
        "import sys; from firth.train.tokenizer import build_tokenizer\n"
        "from firth.run.run import Run; assert not build_tokenizer(Run.open(sys.argv[1])).reused"
    )
    for number in ("1", "2"):
        shutil.rmtree(run.path / "tokenizer")
        environment = {**os.environ, "PYTHONHASHSEED": number, "RAYON_NUM_THREADS": number}
        subprocess.run([sys.executable, "-c", code, str(run.path)], check=True, env=environment)
        assert file.read_bytes() == first


def test_special_tokens_are_not_read_in_texts(run: Run) -> None:
    """Their numbers are 0 to 4; every text comes back."""
    build_tokenizer(run)
    tokenizer = open_tokenizer(run)
    assert [tokenizer.token_to_id(token) for token in SPECIAL_TOKENS] == [0, 1, 2, 3, 4]
    encoding = tokenizer.encode("the <mask> </s> ship 日本 \x07")
    assert min(encoding.ids) > 4
    assert tokenizer.decode(encoding.ids).strip() == "the <mask> </s> ship 日本 \x07"


@pytest.mark.parametrize("lower_case", [True, False])
def test_words_are_the_same_tokens_everywhere(run: Run, lower_case: bool) -> None:
    """At the start and inside a sentence, and in lower case as set; the vocabulary is limited."""
    few = run.changed({"tokenizer": {"vocabulary": 300, "lower_case": lower_case}})
    summary = build_tokenizer(few).manifest.summary
    tokenizer = open_tokenizer(run)
    assert summary["vocabulary"] == tokenizer.get_vocab_size() == 300
    assert (tokenizer.encode("The").ids == tokenizer.encode("the").ids) == lower_case
    ids = tokenizer.encode("the the").ids
    assert ids[: len(ids) // 2] == ids[len(ids) // 2 :]

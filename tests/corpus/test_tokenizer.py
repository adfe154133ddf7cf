"""The tokenizer of a run."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from firth.corpus import tokenizer as module
from firth.corpus.corpus import Corpus
from firth.corpus.tokenizer import SPECIAL_TOKENS, build_tokenizer, open_tokenizer
from firth.run.errors import MissingStageError
from firth.run.run import Run

SETTINGS = {"tokenizer": {"vocabulary": 400}}


@pytest.fixture
def run(corpus_run: Path, tmp_path: Path) -> Run:
    """A copy of the run, without a tokenizer."""
    shutil.copytree(corpus_run, tmp_path / "run")
    return Run.open(tmp_path / "run").changed(SETTINGS)


def test_two_trainings_give_the_same_bytes(run: Run) -> None:
    """Neither hash seeds nor threads decide a merge: three processes agree."""
    build_tokenizer(run)
    file = run.path / "tokenizer" / "tokenizer.json"
    first = file.read_bytes()
    code = (
        "import sys; from firth.run import progress; progress.set_quiet(True)\n"
        "from firth.corpus.tokenizer import build_tokenizer; from firth.run.run import Run\n"
        "assert not build_tokenizer(Run.open(sys.argv[1])).reused"
    )
    for seed, threads in (("1", "1"), ("2", "2")):
        shutil.rmtree(run.path / "tokenizer")
        environment = {**os.environ, "PYTHONHASHSEED": seed, "RAYON_NUM_THREADS": threads}
        subprocess.run([sys.executable, "-c", code, str(run.path)], check=True, env=environment)
        assert file.read_bytes() == first


def test_special_tokens(run: Run) -> None:
    """Ids 0 to 4 as every model expects; none is added, and none is found in a text."""
    build_tokenizer(run)
    tokenizer = open_tokenizer(run)
    assert [tokenizer.token_to_id(token) for token in SPECIAL_TOKENS] == [0, 1, 2, 3, 4]
    encoding = tokenizer.encode("the <mask> </s> ship 日本 \x07")
    assert min(encoding.ids) > 4
    assert tokenizer.decode(encoding.ids).strip() == "the <mask> </s> ship 日本 \x07"


def test_vocabulary_and_case(run: Run) -> None:
    """The vocabulary is as large as asked, words at the start and inside a sentence are equal."""
    summary = build_tokenizer(run).manifest.summary
    tokenizer = open_tokenizer(run)
    assert summary["vocabulary"] == tokenizer.get_vocab_size() == 400
    assert tokenizer.encode("The Ship").ids == tokenizer.encode("the ship").ids
    assert tokenizer.encode("the the").ids[0] == tokenizer.encode("the the").ids[-1]
    cased = run.changed({"tokenizer": {"lowercase": False}})
    assert not build_tokenizer(cased).reused
    cased_tokenizer = open_tokenizer(cased)
    assert cased_tokenizer.encode("The Ship").ids != cased_tokenizer.encode("the ship").ids


def test_it_is_reused_and_follows_the_corpus(run: Run, tmp_path: Path) -> None:
    """The same corpus keeps it; another one makes it stale."""
    assert not build_tokenizer(run).reused
    assert build_tokenizer(run).reused
    (tmp_path / "a.txt").write_text("Something else entirely. It is short. Yes.")
    Corpus.build([tmp_path / "a.txt"], run.path)
    assert not build_tokenizer(Run.open(run.path)).reused


def test_large_corpora_are_sampled(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the limit only every n-th batch is read."""
    strides = []
    original = Corpus.batches

    def batches(self: Corpus, stride: int = 1) -> object:
        strides.append(stride)
        return original(self, stride)

    monkeypatch.setattr(Corpus, "batches", batches)
    count = len(Corpus.open(run))
    monkeypatch.setattr(module, "MAX_SENTENCES", count)
    build_tokenizer(run)
    monkeypatch.setattr(module, "MAX_SENTENCES", count // 3)
    shutil.rmtree(run.path / "tokenizer")
    build_tokenizer(run)
    assert strides == [1, 4]


def test_without_a_corpus(run: Run) -> None:
    """The error tells what to build first."""
    with pytest.raises(MissingStageError, match="tokenizer"):
        open_tokenizer(run)
    shutil.rmtree(run.path / "corpus")
    with pytest.raises(MissingStageError, match="firth corpus build"):
        build_tokenizer(run)

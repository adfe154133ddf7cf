"""The blocklist holds every evaluation sentence, and no text."""

import json
from pathlib import Path

import numpy as np
import pytest
from tests.evaluate.conftest import PAIR_COLUMNS, table

from firth.evaluate.blocklist import make_blocklist
from firth.evaluate.load import load_set
from firth.evaluate.readers import gensim_files, read_lee
from firth.evaluate.task import TASKS
from firth.harvest.blocklist import BUILT_IN, Blocklist, long_enough, sentence_hashes
from firth.run.errors import InputError
from firth.run.files import fingerprint_file


def test_every_text_of_every_set_is_blocked(data_dir: Path, tmp_path: Path) -> None:
    """All splits, pairs and triplets, and Lee & Pincombe; shorter texts are left out."""
    counts = make_blocklist(data_dir, tmp_path / "blocklist.npy")
    assert set(counts) == {"STS13", "STSb", "WikiSections-substitute", "Lee & Pincombe"}
    hashes = np.load(tmp_path / "blocklist.npy", allow_pickle=False)
    assert hashes.dtype == np.uint64
    assert (np.diff(hashes.astype(object)) > 0).all(), "sorted, without repeats"
    blocked = Blocklist(hashes)
    for name, split in [("sts13", "test"), ("sts-b", "train"), ("sts-b", "dev"), ("lee", "all")]:
        rows = load_set(TASKS[name], data_dir, split).rows
        texts = [text for row in rows for text in row.texts if long_enough(text)]
        assert texts
        assert blocked.contains(texts).all()
    assert not blocked.contains(["This sentence is in no evaluation set of this test."]).any()


def test_sentences_inside_longer_texts_are_blocked(tmp_path: Path) -> None:
    """A corpus is split in sentences: each one of a longer evaluation text must be known."""
    folder = tmp_path / "eval" / "AFS"
    folder.mkdir(parents=True)
    text = "Guns are everywhere now. Nobody needs all of them. Yes."
    rows = [(text, 'He said: "short one"', "1", "x", "all")]
    (folder / "pairs.tsv").write_text(table(PAIR_COLUMNS, rows))
    assert make_blocklist(tmp_path / "eval", tmp_path / "blocklist.npy")["AFS"] == 4
    blocked = Blocklist(np.load(tmp_path / "blocklist.npy"))
    found = blocked.contains([text, "guns are everywhere now", "Nobody needs all of them.", "Yes."])
    assert found.tolist() == [True, True, True, False]


def test_the_list_that_ships_belongs_to_its_description() -> None:
    """Hashes and .json were written together, and cover Lee & Pincombe as they are here."""
    about = json.loads(BUILT_IN.with_suffix(".json").read_text())
    hashes = np.load(BUILT_IN, allow_pickle=False)
    assert about["hashes"] == len(hashes) == len(np.unique(hashes))
    assert about["fingerprint"] == fingerprint_file(BUILT_IN)
    folder = gensim_files()
    assert folder is not None
    texts = sorted({text for row in read_lee(folder).rows for text in row.texts})
    assert Blocklist.load().contains(texts).all()


def test_twice_gives_the_same_bytes(data_dir: Path, tmp_path: Path) -> None:
    """The shipped file changes only when a set does."""
    for name in ("one.npy", "two.npy"):
        make_blocklist(data_dir, tmp_path / name)
    assert (tmp_path / "one.npy").read_bytes() == (tmp_path / "two.npy").read_bytes()


def test_nothing_to_make_blocklist(tmp_path: Path) -> None:
    """A folder without sets, and a file without texts."""
    with pytest.raises(InputError, match="nothing to hash"):
        make_blocklist(tmp_path, tmp_path / "blocklist.npy")
    (tmp_path / "X").mkdir()
    (tmp_path / "X" / "pairs.tsv").write_text("a\tb\n1\t2\n")
    with pytest.raises(InputError, match="none of the columns"):
        make_blocklist(tmp_path, tmp_path / "blocklist.npy")
    assert len(sentence_hashes([])) == 0

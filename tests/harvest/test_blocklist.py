"""Blocked sentences are known by hash, whatever their case, spacing and punctuation."""

import os
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.harvest.blocklist import BUILT_IN, Blocklist, long_enough, sentence_hashes
from firth.lexical.words import normal_form
from firth.run.errors import InputError

texts = st.lists(st.text(st.sampled_from("aAbé .,ﬁ\ud800"), max_size=12), max_size=8)


@given(texts, texts)
def test_contains_is_membership_of_normal_forms(inside: list[str], asked: list[str]) -> None:
    """Sorted hashes and a binary search equal a set of strings."""
    blocklist = Blocklist(sentence_hashes(inside))
    known = {normal_form(text) for text in inside}
    assert blocklist.contains(asked).tolist() == [normal_form(text) in known for text in asked]
    assert len(blocklist) == len(known)


def test_form_does_not_matter() -> None:
    """Case, punctuation, spacing and composition of characters are not content."""
    blocklist = Blocklist(sentence_hashes(["The naïve cat sat."]))
    variants = ["the  naïve cat, sat!", unicodedata.normalize("NFD", "THE NAÏVE CAT SAT")]
    assert blocklist.contains(variants).all()
    assert not blocklist.contains(["The naive cat sat.", "The naïve cat", ""]).any()


def test_hashes_are_fixed_for_ever() -> None:
    """The shipped list was made with this very function: a change would empty it silently."""
    assert sentence_hashes(["You shall know a word!"]).tolist() == [2448759177527184534]
    assert sentence_hashes([]).dtype == sentence_hashes(["a"]).dtype == np.uint64


def test_an_empty_blocklist_excludes_nothing() -> None:
    """No hashes: no crash, no sentence."""
    assert Blocklist(sentence_hashes([])).contains(["a b c", ""]).tolist() == [False, False]


def test_the_built_in_list_is_loaded_and_extended(tmp_path: Path) -> None:
    """Lines and cells of extra files, of at least three words, beside the shipped hashes."""
    built_in = Blocklist.load()
    assert len(built_in) == len(np.load(BUILT_IN)) > 10_000
    extra = tmp_path / "extra.tsv"
    lines = "A whole line of zebras.\r\nfirst zebra cell\tsecond zebra cell\t4.5\nzebra\n"
    extra.write_bytes(("\ufeff" + lines).encode())
    blocklist = Blocklist.load([extra])
    asked = ["a whole line of zebras", "First zebra cell!", "second zebra cell", "zebra", "4.5"]
    assert not built_in.contains(asked).any(), "premise: none is built in"
    assert blocklist.contains(asked).tolist() == [True, True, True, False, False]
    assert len(blocklist) == len(built_in) + 4  # the line with a tab counts as a whole, too


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    """A mistyped list must not silently block nothing, nor one that never ends be read."""
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "missing.txt", tmp_path, tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(InputError, match="cannot be read"):
            Blocklist.load([path])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("one two three", True),
        ("one, two.", False),
        ("don't go", True),
        ("", False),
        ("...", False),
    ],
)
def test_what_is_long_enough(text: str, expected: bool) -> None:
    r"""Three words, as `\w+` counts them."""
    assert long_enough(text) is expected

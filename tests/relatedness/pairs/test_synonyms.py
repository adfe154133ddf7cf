"""Synonyms count as one word after replacement, from a file or from WordNet."""

from pathlib import Path

import pytest

from firth.relatedness.pairs.sample import sample_pairs
from firth.relatedness.pairs.settings import SampleSettings, Strategy
from firth.relatedness.pairs.synonyms import SynonymFile, open_synonyms, replacements
from firth.run.errors import InputError


def test_the_most_frequent_synonym_stands_for_all(tmp_path: Path) -> None:
    """The word itself is a candidate; ties go by the alphabet; phrases are left out."""
    path = tmp_path / "table.txt"
    path.write_text("# mine\nlarge, big, huge, very big\nbig\tlarge\nold\taged\n", encoding="utf-8")
    found = replacements(SynonymFile(path), {"big": 5, "large": 2, "huge": 9, "old": 3, "aged": 3})
    assert found == {"large": "huge", "old": "aged"}


def test_overlap_after_replacement(tmp_path: Path) -> None:
    """Pairs that share no word but synonyms fit only with the table."""
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text(
        "sentence1\tsentence2\nbig dogs often chase cats\tlarge hounds frequently hunt felines\n",
        encoding="utf-8",
    )
    table = tmp_path / "table.tsv"
    table.write_text("large\tbig\nhounds\tdogs\noften\tfrequently\n", encoding="utf-8")
    asked = SampleSettings(Strategy.GIVEN, min_overlap=0.5)
    with pytest.raises(InputError, match="1 too little overlap"):
        sample_pairs(pairs, asked)
    sample = sample_pairs(pairs, asked, synonyms=str(table))
    assert sample.pairs[0].overlap == pytest.approx(0.6)
    assert sample.pairs[0].texts[0] == "big dogs often chase cats"  # shown as it was
    assert sample.synonyms is not None
    assert "table.tsv, 3 replaced" in sample.synonyms


def test_all_bad_lines_of_a_table(tmp_path: Path) -> None:
    """Lines without a synonym are named together."""
    path = tmp_path / "table.txt"
    path.write_text("alone\nbig, large\ntwo words, phrase\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"line 1: (.|\n)*line 3: "):
        open_synonyms(str(path))


def tiny_wordnet(folder: Path) -> Path:
    """The files of WordNet with two noun synsets: ship, vessel, big_boat; then ship, send."""
    header = "  1 Made up in the form of WordNet 3.0 Copyright nobody\n"
    data, offsets = header, []
    for words in (["ship", "vessel", "big_boat"], ["ship", "send"]):
        offsets.append(len(data))
        body = " ".join(f"{word} 0" for word in words)
        data += f"{offsets[-1]:08d} 00 n {len(words):02x} {body} 000 | made up  \n"
    index = header
    senses = {"big_boat": offsets[:1], "send": offsets[1:], "ship": offsets, "vessel": offsets[:1]}
    for word, found in senses.items():
        numbers = " ".join(f"{offset:08d}" for offset in found)
        index += f"{word} n {len(found)} 0 {len(found)} 1 {numbers}  \n"
    folder.mkdir()
    for part in ("noun", "verb", "adj", "adv"):
        own = part == "noun"
        (folder / f"data.{part}").write_text(data if own else header, encoding="utf-8")
        (folder / f"index.{part}").write_text(index if own else header, encoding="utf-8")
        (folder / f"{part}.exc").write_text("", encoding="utf-8")
    (folder / "lexnames").write_text("00\tnoun.artifact\t1\n", encoding="utf-8")
    (folder / "cntlist.rev").write_text("", encoding="utf-8")
    (folder / "index.sense").write_text("", encoding="utf-8")
    return folder


def test_wordnet_gives_the_first_sense(tmp_path: Path) -> None:
    """Single words of the first sense only; inflected words are found; unknown ones have none."""
    table = open_synonyms(f"wordnet:{tiny_wordnet(tmp_path / 'dict')}")
    assert list(table.synonyms("ship")) == ["ship", "vessel"]
    assert list(table.synonyms("ships")) == ["ship", "vessel"]
    assert list(table.synonyms("send")) == ["ship", "send"]
    assert list(table.synonyms("of")) == []
    assert table.source == "WordNet 3.0"


def test_no_wordnet(tmp_path: Path) -> None:
    """Where there is none, the error says how to name its folder."""
    with pytest.raises(InputError, match="wordnet:FOLDER"):
        open_synonyms(f"wordnet:{tmp_path}")

"""Triplets from the sections of articles."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from firth.corpus.build import build_corpus
from firth.evaluation.sets import load_set
from firth.reproduce import cli
from firth.reproduce.sections import section_triplets, sections_of
from firth.run.errors import InputError
from firth.run.run import Run
from firth.run.settings import parse_settings

ARTICLE = """The {0} is old.
The {0} is known.
{1} History {2}
The {0} began long ago.
The {0} grew for years.

{1}= Depths {2}=
The {0} sank in a storm.
{1} Trade {2}
The {0} carries wheat and salt.
The {0} carries wheat and salt.
The {0} pays no tax.
{1} Links {2}
The {0} is alone here."""


def test_triplets_are_of_an_article_and_its_sections(tmp_path: Path) -> None:
    """Anchor and positive share a section, the negative has another; the file is a set."""
    texts = [ARTICLE.format(f"Ship{n}", "==", "==") for n in range(12)]
    run = Run.create(tmp_path / "run", parse_settings({"corpus": {"language": "en"}}, "test"))
    build_corpus(run, texts)
    triplets = section_triplets(run)
    assert triplets == section_triplets(run)
    assert len(triplets) == 12 * 5
    kinds = {"began": 0, "grew": 0, "sank": 0, "carries": 1, "pays": 1}
    splits: dict[str, set[str]] = {}
    for row in triplets:
        parts = [row[name].split() for name in ("anchor", "positive", "negative")]
        assert len({words[1] for words in parts}) == 1
        anchor, positive, negative = (kinds[words[2]] for words in parts)
        assert anchor == positive != negative
        assert row["anchor"] != row["positive"]
        splits.setdefault(parts[0][1], set()).add(row["split"])
    assert all(len(each) == 1 for each in splits.values())
    out = tmp_path / "sections.jsonl"
    done = CliRunner().invoke(cli.app, ["sections", "--run", str(run.path), "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert load_set(str(out)).is_triplets


def test_headings_of_several_kinds() -> None:
    """Two headings of one rank make sections; a title, an introduction and deeper ranks do not."""
    body = ["First words here.", "Second words here.", "{}", "Third words here.", "Fourth words."]
    for title, first, second in (
        ("= A ship =", "= = Old times = =", "= = New times = ="),
        ("# A ship", "## Old times", "## New times"),
        ("A ship", "== Old times ==", "== New times =="),
    ):
        texts = [title, "An introduction.", "It is long.", first, *body]
        texts[texts.index("{}")] = second
        assert sections_of(texts, [True] * len(texts)) == [body[:2], body[3:]]
    assert sections_of(["No heading.", "None at all."], [True, True]) == []


def test_a_run_without_sections_is_refused(run: Run) -> None:
    """The message says what a heading looks like."""
    with pytest.raises(InputError, match="== Title =="):
        section_triplets(run)

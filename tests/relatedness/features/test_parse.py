"""Pipelines by name: found, refused, and what they say."""

import sys
from pathlib import Path

import pytest

from firth.relatedness.features import parse as module
from firth.relatedness.features.parse import open_pipeline, parse
from firth.run.errors import InputError, MissingExtraError


def test_a_pipeline_without_a_parser_is_refused(tmp_path: Path) -> None:
    """What lacks is named before any sentence is read."""
    import spacy

    spacy.blank("en").to_disk(tmp_path / "blank")
    with pytest.raises(InputError, match="no tagger or morphologizer and no parser"):
        open_pipeline(str(tmp_path / "blank"))
    with pytest.raises(InputError, match="nowhere: cannot be loaded"):
        open_pipeline("nowhere")


def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """spaCy itself, or any English pipeline."""
    monkeypatch.setattr(module, "PIPELINES", ("xx_not_there",))
    with pytest.raises(InputError, match=r"looked for xx_not_there.*pip install"):
        open_pipeline()
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(MissingExtraError, match=r"firth\[relatedness\]"):
        open_pipeline()


def test_the_installed_pipeline() -> None:
    """It tells nouns from verbs and subjects from objects; a text is parsed once, in any batch."""
    from firth.relatedness.features.roles import Role

    pipeline = open_pipeline()
    texts = ["The dog chased a red ball.", "Rain.", "The dog chased a red ball.", "!"]
    found = parse(pipeline, texts)
    assert list(found) == ["The dog chased a red ball.", "Rain.", "!"]
    first = found[texts[0]]
    assert first.tagged(frozenset({"NOUN"})) == ["dog", "ball"]
    assert first.in_role(Role.TRIPLE_SUBJECT) == ["dog"]
    assert first.in_role(Role.OBJECT) == ["ball"]
    assert found["!"].words == ()
    assert parse(pipeline, texts[:1]) == {texts[0]: first}

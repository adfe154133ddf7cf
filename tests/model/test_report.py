"""`firth.pipeline.report`: one file that needs nothing else, and in which texts cannot act."""

from pathlib import Path

import pytest
from tests.conftest import TOY_SETTINGS, toy_documents

from firth.model import build, load
from firth.pipeline.report import gather
from firth.run.errors import InputError
from firth.run.run import Run


def test_the_page_is_self_contained(toy_folder: Path, tmp_path: Path) -> None:
    """No script, no address, no other file; all parts are there; nothing is replaced unasked."""
    path = load(toy_folder).report(tmp_path / "report.html")
    page = path.read_text()
    assert "<script" not in page
    assert "http" not in page.replace("http-equiv", "")
    report = gather(Run.open(toy_folder))
    assert report["hits"]
    assert report["explanations"]
    assert report["thresholds"]
    assert f"<h2>Duplicates</h2>\n<p>{report['duplicates'].compared:,} sentences" in page
    assert report["duplicates"][0].members[0].evidence in page
    for text in (report["verdict"], report["query"], report["explanations"][0].text1):
        assert text.split()[0] in page
    with pytest.raises(InputError):
        load(toy_folder).report(tmp_path / "report.html")


def test_texts_cannot_act_on_the_page(tmp_path: Path) -> None:
    """Markup and characters that change the reading order are shown as text."""
    evil = "<img src=x onerror=alert(1)> \u202e harbor ship storm captain boat."
    documents = toy_documents(12)
    documents[2]["text"] += "\n\n" + " ".join([evil] * 3)
    documents[2]["title"] = evil
    model = build(documents, tmp_path / "<b>run</b>", settings=TOY_SETTINGS)
    page = model.report(tmp_path / "report.html").read_text()
    assert "<img" not in page
    assert "<b>run" not in page
    assert "\u202e" not in page

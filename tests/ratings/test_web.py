"""The pages over HTTP: escaped, guarded against other sites, forgiving to annotators."""

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from firth.ratings.store import Store

from .conftest import asking

pytest.importorskip("httpx")
from starlette.testclient import TestClient

from firth.ratings.web import MAX_BYTES, Pages


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    text = "# How\n\n*Read* <script>alert(1)</script> & choose."
    rules: dict[str, Any] = {"title": "Which <is> it?", "instructions": text, "gold_every": 2}
    with asking(tmp_path / "db", **rules) as made:
        yield made


@pytest.fixture
def browser(store: Store) -> Iterator[TestClient]:
    with TestClient(Pages(store).app(), base_url="http://localhost") as client:
        yield client


def shown(page: str) -> tuple[str, list[str]]:
    """Return the tuple and the items of a question's page."""
    (asked,) = re.findall(r'name="tuple" value="([^"]*)"', page)
    return unescape(asked), [unescape(v) for v in re.findall(r'name="best" value="([^"]*)"', page)]


def send(browser: TestClient, asked: str, best: str, worst: str) -> str:
    form = {"tuple": asked, "best": best, "worst": worst}
    return browser.post("/answer", data=form).text


def test_from_name_to_thanks(browser: TestClient, store: Store) -> None:
    """Questions, feedback on gold ones, and the end; answers are stored, and texts are escaped."""
    page = browser.get("/").text
    assert "Which &lt;is&gt; it?" in page
    assert "<em>Read</em> &lt;script&gt;" in page
    page, feedback, seen = browser.post("/start", data={"name": "<i>Zoë"}).text, [], ""
    while "Thank you, &lt;i&gt;Zoë" not in page:
        seen += page
        if 'name="tuple"' in page:
            asked, items = shown(page)
            page = send(browser, asked, items[0], items[-1])
        else:
            feedback.append("Right!" in page)
            page = browser.get("/question").text
    assert "Your 12 answers are saved" in page
    assert feedback == [True] * 3
    assert [one.annotator for one in store.annotations()] == ["<i>Zoë"] * 12
    assert "&lt;b&gt;bold&lt;/b&gt; &amp; &#34;quoted&#34;" in seen
    assert "<b>bold" not in seen


def test_wrong_answers_are_explained_and_keep_the_choice(browser: TestClient, store: Store) -> None:
    page = browser.post("/start", data={"name": "a"}).text
    asked, items = shown(page)
    form = {"tuple": asked, "best": items[0], "worst": items[0]}
    answer = browser.post("/answer", data=form)
    assert answer.status_code == 400
    assert "two different items" in answer.text
    assert len(re.findall(" checked", answer.text)) == 2
    assert shown(answer.text)[0] == asked
    assert 'name="tuple"' in send(browser, "t0" if asked != "t0" else "t1", "x", "y")
    assert store.annotations() == []


def test_pages_of_other_sites_are_refused(browser: TestClient) -> None:
    form = {"name": "a"}
    foreign = {"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site"}
    assert browser.post("/start", data=form, headers=foreign).status_code == 403
    assert browser.get("/", headers={"Host": "evil.example"}).status_code == 421
    assert browser.post("/start", data={"name": "x" * MAX_BYTES}).status_code == 413
    for name in ("style.css", "questionnaire.js", "icon.svg"):
        assert browser.get(f"/static/{name}").status_code == 200

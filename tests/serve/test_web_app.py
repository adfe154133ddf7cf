"""The web app in a real browser: it searches, compares, and shows texts as texts."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import TOY_SETTINGS, toy_documents
from tests.serve.conftest import running

from firth.model import build

BROWSER = os.environ.get("FIRTH_BROWSER") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
FOOTER = "Printed for the office of the harbor master."
EVIL = "<img src=x onerror=document.title='hacked'> ship harbor storm."


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A browser page at a service whose documents contain markup."""
    if BROWSER is None:
        if os.environ.get("FIRTH_REQUIRE_BROWSER"):
            pytest.fail("no browser was found; install chromium")
        pytest.skip("no browser was found")
    sync = pytest.importorskip("playwright.sync_api")
    documents = toy_documents(12)
    documents[0] |= {"text": f"{EVIL} {documents[0]['text']}", "title": EVIL}
    for document in documents:
        document["text"] += f" {FOOTER}"
    folder = tmp_path_factory.mktemp("web") / "run"
    build(documents, folder, settings=TOY_SETTINGS)
    with running(folder) as address, sync.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        page = browser.new_page()
        page.errors = []
        page.on("pageerror", lambda error: page.errors.append(str(error)))
        page.address = address
        yield page
        assert page.errors == []
        browser.close()


def test_search_marks_the_words_of_the_query(page: Any) -> None:
    """A query from the form becomes the address; hits link to documents and to explanations."""
    page.goto(page.address)
    page.fill("input[name=q]", "harbor ship")
    page.click("form button")
    page.wait_for_selector("ol.hits mark.hit")
    assert "q=harbor" in page.url
    page.click("ol.hits >> text=Why?")
    page.wait_for_selector("article")
    assert "Similarity" in page.inner_text("main")


def test_the_first_page_has_an_example_and_the_cursor_in_the_query(page: Any) -> None:
    """The query goes across the page; the example is a search."""
    page.goto(page.address)
    page.wait_for_selector("text=For example")
    assert page.evaluate("document.activeElement.name") == "q"
    width = page.evaluate("document.querySelector('form').offsetWidth")
    assert page.evaluate("document.activeElement.offsetWidth") == width
    page.click("section a")
    page.wait_for_selector("ol.hits")


def test_a_hit_is_one_line_until_it_is_opened(page: Any) -> None:
    """The line has a marked word, and a click shows the whole sentence; a phone shows all of it."""
    page.set_viewport_size({"width": 700, "height": 800})
    page.goto(f"{page.address}/#search?q=harbor")
    page.wait_for_selector("ol.hits summary mark.hit")
    summary = page.locator("ol.hits summary").first

    def height_and_wrap() -> tuple[float, str]:
        wrap = summary.evaluate("element => getComputedStyle(element).whiteSpace")
        return summary.bounding_box()["height"], wrap

    line = height_and_wrap()
    assert line[1] == "nowrap"
    page.set_viewport_size({"width": 240, "height": 800})
    phone = height_and_wrap()
    assert phone[0] > line[0]
    assert phone[1] == "normal"
    page.set_viewport_size({"width": 700, "height": 800})
    summary.click()
    page.wait_for_selector("ol.hits details[open]")
    assert height_and_wrap()[1] == "normal"


def test_documents_are_chosen_from_a_list(page: Any) -> None:
    """The list has the documents whose id is typed, and the result shows what matches."""
    page.goto(f"{page.address}/#documents?id=doc-1")
    page.click("text=Compare with another")
    page.fill("input[name=b]", "doc-1")
    page.wait_for_selector("#documents-b option", state="attached")
    for _ in range(300):
        ids = page.eval_on_selector_all("#documents-b option", "all => all.map((one) => one.value)")
        if {one[:5] for one in ids} == {"doc-1"}:
            break
        page.wait_for_timeout(100)
    assert {one[:5] for one in ids} == {"doc-1"}
    page.click("text=Compare documents")
    page.wait_for_selector("main table td")
    assert "100 %" in page.inner_text("main")


def test_texts_do_not_act(page: Any) -> None:
    """Markup in documents and titles is shown and not run."""
    page.goto(f"{page.address}/#documents?id=doc-0")
    page.wait_for_selector("h2")
    assert "<img" in page.inner_text("main")
    page.goto(f"{page.address}/#compare?text1={EVIL}&text2=The ship.")
    page.wait_for_selector("article")
    assert page.title() != "hacked"
    assert page.locator("main img").count() == 0


def test_what_differs_is_marked_in_both_texts(page: Any) -> None:
    """The marked spans are those of the differences, after a character of two code units too."""
    page.goto(f"{page.address}/#compare?text1=The 😀 ship, May 15.&text2=The 😀 ship, May 16.")
    page.wait_for_selector("article")
    assert page.locator(".differences mark").all_inner_texts() == ["15", "16"]
    page.goto(f"{page.address}/#compare?text1=The ship came.&text2=The ship came.")
    page.wait_for_selector("text=They differ in nothing that matters.")
    assert page.locator(".differences").count() == 0


def test_two_lists_are_matched(page: Any, tmp_path: Path) -> None:
    """A pasted list and a column of a table; a match links to what differs, and the lists stay."""
    said = [f"The {a}{b} left in {1900 + 5 * n + m}." for n, a in enumerate("BDGKL") for m, b in
            enumerate("aeiou")]  # fmt: skip
    rows = [f'{n};"{text}";""' for n, text in enumerate([*said[:-1], 'The last\n""ship"" stayed.'])]
    (tmp_path / "right.csv").write_text("\r\n".join(["no;text;more", *rows, ""]))
    page.goto(f"{page.address}/#match")
    page.fill(
        "textarea[name=left]", "\n".join(each.replace("Gi left", "Gi never left") for each in said)
    )
    page.set_input_files("input[type=file] >> nth=1", tmp_path / "right.csv")
    for _ in range(300):
        if page.input_value("textarea[name=right]"):
            break
        page.wait_for_timeout(100)
    read = page.input_value("textarea[name=right]")
    assert read.split("\n") == [*said[:-1], 'The last "ship" stayed.']
    page.click("form button")
    page.wait_for_selector("main table td")
    assert f"of {len(said)} texts matched" in page.inner_text("main")
    row = page.locator("main > section > table tr", has_text="The Gi never left").first
    assert "The Gi left" in row.inner_text()
    row.locator("a").click()
    page.wait_for_selector("text=They differ in what matters")
    assert page.locator(".differences mark").all_inner_texts() == ["never"]
    page.goto(f"{page.address}/#match")
    page.wait_for_selector("textarea[name=left]")
    assert "never" in page.input_value("textarea[name=left]")


def test_differences_have_an_example_and_a_table(page: Any) -> None:
    """Each difference is a row; the example shows two."""
    page.goto(f"{page.address}/#differences")
    page.wait_for_selector("main table td")
    rows = page.locator("main table tr").all_inner_texts()
    assert [row.split("\t")[0] for row in rows] == ["What", "number", "negation"]
    assert page.locator(".differences mark").all_inner_texts() == ["15th", "not", "16th"]


def test_duplicates_show_their_evidence(page: Any) -> None:
    """A line of every document is boilerplate; five copies are shown at once, with their place."""
    page.goto(f"{page.address}/#duplicates?unit=sentence")
    page.wait_for_selector("ol.hits > li")
    group = page.locator("ol.hits > li", has_text=FOOTER).first
    assert group.inner_text().startswith("boilerplate")
    assert group.locator("> ul > li").count() == 5
    assert "exact: the same words" in group.locator("> ul > li").first.inner_text()
    assert group.locator("> ul a").first.get_attribute("href").startswith("#documents?id=doc-")
    assert "and 6 more" in group.inner_text()


@pytest.mark.parametrize(
    "name", ["duplicates?unit=sentence", "documents", "run", "compare", "differences", "match"]
)
@pytest.mark.parametrize("width", [1280, 390])
def test_pages_fit_the_screen(name: str, width: int, page: Any) -> None:
    """Each page shows content, and no page is wider than a phone."""
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(f"{page.address}/#{name}")
    for _ in range(300):  # the page's own policy forbids what `wait_for_function` does
        shown = page.inner_text("main")
        if len(shown) > 20 and not page.locator("[role=status]").count():
            break
        page.wait_for_timeout(100)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator(".problem").count() == 0


def test_an_error_is_shown(page: Any, tmp_path: Path) -> None:
    """A filter that names no field is explained where the hits would be."""
    page.goto(f"{page.address}/#search?q=ship&where=nothing = 1")
    page.wait_for_selector(".problem")
    assert "nothing" in page.inner_text(".problem")

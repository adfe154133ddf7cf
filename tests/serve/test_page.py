"""The page in a real browser: every tab, and every state that it can be in.

Needs Chromium (or Chrome); see `browser` of `tests/conftest.py`.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

import firth
from firth.corpus.library import Library
from firth.lexical.levels import percent
from firth.run.run import Run

from .conftest import A, B, running

STATIC = Path(firth.__file__).parent / "serve" / "static"
TABS = ("compare", "search", "documents", "run")
HOSTILE = "<img src=x onerror=\"document.title='taken'\"> & <b>ship</b>"
LONG = "The captain of the ship saw the storm near the island, and " * 40 + "left."
PHONE = {"width": 320, "height": 640}
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
CONTRAST = """() => {
  const rgb = (text) => text.match(/[\\d.]+/g).slice(0, 3).map(Number);
  const light = (colour) => {
    const [r, g, b] = rgb(colour)
      .map((c) => c / 255)
      .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (at) => {
    for (; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if (!/, 0\\)|transparent|\\/ 0\\)/.test(colour)) return colour;
    }
    return getComputedStyle(document.body).backgroundColor;
  };
  return [...document.querySelectorAll("h1, p, button, label, span, summary, dd, th, td")]
    .filter((at) => at.checkVisibility() && at.textContent.trim() && !at.disabled)
    .map((at) => {
      const both = [getComputedStyle(at).color, ground(at)].map(light);
      return [(Math.max(...both) + 0.05) / (Math.min(...both) + 0.05), at.textContent.slice(0, 40)];
    })
    .filter(([ratio]) => ratio < 4.5);
}"""
"""Texts whose contrast with their ground is below what WCAG 2 asks for (AA)."""
NAMELESS = """() => [...document.querySelectorAll("input, textarea, select, button")]
  .filter((at) => !at.labels?.length && !at.ariaLabel && !at.textContent.trim())
  .map((at) => at.outerHTML)"""
"""Fields and buttons that a screen reader could not name."""


HITS = """(() => {
  const asked = window.fetch;
  const hit = (n) => ({ score: 0.5, cosine: 0.5, words: 0.5, origin: null, sentence: n,
    text: `Sentence ${n}.`, document: "d", title: "", source: "s", line: 1, date: "2020-01-02",
    meaning: "", shares: {}, fields: { author: ["Ann"] }, reranked: null });
  const hits = () => Array.from({ length: COUNT }, (_, n) => hit(n + 1));
  window.fetch = async (path, options) =>
    path === "/api/search"
      ? new Response(JSON.stringify({ query: "x", hits: hits(), calibrated: false, remark: "" }))
      : asked(path, options);
})()"""
"""Answers every search with so many sentences; made in the browser, for they are megabytes."""


@pytest.fixture(scope="module")
def address(ensemble_run: Run) -> Iterator[str]:
    """A service of the tiny run."""
    with running(ensemble_run) as found:
        yield f"{found}/"


@pytest.fixture(scope="module")
def names(ensemble_run: Run) -> list[str]:
    """Documents of the tiny run that are about the sea."""
    found = [name for name in Library.open(ensemble_run).document_ids() if "sea-" in name]
    assert len(found) > 3  # the premise
    return found


@pytest.fixture
def page(browser: Any, address: str, request: pytest.FixtureRequest) -> Iterator[Any]:
    """A page that asks nobody but the service, in which nothing goes wrong unseen; its window and
    colours are the test's `param`."""
    context = browser.new_context(**getattr(request, "param", {}))
    opened = context.new_page()
    opened.set_default_timeout(60_000)
    problems: list[str] = []
    opened.on("pageerror", lambda error: problems.append(str(error)))
    opened.on(
        "console",
        # That an answer is an error is told on the page, and by the browser itself.
        lambda said: (
            problems.append(said.text)
            if said.type == "error" and "Failed to load resource" not in said.text
            else None
        ),
    )
    opened.on(
        "request",
        lambda asked: (
            None if asked.url.startswith((address, "data:")) else problems.append(asked.url)
        ),
    )
    opened.address = address
    yield opened
    assert problems == []
    context.close()


def show(page: Any, tab: str, **asked: str) -> None:
    """Open the page on a tab, as a link does, and wait for what it asks."""
    page.goto("about:blank")
    page.goto(f"{page.address}#/{tab}" + (f"?{urlencode(asked)}" if asked else ""))
    page.wait_for_selector("html[data-ready]")
    settle(page)


def settle(page: Any) -> None:
    """Wait until nothing is asked any more."""
    page.wait_for_selector("[aria-busy]", state="detached")


def answer(page: Any, path: str, value: Any, status: int = 200) -> None:
    """Have the service say something else."""
    body = value if isinstance(value, str) else json.dumps(value)
    page.route(
        f"**{path}",
        lambda route: route.fulfill(status=status, content_type="application/json", body=body),
    )


def test_compare(page: Any) -> None:
    """Typed sentences are compared; the address keeps them; reasons unfold; a component less is
    another score."""
    show(page, "compare")
    assert page.locator("#compare .reasons").count() == 0
    page.get_by_label("First sentence").fill(A)
    page.get_by_label("Second sentence").fill(B)
    page.get_by_label("Second sentence").press("Enter")
    page.wait_for_selector("#compare .stack")
    settle(page)
    assert page.locator(".scale").count() == 2
    score = page.locator(".scale .score").first.inner_text()
    assert score in page.locator("#compare [role=status]").first.inner_text()
    assert urlencode({"a": A, "b": B}) in page.url
    assert page.locator("#compare .text").first.inner_text().startswith("The")
    assert page.locator("#compare mark").count() > 4
    theme = page.locator("#compare .amounts details").first
    theme.locator("summary").click()
    assert theme.locator("li").count() >= 1
    whole = page.locator("#compare .legend").inner_text()
    page.locator("#compare").get_by_label("words", exact=True).uncheck()
    page.wait_for_selector("text=By sentences alone")
    assert page.locator("#compare .legend").inner_text() != whole
    assert page.locator("#compare").get_by_label("sentences", exact=True).is_disabled()
    page.locator("#compare").get_by_label("words", exact=True).check()
    page.wait_for_selector("text=By sentences alone", state="detached")
    settle(page)
    assert page.locator("#compare .legend").inner_text() == whole
    page.reload()
    page.wait_for_selector("#compare .stack")
    assert page.get_by_label("First sentence").input_value() == A
    assert page.locator(".scale .score").first.inner_text() == score


def test_words_that_meet_are_linked(page: Any) -> None:
    """The same number stands at both, and pointing at one lights the other."""
    show(page, "compare", a=A, b="The storm feared the captain.")
    first, second = (page.locator("#compare .text").nth(side) for side in (0, 1))
    storm = first.locator("mark", has_text="storm")
    assert storm.get_attribute("data-met")
    storm.hover()
    lit = second.locator("mark.lit")
    assert [text.rstrip("0123456789,") for text in lit.all_inner_texts()] == ["storm"]
    page.locator("#compare .amounts button").first.focus()
    assert page.locator("#compare mark.lit").count() >= 2


def test_search(page: Any) -> None:
    """Hits say what they score and why; nothing found is said; a condition that is none, too."""
    show(page, "search")
    page.get_by_label("What is looked for").fill(A)
    page.get_by_label("What is looked for").press("Enter")
    page.wait_for_selector(".hits li")
    assert page.locator(".hits li").count() == 10
    assert "Score" in page.locator(".hits li").first.inner_text()
    button = page.locator(".hits button").first
    button.click()
    page.wait_for_selector(".hits .why .stack")
    assert button.get_attribute("aria-expanded") == "true"
    button.click()
    assert not page.locator(".hits .why").first.is_visible()
    page.get_by_label("words", exact=True).check()
    page.get_by_label("What is looked for").fill("zzyzx")
    page.get_by_role("button", name="Search").click()
    page.wait_for_selector("text=Nothing found.")
    assert "by=words" in page.url
    show(page, "search", q=A, where="nonsense")
    assert page.locator("#search [role=alert] .error").inner_text().startswith("where 'nonsense'")
    assert page.get_by_label("And of which this is so").is_visible()


def test_documents(page: Any, names: list[str]) -> None:
    """Names are offered, two documents stand side by side, alike sentences say why; the most
    re-used pairs lead to them."""
    show(page, "documents")
    page.get_by_label("First document").fill("sea-")
    page.wait_for_selector(f"#document-a option[value='{names[0]}']", state="attached")
    show(page, "documents", a=names[0], b=names[0])
    rows = page.locator(".aligned li")
    assert rows.count() > 5
    assert "exact" in rows.first.inner_text()
    rows.first.locator("button").click()
    page.wait_for_selector(".aligned .why p")
    show(page, "documents", a=names[0])
    assert page.locator("#documents ol li").count() > 5
    page.get_by_role("button", name="Find the most re-used pairs").click()
    page.wait_for_selector(".mined, .notice")
    show(page, "documents", a="nowhere", b=names[0])
    assert "nowhere" in page.locator("#documents [role=alert]").first.inner_text()


def test_mined_pairs_lead_to_documents(page: Any, names: list[str]) -> None:
    """A pair is a link; progress is told on the way; what ends without a result is an error."""
    pair = {"a": names[0], "b": names[1], "a_title": "", "b_title": "", "coverage": 0.5,
            "coverage_a": 0.5, "coverage_b": 0.5, "score": 0.5}  # fmt: skip
    result = {"pairs": [pair], "found": 1, "remark": ""}
    steps = [{"progress": {"done": 1, "of": 2, "what": "Aligning"}}, {"result": result}]
    answer(page, "/api/mine", "\n".join(map(json.dumps, steps)) + "\n")
    show(page, "documents")
    find = page.get_by_role("button", name="Find the most re-used pairs")
    find.click()
    page.locator(".mined a").click()
    page.wait_for_selector(f"#documents h2:has-text('{names[1]}')")
    answer(page, "/api/mine", json.dumps(steps[0]) + "\n")
    find.click()
    page.wait_for_selector("#documents .error:has-text('broke off')")


def test_run(page: Any) -> None:
    """What was read, each stage in a sentence, and a verdict on top."""
    show(page, "run")
    page.wait_for_selector("#run .verdict")
    text = page.locator("#run").inner_text()
    assert "documents kept apart" in text
    assert "Read " in text
    assert page.locator("#run table tr").count() > 5
    assert "tf-idf" in page.locator("#run table:has(caption)").inner_text()
    assert page.locator("#run figure:has-text('Similarities of') svg").count() == 1


@pytest.mark.parametrize("page", [{"viewport": PHONE}], indirect=True)
@pytest.mark.parametrize(
    "texts",
    [
        (HOSTILE, HOSTILE),
        (LONG, B),
        ("הספינה הגיעה לנמל.", "وصلت السفينة إلى الميناء."),
        ("Blorf zzyzx.", "Snarg wugs!"),
        ("ship" * 300, "\u202eship"),
    ],
    ids=["markup", "long", "right to left", "unknown", "one long word"],
)
def test_odd_texts(page: Any, texts: tuple[str, str]) -> None:
    """Text is shown, never run; it fits a narrow screen; it may run from right to left."""
    show(page, "compare", a=texts[0], b=texts[1])
    page.wait_for_selector("#compare .reasons")
    shown = page.locator("#compare .text")
    # Numbers of meetings stand between.
    plain = re.sub(r"[\d,]", "", shown.first.inner_text())
    assert plain.split() == re.sub(r"[\d,]", "", texts[0]).split()
    assert page.title() == "Compare · firth"
    assert page.locator("#compare img, #compare b").count() == 0
    assert page.evaluate(WIDER) <= 0
    if "Blorf" in texts[0]:  # nothing is claimed of what nothing is known of
        assert "No score" in page.locator("#compare [role=status]").first.inner_text()
        assert page.locator("#compare .scale").count() == 0
    if "הספינה" in texts[0]:
        assert shown.first.evaluate("at => getComputedStyle(at).direction") == "rtl"


def test_shares_are_said_as_on_the_command_line(page: Any) -> None:
    """Rounded down, with as many digits as tell them from 100."""
    show(page, "compare")
    shares = [0.013, 0.5, 0.945, 0.98999, 0.99719, 0.99994, 0.999995]
    script = "async (all) => all.map((await import('/static/dom.js')).percent)"
    expected = [percent(share, 200_000).removesuffix(" of") for share in shares]
    assert page.evaluate(script, shares) == expected


@pytest.mark.parametrize("page", [{"viewport": PHONE}], indirect=True)
def test_a_narrow_screen(page: Any, names: list[str]) -> None:
    """Nothing of any tab is wider than a phone; every field has a name."""
    page.add_init_script(HITS.replace("COUNT", "200"))
    asked = {
        "compare": {"a": A, "b": B},
        "search": {"q": A},
        "documents": {"a": names[0], "b": names[1]},
    }
    for tab in TABS:
        show(page, tab, **asked.get(tab, {}))
        assert page.evaluate(WIDER) <= 0, tab
        assert page.evaluate(NAMELESS) == []


@pytest.mark.parametrize(
    "page", [{"color_scheme": "light"}, {"color_scheme": "dark"}], indirect=True
)
def test_light_and_dark(page: Any) -> None:
    """Every text stands out from its ground as WCAG 2 asks (AA), whichever the reader prefers."""
    show(page, "compare", a=A, b=B)
    page.wait_for_selector("#compare .stack")
    assert page.evaluate(CONTRAST) == []
    show(page, "run")
    page.wait_for_selector("#run .verdict")
    assert page.evaluate(CONTRAST) == []


def test_very_many_hits(page: Any) -> None:
    """100,000 hits are shown a page at a time."""
    page.add_init_script(HITS.replace("COUNT", "100000"))
    show(page, "search", q="x")
    assert page.locator(".hits li").count() == 50
    assert "100,000 hits" in page.locator("#search").inner_text()
    page.get_by_label("Page", exact=True).fill("2000")
    page.get_by_label("Page", exact=True).press("Enter")
    page.wait_for_selector("text=Sentence 100000.")
    assert page.get_by_role("button", name="Next").is_disabled()
    page.get_by_role("button", name="Previous").click()
    page.wait_for_selector("text=Sentence 99950.")
    assert page.locator(".hits li").count() == 50


def test_what_goes_wrong_is_told(page: Any) -> None:
    """An error says what to do and can be tried again; so does a service that is gone."""
    problem = {"error": {"code": "missing", "message": "No scale.", "hint": "firth scale --run"}}
    answer(page, "/api/explain", problem, 409)
    show(page, "compare", a=A, b=B)
    alert = page.locator("#compare [role=alert]").first
    assert "No scale." in alert.inner_text()
    assert "firth scale --run" in alert.inner_text()
    page.unroute("**/api/explain")
    page.route("**/api/explain", lambda route: route.abort())
    page.get_by_role("button", name="Try again").click()
    page.wait_for_selector("text=The service does not answer.")
    page.unroute("**/api/explain")
    page.get_by_role("button", name="Try again").click()
    page.wait_for_selector("#compare .stack")
    assert alert.inner_text() == ""
    page.route("**/api/run", lambda route: route.abort())
    page.reload()
    page.wait_for_selector("#wrong .error")


def test_a_wait_is_told(page: Any) -> None:
    """What takes long shows that it goes on; a later question ends the one before."""
    waiting: list[Any] = []
    ended: list[str] = []
    page.on("requestfailed", lambda request: ended.append(request.post_data))

    def first_waits(route: Any) -> None:
        if waiting:
            route.continue_()
        else:
            waiting.append(route)

    page.route("**/api/explain", first_waits)
    page.goto(f"{page.address}#/compare?{urlencode({'a': A, 'b': B})}")
    page.wait_for_selector("#compare progress:visible")
    assert "Comparing" in page.locator("#compare [role=status]").first.inner_text()
    page.get_by_label("Second sentence").fill(A)
    page.get_by_label("Second sentence").press("Enter")
    page.wait_for_selector("#compare .stack")
    assert page.locator(".scale .score").first.inner_text() == "1.00"
    assert ended == [waiting[0].request.post_data]


def test_by_keyboard_alone(page: Any) -> None:
    """Tabs by arrows, fields by Tab, questions by Enter, reasons by Space; the link over them."""
    show(page, "compare")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Tab")
    keys = ("ArrowRight", "End", "ArrowRight", "ArrowLeft", "Home", "ArrowRight")
    lead = ("search", "run", "compare", "run", "compare", "search")
    for key, tab in zip(keys, lead, strict=True):
        page.keyboard.press(key)
        page.wait_for_selector(f"#{tab}:visible")
        assert page.evaluate("document.activeElement.dataset.tab") == tab
        assert page.locator("[role=tab][aria-selected=true]").count() == 1
        assert page.locator("[role=tabpanel]:visible").count() == 1
    page.keyboard.press("Tab")
    page.keyboard.type("The captain remembered a storm.")
    page.keyboard.press("Enter")
    page.wait_for_selector(".hits button")
    page.locator(".hits button").first.focus()
    page.keyboard.press("Space")
    page.wait_for_selector(".hits .why .stack")
    page.go_back()
    page.wait_for_url(lambda url: "captain" not in url)


def test_a_token_is_asked_for(page: Any) -> None:
    """What needs a token asks for it, and sends it from then on."""
    sent: list[str | None] = []

    def guarded(route: Any) -> None:
        sent.append(route.request.headers.get("authorization"))
        if sent[-1] == "Bearer open sesame":
            route.continue_()
        else:
            route.fulfill(status=401, body="{}")

    page.route("**/api/run", guarded)
    page.goto(page.address)
    page.locator("#token input").fill("open sesame")
    page.keyboard.press("Enter")
    page.wait_for_selector("html[data-ready]")
    assert sent == [None, "Bearer open sesame"]


def test_a_run_that_lacks_parts(page: Any) -> None:
    """Tabs say what is missing and how to build it; the rest works."""
    page.goto(page.address)
    known = page.evaluate("fetch('/api/run').then((answer) => answer.json())")
    none: dict[str, Any] = {"examples": [], "curves": {}, "labels": None}
    none["has"] = dict.fromkeys(known["has"], False)
    answer(page, "/api/run", known | none)
    for tab in TABS:
        show(page, tab)
        assert page.locator(f"#{tab} .notice, #{tab} .verdict").count() == 1
        assert page.evaluate(WIDER) <= 0


@pytest.mark.parametrize("name", [path.name for path in sorted(STATIC.iterdir())])
def test_text_never_becomes_markup(name: str) -> None:
    """No script makes markup of text or runs it, no file names another host, and no style stands
    where the page's security policy forbids it."""
    text = (STATIC / name).read_text(encoding="utf-8")
    acts = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|\.cssText"
    assert not re.search(acts, text)
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)
    if name.endswith(".html"):
        assert not re.search(r"\bstyle=|\bon\w+=|<style", text)

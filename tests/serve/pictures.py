"""Takes the pictures of docs/page.md: every tab of the page, and every state that it can be in.

    firth example
    firth build speeches.jsonl --run mine
    python -m tests.serve.pictures mine

They are of the five-minute start, so that whoever reads along sees the same.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from firth.run.run import Run

from .conftest import running
from .test_page import HITS, answer, settle, show

IMAGES = Path(__file__).parents[2] / "docs" / "images"
PAIR = {
    "a": "We must cut taxes for working families.",
    "b": "Lower taxes would help people who work.",
}
LONG = "The President spoke of taxes, of work and of families, and " * 40 + "ended."
PROGRESS = """(() => {
  const asked = window.fetch;
  const line = JSON.stringify({ progress: { done: 12, of: 29, what: "Aligning" } }) + "\\n";
  const begun = { start: (told) => told.enqueue(new TextEncoder().encode(line)) };
  window.fetch = async (path, options) =>
    path === "/api/mine" ? new Response(new ReadableStream(begun)) : asked(path, options);
})()"""
"""Answers that the most re-used pairs are being looked for, and no more."""
COLOURS = 96


@dataclass(frozen=True)
class Picture:
    """What is done to a page before it is taken, and its window."""

    pose: Callable[[Any], None]
    width: int = 400
    height: int = 720
    options: dict[str, Any] = field(default_factory=dict)


def above(page: Any, selector: str) -> None:
    """Scroll until the first such element of what is shown stands at the top."""
    page.locator(f"[role=tabpanel]:not([hidden]) {selector}").first.evaluate(
        "at => at.scrollIntoView({ block: 'start' })"
    )


def compare(page: Any) -> None:
    show(page, "compare", **PAIR)
    page.wait_for_selector("#compare .stack")


def search(page: Any) -> None:
    show(page, "search", q="people without work")
    page.locator(".hits button").first.click()
    page.wait_for_selector(".hits .why .stack")


def documents(page: Any) -> None:
    mined(page)
    page.locator(".mined a").first.click()
    page.wait_for_selector(".aligned li")
    settle(page)


def run(page: Any) -> None:
    show(page, "run")
    page.wait_for_selector("#run .verdict")


def empty(page: Any) -> None:
    show(page, "compare")


def waiting(page: Any) -> None:
    page.route("**/api/explain", lambda route: None)
    page.goto(f"{page.address}#/compare?{urlencode(PAIR)}")
    page.wait_for_selector("#compare progress:visible")


def gone(page: Any) -> None:
    page.route("**/api/explain", lambda route: route.abort())
    show(page, "compare", **PAIR)


def condition(page: Any) -> None:
    show(page, "search", q="people without work", where="date around 1980")
    above(page, "details")


def texts(first: str, second: str) -> Callable[[Any], None]:
    def pose(page: Any) -> None:
        show(page, "compare", a=first, b=second)
        above(page, ".result")

    return pose


def nothing(page: Any) -> None:
    show(page, "search", q="zzyzx", by="words")


def many(page: Any) -> None:
    page.add_init_script(HITS.replace("COUNT", "100000"))
    show(page, "search", q="people without work")
    page.get_by_label("Page", exact=True).fill("2000")
    page.get_by_label("Page", exact=True).press("Enter")
    page.wait_for_selector("text=Sentence 100000.")
    above(page, ".pager")


def progress(page: Any) -> None:
    page.add_init_script(PROGRESS)
    show(page, "documents")
    page.get_by_role("button", name="Find the most re-used pairs").click()
    page.wait_for_selector("text=Aligning: 12 of 29")


def unknown(page: Any) -> None:
    show(page, "documents", a="1999-nobody", b="1983-reagan")


def mined(page: Any) -> None:
    show(page, "documents")
    page.get_by_role("button", name="Find the most re-used pairs").click()
    page.wait_for_selector(".mined li")


def lacking(page: Any) -> None:
    page.goto(page.address)
    known = page.evaluate("fetch('/api/run').then((answer) => answer.json())")
    answer(page, "/api/run", known | {"has": dict.fromkeys(known["has"], False), "examples": []})
    show(page, "search")


def token(page: Any) -> None:
    page.route("**/api/run", lambda route: route.fulfill(status=401, body="{}"))
    page.goto(page.address)
    page.wait_for_selector("#token input")
    page.keyboard.type("0123456789abcdef")


def keyboard(page: Any) -> None:
    show(page, "search", q="people without work")
    page.get_by_label("What is looked for").focus()
    while page.evaluate("document.activeElement.textContent") != "Why?":
        page.keyboard.press("Tab")
    page.keyboard.press("Space")
    page.wait_for_selector(".hits .why .stack")
    above(page, ".hits")


DARK = {"color_scheme": "dark"}
PICTURES = {
    "compare": Picture(compare, 1040, 1280),
    "search": Picture(search, 1040, 1100),
    "documents": Picture(documents, 1040, 900),
    "run": Picture(run, 1040, 1960),
    "dark": Picture(compare, 1040, 900, DARK),
    "phone": Picture(compare),
    "keyboard": Picture(keyboard),
    "empty": Picture(empty),
    "waiting": Picture(waiting),
    "gone": Picture(gone),
    "condition": Picture(condition),
    "long": Picture(texts(LONG, PAIR["b"])),
    "right-to-left": Picture(texts("הספינה הגיעה לנמל.", "وصلت السفينة إلى الميناء.")),
    "unknown-words": Picture(texts("Blorf zzyzx.", "Snarg wugs!")),
    "nothing": Picture(nothing),
    "many": Picture(many),
    "progress": Picture(progress),
    "unknown-document": Picture(unknown),
    "mined": Picture(mined),
    "lacking": Picture(lacking),
    "token": Picture(token),
}
"""Name, as in docs/images/page-NAME.png → how it is taken."""


def take(browser: Any, address: str, name: str) -> None:
    """Take one picture, with few colours."""
    from PIL import Image

    wanted = PICTURES[name]
    size = {"width": wanted.width, "height": wanted.height}
    context = browser.new_context(viewport=size, reduced_motion="reduce", **wanted.options)
    page = context.new_page()
    page.address = f"{address}/"
    wanted.pose(page)
    with Image.open(BytesIO(page.screenshot(animations="disabled"))) as taken:
        few = taken.convert("RGB").quantize(COLOURS)
        few.save(IMAGES / f"page-{name}.png", optimize=True)
    page.unroute_all(behavior="ignoreErrors")
    context.close()


def main() -> None:
    """Take those that are named, or all."""
    import shutil

    from playwright.sync_api import sync_playwright

    folder, *names = sys.argv[1:]
    with running(Run.open(Path(folder))) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        for name in names or PICTURES:
            take(browser, address, name)
        browser.close()


if __name__ == "__main__":
    main()

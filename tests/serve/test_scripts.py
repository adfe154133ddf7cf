"""Ten scripts from words to the page: one run has documents in all of them."""
# ruff: noqa: RUF001

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
from tests.conftest import TOY_SETTINGS
from tests.serve.conftest import running
from tests.serve.test_web_app import BROWSER

from firth.model import Model, build
from firth.text.words import words

SCRIPTS = {
    "am": ("መርከቧ ወደቡን ለቃ ወጣች።", "ማታ ማዕበል መጣ።", "ማዕበል", "ጋጋሪው ዳቦ ይጋግራል።", "የዳቦው ሽታ ጥሩ ነው።"),
    "ar": ("غادرت السفينة الميناء.", "جاءت العاصفة مساء.", "العاصفة", "يخبز الرجل خبزا.",
           "الخبز طيب."),
    "de": ("Das Schiff verließ den Hafen.", "Abends kam der Sturm.", "Sturm", "Er backt Brot.",
           "Brot riecht gut."),
    "el": ("Το πλοίο έφυγε από το λιμάνι.", "Το βράδυ ήρθε καταιγίδα.", "καταιγίδα",
           "Ο φούρναρης ψήνει ψωμί.", "Το ψωμί μυρίζει ωραία."),
    "he": ("הספינה עזבה את הנמל.", "בערב באה סערה.", "סערה", "האופה אופה לחם.", "ריח הלחם טוב."),
    "hi": ("जहाज़ बंदरगाह से चला गया।", "शाम को तूफ़ान आया।", "तूफ़ान", "वह रोटी बनाता है।",
           "रोटी अच्छी है।"),
    "ru": ("Корабль покинул гавань.", "Вечером пришла буря.", "буря", "Пекарь печёт хлеб.",
           "Хлеб вкусно пахнет."),
    "te": ("ఓడ నౌకాశ్రయం నుండి బయలుదేరింది.", "సాయంత్రం తుఫాను వచ్చింది.", "తుఫాను",
           "అతను రొట్టె చేస్తాడు.", "రొట్టె వాసన బాగుంది."),
    "th": ("เรือออกจากท่าเรือแล้ว", "พายุมาในตอนเย็น", "พายุ", "เขาอบขนมปัง", "ขนมปังหอมมาก"),
    "zh": ("船离开了港口。", "晚上来了暴风雨。", "暴风雨", "他烤面包。", "面包闻起来很香。"),
}  # fmt: skip
"""Of each language: two sentences about a ship, a word of the second, two sentences about bread."""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    """A run of two documents in each script, with an empty line between sentences in Thai."""
    documents = [
        {"id": f"{code}-{topic}", "text": text}
        for code, (*ship, _, bread1, bread2) in SCRIPTS.items()
        for topic, sentences in (("ship", ship), ("bread", (bread1, bread2)))
        for text in [("\n\n" if code == "th" else " ").join(sentences)]
    ]
    settings = TOY_SETTINGS | {"corpus": {"min_words": 1, "held_out_fraction": 0.1}}
    return build(documents, tmp_path_factory.mktemp("scripts") / "run", settings=settings)


@pytest.fixture(scope="module")
def address(model: Model) -> Iterator[str]:
    with running(model.path) as address:
        yield address


@pytest.mark.parametrize("code", SCRIPTS)
def test_search_and_explanation(model: Model, code: str) -> None:
    """The sentence with the word of the query comes first, and the word explains the score."""
    _, second, query, *_ = SCRIPTS[code]
    hit = model.search(query, top=1)[0]
    assert (hit.document, hit.text) == (f"{code}-ship", second)
    why = model.explain(query, second)
    assert why.score > 0
    assert np.isclose(sum(part.contribution for part in why.parts.values()), why.score)
    assert any(set(words(query)) & set(words(match.word1)) for match in why.word_matches)
    assert query in str(why)


def test_the_page_shows_each_script_in_its_direction(address: str) -> None:
    """The word of the query is marked; Arabic and Hebrew run from right to left."""
    if BROWSER is None:
        pytest.skip("no browser was found")
    sync: Any = pytest.importorskip("playwright.sync_api")
    with sync.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        page = browser.new_page()
        for code, (_, second, query, *_) in SCRIPTS.items():
            page.goto(f"{address}/#search?q={quote(query)}")
            first = page.locator("ol.hits li", has_text=second[:12]).first
            first.wait_for()
            mark = first.locator("mark.hit").first
            assert first.locator("summary").inner_text() == second
            assert query in first.locator("mark.hit").all_inner_texts()
            direction = mark.evaluate("node => getComputedStyle(node).direction")
            assert direction == ("rtl" if code in ("ar", "he") else "ltr"), code
        browser.close()

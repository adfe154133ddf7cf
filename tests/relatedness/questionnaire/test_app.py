"""The pages over real HTTP: escaped, guarded against other sites, forgiving to annotators."""

import http.client
import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest

from firth.relatedness.questionnaire.setup import Rules, Wording, make_questionnaire
from firth.relatedness.questionnaire.store import Store

from .conftest import AWKWARD, gold, items, running, tuples

GOLD = {one.tuple for one in gold()}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@dataclass
class Browser:
    """As much of a browser as a form needs: one cookie, redirects followed."""

    port: int
    cookie: str = ""
    headers: dict[str, str] | None = None

    def ask(
        self, method: str, path: str, form: dict[str, str] | None = None, **headers: str
    ) -> tuple[int, str, http.client.HTTPMessage]:
        """One request, not followed."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        own = {"Cookie": self.cookie} if self.cookie else {}
        body = None if form is None else urlencode(form)
        connection.request(
            method, path, body, {**own, **(FORM if form is not None else {}), **headers}
        )
        answer = connection.getresponse()
        text = answer.read().decode()
        if (cookie := answer.headers["Set-Cookie"]) is not None:
            self.cookie = cookie.split(";")[0]
        connection.close()
        return answer.status, text, answer.headers

    def go(self, method: str, path: str, form: dict[str, str] | None = None) -> tuple[int, str]:
        """One request and the pages it leads to."""
        status, text, headers = self.ask(method, path, form)
        while status == 303:
            where = urlsplit(headers["Location"])
            path = where.path + (f"?{where.query}" if where.query else "")
            status, text, headers = self.ask("GET", path)
        return status, text


@pytest.fixture
def store(folder: Path) -> Iterator[Store]:
    wording = Wording(
        title="Which <is> it?", instructions="# How\n\n*Read* <script>alert(1)</script> & choose."
    )
    rules = Rules(gold_every=2)
    made = Store.create(
        folder / "db", make_questionnaire(items(), tuples(), gold(), wording=wording, rules=rules)
    )
    yield made
    made.close()


@pytest.fixture
def browser(store: Store) -> Iterator[Browser]:
    with running(store) as port:
        yield Browser(port)


def shown(page: str) -> tuple[str, list[str]]:
    """The tuple and the items of a question page."""
    (asked,) = re.findall(r'name="tuple" value="([^"]*)"', page)
    return unescape(asked), [unescape(v) for v in re.findall(r'name="best" value="([^"]*)"', page)]


def test_texts_are_shown_as_they_are(browser: Browser, store: Store) -> None:
    """Markup in items, ids, names, titles and instructions is text; so are template braces."""
    status, page = browser.go("GET", "/")
    assert status == 200
    assert "<em>Read</em> &lt;script&gt;" in page
    assert "Which &lt;is&gt; it?" in page
    _, page = browser.go("POST", "/start", {"name": "<i>Zoë</i> 漢"})
    texts = {item.id: item.texts for item in items()}
    seen = set()
    for _ in range(9):
        assert "&lt;i&gt;Zoë&lt;/i&gt; 漢" in page
        assert "<script>document" not in page
        if "Known answer" not in page:
            asked, ids = shown(page)
            written = re.findall(r'<p dir="auto">([^<]*)</p>', page)
            assert [unescape(one) for one in written] == [t for n in ids for t in texts[n]]
            for name in ids:
                seen |= {one for one in AWKWARD if one in texts[name][0]}
            form = {"tuple": asked, "best": ids[0], "worst": ids[1]}
            _, page = browser.go("POST", "/answer", form)
        else:
            _, page = browser.go("GET", "/question")
    assert seen == set(AWKWARD)


def test_feedback_follows_gold_questions_at_once(browser: Browser, store: Store) -> None:
    """Every second question is gold, with feedback; going on leads to the next question."""
    _, page = browser.go("POST", "/start", {"name": "a"})
    right = {one.tuple: one for one in gold()}
    told = []
    for number in range(1, 7):
        assert f'<h1 tabindex="-1">Question {number}</h1>' in page
        asked, ids = shown(page)
        assert (asked in GOLD) == (number % 2 == 0)
        best, worst = ids[0], ids[-1]
        if number == 4:
            best, worst = worst, best
        _, page = browser.go("POST", "/answer", {"tuple": asked, "best": best, "worst": worst})
        if asked in GOLD:
            told.append(
                "Right!" if "Right!" in page else "Not quite." if "Not quite." in page else ""
            )
            known = re.findall(r'<tr class="known">\s*<th scope="row">(\d)</th>', page)
            order = [ids.index(right[asked].best) + 1, ids.index(right[asked].worst) + 1]
            assert [int(n) for n in known] == sorted(order)
            _, page = browser.go("GET", "/question")
    assert told == ["Right!", "Not quite.", "Right!"]


def test_an_incomplete_answer_is_asked_again(browser: Browser, store: Store) -> None:
    """Status 400, what was chosen stays, nothing is stored; then the form works as before."""
    _, page = browser.go("POST", "/start", {"name": "a"})
    asked, ids = shown(page)
    for form, problem in (
        ({"best": ids[1], "worst": ids[1]}, "two different items"),
        ({"best": ids[1]}, "one item of each kind"),
        ({"best": ids[1], "worst": "pair 99"}, "one item of each kind"),
    ):
        status, page = browser.go("POST", "/answer", {"tuple": asked, **form})
        assert status == 400
        assert problem in page
        assert shown(page) == (asked, ids)
        (chosen,) = re.findall(r'name="best" value="([^"]*)" [^>]* checked', page)
        assert unescape(chosen) == ids[1]
    assert store.annotations() == []


def test_the_form_sent_twice(browser: Browser, store: Store) -> None:
    """A double click gives one answer; a question never asked gives none."""
    _, page = browser.go("POST", "/start", {"name": "a"})
    asked, ids = shown(page)
    form = {"tuple": asked, "best": ids[0], "worst": ids[1]}
    first = browser.go("POST", "/answer", form)
    assert browser.go("POST", "/answer", form) == first
    strange = next(one.id for one in tuples() if one.id not in (asked, shown(first[1])[0]))
    assert browser.go("POST", "/answer", {**form, "tuple": strange})[0] == 200
    assert [one.tuple for one in store.annotations()] == [asked]


def test_without_a_name_there_are_no_questions(browser: Browser, store: Store) -> None:
    """Every page leads to the first one; a bad name is refused with a reason."""
    for method, path in (("GET", "/question"), ("POST", "/answer"), ("GET", "/feedback?tuple=t1")):
        status, page = browser.go(method, path, {} if method == "POST" else None)
        assert status == 200
        assert 'id="name"' in page
    status, page = browser.go("POST", "/start", {"name": " "})
    assert status == 400
    assert "1 to 64 characters" in page
    browser.cookie = "annotator=nobody"
    assert 'id="name"' in browser.go("GET", "/question")[1]


def test_pause_forgets_the_name_here_only(browser: Browser, store: Store) -> None:
    """The answers stay, and the same name goes on."""
    _, page = browser.go("POST", "/start", {"name": "a"})
    asked, ids = shown(page)
    _, second = browser.go("POST", "/answer", {"tuple": asked, "best": ids[0], "worst": ids[1]})
    status, page = browser.go("POST", "/pause", {})
    assert status == 200
    assert "Your answers are saved" in page
    browser.cookie = ""
    _, page = browser.go("POST", "/start", {"name": "A"})
    assert shown(page) == shown(second)
    assert "1 answered" in page


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Origin": "http://["}, 403),
        ({"Host": "evil.example"}, 421),
        ({"Host": "["}, 400),
        ({"Content-Length": "70000"}, 413),
        ({"Sec-Fetch-Site": "same-origin"}, 303),
    ],
)
def test_forms_of_other_sites_are_refused(
    headers: dict[str, str], status: int, browser: Browser, store: Store
) -> None:
    """Foreign origins, foreign names of this machine, and endless forms change nothing."""
    answer = browser.ask("POST", "/start", {"name": "a"}, **headers)
    assert answer[0] == status
    assert store.overview().annotators == int(status == 303)


def test_headers_of_every_page(browser: Browser) -> None:
    """Scripts from here only, no framing, nothing kept; the cookie is out of reach of others."""
    for path in ("/", "/static/style.css", "/nothing"):
        _, _, headers = browser.ask("GET", path)
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
    _, _, headers = browser.ask("POST", "/start", {"name": "a"})
    cookie = headers["Set-Cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert browser.ask("GET", "/", Host="evil.example")[0] == 421

"""The pages of the questionnaire: HTML from the server, forms back to it, one answer a form."""

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from firth.ratings.store import LONGEST_NAME, PAGES, NotAskedError, Store, UnusableAnswerError
from firth.serve.guard import Guard, read_body
from firth.serve.server import run_server

COOKIE = "annotator"
MAX_BYTES = 1 << 16
_COOKIE_SECONDS = 90 * 24 * 3600


class Pages:
    """The questionnaire of a store, as pages."""

    def __init__(self, store: Store) -> None:
        self._store = store
        markdown = MarkdownIt("commonmark", {"html": False})
        always = {
            "rules": store.rules, "longest_name": LONGEST_NAME,
            "instructions": markdown.render(store.rules.instructions),
        }  # fmt: skip
        self._template = Environment(
            loader=FileSystemLoader(PAGES),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        ).get_template("page.html", globals=always)

    def app(self) -> Starlette:
        """Return the ASGI application."""
        return Starlette(
            routes=[
                Route("/", self.welcome),
                Route("/start", self.start, methods=["POST"]),
                Route("/question", self.question),
                Route("/answer", self.answer, methods=["POST"]),
                Route("/feedback", self.feedback),
                Route("/pause", self.pause, methods=["POST"]),
                Mount("/static", StaticFiles(directory=PAGES)),
            ],
            middleware=[Middleware(Guard)],
        )

    def welcome(self, request: Request) -> Response:
        """Show the instructions, and a field for the name."""
        return self._page("welcome", name="", problem="", saved="saved" in request.query_params)

    async def start(self, request: Request) -> Response:
        """Begin or continue under a name."""
        name = (await _form(request)).get("name", "")
        try:
            key = await run_in_threadpool(self._store.enter, name)
        except UnusableAnswerError as error:
            return self._page("welcome", 400, name=name, problem=str(error), saved=False)
        response = RedirectResponse("/question", 303)
        response.set_cookie(
            COOKIE, quote(key, safe=""), _COOKIE_SECONDS, httponly=True, samesite="strict"
        )
        return response

    def question(self, request: Request) -> Response:
        """Show the open question, or thanks where there is none."""
        key, name = self._annotator(request)
        return RedirectResponse("/", 303) if name is None else self._question(key, name)

    async def answer(self, request: Request) -> Response:
        """Store an answer, then show the next question, or feedback on a gold question."""
        form = await _form(request)
        key, name = await run_in_threadpool(self._annotator, request)
        if name is None:
            return RedirectResponse("/", 303)
        tuple_id, best, worst = (form.get(field, "") for field in ("tuple", "best", "worst"))
        try:
            is_gold = await run_in_threadpool(self._store.answer, key, tuple_id, best, worst)
        except NotAskedError:
            return RedirectResponse("/question", 303)
        except UnusableAnswerError as error:
            chosen = {"best": best, "worst": worst, "problem": str(error)}
            return await run_in_threadpool(self._question, key, name, 400, **chosen)
        where = "/feedback?" + urlencode({"tuple": tuple_id}) if is_gold else "/question"
        return RedirectResponse(where, 303)

    def feedback(self, request: Request) -> Response:
        """Show the right answer to a gold question."""
        key, name = self._annotator(request)
        gold = name and self._store.feedback(key, request.query_params.get("tuple", ""))
        if not gold:
            return RedirectResponse("/question", 303)
        answered, remaining = self._store.progress(key)
        return self._page("feedback", feedback=gold, name=name, answered=answered, left=remaining)

    async def pause(self, request: Request) -> Response:
        """Forget the name in this browser; the answers stay."""
        response = RedirectResponse("/?saved", 303)
        response.delete_cookie(COOKIE, httponly=True, samesite="strict")
        return response

    def _question(self, key: str, name: str, status: int = 200, **chosen: str) -> Response:
        question, (answered, remaining) = self._store.next(key), self._store.progress(key)
        values: dict[str, Any] = {"name": name, "answered": answered, "left": remaining}
        if question is None:
            return self._page("done", stopped=self._store.is_stopped(key), **values)
        values |= {"best": "", "worst": "", "problem": "", **chosen}
        return self._page("question", status, question=question, **values)

    def _annotator(self, request: Request) -> tuple[str, str | None]:
        key = unquote(request.cookies.get(COOKIE, ""))
        return key, self._store.name(key) if key else None

    def _page(self, page: str, status: int = 200, **values: object) -> HTMLResponse:
        return HTMLResponse(self._template.render(page=page, **values), status)


def serve(store: Store, port: int, ready: Callable[[str], None]) -> None:
    """Serve a questionnaire on this machine until interrupted; port 0 is a free one.

    `ready` is called with the address as soon as connections are accepted.
    """
    run_server(Pages(store).app(), ready, port=port)


async def _form(request: Request) -> dict[str, str]:
    """Return the fields of a form, the first of each name; bytes that are not UTF-8 replaced."""
    text = (await read_body(request, MAX_BYTES)).decode("utf-8", "replace")
    return {name: values[0] for name, values in parse_qs(text, keep_blank_values=True).items()}

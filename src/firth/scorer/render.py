"""Pages and pieces of HTML: the style sheet, templates that escape, and tables for notebooks.

A page needs no other file and has no scripts, for light and dark screens.
"""

from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import Any

from firth.run.console import escaped

_TABLE = (
    "<p>{{ heading }}</p><table><tr>{% for c in columns %}<th>{{ c }}</th>{% endfor %}</tr>"
    "{% for row in rows %}<tr>{% for cell in row %}<td>{{ cell }}</td>{% endfor %}</tr>"
    "{% endfor %}</table>"
)


@cache
def style() -> str:
    """Return the style sheet of explanations and of pages around them."""
    return file("style.css")


def file(name: str) -> str:
    """Return the text of a file of this package."""
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def template(text: str, **options: Any) -> Any:
    """Return a template in which texts are escaped; those in `Markup` are HTML.

    Characters that act on a reader, as by changing the reading order, are spelled out.
    """
    from jinja2 import Environment

    def plain(value: object) -> object:
        return escaped(value) if type(value) is str else value

    return Environment(autoescape=True, finalize=plain, **options).from_string(text)


def notebook(article: str) -> str:
    """Return HTML with the style sheet in front, for the output of a notebook."""
    return f"<style>{style()}</style>{article}"


def html_table(heading: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a heading and a table as HTML; every text is escaped."""
    text: str = template(_TABLE).render(heading=heading, columns=columns, rows=rows)
    return notebook(text)

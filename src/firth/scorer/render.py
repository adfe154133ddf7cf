"""Pages and pieces of HTML: the style sheet, and templates that escape.

A page needs no other file and has no scripts, for light and dark screens.
"""

from functools import cache
from importlib import resources
from typing import Any

from firth.run.console import escaped


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

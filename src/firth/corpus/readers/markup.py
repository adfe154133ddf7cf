"""Running text of pages that are made to be looked at: HTML and PDF."""

import re
from collections.abc import Iterator
from typing import Any

_DROPPED = [
    "script", "style", "noscript", "template", "nav", "header", "footer", "aside", "form", "table",
    "pre", "svg", "head",
]  # fmt: skip
_BLOCKS = frozenset((
    "address", "article", "blockquote", "body", "center", "dd", "details", "div", "dl", "dt",
    "fieldset", "figcaption", "figure", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "html", "li",
    "main", "ol", "p", "section", "summary", "ul",
))  # fmt: skip
_HYPHENATED = re.compile(r"[\ufffe\x02]\s*|(?<=[^\W\d_])[-\u2010\u00ad]\s*\n(?=[a-z])")
"""Where a line's end divides a word; pdfium marks such places with U+FFFE or U+0002."""


class UnreadableError(Exception):
    """A page, or a file of pages, that its library cannot read."""


def html_text(page: str) -> tuple[str, str]:
    """Title and running text of HTML, however broken, a paragraph a block, blank lines between.

    Scripts, styles, navigation, page headers and footers, asides, forms, tables and blocks of code
    are left out.
    """
    from selectolax.lexbor import LexborHTMLParser

    tree = LexborHTMLParser(page)
    found = tree.css_first("title")
    title = found.text() if found is not None else ""
    tree.strip_tags(_DROPPED, recursive=True)
    blocks: dict[int, list[str]] = {}
    last, count = None, 0
    if tree.body is not None:
        for node in tree.body.traverse(include_text=True):
            if node.tag == "br":
                blocks.setdefault(count, []).append(" ")
            elif node.tag == "-text":
                block = _block_of(node)
                count += block != last
                last = block
                blocks.setdefault(count, []).append(node.text(deep=False))
    narrowed = (" ".join("".join(pieces).split()) for pieces in blocks.values())
    return " ".join(title.split()), "\n\n".join(text for text in narrowed if text)


def _block_of(node: Any) -> int:
    """Which block a text stands in."""
    while node.parent is not None and node.tag not in _BLOCKS:
        node = node.parent
    return int(node.mem_id)


def pdf_pages(path: str) -> Iterator[str | UnreadableError]:
    """The running text of each page of a PDF file, or why there is none; scans have no words.

    Lines of a page are joined, and so are words that a line's end divides: a page is a paragraph.

    Raises:
        UnreadableError: The file is none, is broken, or needs a password.
    """
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(path)
    except (pypdfium2.PdfiumError, OSError) as error:
        raise UnreadableError(str(error)) from error
    try:
        for number in range(len(document)):
            try:
                text = document[number].get_textpage().get_text_bounded()
            except pypdfium2.PdfiumError as error:
                yield UnreadableError(f"page {number + 1}: {error}")
            else:
                yield " ".join(_HYPHENATED.sub("", text.replace("\r\n", "\n")).split())
    finally:
        document.close()

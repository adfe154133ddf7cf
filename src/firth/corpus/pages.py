"""Running text of pages: Markdown, HTML and PDF.

A megabyte of PDF unpacks to a gigabyte, and tags nest a million deep. So HTML and PDF are read in
another process with limits, and a bad file costs nothing but itself.
"""

import contextlib
import functools
import json
import math
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from firth.corpus.document import Document, Item, Problem, Reason, checked, clean
from firth.run.errors import InputError, first_line
from firth.run.limits import limit
from firth.text.words import has_word

MEMORY = 2 << 30
"""Bytes that a file may add to what the process holds."""
SECONDS, SECONDS_OF_MB = 5, 5
"""Processor seconds that a file may take, and more for each megabyte of it."""

_DROPPED = (
    "script, style, noscript, template, nav, footer, aside, form, table, pre, svg, head, button, "
    "select, dialog, [hidden], [aria-hidden=true], [role=navigation], [role=search], [role=dialog],"
    " [role=banner], [role=contentinfo], [role=complementary], [role=menu], [role=menubar]"
)
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_LINKED = 0.8
"""A block of which links have so much of the text, and that ends as no sentence, is navigation
(Kohlschütter et al. 2010)."""
_BLOCKS = frozenset((
    "address", "article", "blockquote", "body", "center", "dd", "details", "div", "dl", "dt",
    "fieldset", "figcaption", "figure", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "html", "li",
    "main", "ol", "p", "section", "summary", "ul",
))  # fmt: skip
_HYPHENATED = re.compile(r"[\ufffe\x02]\s*|(?<=[^\W\d_])[-\u2010\u00ad]\s*\n(?=[a-z])")
"""A word divided at a line end; pdfium marks such places with U+FFFE or U+0002."""
_free: "subprocess.Popen[str] | None" = None
"""The other process while it has nothing to do; it ends with this process."""


_PROGRAM = f"""
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from {__name__} import answer
answer()
"""


class _CostlyError(Exception):
    """The process was lost over a file."""


_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(?=[\w-]+[ \t]*:)(?:.+\n)*?---[ \t]*(?:\n|\Z)")
_BREAKS = {"softbreak": " ", "hardbreak": "\n"}


Blocks = list[tuple[str, bool]]
"""Paragraphs of a page in order, and whether each is a heading."""


def joined(blocks: Blocks) -> tuple[str, tuple[int, ...]]:
    """Return the text of blocks, and which of those with a word are headings."""
    texts = [(text, is_heading) for text, is_heading in blocks if has_word(text)]
    headings = (number for number, (_, is_heading) in enumerate(texts) if is_heading)
    return "\n\n".join(text for text, _ in texts), tuple(headings)


def markdown_blocks(markdown: str) -> Blocks:
    """Return the blocks of Markdown (CommonMark): headings, paragraphs and items of lists.

    Code blocks, tables, HTML blocks, images and front matter are left out. The text of links,
    emphasis and code inside a sentence stays.
    """
    blocks: Blocks = []
    in_table = in_heading = False
    for token in _markdown().parse(_FRONT_MATTER.sub("", markdown, count=1)):
        in_heading = token.type == "heading_open" or (in_heading and token.type == "inline")
        in_table = token.type == "table_open" or (in_table and token.type != "table_close")
        if token.type == "inline" and not in_table:
            pieces = (
                piece.content
                if piece.type in ("text", "code_inline")
                else _BREAKS.get(piece.type, "")
                for piece in token.children
            )
            blocks.append(("".join(pieces), in_heading))
    return blocks


@functools.cache
def _markdown() -> Any:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable("table")


def read_html(source: str, page: bytes, limit: int) -> Iterator[Item]:
    """Yield the document in an HTML file: UTF-8, else the Western encoding that browsers assume."""
    try:
        text = page.decode()
    except UnicodeDecodeError:
        text = page.decode("cp1252", errors="replace")
    try:
        title, blocks = _ask("html", text, len(page), limit)
    except _CostlyError as error:
        yield Problem(source, 0, Reason.COSTLY, str(error))
        return
    text, headings = joined([(text.replace("\0", " "), heading) for text, heading in blocks])
    document = Document(id=source, text=text, title=clean(title), source=source, line=1)
    yield checked(replace(document, headings=headings), limit)


def read_pdf(source: str, path: str, limit: int) -> Iterator[Item]:
    """Yield the document in a PDF file, each page as a paragraph, with the numbers of the pages.

    A page that cannot be read is left out.
    """
    try:
        texts, flaws = _ask("pdf", os.path.abspath(path), os.path.getsize(path), limit)
    except _CostlyError as error:
        yield Problem(source, 0, Reason.COSTLY, str(error))
        return
    for flaw in flaws:
        yield Problem(source, 0, Reason.CORRUPT, flaw)
    pages = {number: text for number, text in enumerate(texts, 1) if has_word(text)}
    if texts or not flaws:
        text = "\n\n".join(pages.values()).replace("\0", " ")
        document = Document(id=source, text=text, source=source, line=1, pages=tuple(pages))
        yield checked(document, limit)


def _ask(kind: str, value: str, size: int, longest: int) -> Any:
    """Return what the other process makes of a file of `size` bytes.

    A `_CostlyError` says that it took more than `MEMORY` or than its time, or that its library
    failed. The process is lost then, and the next file has a new one.
    """
    global _free
    seconds = math.ceil(SECONDS + SECONDS_OF_MB * size / 1e6)
    process, _free = _free or _start(), None
    assert process.stdin is not None
    assert process.stdout is not None
    with contextlib.suppress(BrokenPipeError):  # There will be no answer, either.
        process.stdin.write(json.dumps([kind, value, seconds, longest, MEMORY]) + "\n")
        process.stdin.flush()
    if (line := process.stdout.readline()).endswith("\n"):
        _free = process
        return json.loads(line)
    process.communicate()
    if -process.returncode == getattr(signal, "SIGXCPU", None):
        raise _CostlyError(f"reading it took more than {seconds} s of processor time")
    raise _CostlyError(
        f"the process that read it was lost (exit status {process.returncode}): it needed more "
        f"than {MEMORY >> 20:,} MiB of memory, or its library failed"
    )


def _start() -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, json.dumps(sys.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="ascii",
    )
    assert process.stdout is not None
    if not process.stdout.readline():  # No file is to blame.
        process.communicate()
        raise InputError(
            "HTML and PDF are read in another process, which did not start: "
            f"{sys.executable} ended with status {process.returncode}"
        )
    return process


# --- In the other process ----------------------------------------------------------------------


def answer() -> None:
    """Answer what is asked on standard input, line by line; this is the other process."""
    answers = os.fdopen(os.dup(1), "w", encoding="ascii", buffering=1)
    os.dup2(2, 1)  # What a library prints is no answer.
    answers.write("ready\n")
    for line in sys.stdin:
        kind, value, seconds, longest, memory = json.loads(line)
        limit(memory, seconds)
        made = _html_text(value) if kind == "html" else _pdf_texts(value, longest)
        answers.write(json.dumps(made) + "\n")


def _html_text(page: str) -> tuple[str, Blocks]:
    """Return title and main text of HTML, however broken.

    The text is that of the page's only `main`, or only `article`, where it has one. Scripts, what
    is hidden, navigation, page headers and footers, asides, forms, buttons, tables and blocks of
    code are left out, and blocks of links.
    """
    from selectolax.lexbor import LexborHTMLParser

    tree = LexborHTMLParser(page)
    head = tree.css_first("title")
    title = head.text() if head is not None else ""
    _remove(tree, _DROPPED)
    mains = next(filter(None, (tree.css("main, [role=main]"), tree.css("article"))), [])
    if len(mains) == 1 and mains[0].text().strip():
        root: Any = mains[0]
    else:
        _remove(tree, "header")
        root = tree.body
    blocks: dict[int, _Block] = {}
    last, count = None, 0
    for node in root.traverse(include_text=True) if root is not None else ():
        if node.tag == "br":
            blocks.setdefault(count, _Block()).pieces.append(" ")
        elif node.tag == "-text":
            block, is_heading, is_linked = _block_of(node)
            count += block != last
            last = block
            current = blocks.setdefault(count, _Block())
            current.pieces.append(node.text(deep=False))
            current.is_heading |= is_heading
            current.linked += is_linked * _letters(current.pieces[-1])
    running = [block for block in blocks.values() if not block.is_navigation and block.text]
    return " ".join(title.split()), [(block.text, block.is_heading) for block in running]


@dataclass
class _Block:
    """A block of text while it is read, and the characters of it that are links."""

    pieces: list[str] = field(default_factory=list)
    linked: int = 0
    is_heading: bool = False

    @property
    def text(self) -> str:
        return " ".join("".join(self.pieces).split())

    @property
    def is_navigation(self) -> bool:
        ends = self.text.endswith((".", "!", "?", ":", "\u3002", "\u0964", "\u061f"))
        return not (ends or self.is_heading) and 0 < _LINKED * _letters(self.text) <= self.linked


def _remove(tree: Any, selector: str) -> None:
    """Remove elements from a page, the inner ones first: what is removed is gone from memory."""
    for node in reversed(tree.css(selector)):
        node.decompose()


def _letters(text: str) -> int:
    return sum(map(str.isalnum, text))


def _block_of(node: Any) -> tuple[int, bool, bool]:
    """Return the number of the block that a text belongs to; whether in a heading, and a link."""
    is_linked = False
    while node.parent is not None and node.tag not in _BLOCKS:
        is_linked |= node.tag == "a"
        node = node.parent
    return int(node.mem_id), node.tag in _HEADINGS, is_linked


def _pdf_texts(path: str, longest: int) -> tuple[list[str], list[str]]:
    """Return the text of each page, "" of one that cannot be read, and what is wrong.

    Pages after `longest` characters are not read: the document is too long.
    """
    import pypdfium2

    texts, flaws = list[str](), list[str]()
    try:
        with contextlib.closing(pypdfium2.PdfDocument(path)) as document:
            for number in range(len(document)):
                if longest < 0:
                    break
                texts.append("")
                try:
                    text = document[number].get_textpage().get_text_bounded()
                except pypdfium2.PdfiumError as error:
                    flaws.append(f"page {number + 1}: {error}")
                else:
                    joined = _HYPHENATED.sub("", text.replace("\r\n", "\n"))
                    texts[-1] = " ".join(joined.split())
                    longest -= len(texts[-1])
    except (pypdfium2.PdfiumError, OSError) as error:
        flaws.append(first_line(error))
    return texts, flaws

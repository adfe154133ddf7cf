"""Plain text and Markdown: a document a file."""

import functools
import re
from collections.abc import Iterator
from typing import Any

from firth.corpus.formats import Format
from firth.corpus.inputs import Problem, Reason, Source
from firth.corpus.lines import Line
from firth.corpus.records import Item, Record, checked, not_utf8


def read_text(source: Source, lines: Iterator[Line], limit: int) -> Iterator[Item]:
    """One document a file; a file over `limit` bytes gives one for each part of that size.

    A bad line is left out and leaves a paragraph border.
    """
    held: list[str] = []
    first, size, parts, problems = 1, 0, 0, 0

    def document(part: list[str], name: str) -> Item:
        text = "\n".join(part)
        if source.format is Format.MARKDOWN:
            text = plain_text(text)
        return checked(Record(source.name, first, name, "", text), limit)

    for line in lines:
        text, problem = _text_of(line, source.name)
        if problem is not None:
            problems += 1
            yield problem
        added = len(text.encode()) + 1
        while held and size + added > limit:
            borders = (i for i in range(len(held) - 1, 0, -1) if not held[i].strip())
            cut = next(borders, len(held))
            if any(part_line.strip() for part_line in held[:cut]):
                yield document(held[:cut], f"{source.name}:{first}")
            size -= sum(len(part_line.encode()) + 1 for part_line in held[:cut])
            parts, first, held = parts + 1, first + cut, held[cut:]
        held.append(text)
        size += added
    if any(held_line.strip() for held_line in held) or not (parts or problems):
        yield document(held, f"{source.name}:{first}" if parts else source.name)


def _text_of(line: Line, source: str) -> tuple[str, Problem | None]:
    def problem(reason: Reason, detail: str) -> Problem:
        return Problem(source, line.number, line.flaw or reason, line.detail or detail)

    try:
        text = line.content.decode()
    except UnicodeDecodeError as error:
        if line.flaw is None or error.end < len(line.content):
            return "", problem(Reason.INVALID_UTF8, not_utf8(error))
        text = line.content[: error.start].decode()  # a character cut in two by the break
    if "\0" in text:
        return "", problem(Reason.NUL, f"NUL at character {text.index(chr(0))}")
    return text, None if line.flaw is None else problem(line.flaw, line.detail)


_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(?=[\w-]+[ \t]*:)(?:.+\n)*?---[ \t]*(?:\n|\Z)")
_BREAKS = {"softbreak": " ", "hardbreak": "\n"}


def plain_text(markdown: str) -> str:
    """The running text of Markdown (CommonMark): headings, paragraphs and items of lists.

    Each becomes a paragraph of its own. Code blocks, tables, blocks of HTML, images and front
    matter are left out; of links, emphasis and code inside a sentence the text stays.

    Example:
        >>> plain_text(
        ...     "# Ships\\n\\nA *ship* of the\\n[line](l.md):\\n\\n    code\\n\\n- `one`\\n- two"
        ... )
        'Ships\\n\\nA ship of the line:\\n\\none\\n\\ntwo'
    """
    blocks: list[str] = []
    in_table = False
    for token in _markdown().parse(_FRONT_MATTER.sub("", markdown, count=1)):
        in_table = token.type == "table_open" or (in_table and token.type != "table_close")
        if token.type == "inline" and not in_table:
            pieces = (
                piece.content
                if piece.type in ("text", "code_inline")
                else _BREAKS.get(piece.type, "")
                for piece in token.children
            )
            blocks.append("".join(pieces))
    return "\n\n".join(block for block in blocks if block.strip())


@functools.cache
def _markdown() -> Any:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable("table")

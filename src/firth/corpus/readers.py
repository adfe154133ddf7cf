"""Documents of one file: a record or a page of it, a text, or parts of a long text."""

from collections.abc import Collection, Iterator, Sequence

from firth.corpus.document import (
    ALL_FIELDS,
    Document,
    Item,
    Problem,
    Reason,
    checked,
    columns_of,
    missing,
    record_of,
)
from firth.corpus.files import (
    TABLES,
    ZSTD,
    Advance,
    BrokenError,
    Line,
    Source,
    added_readers,
    content_of,
    not_utf8,
    read_lines,
    read_rows,
)
from firth.corpus.pages import joined, markdown_blocks, read_html, read_pdf
from firth.run.errors import require
from firth.run.settings import CorpusSettings

_LIBRARIES = {"html": ("selectolax", "documents", "HTML"), "pdf": ("pypdfium2", "documents", "PDF"),
              "parquet": ("pyarrow", "documents", "Parquet")}  # fmt: skip


def require_reader(kind: tuple[str, str], name: str) -> None:
    """Raise `MissingExtraError` where the library that reads a format is not installed."""
    if kind[0] in _LIBRARIES:
        module, extra, what = _LIBRARIES[kind[0]]
        require(module, extra, f"{name}: reading {what}")
    if kind[1] == ".zst":
        require(ZSTD, "documents", f"{name}: reading .zst")


def read_source(source: Source, settings: CorpusSettings, advance: Advance) -> Iterator[Item]:
    """Yield the documents of a file in order, and a problem for each record that is not used."""
    limit = settings.max_record_bytes
    if source.format in TABLES or source.format in added_readers():
        yield from _read_records(source, settings, advance)
    elif source.format == "pdf":
        yield from read_pdf(source.name, source.path, limit)
        advance(source.size)
    else:
        lines = read_lines(source, limit, advance)
        if source.format == "html":
            yield from _read_page(source.name, lines, limit)
        elif settings.lines and source.format == "text":
            yield from _read_each_line(source.name, lines, limit)
        else:
            yield from _read_text(source, lines, limit)


def _read_records(source: Source, settings: CorpusSettings, advance: Advance) -> Iterator[Item]:
    def needed(names: Sequence[str]) -> Collection[str]:
        columns = columns_of(tuple(names), settings)
        if lacking := [name for name in columns.text if name not in names]:
            problem = missing(source.name, 1, lacking[0], list(names))
            raise BrokenError(problem.reason, problem.detail)
        if settings.fields == ALL_FIELDS:
            return names
        return {*columns.text, columns.id, columns.title, columns.date, *settings.fields}

    for line, row in read_rows(source, settings.max_record_bytes, advance, needed):
        if isinstance(row, Problem):
            yield row
        else:
            yield from record_of(row, source.name, line, settings)


def _read_text(source: Source, lines: Iterator[Line], limit: int) -> Iterator[Item]:
    """Yield one document for a file, or one for each part of `limit` bytes.

    A bad line is left out and leaves a paragraph border.
    """
    part_lines: list[str] = []
    first, size, parts, problems = 1, 0, 0, 0

    def document(part: list[str], id: str) -> Item:
        text, headings = "\n".join(part), tuple[int, ...]()
        if source.format == "markdown":
            text, headings = joined(markdown_blocks(text))
        document = Document(id=id, text=text, source=source.name, line=first, headings=headings)
        return checked(document, limit)

    for line in lines:
        text, problem = _text_of(line, source.name)
        if problem is not None:
            problems += 1
            yield problem
        added = len(text.encode()) + 1
        while part_lines and size + added > limit:
            borders = (i for i in range(len(part_lines) - 1, 0, -1) if not part_lines[i].strip())
            cut = next(borders, len(part_lines))
            if any(line_text.strip() for line_text in part_lines[:cut]):
                yield document(part_lines[:cut], f"{source.name}:{first}")
            size -= sum(len(line_text.encode()) + 1 for line_text in part_lines[:cut])
            parts, first, part_lines = parts + 1, first + cut, part_lines[cut:]
        part_lines.append(text)
        size += added
    if any(line_text.strip() for line_text in part_lines) or not (parts or problems):
        yield document(part_lines, f"{source.name}:{first}" if parts else source.name)


def _read_each_line(source: str, lines: Iterator[Line], limit: int) -> Iterator[Item]:
    """Yield a document for each line; a line of white space is none."""
    for line in lines:
        text, problem = _text_of(line, source)
        if problem is not None:
            yield problem
        elif text.strip():
            id = f"{source}:{line.number}"
            document = Document(id=id, text=text, source=source, line=line.number)
            yield checked(document, limit)


def _text_of(line: Line, source: str) -> tuple[str, Problem | None]:
    def problem(reason: Reason, detail: str) -> Problem:
        return Problem(source, line.number, line.flaw or reason, line.detail or detail)

    try:
        text = line.content.decode()
    except UnicodeDecodeError as error:
        if line.flaw is None or error.end < len(line.content):
            return "", problem(Reason.INVALID_UTF8, not_utf8(error))
        text = line.content[: error.start].decode()  # The break cut a character in two.
    if "\0" in text:
        return "", problem(Reason.NUL, f"NUL at character {text.index(chr(0))}")
    return text, None if line.flaw is None else problem(line.flaw, line.detail)


def _read_page(source: str, lines: Iterator[Line], limit: int) -> Iterator[Item]:
    """Yield one document for an HTML file; the part before a break is kept."""
    page, problem = content_of(source, lines, limit, "corpus.max_record_bytes")
    if problem is not None:
        yield problem
    if problem is None or problem.reason is not Reason.TOO_LONG:
        yield from read_html(source, page, limit)

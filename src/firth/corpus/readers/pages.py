"""HTML and PDF: a document a file."""

from collections.abc import Iterator

from firth.corpus.inputs import Problem, Reason, Source
from firth.corpus.lines import Advance, Line
from firth.corpus.readers import apart
from firth.corpus.readers.markup import UnreadableError
from firth.corpus.records import Item, Record, checked, clean, first_line


def read_html(source: Source, lines: Iterator[Line], limit: int) -> Iterator[Item]:
    """One document a file; what stands before a break is kept, and nothing over `limit`."""
    held, size = [], 0
    for line in lines:
        flaw, detail = line.flaw, line.detail
        size += len(line.content) + 1
        if size > limit:
            flaw, detail = Reason.TOO_LONG, f"over {limit:,} bytes (max_record_bytes)"
        if flaw is not None:
            yield Problem(source.name, line.number, flaw, detail)
        if flaw is Reason.TOO_LONG:
            return
        held.append(line.content)
    # As browsers do: UTF-8 where it is that, else the Western encoding that HTML takes for granted.
    page = b"\n".join(held)
    try:
        text = page.decode()
    except UnicodeDecodeError:
        text = page.decode("cp1252", errors="replace")
    try:
        title, text = apart.html_text(text)
    except apart.CostlyError as error:
        yield Problem(source.name, 0, Reason.COSTLY, str(error))
        return
    yield checked(Record(source.name, 1, source.name, clean(title), text), limit)


def read_pdf(source: Source, limit: int, advance: Advance) -> Iterator[Item]:
    """One document a file; a page that cannot be read is left out, and so is all from a costly one
    on.
    """
    pages: list[str] = []
    size = 0
    try:
        for page in apart.pdf_pages(source.path):
            if isinstance(page, UnreadableError):
                yield Problem(source.name, 0, Reason.CORRUPT, str(page))
                continue
            pages.append(page)
            size += len(page)
            if size > limit:
                detail = f"over {limit:,} bytes (max_record_bytes)"
                yield Problem(source.name, 0, Reason.TOO_LONG, detail)
                return
    except apart.CostlyError as error:
        yield Problem(
            source.name, 0, Reason.COSTLY, f"after {len(pages):,} readable pages: {error}"
        )
        if not pages:
            return
    except UnreadableError as error:
        yield Problem(source.name, 0, Reason.CORRUPT, first_line(error))
        return
    finally:
        advance(source.size)
    text = "\n\n".join(pages).replace("\0", " ")
    yield checked(Record(source.name, 1, source.name, "", text), limit)

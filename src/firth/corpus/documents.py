"""Records made ready to be stored, in shards: their digests, their sentences, their words.

That is what takes long of reading, and several processes can do it: a shard is some of what was
read, in order, and what comes of it takes its place. Reading itself, knowing duplicates and storing
stay with the process that builds.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from firth.corpus.group import read_grouped
from firth.corpus.inputs import Problem, Source
from firth.corpus.lines import Advance
from firth.corpus.read import read_source
from firth.corpus.records import Item, Record
from firth.corpus.seen import row_of
from firth.corpus.settings import CorpusConfig
from firth.corpus.split import split_paragraphs
from firth.corpus.store import Document
from firth.lexical.words import words
from firth.run.engine import HERE, Engine

SHARD = 1 << 18
"""Characters of text from which on a shard is full; its last record may be of any length."""
Read = Document | Problem | Source
"""What comes of reading; a source comes where it ends."""
_Unread = Item | Source


def read_documents(
    sources: Sequence[Source],
    config: CorpusConfig,
    advance: Advance,
    scratch: Path,
    engine: Engine = HERE,
) -> Generator[Read, None, None]:
    """All that is in some sources, in order, each source after what is in it.

    Args:
        sources: What to read.
        config: Names of the fields, the longest record, and what is grouped.
        advance: Told how many bytes on disk have been read.
        scratch: A folder for what does not fit into memory.
        engine: Who splits; what comes is the same.

    Raises:
        InputError: Records are to be grouped by a field that none has.
    """
    for made in engine.map(_Splitting(), _shards(_unread(sources, config, advance, scratch))):
        yield from made


def _unread(
    sources: Sequence[Source], config: CorpusConfig, advance: Advance, scratch: Path
) -> Iterator[_Unread]:
    if config.group_by is not None:
        found = read_grouped(sources, config, advance, scratch / "grouped.sqlite")
    else:
        found = ((source, read_source(source, config, advance)) for source in sources)
    for source, items in found:
        yield from items
        yield source


def _shards(items: Iterable[_Unread]) -> Iterator[list[_Unread]]:
    held: list[_Unread] = []
    size = 0
    for item in items:
        held.append(item)
        size += len(item.text) if isinstance(item, Record) else 1
        if size >= SHARD:
            yield held
            held, size = [], 0
    if held:
        yield held


@dataclass(frozen=True)
class _Splitting:
    """Work: what was read in, what can be stored out."""

    def open(self) -> Callable[[list[_Unread]], list[Read]]:
        return lambda items: [_split(item) if isinstance(item, Record) else item for item in items]


def _split(record: Record) -> Document:
    paragraphs = split_paragraphs(record.text)
    counts = [len(words(sentence)) for sentences in paragraphs for sentence in sentences]
    return Document(replace(record, text=""), row_of(record), paragraphs, counts)

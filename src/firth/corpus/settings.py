"""Settings of the corpus: how documents become sentences, tokens and numbered words."""

from typing import Annotated

from pydantic import AfterValidator, Field

from firth.lexical.words import Stemmer
from firth.run.section import Count, Section

LIMITS = ("corpus.max_words", "corpus.min_words")
"""Settings of the sentences that models learn from and contexts are made of."""


KEPT_ANYWAY = ("id", "title", "date")
"""What every document has of its own accord; no field can be called so."""


def _own_names(fields: tuple[str, ...]) -> tuple[str, ...]:
    if kept := [name for name in fields if name in KEPT_ANYWAY]:
        raise ValueError(f"{kept[0]!r} is kept anyway; expected names of other fields")
    if "" in fields or len({*fields}) < len(fields):
        raise ValueError("expected different names, none of them empty")
    return fields


def _not_all(held_out: int) -> int:
    if held_out == 1:
        raise ValueError("1 would hold out every document; expected 0 (none), or 2 or more")
    return held_out


class CorpusConfig(Section):
    """Documents in, sentences and chunks out."""

    inputs: tuple[str, ...] = ()
    """Files, folders, globs, each also in a store (`s3://bucket/texts`), or `hub:NAME`, in the
    order in which they are read."""
    text_field: str = "text"
    """Field of the text; of several (`subject,body`), what each holds follows as a paragraph."""
    id_field: str | None = None
    """Field of the document's name; by default `id` where a record has it, else file and line."""
    date_field: str | None = None
    """Field of a document's date (ISO 8601); by default `date` where a record has it."""
    group_by: str | None = None
    """Records with one value of this field (a thread, a question's id) form one document."""
    fields: Annotated[tuple[str, ...], AfterValidator(_own_names)] = ()
    """Further fields of records that are kept, to choose documents by in a search."""
    strict: bool = False
    """Stop at the first bad record instead of skipping and counting it."""
    max_record_bytes: Count = 32 << 20
    """A longer record (or line of a text file) is bad; a longer text file is split in parts."""
    chunk_sentences: Count = 8
    """Longest chunk, the unit of retrieval; a paragraph border ends a chunk that is half full."""
    window: Count = 1
    """Sentences on each side of a position that make its context (the paper gives no number)."""
    min_words: Count = 3
    max_words: Count = 60
    """Shorter and longer sentences are stored, but are neither positions nor training centres."""
    held_out: Annotated[int, Field(ge=0), AfterValidator(_not_all)] = 20
    """Every so-manieth document is kept from all that learns, for `firth check`; of fewer, but ten
    or more, the last one; 0 holds none."""


class TokenizerConfig(Section):
    """Byte-level BPE learned on the corpus, shared by every model trained from scratch."""

    vocabulary: Annotated[int, Field(ge=300)] = 16_000
    lowercase: bool = True


class WordSection(Section):
    """How sentences become words; the values of the CBOS paper (§IV-B)."""

    stemmer: Stemmer = Stemmer.PORTER
    min_count: Count = 5
    """Words seen less often are dropped."""
    vocabulary: Count = 100_000
    """Words kept at most, the most frequent: each step of a training passes over all of them."""
    max_words: Count = 120
    """A longer sentence is cut into pieces of this many words, which follow one another."""
    dimensions: Count = 100

"""Bringing documents into the store of a run: build, add and remove are one path.

Documents are read, split into sentences, staged in transactions, and put in place by one
transaction at the end (`firth.corpus.store`). Documents that have not changed are not split again.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from itertools import chain, islice

import numpy as np

from firth.corpus.document import HARMLESS, Document, Item, Problem, Reason
from firth.corpus.read import Given, Inputs, find_inputs, read_given
from firth.corpus.readers import read_source
from firth.corpus.siblings import sibling_groups, sketch
from firth.corpus.store import FILE, HEADING, PAGE, Store, Stored, missing_corpus
from firth.run.console import Progress, note, plural
from firth.run.errors import InputError
from firth.run.executor import Executor, Local
from firth.run.files import fingerprint_value, write_text
from firth.run.results import Result
from firth.run.run import Run
from firth.run.settings import derive_seed
from firth.text.sentences import split_paragraphs
from firth.text.words import (
    AUTO,
    SEVERAL,
    UNKNOWN,
    forget_languages,
    language_among,
    languages_of_texts,
    normal_form,
    word_count,
    words,
)

SKIPPED = "skipped.jsonl"
"""What was not used of the inputs, a line each."""
HELD_OUT, LEARN = 1, 0
"""Parts of a corpus: held-out documents, which no model learns from, and the others."""

_SPLITTING = 2
"""Version of how texts become sentences and words; a change makes every document new."""
_SHARD = 1 << 18
"""Characters of text that are split at once by a process."""
_TRANSACTION = 1 << 22
"""Characters of text that are staged in a transaction."""
_FEWEST = 10
"""Fewer documents have no held-out one."""
_LEAST_HELD_OUT, _ONE_IN = 10, 8
"""Documents that are held out at least, as verdicts need them, but no more than one in eight."""
_SHOWN = 3
_SAMPLE, _SAMPLED_FILES = 200, 100
"""Documents of a file, and files, by which the language is recognized."""


@dataclass(frozen=True, kw_only=True, repr=False)
class CorpusSummary(Result):
    """Counts of a corpus after a call, and of what the call did.

    Attributes:
        documents: Documents in the store, the held-out ones included.
        skipped: Reason → records, files and folders whose text is lost.
        noted: Reason → records that are used without their date or id.
        copies: Documents that have the text of another one: it is learned and indexed once.
    """

    documents: int = 0
    held_out: int = 0
    sentences: int = 0
    words: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)
    noted: Mapping[str, int] = field(default_factory=dict)
    copies: int = 0
    added: int = 0
    replaced: int = 0
    removed: int = 0
    language: str = UNKNOWN

    def summary(self) -> str:
        """Return the counts in a sentence."""
        changes = {"added": self.added, "replaced": self.replaced, "removed": self.removed}
        done = ", ".join(f"{count:,} {name}" for name, count in changes.items() if count)
        copies = f", {self.copies:,} of them with the text of another" if self.copies else ""
        return (
            f"Documents: {self.documents:,} ({done or 'unchanged'}){copies}, "
            f"{plural(self.sentences, 'sentence')}, {plural(self.words, 'word')}; "
            f"{self.held_out:,} held out. Language: {self.language}."
        )


def summarize(run: Run) -> CorpusSummary:
    """Return the counts of a run's corpus as it is; errors as of `remove_documents`."""
    with _finished(run) as store:
        return _summary(store)


def build_corpus(run: Run, inputs: Inputs, executor: Executor | None = None) -> CorpusSummary:
    """Bring the store in line with the inputs: new documents are added, changed ones replaced.

    Documents that the inputs no longer hold are removed, but not those of `add_documents`.
    Documents that a user removed (`remove_documents`) stay removed. Nothing is read where neither
    the files nor the settings have changed. The settings are saved in the run. The executor splits
    texts into sentences. The content does not depend on it. After an error the store is as before.
    """
    sources = find_inputs(inputs, run.path)
    with run.locked(), Store(run.path / FILE) as store:
        summary = _read_into(run, store, sources, executor, complete=True)
        run.save()
    return summary


def add_documents(run: Run, inputs: Inputs) -> CorpusSummary:
    """Add documents, or replace those with the same id: all of them or none."""
    sources = find_inputs(inputs, run.path)
    with run.locked(), _finished(run) as store:
        return _read_into(run, store, sources, None, complete=False)


def remove_documents(run: Run, ids: Iterable[str]) -> CorpusSummary:
    """Remove documents by id: all of them or none. `build_corpus` does not bring them back.

    Ids of documents that were removed before are accepted.
    """
    with run.locked(), _finished(run) as store, store.transaction():
        count = store.remove(list(ids))
        return replace(_summary(store), removed=count)


def part_of(id: str, seed: int, fraction: float) -> int:
    """Choose the part of a document by its id, so that other documents never move it.

    A new document that resembles earlier ones follows the first of them instead.
    """
    return HELD_OUT if derive_seed(seed, "held-out", id) < fraction * 2**63 else LEARN


@contextmanager
def _finished(run: Run) -> Iterator[Store]:
    """Open a store that a call of `build_corpus` has finished."""
    if not (run.path / FILE).is_file():
        raise missing_corpus(run.path)
    with Store(run.path / FILE) as store:
        if store.meta("next_key") is None:
            raise missing_corpus(run.path)
        yield store


# --- Splitting, in any process -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Unsplit:
    """A document that was read; it has the digest of its form where the store has it already."""

    document: Document
    language: str
    digest: bytes
    form: bytes = b""


@dataclass(frozen=True)
class Splitting:
    """The work of splitting documents; problems and stored documents pass through it."""

    def open(self) -> Callable[[list[Unsplit | Problem]], list[Unsplit | Stored | Problem]]:
        """Return what splits a list of documents."""
        return lambda items: [
            split(item) if isinstance(item, Unsplit) and not item.form else item for item in items
        ]


def split(unsplit: Unsplit) -> Stored:
    """Split the text of a document into paragraphs and sentences, and count its words."""
    paragraphs = split_paragraphs(unsplit.document.text, unsplit.language)
    sentences = [sentence for paragraph in paragraphs for sentence in paragraph]
    sentence_words = [words(sentence) for sentence in sentences]
    counts = np.array([word_count(sentence) for sentence in sentences], "<u2")
    ends = np.cumsum([len(paragraph) for paragraph in paragraphs]).astype("<u4")
    headings = [n for n in unsplit.document.headings if n < len(ends)]
    ends[headings] |= HEADING
    if pages := unsplit.document.pages[: len(ends)]:
        numbers = np.arange(1, pages[-1] + 1)
        ends = np.append(np.uint32(0), ends)[np.searchsorted(pages, numbers, "right")] | PAGE
    form = hashlib.blake2b(normal_form(unsplit.document.text).encode(), digest_size=16)
    return Stored(
        document=replace(unsplit.document, text=""),
        digest=unsplit.digest,
        form=form.digest(),
        text="\n".join(sentences),
        counts=counts.tobytes(),
        paragraphs=ends.tobytes(),
        sentences=len(sentences),
        words=int(counts.sum(dtype=np.int64)),
        sketch=sketch({word for sentence in sentence_words for word in sentence}),
    )


def unsplit(document: Document, language: str) -> Unsplit:
    """Return a document with the digest of all that is stored of it, apart from its place."""
    values = [_SPLITTING, language, document.id, document.title, document.date, document.text]
    places = *document.headings, sorted(document.fields.items()), *document.pages
    text = json.dumps([*values, *places], ensure_ascii=False)
    return Unsplit(document, language, hashlib.blake2b(text.encode(), digest_size=16).digest())


# --- One call ----------------------------------------------------------------------------------


def _read_into(
    run: Run, store: Store, sources: Given, executor: Executor | None, *, complete: bool
) -> CorpusSummary:
    call = _Call(run, store, sources, executor or Local(), complete)
    try:
        summary = call.run()
    except InputError:
        with store.transaction():
            store.discard()
        if store.meta("next_key") is None:
            store.database.close()
            (run.path / FILE).unlink()
        raise
    problems = store.problems()
    lines = [json.dumps(asdict(problem), ensure_ascii=False) + "\n" for problem in problems]
    if problems:
        write_text(run.path / SKIPPED, "".join(lines))
    else:
        (run.path / SKIPPED).unlink(missing_ok=True)
    for line in _notes(sources, summary):
        note(line)
    return summary


class _Call:
    """A call that reads documents: what it stages, and what it counts."""

    def __init__(
        self, run: Run, store: Store, sources: Given, executor: Executor, complete: bool
    ) -> None:
        self._store, self._sources = store, sources
        self._executor, self._complete = executor, complete
        self._settings, self._seed = run.settings.corpus, run.settings.seed
        self._language = self._settings.language if complete else store.meta("language")
        named = self._settings.model_dump(mode="json", exclude={"inputs"})
        fingerprint = sources.fingerprint()
        request = [_SPLITTING, complete, self._seed, named, fingerprint]
        self._request = None if fingerprint is None else fingerprint_value(request)
        self._counts: Counter[str] = Counter()

    def run(self) -> CorpusSummary:
        """Read, stage, and put in place; or find that nothing has changed."""
        store = self._store
        is_same = self._request is not None and store.meta("request") == self._request
        if self._complete and is_same and not store.is_damaged:
            self._counts.update(store.meta("counts"))
            return self._summary()
        call = store.meta("call", {})
        if self._request is None or call.get("request") != self._request:
            call = {}
            with store.transaction():
                store.discard()
        self._counts.update(call.get("counts", {}))
        self._stage_all(int(call.get("items", 0)))
        with store.transaction():
            if self._complete:
                self._check()
                self._hold_out()
            elif not store.has_staged:
                raise InputError(f"no document can be added{self._why()}")
            else:
                self._keep_together(store.staged(new=True))
            changes = store.finish(complete=self._complete)
            store.show_problems(complete=self._complete)
            if self._complete:
                corpus = self._settings
                store.set_meta(
                    request=self._request,
                    counts=self._counts,
                    fields=corpus.fields,
                    limits=[corpus.min_words, corpus.max_words],
                    split=[self._seed, corpus.held_out_fraction],
                )
        return self._summary(**changes)

    def _stage_all(self, done: int) -> None:
        """Stage all items from the `done`th on, in transactions."""
        total = sum(source.size for source in self._sources.sources) or None
        with Progress(total, "Reading documents (bytes)") as bar:
            lost = [p for p in self._sources.left_out if p.reason not in HARMLESS]
            items = self._in_language(read_given(self._sources, self._settings, bar.advance))
            shards = _shards(map(self._prepared, islice(chain(lost, items), done, None)))
            split_shards = iter(self._executor.map(Splitting(), shards))
            is_left = True
            while is_left:
                size = 0
                with self._store.transaction():
                    while is_left and size < _TRANSACTION:
                        shard = next(split_shards, None)
                        is_left = shard is not None
                        for item in shard or ():
                            size += self._stage(item)
                            done += 1
                    call = {"request": self._request, "items": done, "counts": self._counts}
                    self._store.set_meta(call=call, language=self._language)

    def _in_language(self, items: Iterator[Item]) -> Iterator[Item]:
        """Return the items, after some of each file, or the first ones, decided the language."""
        if self._language != AUTO:
            return items
        first: list[Item] = []
        if sources := self._sources.sources:
            sampled = sources[:: -(-len(sources) // _SAMPLED_FILES)]
            streams = [read_source(source, self._settings, lambda _: None) for source in sampled]
            samples = (islice(stream, _SAMPLE) for stream in streams)
            sample: Iterator[Item] = chain.from_iterable(samples)
        else:
            first = list(islice(items, _SAMPLE))
            sample = iter(first)
        self._language = languages_of_texts(x.text for x in sample if isinstance(x, Document))
        if SEVERAL not in self._language:  # No text is asked for its language then.
            forget_languages()
        return chain(first, items)

    def _prepared(self, item: Item) -> Unsplit | Problem:
        """Look up whether the store has a document: it is not split again then."""
        if isinstance(item, Problem):
            return item
        document = unsplit(item, language_among(item.text, self._language))
        digest, form = self._store.stored_digests(item.id)
        return replace(document, form=form) if digest == document.digest else document

    def _stage(self, item: Unsplit | Stored | Problem) -> int:
        """Stage a document or a problem; return the number of characters that were written."""
        if isinstance(item, Problem):
            self._stage_problem(item)
            return 1
        store, document = self._store, item.document

        def left_out(reason: Reason, detail: str) -> int:
            where = document.source, document.line
            self._stage_problem(Problem(*where, reason, f"{document.id!r} {detail}"))
            return 1

        if self._complete and store.is_removed(document.id):
            return left_out(Reason.REMOVED, "was removed; firth add brings it back")
        if (staged := store.staged_form(document.id)) is not None:
            if staged == item.form:
                return left_out(Reason.DUPLICATE, "is there already, with the same words")
            free = f"{document.source}:{document.line}"
            while store.staged_form(free) is not None:
                free += "'"
            left_out(Reason.REPEATED_ID, f"is another document, this one becomes {free!r}")
            stored = split(item) if isinstance(item, Unsplit) else item
            # The text is not at hand, so the digest follows from the other one.
            digest = hashlib.blake2b(item.digest + free.encode(), digest_size=16).digest()
            item = replace(stored, document=replace(document, id=free, text=""), digest=digest)
        if store.stored_digests(item.document.id)[0] == item.digest:
            store.stage_again(item.document, added=not self._complete)
            return 1
        assert isinstance(item, Stored)
        part = part_of(item.document.id, self._seed, self._settings.held_out_fraction)
        store.stage(item, part, added=not self._complete)
        return len(item.text)

    def _stage_problem(self, problem: Problem) -> None:
        self._counts[problem.reason] += 1
        self._store.stage_problem(problem, self._counts[problem.reason])

    def _check(self) -> None:
        """Raise `InputError` where the inputs hold no document, or no value of a field."""
        if not self._store.has_staged:
            count = plural(len(self._sources.sources), "file")
            of = "the given texts" if self._sources.records is not None else count
            raise InputError(f"no document in {of} can be used{self._why()}")
        names = [name for name in self._settings.fields if not self._store.is_field_staged(name)]
        if names:
            raise InputError(
                f"corpus.fields: no record has a value of {', '.join(map(repr, names))}; expected "
                "names of fields that records have"
            )

    def _hold_out(self) -> None:
        """Choose the held-out documents again where that needs more than each one's id."""
        store, fraction = self._store, self._settings.held_out_fraction
        is_new_split = store.meta("split", [self._seed, fraction]) != [self._seed, fraction]
        if is_new_split:
            for id in store.staged(new=False):
                store.set_part(id, part_of(id, self._seed, fraction))
        firsts = store.firsts()
        movable = [id for id in store.staged(new=not is_new_split) if id in firsts]
        siblings = self._keep_together(movable)
        held_out, count = store.count_staged()
        if count < _FEWEST:
            for id in movable:
                if siblings.get(id, [id]):
                    store.set_part(id, LEARN)
        elif held_out < (least := min(_LEAST_HELD_OUT, count // _ONE_IN)) and fraction:
            for first in sorted(movable, key=lambda id: derive_seed(self._seed, "held-out", id)):
                if held_out < least and store.staged_part(first) == LEARN:
                    group = siblings.get(first, [first])
                    for id in group:
                        store.set_part(id, HELD_OUT)
                    held_out += len(group)
        elif held_out == count:
            raise InputError(
                f"corpus.held_out_fraction = {fraction} holds out all {plural(count, 'document')}; "
                "expected a smaller share"
            )

    def _keep_together(self, movable: list[str]) -> dict[str, list[str]]:
        """Put new documents that resemble others into the part of the oldest of these.

        Return, by the id of a document that may move, all that resemble it; none where some of
        these stay.
        """
        if not (movable and self._settings.held_out_fraction):
            return {}
        rows = self._store.sketches(complete=self._complete)
        numbers = sibling_groups([sketch for sketch, _, _ in rows]).tolist()
        groups: dict[int, list[tuple[str, int]]] = {}
        for group, (_, id, part) in zip(numbers, rows, strict=True):
            groups.setdefault(group, []).append((id, part))
        may_move, siblings = set(movable), dict[str, list[str]]()
        for members in groups.values():
            moved = [id for id, _ in members if id in may_move]
            if len(members) > 1:
                for id in moved:
                    self._store.set_part(id, members[0][1])
                siblings |= dict.fromkeys(moved, moved if len(moved) == len(members) else [])
        return siblings

    def _lost(self) -> dict[str, int]:
        return {r: n for r, n in sorted(self._counts.items()) if Reason(r) not in HARMLESS}

    def _why(self) -> str:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in self._lost().items())
        listed = "".join(
            f"\n  - {problem}" for problem in self._store.problems(staged=True)[:_SHOWN]
        )
        return f" (skipped: {reasons}){listed}" if reasons else ""

    def _summary(self, added: int = 0, replaced: int = 0, removed: int = 0) -> CorpusSummary:
        noted = (Reason.BAD_DATE, Reason.REPEATED_ID, Reason.DUPLICATE)
        return replace(
            _summary(self._store),
            skipped=self._lost(),
            noted={reason.value: n for reason in noted if (n := self._counts[reason])},
            added=added,
            replaced=replaced,
            removed=removed,
        )


def _summary(store: Store) -> CorpusSummary:
    documents, copies, held_out, sentences, words = store.totals()
    return CorpusSummary(
        documents=documents,
        copies=copies,
        held_out=held_out,
        sentences=sentences,
        words=words,
        language=store.meta("language", UNKNOWN),
    )


def _shards(items: Iterable[Unsplit | Problem]) -> Iterator[list[Unsplit | Problem]]:
    shard: list[Unsplit | Problem] = []
    size = 0
    for item in items:
        shard.append(item)
        size += len(item.document.text) if isinstance(item, Unsplit) else 1
        if size >= _SHARD:
            yield shard
            shard, size = [], 0
    if shard:
        yield shard


def _notes(sources: Given, summary: CorpusSummary) -> Iterator[str]:
    """Yield what a user must know of what was read."""
    for problem in sources.left_out[:_SHOWN]:
        yield f"left out: {problem}"
    if len(sources.left_out) > _SHOWN:
        yield f"left out: {len(sources.left_out) - _SHOWN:,} more files or folders"
    if count := sum(summary.skipped.values()):
        yield f"skipped: {plural(count, 'record')} ({SKIPPED} in the run names file and line)"
    for reason, count in summary.noted.items():
        yield f"{reason}: {plural(count, 'record')} (see {SKIPPED})"

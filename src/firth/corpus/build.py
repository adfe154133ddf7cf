"""The corpus stage: read, drop duplicates, split, store, in one pass and in flat memory."""

import hashlib
import json
import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, TextIO

from firth.corpus import CORPUS
from firth.corpus.context import stand_alone
from firth.corpus.group import read_grouped
from firth.corpus.inputs import HARMLESS, Problem, Source, find_inputs
from firth.corpus.lines import Advance
from firth.corpus.read import Item, Record, read_source
from firth.corpus.settings import CorpusConfig
from firth.corpus.split import split_paragraphs
from firth.corpus.store import DATE, HELD_OUT, SETTINGS, CorpusWriter
from firth.lexical.words import normal_form
from firth.run.errors import FirthError, InputError
from firth.run.files import write_json
from firth.run.progress import bar, note
from firth.run.run import Run
from firth.run.stage import SCRATCH, Outcome

SKIPPED = "skipped.jsonl"
SOURCES = "sources.jsonl"
DUPLICATES = "duplicates.jsonl"
BAD_DATES = "bad_dates.jsonl"
MAX_LISTED = 1_000
"""Problems listed in `skipped.jsonl` and `bad_dates.jsonl`; all are counted."""
_SHOWN = 3


def build_corpus(run: Run) -> Outcome:
    """Read the inputs of `run.config.corpus` and store their sentences; reuse what is up to date.

    The stage is stale when the content, names or order of the files change, not when they move.
    What was not read, and what later stages will miss, is said on the screen each time.

    Raises:
        InputError: With every input that cannot be used, before any work; if no document is left;
            with `strict`, at the first bad record. Nothing is left behind then, and a corpus built
            before stays as it was.
    """
    sources, left_out = find_inputs(run.config.corpus.inputs, run.path)
    lost = [problem for problem in left_out if problem.reason not in HARMLESS]

    def fill(handed: Run, workspace: Path) -> Mapping[str, Any]:
        return _build(workspace, sources, lost, handed.config.corpus)

    outcome = run.build(
        CORPUS,
        fill,
        settings=[f"corpus.{name}" for name in CorpusConfig.model_fields if name != "inputs"],
        # Numbered: their order counts.
        inputs={
            **{f"{n:06} {source.name}": source.fingerprint() for n, source in enumerate(sources)},
            **{f"left out: {problem.source}": problem.detail for problem in lost},
        },
    )
    for line in _notes(left_out, outcome.manifest.summary):
        note(line)
    return outcome


def _notes(left_out: Sequence[Problem], summary: Mapping[str, Any]) -> list[str]:
    """What the user must hear, whether the stage was built or reused."""
    lines = [f"left out: {problem}" for problem in left_out[:_SHOWN]]
    if more := left_out[_SHOWN:]:
        lines.append(f"left out: {len(more):,} more files or folders")
    if bad := sum(summary["skipped"].values()):
        lines.append(f"skipped: {bad:,} (see corpus/{SKIPPED}, which names file and line)")
    if undated := summary["bad_dates"]:
        lines.append(f"dates: {undated:,} are not of ISO 8601 (2024-05-01), and their documents "
                     f"have none (see corpus/{BAD_DATES})")  # fmt: skip
    if same := summary["duplicates"]:
        lines.append(
            f"dropped: {same:,} documents with the words of an earlier one "
            f"(see corpus/{DUPLICATES}, which names both)"
        )
    return [*lines, summary["note"]] if "note" in summary else lines


def _build(
    workspace: Path, sources: Sequence[Source], lost: Sequence[Problem], config: CorpusConfig
) -> Mapping[str, Any]:
    # Remove what an interrupted call left; this stage simply starts over.
    for folder in (SCRATCH, HELD_OUT):
        shutil.rmtree(workspace / folder, ignore_errors=True)
    (workspace / HELD_OUT).mkdir()
    for pattern in ("*.arrow", "*.npy", "*.jsonl", SETTINGS):
        for leftover in workspace.glob(pattern):
            leftover.unlink()
    try:
        written = _write(workspace, sources, lost, config)
    except FirthError:
        shutil.rmtree(workspace)
        raise
    settings = {name: getattr(config, name) for name in ("window", "min_words", "max_words")}
    write_json(workspace / SETTINGS, settings)
    write_json(workspace / HELD_OUT / SETTINGS, settings)
    return written


def _write(
    workspace: Path, sources: Sequence[Source], lost: Sequence[Problem], config: CorpusConfig
) -> dict[str, Any]:
    duplicates, title = 0, "Reading documents (bytes)"
    limits = config.min_words, config.max_words
    with (
        closing(SeenTexts(workspace / SCRATCH / "seen.sqlite")) as seen,
        (workspace / SKIPPED).open("w", encoding="utf-8") as listed,
        (workspace / SOURCES).open("w", encoding="utf-8") as counted,
        (workspace / DUPLICATES).open("w", encoding="utf-8") as dropped,
        (workspace / BAD_DATES).open("w", encoding="utf-8") as undated,
        CorpusWriter(workspace, config.chunk_sentences, limits) as writer,
        CorpusWriter(workspace / HELD_OUT, config.chunk_sentences, limits) as held_out,
        bar(title, sum(source.size for source in sources) or None) as shown,
    ):
        skips, flaws = _Skips(listed, config.strict), _Skips(undated, config.strict)
        for problem in lost:
            skips.add(problem)

        def counts() -> Counter[str]:
            return Counter(
                documents=writer.documents,
                sentences=writer.sentences,
                words=writer.words,
                held_out=held_out.documents,
                duplicates=duplicates,
                skipped=skips.total,
            )

        before = counts()
        for source, items in _read(sources, config, shown.advance, workspace / SCRATCH):
            for item in items:
                if isinstance(item, Problem):
                    skips.add(item)
                    continue
                if item.flaw is not None:
                    flaws.add(item.flaw)
                if kept := seen.add(item):
                    duplicates += 1
                    where = {"id": item.id, "source": item.source, "line": item.line}
                    where |= {DATE: item.date} if item.date else {}
                    dropped.write(json.dumps({**where, "kept": kept}) + "\n")
                else:
                    number = writer.documents + held_out.documents + 1
                    aside = config.held_out and number % config.held_out == 0
                    (held_out if aside else writer).append(item, split_paragraphs(item.text))
            found = counts()
            found.subtract(before)
            before = counts()
            counted.write(json.dumps({"source": source.name, **found}, ensure_ascii=False) + "\n")
    if not writer.documents:
        raise InputError(f"no document in {len(sources)} file(s) can be used{skips.explained()}")
    figures = ("documents", "paragraphs", "sentences", "words", "chunks", "positions")
    summary: dict[str, Any] = {name: getattr(writer, name) for name in figures}
    summary |= {"held_out": held_out.documents, "duplicates": duplicates}
    summary |= {"dated": writer.dated + held_out.dated, "bad_dates": flaws.total}
    summary["skipped"] = dict(sorted(skips.reasons.items()))
    if remark := _remark(writer, limits):
        summary["note"] = remark
    return summary


def _read(
    sources: Sequence[Source], config: CorpusConfig, advance: Advance, scratch: Path
) -> Iterator[tuple[Source, Iterator[Item]]]:
    """Each source and what is in it."""
    if config.group_by is not None:
        return read_grouped(sources, config, advance, scratch / "grouped.sqlite")
    return ((source, read_source(source, config, advance)) for source in sources)


def _remark(writer: CorpusWriter, limits: tuple[int, int]) -> str:
    """What a user must know of a corpus whose sentences have few neighbours; else nothing."""
    neighbours = writer.sentences - writer.documents
    if stand_alone(neighbours, writer.sentences):
        return (
            f"texts stand alone: {writer.sentences:,} sentences in {writer.documents:,} documents "
            f"make {neighbours:,} pairs of neighbours. What words mean is then learned from parts "
            "of one sentence, which tells less. Where records belong together (a thread, a "
            "question and its answers), --group-by FIELD makes them one document"
        )
    if not writer.positions:
        return (
            f"no sentence of {limits[0]} to {limits[1]} words (corpus.min_words, max_words) has a "
            "neighbour on each side, as Origin as printed (origin.method: paper) needs"
        )
    return ""


class SeenTexts:
    """Which texts have been seen, in a file, so that memory does not grow with the corpus.

    Of each it remembers 128 bits of its normal form, and whose it was.

    Args:
        path: Database file, made anew. It is scratch: nothing is synced.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        self._database = sqlite3.connect(path, isolation_level=None)
        self._database.execute("PRAGMA journal_mode = OFF")
        self._database.execute("PRAGMA synchronous = OFF")
        self._database.execute("PRAGMA cache_size = -16000")
        columns = "hash BLOB PRIMARY KEY, id TEXT, source TEXT, line INTEGER"
        self._database.execute(f"CREATE TABLE seen ({columns}) WITHOUT ROWID")
        self._database.execute("BEGIN")

    def add(self, record: Record) -> dict[str, Any] | None:
        """Remember a text; if one of the same normal form was there, its id, source and line."""
        digest = hashlib.blake2b(normal_form(record.text).encode(), digest_size=16).digest()
        row = (digest, record.id, record.source, record.line)
        if self._database.execute("INSERT OR IGNORE INTO seen VALUES (?, ?, ?, ?)", row).rowcount:
            return None
        found = self._database.execute("SELECT id, source, line FROM seen WHERE hash = ?", row[:1])
        return dict(zip(("id", "source", "line"), found.fetchone(), strict=True))

    def close(self) -> None:
        """Let go of the file."""
        self._database.close()


class _Skips:
    """Counts problems and lists the first of them; with `strict`, stops at the first."""

    def __init__(self, listed: TextIO, strict: bool) -> None:
        self._listed, self._strict = listed, strict
        self._first: list[str] = []
        self.reasons: Counter[str] = Counter()
        self.total = 0

    def add(self, problem: Problem) -> None:
        if self._strict:
            raise InputError(
                f"{problem}. Without --strict (corpus.strict), bad records are skipped and counted."
            )
        if self.total < MAX_LISTED:
            entry = {
                "file": problem.source,
                "line": problem.line,
                "reason": problem.reason.value,
                "detail": problem.detail,
            }
            self._listed.write(json.dumps(entry) + "\n")
        if len(self._first) < _SHOWN:
            self._first.append(str(problem))
        self.reasons[problem.reason.value] += 1
        self.total += 1

    def explained(self) -> str:
        if not self.total:
            return ""
        first = "".join(f"\n  - {where}" for where in self._first)
        more = f"\n  and {self.total - _SHOWN:,} more" if self.total > _SHOWN else ""
        return f": {self.total:,} bad record(s){first}{more}"

"""The corpus stage: read, drop duplicates, split, store, in one pass and in flat memory."""

import json
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, TextIO

from firth.corpus import CORPUS
from firth.corpus.duplicates import SeenTexts
from firth.corpus.inputs import Source, resolve_inputs
from firth.corpus.readers import read_source
from firth.corpus.records import Problem
from firth.corpus.sentences import split_paragraphs
from firth.corpus.settings import CorpusConfig
from firth.corpus.store import SETTINGS, CorpusWriter
from firth.run.errors import FirthError, InputError
from firth.run.files import write_json
from firth.run.progress import bar
from firth.run.run import Run
from firth.run.stage import SCRATCH, Outcome

SKIPPED = "skipped.jsonl"
SOURCES = "sources.jsonl"
MAX_LISTED = 1_000
"""Problems listed in `skipped.jsonl`; all are counted."""


def build_corpus(run: Run) -> Outcome:
    """Read the inputs of `run.config.corpus` and store their sentences; reuse what is up to date.

    The stage is stale when the content, names or order of the files change, not when they move.

    Raises:
        InputError: With every input that cannot be used, before any work; if no document is left;
            with `strict`, at the first bad record. Nothing is left behind then, and a corpus built
            before stays as it was.
        MissingExtraError: If the hub is named and `datasets` is not installed.
    """
    sources = resolve_inputs(run.config.corpus.inputs)

    def fill(handed: Run, workspace: Path) -> Mapping[str, Any]:
        return _build(workspace, sources, handed.config.corpus)

    return run.build(
        CORPUS,
        fill,
        settings=[f"corpus.{name}" for name in CorpusConfig.model_fields if name != "inputs"],
        # Numbered: their order counts, and two may have the same name.
        inputs={
            f"{number:06} {source.name}": source.fingerprint()
            for number, source in enumerate(sources)
        },
    )


def _build(workspace: Path, sources: Sequence[Source], config: CorpusConfig) -> Mapping[str, Any]:
    try:
        _clear(workspace)
        written = _write(workspace, sources, config)
    except FirthError:
        shutil.rmtree(workspace)
        raise
    settings = {name: getattr(config, name) for name in ("window", "min_words", "max_words")}
    write_json(workspace / SETTINGS, settings)
    return written


def _clear(workspace: Path) -> None:
    """Remove what an interrupted call left; this stage simply starts over."""
    shutil.rmtree(workspace / SCRATCH, ignore_errors=True)
    for pattern in ("*.arrow", "*.npy", "*.jsonl", SETTINGS):
        for leftover in workspace.glob(pattern):
            leftover.unlink()


def _write(workspace: Path, sources: Sequence[Source], config: CorpusConfig) -> dict[str, Any]:
    duplicates, title = 0, "Reading documents (bytes)"
    with (
        closing(SeenTexts(workspace / SCRATCH / "seen.sqlite")) as seen,
        (workspace / SKIPPED).open("w", encoding="utf-8") as listed,
        (workspace / SOURCES).open("w", encoding="utf-8") as counted,
        CorpusWriter(workspace, config) as writer,
        bar(title, sum(source.size for source in sources) or None) as shown,
    ):
        skips = _Skips(listed, config.strict)
        for source in sources:
            before = (writer.documents, writer.sentences, writer.words, duplicates, skips.total)
            for item in read_source(source, config, shown.advance):
                if isinstance(item, Problem):
                    skips.add(item)
                elif seen.add(item.text):
                    duplicates += 1
                else:
                    writer.append(item, split_paragraphs(item.text))
            after = (writer.documents, writer.sentences, writer.words, duplicates, skips.total)
            names = ("documents", "sentences", "words", "duplicates", "skipped")
            counts = {n: b - a for n, a, b in zip(names, before, after, strict=True)}
            counted.write(json.dumps({"source": source.name, **counts}, ensure_ascii=False) + "\n")
    if not writer.documents:
        raise InputError(f"no document in {len(sources)} file(s) can be used{skips.explained()}")
    return {
        "documents": writer.documents,
        "paragraphs": writer.paragraphs,
        "sentences": writer.sentences,
        "words": writer.words,
        "chunks": writer.chunks,
        "slots": writer.slots,
        "duplicates": duplicates,
        "skipped": dict(sorted(skips.reasons.items())),
    }


class _Skips:
    """Counts problems and lists the first of them; with `strict`, stops at the first."""

    def __init__(self, listed: TextIO, strict: bool) -> None:
        self._listed, self._strict = listed, strict
        self._first: list[str] = []
        self.reasons: Counter[str] = Counter()
        self.total = 0

    def add(self, problem: Problem) -> None:
        where = f"{problem.source}, line {problem.line}: {problem.reason} ({problem.detail})"
        if self._strict:
            raise InputError(
                f"{where}. Without --strict (corpus.strict), bad records are skipped and counted."
            )
        if self.total < MAX_LISTED:
            entry = {
                "file": problem.source,
                "line": problem.line,
                "reason": problem.reason.value,
                "detail": problem.detail,
            }
            self._listed.write(json.dumps(entry) + "\n")
        if len(self._first) < 3:
            self._first.append(where)
        self.reasons[problem.reason.value] += 1
        self.total += 1

    def explained(self) -> str:
        if not self.total:
            return ""
        first = "".join(f"\n  - {where}" for where in self._first)
        more = f"\n  and {self.total - 3:,} more" if self.total > 3 else ""
        return f": {self.total:,} bad record(s){first}{more}"

"""The corpus stage: read, drop duplicates, split, store, in one pass and in flat memory."""

import json
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from firth.corpus import CORPUS
from firth.corpus.context import stand_alone
from firth.corpus.documents import read_documents
from firth.corpus.inputs import HARMLESS, Problem, Source, find_inputs
from firth.corpus.seen import SeenTexts, dropped_line
from firth.corpus.settings import CorpusConfig
from firth.corpus.skips import Skips, usable
from firth.corpus.store import HELD_OUT, SETTINGS, CorpusWriter
from firth.run.engine import HERE, Engine
from firth.run.errors import FirthError, InputError
from firth.run.files import write_json
from firth.run.progress import bar, note
from firth.run.run import Run
from firth.run.screen import plural
from firth.run.stage import SCRATCH, Outcome, Stage

SKIPPED = "skipped.jsonl"
SOURCES = "sources.jsonl"
DUPLICATES = "duplicates.jsonl"
BAD_DATES = "bad_dates.jsonl"
READING = tuple(f"corpus.{name}" for name in CorpusConfig.model_fields if name != "inputs")
"""Settings that say how documents are read and stored."""
_SHOWN = 3
_ENOUGH = 10
"""Documents of which one can be kept apart."""


def build_corpus(run: Run, engine: Engine = HERE) -> Outcome:
    """Read the inputs of `run.config.corpus` and store their sentences; reuse what is up to date.

    The stage is stale when the content, names or order of the files change, not when they move.
    What was not read, and what later stages will miss, is said on the screen each time.

    Args:
        run: Whose corpus.
        engine: Who splits documents into sentences; the bytes are the same.

    Raises:
        InputError: With every input that cannot be used, before any work; if no document is left;
            with `strict`, at the first bad record. Nothing is left behind then, and a corpus built
            before stays as it was.
    """
    sources, left_out = find_inputs(run.config.corpus.inputs, run.path)
    lost = [problem for problem in left_out if problem.reason not in HARMLESS]

    def fill(handed: Run, workspace: Path) -> Mapping[str, Any]:
        return _build(workspace, sources, lost, handed.config.corpus, engine)

    outcome = run.build(
        CORPUS,
        fill,
        settings=READING,
        inputs=named_inputs(sources, lost),
    )
    for line in _notes(left_out, outcome.manifest.summary):
        note(line)
    return outcome


def named_inputs(sources: Sequence[Source], lost: Sequence[Problem]) -> dict[str, str]:
    """Name → fingerprint of what is read, and what cannot be; numbered, for their order counts."""
    read = {f"{n:06} {source.name}": source.fingerprint() for n, source in enumerate(sources)}
    return read | {f"left out: {problem.source}": problem.detail for problem in lost}


def _notes(left_out: Sequence[Problem], summary: Mapping[str, Any]) -> list[str]:
    """What the user must hear, whether the stage was built or reused."""
    lines = reading_notes(CORPUS, left_out, summary)
    return [*lines, summary["note"]] if "note" in summary else lines


def reading_notes(
    stage: Stage, left_out: Sequence[Problem], summary: Mapping[str, Any]
) -> list[str]:
    """What was not read, and which file of a stage says more."""
    lines = [f"left out: {problem}" for problem in left_out[:_SHOWN]]
    if more := left_out[_SHOWN:]:
        lines.append(f"left out: {len(more):,} more files or folders")
    if bad := sum(summary["skipped"].values()):
        lines.append(f"skipped: {bad:,} (see {stage.name}/{SKIPPED}, which names file and line)")
    if undated := summary["bad_dates"]:
        lines.append(f"dates: {undated:,} are not of ISO 8601 (2024-05-01), and their documents "
                     f"have none (see {stage.name}/{BAD_DATES})")  # fmt: skip
    if same := summary["duplicates"]:
        lines.append(
            f"dropped: {same:,} documents with the words of an earlier one "
            f"(see {stage.name}/{DUPLICATES}, which names both)"
        )
    return lines


def losses(folder: Path, skipped: Mapping[str, int], duplicates: int) -> list[str]:
    """What of the documents is not in a stage's folder, in sentences."""
    told = []
    if skipped:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in skipped.items())
        told.append(f"Skipped: {reasons}. {folder / SKIPPED} names file and line.")
    if duplicates:
        told.append(
            f"Left out: {plural(duplicates, 'document')} with the words of an earlier one. "
            f"{folder / DUPLICATES} names both."
        )
    return told


def _build(
    workspace: Path,
    sources: Sequence[Source],
    lost: Sequence[Problem],
    config: CorpusConfig,
    engine: Engine,
) -> Mapping[str, Any]:
    def written(every: int) -> Mapping[str, Any]:
        with starting_over(workspace):
            (workspace / HELD_OUT).mkdir()
            summary = _write(workspace, sources, lost, config, engine, every)
            for folder in (workspace, workspace / HELD_OUT):
                write_settings(folder, config)
        return summary

    summary = written(config.held_out)
    documents = summary["documents"] + summary["held_out"]
    if _ENOUGH <= documents < config.held_out:
        # How few there are is known at the end only: they are read again, the last one apart.
        summary = written(documents)
    return summary


@contextmanager
def starting_over(workspace: Path) -> Iterator[None]:
    """Without what an interrupted call left: it is read anew. An error of the user's leaves
    nothing."""
    for folder in (SCRATCH, HELD_OUT):
        shutil.rmtree(workspace / folder, ignore_errors=True)
    for pattern in ("*.arrow", "*.npy", "*.jsonl", SETTINGS):
        for leftover in workspace.glob(pattern):
            leftover.unlink()
    try:
        yield
    except FirthError:
        shutil.rmtree(workspace)
        raise


def write_settings(folder: Path, config: CorpusConfig) -> None:
    """Write what a reader of the corpus must know beside it."""
    settings = {name: getattr(config, name) for name in ("window", "min_words", "max_words")}
    write_json(folder / SETTINGS, settings)


def _write(
    workspace: Path,
    sources: Sequence[Source],
    lost: Sequence[Problem],
    config: CorpusConfig,
    engine: Engine,
    every: int,
) -> dict[str, Any]:
    """Read, sort out and store documents, every so-manieth of them apart (0: none)."""
    duplicates, title = 0, "Reading documents (bytes)"
    limits = config.min_words, config.max_words
    with (
        closing(SeenTexts(workspace / SCRATCH / "seen.sqlite")) as seen,
        (workspace / SKIPPED).open("w", encoding="utf-8") as listed,
        (workspace / SOURCES).open("w", encoding="utf-8") as counted,
        (workspace / DUPLICATES).open("w", encoding="utf-8") as dropped,
        (workspace / BAD_DATES).open("w", encoding="utf-8") as undated,
        CorpusWriter(workspace, config.chunk_sentences, limits, config.fields) as writer,
        CorpusWriter(
            workspace / HELD_OUT, config.chunk_sentences, limits, config.fields
        ) as held_out,
        bar(title, sum(source.size for source in sources) or None) as shown,
        closing(
            read_documents(sources, config, shown.advance, workspace / SCRATCH, engine)
        ) as read,
    ):
        skips, flaws = Skips(listed, config.strict), Skips(undated, config.strict)
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
        for item in usable(read, skips, flaws):
            if isinstance(item, Source):
                found = counts()
                found.subtract(before)
                before = counts()
                told = {"source": item.name, **found}
                counted.write(json.dumps(told, ensure_ascii=False) + "\n")
            elif kept := seen.add(item.row):
                duplicates += 1
                dropped.write(dropped_line(item.record, kept))
            else:
                number = writer.documents + held_out.documents + 1
                aside = every and number % every == 0
                (held_out if aside else writer).append(item)
    if not writer.documents:
        raise InputError(f"no document in {len(sources)} file(s) can be used{skips.explained()}")
    having = {name: count + held_out.having[name] for name, count in writer.having.items()}
    if missed := [repr(name) for name, count in having.items() if not count]:
        raise InputError(
            f"corpus.fields: no record has a value of {', '.join(missed)}; expected names of "
            "fields that records have"
        )
    figures = ("documents", "paragraphs", "sentences", "words", "chunks", "positions")
    summary: dict[str, Any] = {name: getattr(writer, name) for name in figures}
    summary |= {"held_out": held_out.documents, "duplicates": duplicates}
    summary |= {"dated": writer.dated + held_out.dated, "bad_dates": flaws.total}
    summary["skipped"] = dict(sorted(skips.reasons.items()))
    summary |= {"fields": having} if having else {}
    if remark := _remark(writer, limits):
        summary["note"] = remark
    return summary


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

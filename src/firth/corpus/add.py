"""Documents that come after the corpus was built: read as it was, and stored beside it.

Nothing is learned from them, so that no model changes. They are told from what is there by their
texts and names: a text that is there already is not stored again, and two texts of one name are an
error. When the corpus is built again, what it took in leaves here.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

from firth.corpus import ADDED, CORPUS
from firth.corpus.build import (
    BAD_DATES,
    DUPLICATES,
    READING,
    SKIPPED,
    named_inputs,
    reading_notes,
    starting_over,
    write_settings,
)
from firth.corpus.corpus import Corpus
from firth.corpus.documents import read_documents
from firth.corpus.inputs import HARMLESS, Problem, Source, find_inputs, resolve_inputs
from firth.corpus.records import Record
from firth.corpus.seen import SeenTexts, dropped_line
from firth.corpus.settings import CorpusConfig
from firth.corpus.skips import Skips, usable
from firth.corpus.store import CorpusWriter, Document
from firth.run.errors import DamagedError, InputError
from firth.run.progress import bar, note
from firth.run.run import Run
from firth.run.stage import SCRATCH, Outcome

_SHOWN = 3
Key = tuple[str, str, int]
"""Id, source and line."""


def build_added(run: Run, inputs: Sequence[str] = ()) -> Outcome:
    """Store documents beside the corpus of a run; those that were added before stay.

    Args:
        run: With a corpus.
        inputs: Files, folders, globs or `hub:NAME`, read with the settings of the run's corpus. By
            default none: what was added before is compared with the corpus of now.

    Raises:
        MissingStageError: The run has no corpus.
        InputError: As of `firth.corpus.build.build_corpus`; or two documents have one name. What
            was added before stays as it was.
        DamagedError: What was added before is not as it was written.
    """
    sources: list[Source] = []
    left_out: list[Problem] = []
    if inputs:
        resolve_inputs(inputs, run.path)
        sources, left_out = find_inputs(inputs, run.path)
    known = run.has(ADDED)
    if known and (damage := run.manifest(ADDED).damage(run.path / ADDED.name, bytes_too=True)):
        raise DamagedError(
            f"{run.path / ADDED.name}: damaged: {'; '.join(damage)}. These documents stand nowhere "
            "else in the run: move the folder away and add their files again"
        )
    if not inputs:
        if not known:
            raise InputError(f"{run.path}: nothing was added yet; expected files to be added")
        found = run.manifest(ADDED)
        if found.inputs[CORPUS.name] == run.manifest(CORPUS).digest:
            return Outcome(found, reused=True)
    lost = [problem for problem in left_out if problem.reason not in HARMLESS]

    def fill(handed: Run, workspace: Path) -> Mapping[str, Any]:
        base = [Corpus.open(handed), Corpus.held_out(handed)]
        before = Corpus(handed.folder(ADDED)) if known else None
        with starting_over(workspace):
            return _add(workspace, base, before, sources, lost, handed.config.corpus)

    outcome = run.build(
        ADDED,
        fill,
        reads=[CORPUS, *([ADDED] if known else [])],
        settings=READING,
        inputs=named_inputs(sources, lost),
    )
    for line in _notes(left_out, outcome.manifest.summary):
        note(line)
    return outcome


def _notes(left_out: Sequence[Problem], summary: Mapping[str, Any]) -> list[str]:
    lines = reading_notes(ADDED, left_out, summary)
    if folded := summary["folded"]:
        lines.append(f"{folded:,} documents that were added before are in the corpus now")
    if replaced := summary["replaced"]:
        lines.append(
            f"{replaced:,} documents that were added before gave way to documents of the corpus "
            "that have their names and other texts"
        )
    if gone := summary["gone"]:
        lines.append(
            f"{gone:,} documents were left out before, as repetitions of some that the corpus no "
            "longer has; add their files again"
        )
    return lines


def _add(
    workspace: Path,
    base: Sequence[Corpus],
    before: Corpus | None,
    sources: Sequence[Source],
    lost: Sequence[Problem],
    config: CorpusConfig,
) -> Mapping[str, Any]:
    listed = {_key(entry) for entry in _read_lines(base[0].folder / DUPLICATES)}
    limits = config.min_words, config.max_words
    known = duplicates = 0
    clashes: list[str] = []
    with (
        closing(SeenTexts(workspace / SCRATCH / "seen.sqlite")) as seen,
        (workspace / SKIPPED).open("w", encoding="utf-8") as skipped,
        (workspace / DUPLICATES).open("w", encoding="utf-8") as dropped,
        (workspace / BAD_DATES).open("w", encoding="utf-8") as undated,
        CorpusWriter(workspace, config.chunk_sentences, limits, config.fields) as writer,
        bar("Reading documents (bytes)", sum(each.size for each in sources) or None) as shown,
        closing(read_documents(sources, config, shown.advance, workspace / SCRATCH)) as read,
    ):
        skips, flaws = Skips(skipped, config.strict), Skips(undated, config.strict)
        for problem in lost:
            skips.add(problem)
        for corpus in base:
            seen.load(corpus.document_rows())
        moved, replaced = _carry_over(before, seen, writer, config.fields)
        carried, kept, gone = writer.documents, writer.sentences, 0
        for entry in _read_lines(before.folder / DUPLICATES) if before else ():
            where = moved.get(_key(entry["kept"]), entry["kept"])
            if where not in seen.named(where["id"]):
                gone += 1
            elif entry["id"] != where["id"] and _key(entry) not in listed:
                dropped.write(json.dumps(entry | {"kept": where}) + "\n")
                listed.add(_key(entry))
        for item in usable(read, skips, flaws):
            if isinstance(item, Source):
                continue
            record, row = item.record, item.row
            if same := seen.of_text(row[0]):
                if same["id"] == record.id or row[1:] in listed:
                    known += 1
                else:
                    duplicates += 1
                    listed.add(row[1:])
                    dropped.write(dropped_line(record, same))
            elif others := seen.named(record.id):
                where = f"{others[0]['source']}, line {others[0]['line']}"
                here = f"{record.source}, line {record.line}"
                clashes.append(f"{record.id!r}: {where}, and {here}")
            else:
                seen.add(row)
                writer.append(item)
    if clashes:
        raise InputError(_clash(clashes))
    new = writer.documents - carried
    if sources and not new + known + duplicates:
        raise InputError(f"no document in {len(sources)} file(s) can be used{skips.explained()}")
    write_settings(workspace, config)
    whole = before is not None and kept == len(before)
    return {
        "documents": writer.documents,
        "sentences": writer.sentences,
        "words": writer.words,
        "dated": writer.dated,
        "new": new,
        "new_sentences": writer.sentences - kept,
        "known": known,
        "duplicates": duplicates,
        "skipped": dict(sorted(skips.reasons.items())),
        "bad_dates": flaws.total,
        "folded": len(moved),
        "replaced": replaced,
        "gone": gone,
        "as_before": kept if whole else 0,
    }


def _clash(clashes: Sequence[str]) -> str:
    listed = "".join(f"\n  - {clash}" for clash in clashes[:_SHOWN])
    more = f"\n  and {len(clashes) - _SHOWN:,} more" if len(clashes) > _SHOWN else ""
    return (
        f"different texts of one name:{listed}{more}\nNothing was added. Give records names of "
        "their own (the field id, or corpus.id_field). Where a document has changed, build the "
        "run again with its new text: firth build"
    )


def _carry_over(
    before: Corpus | None, seen: SeenTexts, writer: CorpusWriter, fields: Sequence[str]
) -> tuple[dict[Key, dict[str, Any]], int]:
    """Write what was added before, but what the corpus has now; where that stands, and how many
    others of it the corpus has texts of the same names for."""
    moved: dict[Key, dict[str, Any]] = {}
    replaced = 0
    for document in _stored(before, fields) if before else ():
        if there := seen.of_text(document.row[0]):
            moved[document.row[1:]] = there
        elif seen.named(document.record.id):
            replaced += 1
        else:
            seen.add(document.row)
            writer.append(document)
    return moved, replaced


def _stored(corpus: Corpus, fields: Sequence[str]) -> Iterator[Document]:
    """The documents of a corpus, as they were read but for their white space."""
    values = [corpus.document_field(name) for name in fields]
    ends = corpus.paragraph_bounds
    firsts = ends.searchsorted(corpus.document_bounds)
    for d, row in enumerate(corpus.document_rows()):
        start, *borders = ends[firsts[d] : firsts[d + 1] + 1].tolist()
        texts = corpus.texts(range(start, borders[-1]))
        lows = [0, *(border - start for border in borders)]
        paragraphs = [texts[low:high] for low, high in pairwise(lows)]
        record = Record(
            source=row[2],
            line=row[3],
            id=row[1],
            title=corpus.document_title(d),
            text="",
            date=corpus.document_date(d),
            fields=tuple(each[d] for each in values),
        )
        counts = corpus.word_counts[start : borders[-1]].tolist()
        yield Document(record, row, paragraphs, counts)


def _read_lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _key(entry: Mapping[str, Any]) -> Key:
    return entry["id"], entry["source"], entry["line"]

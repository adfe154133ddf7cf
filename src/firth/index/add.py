"""Documents that come after a run was built: into its corpus, and into its index.

They can be searched and compared at once. No model changes, so that their vectors stand beside
those of the index; words weigh what they weigh in all documents together.
"""

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from firth.corpus import ADDED
from firth.corpus.add import build_added
from firth.corpus.build import losses
from firth.corpus.corpus import Corpus
from firth.corpus.library import Library
from firth.index import ADDED_INDEX, INDEX
from firth.index.build import ROWS, write_codes
from firth.index.codes import Turn
from firth.index.encoder import TextEncoder
from firth.index.index import BASE_LENGTHS, VECTORS, check_index, model_of
from firth.index.vectors import Stacked, open_array, write_vectors
from firth.index.words import LENGTHS, Lists, joint_lengths, write_lists
from firth.run.files import write_json
from firth.run.mapped import create
from firth.run.run import Run
from firth.run.screen import plural
from firth.run.stage import SCRATCH, Manifest, Outcome
from firth.surrogate import SURROGATE

_WIDTH = 80


@dataclass(frozen=True)
class Added:
    """Documents that were added to a run, and what to know of it.

    Attributes:
        run: Its folder.
        documents, sentences: What came anew.
        known: Documents that were there already: texts under their own names.
        duplicates: Documents left out, with the words of one of another name.
        skipped: Reason → number of bad records.
        total: Documents that were added since the models were built, these included.
        searchable: Whether the run has an index, which has them now.
        remark: How many documents the models do not know.
    """

    run: Path
    documents: int
    sentences: int
    known: int
    duplicates: int
    skipped: Mapping[str, int]
    total: int
    searchable: bool
    remark: str

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return asdict(self) | {"run": str(self.run)}

    def text(self) -> str:
        """All of it in sentences."""
        documents, sentences = (
            plural(self.documents, "document"),
            plural(self.sentences, "sentence"),
        )
        told = [f"Added: {documents} of {sentences}."]
        if self.known:
            told.append(f"There already: {plural(self.known, 'document')}.")
        told += losses(self.run / ADDED.name, self.skipped, self.duplicates)
        if not self.searchable:
            told.append(f"There is no index yet, to search with: {INDEX.command} {self.run}")
        if self.remark:
            told.append(f"{self.remark}.")
        return "\n".join(textwrap.fill(each, _WIDTH, subsequent_indent="  ") for each in told)


def add_documents(inputs: str | Path | Sequence[str | Path], run: str | Path | Run) -> Added:
    """Add documents to a run: they can be searched and compared at once, and no model changes.

    Documents that are there already, text and name, stay as they are, so that a file that has grown
    can be given again. An interrupted call is continued by the same.

    Args:
        inputs: Files, folders, globs or `hub:NAME`, one or several, read with the settings of the
            run's corpus. None: what was added before is compared with a corpus that was built anew.
        run: With a corpus.

    Raises:
        InputError: Inputs cannot be used, or two documents have one name and different texts.
            Nothing was added.
        MissingStageError: The run has no corpus.
        DamagedError: The index is not of the run's corpus and model; the documents were added, and
            the command that the message names brings them into it.
    """
    inputs, opened = [inputs] if isinstance(inputs, str | Path) else inputs, Run.open(run)
    with opened.locked():
        found = build_added(opened, [str(given) for given in inputs]).manifest.summary
        if opened.has(INDEX):
            build_added_index(opened)
    return Added(
        run=opened.path,
        documents=found["new"],
        sentences=found["new_sentences"],
        known=found["known"],
        duplicates=found["duplicates"],
        skipped=found["skipped"],
        total=found["documents"],
        searchable=opened.has(INDEX),
        remark=Library.open(opened).remark(),
    )


def build_added_index(run: Run) -> Outcome:
    """Store the vectors of the documents that were added later, beside the index.

    The vectors of those that were there before are kept; an interrupted call continues with the
    shard it was at.

    Raises:
        MissingStageError: The run has no index, or nothing was added.
        DamagedError: The index is not of the run's corpus and model.
    """
    check_index(run)
    reads = [INDEX, ADDED]
    if SURROGATE.name in run.manifest(INDEX).inputs:
        reads.append(SURROGATE)
    earlier = _earlier(run)

    def fill(handed: Run, workspace: Path) -> Mapping[str, Any]:
        return _build_added(handed, workspace, earlier)

    return run.build(ADDED_INDEX, fill, reads=reads)


def _earlier(run: Run) -> Path | None:
    """The vectors of what was added before, if the added documents begin with all of that and their
    model is the same; else nothing."""
    found, added = Manifest.read(run.path / ADDED_INDEX.name), run.manifest(ADDED)
    if found is None or not added.summary["as_before"]:
        return None
    same_model = found.inputs[INDEX.name] == run.manifest(INDEX).digest
    if not same_model or found.inputs[ADDED.name] != added.inputs[ADDED.name]:
        return None
    folder = run.path / ADDED_INDEX.name
    return None if found.damage(folder, bytes_too=True) else folder / VECTORS


def _build_added(run: Run, workspace: Path, earlier: Path | None) -> Mapping[str, Any]:
    corpus, base = Corpus(run.folder(ADDED)), run.folder(INDEX)
    scratch = workspace / SCRATCH
    scratch.mkdir(exist_ok=True)
    encoder = TextEncoder.open(model_of(run))
    if earlier is not None and not (scratch / ROWS).is_file():
        known = open_array(earlier)
        rows = create(workspace / VECTORS, known.dtype, (len(corpus), known.shape[1]))
        rows[: len(known)] = known
        if isinstance(rows, np.memmap):
            rows.flush()
        write_json(scratch / ROWS, len(known))

    def texts(start: int, end: int) -> Sequence[str]:
        return corpus.texts(np.arange(start, end))

    write_vectors(
        workspace / VECTORS, scratch / ROWS, encoder, texts, len(corpus), "Index: sentences"
    )
    write_codes(workspace, Stacked([open_array(workspace / VECTORS)]), Turn.load(base))
    write_lists(workspace, (text for batch in corpus.batches() for text in batch))
    # Of a word that is in both, the weight is the one it has in all documents together.
    own, added = joint_lengths([Lists.open(base), Lists.open(workspace)])
    np.save(workspace / BASE_LENGTHS, own)
    np.save(workspace / LENGTHS, added)
    return {"sentences": len(corpus), "dimensions": encoder.dimensions}

"""A run over part of another run's documents: a whole run of its own, built by the pipeline."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from firth.corpus import CORPUS, TOKENIZER
from firth.corpus.corpus import Corpus
from firth.origin.settings import Method
from firth.paper.coherence import COHERENCE
from firth.paper.generation import GENERATOR
from firth.paper.retrieve import RETRIEVE
from firth.pipeline import bring_up_to_date
from firth.reproduce.derived import FOLDER
from firth.run.files import write_atomically
from firth.run.run import Run
from firth.run.seeds import derive_seed
from firth.run.stage import Stage

_DOCUMENTS = Stage("documents", ("corpus", "reproduce/corpus_cut", "seeds"), "firth reproduce NAME")
_FILE = "documents.jsonl"


@dataclass(frozen=True)
class Part:
    """Documents that begin one shuffled order, so that a smaller part lies in a larger one.

    Attributes:
        documents: Their numbers in the whole corpus, ascending.
        words: Words in them.
        whole: Whether they are all there are.
    """

    documents: tuple[int, ...]
    words: int
    whole: bool


def part_of(corpus: Corpus, words: int, seed: int) -> Part:
    """The fewest documents of the shuffled order that have at least so many words."""
    ends = np.cumsum(np.concatenate(([0], corpus.word_counts)), dtype=np.int64)
    lengths = np.diff(ends[corpus.document_bounds])
    order = np.random.default_rng(derive_seed(seed, "reproduce", "documents")).permutation(
        len(lengths)
    )
    reached = np.cumsum(lengths[order])
    count = min(int(np.searchsorted(reached, words)) + 1, len(order))
    chosen = np.sort(order[:count]).tolist()
    return Part(tuple(chosen), int(reached[count - 1]), count == len(order))


def run_over(base: Run, part: Part, folder: str, changes: Mapping[str, Any]) -> Run:
    """The base itself for the whole corpus, else a run over the part, up to date.

    Args:
        base: A run with a corpus; for the whole, with everything that Origin needs.
        part: Its documents.
        folder: Below `BASE/reproduce`.
        changes: Section → setting → value, laid over the configuration of the base.

    Raises:
        InputError: The part is too small for a stage.
        MissingStageError: The base lacks its corpus.
    """
    path = base.path / FOLDER / folder
    config = base.config.changed(dict(changes), folder)
    corpus = Corpus.open(base)
    # A Run without a configuration on disk: only a finished cut becomes a run one can open.
    path.mkdir(parents=True, exist_ok=True)
    Run(path, config).execute(
        _DOCUMENTS,
        inputs=base.inputs(CORPUS),
        config={"documents": list(part.documents)},
        build=lambda workspace: _export(workspace, corpus, part),
    )
    cut = {
        "run": str(path),
        "corpus": {
            "inputs": [str(path / _DOCUMENTS.name / _FILE)],
            "text_field": "text",
            "id_field": "id",
            "strict": True,
        },
        "origin": {"method": Method.PAPER.value},
    }
    run = Run.create(path, config.changed(cut, folder))
    bring_up_to_date(run, CORPUS, TOKENIZER, RETRIEVE, COHERENCE, GENERATOR)
    return run


def _export(workspace: Path, corpus: Corpus, part: Part) -> Mapping[str, Any]:
    with (
        write_atomically(workspace / _FILE) as partial,
        partial.open("w", encoding="utf-8") as file,
    ):
        for document in part.documents:
            record = {
                "id": corpus.document_id(document),
                "title": corpus.document_title(document),
                "text": "\n\n".join(_paragraphs(corpus, document)),
            }
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
    return {"documents": len(part.documents), "words": part.words}


def _paragraphs(corpus: Corpus, document: int) -> Iterator[str]:
    begin, end = corpus.document_bounds[document : document + 2].tolist()
    bounds = corpus.paragraph_bounds
    inner = bounds[(bounds > begin) & (bounds < end)].tolist()
    for first, last in zip([begin, *inner], [*inner, end], strict=True):
        yield " ".join(corpus.texts(np.arange(first, last)))

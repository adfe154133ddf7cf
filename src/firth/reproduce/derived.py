"""Runs made from a run: some stages of their own, the others those of the run they vary."""

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from firth.corpus import CORPUS, TOKENIZER
from firth.corpus.corpus import Corpus
from firth.harvest import HARVEST
from firth.harvest.labels import LABELS
from firth.origin.settings import Method
from firth.paper.coherence import COHERENCE
from firth.paper.generation import GENERATOR
from firth.paper.retrieve import RETRIEVE
from firth.pipeline import bring_up_to_date
from firth.reproduce.options import Options
from firth.run.errors import FirthError
from firth.run.files import fingerprint_value, write_atomically
from firth.run.model_files import looked_at
from firth.run.run import Run
from firth.run.seeds import derive_seed
from firth.run.stage import Manifest, Outcome, Stage

FOLDER = "reproduce"
_DOCUMENTS = Stage("documents", "firth reproduce NAME --run")
_FILE = "documents.jsonl"
_CUT = Stage(HARVEST.name, HARVEST.command, ("pyarrow",))


class Derived(Run):
    """Stages built in it go to `BASE/reproduce/NAME`; a stage it lacks is that of the base.

    It has no configuration on disk: it is no run that one could open. `changes` (section → setting
    → value) are laid over the configuration of the base, in which nothing changes.
    """

    def __init__(self, base: Run, name: str, changes: Mapping[str, Any]) -> None:
        super().__init__(base.path / FOLDER / name, base.config.changed(dict(changes), name))
        self._base = base

    def build(self, *arguments: Any, **request: Any) -> Outcome:
        """As `Run.build`; what is refused leaves nothing behind."""
        with unless_refused(self.path):
            return super().build(*arguments, **request)

    def save(self) -> None:
        """Nothing is written."""

    def folder(self, stage: Stage) -> Path:
        """Its own folder of the stage, else that of the base."""
        return super().folder(stage) if self._owns(stage) else self._base.folder(stage)

    def manifest(self, stage: Stage) -> Manifest:
        """Its own manifest, else that of the base; `MissingStageError` names the base."""
        return super().manifest(stage) if self._owns(stage) else self._base.manifest(stage)

    def has(self, stage: Stage) -> bool:
        """Whether the stage is built here or in the base."""
        return self._owns(stage) or self._base.has(stage)

    def _owns(self, stage: Stage) -> bool:
        return super().has(stage)


@contextmanager
def unless_refused(folder: Path) -> Iterator[None]:
    """Where the block is refused, remove the folder it began, and empty ones above it."""
    above = [folder, *folder.parents]
    new = [place for place in above if not place.exists()]
    try:
        yield
    except FirthError:
        if new:
            shutil.rmtree(folder, ignore_errors=True)
        for place in new[1:]:
            with suppress(OSError):
                place.rmdir()
        raise


def with_generator(run: Run, options: Options) -> Run:
    """The run itself, or with `options.model` one that scores with that causal language model.

    Raises:
        InputError: The model cannot be loaded or used.
    """
    if options.model is None:
        return run
    from firth.paper.generation.build import train_generator

    name = options.gguf_file or Path(options.model).name or "model"
    label = "".join(c if c.isalnum() or c in "-_." else "-" for c in name)
    derived = Derived(run, f"causal-lm/{label}", generator_changes(options))
    train_generator(derived)
    return derived


def generator_changes(options: Options) -> dict[str, Any]:
    """What of a configuration makes a run use `options.model`; nothing where there is none.

    Raises:
        InputError: There is no such model, or it is refused.
    """
    if options.model is None:
        return {}
    looked_at(options.model, options.gguf_file)
    named = {"backend": "causal-lm", "model": options.model, "gguf_file": options.gguf_file}
    return {"generator": named}


@dataclass(frozen=True)
class Part:
    """Documents (their numbers in the whole corpus, ascending) that begin one shuffled order, so
    that a smaller part lies in a larger one; the words in them; and whether they are all."""

    documents: tuple[int, ...]
    words: int
    whole: bool


def part_of(corpus: Corpus, words: int, seed: int) -> Part:
    """The fewest documents of the shuffled order that have at least so many words."""
    ends = np.cumsum(np.concatenate(([0], corpus.word_counts)), dtype=np.int64)
    lengths = np.diff(ends[corpus.document_bounds])
    rng = np.random.default_rng(derive_seed(seed, "reproduce", "documents"))
    order = rng.permutation(len(lengths))
    reached = np.cumsum(lengths[order])
    count = min(int(np.searchsorted(reached, words)) + 1, len(order))
    chosen = np.sort(order[:count]).tolist()
    return Part(tuple(chosen), int(reached[count - 1]), count == len(order))


def run_over(base: Run, part: Part, name: str, changes: Mapping[str, Any]) -> Run:
    """A run over some documents of another one: whole, up to date, and one that can be opened.

    It lies in `BASE/reproduce/NAME`; `changes` as in `Derived`.

    Raises:
        InputError: The part is too small for a stage; nothing is left of it.
        MissingStageError: The base lacks its corpus.
    """
    path = base.path / FOLDER / name
    documents = {"inputs": [str(path / _DOCUMENTS.name / _FILE)], "text_field": "text",
                 "id_field": "id", "strict": True, "held_out": 0}  # fmt: skip
    cut = {"run": str(path), "corpus": documents, "origin": {"method": Method.PAPER.value}}
    run = Run(path, base.config.changed(dict(changes), name).changed(cut, name))

    def fill(_: Run, workspace: Path) -> Mapping[str, Any]:
        return _export(workspace, Corpus.open(base), part)

    chosen = fingerprint_value(list(part.documents))
    with unless_refused(path):
        run.build(_DOCUMENTS, fill, inputs={**base.inputs(CORPUS), "documents": chosen})
        bring_up_to_date(run, CORPUS, TOKENIZER, RETRIEVE, COHERENCE, GENERATOR)
    return run


def _export(workspace: Path, corpus: Corpus, part: Part) -> Mapping[str, Any]:
    with write_atomically(workspace / _FILE) as path, path.open("w", encoding="utf-8") as file:
        for number in part.documents:
            text = "\n\n".join(_paragraphs(corpus, number))
            record = {"id": corpus.document_id(number), "title": corpus.document_title(number),
                      "text": text}  # fmt: skip
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
    return {"documents": len(part.documents), "words": part.words}


def _paragraphs(corpus: Corpus, document: int) -> Iterator[str]:
    begin, end = corpus.document_bounds[document : document + 2].tolist()
    bounds = corpus.paragraph_bounds
    inner = bounds[(bounds > begin) & (bounds < end)].tolist()
    for first, last in zip([begin, *inner], [*inner, end], strict=True):
        yield " ".join(corpus.texts(np.arange(first, last)))


def training_pairs(run: Run) -> int:
    """Training pairs of a run's harvest; raise `MissingStageError` if it has none."""
    return int(pq.read_metadata(run.folder(HARVEST) / "train.parquet").num_rows)


def with_training_pairs(run: Run, name: str, count: int, changes: Mapping[str, Any]) -> Derived:
    """The run with the first `count` pairs of one shuffled order of its training pairs.

    Fewer pairs are a part of more, in the proportions of kinds of the whole harvest; the held-out
    pairs are all there. `name` and `changes` as in `Derived`.
    """
    derived, source = Derived(run, name, changes), run.folder(HARVEST)

    def fill(handed: Run, workspace: Path) -> Mapping[str, Any]:
        table = pq.read_table(source / "train.parquet")
        seed = derive_seed(handed.config.seed, "reproduce", "harvest")
        chosen = np.sort(np.random.default_rng(seed).permutation(len(table))[:count])
        with write_atomically(workspace / "train.parquet") as partial:
            pq.write_table(table.take(pa.array(chosen)), partial, compression="zstd")
        for file in ("dev.parquet", "test.parquet", LABELS):
            shutil.copyfile(source / file, workspace / file)
        return {"train": count}

    # The harvest is that of the base, which lies outside this run once it has its own.
    whole = {"whole": run.inputs(HARVEST)[HARVEST.name], "train": str(count)}
    derived.build(_CUT, fill, settings=["seed"], inputs=whole)
    return derived

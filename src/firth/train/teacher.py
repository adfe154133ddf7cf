"""The teacher of a student: the sentences that it reads, and how similar it finds them.

The sentences lie in random order, so that the first of them are a sample of all. A teacher with a
neural encoder reads each once; its vectors are stored as float16, in shards that are functions of
their number. Sums of words are computed when they are needed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from firth.corpus.corpus import Corpus
from firth.encoders.encoder import Encoder, WordStates
from firth.encoders.folder import PretrainedFiles
from firth.encoders.pretrained import PRETRAINED, open_encoder, open_run_encoder
from firth.run.console import Progress, progress
from firth.run.errors import InputError
from firth.run.executor import Executor, Local
from firth.run.files import fingerprint_file, read_json, write_atomically, write_json
from firth.run.run import CONFIG, Run
from firth.run.seeds import derive_seed
from firth.run.stage import Outcome, Stage
from firth.scorer.scorer import Scorer
from firth.text.arrays import Floats, Ints, Singles, places, unit
from firth.train.pairs import Exclusions, distinct_sentences

TEACHER = Stage("teacher", 1, command="firth train distill")
FEWEST = 60
_SHARD = 2_048
_HELD_OUT = 1_000
_WORDS = (3, 40)
"""Fewest and most words of a sentence."""
_SENTENCES, _RECORD = "sentences.npy", "teacher.json"
Halves = npt.NDArray[np.float16]


@dataclass(frozen=True, eq=False)
class Vectors:
    """The teacher's unit vectors of the chosen sentences, memory-mapped.

    Attributes:
        shards: float16, (`_SHARD`, d) each; the last one is shorter.
    """

    shards: tuple[Halves, ...]

    def __getitem__(self, rows: Ints) -> Singles:
        """Return the vectors of some sentences, (len(rows), d)."""
        found = [self.shards[row // _SHARD][row % _SHARD] for row in rows.tolist()]
        return unit(np.array(found, np.float64)).astype(np.float32)


class ReadTexts:
    """An encoder that has read all texts that it is asked about.

    Args:
        encoder: Its name and its reader of words.
        texts: The texts.
        vectors: Their vectors.
    """

    def __init__(self, encoder: Encoder, texts: Sequence[str], vectors: Vectors) -> None:
        self.name, self.dimensions = encoder.name, encoder.dimensions
        self.word_states: WordStates | None = encoder.word_states
        self._rows = {text: row for row, text in enumerate(texts)}
        self._vectors = vectors

    def encode(self, texts: Sequence[str]) -> Singles:
        """Return the vectors of texts, (n, d)."""
        return self._vectors[np.array([self._rows[text] for text in texts], np.int64)]


@dataclass(frozen=True, eq=False)
class Teacher:
    """What a student learns from.

    Attributes:
        name: A name for reports.
        texts: The chosen sentences, no two with one normal form.
        vectors: Its vectors of them, where they are stored.
        similarities: Returns the similarities of some of these texts with each other, (n, n).
    """

    name: str
    texts: list[str]
    vectors: Vectors | None
    similarities: Callable[[Sequence[str]], Floats]

    @classmethod
    def open(cls, run: Run) -> "Teacher":
        """Open the teacher of a run.

        Raises:
            MissingStageError: The stage is not built.
        """
        folder = run.folder(TEACHER)
        stored = read_json(folder / _RECORD)
        texts = Corpus.open(run).texts(np.load(folder / _SENTENCES, allow_pickle=False))
        vectors = None
        if stored["dimensions"]:
            files = sorted(folder.glob("vectors-*.npy"))
            vectors = Vectors(tuple(np.load(f, mmap_mode="r", allow_pickle=False) for f in files))
        source = scorer_run(run)
        if source is not None:
            encoder = None
            if vectors is not None:
                encoder = ReadTexts(open_run_encoder(source), texts, vectors)
            return cls(
                stored["name"], texts, vectors, Scorer.open(source, encoder).similarity_matrix
            )
        assert vectors is not None
        known = vectors
        rows = {text: row for row, text in enumerate(texts)}

        def cosines(some: Sequence[str]) -> Floats:
            found = known[np.array([rows[text] for text in some], np.int64)].astype(np.float64)
            return found @ found.T

        return cls(stored["name"], texts, vectors, cosines)

    def parts(self) -> dict[str, Ints]:
        """Return the numbers of the sentences of `dev`, `test` and `train`."""
        size = min(_HELD_OUT, len(self.texts) // 20)
        rows = np.arange(len(self.texts))
        return {"dev": rows[:size], "test": rows[size : 2 * size], "train": rows[2 * size :]}


def scorer_run(run: Run) -> Run | None:
    """Return the run whose scorer teaches; None where a sentence encoder teaches."""
    teacher = run.settings.distill.teacher
    if teacher is None:
        return run
    return Run.open(teacher) if (Path(teacher) / CONFIG).is_file() else None


def teacher_inputs(run: Run) -> dict[str, str]:
    """Return the fingerprint of a teacher outside the run; empty for the run's own scorer.

    Raises:
        InputError: There is no such teacher, or it is refused.
        MissingStageError: It is a run without a scorer.
    """
    teacher = run.settings.distill.teacher
    if teacher is None:
        return {}
    source = scorer_run(run)
    try:
        if source is None:
            return {"teacher": PretrainedFiles.find(teacher).fingerprint}
        return {"teacher": Scorer.open(source).fingerprint}
    except InputError as error:
        raise InputError(f"distill.teacher: {error}") from error


def build_teacher(run: Run, executor: Executor | None = None) -> Outcome:
    """Choose the sentences, and let the teacher read them.

    Args:
        run: A run with a corpus, and what the teacher reads.
        executor: Who reads. The bytes are the same.

    Raises:
        MissingStageError: A stage is not built.
        InputError: The teacher is refused or cannot be loaded, or there are too few sentences.
    """
    exclude = run.settings.pairs.exclude
    excluded = Exclusions.load(exclude)
    inputs = teacher_inputs(run)
    own = run.settings.distill.teacher is None
    reads = Scorer.reads(run) if own else []
    settings = ["seed", "distill.sentences", *(Scorer.settings(run) if own else ())]
    reader = _Reader(run, inputs)

    def fill(seen: Run, workspace: Path) -> Mapping[str, Any]:
        corpus, seed = Corpus.open(seen), derive_seed(seen.settings.seed, "teacher")
        chosen = choose_sentences(corpus, seen.settings.distill.sentences, excluded, seed)
        with write_atomically(workspace / _SENTENCES) as partial, partial.open("wb") as file:
            np.save(file, chosen)
        dimensions = 0
        if reader.stores:
            dimensions = _read_all(corpus, chosen, reader, workspace, executor or Local())
        record = {"name": reader.name, "dimensions": dimensions, "sentences": len(chosen)}
        write_json(workspace / _RECORD, record)
        return record

    outside = {f"exclude/{n}": fingerprint_file(Path(f)) for n, f in enumerate(exclude)}
    return run.build(
        TEACHER,
        fill,
        reads=reads,
        settings=settings,
        inputs={"corpus": Corpus.open(run).digest, **inputs, **outside},
    )


class _Reader:
    """The work of an executor: texts in, the teacher's vectors out."""

    def __init__(self, run: Run, inputs: Mapping[str, str]) -> None:
        self._run, self._inputs = run, inputs
        source = scorer_run(run)
        self.stores = source is None or source.has(PRETRAINED)
        encoder = str(run.settings.distill.teacher) if source is None else "the scorer of the run"
        self.name = Path(encoder).name

    def open(self) -> Callable[[Sequence[str]], Halves]:
        if teacher_inputs(self._run) != self._inputs:
            raise InputError(
                f"distill.teacher: {self._run.settings.distill.teacher} is another model on this "
                "machine than where the work began."
            )
        source = scorer_run(self._run)
        teacher = str(self._run.settings.distill.teacher)
        encoder = open_encoder(teacher) if source is None else open_run_encoder(source)
        return lambda texts: encoder.encode(texts).astype(np.float16)


def _read_all(
    corpus: Corpus, chosen: Ints, reader: _Reader, folder: Path, executor: Executor
) -> int:
    """Write the shards of vectors that are missing; return how many dimensions they have."""
    shards = {
        f"vectors-{number:05}.npy": chosen[start : start + _SHARD]
        for number, start in enumerate(range(0, len(chosen), _SHARD))
    }
    left = {name: rows for name, rows in shards.items() if not (folder / name).is_file()}
    bar: Progress[int] = progress(len(chosen), "Reading the teacher's sentences")
    with bar:
        bar.advance(len(chosen) - sum(map(len, left.values())))
        read = executor.map(reader, (corpus.texts(rows) for rows in left.values()))
        for name, vectors in zip(left, read, strict=True):
            with write_atomically(folder / name) as partial, partial.open("wb") as file:
                np.save(file, vectors)
            bar.advance(len(vectors))
    return int(np.load(folder / next(iter(shards)), mmap_mode="r").shape[1])


def choose_sentences(corpus: Corpus, most: int, excluded: Exclusions, seed: int) -> Ints:
    """Return at most `most` sentences of 3 to 40 words in random order, without evaluation data.

    All source files give equally many, and small ones all they have, so that the largest file does
    not dominate.

    Raises:
        InputError: There are too few sentences.
    """
    counts = np.asarray(corpus.word_counts)
    usual = np.flatnonzero((counts >= _WORDS[0]) & (counts <= _WORDS[1])).astype(np.int64)
    np.random.default_rng(seed).shuffle(usual)
    files = np.asarray(corpus.source_numbers(), np.int64)[corpus.document_of(usual)]
    share = fair_share(np.bincount(files, minlength=1), most)
    chosen = distinct_sentences(corpus, usual[places(files) < share][:most], excluded)
    if len(chosen) < FEWEST:
        raise InputError(
            f"The corpus has {len(chosen)} different sentences of {_WORDS[0]} to {_WORDS[1]} words "
            f"that are no evaluation data. Distilling needs {FEWEST} or more."
        )
    return chosen


def fair_share(sizes: Ints, most: int) -> int:
    """Return the largest share, at least 1, at which all groups together give at most `most`.

    Example:
        >>> fair_share(np.array([2, 10, 100]), 32)
        20
    """
    low, high = 1, max(1, int(sizes.max()))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if np.minimum(sizes, middle).sum() <= most else (low, middle - 1)
    return low

"""The stage `teacher`: which sentences a student learns from, and what the teacher sees in them.

The sentences stand in random order, so that the first of them are a sample of all. A teacher with a
neural encoder reads each once; its vectors are kept as float16, in shards, each a function of its
number. Sums of words are computed when they are asked for.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from firth.context import CONTEXT
from firth.context.encoder import ReadWords, SentenceEncoder, unit
from firth.context.open import open_encoder as open_own_encoder
from firth.context.settings import Encoder
from firth.corpus import CORPUS
from firth.corpus.corpus import Corpus
from firth.corpus.of_length import OfLength
from firth.harvest.blocklist import Blocklist
from firth.lexical.arrays import Floats, Ints, Singles, places
from firth.lexical.words import normal_form
from firth.origin.blend import Blend
from firth.origin.ensemble import EnsembleOrigin
from firth.origin.origin import Origin
from firth.origin.settings import Method
from firth.run.engine import HERE, Engine, Work
from firth.run.errors import InputError
from firth.run.files import fingerprint_file, read_json, write_atomically, write_json
from firth.run.mapped import create
from firth.run.model_files import PretrainedFiles
from firth.run.pretrained import open_encoder
from firth.run.progress import bar
from firth.run.run import CONFIG, Run
from firth.run.seeds import derive_seed
from firth.run.stage import SCRATCH, Outcome
from firth.surrogate import TEACHER

SHARD = 2_048
"""Sentences a file of vectors."""
_HELD_OUT = 1_000
_ORDERED = 1 << 16
"""Sentences that are chosen from at once."""
FEWEST = 60
FEWEST_WORDS, MOST_WORDS = 3, 40
_SENTENCES, _RECORD = "sentences.npy", "teacher.json"
Halves = np.ndarray[Any, np.dtype[np.float16]]


@dataclass(frozen=True, eq=False)
class Shards:
    """The teacher's vectors of the chosen sentences, memory-mapped.

    Attributes:
        parts: float16, (`SHARD`, d) each, the last one shorter.
    """

    parts: tuple[Halves, ...]

    @classmethod
    def open(cls, folder: Path, count: int) -> "Shards":
        """Those of `count` sentences."""
        numbers = range(-(-count // SHARD))
        return cls(tuple(np.load(folder / _shard(n), mmap_mode="r") for n in numbers))

    def __getitem__(self, rows: Ints) -> Singles:
        """Unit vectors of some sentences, (len(rows), d)."""
        found = [self.parts[row // SHARD][row % SHARD] for row in rows.tolist()]
        vectors: Singles = unit(np.array(found, np.float64)).astype(np.float32)
        return vectors


class KnownVectors:
    """A sentence encoder that has read all it is asked about.

    Args:
        name: What it is, for people.
        rows: Text → number.
        shards: Their vectors.
        words: States of words, of the encoder itself.
    """

    kind: ClassVar[Encoder] = Encoder.CAUSAL_LM

    def __init__(
        self, name: str, rows: Mapping[str, int], shards: Shards, words: ReadWords | None = None
    ) -> None:
        self.name, self.words, self._rows, self._shards = name, words, rows, shards

    def encode(self, texts: Sequence[str], title: str = "Sentence vectors") -> Floats:
        """Vectors of `texts`, shape (n, d)."""
        rows = np.array([self._rows[text] for text in texts], np.int64)
        return self._shards[rows].astype(np.float64)


@dataclass(frozen=True, eq=False)
class Teacher:
    """What a student learns from.

    Attributes:
        name: What it is, for people.
        texts: The chosen sentences, no two alike.
        vectors: Its vectors of them, if it has any that are kept.
        similarities: Of some texts among them to each other, (n, n), in [-1, 1].
        parts_of: By name, the similarities that these are made of; none, where they are of one
            piece.
    """

    name: str
    texts: list[str]
    vectors: Shards | None
    similarities: Callable[[Sequence[str]], Floats]
    parts_of: Callable[[Sequence[str]], Mapping[str, Floats]]

    @classmethod
    def open(cls, run: Run) -> "Teacher":
        """That of a run.

        Raises:
            MissingStageError: The stage is not built.
        """
        folder = run.folder(TEACHER)
        stored = read_json(folder / _RECORD)
        texts = Corpus.open(run).texts(np.load(folder / _SENTENCES))
        shards = Shards.open(folder, len(texts)) if stored["dimensions"] else None
        source = origin_run(run)
        if source is None:
            assert shards is not None
            known = _known(stored, texts, shards)

            def cosines(some: Sequence[str]) -> Floats:
                vectors = known.encode(some)
                return vectors @ vectors.T

            return cls(stored["name"], texts, shards, cosines, lambda _: {})
        encoder = None
        if shards is not None:
            encoder = _known(stored, texts, shards, open_own_encoder(source).words)
        how = source.config.origin
        origin = EnsembleOrigin.blended(source, Blend.of(source, how), how.numbers, encoder)
        return cls(stored["name"], texts, shards, origin.gram, origin.grams)

    def parts(self, learned: int | None) -> dict[str, Ints]:
        """Numbers of the sentences of `dev`, `test` and `train`, of these at most `learned`."""
        size = held_out(len(self.texts))
        rows = np.arange(len(self.texts))
        end = None if learned is None else 2 * size + learned
        return {"dev": rows[:size], "test": rows[size : 2 * size], "train": rows[2 * size : end]}


def held_out(count: int) -> int:
    """How many of so many chosen sentences are dev, and how many test: a twentieth, or 1,000."""
    return min(_HELD_OUT, count // 20)


def _known(
    stored: Mapping[str, Any], texts: Sequence[str], shards: Shards, words: ReadWords | None = None
) -> KnownVectors:
    return KnownVectors(stored["name"], {text: n for n, text in enumerate(texts)}, shards, words)


def origin_run(run: Run) -> Run | None:
    """The run whose Origin teaches; None where a sentence encoder does.

    Raises:
        InputError: It is another run, and its Origin is the paper's.
    """
    teacher = run.config.surrogate.teacher
    if teacher is None:
        return run
    if not (Path(teacher) / CONFIG).is_file():
        return None
    found = Run.open(teacher)
    if found.config.origin.method is Method.PAPER:
        raise InputError(f"surrogate.teacher: {teacher}: a run whose Origin is as printed, which "
                         "has no sentence vectors; expected one of method ensemble")  # fmt: skip
    return found


def teacher_inputs(run: Run) -> dict[str, str]:
    """Fingerprint of a teacher outside the run, downloaded if need be; empty for its own Origin.

    Raises:
        InputError: There is no such teacher, or it is refused (`firth.run.model_files.look`).
        MissingStageError: It is a run whose Origin is not built.
    """
    teacher = run.config.surrogate.teacher
    if teacher is None:
        return {}
    try:
        source = origin_run(run)
        found = Origin.identity(source) if source else PretrainedFiles.find(teacher).fingerprint
    except InputError as error:
        raise InputError(f"surrogate.teacher: {error}") from error
    return {"teacher": found}


def build_teacher(run: Run, *, engine: Engine = HERE) -> Outcome:
    """Choose the sentences, and have the teacher read them.

    Args:
        run: The run.
        engine: Who reads.

    Raises:
        ConfigError: The teacher is Origin as printed.
        MissingStageError: A stage that it reads is not built.
        InputError: It is refused or cannot be loaded, or the corpus has too few sentences.
    """
    own = run.config.surrogate.teacher is None
    files = [Path(name) for name in run.config.harvest.blocklist]
    blocklist = Blocklist.load(files)
    reads = [CORPUS, CONTEXT] if own else [CORPUS]
    run.inputs(*reads)  # a stage that is missing is named before a teacher is downloaded

    inputs = teacher_inputs(run)

    def fill(handed: Run, workspace: Path) -> Mapping[str, Any]:
        return _fill(handed, workspace, blocklist, inputs, engine)

    return run.build(
        TEACHER,
        fill,
        reads=reads,
        settings=["seed", "surrogate.sentences", *(["context.precision"] if own else [])],
        places=["surrogate.teacher"],
        inputs=inputs
        | {f"blocklist/{number}": fingerprint_file(path) for number, path in enumerate(files)},
        code=__name__,
    )


def _fill(
    run: Run, workspace: Path, blocklist: Blocklist, inputs: Mapping[str, str], engine: Engine
) -> Mapping[str, Any]:
    corpus, seed = Corpus.open(run), derive_seed(run.config.seed, "teacher")
    most, scratch = run.config.surrogate.sentences, workspace / SCRATCH
    chosen = choose_sentences(corpus, most, blocklist, seed, scratch)
    with write_atomically(workspace / _SENTENCES) as partial, partial.open("wb") as file:
        np.save(file, chosen)
    reader = _Reader(run, inputs)
    dimensions = _read_all(corpus, chosen, reader, workspace, engine) if reader.keeps else 0
    record = {"name": reader.name, "dimensions": dimensions, "sentences": len(chosen)}
    write_json(workspace / _RECORD, record)
    return record


def _read_all(
    corpus: Corpus,
    chosen: Ints,
    work: Work[Sequence[str], Halves],
    folder: Path,
    engine: Engine = HERE,
) -> int:
    """Write the vectors that are not there yet; how many dimensions they have."""
    shards = {_shard(number): chosen[start : start + SHARD]
              for number, start in enumerate(range(0, len(chosen), SHARD))}  # fmt: skip
    # One that is there is a whole one.
    left = {name: rows for name, rows in shards.items() if not (folder / name).is_file()}
    with bar("Teacher: sentences", len(chosen)) as shown:
        shown.advance(len(chosen) - sum(map(len, left.values())))
        read = engine.map(work, (corpus.texts(rows) for rows in left.values()))
        for name, vectors in zip(left, read, strict=True):
            with write_atomically(folder / name) as partial, partial.open("wb") as file:
                np.save(file, vectors)
            shown.advance(len(vectors))
    return int(np.load(folder / _shard(0), mmap_mode="r").shape[1])


def _shard(number: int) -> str:
    return f"vectors-{number:05}.npy"


class _Reader:
    """Work: the teacher's vectors of some texts. It travels as what it is opened of.

    Args:
        run: As the stage sees it.
        inputs: What is known of a teacher outside the run (`teacher_inputs`).

    Attributes:
        name: The teacher's, for people.
        keeps: Whether its vectors are worth keeping.

    Raises:
        InputError: The teacher is another here.
    """

    def __init__(self, run: Run, inputs: Mapping[str, str]) -> None:
        self._opened_of = run, inputs
        if teacher_inputs(run) != inputs:
            raise InputError(f"surrogate.teacher: {run.config.surrogate.teacher}: another model "
                             "here than where the work was begun")  # fmt: skip
        source = origin_run(run)
        self._own: SentenceEncoder | None = None if source is None else open_own_encoder(source)
        if self._own is not None:
            self.name, self.keeps = f"Origin: {self._own.name}", self._own.kind is not Encoder.BAG
        else:
            teacher = str(run.config.surrogate.teacher)
            self._model = open_encoder(teacher, None)
            self.name, self.keeps = Path(teacher).name, True

    def __reduce__(self) -> tuple[Any, ...]:
        return _Reader, self._opened_of

    def open(self) -> Callable[[Sequence[str]], Halves]:
        return lambda texts: self._read(texts).astype(np.float16)

    def _read(self, texts: Sequence[str]) -> Floats:
        if self._own is not None:
            return self._own.encode(texts, "Teacher: a part of them")
        found = self._model.encode(list(texts), show_progress_bar=False)
        return unit(np.asarray(found, np.float64))


def choose_sentences(
    corpus: Corpus, most: int, blocklist: Blocklist, seed: int, scratch: Path
) -> Ints:
    """Numbers of at most `most` sentences of 3 to 40 words, in random order; no two alike.

    All files of the corpus give as many, and small ones all they have, so that the largest does
    not drown the others. None is on the blocklist. The order of all lies in a file in `scratch`.

    Raises:
        InputError: Fewer than `FEWEST` are left.
    """
    usual, files = OfLength(corpus.word_counts, FEWEST_WORDS, MOST_WORDS), corpus.source_numbers()
    scratch.mkdir(exist_ok=True)
    order = np.asarray(create(scratch / "order.npy", np.int64, (len(usual),)))
    done, sizes = 0, np.zeros(int(files.max()) + 1, np.int64)
    for some in usual.blocks():
        order[done : done + len(some)] = some
        done += len(some)
        sizes += np.bincount(files[corpus.document_of(some)], minlength=len(sizes))
    np.random.default_rng(seed).shuffle(order)
    share, seen, parts = fair_share(sizes, most), np.zeros_like(sizes), []
    for done in range(0, len(order), _ORDERED):
        some = order[done : done + _ORDERED]
        sources = files[corpus.document_of(some)].astype(np.int64)
        parts.append(some[seen[sources] + places(sources) < share])
        seen += np.bincount(sources, minlength=len(seen))
    drawn = np.concatenate([np.empty(0, np.int64), *parts])[:most]
    texts = corpus.texts(drawn)
    _, first = np.unique(np.array([normal_form(text) for text in texts], object), return_index=True)
    kept = np.zeros(len(drawn), bool)
    kept[first] = True
    found: Ints = drawn[kept & ~blocklist.contains(texts)].astype(np.int64)
    if len(found) < FEWEST:
        raise InputError(
            f"got {len(found)} different sentences of {FEWEST_WORDS} to {MOST_WORDS} words in the "
            f"corpus that are no evaluation data; distilling needs {FEWEST} at least"
        )
    return found


def fair_share(sizes: Ints, most: int) -> int:
    """The largest share, at least 1, at which all groups together give no more than `most`.

    Example:
        >>> fair_share(np.array([2, 10, 100]), 32)
        20
    """
    low, high = 1, max(1, int(sizes.max()))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if np.minimum(sizes, middle).sum() <= most else (low, middle - 1)
    return low

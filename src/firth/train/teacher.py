"""The teacher of a student: the sentences that it reads, and how similar it finds them.

The sentences lie in random order, so that the first of them are a sample of all. A teacher with a
neural encoder reads each once. Its vectors are stored as float16, in shards, so that a reading that
was stopped continues. Sums of words are computed when they are needed.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from firth.corpus.corpus import Corpus
from firth.corpus.files import read_text
from firth.encoders.kinds import find_encoder
from firth.run.console import progress
from firth.run.errors import InputError
from firth.run.files import (
    fingerprint_file,
    fingerprint_value,
    open_mapped,
    read_json,
    write_atomically,
    write_json,
)
from firth.run.run import CONFIG, Run
from firth.run.settings import derive_seed, pretrained_name, values_of
from firth.run.stage import Outcome, Stage
from firth.scorer.blend import SENTENCES, open_blended_encoder
from firth.scorer.components import EncodedSentences
from firth.scorer.scorer import Scorer
from firth.text.types import Floats, Ints, Singles, unit
from firth.text.words import normal_form, words
from firth.train.settings import DistillSettings

TEACHER = Stage("teacher", 1, command="firth train distill")
_FEWEST = 60
_SHARD = 2_048
_HELD_OUT = 1_000
_WORDS = (3, 40)
"""Fewest and most words of a sentence."""
_EVALUATION = Path(__file__).with_name("data") / "evaluation_sentences.npy"
_FEWEST_WORDS = 3
"""Shorter texts of evaluation sets (`Yes.`) are too common to be excluded."""
_BATCH = 1 << 14
Hashes = npt.NDArray[np.uint64]
_SENTENCES, _RECORD = "sentences.npy", "teacher.json"


@dataclass(frozen=True, eq=False)
class Teacher:
    """What a student learns from: the chosen sentences, no two with one normal form.

    `vectors` are its unit vectors of them, (n, d), where they are stored. `similarities` compares
    some of these texts with each other, (n, n).
    """

    name: str
    texts: list[str]
    vectors: Singles | None
    similarities: Callable[[Sequence[str]], Floats]

    @classmethod
    def open(cls, run: Run) -> "Teacher":
        """Open the teacher of a run."""
        folder, source = run.folder(TEACHER), scorer_run(run)
        name = read_json(folder / _RECORD)["name"]
        texts = list(Corpus.open(run).texts(open_mapped(folder / _SENTENCES)))
        shards = [open_mapped(path) for path in sorted(folder.glob("vectors-*.npy"))]
        if not shards:
            return cls(name, texts, None, Scorer.open(source or run).similarity_matrix)
        units = (unit(shard.astype(np.float64)).astype(np.float32) for shard in shards)
        vectors: Singles = np.concatenate([*units])
        rows = {text: row for row, text in enumerate(texts)}

        def read(texts: Sequence[str]) -> Singles:
            return vectors[[rows[text] for text in texts]]

        def cosines(texts: Sequence[str]) -> Floats:
            units = read(texts).astype(np.float64)
            return units @ units.T

        if source is None:
            return cls(name, texts, vectors, cosines)
        scorer = Scorer.open(source)
        scorer.components = {**scorer.components, SENTENCES: EncodedSentences(read)}
        return cls(name, texts, vectors, scorer.similarity_matrix)

    def parts(self) -> dict[str, Ints]:
        """Return the numbers of the sentences of `dev`, `test` and `train`."""
        size = min(_HELD_OUT, len(self.texts) // 20)
        rows = np.arange(len(self.texts))
        return {"dev": rows[:size], "test": rows[size : 2 * size], "train": rows[2 * size :]}


def scorer_run(run: Run) -> Run | None:
    """Return the run whose scorer teaches; None where a sentence encoder teaches."""
    teacher = run.wing("distill", DistillSettings).teacher
    if teacher is None:
        return run
    return Run.open(teacher) if (Path(teacher) / CONFIG).is_file() else None


def teacher_inputs(run: Run) -> dict[str, str]:
    """Return the fingerprint of a teacher outside the run; empty for the run's scorer."""
    teacher, source = run.wing("distill", DistillSettings).teacher, scorer_run(run)
    if teacher is None:
        return {}
    if source is None:
        return {"teacher": find_encoder(teacher).fingerprint}
    values = values_of(source.settings, Scorer.settings())
    return {"teacher": fingerprint_value([source.inputs(*Scorer.reads(source)), values])}


def build_teacher(run: Run) -> Outcome:
    """Choose the sentences, and let the teacher read them."""
    teacher, source = run.wing("distill", DistillSettings).teacher, scorer_run(run)
    exclude = run.wing("distill", DistillSettings).exclude
    excluded = Exclusions.load(exclude)
    inputs = exclusion_inputs(exclude) | {"corpus": Corpus.open(run).digest}
    inputs |= teacher_inputs(run)

    def fill(seen: Run, workspace: Path) -> Mapping[str, Any]:
        corpus, seed = Corpus.open(seen), derive_seed(seen.settings.seed, "teacher")
        chosen = choose_sentences(
            corpus, seen.wing("distill", DistillSettings).sentences, excluded, seed
        )
        _save(workspace / _SENTENCES, chosen)
        if source is None or pretrained_name(source.settings.encoder.model) is not None:
            encoder = (
                find_encoder(str(teacher)).open()
                if source is None
                else open_blended_encoder(source)
            )
            for number in progress(range(-(-len(chosen) // _SHARD)), "Reading with the teacher"):
                file = workspace / f"vectors-{number:05}.npy"
                if not file.is_file():
                    rows = chosen[number * _SHARD : (number + 1) * _SHARD]
                    _save(file, encoder.encode(corpus.texts(rows)).astype(np.float16))
        name = "the run's scorer" if teacher is None else Path(teacher).name
        record = {"name": name, "sentences": len(chosen)}
        write_json(workspace / _RECORD, record)
        return record

    return run.build(
        TEACHER,
        fill,
        reads=Scorer.reads(run) if teacher is None else (),
        settings=["seed", "distill.sentences", *(() if teacher else Scorer.settings())],
        inputs=inputs,
    )


def _save(path: Path, array: npt.NDArray[Any]) -> None:
    with write_atomically(path) as partial, partial.open("wb") as file:
        np.save(file, array)


def choose_sentences(corpus: Corpus, most: int, excluded: "Exclusions", seed: int) -> Ints:
    """Return at most `most` sentences of 3 to 40 words in random order, without evaluation data."""
    counts = np.asarray(corpus.word_counts)
    usual = np.flatnonzero((counts >= _WORDS[0]) & (counts <= _WORDS[1])).astype(np.int64)
    np.random.default_rng(seed).shuffle(usual)
    chosen = excluded.distinct(corpus, usual[:most])
    if len(chosen) < _FEWEST:
        raise InputError(
            f"the corpus has {len(chosen)} different sentences of {_WORDS[0]} to {_WORDS[1]} words "
            f"that are no evaluation data; distilling needs {_FEWEST} or more"
        )
    return chosen


# --- Sentences that must not be learned from ----------------------------------------------------


class Exclusions:
    """Sentences that no student may learn, known by hashes of their normal forms."""

    def __init__(self, hashes: Hashes) -> None:
        self.hashes: Hashes = np.unique(hashes)

    @classmethod
    def load(cls, files: Iterable[str] = ()) -> "Exclusions":
        """Return the sentences of public evaluation sets, and lines and cells of some files."""
        known: list[Hashes] = [np.load(_EVALUATION, allow_pickle=False)]
        for file in files:
            long = (cell for cell in _cells(Path(file)) if len(words(cell)) >= _FEWEST_WORDS)
            known.append(sentence_hashes(long))
        return cls(np.concatenate(known))

    def distinct(self, corpus: Corpus, sentences: Ints) -> Ints:
        """Return the sentences, in order, without excluded ones and repeated normal forms."""
        blocks = (sentences[at : at + _BATCH] for at in range(0, len(sentences), _BATCH))
        hashes = [sentence_hashes(corpus.texts(block)) for block in blocks]
        every: Hashes = np.concatenate([np.empty(0, np.uint64), *hashes])
        first = np.zeros(len(every), bool)
        first[np.unique(every, return_index=True)[1]] = True
        return sentences[first & ~np.isin(every, self.hashes)]


def exclusion_inputs(files: Iterable[str]) -> dict[str, str]:
    """Return fingerprints of the files that a setting `exclude` names, for stages that obey it."""
    return {f"exclude/{n}": fingerprint_file(Path(file)) for n, file in enumerate(files)}


def sentence_hashes(texts: Iterable[str]) -> Hashes:
    """Return 64-bit BLAKE2b of each text's normal form, (n,)."""
    forms = (normal_form(text).encode("utf-8", "surrogatepass") for text in texts)
    digests = (hashlib.blake2b(form, digest_size=8).digest() for form in forms)
    return np.array([int.from_bytes(digest, "big") for digest in digests], dtype=np.uint64)


def _cells(file: Path) -> Iterator[str]:
    for line in read_text(file).split("\n"):
        yield from {line, *line.split("\t")}

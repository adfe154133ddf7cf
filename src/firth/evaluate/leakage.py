"""Leakage: which evaluation texts a training text holds already, exactly or nearly.

Nearly means a Jaccard similarity of the sets of consecutive word pairs (bigrams) of at least a
threshold. The search is exact: the number of bigrams that two texts share is a sparse product, so
nothing is missed as hashing into bands would. Memory holds the texts searched for and one block of
the training text.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from functools import partial
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from firth.baselines.spec import PREFIX, Spec
from firth.corpus import CORPUS
from firth.evaluate.cache import Cache
from firth.evaluate.rows import EvaluationSet
from firth.lexical.words import normal_form
from firth.run.code import fingerprint_code
from firth.run.errors import InputError
from firth.run.files import fingerprint_file, fingerprint_value
from firth.run.progress import note
from firth.run.run import CONFIG, Run

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

MIN_WORDS = 6
"""Shorter texts are found in any large corpus by chance."""
THRESHOLD = 0.7
"""One word of 14 changed in the middle, or three words of ten added at an end."""
_BLOCK = 20_000
_BATCH = 8_192
_CANDIDATES = 8
_EXAMPLES = 5
_PAIR = ("sentence1", "sentence2")


class Kind(StrEnum):
    """How a text was found."""

    EXACT = "exact"
    """The same words in the same order, up to case and punctuation."""
    NEAR = "near"
    """Bigrams with a Jaccard similarity of at least the threshold."""


@dataclass(frozen=True)
class Match:
    """A text searched for, and the sentence that is most like it: Jaccard similarity of their
    bigrams, in [threshold, 1]."""

    kind: Kind
    text: str
    sentence: str
    similarity: float


class Finder:
    """Texts to be found in any number of sentences.

    Args:
        texts: What to look for. Those of fewer than `min_words` words are never found.
        min_words: At least 2.
        threshold: Least Jaccard similarity of bigrams, in (0, 1].

    Example:
        >>> finder = Finder(["The ship left the old harbour in a storm."])
        >>> finder.read(["So it was.", "the ship left the old harbour in a storm"])
        >>> [str(match.kind) for match in finder.matches()]
        ['exact']
    """

    def __init__(
        self, texts: Sequence[str], min_words: int = MIN_WORDS, threshold: float = THRESHOLD
    ) -> None:
        self._min_words, self._threshold = min_words, threshold
        self._numbers: dict[str, int] = {}
        self._texts: list[str] = []
        for text in texts:
            normal = normal_form(text)
            if normal.count(" ") >= min_words - 1 and normal not in self._numbers:
                self._numbers[normal] = len(self._texts)
                self._texts.append(text)
        bigrams = [_bigrams(normal) for normal in self._numbers]
        distinct = dict.fromkeys(bigram for found in bigrams for bigram in sorted(found))
        self._features = {bigram: number for number, bigram in enumerate(distinct)}
        rows = [[self._features[bigram] for bigram in found] for found in bigrams]
        self._sizes = np.array([len(row) for row in rows], dtype=np.float64)
        self._index = self._matrix(rows, self._sizes)
        self._best = np.zeros(len(rows))
        self._found: dict[int, str] = {}
        self._exact: dict[int, str] = {}

    def __len__(self) -> int:
        """Number of distinct texts that are looked for."""
        return len(self._texts)

    def wanted(self, text: str) -> bool:
        """Whether `text` is among those looked for."""
        return normal_form(text) in self._numbers

    def read(self, sentences: Iterable[str]) -> None:
        """Look for the texts in some sentences."""
        kept: list[str] = []
        rows: list[list[int]] = []
        sizes: list[float] = []
        for sentence in sentences:
            normal = normal_form(sentence)
            if normal.count(" ") < self._min_words - 1:
                continue
            number = self._numbers.get(normal)
            if number is not None:
                self._exact.setdefault(number, sentence)
            bigrams = _bigrams(normal)
            known = [self._features[bigram] for bigram in bigrams if bigram in self._features]
            # J >= t needs at least t of the sentence's own bigrams to be shared with the text.
            if len(known) >= self._threshold * len(bigrams):
                kept.append(sentence)
                rows.append(known)
                sizes.append(len(bigrams))
                if len(rows) == _BLOCK:
                    self._compare(kept, rows, np.array(sizes))
                    kept, rows, sizes = [], [], []
        if rows:
            self._compare(kept, rows, np.array(sizes))

    def matches(self) -> list[Match]:
        """Every text found so far, in the order they were given; exact before near."""
        matches = []
        for number, text in enumerate(self._texts):
            if number in self._exact:
                matches.append(Match(Kind.EXACT, text, self._exact[number], 1.0))
            elif number in self._found:
                best = float(self._best[number])
                matches.append(Match(Kind.NEAR, text, self._found[number], best))
        return matches

    def _compare(self, kept: list[str], rows: list[list[int]], sizes: np.ndarray) -> None:
        """Keep, for each text, the sentence of the block with the largest Jaccard similarity."""
        from sparse_dot_topn import sp_matmul_topn

        block = self._matrix(rows, sizes)
        # Rows are scaled to a product of |A n B| / sqrt(|A||B|), which is never below J.
        found = sp_matmul_topn(
            self._index, block.T.tocsr(), top_n=_CANDIDATES, threshold=0.999 * self._threshold
        ).tocoo()
        texts, sentences = found.row, found.col
        scale = np.sqrt(self._sizes[texts] * sizes[sentences])
        shared = np.round(found.data * scale)
        jaccard = shared / (self._sizes[texts] + sizes[sentences] - shared)
        for place in np.flatnonzero(jaccard >= self._threshold - 1e-9).tolist():
            text = int(texts[place])
            if jaccard[place] > self._best[text]:
                self._best[text] = jaccard[place]
                self._found[text] = kept[int(sentences[place])]

    def _matrix(self, rows: Sequence[Sequence[int]], sizes: np.ndarray) -> "csr_matrix":
        from scipy.sparse import csr_matrix

        lengths = [len(row) for row in rows]
        starts = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        columns = np.fromiter(chain.from_iterable(rows), np.int64, int(starts[-1]))
        weights = np.repeat(1 / np.sqrt(np.maximum(sizes, 1)), lengths)
        shape = (len(rows), max(len(self._features), 1))
        matrix = csr_matrix((weights, columns, starts), shape=shape)
        matrix.sort_indices()
        return matrix


def _bigrams(normal: str) -> set[tuple[str, str]]:
    return set(pairwise(normal.split(" ")))


# What a model has read.


@dataclass(frozen=True)
class Training:
    """A training text: what the caller calls it, the fingerprint of its content, and what starts
    the stream of its sentences, some thousands at a time."""

    source: str
    fingerprint: str
    batches: Callable[[], Iterator[list[str]]]


def training_runs(model: str) -> list[Path]:
    """The runs whose corpus `model` learned from; empty where none is known.

    A run itself (Origin), anything in its folder (the Surrogate), and the runs that a baseline
    names: after `@`, or as the value of an option.
    """
    named = [model]
    if model.startswith(PREFIX):
        spec = Spec.parse(model)
        named = [value for value in (spec.source, *spec.options.values()) if value]
    runs: dict[Path, None] = {}
    for name in named:
        # RUN, RUN/surrogate, RUN/baselines/NAME
        folders = (Path(name), *list(Path(name).parents)[:2])
        if run := next((one for one in folders if (one / CONFIG).is_file()), None):
            runs[run] = None
    return list(runs)


def training_of(source: str | Path) -> Training:
    """Open a training text: a run (its corpus), a Parquet file of pairs (`sentence1`, `sentence2`),
    or anything `firth corpus build` reads: files, folders, globs, `hub:NAME`.

    Raises:
        InputError: It is none of these.
        MissingStageError: The run has no corpus yet.
    """
    path = Path(source)
    if (path / CONFIG).is_file():
        from firth.corpus.corpus import Corpus

        run = Run.open(path)
        return Training(
            str(source), run.manifest(CORPUS).digest, lambda: Corpus.open(run).batches()
        )
    if path.suffix == ".parquet" and path.is_file() and _holds_pairs(path):
        return Training(str(source), fingerprint_file(path), partial(_pairs, path))
    from firth.corpus.inputs import resolve_inputs

    sources = resolve_inputs([source])
    fingerprint = fingerprint_value([one.fingerprint() for one in sources])
    return Training(str(source), fingerprint, partial(_documents, str(source)))


def _holds_pairs(path: Path) -> bool:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return set(_PAIR) <= set(pq.read_schema(path).names)
    except (OSError, pa.ArrowInvalid) as error:
        raise InputError(f"{path}: not a Parquet file ({error})") from error


def _pairs(path: Path) -> Iterator[list[str]]:
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(_BATCH, columns=list(_PAIR)):
            for name in _PAIR:
                yield [text for text in batch.column(name).to_pylist() if text]


def _documents(source: str) -> Iterator[list[str]]:
    """The sentences of documents, split as a corpus is; broken records are left out."""
    from firth.corpus.inputs import resolve_inputs
    from firth.corpus.read import read_source
    from firth.corpus.records import Record
    from firth.corpus.settings import CorpusConfig
    from firth.corpus.split import split_paragraphs

    sentences = (
        sentence
        for one in resolve_inputs([source])
        for item in read_source(one, CorpusConfig(), lambda _: None)
        if isinstance(item, Record)
        for paragraph in split_paragraphs(item.text)
        for sentence in paragraph
    )
    while batch := list(islice(sentences, _BATCH)):
        yield batch


# What it shares with evaluation sets.


@dataclass(frozen=True)
class SetLeakage:
    """How much of one set stands in a training text.

    Attributes:
        texts: Distinct texts (and sentences within them) long enough to be looked for, of which so
            many stand in the training text `exact`, others `near`.
        rows_touched: Rows, of all `rows`, of which a text, or a sentence within one, was found.
        touched: Which rows these are, counted from 0 in the order of the set.
    """

    task: str
    split: str
    texts: int
    exact: int
    near: int
    rows: int
    rows_touched: int
    touched: tuple[int, ...]

    def __str__(self) -> str:
        """`afs all: 3 of 8,120 texts exactly and 5 nearly, in 9 of 6,000 rows`."""
        return (
            f"{self.task} {self.split}: {self.exact:,} of {self.texts:,} texts exactly and "
            f"{self.near:,} nearly, in {self.rows_touched:,} of {self.rows:,} rows"
        )


@dataclass(frozen=True)
class Leakage:
    """What a training text shares with evaluation sets, one of `sets` each.

    `examples` (task and split → some matches) hold evaluation texts, which not every licence allows
    to be passed on, so `to_dict` leaves them out unless asked.
    """

    source: str
    fingerprint: str
    sets: tuple[SetLeakage, ...]
    examples: dict[tuple[str, str], tuple[Match, ...]]
    min_words: int = MIN_WORDS
    threshold: float = THRESHOLD

    def to_dict(self, *, examples: bool = False) -> dict[str, Any]:
        """Plain values."""
        found = asdict(replace(self, examples={}))
        del found["examples"]
        if examples:
            found["examples"] = [
                {"task": task, "split": split, **asdict(match), "kind": match.kind.value}
                for (task, split), matches in self.examples.items()
                for match in matches
            ]
        return found

    def notes(self) -> list[str]:
        """A line for each set of which something was found."""
        found = [one for one in self.sets if one.exact or one.near]
        return [f"{one}, stand in the text of {self.source}" for one in found]


def find_leakage(
    training: Training,
    sets: Sequence[EvaluationSet],
    cache: Cache | None = None,
    min_words: int = MIN_WORDS,
    threshold: float = THRESHOLD,
) -> Leakage:
    """Look for the texts of evaluation sets, and the sentences within them, in a training text.

    The training text (see `training_of`) is read once for all sets that the cache does not know;
    `min_words` and `threshold` are those of the `Finder`.
    """
    kept = cache or Cache(None)
    settings = [min_words, threshold, _EXAMPLES, fingerprint_code(__name__)]
    keys = [fingerprint_value([training.fingerprint, one.question, settings]) for one in sets]
    found = [kept.value("leakage", key) for key in keys]
    known = [_restored(one, value) for one, value in zip(sets, found, strict=True)]
    if missing := [place for place, found in enumerate(known) if found is None]:
        note(f"Looking for evaluation texts in {training.source}")
        texts = {place: _texts(sets[place]) for place in missing}
        every = (pieces for found in texts.values() for pieces in found.values())
        finder = Finder(list(dict.fromkeys(chain.from_iterable(every))), min_words, threshold)
        for sentences in training.batches():
            finder.read(sentences)
        matches = finder.matches()
        for place in missing:
            value = _summary(sets[place], texts[place], finder, matches)
            kept.keep("leakage", keys[place], value)
            known[place] = _restored(sets[place], value)
    leaks = [one for one in known if one is not None]
    examples = {(one.task, one.split): some for one, some in leaks}
    return Leakage(training.source, training.fingerprint, tuple(one for one, _ in leaks), examples,
                   min_words, threshold)  # fmt: skip


def _restored(data: EvaluationSet, value: Any) -> tuple[SetLeakage, tuple[Match, ...]] | None:
    """From plain values; None where there are none, or not the right ones."""
    try:
        rows = tuple(map(int, value["touched"]))
        leak = SetLeakage(data.task.name, data.split, **value["counts"], touched=rows)
        return leak, tuple(Match(Kind(kind), *rest) for kind, *rest in value["examples"])
    except (KeyError, TypeError, ValueError):
        return None


def _texts(data: EvaluationSet) -> dict[str, tuple[str, ...]]:
    """Each text of a set → itself and, where it holds several, its sentences."""
    from firth.corpus.split import split_sentences

    return {
        text: tuple(dict.fromkeys((text, *split_sentences(text)))) if _several(text) else (text,)
        for text in dict.fromkeys(text for row in data.rows for text in row.texts)
    }


def _several(text: str) -> bool:
    """Whether a text may hold more than one sentence: a mark that ends one, not at its end."""
    inner = text.rstrip(" .!?\"')\n")
    return any(mark in inner for mark in (". ", "! ", "? ", "\n"))


def _summary(
    data: EvaluationSet, texts: dict[str, tuple[str, ...]], finder: Finder, matches: Iterable[Match]
) -> dict[str, Any]:
    found = {normal_form(match.text): match for match in matches}
    forms = {text: {normal_form(piece) for piece in pieces} for text, pieces in texts.items()}
    every = dict.fromkeys(form for some in forms.values() for form in sorted(some))
    wanted = [form for form in every if finder.wanted(form)]
    hits = [found[form] for form in wanted if form in found]
    touched = {text for text, some in forms.items() if not some.isdisjoint(found)}
    rows = [i for i, row in enumerate(data.rows) if not touched.isdisjoint(row.texts)]
    exact = [match for match in hits if match.kind is Kind.EXACT]
    near = [match for match in hits if match.kind is Kind.NEAR]
    near.sort(key=lambda match: (-match.similarity, match.text))
    counts = {"texts": len(wanted), "exact": len(exact), "near": len(near),
              "rows": len(data.rows), "rows_touched": len(rows)}  # fmt: skip
    shown = (*exact[:_EXAMPLES], *near[:_EXAMPLES])
    examples = [[one.kind.value, one.text, one.sentence, one.similarity] for one in shown]
    return {"counts": counts, "touched": rows, "examples": examples}

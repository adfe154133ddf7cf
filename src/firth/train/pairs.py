"""Pairs of corpus sentences that a scorer has scored, for students that learn from pairs.

The work is cut into shards. Each shard has sentences that no other shard has, and belongs wholly to
`train`, `dev` or `test`. So no pair is scored twice, no sentence is in two splits, and the pairs of
a shard depend on its sentences and number alone.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.stats import rankdata

from firth.corpus.corpus import Corpus
from firth.run.console import Progress, note, progress
from firth.run.errors import InputError
from firth.run.executor import Executor, Local
from firth.run.files import fingerprint_file, write_text
from firth.run.run import Run
from firth.run.seeds import derive_seed
from firth.run.settings import PairSettings
from firth.run.stage import SCRATCH, Outcome, Stage
from firth.scorer.scorer import Scorer
from firth.text.arrays import Floats, Ints
from firth.text.pairs import PairScorer, TextPair
from firth.text.words import normal_form, stemmer_of, stems, words

PAIRS = Stage("pairs", 1, command="firth train distill")
SPLITS = ("train", "dev", "test")
_HELD_OUT = 0.01
"""Share of the pairs in each of dev and test."""
_FEWEST = 30
_FEWEST_SENTENCES = 40
"""Sentences of a held-out split, where the corpus has enough."""
_POOL = 20_000
"""Sentences of a shard, at most, among which similar ones are looked for."""
_NEIGHBORS = 4
_COMMON, _RARE = 0.05, 20
"""Words in a larger share of a shard's sentences, and in more of them, make no two similar."""
_ROWS, _BATCH = 512, 1 << 14
_EVALUATION = Path(__file__).with_name("data") / "evaluation_sentences.npy"
_FEWEST_EXCLUDED_WORDS = 3
"""Shorter texts of evaluation sets (`Yes.`) are too common to be excluded."""

Hashes = npt.NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class ScoredPairs:
    """The pairs of a split.

    Attributes:
        pairs: n pairs of texts.
        scores: Scores of the teacher, (n,).
        kinds: Kind of each pair, such as `near` or `random`.
    """

    pairs: list[TextPair]
    scores: Floats
    kinds: list[str]


@dataclass(frozen=True, eq=False)
class Shard:
    """A part of the work.

    Attributes:
        number: From 0; it decides the draws.
        split: One of `SPLITS`.
        size: Pairs that are wanted.
        sentences: Sentence numbers of the corpus that no other shard has.
    """

    number: int
    split: str
    size: int
    sentences: Ints


ScorerOpener = Callable[[Run], PairScorer]


def score_pairs(
    run: Run,
    open_scorer: ScorerOpener = Scorer.open,
    *,
    stage: Stage = PAIRS,
    reads: Sequence[Stage] | None = None,
    settings: Sequence[str] | None = None,
    inputs: Mapping[str, str] | None = None,
    pairs: PairSettings | None = None,
    executor: Executor | None = None,
) -> Outcome:
    """Build the stage of scored pairs: `train.jsonl`, `dev.jsonl` and `test.jsonl`.

    A line holds `sentence1`, `sentence2`, `score` and `kind`. An interrupted build continues with
    the first missing shard.

    Args:
        run: A run with a corpus, and what the scorer reads.
        open_scorer: Opens the scorer, once in each worker: a function of a module, not a lambda.
        stage: The stage to build.
        reads: Stages that the scorer reads. By default those of the run's scorer.
        settings: Settings that the scorer reads. By default those of the run's scorer.
        inputs: Fingerprints of what else decides the scores.
        pairs: How many pairs, and which. By default `run.settings.pairs`.
        executor: Who scores shards. The bytes are the same.

    Raises:
        MissingStageError: A stage is not built.
        InputError: A file of `exclude` cannot be read, or the corpus is too small.
    """
    chosen = pairs or run.settings.pairs
    excluded = Exclusions.load(chosen.exclude)
    known = {f"exclude/{n}": fingerprint_file(Path(f)) for n, f in enumerate(chosen.exclude)}
    known |= {"corpus": Corpus.open(run).digest, **(inputs or {})}
    paths = ["seed", "corpus", *(Scorer.settings(run) if settings is None else settings)]
    if pairs is None:
        paths += [f"pairs.{name}" for name in PairSettings.model_fields if name != "exclude"]

    def fill(seen: Run, workspace: Path) -> Mapping[str, Any]:
        shards = plan_shards(Corpus.open(seen), chosen, excluded, seen.settings.seed)
        files = [workspace / SCRATCH / f"shard-{shard.number:06}.jsonl" for shard in shards]
        left = [(s, file) for s, file in zip(shards, files, strict=True) if not file.is_file()]
        work = _Scoring(seen, chosen, open_scorer)
        bar: Progress[int] = progress(len(shards), "Scoring pairs")
        with bar:
            bar.advance(len(shards) - len(left))
            scored = (executor or Local()).map(work, (shard for shard, _ in left))
            for (_, file), lines in zip(left, scored, strict=True):
                write_text(file, lines)
                bar.advance()
        for split in SPLITS:
            own = [f for shard, f in zip(shards, files, strict=True) if shard.split == split]
            lines = "".join(file.read_text(encoding="utf-8") for file in own)
            write_text(workspace / f"{split}.jsonl", lines)
        return _summary(workspace)

    outcome = run.build(
        stage,
        fill,
        reads=Scorer.reads(run) if reads is None else reads,
        settings=paths,
        inputs=known,
    )
    if not outcome.reused:
        for warning in outcome.manifest.summary["warnings"]:
            note(warning)
    return outcome


def read_pairs(folder: Path, split: str) -> ScoredPairs:
    """Return a split of the folder that `score_pairs` built."""
    with (folder / f"{split}.jsonl").open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return ScoredPairs(
        [(row["sentence1"], row["sentence2"]) for row in rows],
        np.array([row["score"] for row in rows], np.float64),
        [row["kind"] for row in rows],
    )


@dataclass(frozen=True, eq=False)
class _Scoring:
    """The work of an executor: shards in, lines of JSON out."""

    run: Run
    settings: PairSettings
    open_scorer: ScorerOpener

    def open(self) -> Callable[[Shard], str]:
        corpus, scorer, seed = (
            Corpus.open(self.run),
            self.open_scorer(self.run),
            self.run.settings.seed,
        )
        language = self.run.settings.corpus.language

        def score(shard: Shard) -> str:
            texts = corpus.texts(shard.sentences)
            rng = np.random.default_rng(derive_seed(seed, "pairs", shard.number))
            planned = draw_pairs(word_vectors(texts, language), shard.size, self.settings, rng)
            pairs = [(texts[one], texts[two]) for one, two, _ in planned]
            rows = [
                {"sentence1": one, "sentence2": two, "score": score, "kind": kind}
                for (one, two), score, (_, _, kind) in zip(
                    pairs, scorer.similarities(pairs).tolist(), planned, strict=True
                )
            ]
            return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)

        return score


# --- Sentences that must not be learned from ----------------------------------------------------


class Exclusions:
    """Sentences that must not occur in a pair, known by hashes of their normal forms."""

    def __init__(self, hashes: Hashes) -> None:
        self._hashes: Hashes = np.unique(hashes)

    @classmethod
    def load(cls, files: Iterable[str | Path] = ()) -> "Exclusions":
        """Return the sentences of public evaluation sets, and lines and cells of some files.

        Lines and tab-separated cells of fewer than three words are ignored.

        Raises:
            InputError: A file is missing or cannot be read.
        """
        known: list[Hashes] = [np.load(_EVALUATION, allow_pickle=False)]
        for file in files:
            long = (c for c in _cells(Path(file)) if len(words(c)) >= _FEWEST_EXCLUDED_WORDS)
            known.append(sentence_hashes(long))
        return cls(np.concatenate(known))

    def distinct(self, corpus: Corpus, sentences: Ints) -> Ints:
        """Return the sentences, in order, without excluded ones and repeated normal forms."""
        blocks = (sentences[at : at + _BATCH] for at in range(0, len(sentences), _BATCH))
        hashes = [sentence_hashes(corpus.texts(block)) for block in blocks]
        every: Hashes = np.concatenate([np.empty(0, np.uint64), *hashes])
        first = np.zeros(len(every), bool)
        first[np.unique(every, return_index=True)[1]] = True
        return sentences[first & ~np.isin(every, self._hashes)]


def sentence_hashes(texts: Iterable[str]) -> Hashes:
    """Return 64-bit BLAKE2b of each text's normal form, (n,).

    Example:
        >>> one, two = sentence_hashes(["The cat sat down.", "the CAT sat  down"])
        >>> bool(one == two)
        True
    """
    forms = (normal_form(text).encode("utf-8", "surrogatepass") for text in texts)
    digests = (hashlib.blake2b(form, digest_size=8).digest() for form in forms)
    return np.array([int.from_bytes(digest, "big") for digest in digests], dtype=np.uint64)


def _cells(file: Path) -> Iterator[str]:
    try:
        if file.exists() and not file.is_file():  # Reading a pipe would never end.
            raise OSError(None, "not an ordinary file")
        with file.open(encoding="utf-8-sig", errors="replace") as lines:
            for line in lines:
                yield from {line, *line.split("\t")}
    except OSError as error:
        raise InputError(
            f"{file}: cannot be read ({error.strerror}). The setting pairs.exclude names it as a "
            "file of texts that must not occur in a pair"
        ) from error


# --- Pairs that are scored ----------------------------------------------------------------------


def plan_shards(
    corpus: Corpus, settings: PairSettings, excluded: Exclusions, seed: int
) -> list[Shard]:
    """Return the shards of the work: those of train, then dev, then test.

    A corpus that cannot give so many pairs gives fewer.

    Raises:
        InputError: There are too few pairs.
    """
    usable = excluded.distinct(corpus, corpus.usual_sentences())
    most = len(usable) * settings.max_uses // 4  # Half of what is possible, so that draws succeed.
    count = min(settings.pairs, most)
    if count < _FEWEST:
        raise InputError(
            f"got {count} pairs (pairs.pairs is {settings.pairs}, and {len(usable)} different "
            f"sentences of the corpus are enough for {most}); expected {_FEWEST} or more"
        )
    order = np.random.default_rng(derive_seed(seed, "pairs")).permutation(usable)
    held = max(_FEWEST // 10, round(_HELD_OUT * count))
    share = max(_HELD_OUT, min(0.1, _FEWEST_SENTENCES / len(order)))
    ends = [round(part * len(order)) for part in (0.0, 1 - 2 * share, 1 - share, 1.0)]
    shards: list[Shard] = []
    for split, size, (low, high) in zip(
        SPLITS, (count - 2 * held, held, held), pairwise(ends), strict=True
    ):
        parts = -(-size // settings.shard_pairs)
        for part in range(parts):
            first, last = (low + (high - low) * p // parts for p in (part, part + 1))
            wanted = size * (part + 1) // parts - size * part // parts
            shards.append(Shard(len(shards), split, wanted, np.sort(order[first:last][:_POOL])))
    return shards


def draw_pairs(
    vectors: sparse.csr_matrix, size: int, settings: PairSettings, rng: np.random.Generator
) -> list[tuple[int, int, str]]:
    """Return at most `size` pairs of rows, each with `near` or `random`.

    No pair is there twice, and no row in more than `max_uses` pairs.

    Args:
        vectors: Word vectors of the texts, (n, stems).
        size: Pairs that are wanted; `settings.near` of them are near.
        settings: Shares and limits.
        rng: Decides the draws.
    """
    n = vectors.shape[0]
    chosen: dict[tuple[int, int], str] = {}
    uses = np.zeros(n, np.int64)

    def add(one: int, two: int, kind: str, limit: int) -> None:
        key = (min(one, two), max(one, two))
        full = len(chosen) >= limit or max(uses[[one, two]]) >= settings.max_uses
        if one != two and key not in chosen and not full:
            chosen[key] = kind
            uses[[one, two]] += 1

    near = round(settings.near * size)
    for rows in np.array_split(rng.permutation(n), -(-n // _ROWS)):
        if len(chosen) >= near:
            break
        cosines = (vectors[rows] @ vectors.T).tocsr()
        for place, one in enumerate(rows.tolist()):
            row = slice(*cosines.indptr[place : place + 2])
            others = cosines.indices[row][np.lexsort((cosines.indices[row], -cosines.data[row]))]
            for two in others[others != one][:_NEIGHBORS].tolist():
                add(one, two, "near", near)
    for _ in range(20):  # A draw may repeat a pair.
        drawn = rng.permutation(np.repeat(np.arange(n), settings.max_uses - uses)).tolist()
        for one, two in zip(drawn[::2], drawn[1::2], strict=False):
            add(one, two, "random", size)
    return [(one, two, kind) for (one, two), kind in chosen.items()]


def word_vectors(texts: Sequence[str], language: str) -> sparse.csr_matrix:
    """Return tf-idf vectors of texts over their stems, (n, stems), of length 1 or 0.

    Stems in one text, and in more than a twentieth of many texts, have no weight.
    """
    rows = [stems(words(text), stemmer_of(language)) for text in texts]
    numbers: dict[str, int] = {}
    columns = [numbers.setdefault(stem, len(numbers)) for row in rows for stem in row]
    bounds = np.cumsum([0, *map(len, rows)])
    shape = len(rows), len(numbers)
    counts = sparse.csr_matrix((np.ones(len(columns)), columns, bounds), shape)
    counts.sum_duplicates()
    frequency = counts.getnnz(axis=0)
    has_weight = (frequency > 1) & (frequency <= max(_RARE, _COMMON * len(rows)))
    idf = np.where(has_weight, np.log(len(rows) / np.maximum(frequency, 1)), 0.0)
    weighed = sparse.csr_matrix(counts @ sparse.diags(idf))
    weighed.eliminate_zeros()
    lengths = np.sqrt(np.asarray(weighed.multiply(weighed).sum(axis=1)).ravel())
    return sparse.csr_matrix(sparse.diags(1 / np.where(lengths > 0, lengths, 1.0)) @ weighed)


# --- What the scores are worth ------------------------------------------------------------------


def _summary(folder: Path) -> dict[str, Any]:
    splits = {split: read_pairs(folder, split) for split in SPLITS}
    sizes = {split: len(found.pairs) for split, found in splits.items()}
    if not all(sizes.values()):
        raise InputError(f"the corpus is too small to give each split a pair: {sizes}")
    train = splits["train"]
    kinds = {kind: train.kinds.count(kind) for kind in sorted(set(train.kinds))}
    return {"pairs": sizes, "kinds": kinds, **label_report(train.pairs, train.scores)}


def label_report(pairs: Sequence[TextPair], scores: Floats) -> dict[str, Any]:
    """Return what scores are worth as labels.

    Args:
        pairs: n pairs, n >= 1.
        scores: Raw scores, (n,).

    Returns:
        `mean` and `deviation` of the scores; `distinct`: share of different scores; `length`:
        multiple rank correlation with the lengths of both sentences, None where it is undefined;
        `warnings` in words.
    """
    sizes = np.array([sorted(len(words(text)) for text in pair) for pair in pairs], np.float64)
    lengths = np.column_stack((sizes[:, 0], sizes.sum(axis=1), np.ptp(sizes, axis=1)))
    report: dict[str, Any] = {
        "mean": round(float(scores.mean()), 6),
        "deviation": round(float(scores.std()), 6),
        "distinct": round(len(np.unique(scores)) / len(scores), 4),
        "length": _explained(scores, lengths),
    }
    said = []
    if report["distinct"] < 0.01:
        said.append(f"Only {report['distinct']:.2%} of the scores differ: they teach little.")
    if (report["length"] or 0.0) >= 0.5:
        said.append(
            f"The scores follow the sentences' length (rank correlation {report['length']:.2f}). "
            "A student of such scores partly learns to count words."
        )
    return report | {"warnings": said}


def rank_correlation(one: Floats, two: Floats) -> float | None:
    """Return Spearman's correlation; None for fewer than three pairs or a constant side."""
    if len(one) < 3 or np.ptp(one) == 0 or np.ptp(two) == 0:
        return None
    return round(float(np.corrcoef(rankdata(one), rankdata(two))[0, 1]), 6)


def _explained(scores: Floats, features: Floats) -> float | None:
    """Return the multiple correlation, in [0, 1], of ranks of scores and features, (n, f)."""
    varied = features[:, np.ptp(features, axis=0) > 0]
    if len(scores) < 10 or np.ptp(scores) == 0 or not varied.shape[1]:
        return None
    ranks = rankdata(np.column_stack((scores, varied)), axis=0)
    ranks -= ranks.mean(axis=0)
    wanted, known = ranks[:, 0], ranks[:, 1:]
    left = wanted - known @ np.linalg.lstsq(known, wanted, rcond=None)[0]
    return round(float(max(0.0, 1 - left @ left / (wanted @ wanted)) ** 0.5), 4)

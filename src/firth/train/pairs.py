"""Pairs of corpus sentences that a scorer has scored, for students that learn from pairs.

The work is cut into shards. Each shard has sentences that no other shard has, and belongs wholly to
`train`, `dev` or `test`. So no pair is scored twice, no sentence is in two splits, and a shard's
pairs depend on its sentences and number alone. Half of the pairs resemble each other in words, and
half are random.
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
from firth.run.console import note, progress
from firth.run.errors import InputError
from firth.run.executor import Executor, Local
from firth.run.files import fingerprint_file, write_json, write_text
from firth.run.run import Run
from firth.run.seeds import derive_seed
from firth.run.settings import PairSettings
from firth.run.stage import SCRATCH, Outcome, Stage
from firth.scorer.scorer import Scorer
from firth.text.arrays import Floats, Ints
from firth.text.pairs import PairScorer, TextPair
from firth.text.words import jaccard, normal_form, stemmer_of, stems, words

PAIRS = Stage("pairs", 1)
"""Scored pairs of the run's own scorer."""
SPLITS = ("train", "dev", "test")
REPORT = "report.json"
HELD_OUT = 0.01
"""Share of the pairs in each of dev and test."""
FEWEST = 30

_EVALUATION = Path(__file__).with_name("data") / "evaluation_sentences.npy"
_FEWEST_EXCLUDED_WORDS = 3
"""Shorter texts of evaluation sets (`Yes.`) are too common to be excluded."""
_FEWEST_SENTENCES = 40
"""Sentences of a held-out split, where the corpus has enough."""
_LARGEST_POOL = 20_000
"""Sentences of a shard among which similar ones are sought."""
_NEIGHBORS = 4
_COMMON = 0.05
"""Words in a larger share of a shard's sentences do not make two of them similar."""
_ROWS = 512
_BATCH = 1 << 14
_SAMPLE = 20_000
_NEAR_COPY = 0.7
Hashes = npt.NDArray[np.uint64]
ScorerOpener = Callable[[Run], PairScorer]
"""A function at the top of a module: workers of other processes import it."""


@dataclass(frozen=True, eq=False)
class ScoredPairs:
    """The pairs of a split.

    Attributes:
        pairs: n pairs of texts.
        scores: The teacher's scores, (n,).
        kinds: Why each pair was drawn: `near` or `random`, n.
    """

    pairs: list[TextPair]
    scores: Floats
    kinds: list[str]

    def __len__(self) -> int:
        return len(self.pairs)


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

    @property
    def file(self) -> str:
        """Name of the file that holds its pairs."""
        return f"shard-{self.number:06}.jsonl"


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
    """Build the stage of scored pairs: `train.jsonl`, `dev.jsonl`, `test.jsonl` and a report.

    An interrupted build continues with the first missing shard.

    Args:
        run: A run with a corpus, and what the scorer reads.
        open_scorer: Opens the scorer of a run, once in each worker.
        stage: The stage to build.
        reads: Stages that the scorer reads. By default those of the run's scorer.
        settings: Settings that the scorer reads. By default those of the run's scorer.
        inputs: Fingerprints of what the scorer reads outside the run.
        pairs: How many pairs, and which. By default `run.settings.pairs`.
        executor: Who scores shards. The bytes are the same.

    Raises:
        MissingStageError: A stage is not built.
        InputError: A file of `exclude` cannot be read, or the corpus is too small.
    """
    chosen = pairs or run.settings.pairs
    corpus = Corpus.open(run)
    outside = {f"exclude/{n}": fingerprint_file(Path(f)) for n, f in enumerate(chosen.exclude)}
    excluded = Exclusions.load(chosen.exclude)
    own = [f"pairs.{name}" for name in PairSettings.model_fields if name != "exclude"]
    workers = executor or Local()

    def fill(seen: Run, workspace: Path) -> Mapping[str, Any]:
        work = ScoreShards(seen, open_scorer, chosen, seen.settings.seed)
        shards = plan_shards(Corpus.open(seen), chosen, excluded, seen.settings.seed)
        scratch = workspace / SCRATCH
        scratch.mkdir(exist_ok=True)
        left = [shard for shard in shards if not (scratch / shard.file).is_file()]
        with progress(sum(shard.size for shard in shards), "Scoring pairs") as bar:
            bar.advance(sum(shard.size for shard in shards) - sum(shard.size for shard in left))
            for shard, lines in zip(left, workers.map(work, left), strict=True):
                write_text(scratch / shard.file, lines)
                bar.advance(shard.size)
        return _write_splits(workspace, scratch, shards)

    outcome = run.build(
        stage,
        fill,
        reads=Scorer.reads(run) if reads is None else reads,
        settings=[
            "seed",
            *(own if pairs is None else ()),
            *(Scorer.settings(run) if settings is None else settings),
        ],
        inputs={"corpus": corpus.digest, **outside, **(inputs or {})},
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


# What must not be learned from.


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

    def has(self, hashes: Hashes) -> npt.NDArray[np.bool_]:
        """Return which hashes are those of excluded sentences, (n,)."""
        return np.isin(hashes, self._hashes)


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


def distinct_sentences(corpus: Corpus, sentences: Ints, excluded: Exclusions) -> Ints:
    """Return the sentences, in order, without excluded ones and repeated normal forms."""
    blocks = (sentences[at : at + _BATCH] for at in range(0, len(sentences), _BATCH))
    hashes = [sentence_hashes(corpus.texts(block)) for block in blocks]
    every: Hashes = np.concatenate([np.empty(0, np.uint64), *hashes])
    first = np.zeros(len(every), bool)
    first[np.unique(every, return_index=True)[1]] = True
    return sentences[first & ~excluded.has(every)]


def _cells(file: Path) -> Iterator[str]:
    try:
        if file.exists() and not file.is_file():  # Reading a pipe would never end.
            raise OSError(None, "not an ordinary file")
        with file.open(encoding="utf-8-sig", errors="replace") as lines:
            for line in lines:
                yield line
                if "\t" in line:
                    yield from line.split("\t")
    except OSError as error:
        raise InputError(
            f"{file} cannot be read ({error.strerror}). The setting pairs.exclude names it as a "
            "file of texts that must not occur in a pair."
        ) from error


# Which pairs are scored.


def plan_shards(
    corpus: Corpus, settings: PairSettings, excluded: Exclusions, seed: int
) -> list[Shard]:
    """Return the shards of the work: those of train, then dev, then test.

    A corpus that cannot give so many pairs gives fewer.

    Raises:
        InputError: The corpus has too few sentences.
    """
    usable = distinct_sentences(corpus, corpus.usual_sentences(), excluded)
    most = len(usable) * settings.max_uses // 4  # Half of what is possible, so that draws succeed.
    pairs = min(settings.pairs, most)
    if pairs < FEWEST:
        raise InputError(
            f"Got {pairs} pairs (pairs.pairs is {settings.pairs}; the corpus has {len(usable)} "
            f"different sentences, enough for {most}). Expected {FEWEST} pairs or more."
        )
    order = np.random.default_rng(derive_seed(seed, "pairs")).permutation(usable)
    held = max(FEWEST // 10, round(HELD_OUT * pairs))
    sizes = {"train": pairs - 2 * held, "dev": held, "test": held}
    share = max(HELD_OUT, min(0.05, _FEWEST_SENTENCES / len(order)))
    bound = [0, *(round(part * len(order)) for part in (1 - 2 * share, 1 - share)), len(order)]
    shards: list[Shard] = []
    for split, (low, high) in zip(SPLITS, pairwise(bound), strict=True):
        count = -(-sizes[split] // settings.shard_pairs)
        for part in range(count):
            size = sizes[split] * (part + 1) // count - sizes[split] * part // count
            first, last = (low + (high - low) * p // count for p in (part, part + 1))
            some = np.sort(order[first:last][:_LARGEST_POOL])
            shards.append(Shard(len(shards), split, size, some))
    return shards


def plan_pairs(
    texts: Sequence[str], shard: Shard, settings: PairSettings, language: str, seed: int
) -> list[tuple[int, int, str]]:
    """Return the pairs of a shard: places of both texts in `texts`, and the kind of the pair.

    No pair is there twice, and no text in more than `max_uses` pairs. There are fewer than
    `shard.size` pairs where the texts do not give more.
    """
    rng = np.random.default_rng(derive_seed(seed, "pairs", shard.number))
    chosen: dict[tuple[int, int], str] = {}
    uses = np.zeros(len(texts), np.int64)

    def add(one: int, two: int, kind: str) -> None:
        key = (min(one, two), max(one, two))
        if one != two and key not in chosen and max(uses[[one, two]]) < settings.max_uses:
            chosen[key] = kind
            uses[[one, two]] += 1

    wanted = round(settings.near * shard.size)
    vectors = word_vectors(texts, language)
    starts = rng.permutation(len(texts))
    for at in range(0, len(starts), _ROWS):
        rows = starts[at : at + _ROWS]
        cosines = (vectors[rows] @ vectors.T).tocsr()
        for place, one in enumerate(rows.tolist()):
            row = slice(*cosines.indptr[place : place + 2])
            columns, values = cosines.indices[row], cosines.data[row]
            ranked = columns[np.lexsort((columns, -values))]
            for two in ranked[ranked != one][:_NEIGHBORS].tolist():
                if len(chosen) < wanted:
                    add(one, two, "near")
        if len(chosen) >= wanted:
            break
    for _ in range(20):
        free = np.repeat(np.arange(len(texts)), settings.max_uses - uses)
        drawn = rng.permutation(free)
        for one, two in zip(drawn[::2].tolist(), drawn[1::2].tolist(), strict=False):
            if len(chosen) < shard.size:
                add(one, two, "random")
        if len(chosen) >= shard.size:
            break
    return [(one, two, kind) for (one, two), kind in chosen.items()]


def word_vectors(texts: Sequence[str], language: str) -> sparse.csr_matrix:
    """Return tf-idf vectors of texts over their stems, (n, stems), of length 1 or 0.

    Stems in one text, and in more than a twentieth of the texts, are left out.
    """
    stemmer = stemmer_of(language)
    rows = [stems(words(text), stemmer) for text in texts]
    numbers: dict[str, int] = {}
    columns = [numbers.setdefault(stem, len(numbers)) for row in rows for stem in row]
    bounds = np.cumsum([0, *map(len, rows)])
    counts = sparse.csr_matrix((np.ones(len(columns)), columns, bounds), (len(rows), len(numbers)))
    counts.sum_duplicates()
    frequency = counts.getnnz(axis=0)
    telling = (frequency > 1) & (frequency <= max(2, _COMMON * len(rows)))
    weights = np.where(telling, np.log(len(rows) / np.maximum(frequency, 1)), 0.0)
    weighed = counts @ sparse.diags(weights)
    lengths = np.sqrt(weighed.multiply(weighed).sum(axis=1)).A1
    found = sparse.csr_matrix(sparse.diags(1 / np.where(lengths > 0, lengths, 1.0)) @ weighed)
    found.eliminate_zeros()
    return found


@dataclass(frozen=True, eq=False)
class ScoreShards:
    """The work of an executor: shards in, lines of JSON out.

    Attributes:
        run: The run as the stage sees it.
        open_scorer: Opens the scorer.
        settings: Which pairs.
        seed: Of the run.
    """

    run: Run
    open_scorer: ScorerOpener
    settings: PairSettings
    seed: int

    def open(self) -> Callable[[Shard], str]:
        """Open scorer and corpus, and return what scores a shard."""
        corpus, scorer = Corpus.open(self.run), self.open_scorer(self.run)
        language = self.run.settings.corpus.language

        def scored(shard: Shard) -> str:
            texts = corpus.texts(shard.sentences)
            plan = plan_pairs(texts, shard, self.settings, language, self.seed)
            pairs = [(texts[one], texts[two]) for one, two, _ in plan]
            scores = np.asarray(scorer.similarities(pairs), np.float64)
            rows = zip(pairs, scores.tolist(), plan, strict=True)
            return "".join(
                json.dumps(
                    {"sentence1": one, "sentence2": two, "score": score, "kind": kind},
                    ensure_ascii=False,
                )
                + "\n"
                for (one, two), score, (_, _, kind) in rows
            )

        return scored


# From shards to splits.


def _write_splits(folder: Path, scratch: Path, shards: Sequence[Shard]) -> Mapping[str, Any]:
    """Join the shards of each split; return the summary of the stage."""
    for split in SPLITS:
        parts = [scratch / shard.file for shard in shards if shard.split == split]
        write_text(folder / f"{split}.jsonl", "".join(p.read_text(encoding="utf-8") for p in parts))
    found = {split: read_pairs(folder, split) for split in SPLITS}
    sizes = {split: len(some) for split, some in found.items()}
    if not all(sizes.values()):
        shown = ", ".join(f"{split} {size}" for split, size in sizes.items())
        raise InputError(f"The corpus is too small to give each split a pair ({shown}).")
    train = found["train"]
    places = np.linspace(0, len(train) - 1, min(_SAMPLE, len(train))).astype(np.int64)
    sample = [train.pairs[place] for place in places.tolist()]
    report = {
        "pairs": sizes,
        "scores": {
            kind: _distribution(train.scores[np.array(train.kinds) == kind])
            for kind in sorted(set(train.kinds))
        },
    }
    report |= label_report(sample, train.scores[places])
    write_json(folder / REPORT, report)
    return report


def label_report(pairs: Sequence[TextPair], scores: Floats) -> dict[str, Any]:
    """Return what scores are worth as labels.

    A label that is only the sentences' length teaches a model to count words. One that is only
    tf-idf teaches what tf-idf gives without training.

    Args:
        pairs: n pairs, n >= 1.
        scores: Raw scores, (n,).

    Returns:
        `distinct`: share of different scores; `length`: multiple rank correlation with the lengths
        of both sentences; `tfidf`: rank correlation with tf-idf; `near_copies`: share of pairs that
        share most pairs of consecutive words; `warnings` in words. A correlation that is undefined
        is None.
    """
    sizes = np.array([sorted(len(words(text)) for text in pair) for pair in pairs], np.float64)
    lengths = np.column_stack((sizes[:, 0], sizes.sum(axis=1), np.ptp(sizes, axis=1)))
    vectors = word_vectors([text for pair in pairs for text in pair], "en")
    cosines = np.asarray(vectors[::2].multiply(vectors[1::2]).sum(axis=1)).ravel()
    report: dict[str, Any] = {
        "distinct": round(len(np.unique(scores)) / len(scores), 4),
        "length": _explained(scores, lengths),
        "tfidf": rank_correlation(scores, cosines),
        "near_copies": round(float(np.mean([_near_copy(*pair) for pair in pairs])), 4),
    }
    said = []
    if report["distinct"] < 0.01:
        said.append(f"Only {report['distinct']:.2%} of the scores differ: they teach little.")
    if report["length"] is not None and report["length"] >= 0.5:
        said.append(
            f"The scores follow the sentences' length (rank correlation {report['length']:.2f}). "
            "A student of such scores partly learns to count words."
        )
    if report["tfidf"] is not None and report["tfidf"] >= 0.98:
        said.append(f"The scores are those of tf-idf (rank correlation {report['tfidf']:.2f}).")
    if report["near_copies"] > 0.1:
        said.append(
            f"{report['near_copies']:.0%} of the pairs are near copies, which teach little. Remove "
            "duplicates from the documents (firth duplicates)."
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


def _near_copy(one: str, two: str) -> bool:
    first, second = (frozenset(pairwise(words(text))) for text in (one, two))
    return bool(first) and jaccard(first, second) >= _NEAR_COPY


def _distribution(scores: Floats) -> dict[str, Any]:
    quantiles = np.quantile(scores, (0.05, 0.5, 0.95)).round(6).tolist()
    return {"n": len(scores), "mean": round(float(scores.mean()), 6), "quantiles": quantiles}

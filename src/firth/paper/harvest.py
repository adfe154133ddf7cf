"""The harvest: pairs of corpus sentences that Origin scores, for the Surrogate (§3.4).

The work is cut into shards. Each shard has sentences that no other shard has, and belongs wholly to
`train`, `dev` or `test`. So no pair is scored twice, no sentence is in two splits, and the pairs of
a shard depend on its sentences and number alone.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from firth.corpus.corpus import Corpus
from firth.evaluation.metrics import Metric, measure
from firth.paper.origin import READS, Origin
from firth.paper.settings import HarvestSettings, PaperSettings
from firth.run.console import Progress, note
from firth.run.errors import InputError
from firth.run.executor import Executor, Local
from firth.run.files import write_text
from firth.run.run import Run
from firth.run.settings import derive_seed
from firth.run.stage import SCRATCH, Outcome, Stage
from firth.text.stems import tf_idf
from firth.text.types import Floats, Ints, TextPair
from firth.text.words import normal_form, stemmer_of, stems_of, words

HARVEST = Stage("paper/harvest", 5, "torch", "firth paper build --to harvest")
SPLITS = ("train", "dev", "test")
_HELD_OUT, _FEWEST = 0.01, 30
"""Share of the pairs in each of dev and test, and fewest pairs in all."""
_ENOUGH, _MOST_HELD_OUT = 200, 0.1
"""Pairs of dev that choose the best step of a Surrogate, and the largest share that is spared."""
_FEWEST_SENTENCES, _MOST_SENTENCES = 40, 20_000
"""Sentences of a held-out split, where the corpus has enough, and of a shard."""
_NEIGHBORS, _NEAR, _USES = 4, 0.5, 4
"""Nearest sentences that make pairs, share of such pairs, and pairs that a sentence is in."""
_COMMON, _RARE = 0.05, 20
"""Words in a larger share of a shard's sentences, and in more of them, make no two similar."""
_LENGTH = 0.5
"""Rank correlation with the length of a pair from which scores are suspicious."""
_ROWS, _BLOCK = 512, 1 << 14


@dataclass(frozen=True, eq=False)
class ScoredPairs:
    """The n pairs of a split, and their scores, (n,)."""

    pairs: list[TextPair]
    scores: Floats

    def some(self, rows: Ints) -> "ScoredPairs":
        """Return the pairs of some rows."""
        return ScoredPairs([self.pairs[row] for row in rows.tolist()], self.scores[rows])


@dataclass(frozen=True, eq=False)
class Shard:
    """A part of the work: how many pairs of which sentences. `number` decides the draws."""

    number: int
    split: str
    size: int
    sentences: Ints


def build_harvest(run: Run, executor: Executor | None = None) -> Outcome:
    """Let Origin score pairs of corpus sentences, as the settings `paper.harvest` say (§3.4).

    A line of `train.jsonl`, `dev.jsonl` and `test.jsonl` holds `sentence1`, `sentence2`, `score`
    (Eq. 4 in float64, because raw cosines are near 1) and `kind`. Of 20,000 pairs or more 98 % are
    in train; of fewer 80 % or more, so that dev and test have up to 200 each. A stopped build
    continues with the first missing shard, and an executor gives the same bytes.

    Raises:
        MissingStageError: A stage is not built.
        InputError: The corpus is too small.
    """
    settings = run.wing("paper", PaperSettings)
    chosen = settings.harvest
    inputs = {"corpus": Corpus.open(run).digest}
    inputs |= settings.inputs("window", "precision", "retrieve", "contexts", "fits", "harvest")

    def fill(seen: Run, workspace: Path) -> Mapping[str, Any]:
        shards = plan_shards(Corpus.open(seen), chosen, seen.settings.seed)
        files = [workspace / SCRATCH / f"shard-{shard.number:06}.jsonl" for shard in shards]
        work = _Scoring(seen)
        missing = [
            (shard, file) for shard, file in zip(shards, files, strict=True) if not file.is_file()
        ]
        bar = Progress(len(shards), "Scoring pairs")
        with bar:
            bar.advance(len(shards) - len(missing))
            scored = (executor or Local()).map(work, (shard for shard, _ in missing))
            for (_, file), lines in zip(missing, scored, strict=True):
                write_text(file, lines)
                bar.advance()
        for split in SPLITS:
            parts = [f for shard, f in zip(shards, files, strict=True) if shard.split == split]
            lines = "".join(file.read_text(encoding="utf-8") for file in parts)
            write_text(workspace / f"{split}.jsonl", lines)
        return _summary(workspace)

    return run.build(HARVEST, fill, reads=READS, settings=["seed"], inputs=inputs)


def read_pairs(folder: Path, split: str) -> ScoredPairs:
    """Return a split of the folder that `build_harvest` built."""
    with (folder / f"{split}.jsonl").open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    pairs = [(row["sentence1"], row["sentence2"]) for row in rows]
    scores = np.array([row["score"] for row in rows], np.float64)
    return ScoredPairs(pairs, scores)


@dataclass(frozen=True, eq=False)
class _Scoring:
    """The work of an executor: shards in, lines of JSON out."""

    run: Run

    def open(self) -> Callable[[Shard], str]:
        origin = Origin.open(self.run)
        corpus, seed = Corpus.open(self.run), self.run.settings.seed

        def score(shard: Shard) -> str:
            texts = corpus.texts(shard.sentences)
            rng = np.random.default_rng(derive_seed(seed, "pairs", shard.number))
            drawn = draw_pairs(word_vectors(texts, corpus.language), shard.size, rng)
            pairs = [(texts[a], texts[b]) for a, b, _ in drawn]
            rows = [
                {"sentence1": a, "sentence2": b, "score": score, "kind": kind}
                for (a, b), score, (_, _, kind) in zip(
                    pairs, origin.similarities(pairs).tolist(), drawn, strict=True
                )
            ]
            return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)

        return score


# --- Sentences ----------------------------------------------------------------------------------


def usable_sentences(corpus: Corpus) -> Ints:
    """Return the usual sentences with different normal forms, without those of evaluation sets."""
    sentences = corpus.usual_sentences()
    blocks = (sentences[at : at + _BLOCK] for at in range(0, len(sentences), _BLOCK))
    hashes = np.concatenate([sentence_hashes(corpus.texts(block)) for block in blocks])
    first = np.zeros(len(hashes), bool)
    first[np.unique(hashes, return_index=True)[1]] = True
    return sentences[first & ~np.isin(hashes, evaluation_hashes())]


@cache
def evaluation_hashes() -> npt.NDArray[np.uint64]:
    """Return the hashes of the sentences of public evaluation sets."""
    path = Path(__file__).with_name("data") / "evaluation_sentences.npy"
    hashes: npt.NDArray[np.uint64] = np.load(path, allow_pickle=False)
    return hashes


def sentence_hashes(texts: Iterable[str]) -> npt.NDArray[np.uint64]:
    """Return 64-bit BLAKE2b of each text's normal form, (n,)."""
    forms = (normal_form(text).encode("utf-8", "surrogatepass") for text in texts)
    digests = (hashlib.blake2b(form, digest_size=8).digest() for form in forms)
    return np.array([int.from_bytes(digest, "big") for digest in digests], dtype=np.uint64)


def rank_correlation(a: Floats, b: Floats) -> float | None:
    """Return Spearman's correlation, to six decimals; None where it is undefined."""
    value = measure(Metric.SPEARMAN, a, b, seed=0, resamples=0).value
    return None if value is None else round(value / 100, 6)


# --- Pairs that are scored ----------------------------------------------------------------------


def plan_shards(corpus: Corpus, settings: HarvestSettings, seed: int) -> list[Shard]:
    """Return the shards of the work: those of train, then dev, then test.

    A corpus that cannot give so many pairs gives fewer, and says so; too few are an `InputError`.
    """
    usable = usable_sentences(corpus)
    most = len(usable) * _USES // 4  # Half of what is possible, so that draws succeed.
    if (count := min(settings.pairs, most)) < _FEWEST:
        raise InputError(
            f"got {count} pairs (paper.harvest.pairs is {settings.pairs}, and {len(usable)} "
            f"different sentences of the corpus are enough for {most}); expected {_FEWEST} or more"
        )
    if count < settings.pairs:
        note(f"The corpus gives {count:,} of {settings.pairs:,} pairs.")
    order = np.random.default_rng(derive_seed(seed, "pairs")).permutation(usable)
    held_out = max(round(_HELD_OUT * count), min(_ENOUGH, round(_MOST_HELD_OUT * count)))
    # As many sentences for a pair as in train: among fewer, none have near neighbors.
    share = min(_MOST_HELD_OUT, max(held_out / count, _FEWEST_SENTENCES / len(order)))
    ends = [round(part * len(order)) for part in (0.0, 1 - 2 * share, 1 - share, 1.0)]
    shards: list[Shard] = []
    sizes = (count - 2 * held_out, held_out, held_out)
    for split, size, (low, high) in zip(SPLITS, sizes, pairwise(ends), strict=True):
        parts = -(-size // settings.shard_pairs)
        for part in range(parts):
            first, last = (low + (high - low) * p // parts for p in (part, part + 1))
            pairs = size * (part + 1) // parts - size * part // parts
            sentences = np.sort(order[first:last][:_MOST_SENTENCES])
            shards.append(Shard(len(shards), split, pairs, sentences))
    return shards


def draw_pairs(
    vectors: sparse.csr_matrix, size: int, rng: np.random.Generator
) -> list[tuple[int, int, str]]:
    """Return at most `size` pairs of rows of word vectors, each with `near` or `random`.

    No pair is there twice, and no row in more than four pairs.
    """
    n = vectors.shape[0]
    chosen: dict[tuple[int, int], str] = {}
    uses = np.zeros(n, np.int64)

    def add(a: int, b: int, kind: str, limit: int) -> None:
        key = (min(a, b), max(a, b))
        full = len(chosen) >= limit or max(uses[[a, b]]) >= _USES
        if a != b and key not in chosen and not full:
            chosen[key] = kind
            uses[[a, b]] += 1

    near = round(_NEAR * size)
    for rows in np.array_split(rng.permutation(n), -(-n // _ROWS)):
        if len(chosen) < near:
            cosines = (vectors[rows] @ vectors.T).tocsr()
            for a, (start, end) in zip(rows.tolist(), pairwise(cosines.indptr), strict=True):
                neighbors, values = cosines.indices[start:end], cosines.data[start:end]
                neighbors = neighbors[np.lexsort((neighbors, -values))]
                for b in neighbors[neighbors != a][:_NEIGHBORS].tolist():
                    add(a, b, "near", near)
    for _ in range(20):  # A draw may repeat a pair.
        drawn = rng.permutation(np.repeat(np.arange(n), _USES - uses)).tolist()
        for a, b in zip(drawn[::2], drawn[1::2], strict=False):
            add(a, b, "random", size)
    return [(a, b, kind) for (a, b), kind in chosen.items()]


def word_vectors(texts: Sequence[str], language: str) -> sparse.csr_matrix:
    """Return tf-idf vectors of texts over their stems, (n, stems), of length 1 or 0.

    Stems in one text, and in more than a twentieth of many texts, have no weight.
    """
    rows = [stems_of(text, stemmer_of(language)) for text in texts]
    numbers: dict[str, int] = {}
    columns = [numbers.setdefault(stem, len(numbers)) for row in rows for stem in row]
    bounds, shape = np.cumsum([0, *map(len, rows)]), (len(rows), len(numbers))
    counts = sparse.csr_matrix((np.ones(len(columns)), columns, bounds), shape)
    counts.sum_duplicates()
    frequency = counts.getnnz(axis=0)
    counted = (frequency > 1) & (frequency <= max(_RARE, _COMMON * len(rows)))
    idf = np.where(counted, np.log(len(rows) / np.maximum(frequency, 1)), 0.0)
    return tf_idf(counts, idf)


# --- What the scores are worth ------------------------------------------------------------------


def _summary(folder: Path) -> dict[str, Any]:
    """Return the pairs of each split, and how far scores follow the words of a pair."""
    splits = {split: read_pairs(folder, split) for split in SPLITS}
    sizes, train = {split: len(pairs.pairs) for split, pairs in splits.items()}, splits["train"]
    if not all(sizes.values()):
        raise InputError(f"the corpus is too small to give each split a pair: {sizes}")
    return {"pairs": sizes, "length": length_of_scores(train)}


def length_of_scores(scored: ScoredPairs) -> float | None:
    """Return the rank correlation of scores with the words of a pair; a large one is noted."""
    lengths = np.array([len(words(a)) + len(words(b)) for a, b in scored.pairs], np.float64)
    length = rank_correlation(scored.scores, lengths)
    if abs(length or 0.0) >= _LENGTH:
        note(
            f"The scores follow the length of the sentences (rank correlation {length:.2f}). A "
            "student of such scores partly learns to count words."
        )
    return length

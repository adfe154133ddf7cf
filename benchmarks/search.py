"""Speed of search and encoding, and how many of the nearest are found.

    python benchmarks/search.py RUN [--sentences N] [--queries 100] [--out FILE]

RUN needs an index. Its vectors are taken as they are; where `--sentences` is more than it has, more
are made of them (each the mean of two that were drawn, and some noise), so that a size can be tried
that no corpus here has. Queries are vectors of the set itself with noise, and are not in it.

Measured, by the processor's time (other work on the machine does not count) and by the clock: start
to first answer; a query, exactly and by codes, and recall of the ten nearest; whole hybrid queries;
encoding of 10,000 sentences beside sentence-transformers' own. `benchmarks/at_size.py` has other
libraries beside it.
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from firth.index.encoder import to_unit
from firth.index.index import Index
from firth.index.vectors import SHARD, Numbers, Stacked
from firth.run import progress
from firth.search.search import Search
from firth.surrogate import SURROGATE

K = 10
_NOISE = 0.02


def timed(call: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """What a call gives, and its seconds by the processor and by the clock."""
    wall, processor = time.perf_counter(), time.process_time()
    found = call()
    return found, {
        "processor": time.process_time() - processor,
        "clock": time.perf_counter() - wall,
    }


def recall(found: Numbers, true: Numbers) -> float:
    """Share of the true nearest that were found."""
    both = [len(np.intersect1d(one, two)) for one, two in zip(found, true, strict=True)]
    return float(np.mean(both) / true.shape[1])


def per(seconds: dict[str, float], count: int) -> dict[str, float]:
    """Milliseconds of one of `count`."""
    return {name: round(1_000 * value / count, 3) for name, value in seconds.items()}


def main() -> None:
    """Measure and print as JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--sentences", type=int)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    progress.set_quiet(True)
    rng = np.random.default_rng(13)

    def first() -> Search:
        search = Search.open(given.run)
        search.search("a ship came into the harbour")
        return search

    search, starting = timed(first)
    index = search.index
    result: dict[str, Any] = {"vectors": repr(index), "to the first answer, s": starting}
    chosen = rng.choice(len(index), given.queries, replace=False)
    texts = index.library.texts(chosen)
    _, asking = timed(lambda: [search.search(text) for text in texts])
    result["hybrid query, ms"] = per(asking, len(texts))

    if given.sentences and given.sentences > len(index):
        index = grown(index, given.sentences, rng)
        result["vectors tried"] = repr(index)
    noise = _NOISE * rng.standard_normal((given.queries, index.vectors.shape[1]))
    queries = to_unit((index.vectors[np.sort(chosen)] + noise).astype(np.float32))
    exact, asking = timed(lambda: index.nearest(queries, K, exact=True))
    result["exact, all queries at once, ms"] = per(asking, given.queries)
    coded, asking = timed(
        lambda: np.concatenate([index.nearest(q, K, exact=False).numbers for q in queries])
    )
    result["by codes, one by one"] = {
        "recall": recall(coded, exact.numbers),
        "ms": per(asking, given.queries),
    }
    sample = index.library.texts(np.arange(min(10_000, len(index.library))))
    _, own = timed(lambda: index.encode(sample))
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(given.run / SURROGATE.name), device="cpu")
    _, theirs = timed(lambda: model.encode(sample, batch_size=1024, show_progress_bar=False))
    result["encoding, ms a sentence"] = {
        "firth": per(own, len(sample)),
        "sentence-transformers": per(theirs, len(sample)),
    }
    text = json.dumps(result, indent=2)
    print(text)
    if given.out:
        given.out.write_text(text + "\n", encoding="utf-8")


def grown(index: Index, count: int, rng: np.random.Generator) -> Index:
    """The index with made-up vectors behind its own, in memory."""
    d = index.vectors.shape[1]
    stored = np.empty((count, d), np.float16)
    stored[: len(index)] = index.vectors[0 : len(index)]
    for start in range(len(index), count, SHARD):
        size = min(SHARD, count - start)
        pairs = np.sort(rng.integers(0, len(index), (2, size)), axis=1)
        made = index.vectors[pairs[0]].astype(np.float32) + index.vectors[pairs[1]]
        made += _NOISE * rng.standard_normal((size, d), np.float32)
        stored[start : start + size] = to_unit(made)
    turn = index.turn
    codes = np.concatenate(
        [turn.codes(stored[start : start + SHARD]) for start in range(0, count, SHARD)]
    )
    columns = np.ascontiguousarray(codes.T)
    return Index(index.library, Stacked([stored]), [columns], turn, index.words, index.model)


if __name__ == "__main__":
    main()

"""How often pairs are said to differ in what matters, by words and by plain rivals.

usage: python benchmarks/differences.py --data-dir GUARD [--encoder NAME]

GUARD has `dev.tsv`, `breaking_nli_dev.tsv`, `pawsx_dev/` and `cache_dev/`. Rows with an even number
of each file chose the rules, those with an odd number are measured; both were looked at.
FALSE-MERGE is the table of `firth falsemerge`; some of its pairs were known when rules were made.
"""

import argparse
import csv
import re
from collections import Counter, defaultdict
from collections.abc import Callable
from difflib import SequenceMatcher
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from figures import Cell, record
from firth.encoders.kinds import open_encoder
from firth.evaluation.bootstrap import Estimate
from firth.evaluation.false_merges import TABLE
from firth.run.settings import derive_seed
from firth.text.differences import differences
from firth.text.types import CosineScorer, Floats

SEED, RESAMPLES = 13, 2_000
COSINE, TAU = 0.9, 0.2
"""Cosine or ratio below which a rival says that a pair differs, and share of pairs of words in
another order from which one does."""
ENCODED = 120
"""Pairs of a set whose cosine is measured, at most."""
SOURCES = 4
"""Groups of `dev.tsv`, which come first, and whose pairs are timed, each read once."""
CACHED = 0.7
"""`least` behind a cosine: a cache asks about texts that are already near."""
Pair = tuple[str, str, str]
"""Two texts and their language."""


def main() -> None:
    """Measure, and write the figures `differences` and `cache`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--encoder", nargs="*", default=["all-MiniLM-L6-v2-int8"])
    options = parser.parse_args()
    encoders = [open_encoder(name) for name in options.encoder]
    groups = read(options.data_dir)
    scorer = CosineScorer(options.encoder[0], encoders[0].encode)
    rules: dict[str, Callable[[Pair], bool]] = {
        "with the encoder": lambda p: bool(differences(*p[:2], language=p[2], encoder=encoders[0])),
        "20 lines": lambda p: numbers_and_negations(*p[:2]),
        "Kendall's tau": lambda p: in_another_order(*p[:2]),
        f"difflib below {COSINE}": lambda p: SequenceMatcher(None, *p[:2]).ratio() < COSINE,
    }
    rows, flags, seconds = dict[str, list[Cell]](), dict[str, Floats](), dict[str, float]()
    differences("a", "b", language="en")
    for name, pairs in groups.items():
        began = process_time()
        flags[name] = np.array([bool(differences(*p[:2], language=p[2])) for p in pairs], float)
        seconds[name] = process_time() - began
    count, timed = sum(map(len, groups.values())), list(groups)[:SOURCES]
    speed = sum(len(groups[name]) for name in timed) / sum(seconds[name] for name in timed)
    for name, pairs in groups.items():
        half = [pair for n, pair in enumerate(pairs) if n % 2]
        cosines = scorer.similarities([(a, b) for a, b, _ in half[:ENCODED]])
        rivals = [share(np.array([rule(p) for p in half], float)) for rule in rules.values()]
        below = share((cosines < COSINE).astype(float))
        rows[name] = [share(flags[name][1::2]), *rivals, below]
    record(
        "differences",
        ["", "half that confirms", *rules, f"cosine below {COSINE}"],
        rows,
        command="python benchmarks/differences.py --data-dir GUARD",
        data=f"{count:,} pairs; {options.encoder[0]}; "
        f"{round(speed, -2):,.0f} pairs of dev.tsv a second of one core",
        seed=SEED,
    )
    record(
        "cache",
        ["", "cosine", "20 lines", "differences"],
        {
            name: cached(options.data_dir / "cache_dev", encoder.encode)
            for name, encoder in zip(options.encoder, encoders, strict=True)
        },
        command=f"python benchmarks/differences.py --encoder {' '.join(options.encoder)}",
        data="1,000 questions of Quora, half with a duplicate, half with a hard negative",
        seed=SEED,
    )


def read(folder: Path) -> dict[str, list[Pair]]:
    """Return pairs by their set, and by whether they differ."""
    files = [(folder / "dev.tsv", ""), (folder / "breaking_nli_dev.tsv", "Breaking NLI")]
    files += [(path, f"PAWS-X {path.stem}") for path in sorted(folder.glob("pawsx_dev/*.tsv"))]
    groups: dict[str, list[Pair]] = defaultdict(list)
    for path, name in [*files, (TABLE, "FALSE-MERGE")]:
        for row in table(path):
            source = name or row["source"]
            code = row.get("language") or (path.stem if name.startswith("PAWS") else "en")
            key = f"{source}: {'differ' if row['label'] == '1' else 'same'}"
            groups[key].append((row["sentence1"], row["sentence2"], code))
    return groups


def table(path: Path) -> list[dict[str, str]]:
    """Return the rows of a table without quoting."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def cached(folder: Path, encode: Callable[[Any], Any]) -> list[Cell]:
    """Return hits x 100 at 5 % wrong hits, by a cosine alone and with two filters."""
    texts = {row["id"]: row["text"] for row in table(folder / "cached.tsv")}
    queries = table(folder / "queries.tsv")
    pairs = [(row["text"], texts[row["pair_of"]]) for row in queries]
    right = np.array([row["has_duplicate"] == "1" for row in queries])
    cosines = CosineScorer("", encode).similarities(pairs)
    filters = [
        np.array([numbers_and_negations(*pair) for pair in pairs]),
        np.array([bool(differences(*pair, language="en", least=CACHED)) for pair in pairs]),
    ]
    scores = [cosines, *(np.where(differ, -1.0, cosines) for differ in filters)]
    return [hits(score, right) for score in scores]


def hits(scores: Floats, right: Any) -> Estimate:
    """Return the share of right pairs above the score that 5 % of the wrong ones pass, x 100."""
    cut = np.quantile(scores[~right], 0.95)
    return share((scores[right] > cut).astype(float))


def numbers_and_negations(a: str, b: str) -> bool:
    """Say that texts differ whose numbers or negations do: what programs write by hand."""
    sides = []
    for text in (a.lower(), b.lower()):
        words = re.findall(r"[\w']+", text)
        negated = sum(w in {"not", "no", "never", "without"} or w.endswith("n't") for w in words)
        sides.append((Counter(re.findall(r"\d+", text)), negated % 2))
    return sides[0] != sides[1]


def in_another_order(a: str, b: str) -> bool:
    """Say that texts differ where many pairs of shared longer words are in another order."""
    sides = [re.findall(r"\w{4,}", text.lower()) for text in (a, b)]
    places = [sides[1].index(w) for w in dict.fromkeys(sides[0]) if w in sides[1]]
    pairs = [(x, y) for n, x in enumerate(places) for y in places[n + 1 :]]
    return bool(pairs) and sum(x > y for x, y in pairs) / len(pairs) > TAU


def share(flagged: Floats) -> Estimate:
    """Return the share of pairs that are flagged x 100, with a bootstrap interval."""
    rng = np.random.default_rng(derive_seed(SEED, "differences"))
    drawn = flagged[rng.integers(0, len(flagged), (RESAMPLES, len(flagged)))].mean(axis=1)
    low, high = np.quantile(drawn, (0.025, 0.975))
    return Estimate(100 * flagged.mean(), 100 * low, 100 * high, len(flagged))


if __name__ == "__main__":
    main()

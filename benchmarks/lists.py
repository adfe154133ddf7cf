"""Two lists: precision and recall of `firth.match` and of simple rivals; time and memory.

usage: python benchmarks/lists.py --data-dir DIR --work DIR [--cost CORPUS]

`--data-dir` has `lists/TASK/{left,right,truth}.tsv`. Every second task, sorted by name, chose the
rules; the others only confirm. Half of the counterparts, or all, are taken out of the right list;
or 30 texts of the left one are drawn. Results stay in `--work`. `--cost` names a corpus of which
200,000 short sentences are drawn, whose halves are matched.
"""

import argparse
import gzip
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from rapidfuzz import fuzz, process, utils
from sklearn.feature_extraction.text import TfidfVectorizer

import firth
from figures import Cell, record
from firth.evaluation.bootstrap import Sample, bootstrap_seed, estimate, mean_of_rows
from firth.run.console import set_quiet
from firth.run.settings import TEXT_ALONE
from firth.text.sentences import split_paragraphs
from firth.text.types import Singles
from speed import cost

SEED, DRAWN, FUZZ, COSINE, MORE = 13, 30, 90, 0.8, 0.02
MATCHED, LEAST_WORDS, MOST_WORDS = 100_000, 5, 15
"""Texts on each side of a match whose cost is measured, and the words of each."""
Pairs = set[tuple[int, int]]
COMMAND = "python benchmarks/lists.py --data-dir DATA --work WORK"


def read(folder: Path) -> tuple[list[str], list[str], Pairs]:
    """Return the texts of both lists, and which belong together."""
    rows = [
        [line.split("\t") for line in file.read_text(encoding="utf-8").split("\n")[1:] if line]
        for file in (folder / f"{name}.tsv" for name in ("left", "right", "truth"))
    ]
    left, right = ({row[0]: at for at, row in enumerate(side)} for side in rows[:2])
    truth = {(left[a], right[b]) for a, b in rows[2]}
    return [row[1] for row in rows[0]], [row[1] for row in rows[1]], truth


def cosines(left: Sequence[str], right: Sequence[str]) -> Singles:
    """Return the cosines of tf-idf over characters 3 to 5, (left, right)."""
    reader = TfidfVectorizer(analyzer="char", ngram_range=(3, 5), dtype=np.float32)
    reader.fit([*left, *right])
    products: Singles = (reader.transform(left) @ reader.transform(right).T).toarray()
    return products


def mutual(left: Sequence[str], right: Sequence[str]) -> Pairs:
    """Return the pairs of which each is the best of the other."""
    scores = cosines(left, right)
    best, back = scores.argmax(axis=1), scores.argmax(axis=0)
    return {(i, int(j)) for i, j in enumerate(best) if back[j] == i and scores[i, j] > 0}


def as_precise(left: Sequence[str], right: Sequence[str], truth: Pairs, precision: float) -> Pairs:
    """Return the nearest mutual pairs, as many as have a precision: the truth chooses the cut."""
    scores = cosines(left, right)
    pairs = sorted(mutual(left, right), key=lambda pair: -scores[pair])
    shares = np.cumsum([pair in truth for pair in pairs]) / np.arange(1, len(pairs) + 1)
    good = np.flatnonzero(shares >= precision)
    return set(pairs[: good[-1] + 1]) if len(good) else set()


def fixed(left: Sequence[str], right: Sequence[str]) -> Pairs:
    """Return the best of each left text from a fixed cosine on."""
    scores = cosines(left, right)
    best = scores.argmax(axis=1)
    return {(i, int(j)) for i, j in enumerate(best) if scores[i, j] >= COSINE}


def fuzzy(left: Sequence[str], right: Sequence[str]) -> Pairs:
    """Return the best of each left text by rapidfuzz's token sort from 90 on."""
    words = [[utils.default_process(text) for text in side] for side in (left, right)]
    scores = process.cdist(*words, scorer=fuzz.token_sort_ratio, score_cutoff=FUZZ, dtype=np.uint8)
    return {(i, int(j)) for i, j in enumerate(scores.argmax(axis=1)) if scores[i, j] >= FUZZ}


def ours(precision: float) -> Callable[[Sequence[str], Sequence[str]], Pairs]:
    """Return `firth.match` without an encoder, at a precision."""

    def match(left: Sequence[str], right: Sequence[str]) -> Pairs:
        matches = firth.match(left, right, precision=precision, encoder=TEXT_ALONE)
        return {(item.left, item.right) for item in matches.found if item.right is not None}

    return match


ASKED, OURS, AS_PRECISE = 0.9, "firth, 0.9", "mutual best, as precise as firth"
VARIED = (OURS, AS_PRECISE, "mutual best of characters")
METHODS: dict[str, Callable[[Sequence[str], Sequence[str]], Pairs] | None] = {
    OURS: ours(ASKED),
    "firth, 0.95": ours(0.95),
    AS_PRECISE: None,
    "mutual best of characters": mutual,
    "cosine of 0.8": fixed,
    "token sort of 90": fuzzy,
}


def variants(folder: Path) -> dict[str, tuple[list[str], list[str], Pairs]]:
    """Return the lists as they are, without half or all counterparts, and with a short left one."""
    left, right, truth = read(folder)
    rng = np.random.default_rng([SEED, *folder.name.encode()])

    def without(lost: Sequence[int]) -> tuple[list[str], list[str], Pairs]:
        gone = {j for i, j in truth if i in set(lost)}
        places = {j: at for at, j in enumerate(j for j in range(len(right)) if j not in gone)}
        pairs = {(i, places[j]) for i, j in truth if j in places}
        return left, [right[j] for j in places], pairs

    rows = rng.permutation(len(left)).tolist()
    places = {i: at for at, i in enumerate(rows[:DRAWN])}
    short = {(places[i], j) for i, j in truth if i in places}
    return {
        "": (left, right, truth),
        "half": without(rows[: len(rows) // 2]),
        "none": without(rows),
        "short": ([left[i] for i in places], right, short),
    }


def measured(folder: Path, stored: Path) -> dict[str, list[float]]:
    """Return precision, recall, the share of texts matched, and the recall less that of `OURS`, of
    each method and variant."""
    results = json.loads(stored.read_text()) if stored.is_file() else {}
    for variant, (left, right, truth) in variants(folder).items():
        for name, method in METHODS.items():
            key = f"{name}, {variant}" if variant else name
            if key in results or (variant and name not in VARIED) or not (method or truth):
                continue
            of_ours = key.replace(name, OURS)
            if method:
                found = method(left, right)
            else:
                precision = results[of_ours][0] if results[of_ours][2] else ASKED
                found = as_precise(left, right, truth, precision)
            true, asked = len(found & truth), len({i for i, _ in truth})
            precision, recall = true / max(len(found), 1), true / max(asked, 1)
            results[key] = [precision if found else 1.0, recall, len(found) / len(left)]
            results[key].append(recall - results[of_ours][1])
            stored.write_text(json.dumps(results))
    return results


def report(results: dict[str, dict[str, list[float]]]) -> None:
    """Record means over the lists that confirm, and those of firth over the others."""
    names = sorted(results)
    rows: dict[str, list[Cell]] = {}
    for kind, tasks in {"chose": names[::2], "confirm": names[1::2]}.items():
        for key in results[names[0]] if kind == "confirm" else (OURS,):
            values = np.array([results[task][key] for task in tasks])
            seed = bootstrap_seed(SEED, "lists", kind)
            cells = [
                estimate(Sample(mean_of_rows(column), len(column), seed)) for column in values.T[:3]
            ]
            is_so = values[:, 0] < 0.8, values[:, 2] == 0, values[:, 3] > MORE
            rows[f"{key}, {kind}"] = [*cells, *(f"{share.mean():.0%}" for share in is_so)]
    heads = ["method, lists", "precision", "recall", "matched", "below 0.8", "silent", "more"]
    data = f"{len(names)} pairs of lists; intervals over lists; short: {DRAWN} left texts"
    record("lists", heads, rows, command=COMMAND, data=data, seed=SEED)


def match_cost(corpus: Path) -> tuple[float, float]:
    """Return the processor time (s) and peak memory (MiB) of a match of distinct sentences."""
    texts: dict[str, None] = {}
    with gzip.open(corpus, "rt", encoding="utf-8") as lines:
        for line in lines:
            for paragraph in split_paragraphs(json.loads(line)["text"], "en"):
                usual = (s for s in paragraph if LEAST_WORDS <= len(s.split()) <= MOST_WORDS)
                texts.update(dict.fromkeys(usual))
            if len(texts) >= 2 * MATCHED:
                break
    order = np.random.default_rng(SEED).permutation(len(texts))[: 2 * MATCHED]
    drawn = np.array([*texts], object)[order]
    with TemporaryDirectory() as folder:
        files = [Path(folder) / name for name in ("left.txt", "right.txt", "matches.csv")]
        for file, side in zip(files, np.split(drawn, 2), strict=False):
            file.write_text("\n".join(side) + "\n", encoding="utf-8")
        options = ("--encoder", TEXT_ALONE, "--out", str(files[2]))
        return cost("-m", "firth", "match", str(files[0]), str(files[1]), *options)


def main() -> None:
    """Measure what is not measured yet, and record the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--cost", type=Path)
    given = parser.parse_args()
    set_quiet(True)
    if given.cost:
        seconds, peak = match_cost(given.cost)
        rows = {f"match, {MATCHED:,} and {MATCHED:,} sentences": [round(seconds), round(peak)]}
        heads = ["command", "processor time, s", "peak memory, MiB"]
        data = f"{given.cost.name}: distinct sentences of {LEAST_WORDS} to {MOST_WORDS} words"
        record("match-cost", heads, rows, command=f"{COMMAND} --cost CORPUS", data=data)
        return
    given.work.mkdir(parents=True, exist_ok=True)
    folders = sorted(folder for folder in (given.data_dir / "lists").iterdir() if folder.is_dir())
    report(
        {folder.name: measured(folder, given.work / f"{folder.name}.json") for folder in folders}
    )


if __name__ == "__main__":
    main()

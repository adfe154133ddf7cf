"""One list whose records have copies: precision and recall of `firth.match` and of rivals.

usage: python benchmarks/records.py --data-dir DIR

*Citations* are made of titles of DBLP: 150 entities with 2 to 40 noisy copies each, and 600 records
without a copy. *Copies* are made so of the right lists, without authors and venues. *Concatenated*
is a left list and a right one. *No copies* is a right list. Every second list chose the rules, and
so did seeds 1 to 3; the others, and new seeds, confirm. Titles of citations are those of the list
that chose. Pairs are counted, those of equal texts included.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from semhash import SemHash

import firth
from figures import Cell, record
from firth.encoders.kinds import open_encoder
from firth.evaluation.bootstrap import Sample, bootstrap_seed, estimate, mean_of_rows
from firth.run.console import set_quiet
from firth.run.settings import TEXT_ALONE
from firth.text.types import Ints
from lists import COSINE, Pairs, cosines, read

SEED, SEEDS = 13, (21, 22, 23)
PRECISE = "cosine, as precise as firth"
CUTS = (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
ENTITIES, SINGLES, MOST, LONGEST = 150, 600, 40, 2_000
VENUES = ("Machine Learning", "Neural Computation", "VLDB Journal", "SIGMOD Conference",
          "Information and Computation", "Technical Report", "Journal of the ACM")  # fmt: skip
HEADS = ["lists, method", "precision of pairs", "recall", "F1", "false, said and true", "matched"]


def misspelled(word: str, rng: np.random.Generator) -> str:
    """Return a word without a letter, with one more, or with two exchanged."""
    at, letter = int(rng.integers(len(word) - 1)), chr(97 + int(rng.integers(26)))
    forms = word[at + 1 :], word[at + 1] + word[at] + word[at + 2 :], letter + word[at:]
    return word[:at] + forms[int(rng.integers(3))]


def copied(fields: Sequence[str], rng: np.random.Generator) -> str:
    """Return a record with words left out, misspelled or cut, and fields in another order."""
    copies = []
    for field in fields:
        if len(fields) > 1 and field != fields[0] and rng.random() < 0.15:
            continue
        words = []
        for word in field.split():
            chance = rng.random()
            if chance < 0.07:
                continue
            if chance < 0.15 and len(word) > 2:
                word = misspelled(word, rng)
            elif chance < 0.22 and len(word) > 4:
                word = f"{word[: int(rng.integers(1, 5))]}."
            words.append(word)
        copies.append(" ".join(words))
    if rng.random() < 0.2:
        rng.shuffle(copies)
    return ", ".join(copies)


def made(base: Sequence[str], names: Sequence[str], seed: int) -> tuple[list[str], Ints]:
    """Return records and the entity of each; with names of people they are citations."""
    rng = np.random.default_rng(seed)
    texts, owners = list[str](), list[int]()
    for entity, at in enumerate(rng.permutation(len(base))[: ENTITIES + SINGLES].tolist()):
        fields = [base[at]]
        if names:
            people = [names[n] for n in rng.integers(len(names), size=int(rng.integers(1, 4)))]
            year = str(rng.integers(1985, 2000))
            fields += [" and ".join(people), VENUES[int(rng.integers(len(VENUES)))], year]
        size = min(MOST, 2 + int(3 * rng.pareto(1.0))) if entity < ENTITIES else 1
        texts += [", ".join(fields), *(copied(fields, rng) for _ in range(size - 1))]
        owners += [entity] * size
    return texts, np.array(owners)


def joined(left: list[str], right: list[str], truth: Pairs) -> tuple[list[str], Ints]:
    """Return both lists as one, and the group of each text."""
    pairs = [(i, len(left) + j) for i, j in truth]
    return [*left, *right], components(len(left) + len(right), pairs)


def components(size: int, pairs: Sequence[Sequence[int]]) -> Ints:
    """Return the group of each of `size` texts that pairs connect."""
    ends = np.array(pairs, np.int64).reshape(-1, 2).T
    graph = coo_matrix((np.ones(ends.shape[1]), (ends[0], ends[1])), (size, size))
    groups: Ints = connected_components(graph, directed=False)[1].astype(np.int64)
    return groups


def scores(groups: Ints, owners: Ints, said: float) -> list[float]:
    """Return precision, recall and F1 of pairs, the false share of texts, said and true, and the
    share that is matched."""
    labels = np.where(groups < 0, -1 - np.arange(len(groups)), groups)

    def others(*sides: Ints) -> Ints:
        rows = np.stack(sides, axis=1)
        _, of, sizes = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
        return sizes[of.ravel()] - 1

    right, found, wanted = others(labels, owners), others(labels), others(owners)
    precision, recall = (right.sum() / max(side.sum(), 1) for side in (found, wanted))
    rows = found > 0
    wrong = 1 - (right[rows] / found[rows]).mean() if rows.any() else 0.0
    both = 2 * precision * recall / max(precision + recall, 1e-9)
    return [precision if rows.any() else 1.0, recall, both, said, wrong, rows.mean()]


def measured(texts: list[str], owners: Ints, encoder: Any) -> dict[str, list[float]]:
    """Return the scores of `firth.match`, of all pairs from a fixed cosine on, or from the one of
    `CUTS` that the truth chooses, and of semhash."""
    matches = firth.match(texts, encoder=TEXT_ALONE)
    groups = np.array([-1 if item.group is None else item.group for item in matches])
    cosine = np.triu(cosines(texts, texts), 1)

    def near(cut: float) -> list[float]:
        return scores(components(len(texts), np.argwhere(cosine >= cut).tolist()), owners, np.nan)

    ours = scores(groups, owners, matches.false_share or 0.0)
    precise = [row for row in map(near, CUTS) if row[0] >= ours[0]]
    at = {text: number for number, text in enumerate(texts)}
    equal = [(number, at[text]) for number, text in enumerate(texts)]
    removed = SemHash.from_records(texts, model=encoder).self_deduplicate().filtered
    of = [(at[str(each.record)], at[str(each.duplicate_of)]) for each in removed]
    return {
        "firth": ours,
        "cosine of 0.8": near(COSINE),
        PRECISE: max(precise or [near(2.0)], key=lambda row: row[1]),
        "semhash": scores(components(len(texts), [*equal, *of]), owners, np.nan),
    }


def main() -> None:
    """Measure, and record the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path, required=True)
    set_quiet(True)
    folders = sorted((parser.parse_args().data_dir / "lists").iterdir())
    lists = {folder.name: read(folder) for folder in folders if folder.is_dir()}
    confirm = {name: lists[name] for name in sorted(lists)[1::2] if name != "dblp-acm-half"}
    people, titles = lists["dbpedia-Noble"][0], sorted({*lists["dblp-acm"][1]})
    kinds: dict[str, list[tuple[list[str], Ints]]] = {
        "citations": [made(titles, people, seed) for seed in SEEDS],
        "copies": [made(sorted({*sides[1]}), (), SEEDS[0]) for sides in confirm.values()],
        "concatenated": [joined(*sides) for sides in confirm.values()],
        "no copies": [
            ((texts := sorted({*sides[1]})[:LONGEST]), np.arange(len(texts)))
            for sides in confirm.values()
        ],
    }
    rows: dict[str, list[Cell]] = {}
    encoder = open_encoder("all-MiniLM-L6-v2")
    for kind, sets in kinds.items():
        results = [measured(*each, encoder) for each in sets if len(each[0]) <= 4 * LONGEST]
        for method in [name for name in results[0] if (kind, name) != ("no copies", PRECISE)]:
            values = np.array([result[method] for result in results])
            cells: list[Cell] = [None, None, None]
            if kind != "no copies":
                seed = bootstrap_seed(SEED, "records", kind)
                both = estimate(Sample(mean_of_rows(values[:, 2]), len(values), seed))
                cells = [*(round(100 * mean, 1) for mean in values[:, :2].mean(axis=0)), both]
            said, wrong, matched = (f"{mean:.1%}" for mean in values.T[3:].mean(axis=1))
            false = wrong if method != "firth" else f"{said}, {wrong}"
            rows[f"{kind}, {method}"] = [*cells, false, matched]
    record(
        "records",
        HEADS,
        rows,
        command="python benchmarks/records.py --data-dir DATA",
        data="lists that confirm, and three made of DBLP's titles; intervals over lists",
        seed=SEED,
    )


if __name__ == "__main__":
    main()

"""Explanations: does the word that is said to matter most cost the most where it is deleted?

usage: python benchmarks/explanations.py RUN --data-dir DIR

Pairs of STSb dev that are rated 3 or higher are explained by the scorer of the run. Each word of
the first sentence is deleted in turn (leave-one-out), and the score is compared.
"""

import argparse
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

from figures import record
from firth.corpus.corpus import Corpus
from firth.evaluation.bootstrap import Sample, bootstrap_seed, estimate, mean_of_rows
from firth.scorer.scorer import Scorer
from firth.text.words import spans

PAIRS, LEAST, FEWEST, SEED = 200, 3.0, 4, 13


def main() -> None:
    """Measure, and record the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run")
    parser.add_argument("--data-dir", type=Path, required=True)
    given = parser.parse_args()
    lines = (given.data_dir / "STSb" / "pairs.tsv").read_text(encoding="utf-8").split("\n")[1:-1]
    cells = [line.split("\t") for line in lines]
    kept = [(row[0], row[1]) for row in cells if row[4] == "dev" and float(row[2]) >= LEAST]
    chosen = np.random.default_rng(SEED).choice(len(kept), PAIRS, replace=False)
    pairs = [kept[number] for number in chosen.tolist()]
    scorer = Scorer.open(given.run)
    rows = []
    for (one, two), explanation in zip(pairs, scorer.explanations(pairs), strict=True):
        said = {word.text.lower(): word.contribution or 0.0 for word in explanation.words1}
        places = [(i, j) for i, j in spans(one) if one[i:j].lower() in said]
        if len(places) < FEWEST:
            continue
        shorter = [(one[:i] + one[j:], two) for i, j in places]
        lost = explanation.score - scorer.similarities(shorter)
        contributions = np.array([said[one[i:j].lower()] for i, j in places])
        first = lost[contributions.argmax()]
        both = contributions.std() and lost.std()
        rank = spearmanr(contributions, lost).statistic if both else 0.0
        rows.append([first, lost.max(), lost.mean(), first == lost.max(), rank])
    table = np.array(rows, float)
    seed = bootstrap_seed(SEED, "explanations")
    names = (
        "score lost by the word with the largest contribution",
        "by the best word of all (leave-one-out)",
        "by a word, mean",
        "pairs in which both are the same word, %",
        "rank correlation of contributions and losses",
    )
    words = int(Corpus.open(given.run).word_counts.sum())
    record(
        "explanations",
        ["times 100", "mean"],
        {
            name: [estimate(Sample(mean_of_rows(column), len(column), seed))]
            for name, column in zip(names, table.T, strict=True)
        },
        command="python benchmarks/explanations.py RUN --data-dir DATA",
        data=f"STSb dev, {len(table)} pairs rated {LEAST:g} or higher; a run of {words:,} words",
        seed=SEED,
    )


if __name__ == "__main__":
    main()

"""Accuracy: rank correlation with human ratings of similarity, on eight sets.

usage: python benchmarks/accuracy.py --data-dir DIR --run RUN [--encoder-run RUN]

`--data-dir` has the sets that `firth evaluate` reads. `--run` is a run that learned from text,
`--encoder-run` one of the same text with all-MiniLM-L6-v2. Without it, only the table of sets
is recorded.
"""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from figures import Cell, record
from firth.encoders.kinds import open_encoder
from firth.evaluation.bootstrap import estimate
from firth.evaluation.evaluate import Evaluation, evaluate
from firth.model import open_scorer
from firth.text.types import CosineScorer, Floats, PairScorer, TextPair

ENCODER, SCORER_OVER = "all-MiniLM-L6-v2", "scorer over all-MiniLM-L6-v2"
SCORER, STATIC, NGRAMS, TFIDF = "scorer", "encoder", "n-grams of stems", "tf-idf of stems"
HEADINGS = {
    "sts12:test": "STS12",
    "sts13:test": "STS13",
    "sts14:test": "STS14",
    "sts-b:test": "STSb test",
    "sts-b:dev": "STSb dev",
    "sick-r:trial": "SICK trial",
    "str-2021:all": "STR-2021",
    "afs:all": "AFS",
}
FIRST, SEVEN = list(HEADINGS)[:5], [name for name in HEADINGS if name != "sts-b:dev"]
SUM = "cosine + ½ n-grams"
"""A rival of one line: the cosine of the encoder, plus half that of n-grams of stems."""
PAIRED = ((SCORER, NGRAMS), (STATIC, NGRAMS), (SCORER_OVER, ENCODER), (SCORER_OVER, SUM))
ALONE = "pairs alone"
SHORT = "encoder cut"
PARTS = {"encoder: the last 256 of 512 dimensions": (STATIC, SHORT)}
"""What a part adds: the whole, and the whole without it."""


class Alone:
    """Similarities of a scorer that is told nothing of the set: each pair by itself."""

    def __init__(self, similarities: Callable[[Sequence[TextPair]], Floats]) -> None:
        self.name, self.similarities = ALONE, similarities


class Sum:
    """The similarity of a scorer, and half that of another one."""

    name = SUM

    def __init__(self, one: PairScorer, half: PairScorer) -> None:
        self._one, self._half = one, half

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        """Return sums, (n,)."""
        sums: Floats = self._one.similarities(pairs) + self._half.similarities(pairs) / 2
        return sums


def main() -> None:
    """Measure, and record the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--run", required=True)
    parser.add_argument("--encoder-run")
    given = parser.parse_args()
    if given.encoder_run is None:
        of_sets(given.data_dir, given.run)
        return
    systems = {
        SCORER: given.run,
        STATIC: f"{given.run}/static",
        NGRAMS: f"baseline:ngrams@{given.run}",
        TFIDF: f"baseline:tfidf@{given.run}",
        "Dice": "baseline:dice",
        ENCODER: ENCODER,
        SCORER_OVER: given.encoder_run,
    }
    scorers = {name: open_scorer(opened) for name, opened in systems.items()}
    scorers[SUM] = Sum(scorers[ENCODER], scorers[NGRAMS])
    encode = open_encoder(f"{given.run}/static").encode
    scorers[SHORT] = CosineScorer(SHORT, lambda texts: encode(texts)[:, :256])
    done = evaluate(scorers, list(HEADINGS), given.data_dir)
    sizes = {one.data.id: len(one.data.rows) for one in done.sets}
    data = ", ".join(f"{HEADINGS[name]} {n:,} pairs" for name, n in sizes.items())
    command = "python benchmarks/accuracy.py --data-dir DATA --run RUN --encoder-run MINILM"
    for table, sets in (("accuracy", FIRST), ("accuracy-more", list(HEADINGS)[5:])):
        rows: dict[str, list[Cell]] = {
            name: [done.find(name, one) for one in sets] for name in (*systems, SUM)
        }
        for one, other in PAIRED:
            rows[f"{one} - {other}"] = [difference(done, (one, other), [name]) for name in sets]
        headings = ["", *(HEADINGS[name] for name in sets)]
        record(table, headings, rows, command=command, data=data)
    gains: dict[str, list[Cell]] = {
        f"{one} - {other}": [difference(done, (one, other), SEVEN)] for one, other in PAIRED
    }
    gains |= {name: [difference(done, pair, SEVEN)] for name, pair in PARTS.items()}
    record("accuracy-gains", ["", "mean of seven sets"], gains, command=command, data=data)


def of_sets(data_dir: Path, run: str) -> None:
    """Record what scoring a set as a whole adds to scoring each of its pairs alone."""
    scorer = open_scorer(run)
    done = evaluate({SCORER: scorer, ALONE: Alone(scorer.similarities)}, list(HEADINGS), data_dir)
    titles = {**{h: [n] for n, h in HEADINGS.items()}, "mean of seven": SEVEN}
    rows = {title: [difference(done, (SCORER, ALONE), sets)] for title, sets in titles.items()}
    command = "python benchmarks/accuracy.py --data-dir DATA --run RUN"
    data = ", ".join(f"{HEADINGS[o.data.id]} {len(o.data.rows):,} pairs" for o in done.sets)
    record("accuracy-set", ["", f"{SCORER} - {ALONE}"], rows, command=command, data=data)


def difference(done: Evaluation, models: tuple[str, ...] | list[str], sets: list[str]) -> Cell:
    """Return the mean over sets of one model, or of one minus another."""
    chosen = [one for one in done.sets if one.data.id in sets]
    return estimate([one.sample(models, one.data.metrics[0], done.seed) for one in chosen])


if __name__ == "__main__":
    main()

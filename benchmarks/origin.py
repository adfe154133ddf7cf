"""What each term of Eq. 3 is worth on human ratings, raw and as PMI, by both measures.

    firth corpus build INPUT... --run RUN
    firth train coherence --run RUN
    firth train generator --run RUN
    python benchmarks/origin.py RUN DATA_DIR [--task sts-b:dev] [--pairs 250] [--seed 13]

RUN needs what the printed method reads, which a default run lacks: the coherence model and a
generator, built by the commands above (`--model NAME` for a pretrained one instead). Chooses
contexts as the run is configured, for a fixed random sample of pairs, and prints Spearman's
correlation × 100 with its bootstrap interval for each choice of terms (weight 1 each), next to Dice
and tf-idf (idf of the run's corpus) on the same pairs.
"""

import argparse

import numpy as np
import numpy.typing as npt

from firth.baselines.registry import open_baseline
from firth.evaluate.load import load_set
from firth.evaluate.metrics import Metric, estimate
from firth.evaluate.task import find_task
from firth.paper.context_fit import Terms
from firth.paper.origin import PaperOrigin
from firth.paper.settings import Measure, Weights
from firth.paper.similarity import compare

CHOICES = {
    "all four": (1, 1, 1, 1),
    "the three likelihoods": (0, 1, 1, 1),
    "sentence alone": (0, 1, 0, 0),
    "left alone": (0, 0, 1, 0),
    "right alone": (0, 0, 0, 1),
    "coherence alone": (1, 0, 0, 0),
}
Floats = npt.NDArray[np.float64]
Sides = list[tuple[Terms, Terms]]


def weights(choice: tuple[float, float, float, float]) -> Weights:
    """λ1 … λ4 in the order of Eq. 3."""
    coherence, sentence, left, right = choice
    return Weights(coherence=coherence, sentence=sentence, left=left, right=right)


def both_forms(run: str, pairs: list[tuple[str, str]]) -> dict[bool, Sides]:
    """PMI? → the terms of both sentences of each pair over the contexts the run chooses."""
    chooser = PaperOrigin.open(run)
    every = weights((1, 1, 1, 1)).model_dump()
    scorers = {
        pmi: PaperOrigin.open(run, weights=every, pmi=pmi).context_fit for pmi in (False, True)
    }
    found: dict[bool, Sides] = {False: [], True: []}
    for (a, b), profile in zip(pairs, chooser.profiles(pairs), strict=True):
        positions = profile.positions.tolist()
        for pmi, scorer in scorers.items():
            terms = scorer.terms([(text, place) for text in (a, b) for place in positions])
            found[pmi].append((terms[: len(positions)], terms[len(positions) :]))
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        epilog="RUN needs a coherence model and a generator: firth train coherence --run RUN; "
        "firth train generator --run RUN (or with --model NAME)",
    )
    parser.add_argument("run")
    parser.add_argument("data_dir")
    parser.add_argument("--task", default="sts-b:dev")
    parser.add_argument("--pairs", type=int, default=250)
    parser.add_argument("--seed", type=int, default=13)
    options = parser.parse_args()
    task, split = find_task(options.task)
    data = load_set(task, options.data_dir, split)
    rng = np.random.default_rng(options.seed)
    chosen = rng.choice(len(data.rows), min(options.pairs, len(data.rows)), replace=False)
    pairs = [data.pairs[i] for i in chosen.tolist()]
    gold = np.array([data.rows[i].score for i in chosen.tolist()], dtype=np.float64)

    def show(name: str, scores: Floats) -> None:
        found = estimate(Metric.SPEARMAN, gold, scores, seed=options.seed)
        print(f"{name:<48} {found}", flush=True)

    print(f"{options.task}, {len(pairs)} pairs, seed {options.seed}")
    show("Dice", open_baseline("baseline:dice").similarities(pairs))
    show("tf-idf", open_baseline(f"baseline:tfidf@{options.run}").similarities(pairs))
    for pmi, sides in both_forms(options.run, pairs).items():
        for name, choice in CHOICES.items():
            for measure in Measure:
                scores = [
                    compare(one.fit(weights(choice)), two.fit(weights(choice)), measure)
                    for one, two in sides
                ]
                form = "PMI" if pmi else "raw"
                show(f"{name}, {form}, {measure}", np.array(scores))


if __name__ == "__main__":
    main()

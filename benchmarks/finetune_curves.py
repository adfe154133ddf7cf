"""Is a Surrogate a better start for fine-tuning? Learning curves on the STS benchmark.

    python benchmarks/finetune_curves.py RUN DATA_DIR [--labels 100 1000 0] [--seeds 13 14 15]
        [--objective l2] [--epochs 4] [--batch 16] [--rates 5e-4 2e-3] [--first]
        [--work FOLDER]

Three starts of one encoder, a mean of word vectors with the vocabulary of RUN's static Surrogate:
the Surrogate; the same words with vectors by skip-gram, learned on the same corpus (by `firth train
baseline skip-gram --run RUN`; a word it lacks has a random vector of the same length); and random
vectors. Each learns from 100, 1,000 and all (0) labels of STSb train at two rates; dev chooses the
rate and the weights, test measures once. With --first all seeds have the rate that dev chooses for
the first of them, which spares half of the other trainings. Printed: mean over seeds of the test's
Spearman x 100 with its 95 % interval (rows are resampled) and the spread of seeds; and how far the
Surrogate is ahead (paired; mean over seeds). What was trained is kept in the folder, and found
there again.
"""

import argparse
from pathlib import Path
from statistics import mean, stdev

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import StaticEmbedding

from firth.evaluate.load import load_set
from firth.evaluate.metrics import Columns, Difference, Metric, Part, mean_estimate
from firth.evaluate.models import EncoderScorer
from firth.evaluate.rows import EvaluationSet
from firth.evaluate.task import find_task
from firth.finetune.finetune import finetune
from firth.lexical.word_vectors import WordBag
from firth.lexical.words import stems
from firth.run.errors import InputError
from firth.run.pretrained import open_encoder

SURROGATE, SKIP_GRAM, RANDOM = "Surrogate", "skip-gram", "random"


def plain_start(surrogate: Path, vectors: Path | None, folder: Path, seed: int = 13) -> Path:
    """The Surrogate's encoder with other vectors: a bag's where it has the word, else random."""
    if (folder / "modules.json").is_file():
        return folder
    model = open_encoder(str(surrogate))
    module = model[0]
    if not isinstance(module, StaticEmbedding):
        raise InputError(f"{surrogate}: expected a static Surrogate, of word vectors")
    vocabulary = module.tokenizer.get_vocab()
    rng = np.random.default_rng(seed)
    bag = None if vectors is None else WordBag.load(vectors)
    width = module.embedding_dim if bag is None else bag.vectors.shape[1]
    table = rng.standard_normal((len(vocabulary), width)).astype(np.float32) / np.float32(
        np.sqrt(width)
    )
    if bag is not None:
        rows = {word: row for row, word in enumerate(bag.vocabulary)}
        words = list(vocabulary)
        known = [
            (vocabulary[word], rows[stem])
            for word, stem in zip(words, stems(words, bag.stemmer), strict=True)
            if stem in rows
        ]
        there, theirs = (list(numbers) for numbers in zip(*known, strict=True))
        found = bag.vectors[theirs]
        table[there] = found / np.linalg.norm(found, axis=1).mean()
        print(f"skip-gram: {len(known):,} of {len(vocabulary):,} rows have a learned vector")
    table[0] = 0.0
    start = StaticEmbedding(module.tokenizer, torch.from_numpy(table))
    SentenceTransformer(modules=[start], device="cpu").save(str(folder), create_model_card=False)
    return folder


def columns_of(model: Path, data: EvaluationSet) -> Columns:
    """Gold scores and a model's cosines of a set."""
    opened = open_encoder(str(model))
    return data.columns(EncoderScorer(opened, "").similarities(data.pairs))


def ahead(first: list[Columns], second: list[Columns], resamples: int) -> Difference:
    """How far the first models' mean is ahead of the second's, on the same resamples of rows."""
    rng = np.random.default_rng(13)
    n = len(first[0][0])
    drawn = []
    for place in range(resamples + 1):
        rows = np.arange(n) if place == 0 else rng.integers(0, n, n)
        sides = [
            mean(_spearman((x[rows], y[rows])) for x, y in models) for models in (first, second)
        ]
        drawn.append(sides[0] - sides[1])
    low, high = np.quantile(drawn[1:], [0.025, 0.975])
    return Difference(drawn[0], float(low), float(high), n)


def main() -> None:
    """Make the starts, train, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("data_dir", type=Path)
    parser.add_argument("--labels", type=int, nargs="+", default=[100, 1_000, 0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[13, 14, 15])
    parser.add_argument("--objective", default="l2")
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--batch", type=int)
    parser.add_argument("--rates", type=float, nargs="+", default=[5e-4, 2e-3])
    parser.add_argument("--first", action="store_true")
    parser.add_argument("--resamples", type=int, default=1_000)
    parser.add_argument("--work", type=Path, default=Path("finetune-curves"))
    given = parser.parse_args()
    surrogate, work = given.run / "surrogate", given.work
    work.mkdir(parents=True, exist_ok=True)
    starts = {SURROGATE: surrogate}
    if (vectors := given.run / "baselines" / "skip-gram").is_dir():
        starts[SKIP_GRAM] = plain_start(surrogate, vectors, work / "start-skip-gram")
    else:
        print(f"no {vectors}: firth train baseline skip-gram --run {given.run}")
    starts[RANDOM] = plain_start(surrogate, None, work / "start-random")
    test = load_set(find_task("sts-b")[0], given.data_dir, "test")
    print(f"\n{'labels':>6}  {'start':<10} {'before':>6}  after, mean of seeds; Surrogate ahead by")
    for labels in given.labels:
        answers: dict[str, list[Columns]] = {}
        for name, start in starts.items():
            answers[name], rates = [], given.rates
            for seed in given.seeds:
                tried = []
                for rate in rates:
                    out = work / f"{name}-{labels or 'all'}-{seed}-{rate:g}"
                    found = finetune("sts", start, out, data_dir=given.data_dir,
                                     limit=labels or None, seeds=[seed], objective=given.objective,
                                     epochs=given.epochs, batch=given.batch, learning_rate=rate,
                                     resamples=10)  # fmt: skip
                    tried.append((found.report["seeds"][0]["dev"], rate, out))
                _, rate, best = max(tried)
                answers[name].append(columns_of(best, test))
                rates = [rate] if given.first else rates
            before = _spearman(columns_of(start, test))
            after = mean_estimate(Metric.SPEARMAN, [Part(answers[name], 13)], given.resamples)
            each = [_spearman(one) for one in answers[name]]
            spread = f", seeds ± {stdev(each):.1f}" if len(each) > 1 else ""
            lead = "" if name == SURROGATE else "; " + _shown(
                ahead(answers[SURROGATE], answers[name], given.resamples)
            )  # fmt: skip
            print(f"{labels or 'all':>6}  {name:<10} {before:>6.1f}  {after}{spread}{lead}",
                  flush=True)  # fmt: skip


def _spearman(columns: Columns) -> float:
    return mean_estimate(Metric.SPEARMAN, [Part([columns], 0)], 0).value or 0.0


def _shown(one: Difference) -> str:
    return f"{one.value:+.1f} [{one.low:+.1f}, {one.high:+.1f}]"


if __name__ == "__main__":
    main()

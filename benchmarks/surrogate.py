"""How good the Surrogate's static start is, and how fast it is learned, before any distillation.

    python benchmarks/surrogate.py DATA_DIR INPUT [--epochs 1] [--moves 0.5] [--seed 13]

Builds corpus and tokenizer of INPUT in a temporary run and prints Spearman's correlation × 100 on
STSb dev and STS12: of random vectors weighted by inverse document frequency, and of what is learned
from them. Then the seconds a training step takes in firth's loop, and as a ratio to it those in
sentence-transformers' own trainer on pairs, batch and loss of the same kind; in turns, in one run.
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from datasets import Dataset
from sentence_transformers import (
    SentenceTransformer,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
)
from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
from sentence_transformers.sentence_transformer.modules import StaticEmbedding
from transformers import PrinterCallback

from firth.coherence.tokens import tokenize_corpus
from firth.config import Config
from firth.corpus.build import build_corpus
from firth.corpus.corpus import Corpus
from firth.corpus.tokenizer import build_tokenizer, open_tokenizer
from firth.evaluate.load import load_set
from firth.evaluate.models import EncoderScorer
from firth.evaluate.task import find_task
from firth.progress import set_quiet
from firth.run import Run
from firth.silence import silence
from firth.surrogate import static
from firth.surrogate.figures import rank_correlation
from firth.training import Schedule, train

TASKS = ("sts-b:dev", "sts12")


def correlations(model: SentenceTransformer, data_dir: str) -> str:
    """Spearman × 100 over all pairs of each task."""
    shown = []
    for name in TASKS:
        task, split = find_task(name)
        data = load_set(task, data_dir, split)
        found = EncoderScorer(model, name).similarities(data.pairs)
        rho = rank_correlation(found, np.array([row.score for row in data.rows]))
        shown.append(f"{name} {100 * (rho or 0):.2f} (n = {len(data.rows)})")
    return ", ".join(shown)


def firth_seconds(run: Run, scratch: Path, steps: int, firsts: npt.NDArray[np.int64]) -> float:
    """Seconds a step in firth's loop: flat tokens, no text is read again."""
    corpus, tokenizer = Corpus.open(run), open_tokenizer(run)
    tokens = tokenize_corpus(corpus.batches(), tokenizer, static.MAX_TOKENS, scratch)
    neighbours = static.Neighbours(tokens, firsts, static.BATCH, seed=1)
    model = fresh_model(run)
    loss = MultipleNegativesRankingLoss(model, scale=static.SCALE)
    schedule = Schedule(steps, static.LEARNING_RATE, 1, steps, 1)
    start = time.perf_counter()
    train(
        model,
        neighbours,
        lambda pair: loss(pair, torch.empty(0)),
        schedule,
        scratch / "timed",
        "",
    )
    return (time.perf_counter() - start) / steps


def trainer_seconds(run: Run, scratch: Path, steps: int, firsts: npt.NDArray[np.int64]) -> float:
    """Seconds a step in SentenceTransformerTrainer, which tokenizes each batch."""
    corpus = Corpus.open(run)
    chosen = firsts[: steps * static.BATCH]
    pairs = Dataset.from_dict({"a": corpus.texts(chosen), "b": corpus.texts(chosen + 1)})
    model = fresh_model(run)
    arguments = SentenceTransformerTrainingArguments(
        output_dir=str(scratch / "trainer"),
        max_steps=steps,
        per_device_train_batch_size=static.BATCH,
        learning_rate=static.LEARNING_RATE,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        dataloader_pin_memory=False,
    )
    loss = MultipleNegativesRankingLoss(model, scale=static.SCALE)
    trainer = SentenceTransformerTrainer(
        model=model, args=arguments, train_dataset=pairs, loss=loss
    )
    trainer.remove_callback(PrinterCallback)
    start = time.perf_counter()
    trainer.train()
    return (time.perf_counter() - start) / steps


def fresh_model(run: Run) -> SentenceTransformer:
    """The start before it has learned anything."""
    torch.manual_seed(1)
    module = StaticEmbedding(open_tokenizer(run), embedding_dim=run.config.surrogate.dimensions)
    return SentenceTransformer(modules=[module], device="cpu", local_files_only=True)


def main() -> None:
    """Build, learn, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data_dir")
    parser.add_argument("inputs", nargs="+")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument(
        "--moves",
        type=float,
        nargs="+",
        default=[static.STEP],
        help="how far a word moves, as shares of its vector's length",
    )
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--steps", type=int, default=10, help="timed steps of each loop")
    given = parser.parse_args()
    set_quiet(True)
    with tempfile.TemporaryDirectory() as folder:
        settings = {"seed": given.seed, "corpus": {"inputs": given.inputs}}
        run = Run.create(Path(folder) / "run", Config.parse(settings, "benchmark"))
        build_corpus(run)
        build_tokenizer(run)
        corpus = Corpus.open(run)
        print(f"{int(corpus.word_counts.sum(dtype=np.int64)):,} words, {len(corpus):,} sentences")
        for epochs, move in ((0, 0.0), *((given.epochs, move) for move in given.moves)):
            changed = run.changed({"surrogate": {"start_epochs": epochs}})
            static.STEP = move
            start = time.perf_counter()
            with silence():
                model, _ = static.static_start(changed, Path(folder) / f"start{epochs}-{move}")
            seconds = time.perf_counter() - start
            found = correlations(model, given.data_dir)
            print(f"start_epochs {epochs}, moved by {move}: {found}; {seconds:.0f} s", flush=True)
        firsts = static.neighbour_pairs(corpus, run.config.corpus)
        steps = min(given.steps, len(firsts) // static.BATCH)
        ours, theirs = [], []
        with silence():
            for turn in range(3):
                scratch = Path(folder) / f"turn{turn}"
                scratch.mkdir()
                ours.append(firth_seconds(run, scratch, steps, firsts))
                theirs.append(trainer_seconds(run, scratch, steps, firsts))
        one, two = statistics.median(ours), statistics.median(theirs)
        print(f"a step of {static.BATCH} pairs: firth {one:.3f} s, trainer {two:.3f} s,", end=" ")
        print(f"ratio {two / one:.2f}; {len(firsts):,} neighbouring pairs")


if __name__ == "__main__":
    main()

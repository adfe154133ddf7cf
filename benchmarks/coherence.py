"""The coherence model: accuracy by setting, and speed against PyTorch's packed BiLSTM.

    python benchmarks/coherence.py RUN --train hidden=128,embedding=128,steps=400 ...
    python benchmarks/coherence.py RUN --speed [--threads 2]

RUN is a run with a corpus and a tokenizer; `--speed` needs its coherence model too. Each setting
is trained in a temporary folder. Processor time is given beside elapsed time: on a machine that
does other things only the former means much.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence

from firth.corpus.corpus import Corpus
from firth.corpus.tokenizer import open_tokenizer
from firth.paper.coherence import COHERENCE, build
from firth.paper.coherence.coherence import Coherence
from firth.paper.coherence.model import load_model
from firth.paper.coherence.reading import encode, tokenize
from firth.run.run import Run


def seconds(work: Callable[[], object], repeats: int = 3) -> float:
    """Least elapsed time of `repeats` calls, after one that does not count."""
    work()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def train(given: Run, settings: str) -> None:
    """Train one setting and print a row."""
    changes = dict(part.split("=") for part in settings.split(",") if part)
    spent: dict[str, tuple[float, float]] = {}

    def timed(name: str) -> None:
        function = getattr(build, name)

        def measured(*arguments: object, **named: object) -> object:
            start, used = time.perf_counter(), time.process_time()
            result = function(*arguments, **named)
            spent[name] = (time.perf_counter() - start, time.process_time() - used)
            return result

        setattr(build, name, measured)

    originals = {name: getattr(build, name) for name in ("train", "encode_corpus")}
    for name in originals:
        timed(name)
    try:
        with tempfile.TemporaryDirectory() as folder:
            config = given.config.changed({"coherence": changes}, "--train")
            run = Run.create(Path(folder) / "run", config)
            for stage in ("corpus", "tokenizer"):
                (run.path / stage).symlink_to((given.path / stage).resolve())
            got = build.train_coherence(run).manifest.summary
    finally:
        for name, function in originals.items():
            setattr(build, name, function)
    times = "".join(f"{x:8.0f}" for name in originals for x in spent[name])
    figures = "".join(
        f"{got[name]:9.3f}"
        for name in ("accuracy", "accuracy_random", "accuracy_same_document", "held_out_loss")
    )
    print(f"{settings:64}{times}{figures}", flush=True)


def speed(run: Run) -> None:
    """Print how fast sentences are encoded and contexts ranked."""
    corpus, coherence = Corpus.open(run), Coherence.open(run)
    model, settings = load_model(run.folder(COHERENCE))
    rng = np.random.default_rng(13)
    sentences = corpus.texts(rng.choice(len(corpus), 512))
    tokens = tokenize(sentences, open_tokenizer(run), settings.max_tokens)
    every = np.arange(len(tokens))
    padded, lengths = tokens.padded(every)
    peer = nn.LSTM(settings.embedding, settings.hidden, batch_first=True, bidirectional=True)

    def packed() -> torch.Tensor:
        embedded = model.encoder.pieces(padded)
        sequence = pack_padded_sequence(embedded, lengths, batch_first=True, enforce_sorted=False)
        last: torch.Tensor = peer(sequence)[1][0]
        return last

    def ours() -> torch.Tensor:
        return encode(model.encoder, tokens, every)

    def learning(read: Callable[[], torch.Tensor], bfloat16: bool) -> Callable[[], None]:
        def step() -> None:
            with torch.autocast("cpu", torch.bfloat16, enabled=bfloat16):
                vectors = read()
            vectors.float().pow(3).sum().backward()  # type: ignore[no-untyped-call]

        return step

    print(f"hidden {settings.hidden}, 512 sentences, {torch.get_num_threads()} threads")
    print(f"{'':32}{'firth, ms':>12}{'packed, ms':>12}{'peer / firth':>14}")
    with torch.inference_mode():
        rows = [("encode, float32", seconds(ours), seconds(packed))]
    once = seconds(learning(packed, False), 1)
    rows.append(("forward + backward, float32", seconds(learning(ours, False)), once))
    rows.append(("forward + backward, bfloat16", seconds(learning(ours, True)), once))
    for name, one, two in rows:
        print(f"{name:32}{1000 * one:12.1f}{1000 * two:12.1f}{two / one:14.1f}")

    positions = np.sort(rng.permutation(corpus.positions())[:20_000])
    print(f"\nranking against {len(positions):,} positions{'ms a sentence':>24}")
    for count in (1, 8, 64):
        vectors = coherence.encode(sentences[:count])
        took = seconds(partial(coherence.rank_scores, vectors, positions)) / count
        print(f"{count:4} sentences at once{1000 * took:27.2f}")
    pairs = np.stack([np.zeros(len(positions), np.int64), np.arange(len(positions))], 1)
    took = seconds(lambda: coherence.log_probabilities_at(sentences[:1], positions, pairs))
    print(f"pair by pair, from the cache{1000 * took:19.2f}")
    some = positions[:500]
    contexts = corpus.contexts(some)
    took = seconds(lambda: coherence.log_probabilities(sentences[:1], contexts, pairs[:500]), 1)
    print(f"reading every context anew{1000 * took * len(positions) / 500:21.0f}  (500, scaled)")


def main() -> None:
    """Train settings, or measure speed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run")
    parser.add_argument("--train", nargs="+", default=[], metavar="NAME=VALUE,...")
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    run = Run.open(arguments.run)
    if arguments.train:
        heads = ("train s", "cpu s", "cache s", "cpu s")
        names = ("accuracy", "random", "same doc", "loss")
        print(f"{'':64}{''.join(f'{x:>8}' for x in heads)}{''.join(f'{x:>9}' for x in names)}")
    for settings in arguments.train:
        train(run, settings)
    if arguments.speed:
        speed(run)


if __name__ == "__main__":
    main()

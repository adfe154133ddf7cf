"""How many sentences a second a static Surrogate encodes, by which code, at which batch size.

Usage: python benchmarks/static_speed.py SURROGATE RUN [--sentences 20000] [--rounds 5]

SURROGATE is the folder of a static one, RUN any run with a corpus. Ways take turns, round by round,
so that whatever else the machine does falls on all of them; shown are medians of wall-clock time,
and the ratio to the first way, taken round by round.

- library: `SentenceTransformer.encode` on the folder;
- plain: the same with a word-level tokenizer and a random table (what the library itself costs);
- table: tokenizer and table without the library (as model2vec does);
- firth: `firth.surrogate.fast`.
"""

import argparse
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import StaticEmbedding
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from firth.corpus.corpus import Corpus
from firth.run.pretrained import open_encoder
from firth.run.screen import say
from firth.surrogate.fast import StaticEncoder

BATCHES = (32, 1024)


def plain(model: Any) -> SentenceTransformer:
    """A static model of as many words and dimensions, whose tokenizer does as little as can be."""
    table = model[0].embedding.weight.detach()
    tokenizer = Tokenizer(models.WordLevel(model[0].tokenizer.get_vocab(), unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return SentenceTransformer(modules=[StaticEmbedding(tokenizer, table.clone())], device="cpu")


def table(model: Any, texts: list[str], batch: int) -> None:
    """Means of rows, batch by batch, with nothing around them."""
    weight, tokenizer = model[0].embedding.weight.detach().numpy(), model[0].tokenizer
    for start in range(0, len(texts), batch):
        some = texts[start : start + batch]
        for found in tokenizer.encode_batch_fast(some, add_special_tokens=False):
            weight[found.ids].mean(axis=0) if found.ids else weight[0]


def encode(model: SentenceTransformer, texts: list[str], batch: int) -> None:
    """The library's own loop."""
    model.encode(texts, batch_size=batch, show_progress_bar=False)


def batched(fast: StaticEncoder, texts: list[str], batch: int) -> None:
    """Asked in batches, as if they came so."""
    for start in range(0, len(texts), batch):
        fast.encode(texts[start : start + batch])


def main() -> None:
    """Take turns, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("surrogate", type=Path)
    parser.add_argument("run", type=Path)
    parser.add_argument("--sentences", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    corpus = Corpus.open(asked.run)
    rng = np.random.default_rng(13)
    texts = corpus.texts(rng.integers(0, len(corpus), asked.sentences))
    model, fast = open_encoder(str(asked.surrogate)), StaticEncoder.open(asked.surrogate)
    bare = plain(model)
    for batch in BATCHES:
        ways: dict[str, Callable[[], object]] = {
            "library": partial(encode, model, texts, batch),
            "plain": partial(encode, bare, texts, batch),
            "table": partial(table, model, texts, batch),
            "firth": partial(batched, fast, texts, batch),
        }
        for run in ways.values():
            run()
        taken: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(asked.rounds):
            for name, run in ways.items():
                start = time.perf_counter()
                run()
                taken[name].append(time.perf_counter() - start)
        for name, seconds in taken.items():
            ratio = np.median(np.array(taken["library"]) / np.array(seconds))
            rate = len(texts) / np.median(seconds)
            say(f"batch {batch:5}  {name:8} {rate:10,.0f} sentences/s  {ratio:5.2f} times library")


if __name__ == "__main__":
    main()

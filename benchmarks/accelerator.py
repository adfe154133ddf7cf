"""Origin as printed, with the likelihoods of a large language model computed on another machine.

    python benchmarks/accelerator.py prepare RUN DATA_DIR JOB [--sets sts-b:dev sts-b:test]
    python benchmarks/accelerator.py score JOB MODEL [--gguf-file FILE]
    python benchmarks/accelerator.py report RUN JOB

`prepare` needs a run with corpus, index and coherence model, and no accelerator: it screens and
ranks the contexts of every sentence and writes all texts into the folder JOB, which is all that
`score` needs. `score` computes the three likelihoods of both sentences of each pair over both
shortlists, on the accelerator if there is one; stopped anywhere, it continues with the first block
of pairs that is missing, and `--part 1/2` and `--part 2/2` share the blocks of a folder between two
processes. `report` adds the coherence term, cuts context sets of several sizes from the shortlists
(§3.3, Eqs. 3, 4) and prints Spearman × 100 on the pairs that are scored, beside tf-idf and Dice.

`score` imports torch, transformers, pyarrow and nothing of firth that reads a run.
"""

import argparse
import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from firth.corpus.context import Context
from firth.run.files import write_atomically, write_json

if TYPE_CHECKING:
    from firth.paper.pair_fits import PairFits

PAIRS, CONTEXTS, SETTINGS, FITS = "pairs.parquet", "contexts.parquet", "job.json", "fits"
TERMS = ("sentence", "left", "right")
SIDES = (("sentence1", "positions1"), ("sentence2", "positions2"), ("sentence1", "positions2"),
         ("sentence2", "positions1"))  # fmt: skip
"""Whose fits over whose shortlist, in the order in which a block keeps them."""

Row = dict[str, Any]


def write(path: Path, rows: Sequence[Row]) -> None:
    """Rows as Parquet, in one piece."""
    with write_atomically(path) as partial:
        pq.write_table(pa.Table.from_pylist(list(rows)), partial, compression="zstd")


def prepare(given: argparse.Namespace) -> None:
    """Choose pairs and shortlists; write every text that scoring needs."""
    from firth.corpus.corpus import Corpus
    from firth.evaluate.load import load_set
    from firth.evaluate.task import find_task
    from firth.paper.candidates import Candidates
    from firth.paper.coherence.coherence import Coherence
    from firth.paper.retrieve.index import ChunkIndex
    from firth.paper.settings import PaperConfig
    from firth.run.run import Run

    if (given.job / FITS).exists():
        raise SystemExit(f"{given.job}: has likelihoods of an earlier job; name another folder")
    run = Run.open(given.run)
    seed, corpus = run.config.seed, Corpus.open(run)
    config = PaperConfig(contexts=given.shortlist, shortlist=given.shortlist)
    candidates = Candidates(
        corpus, ChunkIndex.open(run), Coherence.open(run), config, run.config.retrieve.chunks, seed
    )
    rows: list[Row] = []
    for name in given.sets:
        task, split = find_task(name)
        data = load_set(task, given.data_dir, split)
        data = data.sampled(given.pairs, seed)
        texts = sorted({text for pair in data.pairs for text in pair})
        print(f"{name}: {len(data.pairs)} pairs, {len(texts)} sentences", flush=True)
        found = {
            text: positions
            for start in range(0, len(texts), 64)
            for text, positions in zip(
                texts[start : start + 64],
                candidates.shortlists(texts[start : start + 64]),
                strict=True,
            )
        }
        for row, (one, two) in zip(data.rows, data.pairs, strict=True):
            rows.append(
                {"set": name, "sentence1": one, "sentence2": two, "gold": row.score,
                 "positions1": found[one], "positions2": found[two]}
            )  # fmt: skip
    positions = np.unique(
        np.concatenate([row[key] for row in rows for key in ("positions1", "positions2")])
    )
    contexts = corpus.contexts(positions)
    given.job.mkdir(parents=True, exist_ok=True)
    write(
        given.job / CONTEXTS,
        [{"position": position, "left": c.left, "right": c.right}
         for position, c in zip(positions.tolist(), contexts, strict=True)],
    )  # fmt: skip
    write(given.job / PAIRS, rows)
    settings = {"seed": seed, "shortlist": given.shortlist, "max_tokens": given.max_tokens,
                "block": given.block}  # fmt: skip
    write_json(given.job / SETTINGS, settings)
    print(f"{len(rows)} pairs, {len(positions)} contexts in {given.job}")


def blocks(job: Path, size: int) -> Iterator[tuple[Path, list[Row]]]:
    """The pairs of a job, `size` at a time, each block with the file of its likelihoods."""
    rows = pq.read_table(job / PAIRS).to_pylist()
    for start in range(0, len(rows), size):
        yield job / FITS / f"{start:06}.parquet", rows[start : start + size]


def score(given: argparse.Namespace) -> None:
    """Compute the likelihoods of every block that has none."""
    import torch

    from firth.paper.generation.causal_lm import CausalLM
    from firth.run.pretrained import open_causal_lm

    torch.set_num_threads(given.threads)
    where = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    dtype = torch.float32 if given.float32 else torch.bfloat16
    settings = json.loads((given.job / SETTINGS).read_text())
    model, tokenizer = open_causal_lm(given.model, given.gguf_file, dtype, where)
    read_at_once = given.batch_tokens or (65_536 if where.type == "cuda" else 2_048)
    generator = CausalLM(
        model, tokenizer, max_tokens=settings["max_tokens"], batch_tokens=read_at_once
    )
    columns = pq.read_table(given.job / CONTEXTS).to_pydict()
    known = {
        position: Context(tuple(left), tuple(right))
        for position, left, right in zip(
            columns["position"], columns["left"], columns["right"], strict=True
        )
    }
    (given.job / FITS).mkdir(exist_ok=True)
    part, parts = map(int, given.part.split("/"))
    done, start = 0, perf_counter()
    for number, (path, rows) in enumerate(blocks(given.job, settings["block"])):
        if path.is_file() or number % parts != part - 1:
            continue
        found = likelihoods(generator, rows, known)
        write(path, found)
        done += sum(len(one["right"]) for one in found)
        print(f"{path.stem}: {done / (perf_counter() - start):.1f} fits a second", flush=True)


def likelihoods(generator: Any, rows: Sequence[Row], known: dict[int, Context]) -> list[Row]:
    """For each pair its three terms over `SIDES`, one after the other; nothing is read twice."""
    asked = [
        [(row[text], position) for text, positions in SIDES for position in row[positions]]
        for row in rows
    ]
    wanted = sorted(set(itertools.chain.from_iterable(asked)))
    texts = sorted({text for text, _ in wanted})
    positions = sorted({position for _, position in wanted})
    row_of = {text: i for i, text in enumerate(texts)}
    column_of = {position: i for i, position in enumerate(positions)}
    pairs = np.array([(row_of[text], column_of[position]) for text, position in wanted], np.int64)
    found = generator.likelihoods(texts, [known[position] for position in positions], pairs)
    place = {key: i for i, key in enumerate(wanted)}
    at = [np.array([place[key] for key in keys]) for keys in asked]
    return [{term: getattr(found, term)[index] for term in TERMS} for index in at]


@dataclass(frozen=True, eq=False)
class Scored:
    """The pairs of one set whose likelihoods are there, in the order of the job.

    Attributes:
        pairs: Their texts.
        gold: Human scores, shape (n,).
        fits: The four terms of Eq. 3 of each pair.
    """

    pairs: list[tuple[str, str]]
    gold: npt.NDArray[np.float64]
    fits: "list[PairFits]"


def read_scored(job: Path, coherence: Any) -> dict[str, Scored]:
    """Set → what of it is scored, with the coherence term."""
    rows = pq.read_table(job / PAIRS).to_pylist()
    found: dict[str, list[tuple[Row, PairFits]]] = {}
    for path in sorted((job / FITS).glob("*.parquet")):
        first = int(path.stem)
        for row, terms in zip(rows[first:], pq.read_table(path).to_pylist(), strict=False):
            found.setdefault(row["set"], []).append((row, pair_fits(row, terms, coherence)))
    return {
        name: Scored(
            [(row["sentence1"], row["sentence2"]) for row, _ in several],
            np.array([row["gold"] for row, _ in several]),
            [fits for _, fits in several],
        )
        for name, several in found.items()
    }


def pair_fits(row: Row, terms: Row, coherence: Any) -> "PairFits":
    """The terms of one pair over both shortlists, the coherence term computed here."""
    from firth.paper.context_fit import Terms
    from firth.paper.pair_fits import PairFits

    texts = [row["sentence1"], row["sentence2"]]
    positions = [np.array(row[key], np.int64) for key in ("positions1", "positions2")]
    places = [(row[text], row[of]) for text, of in SIDES]
    every, column = np.unique(np.concatenate([of for _, of in places]), return_inverse=True)
    who = np.repeat([texts.index(text) for text, _ in places], [len(of) for _, of in places])
    asked = np.column_stack((who, column)).astype(np.int64)
    whole = Terms(
        coherence.log_probabilities_at(texts, every, asked),
        *(np.array(terms[term], np.float32) for term in TERMS),
    )
    ends = np.cumsum([0, *(len(of) for _, of in places)]).tolist()
    sides = [whole[slice(start, end)] for start, end in itertools.pairwise(ends)]
    return PairFits(*texts, *positions, *sides)


def report(given: argparse.Namespace) -> None:
    """Print what the likelihoods make of human scores."""
    from firth.baselines.dice import Dice
    from firth.corpus.corpus import Corpus
    from firth.corpus.statistics import fit_idf_on_run
    from firth.evaluate.metrics import Metric, estimate
    from firth.lexical.tfidf import TfIdf
    from firth.paper.coherence.coherence import Coherence
    from firth.paper.context_set import Choice
    from firth.paper.settings import Measure, Selection
    from firth.reproduce.context_fits import (
        ContextFits,
        alone,
        deviations,
        differing,
        differing_note,
    )
    from firth.reproduce.options import all_ones
    from firth.run.run import Run

    run = Run.open(given.run)
    corpus, tfidf = Corpus.open(run), TfIdf(fit_idf_on_run(run))
    settings = json.loads((given.job / SETTINGS).read_text())
    for name, scored in read_scored(given.job, Coherence.open(run)).items():

        def show(what: str, values: Any, gold: npt.NDArray[np.float64] = scored.gold) -> None:
            found = estimate(Metric.SPEARMAN, gold, np.asarray(values), seed=settings["seed"])
            print(f"  {what:<48} {found}")

        fits = ContextFits(corpus, Selection.TWO_STEP, settings["shortlist"], scored.fits, "")
        print(f"{name}, {len(scored.pairs)} pairs, Spearman x 100")
        show("tf-idf", tfidf.similarities(scored.pairs))
        show("Dice", Dice().similarities(scored.pairs))
        for diverse, size in itertools.product((True, False), given.sizes):
            kept = fits.kept(Choice(size, all_ones(), diverse))
            mean = np.mean([len(one) for pair in kept for one in pair])
            how = "diverse" if diverse else "not diverse"
            for measure in Measure:
                values = fits.similarities(kept, size, all_ones(), measure)
                show(f"{size} contexts ({mean:.1f}), {how}, {measure.value}", values)
        size = max(given.sizes)
        for term in ("coherence", *TERMS):
            kept = fits.kept(Choice(size, alone(term)))
            show(
                f"{size} contexts, {term} alone, cosine", fits.similarities(kept, size, alone(term))
            )
        print(f"  {deviations(fits)}")
        print(f"  {differing_note(differing(fits, all_ones()))}")


def main() -> None:
    """One of the three steps."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    steps = parser.add_subparsers(required=True)
    one = steps.add_parser("prepare")
    one.add_argument("run")
    one.add_argument("data_dir")
    one.add_argument("job", type=Path)
    one.add_argument("--sets", nargs="+", default=["sts-b:dev", "sts-b:test"])
    one.add_argument("--pairs", type=int, help="so many random pairs of each set; default: all")
    one.add_argument("--shortlist", type=int, default=500, help="contexts of a sentence")
    one.add_argument("--max-tokens", type=int, default=48, help="of each part of a text")
    one.add_argument("--block", type=int, default=4, help="pairs that are scored and kept together")
    one.set_defaults(step=prepare)
    one = steps.add_parser("score")
    one.add_argument("job", type=Path)
    one.add_argument("model", help="folder or hub name of a causal language model")
    one.add_argument("--gguf-file")
    one.add_argument("--part", default="1/1", help="N/M: the Nth of M processes")
    one.add_argument("--threads", type=int, default=1)
    one.add_argument("--batch-tokens", type=int, help="tokens read at once")
    one.add_argument("--float32", action="store_true", help="instead of bfloat16")
    one.set_defaults(step=score)
    one = steps.add_parser("report")
    one.add_argument("run")
    one.add_argument("job", type=Path)
    one.add_argument("--sizes", nargs="+", type=int, default=[8, 16, 32, 64])
    one.set_defaults(step=report)
    given = parser.parse_args()
    given.step(given)


if __name__ == "__main__":
    main()

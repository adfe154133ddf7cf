"""What `firth adapt` makes of an encoder on corpora of different fields, by check and people.

    python benchmarks/adapt_fields.py ENCODER DATA_DIR WORK CORPUS … [--sets NAME …] [--out FILE]

Each CORPUS, a file of documents, gets a run in the folder WORK, named as the file is; a second call
goes on where a first one stopped. A run that is there keeps its settings: of few documents hold out
more (`firth corpus build CORPUS --run WORK/NAME --set corpus.held_out=5`). Of each candidate of the
adaptation (`docs/adapt.md`), thrown away or not: on which kinds of the check's items it rose and
fell, by their intervals, whether it was kept, and Spearman x 100 on the rated sets and on their
mean, behind it how far it is ahead of the encoder as it is, with the 95 % interval of the paired
bootstrap. The ratings are those of `own_encoder.py`, which tunes once more, the same way.
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from firth.context.adapt import adapt
from firth.context.settings import Pairs, TuneConfig
from firth.evaluate.results import write_document
from firth.run import progress
from firth.run.files import claim_file
from firth.run.run import Run
from own_encoder import measured, plain

SETS = ["sts-b:dev", "sts12", "sts13", "sts14", "str-2021", "afs", "sick-r:trial"]


def rows(name: str, report: Mapping[str, Any], cells: Sequence[Mapping[str, Any]]) -> list[str]:
    """A row of the table for each candidate on one corpus."""
    found = []
    for one in report["candidates"] or [{"candidate": report["kept"]}]:
        system = one["candidate"]
        here = [cell for cell in cells if cell["system"] == system]
        kinds = " ".join([*(f"+{kind}" for kind in one.get("gained", [])),
                          *(f"-{kind}" for kind in one.get("lost", []))])  # fmt: skip
        shown = f"**{system}**" if system == report["kept"] else system
        found.append(f"| {' | '.join([name, shown, kinds, *map(_figure, here)])} |")
    return found


def _figure(cell: Mapping[str, Any]) -> str:
    value, ahead = cell["figure"]["value"], cell["ahead"]
    if ahead is None:
        return f"{value:.1f}"
    return f"{value:.1f} {ahead['value']:+.1f} [{ahead['low']:.1f}, {ahead['high']:.1f}]"


def main() -> None:
    """Adapt, measure, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("encoder")
    parser.add_argument("data_dir")
    parser.add_argument("work", type=Path)
    parser.add_argument("corpora", nargs="+", type=Path, metavar="CORPUS")
    parser.add_argument("--sets", nargs="+", default=SETS, metavar="NAME")
    parser.add_argument("--pairs", default="neighbours", help="neighbours, crops or titles")
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--resamples", type=int, default=1_000)
    parser.add_argument("--out", type=Path, help="file of JSON")
    parser.add_argument("--force", action="store_true", help="replace it")
    options = parser.parse_args()
    if options.out:
        claim_file(options.out, force=options.force)
    progress.set_quiet(True)
    encoder, everything, lines = options.encoder, {}, []
    for corpus in options.corpora:
        name = corpus.name.partition(".")[0]
        run = options.work / name
        report = adapt(encoder, run, [corpus], pairs=options.pairs, steps=options.steps).report
        tuned = TuneConfig(pairs=Pairs(options.pairs), steps=options.steps)
        cells = plain(measured(encoder, Run.open(run), options.data_dir, options.sets, tuned,
                               resamples=options.resamples))  # fmt: skip
        everything[name] = {"report": report, "cells": cells}
        titles = list(dict.fromkeys(cell["data"] for cell in cells))
        lines += rows(name, report, cells)
        print("\n".join(rows(name, report, cells)), flush=True)
        if options.out:
            write_document(options.out, everything)
    print(f"\n| corpus | kept in bold | check | {' | '.join(titles)} |")
    print("|---" * (3 + len(titles)) + "|")
    print("\n".join(lines))


if __name__ == "__main__":
    main()

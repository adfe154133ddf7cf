"""How much a student learns from more sentences: agreement with its teacher, and with people.

    python benchmarks/distillation_curve.py RUN DATA_DIR WORK [--bases layers static]
        [--learned 0 3000 10000 30000 100000] [--epochs 2] [--sets sts-b:dev sts12] [--out FILE]

RUN has its teacher's vectors (stage `teacher`, of `firth distill`); nothing is written into it:
what is needed is copied into the folder WORK, where students are distilled one after the other. 0
sentences is the start, before training. Prints rank correlation x 100 with the teacher on held-out
sentences (`all` pairs, and those of `near` ones), by how much training raised the mean of the check
on held-out documents (docs/surrogate.md, "What is kept"), and Spearman x 100 with people, with 95 %
intervals. A student by which the check fell is its start again, of step 0. A second call goes on
where a first one stopped, as far as --out knows.
"""

import argparse
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from firth.check import CHECK
from firth.context import CONTEXT
from firth.corpus import CORPUS, TOKENIZER
from firth.evaluate.cache import Cache
from firth.evaluate.figures import Bootstrap
from firth.evaluate.load import select_sets
from firth.evaluate.metrics import Metric
from firth.evaluate.models import score, system_of
from firth.evaluate.results import write_document
from firth.evaluate.rows import EvaluationSet
from firth.origin import ORIGIN
from firth.run import progress
from firth.run.files import read_json
from firth.run.run import CONFIG, Run
from firth.surrogate import TEACHER
from firth.surrogate.distill import distill


def copy_run(run: Path, work: Path) -> None:
    """What a student is made of, as far as the run has it."""
    for stage in (CORPUS, TOKENIZER, CHECK, CONTEXT, ORIGIN, TEACHER):
        if (run / stage.name).is_dir() and not (work / stage.name).is_dir():
            shutil.copytree(run / stage.name, work / stage.name)
    if not (work / CONFIG).is_file():
        shutil.copy(run / CONFIG, work)


def point(
    work: Path, base: str, learned: int, epochs: int, sets: Sequence[EvaluationSet],
    bootstrap: Bootstrap,
) -> dict[str, Any]:  # fmt: skip
    """Distil one student, and measure it."""
    run = Run.open(work).changed({"surrogate": {"learned": learned}} if learned else {})
    done = distill(run, base, epochs=epochs if learned else 0)
    report = done.report
    with progress.bar(base, len(sets)) as shown:
        _, scored = score(system_of(str(done.path)), sets, Cache(None), shown)
    people = {}
    for one in scored:
        found = bootstrap.average([one.sample], Metric.SPEARMAN)
        people[f"{one.data.task.name}:{one.data.split}"] = [found.value, found.low, found.high]
    agreed = {kind: report["after"]["test"][kind]["spearman"] for kind in ("all", "near")}
    return {"base": base, "learned": learned, "sentences": report["sentences"]["train"],
            "kept": report["chosen"]["step"], "steps": report["chosen"]["steps"],
            "agreement": agreed, "check": report["check"] and report["check"]["mean"],
            "people": people}  # fmt: skip


def row(found: Mapping[str, Any]) -> str:
    """Of the table."""
    sentences = f"{found['sentences']:,}" if found["learned"] else "0"
    agreed = [f"{100 * found['agreement'][kind]:.1f}" for kind in ("all", "near")]
    check = found["check"]
    rose = f"{check['value']:+.1f} [{check['low']:.1f}, {check['high']:.1f}]" if check else "-"
    people = [f"{value:.1f} [{low:.1f}, {high:.1f}]" for value, low, high in
              found["people"].values()]  # fmt: skip
    kept = f"{found['kept']:,} of {found['steps']:,}"
    return f"| {' | '.join([found['base'], sentences, kept, *agreed, rose, *people])} |"


def main() -> None:
    """Distil, measure, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path)
    parser.add_argument("data_dir")
    parser.add_argument("work", type=Path)
    parser.add_argument("--bases", nargs="+", default=["static", "layers"], metavar="BASE")
    sizes = [0, 3_000, 10_000, 30_000, 100_000]
    parser.add_argument("--learned", nargs="+", type=int, default=sizes, metavar="N")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--sets", nargs="+", default=["sts-b:dev", "sts12"], metavar="NAME")
    parser.add_argument("--resamples", type=int, default=1_000)
    parser.add_argument("--out", type=Path, help="file of JSON, continued if it is there")
    options = parser.parse_args()
    progress.set_quiet(True)
    Run.open(options.run).folder(TEACHER)
    options.work.mkdir(parents=True, exist_ok=True)
    copy_run(options.run, options.work)
    sets, _ = select_sets(options.sets, options.data_dir, None)
    bootstrap = Bootstrap(Run.open(options.run).config.seed, options.resamples, Cache(None))
    known = options.out is not None and options.out.is_file()
    points: list[dict[str, Any]] = read_json(options.out)["points"] if known else []
    for base in options.bases:
        for learned in options.learned:
            if any((one["base"], one["learned"]) == (base, learned) for one in points):
                continue
            points.append(point(options.work, base, learned, options.epochs, sets, bootstrap))
            print(row(points[-1]), flush=True)
            if options.out:
                write_document(options.out, {"points": points, "epochs": options.epochs})
    columns = [
        "student",
        "sentences",
        "step kept",
        "teacher, all",
        "near",
        "check",
        *points[0]["people"],
    ]
    print("\n| " + " | ".join(columns) + " |")
    print("|---" * len(columns) + "|")
    print("\n".join(map(row, points)))


if __name__ == "__main__":
    main()

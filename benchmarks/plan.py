"""What `firth plan` foretells, beside what a run of several times the probe's size then takes.

    python benchmarks/plan.py INPUT… [--probe 200000] [--times 10] [--pairs N] [--processor]
        [--at WORDS PAIRS] [--out FILE]

Documents are drawn from INPUT (as for `firth build`) until there are `--times` as many words as the
probe takes. The plan is made of these documents by a probe of `--probe` words; then every stage is
built on all of them, in the same process. A table compares time, disk and the most memory, stage by
stage and in all. `--processor` compares seconds of processor instead of those by the clock: on a
machine that does other things meanwhile the clock tells little. `--at` prints the plan of another
size, too, by the same probe. JSON goes to `--out`, with what each part of the probe took.
"""

import argparse
import json
import tempfile
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from firth.pipeline import STEPS
from firth.plan.plan import predict
from firth.plan.probe import Cost, Probe, Sample, build_part, draw, probes
from firth.run import progress
from firth.run.config import Config
from firth.run.screen import say


def by_processor(probe: Probe) -> Probe:
    """With seconds of processor in place of those by the clock."""

    def busy(cost: Cost) -> Cost:
        return replace(cost, seconds=cost.processor)

    costs = {stage: busy(cost) for stage, cost in probe.costs.items()}
    return replace(probe, counting=busy(probe.counting), costs=costs)


def compared(given: argparse.Namespace) -> dict[str, Any]:
    """Foretold and measured, by stage."""
    config = Config().changed({"corpus": {"inputs": given.inputs}}, "plan.py")
    if given.pairs:
        config = config.changed({"harvest": {"pairs": given.pairs}}, "plan.py")
    whole = draw(config, given.times * given.probe)
    small = Sample(part_of(whole, given.probe), given.probe, None)
    parts = probes(config, small, bool(given.pairs))
    with tempfile.TemporaryDirectory(prefix="firth-") as folder:
        steps = [step for step in STEPS if step.stage in parts[-1].costs]
        real = build_part(Path(folder), config, whole.texts, steps)
    if given.processor:
        parts, real = [by_processor(part) for part in parts], by_processor(real)
    times = real.size.words / parts[-1].size.words
    plan = predict(config, parts, times, given.pairs, 1)
    rows = {
        one.stage: {
            "time": [one.seconds(1), taken.seconds],
            "disk": [one.disk.at(one.amounts), taken.disk],
            "memory": [one.memory.at(one.amounts), taken.memory],
        }
        for one, taken in zip(plan.stages, real.costs.values(), strict=True)
    }
    total = [
        sum(row[what][n] for row in rows.values()) for what in ("time", "disk") for n in (0, 1)
    ]
    peaks = [max(row["memory"][n] for row in rows.values()) for n in (0, 1)]
    rows["all"] = {"time": total[:2], "disk": total[2:], "memory": peaks}
    if given.at:
        words, pairs = given.at
        most = words * (1 - 1 / config.corpus.held_out) / parts[-1].size.words
        say(predict(config, parts, most, pairs, 1).text() + "\n")
    return {
        "parts": [
            {
                "size": asdict(part.size),
                "costs": {stage.name: asdict(cost) for stage, cost in part.costs.items()},
            }
            for part in parts
        ],
        "size": {"foretold": asdict(plan.size), "real": asdict(real.size)},
        "times": times,
        "stages": rows,
    }


def part_of(sample: Sample, words: int) -> list[tuple[str, str]]:
    """The first documents of a sample, with so many of its words."""
    return sample.texts[: max(1, round(len(sample.texts) * words / sample.words))]


def show(found: dict[str, Any]) -> None:
    """Print a line for each stage: foretold, measured, and the first over the second."""
    names = {"time": ("s", 1.0), "disk": ("MB", 1e6), "memory": ("MB", 1e6)}
    say(f"{found['times']:.1f} times the probe")
    say(f"{'':12}" + "".join(f"{f'{what}, {unit}':>30}" for what, (unit, _) in names.items()))
    for stage, row in found["stages"].items():
        cells = []
        for what, (_, size) in names.items():
            told, taken = (value / size for value in row[what])
            cells.append(f"{told:12,.1f} {taken:10,.1f} {told / taken if taken else 0:6.2f}")
        say(f"{stage:12}" + " ".join(cells))


def main() -> None:
    """Compare, and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("inputs", nargs="+")
    parser.add_argument("--probe", type=int, default=200_000)
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--pairs", type=int)
    parser.add_argument("--at", type=int, nargs=2, metavar=("WORDS", "PAIRS"))
    parser.add_argument("--processor", action="store_true")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    progress.set_quiet(True)
    found = compared(given)
    show(found)
    if given.out:
        given.out.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

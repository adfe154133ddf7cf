"""`firth plan`: the time, disk and memory of every stage at a size, told with its arithmetic."""

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from firth.pipeline import check
from firth.plan.cost import Growth, Line
from firth.plan.probe import Probe, Sample, draw, probes
from firth.plan.units import Size, Unit, Work, work_of
from firth.run.config import Config
from firth.run.errors import InputError
from firth.run.run import Run
from firth.run.screen import WIDTH, plural, wrapped
from firth.run.table import table

PROBE_WORDS = 400_000
_SEEN = 100
"""Times the probe up to which the search for neighbours is not seen beside the scoring."""
MOST_WORDS, MOST_PAIRS = 10**12, 10**9
_SECONDS = (
    (31_557_600, "years"), (86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"), (1e-3, "ms"),
    (1e-6, "µs"),
)  # fmt: skip
_BYTES = ((1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1, "B"))


@dataclass(frozen=True)
class Planned:
    """What a stage will cost.

    Attributes:
        stage: Its name.
        work: What its costs follow.
        amounts: How much there is of that.
        time: Seconds on this machine.
        disk: Bytes of its files.
        memory: Most bytes: `fixed` is what the probe had, `each` what is known of the code.
    """

    stage: str
    work: Work
    amounts: Mapping[Unit, float]
    time: Line
    disk: Line
    memory: Line

    def seconds(self, machines: int) -> float:
        """By the clock, where so many machines share what can be shared."""
        shared = self.time.at(self.amounts) - self.time.fixed
        return self.time.fixed + shared / (machines if self.work.parted else 1)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        lines = {"time": self.time, "disk": self.disk, "memory": self.memory}
        return {
            "stage": self.stage,
            "parted": self.work.parted,
            "accelerated": self.work.accelerated,
            "amounts": {unit.value: amount for unit, amount in self.amounts.items()},
        } | {
            name: {
                "fixed": line.fixed,
                "each": {unit.value: value for unit, value in line.each.items()},
                "in_all": line.at(self.amounts),
            }
            for name, line in lines.items()
        }


@dataclass(frozen=True)
class Plan:
    """What a run will cost.

    Attributes:
        size: Of the run.
        machines: How many share what can be shared.
        stages: In order.
        probed: The largest part that was built.
        took: Seconds of the probe.
        cores: Of this machine.
        device: Name of its accelerator, which some stages computed on; None without one.
    """

    size: Size
    machines: int
    stages: tuple[Planned, ...]
    probed: Size
    took: float
    cores: int
    device: str | None

    @property
    def seconds(self) -> float:
        """Of all stages, one after the other."""
        return sum(stage.seconds(self.machines) for stage in self.stages)

    @property
    def device_seconds(self) -> float:
        """Of those on an accelerator, of all machines together; 0 without one."""
        used = [stage for stage in self.stages if stage.work.accelerated and self.device]
        return sum(stage.time.at(stage.amounts) for stage in used)

    @property
    def disk(self) -> float:
        """Bytes of all stages."""
        return sum(stage.disk.at(stage.amounts) for stage in self.stages)

    @property
    def memory(self) -> float:
        """Most bytes of any stage."""
        return max(stage.memory.at(stage.amounts) for stage in self.stages)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON: seconds and bytes."""
        size, probed = (
            {name: round(value) for name, value in vars(each).items()}
            for each in (self.size, self.probed)
        )
        return {
            "size": size,
            "probe": {**probed, "seconds": self.took},
            "machine": {"cores": self.cores, "device": self.device},
            "machines": self.machines,
            "seconds": self.seconds,
            "device_seconds": self.device_seconds,
            "disk": self.disk,
            "memory": self.memory,
            "stages": [
                {**stage.as_dict(), "seconds": stage.seconds(self.machines)}
                for stage in self.stages
            ],
        }

    def text(self) -> str:
        """In sentences, a table, and the arithmetic."""
        size, probed = self.size, self.probed
        where = f"{plural(self.cores, 'core')}" + (f" and {self.device}" if self.device else "")
        told = [
            f"A probe of {probed.words:,.0f} words in {probed.documents:,.0f} documents took "
            f"{_time(self.took)} on this machine ({where}).",
            f"Planned: {size.words:,.0f} words in {size.sentences:,.0f} sentences of "
            f"{size.documents:,.0f} documents"
            + (f", and {size.pairs:,.0f} pairs" if size.pairs else "")
            + (f"; {self.machines:,} machines share what is marked *" if self.machines > 1 else "")
            + ".",
        ]
        rows = [["stage", "time", "disk", "memory"]]
        for stage in self.stages:
            shared = "*" if stage.work.parted and self.machines > 1 else ""
            rows.append([
                stage.stage + shared,
                _time(stage.seconds(self.machines)).replace(" ", "\u00a0"),
                _bytes(stage.disk.at(stage.amounts)).replace(" ", "\u00a0"),
                _bytes(stage.memory.at(stage.amounts)).replace(" ", "\u00a0"),
            ])  # fmt: skip
        totals = (_time(self.seconds), _bytes(self.disk), _bytes(self.memory))
        rows.append(["all", *(total.replace(" ", "\u00a0") for total in totals)])
        more = []
        if self.device:
            more.append(f"On {self.device}: {_time(self.device_seconds)} in all.")
        more += _warnings(self)
        return "\n".join(
            [*map(wrapped, told), "", table(rows), "", *map(wrapped, more), *([""] if more else []),
             "How that comes about (time of one machine):", *self._arithmetic()]
        )  # fmt: skip

    def _arithmetic(self) -> list[str]:
        lines = []
        for stage in self.stages:
            for what, line, told in (
                ("", stage.time, _time),
                (" on disk", stage.disk, _bytes),
                (" in memory", stage.memory, _bytes),
            ):
                if line.each or not what:
                    parts = [
                        f"{_rate(told, value)} \u00d7 {stage.amounts[unit]:,.0f} {unit.value}"
                        for unit, value in line.each.items()
                    ]
                    said = " + ".join([told(line.fixed), *parts])
                    lines.append(wrapped(f"  {stage.stage}{what}: {said}", WIDTH))
        return lines


def plan(
    config: Config,
    *,
    words: int | None = None,
    documents: int | None = None,
    pairs: int | None = None,
    machines: int = 1,
    probe_words: int = PROBE_WORDS,
) -> Plan:
    """Predict what a run would cost on machines like this one.

    Every stage is built on random parts of the documents of `corpus.inputs`, in a folder that is
    removed; its time and files are lines through what that took, its memory is what the largest
    part took and what it is known to hold of each unit.

    Args:
        config: Of the run.
        words: Of all its documents; None follows from `documents`, else from what the inputs hold.
        documents: Likewise.
        pairs: To be harvested; None: no harvest, unless the run has one anyway.
        machines: Share the harvest.
        probe_words: Words of the largest part.

    Raises:
        ConfigError: What the configuration names cannot be used.
        InputError: A number is out of range, both sizes are given, or there is too little text.
        FirthError: As the stages do.
    """
    for name, given, most in (
        ("words", words, MOST_WORDS),
        ("documents", documents, MOST_WORDS),
        ("pairs", pairs, MOST_PAIRS),
        ("machines", machines, 10**6),
    ):
        if given is not None and not 1 <= given <= most:
            raise InputError(f"{name}: got {given:,}; expected 1 to {most:,}")
    if words is not None and documents is not None:
        raise InputError("got both words and documents; expected one of them")
    with tempfile.TemporaryDirectory(prefix="firth-plan-") as folder:
        check(Run(Path(folder) / "run", config), "firth plan")
    sample = draw(config, probe_words)
    times = _times(sample, words, documents)
    found = probes(config, sample, pairs is not None)
    return predict(config, found, times, pairs, machines)


def _times(sample: Sample, words: int | None, documents: int | None) -> float:
    """How many times as large as the sample the run is."""
    if documents is not None:
        return documents / len(sample.texts)
    wanted = words or sample.whole
    if wanted is None:
        raise InputError(
            "the size of a data set of the hub is not known before it is read: --words N"
        )
    return max(1.0, wanted / sample.words)


def predict(
    config: Config, found: list[Probe], times: float, pairs: int | None, machines: int
) -> Plan:
    """Put lines through what some parts took, and read them at a size.

    Args:
        config: Of the run.
        found: Parts, ascending; what the largest has in proportion the run has, too.
        times: How many times as large as the largest part the run is.
        pairs: To be harvested; None: as configured.
        machines: Share the harvest.
    """
    last, sizes = found[-1], [probe.size.words for probe in found]
    words = times * last.size.words
    stems, whole = (
        Growth.fit(sizes, [getattr(probe.size, name) for probe in found]).at(words)
        for name in ("stems", "whole")
    )
    size = replace(
        last.size,
        documents=times * last.size.documents,
        sentences=times * last.size.sentences,
        words=words,
        stems=stems,
        whole=whole if times > 1 else last.size.whole,
        pairs=(pairs or config.harvest.pairs) if last.size.pairs else 0,
    )
    amounts = size.amounts(config)
    probed = [probe.size.amounts(probe.config) for probe in found]
    stages = []
    for stage in last.costs:
        work = work_of(stage, config)
        costs = [probe.costs[stage] for probe in found]

        def line(units: tuple[Unit, ...], values: list[float]) -> Line:
            return Line.fit([{unit: one[unit] for unit in units} for one in probed], values)

        held = sum(value * probed[-1][unit] for unit, value in work.memory.items())
        memory = Line(max(0.0, costs[-1].memory - held), work.memory)
        each = last.counting.seconds / last.size.words if work.counts else 0.0
        counting = [each * size for size in sizes]
        seconds = np.array([cost.seconds for cost in costs]) - counting
        time = line(work.time, seconds.clip(0.0).tolist())
        if each:
            time = replace(time, each={**time.each, Unit.WORDS: each})
        disk = line(work.disk, [cost.disk for cost in costs])
        stages.append(Planned(stage.name, work, amounts, time, disk, memory))
    took = sum(cost.seconds for probe in found for cost in probe.costs.values())
    return Plan(size, machines, tuple(stages), last.size, took, os.cpu_count() or 1, _device())


def _device() -> str | None:
    import torch

    return torch.cuda.get_device_name() if torch.cuda.is_available() else None


def _warnings(plan: Plan) -> list[str]:
    """What this machine does not have."""
    told = []
    if plan.size.pairs and plan.size.sentences > _SEEN * plan.probed.sentences:
        told.append(
            "A harvest seeks near neighbours in all chunks; a probe is too small to see what that "
            "takes of so many (docs/scale.md)."
        )
    held = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    over = [one.stage for one in plan.stages if one.memory.at(one.amounts) > held]
    if over:
        told.append(f"More memory than this machine's {_bytes(held)}: {', '.join(over)}.")
    space = os.statvfs(Path.cwd())
    free = space.f_bavail * space.f_frsize
    if plan.disk > free:
        told.append(f"More disk than the {_bytes(free)} that are free here.")
    return told


def _scaled(value: float, steps: tuple[tuple[float, str], ...]) -> str:
    size, name = next((step for step in steps if value >= step[0]), steps[-1])
    number = value / size
    return f"{number:,.0f} {name}" if number >= 99.5 else f"{number:,.2g} {name}"


def _time(seconds: float) -> str:
    return _scaled(seconds, _SECONDS) if seconds else "0 s"


def _bytes(count: float) -> str:
    return _scaled(count, _BYTES) if count else "0 B"


def _rate(told: Any, value: float) -> str:
    """What one of a unit costs, however little."""
    if told is _time and value < 1e-6:
        return f"{1e9 * value:.3g} ns"
    if told is _bytes and value < 100:
        return f"{value:.3g} B"
    found: str = told(value)
    return found

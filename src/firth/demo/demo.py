"""The demo: from documents to a similarity model in minutes, with everything shown on the way."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from firth.demo.examples import EXPLAINED, PAIRS, QUERY
from firth.demo.gather import gather_report
from firth.demo.report import DemoReport, write_report
from firth.demo.texts import collect_texts
from firth.evaluate.load import load_set
from firth.evaluate.task import find_task
from firth.pipeline import bring_up_to_date
from firth.preflight import check
from firth.run.config import Config
from firth.run.errors import FirthError
from firth.run.hub import hub_is_reachable
from firth.run.progress import note
from firth.run.run import Run

REPORT = "report.html"
_SHOWN_EVIDENCE = 3


@dataclass(frozen=True)
class Demo:
    """A finished demo.

    Attributes:
        report: What it found.
        path: The HTML page.
        table: All systems side by side, as text.
    """

    report: DemoReport
    path: Path
    table: str

    def text(self) -> str:
        """What the screen shows."""
        found = self.report
        lines = ["", "Pairs                                   (Origin, Surrogate)"]
        lines += [
            f"  {pair.origin:6.3f}  {pair.surrogate:6.3f}   {pair.sentence1}  |  {pair.sentence2}"
            for pair in found.pairs
        ]
        for item in found.explanations:
            lines += ["", f"Why: {item.sentence1}  |  {item.sentence2}", f"  {item.summary}"]
            for evidence in item.shown(_SHOWN_EVIDENCE):
                lines.append(f"  {evidence.amount:+.4f}  {evidence.note}")
                lines.append(f"           {_cut(evidence.text)}")
        lines += ["", f"Search: {found.query}"]
        lines += [f"  {hit.score:.3f}  {hit.sentence}  ({hit.document})" for hit in found.hits]
        lines += ["", "Against human ratings (times 100, with 95 % intervals)", self.table, ""]
        lines += [*found.notes, "", f"Report: {self.path}"]
        return "\n".join(lines)


def run_demo(
    out: str | Path, data_dir: Path | None = None, size: float = 1.0, seed: int | None = None
) -> Demo:
    """Build a whole run on text from installed packages, ask it questions, write the report.

    Args:
        out: Folder of the run. An interrupted demo continues, a finished one is shown again.
        data_dir: Folder of evaluation sets; adds STSb if it is there (or if a hub is in reach).
        size: Share of the documents and pairs, in (0, 1].
        seed: Of every random choice; None takes 13.

    Raises:
        MissingExtraError: gensim, matplotlib or jinja2 is not installed (extra `demo`).

    Example:
        >>> demo = run_demo("demo", size=0.05)  # doctest: +SKIP
        >>> print(demo.text())  # doctest: +SKIP
    """
    inputs = collect_texts(Path(out) / "texts", size)
    config = demo_config(inputs, size, seed, data_dir)
    check(config, "demo.yaml")
    run = Run.create(out, config)
    bring_up_to_date(run)
    report = gather_report(run, PAIRS, EXPLAINED, QUERY)
    path = run.path / REPORT
    write_report(path, report)
    table = (run.path / "evaluation" / "table.txt").read_text(encoding="utf-8").rstrip()
    return Demo(report, path, table)


def demo_config(
    inputs: Sequence[str], size: float, seed: int | None, data_dir: Path | None
) -> Config:
    """The demo's configuration, with pairs reduced to the share `size`."""
    text = resources.files("firth.demo").joinpath("demo.yaml").read_text(encoding="utf-8")
    values: dict[str, Any] = yaml.safe_load(text)
    harvest = values["harvest"]
    harvest["pairs"] = max(100, round(size * harvest["pairs"]))
    harvest["shard_pairs"] = min(harvest["shard_pairs"], harvest["pairs"] // 10)
    values["corpus"] = {"inputs": list(inputs)}
    if _offered("sts-b", "dev", data_dir):
        values["evaluate"]["tasks"].append("sts-b:dev")
    if data_dir is not None:
        values["evaluate"]["data_dir"] = str(data_dir)
    return Config.parse(values, "demo.yaml").changed({"seed": seed}, "--seed")


def _offered(task: str, split: str, data_dir: Path | None) -> bool:
    if data_dir is None and not hub_is_reachable():
        return False
    try:
        load_set(find_task(task)[0], data_dir, split)
    except FirthError as error:
        note(f"The demo leaves {task} out: {error}")
        return False
    return True


def _cut(text: str, length: int = 110) -> str:
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"

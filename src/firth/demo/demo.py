"""The demo: from documents to a similarity model in minutes, with everything shown on the way."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from firth.demo.preflight import REPORT, check_demo
from firth.demo.texts import collect_texts, text_files
from firth.pipeline import bring_up_to_date
from firth.run.config import Config
from firth.run.errors import FirthError
from firth.run.hub import hub_is_reachable
from firth.run.progress import note
from firth.run.run import Run
from firth.run.table import table

if TYPE_CHECKING:
    from firth.report.page import Report

PAIRS = (
    ("We must cut taxes for working families.", "Families who work deserve lower taxes."),
    ("The union of the states must be preserved.", "We shall keep the states together."),
    ("Our soldiers fought bravely in the war.", "The army showed courage in battle."),
    ("Unemployment has fallen to its lowest level.", "More people have jobs than ever before."),
    ("The treaty with Spain was ratified.", "An agreement with the Spanish crown was approved."),
    ("The bushfire destroyed several homes.", "Firefighters battled the blaze near the town."),
    ("Every child deserves a good education.", "Schools should prepare our children for work."),
    ("The police arrested two suspects.", "The court sentenced the man to prison."),
    ("The budget deficit is growing.", "The surplus will pay down the debt."),
    ("Congress should pass this bill.", "The philosopher was born in Athens."),
    ("The earthquake killed dozens of people.", "Interest rates were left unchanged."),
    ("The atom consists of a nucleus and electrons.", "We ask for peace among all nations."),
)
"""What the models are asked, from alike to unrelated, in the words of the demo's corpus."""
EXPLAINED = (0, 5)
"""Which of the pairs are explained."""
QUERIES = (
    "How can we create more jobs?",
    "Who looks after the sick?",
    "The war is over.",
)
"""The questions of the semantic search."""
_LEAD = (
    "You shall know a sentence by the company it keeps. This page was written at the end of one "
    "run: from documents without labels, in minutes and at sizes far below the paper's, to a "
    "sentence-similarity model."
)
_SHOWN_EVIDENCE = 3
_LONGEST = 110


@dataclass(frozen=True)
class Demo:
    """A finished demo.

    Attributes:
        report: What it found.
        path: The HTML page.
        table: All systems side by side, as text.
    """

    report: "Report"
    path: Path
    table: str

    def as_dict(self) -> dict[str, Any]:
        """What was found, as plain values for JSON; the whole is on the page."""
        found = self.report
        return {
            "report": str(self.path),
            "corpus": dict(found.facts),
            "pairs": [
                {"sentence1": one, "sentence2": two, "origin": origin, "surrogate": surrogate}
                for one, two, origin, surrogate in found.pairs
            ],
            "explanations": [dict(item.as_dict()) for item in found.explanations],
            "searches": [
                {
                    "query": each.query,
                    "hits": [
                        {"cosine": hit.cosine, "text": hit.text, "document": hit.title}
                        for hit in each.hits
                    ],
                }
                for each in found.searches
            ],
            "beside_tfidf": [asdict(each) for each in found.beside],
            "results": list(found.results),
            "notes": list(found.notes),
        }

    def text(self) -> str:
        """What the screen shows."""
        found = self.report
        pairs = [["Origin", "Surrogate", "pair"]]
        pairs += [[f"{origin:.3f}", f"{surrogate:.3f}", f"{first}  |  {second}"]
                  for first, second, origin, surrogate in found.pairs]  # fmt: skip
        lines = ["", table(pairs)]
        for item in found.explanations:
            lines += ["", f"Why: {item.sentence1}  |  {item.sentence2}", f"  {item.summary}"]
            for evidence in item.shown(_SHOWN_EVIDENCE):
                lines.append(f"  {evidence.amount:+.4f}  {evidence.note}")
                lines.append(f"           {_cut(evidence.text)}")
        for each in found.searches:
            lines += ["", f"Search: {each.query} (not among the {each.depth} best by words)"]
            lines += [f"  {hit.cosine:.3f}  {hit.text}  ({hit.title})" for hit in each.hits]
        lines += ["", "Against human ratings (times 100, with 95 % intervals)", self.table, ""]
        lines += [f"{each.task}: {each.verdict}" for each in found.beside]
        lines += [*found.notes, "", f"Report: {self.path}"]
        return "\n".join(lines)


def run_demo(
    out: str | Path,
    data_dir: Path | None = None,
    size: float = 1.0,
    seed: int | None = None,
    *,
    force: bool = False,
) -> Demo:
    """Build a whole run on text from installed packages, ask it questions, write the report.

    Args:
        out: Folder of the run. An interrupted demo continues, a finished one is shown again.
        data_dir: Folder of evaluation sets; adds STSb if it is there (or if a hub is in reach).
        size: Share of the documents and of the sentences distilled, in (0, 1].
        seed: Of every random choice; None takes 13.
        force: Replace a `report.html` in `out` that firth did not write.

    Raises:
        FirthError: Distributions that the demo needs are not installed; all are named, and nothing
            was done.
        InputError: `out` is not a demo's folder, or `data_dir` none at all; nothing was done.

    Example:
        >>> demo = run_demo("demo", size=0.05)  # doctest: +SKIP
        >>> print(demo.text())  # doctest: +SKIP
    """
    run, texts = Path(out), Path(out) / "texts"
    check_demo(run, texts, data_dir, force)
    from firth.report.gather import Asked, gather_report
    from firth.report.page import write_page

    # The configuration is there first, so that a demo that was stopped is known again.
    opened = Run.create(run, demo_config(text_files(texts), size, seed, data_dir))
    collect_texts(texts, size)
    bring_up_to_date(opened)
    report = gather_report(opened, "firth demo", _LEAD, Asked(PAIRS, EXPLAINED, QUERIES))
    write_page(run / REPORT, report)
    table = (run / "evaluation" / "table.txt").read_text(encoding="utf-8").rstrip()
    return Demo(report, run / REPORT, table)


def demo_config(
    inputs: Sequence[str], size: float, seed: int | None, data_dir: Path | None
) -> Config:
    """The demo's configuration, with sentences reduced to the share `size`."""
    text = resources.files("firth.demo").joinpath("demo.yaml").read_text(encoding="utf-8")
    values: dict[str, Any] = yaml.safe_load(text)
    surrogate = values["surrogate"]
    surrogate["sentences"] = max(100, round(size * surrogate["sentences"]))
    values["corpus"] = {"inputs": list(inputs)}
    if _offered("sts-b", "dev", data_dir):
        values["evaluate"]["tasks"].append("sts-b:dev")
    if data_dir is not None:
        values["evaluate"]["data_dir"] = str(data_dir)
    return Config.parse(values, "demo.yaml").changed({"seed": seed}, "--seed")


def _offered(task: str, split: str, data_dir: Path | None) -> bool:
    if data_dir is None and not hub_is_reachable():
        return False
    from firth.evaluate.load import load_set
    from firth.evaluate.task import find_task

    try:
        load_set(find_task(task)[0], data_dir, split)
    except FirthError as error:
        note(f"The demo leaves {task} out: {error}")
        return False
    return True


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1].rstrip() + "…"

"""The report: one self-contained HTML page of what a run is, did, and is worth."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from firth.origin.origin import Explanation
from firth.run.errors import MissingExtraError
from firth.run.files import write_atomically

try:
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup
except ImportError as error:
    raise MissingExtraError("The report", "report") from error

Curve = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class ScoredPair:
    """An example: two sentences and what both models say of them."""

    sentence1: str
    sentence2: str
    origin: float
    surrogate: float


@dataclass(frozen=True)
class Hit:
    """A search result: cosine, sentence, and the title of its document."""

    score: float
    sentence: str
    document: str


@dataclass(frozen=True)
class Row:
    """A figure of the results table, × 100, with its 95 % interval."""

    system: str
    task: str
    metric: str
    value: float | None
    low: float | None
    high: float | None
    n: int


@dataclass(frozen=True)
class DemoReport:
    """Everything the page shows.

    Attributes:
        facts: Name → figure of the corpus.
        curves: Title of a plot → (label of its axis, lines by name).
        scores: Kind of pair → harvested Origin similarities.
        distilled: Origin similarities and Surrogate cosines of the held-out pairs.
        pairs: Examples.
        explanations: Of some of them.
        query: What was searched for.
        hits: What was found.
        results: The table.
        notes: What the figures mean, a paragraph each.
        settings: The run's configuration as YAML.
    """

    facts: Mapping[str, str]
    curves: Mapping[str, tuple[str, Mapping[str, Curve]]]
    scores: Mapping[str, Sequence[float]]
    distilled: tuple[Sequence[float], Sequence[float]]
    pairs: Sequence[ScoredPair]
    explanations: Sequence[Explanation]
    query: str
    hits: Sequence[Hit]
    results: Sequence[Row]
    notes: Sequence[str]
    settings: str


def write_report(path: Path, report: DemoReport) -> None:
    """Write the page atomically. It needs no other file, no network and no script.

    Raises:
        MissingExtraError: matplotlib or jinja2 is not installed (at import).
    """
    from firth.demo.plots import plot_curves, plot_histogram, plot_scatter

    plots = {
        title: Markup(plot_curves(lines, label)) for title, (label, lines) in report.curves.items()
    }
    plots["Origin similarities of the harvest"] = Markup(
        plot_histogram(report.scores, "Origin similarity")
    )
    plots["Surrogate against Origin, held-out pairs"] = Markup(
        plot_scatter(*report.distilled, "Origin similarity", "Surrogate cosine")
    )
    source = resources.files("firth.demo").joinpath("report.html").read_text(encoding="utf-8")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    page = environment.from_string(source).render(report=report, plots=plots)
    with write_atomically(path) as partial:
        partial.write_text(page, encoding="utf-8")

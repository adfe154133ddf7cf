"""What was found about features: table, JSON, a row a pair, the scatter plot."""

import importlib.metadata
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import firth
from firth.evaluate.metrics import CONFIDENCE, Floats
from firth.evaluate.results import write_document
from firth.evaluate.rows import EvaluationSet
from firth.relatedness.features.feature import OVERLAP, Question
from firth.relatedness.features.measure import Measured
from firth.relatedness.table import Table, figure
from firth.run.errors import InputError, MissingExtraError
from firth.run.files import write_atomically
from firth.run.progress import note

RESULTS, PAIRS, SCATTER = "results.json", "features.parquet", "scatter"
SCHEMA = 1
"""Version of the JSON; it changes when a key changes its meaning or goes."""
_LIBRARIES = ("numpy", "spacy")


@dataclass(frozen=True, eq=False)
class Findings:
    """Table 4 for some pairs.

    Attributes:
        data: The pairs.
        lines: Of the table, those not shown included.
        values: Feature → its value in each pair, NaN where it has none; shape (n,).
        settings: Vectors, pipeline, seed, resamples.
        command: The command line, if there was one.
    """

    data: EvaluationSet
    lines: tuple[Measured, ...]
    values: Mapping[str, Floats] = field(repr=False)
    settings: Mapping[str, Any] = field(default_factory=dict)
    command: str | None = None

    def find(self, name: str) -> Measured:
        """The line of a feature; raise `InputError` if there is none."""
        for line in self.lines:
            if line.name == name:
                return line
        raise InputError(f"{name}: no such feature. Known: {', '.join(self.values)}")

    def table(self) -> Table:
        """The lines shown, in the blocks of Table 4."""
        rows: list[tuple[str, ...]] = []
        for question in Question:
            rows.append((question.value,))
            rows += [
                (f"  {line.name}", figure(line.figure), f"{line.figure.n:,}", f"{line.both:,}")
                for line in self.lines
                if line.question is question and line.shown
            ]
        n = len(self.data.rows)
        caption = (
            f"Spearman times 100 with the scores of {n:,} pairs, with 95 % bootstrap intervals "
            f"({self.settings['resamples']:,} resamples, seed {self.settings['seed']}). pairs: "
            "both sentences have such a word with a vector, over which the figure is; with the "
            "word: both have one, vector or not."
        )
        return Table(("feature", "Spearman", "pairs", "with the word"), tuple(rows), caption,
                     tuple(self._remarks()))  # fmt: skip

    def _remarks(self) -> list[str]:
        hidden = [f"{line.name} ({line.figure.n:,})" for line in self.lines if not line.shown]
        used = f"{self.settings['vectors_name']}; spaCy pipeline {self.settings['spacy']}"
        share = f"{100 * self.settings['min_share']:g} %"
        left = f"in no more than {share} of the pairs, so not shown: {', '.join(hidden)}"
        return [used, *([left] if hidden else []), *self.data.notes]

    def to_dict(self) -> dict[str, Any]:
        """The JSON document as plain values."""
        return {
            "schema": SCHEMA,
            "data": {
                "source": self.data.source,
                "rows": len(self.data.rows),
                "skipped": self.data.skipped,
                "fingerprint": self.data.fingerprint,
                "notes": list(self.data.notes),
            },
            "features": [
                {
                    "name": line.name,
                    "question": line.question.value,
                    "spearman": asdict(line.figure),
                    "pairs_with_the_word": line.both,
                    "shown": line.shown,
                }
                for line in self.lines
            ],
            "settings": {**self.settings, "confidence": CONFIDENCE},
            "firth": firth.__version__,
            "libraries": {name: importlib.metadata.version(name) for name in _LIBRARIES},
            "command": self.command,
        }

    def write(self, folder: str | Path) -> None:
        """Write `results.json`, `features.parquet`, `table.md`, `table.tex` and `scatter`.

        Without matplotlib there is no plot, and a note says so.

        Raises:
            InputError: The folder cannot be written.
        """
        folder = Path(folder)
        table = self.table()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._write_pairs(folder / PAIRS)
            for name, text in (("table.md", table.markdown()), ("table.tex", table.latex())):
                with write_atomically(folder / name) as partial:
                    partial.write_text(text, encoding="utf-8")
            self._plot(folder)
        except OSError as error:
            raise InputError(f"{folder}: cannot be written ({error.strerror})") from error
        write_document(folder / RESULTS, self.to_dict())

    def _write_pairs(self, path: Path) -> None:
        """A row a pair, without its text: `row` (from 0), `domain`, `score`, and the features."""
        import numpy as np
        import pyarrow as pa
        import pyarrow.parquet as pq

        columns: dict[str, Any] = {
            "row": pa.array(range(len(self.data.rows)), pa.int64()),
            "domain": pa.array([row.subtask for row in self.data.rows], pa.string()),
            "score": pa.array([row.score for row in self.data.rows], pa.float64()),
        }
        for name, values in self.values.items():
            columns[name] = pa.array(values, pa.float64(), mask=~np.isfinite(values))
        with write_atomically(path) as partial:
            pq.write_table(pa.table(columns), partial, compression="zstd")

    def _plot(self, folder: Path) -> None:
        try:
            from firth.relatedness.features.plot import draw_scatter
        except MissingExtraError as error:
            note(str(error))
            return
        for kind in ("png", "svg"):
            with write_atomically(folder / f"{SCATTER}.{kind}") as partial:
                partial.write_bytes(draw_scatter(self.data, self.values[OVERLAP], kind))

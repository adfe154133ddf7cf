"""What was found about models: Table 5, Table 6, JSON, a row a pair and model."""

import importlib.metadata
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import firth
from firth.evaluate.metrics import CONFIDENCE, Estimate, Floats
from firth.evaluate.results import write_document
from firth.evaluate.rows import EvaluationSet
from firth.evaluate.task import ALL
from firth.relatedness.table import Table, figure
from firth.run.errors import InputError
from firth.run.files import write_atomically

RESULTS, SIMILARITIES = "results.json", "similarities.parquet"
SCHEMA = 1
_LIBRARIES = ("numpy", "torch", "transformers", "sentence-transformers")


@dataclass(frozen=True, eq=False)
class Answers:
    """A model's similarities of all pairs.

    Attributes:
        label: What the caller calls it, or how it was tuned.
        name: What it is, in words.
        similarities: Shape (n,).
    """

    label: str
    name: str
    similarities: Floats


@dataclass(frozen=True, eq=False)
class Study:
    """Models on scored pairs.

    Attributes:
        data: The pairs.
        answers: A model each; fine-tuned ones last.
        figures: Label → `all` or domain → Spearman × 100, mean over folds.
        apart: Label of a fine-tuned model → the same over pairs without a sentence learned from.
        shared: Label of a fine-tuned model → pairs that have such a sentence.
        settings: Folds, seed, resamples, recipe.
        command: The command line, if there was one.
    """

    data: EvaluationSet
    answers: tuple[Answers, ...]
    figures: Mapping[str, Mapping[str, Estimate]]
    apart: Mapping[str, Estimate] = field(default_factory=dict)
    shared: Mapping[str, int] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    command: str | None = None

    @property
    def domains(self) -> list[str]:
        """The domains there are figures of."""
        return [name for name in self.data.subtasks if name != ALL]

    def table(self) -> Table:
        """Table 5: a line a model."""
        rows = [(one.label, figure(self.figures[one.label][ALL])) for one in self.answers]
        setting = self.settings
        caption = (
            f"Spearman times 100 with the scores of {len(self.data.rows):,} pairs: mean over "
            f"{setting['folds']} folds, with 95 % bootstrap intervals ({setting['resamples']:,} "
            f"resamples, seed {setting['seed']}); leave-one-domain-out: mean over domains."
        )
        return Table(("model", "Spearman"), tuple(rows), caption, tuple(self._remarks()))

    def by_domain(self) -> Table:
        """Table 6: a line a domain, a column a model."""
        rows = tuple(
            (name, *(figure(self.figures[one.label][name]) for one in self.answers))
            for name in self.domains
        )
        caption = (
            f"Spearman times 100 by domain: mean over the pairs of the domain in each of "
            f"{self.settings['folds']} folds; leave-one-domain-out: over all pairs of a domain "
            "that nothing was learned from."
        )
        return Table(("domain", *(one.label for one in self.answers)), rows, caption)

    def _remarks(self) -> list[str]:
        remarks = []
        if recipe := self.settings.get("recipe"):
            limit = (
                f", at most {recipe['pairs']:,} training pairs a fold" if recipe["pairs"] else ""
            )
            remarks.append(
                f"fine-tuned: {Path(recipe['base']).name}, epochs: {recipe['epochs']}, pairs a "
                f"step: {recipe['batch']}{limit}"
            )
        remarks += [
            f"{label}: {count:,} test pairs have a sentence that a training pair of their fold has "
            f"too; without them {figure(self.apart[label])}"
            for label, count in self.shared.items()
        ]
        undefined = [
            f"{label}, {name}: {one.reason}"
            for label, figures in self.figures.items()
            for name, one in figures.items()
            if one.reason
        ]
        return [*remarks, *undefined, *self.data.notes]

    def text(self) -> str:
        """Both tables for a screen."""
        tables = [self.table(), *([self.by_domain()] if self.domains else [])]
        return "\n\n".join(table.text() for table in tables)

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
            "models": [
                {
                    "label": one.label,
                    "name": one.name,
                    "spearman": {
                        name: asdict(found) for name, found in self.figures[one.label].items()
                    },
                    "shared": self.shared.get(one.label),
                    "apart": asdict(self.apart[one.label]) if one.label in self.apart else None,
                }
                for one in self.answers
            ],
            "settings": {**self.settings, "confidence": CONFIDENCE},
            "firth": firth.__version__,
            "libraries": {name: importlib.metadata.version(name) for name in _LIBRARIES},
            "command": self.command,
        }

    def write(self, folder: str | Path) -> None:
        """Write `results.json`, `similarities.parquet`, and the tables as Markdown and LaTeX.

        Raises:
            InputError: The folder cannot be written.
        """
        folder = Path(folder)
        tables = {"table": self.table()} | ({"domains": self.by_domain()} if self.domains else {})
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._write_similarities(folder / SIMILARITIES)
            for name, table in tables.items():
                for ending, text in (("md", table.markdown()), ("tex", table.latex())):
                    with write_atomically(folder / f"{name}.{ending}") as partial:
                        partial.write_text(text, encoding="utf-8")
        except OSError as error:
            raise InputError(f"{folder}: cannot be written ({error.strerror})") from error
        write_document(folder / RESULTS, self.to_dict())

    def _write_similarities(self, path: Path) -> None:
        """A row a pair and model, without text: model, row (from 0), domain, score, similarity."""
        import numpy as np
        import pyarrow as pa
        import pyarrow.parquet as pq

        n, times = len(self.data.rows), len(self.answers)
        columns = {
            "model": [one.label for one in self.answers for _ in range(n)],
            "row": [*range(n)] * times,
            "domain": [row.subtask for row in self.data.rows] * times,
            "score": [row.score for row in self.data.rows] * times,
            "similarity": np.concatenate([one.similarities for one in self.answers]),
        }
        with write_atomically(path) as partial:
            pq.write_table(pa.table(columns), partial, compression="zstd")

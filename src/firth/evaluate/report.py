"""Several models on the same tasks: what is shown, and the folder that is written."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from firth.evaluate.comparison import Comparison
from firth.evaluate.document import document
from firth.evaluate.evaluation import Evaluation
from firth.evaluate.groups import GroupResult
from firth.evaluate.selection import LeftOut
from firth.run.errors import InputError, MissingExtraError
from firth.run.files import write_atomically, write_json
from firth.run.progress import note

RESULTS, SIMILARITIES = "results.json", "similarities.parquet"
MARKDOWN, LATEX, PLOTS = "table.md", "table.tex", "plots"
_SIDE_BY_SIDE = 4
"""Models that a screen has room for side by side."""


@dataclass(frozen=True)
class Report:
    """What several models scored on the same tasks.

    Attributes:
        evaluations: One a model.
        groups: Figures of models that differ in their seed only.
        differences: Paired differences to the model they were asked against.
        left_out: What `all` would have taken, and why it is not there.
        command: The command line, if there was one.
    """

    evaluations: tuple[Evaluation, ...]
    groups: tuple[GroupResult, ...] = ()
    differences: tuple[Comparison, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    command: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The JSON document as plain values (see `firth.evaluate.document`)."""
        return document(
            self.evaluations,
            groups=self.groups,
            differences=self.differences,
            left_out=self.left_out,
            command=self.command,
        )

    def to_json(self, path: str | Path) -> None:
        """Write `to_dict` to a file, atomically.

        Raises:
            InputError: The file cannot be written.
        """
        write_document(Path(path), self.to_dict())

    def text(self, *, subtasks: bool = False) -> str:
        """The figures for a screen, with groups, differences and notes below.

        A few models have a column each and every figure; more have a line each, and one figure a
        set.
        """
        from firth.evaluate.layout import lay_out
        from firth.evaluate.render import to_text
        from firth.evaluate.table import tabulate

        if len(self.evaluations) > _SIDE_BY_SIDE and not subtasks:
            notes = dict.fromkeys(note for one in self.evaluations for note in one.notes)
            lines = [to_text(lay_out(self)), *(f"({text})" for text in notes)]
        else:
            lines = [tabulate(self.evaluations, subtasks=subtasks)]
        lines += [str(group) for group in self.groups if subtasks or group.subtask == "all"]
        lines += [str(difference) for difference in self.differences]
        lines += [f"({item})" for item in self.left_out]
        return "\n".join(lines)

    def write(self, folder: str | Path) -> None:
        """Write `results.json`, `similarities.parquet`, `table.md`, `table.tex` and `plots/`.

        Without matplotlib there are no plots, and a note says so.

        Raises:
            InputError: The folder cannot be written.
        """
        from firth.evaluate.layout import lay_out
        from firth.evaluate.render import to_latex, to_markdown
        from firth.evaluate.saved import write_similarities

        folder = Path(folder)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            fingerprint = write_similarities(folder / SIMILARITIES, self.evaluations)
            layout = lay_out(self)
            for name, text in ((MARKDOWN, to_markdown(layout)), (LATEX, to_latex(layout))):
                with write_atomically(folder / name) as partial:
                    partial.write_text(text, encoding="utf-8")
            self._plot(folder / PLOTS)
        except OSError as error:
            raise InputError(f"{folder}: cannot be written ({error.strerror})") from error
        kept = {"file": SIMILARITIES, "fingerprint": fingerprint}
        write_document(folder / RESULTS, self.to_dict() | {"similarities": kept})

    def _plot(self, folder: Path) -> None:
        try:
            from firth.evaluate.plots import write_plots
        except MissingExtraError as error:
            note(str(error))
            return
        folder.mkdir(exist_ok=True)
        write_plots(folder, self)


def write_document(path: Path, value: dict[str, Any]) -> None:
    """Write plain values as JSON, atomically; raise `InputError` where that cannot be done."""
    try:
        write_json(path, value)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from error

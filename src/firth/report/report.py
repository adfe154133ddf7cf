"""Write the report of a run."""

from pathlib import Path

from firth.report.gather import gather_report
from firth.report.page import Report, write_page
from firth.run.files import claim_file
from firth.run.run import Run

_LEAD = (
    "What this run read, what it learned of it, and what that is worth. Sentences that are shown "
    "were drawn at random, not chosen."
)


def write_report(
    run: str | Path | Run,
    out: str | Path,
    *,
    evaluation: str | Path | None = None,
    seed: int | None = None,
    force: bool = False,
) -> Report:
    """Write what is to be known of a run as one page of HTML, which needs no other file.

    Args:
        run: The run, or its folder. Nothing in it is changed.
        out: File that is written.
        evaluation: Folder that `firth evaluate --out` wrote, or its `results.json`; None takes the
            run's own, if it has one.
        seed: Of the sentences that are drawn; None takes the run's.
        force: Replace `out`.

    Returns:
        What the page shows; `lacking` are the parts that the run has not.

    Raises:
        MissingExtraError: The extra `report` is not installed.
        MissingStageError: The run has no corpus.
        InputError: `out` is there, or `evaluation` is none.

    Example:
        >>> from firth import write_report
        >>> write_report("mine", "report.html").verdicts  # doctest: +SKIP
    """
    path, run = Path(out), Run.open(run)
    claim_file(path, force)
    given = None if evaluation is None else Path(evaluation)
    found = gather_report(run, run.path.resolve().name, _LEAD, evaluation=given, seed=seed)
    write_page(path, found)
    return found

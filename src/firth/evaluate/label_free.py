"""Which model is better here, without labels: any systems, on a run's documents or on others."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from firth.check.build import build_check, has_items, open_items
from firth.check.items import Item, make_items
from firth.check.measure import accuracies
from firth.check.report import CheckReport, compare
from firth.corpus.corpus import Corpus
from firth.evaluate.models import Model, select_systems
from firth.run.config import Config
from firth.run.errors import FirthError, InputError
from firth.run.progress import bar
from firth.run.run import Run

FLATTERED = "A system that was trained on these documents is flattered."


def check(
    models: Model | Sequence[Model],
    run: str | Path | Run | None = None,
    documents: str | Path | Sequence[str | Path] = (),
    *,
    items: int | None = None,
    against: str | None = None,
    seed: int | None = None,
    resamples: int = 1_000,
) -> CheckReport:
    """Say which of some models is better on documents, without labels.

    Args:
        models: What `evaluate` takes: runs, encoders' folders or names, `baseline:NAME`, or objects
            with `name` and `similarities(pairs)`. Each is opened, asked and let go.
        run: Its held-out documents are asked about; the stage `check` is built if need be.
        documents: Or files, folders, globs or `hub:NAME` of documents that no model was trained on.
        items: Most items of a kind; by default `check.items`. With it, or `seed`, the run stays as
            it is: items that it does not have are made for this call.
        against: The model that the others are compared with, as named; by default the first.
        seed: Of items and resamples; by default the run's (13).
        resamples: Behind each interval.

    Raises:
        InputError: Both or none of `run` and `documents`; no item can be made of them; a model
            cannot be opened, or gives odd similarities; `against` is none of the models.
        MissingStageError: The run has no corpus, or a model is a run that is not built far enough.

    Example:
        >>> import pathlib, tempfile
        >>> from firth import check
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> things = "ship cow tree stone king river bird horse road house cloud door".split()
        >>> text = " ".join(
        ...     f"The old {a} was seen near the small {b}." for a in things for b in things
        ... )
        >>> _ = (folder / "day.txt").write_text(text)
        >>> report = check(["baseline:dice", "baseline:tfidf"], documents=folder / "day.txt")
        >>> report.systems[0].accuracy["next"].value > 50
        True
    """
    if isinstance(models, str | Path) or not isinstance(models, Sequence):
        models = [models]
    if isinstance(documents, str | Path):
        documents = [documents]
    if (run is None) == (not documents):
        raise InputError("expected either a run (--run) or documents (--documents)")
    systems, left_out = select_systems(models)
    if against is not None and against not in [system.label for system in systems]:
        names = ", ".join(system.label for system in systems)
        raise InputError(f"--against {against}: expected one of {names}")
    if run is not None:
        run = Run.open(run)
        found = _items_of_run(run, items, seed)
        seed = run.config.seed if seed is None else seed
    else:
        seed = Config().seed if seed is None else seed
        found = _items_of_documents(documents, items, seed)
    measured, remarks = {}, [] if run is not None else [FLATTERED]
    with bar("Asking models", len(systems)) as shown:
        for system in systems:
            try:
                measured[system.label] = accuracies(system.open(), found)
            except FirthError as error:
                if not system.optional:
                    raise
                remarks.append(f"{system.label}: left out: {error}")
            shown.advance(status=system.label)
    remarks += [str(one) for one in left_out]
    return compare(
        measured, found, against=against, seed=seed, resamples=resamples, remarks=remarks
    )


def _items_of_run(run: Run, items: int | None, seed: int | None) -> list[Item]:
    held_out = Corpus.held_out(run)
    changed = run.changed({"seed": seed, "check": {"items": items}})
    if items is None and seed is None:
        build_check(run)
    if has_items(changed):
        found = open_items(run)
    else:
        found = make_items(held_out, changed.config.check, changed.config.seed)
    if not found:
        raise InputError(
            f"{run.path}: its {held_out.n_documents:,} held-out documents give no items. Build the "
            "corpus from more and longer documents, hold more of them out (firth corpus build "
            f"INPUT... --run {run.path} --set corpus.held_out=10), or name other documents: "
            "--documents FILE..."
        )
    return found


def _items_of_documents(
    documents: Sequence[str | Path], items: int | None, seed: int
) -> list[Item]:
    config = Config().changed({"check": {"items": items}}, "options").check
    with TemporaryDirectory() as folder:
        corpus = Corpus.build(documents, Path(folder) / "run", held_out=0)
        found = make_items(corpus, config, seed)
    if not found:
        raise InputError(
            f"{', '.join(map(str, documents))}: {corpus.n_documents:,} documents of "
            f"{len(corpus):,} sentences give no items; expected running text"
        )
    return found

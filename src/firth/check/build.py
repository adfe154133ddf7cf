"""The check stage: the items that the held-out documents of a run give."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from firth.check import CHECK
from firth.check.items import Item, Kind, make_items
from firth.corpus import CORPUS
from firth.corpus.corpus import Corpus
from firth.run.files import write_atomically
from firth.run.progress import note
from firth.run.run import Run
from firth.run.stage import Outcome, up_to_date

ITEMS = "items.parquet"
SETTINGS = ("check", "seed")


def build_check(run: Run) -> Outcome:
    """Make the items of a run's held-out documents, or reuse them; there may be none.

    Raises:
        MissingStageError: The run has no corpus.
    """
    outcome = run.build(CHECK, _fill, reads=[CORPUS], settings=SETTINGS)
    if message := outcome.manifest.summary.get("note"):
        note(f"check: {message}")
    return outcome


def has_items(run: Run) -> bool:
    """Whether a run's items are those that would be made now; nothing is written."""
    wanted = run.wanted(CHECK, _fill.__module__, [CORPUS], SETTINGS)
    return up_to_date(run.path / CHECK.name, wanted) is not None


def open_items(run: str | Path | Run) -> list[Item]:
    """The items of a run; raise `MissingStageError` if they are not built."""
    import pyarrow.parquet as pq

    rows = pq.read_table(Run.open(run).folder(CHECK) / ITEMS).to_pylist()
    return [Item(Kind(row.pop("kind")), others=tuple(row.pop("others")), **row) for row in rows]


def _fill(run: Run, workspace: Path) -> Mapping[str, Any]:
    corpus = Corpus.held_out(run)
    items = make_items(corpus, run.config.check, run.config.seed)
    _write(workspace / ITEMS, items)
    counts = Counter(item.kind for item in items)
    summary: dict[str, Any] = {
        "documents": corpus.n_documents,
        "items": {kind.value: counts[kind] for kind in Kind},
    }
    if not items:
        summary["note"] = (
            f"no item can be made of {corpus.n_documents:,} held-out document(s): without labels, "
            "nothing can be said of models here"
        )
    return summary


def _write(path: Path, items: Sequence[Item]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = {"others": pa.list_(pa.string()), "document": pa.int64(), "hard": pa.bool_()}
    names = ("kind", "document", "sentence", "right", "others", "hard")
    columns = {
        name: pa.array([getattr(item, name) for item in items], kinds.get(name, pa.string()))
        for name in names
    }
    with write_atomically(path) as partial:
        pq.write_table(pa.table(columns), partial)

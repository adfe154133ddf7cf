"""Figures of the pages: a benchmark writes each table as JSON, and the pages show it.

usage: python benchmarks/figures.py

Writes every table of `benchmarks/figures/*.json` between `<!-- figures: NAME -->` and
`<!-- end -->` of README and the pages. A benchmark calls `record`. The table `older`
is made here: figures that were measured with other versions of stages than those of today's code.
"""

import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from firth.evaluation.bootstrap import Estimate
from firth.pipeline.stages import STAGES
from firth.run.files import write_text

ROOT = Path(__file__).parents[1]
STORED = Path(__file__).with_name("figures")
VERSIONS = Path(__file__).with_name("versions.json")
"""Versions of stages at commits whose figures do not have them."""
OLDER = "older"
_TABLE = re.compile(r"(<!-- figures: (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)

Cell = Estimate | float | int | str | None


def record(
    name: str,
    columns: Sequence[str],
    rows: Mapping[str, Sequence[Cell]],
    *,
    command: str,
    data: str,
    seed: int = 13,
) -> None:
    """Write the table `name` with what is needed to measure it again.

    Args:
        name: Name of the file, and of the table in the pages.
        columns: Headings, at most six, that of the rows' names first.
        rows: Cells of each row by its name. An `Estimate` is shown with its interval.
        command: The command that measured the cells, with the names of public files.
        data: The corpus, the sets and the number of their rows.
        seed: Seed of the models and of the bootstrap.

    Raises:
        ValueError: If a row has more or fewer cells than there are columns.
    """
    for row, cells in rows.items():
        if len(cells) != len(columns) - 1:
            raise ValueError(f"row {row!r} has {len(cells)} cells for {len(columns) - 1} columns")
    document = {
        "command": command,
        "data": data,
        "seed": seed,
        "commit": _git("rev-parse", "--short", "HEAD"),
        "date": date.today().isoformat(),
        "stages": versions(),
        "machine": f"{os.cpu_count()} cores, Python {platform.python_version()}",
        "columns": list(columns),
        "rows": {row: [_stored(cell) for cell in cells] for row, cells in rows.items()},
    }
    write_text(STORED / f"{name}.json", json.dumps(document, indent=1, ensure_ascii=False) + "\n")


def shown(cell: Any) -> str:
    """Return a stored cell as text: `76.7 [74.1, 79.1]`, `1,379`, `0.30` or `-`."""
    if isinstance(cell, dict):
        return str(Estimate(cell["value"], cell["low"], cell["high"], cell["n"]))
    if isinstance(cell, int):
        return f"{cell:,}"
    return "-" if cell is None else str(cell)


def versions() -> dict[str, int]:
    """Return the version of each stage of a run, in today's code."""
    return {stage.name: stage.version for stage in STAGES}


def older() -> str:
    """Return the figures that were measured with other stages than today's, in Markdown."""
    today, known = versions(), json.loads(VERSIONS.read_text(encoding="utf-8"))
    groups: dict[str, list[str]] = {}
    for file in sorted(STORED.glob("*.json")):
        stored = json.loads(file.read_text(encoding="utf-8"))
        if not stored["commit"]:  # They are published figures.
            continue
        measured = stored.get("stages", known.get(stored["commit"]))
        changed = "not stored"
        if measured is not None:
            others = {name: v for name, v in measured.items() if today.get(name, v) != v}
            changed = ", ".join(f"{name} {v}" for name, v in sorted(others.items()))
        if changed:
            groups.setdefault(changed, []).append(f"`{file.stem}`")
    lines = [["versions then", "tables"], ["---", "---"]]
    lines += [[changed, ", ".join(names)] for changed, names in sorted(groups.items())]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def table(name: str) -> str:
    """Return the stored table `name` in Markdown."""
    if name == OLDER:
        return older()
    stored = json.loads((STORED / f"{name}.json").read_text(encoding="utf-8"))
    lines = [stored["columns"], ["---"] * len(stored["columns"])]
    lines += [[row, *map(shown, cells)] for row, cells in stored["rows"].items()]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def with_tables(text: str) -> str:
    """Return the text of a page with every table as it is stored, or empty if it is not."""

    def shown_table(found: re.Match[str]) -> str:
        stored = found[2] == OLDER or (STORED / f"{found[2]}.json").is_file()
        return found[1] + (table(found[2]) if stored else "") + found[3]

    return _TABLE.sub(shown_table, text)


def pages() -> list[Path]:
    """Return README and the pages of docs/."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def _stored(cell: Cell) -> Any:
    """Return a cell as JSON: an estimate with one decimal, the precision that is shown."""
    if not isinstance(cell, Estimate):
        return cell
    value, low, high = (
        None if one is None else round(one, 1) for one in (cell.value, cell.low, cell.high)
    )
    return {"value": value, "low": low, "high": high, "n": cell.n}


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


if __name__ == "__main__":
    for page in pages():
        before = page.read_text(encoding="utf-8")
        if (after := with_tables(before)) != before:
            write_text(page, after)
            sys.stdout.write(f"{page.relative_to(ROOT)}\n")

"""What cannot be used of what is read: counted by reason, and listed."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TextIO

from firth.corpus.inputs import Problem, Source
from firth.corpus.store import Document
from firth.run.errors import InputError

MAX_LISTED = 1_000
"""Problems listed in a file; all are counted."""
_SHOWN = 3


class Skips:
    """Counts problems and lists the first of them; with `strict`, stops at the first."""

    def __init__(self, listed: TextIO, strict: bool) -> None:
        self._listed, self._strict = listed, strict
        self._first: list[str] = []
        self.reasons: Counter[str] = Counter()
        self.total = 0

    def add(self, problem: Problem) -> None:
        """Count a problem; raise `InputError` where it is to be strict."""
        if self._strict:
            raise InputError(
                f"{problem}. Without --strict (corpus.strict), bad records are skipped and counted."
            )
        if self.total < MAX_LISTED:
            entry = {
                "file": problem.source,
                "line": problem.line,
                "reason": problem.reason.value,
                "detail": problem.detail,
            }
            self._listed.write(json.dumps(entry) + "\n")
        if len(self._first) < _SHOWN:
            self._first.append(str(problem))
        self.reasons[problem.reason.value] += 1
        self.total += 1

    def explained(self) -> str:
        """What the first of them were; "" of none."""
        if not self.total:
            return ""
        first = "".join(f"\n  - {where}" for where in self._first)
        more = f"\n  and {self.total - _SHOWN:,} more" if self.total > _SHOWN else ""
        return f": {self.total:,} bad record(s){first}{more}"


def usable(
    items: Iterable[Document | Problem | Source], skips: Skips, flaws: Skips
) -> Iterator[Document | Source]:
    """What is no problem among some items; problems go to `skips`, bad dates to `flaws`."""
    for item in items:
        if isinstance(item, Problem):
            skips.add(item)
            continue
        if isinstance(item, Document) and item.record.flaw is not None:
            flaws.add(item.record.flaw)
        yield item

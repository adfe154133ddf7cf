"""What is done with duplicates: documents without them, and a sample that a person judges."""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from firth.corpus.corpus import Corpus
from firth.evaluation.files import read_table
from firth.run.console import plural
from firth.run.errors import InputError
from firth.run.outputs import claim_output, write_file, write_json_lines
from firth.run.run import Run
from firth.run.settings import derive_seed
from firth.search.duplicates import Duplicates, Member
from firth.text.near import Kind

_COLUMNS = ("match", "kind", "score", "text1", "text2", "place1", "place2")
_ANSWERS = {"1": True, "yes": True, "y": True, "0": False, "no": False, "n": False}


@dataclass(frozen=True)
class Cleaned:
    """The files of `write_cleaned`, and what is in them.

    `kept` documents stay, and `removed` ones have nothing left; `members` sentences, or documents,
    were dropped.
    """

    documents: Path
    dropped: Path
    kept: int
    removed: int
    members: int

    def text(self) -> str:
        """Return all of it in a sentence."""
        return (
            f"{self.documents}: {plural(self.kept, 'document')}; {self.members:,} duplicates "
            f"dropped ({self.dropped}), which left {plural(self.removed, 'document')} empty"
        )


def dropped_file(out: Path) -> Path:
    """Return the file of what `write_cleaned` drops."""
    return out.with_name(f"{out.stem}.dropped.jsonl")


def write_cleaned(
    run: str | Path | Run, result: Duplicates, out: str | Path, force: bool = False
) -> Cleaned:
    """Write the documents of a run without duplicates, as JSON Lines that `firth build` reads.

    Every member of a group is dropped, and its representative stays. What is related stays, too.
    `OUT.dropped.jsonl` has a line for each text that was dropped. With sentences,
    documents that have the words of another one are dropped, too.
    """
    out, corpus = Path(out), Corpus.open(run, "all")
    dropped = dropped_file(out)
    for path in (out, dropped):
        claim_output(path, force)
    gone = {member.number for group in result.groups for member in group.members}
    kept = 0

    def lines() -> Iterator[dict[str, Any]]:
        nonlocal kept
        bounds = corpus.document_bounds.tolist()
        for d, owner in enumerate(corpus.owners.tolist() if whole else range(corpus.n_documents)):
            sentences = range(bounds[owner], bounds[owner + 1])
            numbers = [i for i in sentences if (d if whole else i) not in gone]
            if not numbers:
                continue
            kept += 1
            paragraphs: dict[int, list[str]] = {}
            owners = corpus.paragraph_of(numbers).tolist()
            for owner, text in zip(owners, corpus.texts(numbers), strict=True):
                paragraphs.setdefault(owner, []).append(text)
            known = corpus.document(d)
            text = "\n\n".join(" ".join(some) for some in paragraphs.values())
            named = {"id": known.id, "title": known.title, "date": known.date, "text": text}
            yield {**known.fields, **{name: value for name, value in named.items() if value}}

    def reasons() -> Iterator[dict[str, Any]]:
        for group in result.groups:
            for member in group.members:
                yield {
                    **_named(member),
                    "kept": _named(group.representative),
                    "kind": member.kind.value,
                    "boilerplate": group.boilerplate,
                    "score": round(member.score, 4),
                    "why": member.evidence,
                }
        for copy in range(corpus.n_documents, corpus.n_documents if whole else len(corpus.owners)):
            first = corpus.document(int(corpus.owners[copy])).id
            yield {
                "document": corpus.document(copy).id,
                "sentence": 0,
                "kept": {"document": first, "sentence": 0},
                "kind": Kind.EXACT.value,
                "why": "the same words",
            }

    whole = result.unit == "document"
    write_json_lines(out, lines(), force)
    write_json_lines(dropped, reasons(), force)
    return Cleaned(out, dropped, kept, len(corpus.owners) - kept, len(gone))


def _named(member: Member) -> dict[str, Any]:
    return {"document": member.document, "sentence": member.sentence, "text": member.text}


@dataclass(frozen=True)
class Review:
    """How many of the judged pairs match, and the Wilson interval of that share (95 %)."""

    judged: int
    right: int
    low: float
    high: float

    def text(self) -> str:
        """Return all of it in a sentence."""
        return (
            f"{self.right} of {self.judged} judged pairs match: the precision of what is not exact "
            f"is {self.right / self.judged:.0%} [{self.low:.0%}, {self.high:.0%}]"
        )


def write_review(result: Duplicates, count: int, path: Path, seed: int, force: bool = False) -> int:
    """Write a random sample of at most `count` matches that are not exact, and return its size.

    The file has comma-separated values, and its name ends in `.csv`. Its column `match` takes 1
    or 0.
    """
    if path.suffix != ".csv":
        raise InputError(f"{path}: a sample for review has a name that ends in .csv")
    pairs = [
        (group, member)
        for group in result.groups
        for member in group.members
        if member.kind is not Kind.EXACT
    ]
    rng = np.random.default_rng(derive_seed(seed, "review"))
    chosen = rng.permutation(len(pairs))[:count].tolist()

    def write(partial: Path) -> None:
        with partial.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(_COLUMNS)
            for group, member in (pairs[i] for i in chosen):
                first = group.representative
                texts = (first.text, member.text, first.place, member.place)
                writer.writerow(["", member.kind.value, f"{member.score:.3f}", *texts])

    write_file(path, write, force)
    return len(chosen)


def read_review(path: Path) -> Review:
    """Read a sample that a person has judged."""
    table = read_table(path)
    if "match" not in table.header:
        raise InputError(f"{path}: expected a file of `firth duplicates --review`")
    given = [row["match"].strip().lower() for _, row in table.records]
    if wrong := sorted({value for value in given if value and value not in _ANSWERS}):
        raise InputError(f"{path}: column match has {wrong[0]!r}; expected 1 or 0")
    judged = [_ANSWERS[value] for value in given if value]
    if not judged:
        raise InputError(
            f"{path}: nothing is judged. Fill its column `match` with 1 or 0, and call this again; "
            "--force writes a new sample"
        )
    from scipy.stats import binomtest

    interval = binomtest(sum(judged), len(judged)).proportion_ci(method="wilson")
    return Review(len(judged), sum(judged), float(interval.low), float(interval.high))

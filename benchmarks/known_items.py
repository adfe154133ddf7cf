"""Texts of this machine whose first line says what they are about: sets for search, no download.

usage: python benchmarks/known_items.py FOLDER
       python benchmarks/search.py --work WORK --known FOLDER/{packages,docstrings,manual}.jsonl.gz

The line is the title, and the rest is the text: descriptions of Debian packages, docstrings of the
Python packages beside firth, and pages of the manual. What the machine lacks is left out.
"""

import argparse
import ast
import gzip
import json
import re
import subprocess
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from random import Random

import numpy

SEED = 29
STATUS, MANUAL = Path("/var/lib/dpkg/status"), Path("/usr/share/man")
SECTIONS, DASH = "13578", re.compile(r" [-\u2010-\u2014\u2212]+ ")
LONGEST = 3_000
"""Words of a text."""
COUNTS = {"packages": 1_000, "docstrings": 1_500, "manual": 400}
Item = tuple[str, str, str]
"""Id, title, text."""


def packages() -> Iterator[Item]:
    """Yield the installed packages of Debian: short and long description."""
    known = STATUS.read_text(errors="replace") if STATUS.is_file() else ""
    for block in known.split("\n\n"):
        name = re.search(r"^Package: (\S+)$", block, re.M)
        said = re.search(r"^Description: (.*)\n((?: .*\n?)*)", block, re.M)
        if name and said:
            lines = (line.strip() for line in said[2].split("\n"))
            yield name[1], said[1], " ".join(line for line in lines if line != ".")


def docstrings() -> Iterator[Item]:
    """Yield the classes and functions of installed packages: first paragraph and the rest."""
    site = Path(numpy.__file__).parents[1]
    files = sorted(file for file in site.rglob("*.py") if "test" not in str(file.relative_to(site)))
    for file in Random(SEED).sample(files, len(files)):
        try:
            tree = ast.parse(file.read_text())
        except (SyntaxError, ValueError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                title, _, text = (ast.get_docstring(node) or "").partition("\n\n")
                yield f"{file.relative_to(site)}:{node.lineno}", title, text


def manual() -> Iterator[Item]:
    """Yield pages of the manual: what the line of the name says, and what follows it."""
    places = {file.resolve() for digit in SECTIONS for file in MANUAL.glob(f"man{digit}/*.gz")}
    # One program brings most of them.
    files = sorted(file for file in places if not file.name.startswith("gcloud"))
    for file in Random(SEED).sample(files, len(files)):
        command = ["man", "--no-hyphenation", "--no-justification", "-l", str(file)]
        shown = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        shown = re.sub(r".\x08", "", shown)  # Bold letters are written twice.
        named = re.search(r"^NAME\n(.*?)(?=^\S)", shown, re.M | re.S)
        if named:
            title = DASH.split(" ".join(named[1].split()), maxsplit=1)[-1]
            yield file.name, title, shown[named.end() :]


def items(rows: Iterator[Item]) -> Iterator[dict[str, str]]:
    """Yield those with a title of 3 to 30 words and at least 40 words of text, each title once."""
    seen = set[str]()
    for name, title, text in rows:
        words, title = text.split()[:LONGEST], " ".join(title.split())
        if len(words) >= 40 and 3 <= len(title.split()) <= 30 and title not in seen:
            seen.add(title)
            yield {"id": name, "title": title, "text": " ".join(words)}


def main() -> None:
    """Write a file for each kind."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    for kind in (packages, docstrings, manual):
        name = kind.__name__
        with gzip.open(folder / f"{name}.jsonl.gz", "wt") as lines:
            for row in islice(items(kind()), COUNTS[name]):
                lines.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()

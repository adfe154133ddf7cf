"""Stages on disk: atomic writes, fingerprints, and manifests that make a run resumable.

A stage is built in a hidden workspace beside its final folder. When it is complete, every file is
synced, `manifest.json` is written last, and the workspace is renamed into place. A stage whose
manifest asks for the same inputs, configuration and code is reused; a workspace left behind by an
interrupted run with the same request is continued.
"""

import ast
import hashlib
import importlib.metadata
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from firth.errors import InputError

MANIFEST = "manifest.json"
SCRATCH = "scratch"
_REQUEST = "request.json"
_BLOCK = 1 << 20


def check_writable(path: Path) -> None:
    """Find out before any work starts whether the file `path` can be written at the end of it.

    Raises:
        InputError: `path` is a folder, or its own folder does not exist or cannot be written to.
    """
    folder = path.parent
    if path.is_dir():
        raise InputError(f"{path}: a folder; expected the name of a file")
    if not folder.is_dir():
        raise InputError(f"{path}: cannot be written: no such folder {folder}. Make it first")
    if not os.access(folder, os.W_OK):
        raise InputError(f"{path}: cannot be written: no permission to change {folder}")


@contextmanager
def write_atomically(path: Path) -> Iterator[Path]:
    """Yield a path beside `path` to write to; sync it and rename it onto `path` on success."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        yield partial
        _sync(partial)
        os.replace(partial, path)
        _sync(path.parent)
    finally:
        partial.unlink(missing_ok=True)


def write_json(path: Path, value: object) -> None:
    """Write `value` atomically as UTF-8 JSON; equal values give equal bytes."""
    with write_atomically(path) as partial:
        text = json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False)
        partial.write_text(text + "\n", encoding="utf-8")


def read_json(path: Path) -> Any:
    """Read a JSON file; raise `InputError` naming the file and line where it is broken."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        line = getattr(error, "lineno", "?")
        raise InputError(f"{path}, line {line}: not valid JSON ({error})") from error


def fingerprint_file(path: Path) -> str:
    """BLAKE2b-160 of a file's bytes, hexadecimal."""
    digest = hashlib.blake2b(digest_size=20)
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def fingerprint_value(value: object) -> str:
    """BLAKE2b-160 of a value's canonical JSON, hexadecimal."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=20).hexdigest()


@cache
def fingerprint_code(*parts: str) -> str:
    """Fingerprint of firth's own source in `parts` (packages or modules of `firth`).

    Comments, docstrings and layout do not count: only a change of what runs makes a stage stale.
    """
    digest = hashlib.blake2b(digest_size=20)
    for part in sorted(parts):
        digest.update(_what_runs(part))
    return digest.hexdigest()


@cache
def _what_runs(part: str) -> bytes:
    # Kept, since most stages share parts and parsing takes longest.
    root = Path(__file__).parent
    folder = root / part
    files = sorted(folder.rglob("*.py")) if folder.is_dir() else [root / f"{part}.py"]
    found = []
    for file in files:
        tree = ast.parse(file.read_text(encoding="utf-8"))
        found.append(file.relative_to(root).as_posix() + ast.dump(_without_docstrings(tree)))
    return "".join(found).encode()


def _without_docstrings(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                node.body = node.body[1:]
    return tree


@dataclass(frozen=True)
class Stage:
    """One step of a run: a folder, the code that decides its bytes, and how to build it.

    Attributes:
        name: Folder of the stage inside the run; `baselines/cbos` is a folder in a folder.
        code: Packages and modules of `firth` whose source is part of the fingerprint.
        command: What a user types to build the stage, for error messages.
        libraries: Distributions whose versions are part of the fingerprint.
    """

    name: str
    code: tuple[str, ...]
    command: str
    libraries: tuple[str, ...] = ()


@dataclass(frozen=True)
class Manifest:
    """What a finished stage was made from, and what it consists of. Written last.

    Attributes:
        stage: Name of the stage.
        request: Fingerprint of inputs, configuration, code and library versions together.
        inputs: Name → fingerprint of everything read.
        config: The part of the configuration that decided the result, seed included.
        code: Fingerprint of the deciding source.
        libraries: Distribution → version.
        outputs: Relative path → fingerprint of each file.
        summary: Figures worth showing (counts, losses); never times, which would differ by run.
    """

    stage: str
    request: str
    inputs: Mapping[str, str]
    config: Mapping[str, Any]
    code: str
    libraries: Mapping[str, str]
    outputs: Mapping[str, str] = field(default_factory=dict)
    summary: Mapping[str, Any] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """Fingerprint of the outputs: what later stages name as their input."""
        return fingerprint_value(dict(self.outputs))

    @classmethod
    def read(cls, folder: Path) -> "Manifest | None":
        """Read the manifest of a stage folder; None when the stage is absent or incomplete."""
        path = folder / MANIFEST
        return cls(**read_json(path)) if path.is_file() else None


@dataclass(frozen=True)
class Outcome:
    """A stage that is in place: its manifest, and whether it was already there."""

    manifest: Manifest
    reused: bool


Build = Callable[[Path], Mapping[str, Any]]
"""Fills a workspace and returns the summary. Checkpoints go to `workspace / SCRATCH`."""


def execute(
    run: Path, stage: Stage, *, inputs: Mapping[str, str], config: Mapping[str, Any], build: Build
) -> Outcome:
    """Bring `stage` up to date in the folder `run`: reuse it, continue it, or build it.

    `build(workspace)` must be deterministic given inputs and configuration, and may continue from
    what an interrupted call left in `workspace` (files it finds there belong to the same request).
    """
    final = run / stage.name
    workspace = final.with_name(f".{final.name}.work")
    libraries = {name: importlib.metadata.version(name) for name in stage.libraries}
    wanted = Manifest(
        stage=stage.name,
        request="",
        inputs=dict(inputs),
        config=dict(config),
        code=fingerprint_code(*stage.code),
        libraries=libraries,
    )
    request = fingerprint_value(asdict(wanted))
    if (found := Manifest.read(final)) and found.request == request and _intact(final, found):
        shutil.rmtree(workspace, ignore_errors=True)
        return Outcome(found, reused=True)

    finished = Manifest.read(workspace) if workspace.is_dir() else None
    if finished is None or finished.request != request:
        finished = _build(workspace, wanted, request, build)
    _move_into_place(workspace, final)
    return Outcome(finished, reused=False)


def _build(workspace: Path, wanted: Manifest, request: str, build: Build) -> Manifest:
    marker = workspace / _REQUEST
    if not marker.is_file() or read_json(marker) != request:
        shutil.rmtree(workspace, ignore_errors=True)
        workspace.mkdir(parents=True)
        write_json(marker, request)
    for torn in workspace.rglob(".*.partial"):
        torn.unlink()
    summary = dict(build(workspace))
    shutil.rmtree(workspace / SCRATCH, ignore_errors=True)
    marker.unlink()
    outputs = {}
    for path in sorted(p for p in workspace.rglob("*") if p.is_file()):
        path.chmod(0o644)  # some libraries write files that only their owner can read
        _sync(path)
        outputs[path.relative_to(workspace).as_posix()] = fingerprint_file(path)
    manifest = Manifest(
        **{**asdict(wanted), "request": request, "outputs": outputs, "summary": summary}
    )
    write_json(workspace / MANIFEST, asdict(manifest))
    return manifest


def _move_into_place(workspace: Path, final: Path) -> None:
    stale = final.with_name(f".{final.name}.stale")
    shutil.rmtree(stale, ignore_errors=True)
    if final.exists():
        os.replace(final, stale)
    os.replace(workspace, final)
    _sync(final.parent)
    shutil.rmtree(stale, ignore_errors=True)


def _intact(folder: Path, manifest: Manifest) -> bool:
    return all((folder / name).is_file() for name in manifest.outputs)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

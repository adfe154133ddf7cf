"""A run in a store: what `firth push` puts there, and `firth pull` brings back.

Below its address lie

- `objects/FINGERPRINT`: files, each called after its bytes, so that none is ever changed;
- `commits/00000001.json` and so on: what the run consists of, as fingerprints of its `config.yaml`
  and of the manifest of each stage, which holds those of the stage's files.

Objects are put first; the commit last, under the next number, if nobody has put it yet. So no
rename is needed and no lock: a reader sees the commit before or the commit after, each with all its
files, and of two machines that push at once one is told.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from firth.run.config import Config, read_yaml
from firth.run.errors import DamagedError, InputError
from firth.run.files import (
    fingerprint_bytes,
    fingerprint_file,
    is_inside,
    read_json,
    write_atomically,
    write_json,
)
from firth.run.incoming import Incoming
from firth.run.run import CONFIG, Run
from firth.run.screen import plural
from firth.run.stage import MANIFEST, Manifest
from firth.run.store import Store, Transfer

_COMMITS, _OBJECTS = "commits", "objects"
_COMMIT = re.compile(rf"{_COMMITS}/(\d{{8}})\.json")
_OBJECT = re.compile(rf"{_OBJECTS}/[0-9a-f]{{40}}")
_SYNCED = ".store.json"
"""In a run: with which commit of which store it was last the same."""
_SHOWN = 5


@dataclass(frozen=True)
class Exchanged:
    """What went from a run to a store, or back.

    Attributes:
        run: Folder of the run.
        address: Of the store.
        pushed: Whether it went to the store.
        commit: Number of the commit that both have now.
        stages: Which of them went.
        files: How many files went; what was there already did not.
        bytes: Theirs.
        pruned: How many objects of earlier commits were removed.
    """

    run: Path
    address: str
    pushed: bool
    commit: int
    stages: tuple[str, ...]
    files: int
    bytes: int
    pruned: int = 0

    def text(self) -> str:
        """In a sentence or two."""
        here, there = str(self.run), self.address
        way = f"{here} to {there}" if self.pushed else f"{there} to {here}"
        what = ", ".join(self.stages) if self.stages else "nothing was new"
        size = f"{plural(self.files, 'file')}, {self.bytes:,} bytes"
        pruned = f" Removed there: {plural(self.pruned, 'object')}." if self.pruned else ""
        return f"From {way}: {what} ({size}). Commit {self.commit}.{pruned}"

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {**asdict(self), "run": str(self.run), "stages": list(self.stages)}


@dataclass(frozen=True)
class _Commit:
    """What a run consists of.

    Attributes:
        number: From 1.
        files: Path of `config.yaml` and of each manifest → fingerprint.
    """

    number: int
    files: Mapping[str, str]

    @property
    def name(self) -> str:
        return f"{_COMMITS}/{self.number:08}.json"

    @property
    def content(self) -> bytes:
        return json.dumps({"files": self.files}, indent=2, sort_keys=True).encode()

    @classmethod
    def last(cls, store: Store) -> "_Commit | None":
        """The last one of a store; None where there is none.

        Raises:
            DamagedError: It is none of firth's, or was cut off.
        """
        found = map(_COMMIT.fullmatch, store.objects(_COMMITS))
        number = max((int(match[1]) for match in found if match), default=0)
        if not number:
            return None
        name = cls(number, {}).name
        where = f"{store.address}/{name}"
        try:
            stored = json.loads(store.read(name) or b"")
        except (ValueError, RecursionError):
            stored = None
        files = stored.get("files") if isinstance(stored, dict) else None
        if (
            not isinstance(files, dict)
            or CONFIG not in files
            or not all(map(_is_committed, files.items()))
        ):
            raise DamagedError(
                f"{where}: not a commit of firth's. If nobody is pushing now, remove it, and the "
                "one before it counts"
            )
        return cls(number, files)


def push(
    run: str | Path | Run, address: str, *, force: bool = False, prune: bool = False
) -> Exchanged:
    """Put a run into a store: its configuration and all that is built, with what is there already
    left out.

    Stopped anywhere, the store has the run as it was; the same call goes on.

    Args:
        run: The run; no other process may build it meanwhile.
        address: Where, as `s3://bucket/my-run`; a folder will do.
        force: Whether a run there may be replaced that is not the one last pulled or pushed here.
        prune: Remove what earlier commits needed and the last one does not. Whoever is pulling one
            of those has to start again.

    Raises:
        InputError: There is no run here; the store cannot be reached; or another machine has pushed
            since.
        DamagedError: A file of the run is not as it was written.

    Example:
        >>> from firth import push
        >>> push("run", "s3://bucket/my-run").text()  # doctest: +SKIP
    """
    run, store = Run.open(run), Store(address)
    with run.locked():
        files, objects = _contents(run)
        last = _Commit.last(store)
        sent: list[Transfer] = []
        stages: list[str] = []
        if last is None or last.files != files:
            if last is not None and not force and _synced(run.path, store) != last:
                raise InputError(_overtaken(store, run.path, last.number))
            stages = _stages(files, last.files if last else {})
            sent = _send(store, objects)
            last = _Commit(last.number + 1 if last else 1, files)
            if not store.create(last.name, last.content):
                raise InputError(_overtaken(store, run.path, last.number))
        _note(run.path, store, last)
        pruned = _prune(store, last, {*objects}) if prune else 0
    size = sum(each.size for each in sent)
    return Exchanged(
        run.path, store.address, True, last.number, tuple(stages), len(sent), size, pruned
    )


def pull(address: str, run: str | Path, *, force: bool = False) -> Exchanged:
    """Bring a run here from a store; what is here already and whole is not fetched.

    Everything is fetched beside the run's stages and compared with its fingerprints, and only then
    takes their places. Stopped anywhere, every stage here is whole; the same call goes on.

    Args:
        address: Where `push` put it.
        run: Folder; a run that was pulled or pushed before is brought up to date. Stages that the
            store does not have stay.
        force: Whether stages and settings may be replaced that were changed here since.

    Raises:
        InputError: There is no run; the store cannot be reached; something was changed here, or
            firth did not write what is in the way.
        DamagedError: An object is not as it was put. Nothing was changed here.

    Example:
        >>> from firth import pull
        >>> pull("s3://bucket/my-run", "run").text()  # doctest: +SKIP
    """
    store, folder = Store(address), Path(run)
    last = _Commit.last(store)
    if last is None:
        raise InputError(f"{store.address}: no run there; expected one that firth push has put")
    with Run(folder, Config()).locked():
        here = _files(folder)
        before = _synced(folder, store)
        known = before.files if before else {}
        changed = [name for name, there in last.files.items()
                   if name in here and here[name] not in (there, known.get(name))]  # fmt: skip
        if changed and not force:
            raise InputError(
                f"{folder}: {_listed(changed)} changed here, and differ in {store.address}. Push "
                "this run to another address, or lose the changes: --force"
            )
        config = _config(store, last, folder) if here.get(CONFIG) != last.files[CONFIG] else None
        coming = _coming(store, last, folder, here)
        fetched = [
            Transfer(_object(each.manifest.outputs[name]["blake2b"]), path,
                     each.manifest.outputs[name]["bytes"])
            for each in coming
            for name, path in each.missing().items()
        ]  # fmt: skip
        store.fetch(fetched, "Fetching (bytes)")
        for each in coming:
            if damage := each.damage():
                raise DamagedError(
                    f"{store.address}: {each.final.name}: {'; '.join(damage)}. Nothing was "
                    "changed here. Remove its object there, and push again from a machine on which "
                    "the run is whole"
                )
        for each in coming:
            each.place()
        if config is not None:
            with write_atomically(folder / CONFIG) as partial:
                partial.write_bytes(config)
        _note(folder, store, last)
    stages = [each.final.relative_to(folder).as_posix() for each in coming]
    stages += [] if config is None else [CONFIG]
    size = sum(each.size for each in fetched)
    return Exchanged(folder, store.address, False, last.number, tuple(stages), len(fetched), size)


def _files(folder: Path) -> dict[str, str]:
    """What a commit of a run would be made of; whatever lies beside its stages is not."""
    paths = [path for path in Run(folder, Config()).manifests() if path.parent != folder]
    if (folder / CONFIG).is_file():
        paths.append(folder / CONFIG)
    return {path.relative_to(folder).as_posix(): fingerprint_file(path) for path in paths}


def _contents(run: Run) -> tuple[dict[str, str], dict[str, Transfer]]:
    """What a commit is made of, and by its name every object that it needs."""
    files, objects = _files(run.path), {}
    for name, fingerprint in files.items():
        path = run.path / name
        there = _object(fingerprint)
        objects[there] = Transfer(there, path, path.stat().st_size)
        manifest = Manifest.read(path.parent) if path.name == MANIFEST else None
        for output, known in manifest.outputs.items() if manifest else ():
            there = _object(known["blake2b"])
            objects[there] = Transfer(there, path.parent / output, known["bytes"])
    return files, objects


def _send(store: Store, objects: Mapping[str, Transfer]) -> list[Transfer]:
    there = store.objects(_OBJECTS)
    missing = [
        each
        for name, each in objects.items()
        if name not in there or there[name].size != each.size  # a put that was cut off
    ]
    for each in missing:
        if not each.path.is_file() or _object(fingerprint_file(each.path)) != each.name:
            raise DamagedError(
                f"{each.path}: damaged; nothing was pushed. firth check-run names all that is, and "
                "the command of its stage builds it again"
            )
    store.put(missing, "Sending (bytes)")
    return missing


def _prune(store: Store, last: _Commit, needed: set[str]) -> int:
    commits = [name for name in store.objects(_COMMITS) if _COMMIT.fullmatch(name)]
    if max(commits, default="") > last.name:
        raise InputError(_overtaken(store, Path("it"), last.number + 1))
    store.remove([name for name in commits if name < last.name])
    loose = [
        name for name in store.objects(_OBJECTS) if _OBJECT.fullmatch(name) and name not in needed
    ]
    store.remove(loose)
    return len(loose)


def _coming(store: Store, last: _Commit, folder: Path, here: Mapping[str, str]) -> list[Incoming]:
    """The stages of a commit that are not here, or are damaged."""
    found = []
    for name, fingerprint in last.files.items():
        if name == CONFIG:
            continue
        final = (folder / name).parent
        if here.get(name) == fingerprint:
            same = Manifest.read(final)
            if same is not None and not same.damage(final, bytes_too=True):
                continue
        written, where = _read(store, fingerprint)
        try:
            stored = json.loads(written)
        except (ValueError, RecursionError) as error:
            raise DamagedError(f"{where}: not a manifest of firth's") from error
        found.append(Incoming(final, Manifest.parse(stored, where), written, fingerprint))
    return found


def _config(store: Store, last: _Commit, folder: Path) -> bytes:
    """The configuration there, if it may be put here and this version of firth can read it."""
    content, where = _read(store, last.files[CONFIG])
    try:
        values = read_yaml(content.decode())
    except ValueError as error:
        raise DamagedError(f"{where}: not a configuration of firth's ({error})") from error
    Run(folder, Config.parse(values, where)).claim()
    return content


def _read(store: Store, fingerprint: str) -> tuple[bytes, str]:
    """The bytes of a small object, and where it is."""
    name = _object(fingerprint)
    where = f"{store.address}/{name}"
    content = store.read(name)
    if content is None:
        raise InputError(f"{where}: not there. If a run was just pushed, pull once more")
    if fingerprint_bytes(content) != fingerprint:
        raise DamagedError(
            f"{where}: not the bytes that were put. Remove it there, and push again from a machine "
            "on which the run is whole"
        )
    return content, where


def _synced(folder: Path, store: Store) -> _Commit | None:
    """The commit with which a run was last the same, if that was in this store, and was not
    overwritten there."""
    try:
        noted = read_json(folder / _SYNCED)
        is_here = noted["address"] == store.address
        commit = _Commit(int(noted["number"]), dict(noted["files"]))
    except (InputError, LookupError, TypeError, ValueError):
        return None
    # None: pruned since.
    return commit if is_here and store.read(commit.name) in (None, commit.content) else None


def _note(folder: Path, store: Store, commit: _Commit) -> None:
    write_json(folder / _SYNCED, {"address": store.address, **asdict(commit)})


def _overtaken(store: Store, folder: Path, number: int) -> str:
    return (
        f"{store.address}: commit {number} there was pushed from another machine, or of another "
        f"run. Take it over first: firth pull {store.address} {folder}; or replace it: --force"
    )


def _stages(new: Mapping[str, str], old: Mapping[str, str]) -> list[str]:
    return [name.removesuffix(f"/{MANIFEST}") for name, one in new.items() if old.get(name) != one]


def _listed(names: list[str]) -> str:
    shown = [name.removesuffix(f"/{MANIFEST}") for name in names[:_SHOWN]]
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(shown) + more


def _object(fingerprint: str) -> str:
    return f"{_OBJECTS}/{fingerprint}"


def _is_committed(entry: tuple[object, object]) -> bool:
    name, fingerprint = entry
    if not isinstance(name, str) or not isinstance(fingerprint, str):
        return False
    known = _OBJECT.fullmatch(_object(fingerprint)) is not None
    *folders, last = PurePosixPath(name).parts
    is_stage = (
        bool(folders) and last == MANIFEST and not any(one.startswith(".") for one in folders)
    )
    return known and is_inside(name) and (name == CONFIG or is_stage)

"""`firth.run.store`: every kind of store keeps and gives the same, and every failure is said."""

import errno
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from firth.run.errors import InputError, MissingExtraError
from firth.run.store import Store, Transfer, is_address

FILES = {f"a/{n:03}.txt": f"text {n}".encode() for n in range(70)} | {"b [1].txt": b"", "c": b"c"}
"""More than are put or fetched at once."""


def put(store: Store, folder: Path, files: dict[str, bytes]) -> None:
    transfers = []
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        transfers.append(Transfer(name, path, len(content)))
    store.put(transfers, "Sending")


def broken(store: Store, verb: str, error: Exception, patch: pytest.MonkeyPatch) -> None:
    """Let the library of a store fail in one of its functions."""

    def fail(*_: Any, **__: Any) -> Any:
        raise error

    patch.setattr(store._files, verb, fail)


def test_what_is_put_is_listed_read_and_fetched(place: str, tmp_path: Path) -> None:
    """In object stores, in memory and in a folder alike; a store below is a part of it."""
    store = Store(f"{place}/run")
    assert store.objects() == {}
    assert store.object() is None
    put(store, tmp_path / "here", FILES)
    found = store.objects()
    assert {name: one.size for name, one in found.items()} == {
        name: len(content) for name, content in FILES.items()
    }
    assert all(one.version for one in found.values())
    assert store.objects("a").keys() == {name for name in FILES if name.startswith("a/")}
    assert Store(f"{place}/run/a").objects().keys() == {f"{n:03}.txt" for n in range(70)}
    assert Store(f"{place}/run/c").object() is not None
    assert store.object() is None
    assert (store.read("c"), store.read("a/none")) == (b"c", None)
    back = tmp_path / "back"
    store.fetch([Transfer(name, back / name, len(FILES[name])) for name in FILES], "Fetching")
    assert {
        path.relative_to(back).as_posix(): path.read_bytes()
        for path in back.rglob("*")
        if path.is_file()
    } == FILES
    store.remove(["c", "a/000.txt"])
    assert store.objects().keys() == FILES.keys() - {"c", "a/000.txt"}


def test_another_content_is_another_version(place: str, tmp_path: Path) -> None:
    """Even of the same size: that is how a changed input is noticed."""
    store = Store(place)
    put(store, tmp_path, {"x": b"one"})
    before = store.objects()["x"]
    assert store.objects()["x"] == before
    put(store, tmp_path, {"x": b"two"})
    after = store.objects()["x"]
    assert after.size == before.size
    assert after.version != before.version


@pytest.mark.parametrize("kind", ["bucket", "folder"])
def test_of_many_that_create_an_object_one_wins(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """And its content stands, whoever was told."""
    store = Store(request.getfixturevalue(kind) if kind == "bucket" else tmp_path / "shared")
    contents = [f"commit of {n}".encode() for n in range(6)]
    with ThreadPoolExecutor(6) as several:
        won = list(several.map(lambda content: store.create("commits/1", content), contents))
    assert sum(won) == 1
    assert store.read("commits/1") == contents[won.index(True)]
    assert not store.create("commits/1", b"another")
    assert list(store.objects()) == ["commits/1"]


def test_an_answer_that_is_lost_is_looked_up(memory: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The object was put, and the network went before the store could say so."""
    store = Store(memory)
    whole = store._files.pipe_file

    def lost(*values: Any, **options: Any) -> None:
        whole(*values, **options)
        raise ConnectionError("gone")

    monkeypatch.setattr(store._files, "pipe_file", lost)
    assert store.create("commits/1", b"mine")
    assert not store.create("commits/1", b"theirs")
    broken(store, "pipe_file", ConnectionError("gone"), monkeypatch)
    with pytest.raises(InputError, match="the same command goes on"):
        store.create("commits/2", b"mine")


def test_without_conditional_puts_who_was_overwritten_is_told(
    memory: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store that ignores the condition: the last one wins."""
    store = Store(memory)
    put_anyway = store._files.pipe_file
    theirs = b"theirs"

    def ignoring(path: str, content: bytes, mode: str) -> None:
        put_anyway(path, content)
        put_anyway(path, theirs)

    monkeypatch.setattr(store._files, "pipe_file", ignoring)
    assert not store.create("commits/1", b"mine")
    assert store.create("commits/2", theirs)


def test_a_file_that_changed_or_is_gone_is_named(memory: str, tmp_path: Path) -> None:
    """Nothing of it is left here."""
    store = Store(memory)
    put(store, tmp_path / "here", {"a": b"one", "b": b"two"})
    back = tmp_path / "back"
    for name, size, message in (("b", 4, "b: 3 bytes, not 4"), ("none", 3, "none")):
        wanted = [Transfer("a", back / "a", 3), Transfer(name, back / name, size)]
        with pytest.raises(InputError, match=message):
            store.fetch(wanted, "Fetching")
        assert [path for path in back.rglob("*") if path.name != "a"] == []


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (FileNotFoundError("bucket"), r"memory://bucket: bucket: not there"),
        (PermissionError("Forbidden"), r"no access \(Forbidden\)"),
        (ConnectionError("no route"), r"cannot be reached.*no route.*the same command goes on"),
        (RuntimeError("odd\nlong story"), r"\(RuntimeError: odd\)"),
    ],
)
def test_what_a_library_raises_is_said(
    memory: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    message: str,
) -> None:
    """Each verb: the address, the reason in a line, what to do."""
    store = Store(memory)
    (tmp_path / "x").write_bytes(b"x")
    transfer = Transfer("x", tmp_path / "x", 1)
    verbs: dict[str, Callable[[], object]] = {
        "put": lambda: store.put([transfer], "Sending"),
        "get": lambda: store.fetch([transfer], "Fetching"),
        "rm": lambda: store.remove(["x"]),
    }
    if not isinstance(error, FileNotFoundError):  # which is an answer there
        verbs |= {"find": store.objects, "cat_file": lambda: store.read("x"), "info": store.object}
    for verb, call in verbs.items():
        broken(store, verb, error, monkeypatch)
        with pytest.raises(InputError, match=message):
            call()
    assert (tmp_path / "x").read_bytes() == b"x"


def test_a_full_disk_is_not_the_stores_fault(
    memory: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is said as on any other day."""
    store = Store(memory)
    broken(store, "get", OSError(errno.ENOSPC, "No space left on device"), monkeypatch)
    with pytest.raises(OSError, match="No space left"):
        store.fetch([Transfer("x", tmp_path / "x", 1)], "Fetching")


def test_what_is_no_address_of_a_store() -> None:
    """Is told before anything is asked, without repeating a password."""
    for text in ("texts", "/a/b", "hub:x", "C:\\x", "a:b"):
        assert not is_address(text)
    for address in ("https://x.org/a.txt", "http://x.org", "s3://", "s3:///", "zip://a::s3://b/c"):
        assert is_address(address)
        with pytest.raises(InputError, match="no store; expected an address as s3://"):
            Store(address)
    with pytest.raises(InputError, match="Protocol not known"):
        Store("nothing://bucket/run")
    with pytest.raises(InputError, match="password") as caught:
        Store("ftp://me:secret@host/run")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(("scheme", "extra"), [("s3", "s3"), ("gs", "gcs")])
def test_a_missing_library_is_named(
    scheme: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the extra of firth that brings it."""
    registry = sys.modules["fsspec.registry"]._registry
    for name in ("s3", "s3a", "gs", "gcs"):
        monkeypatch.delitem(registry, name, raising=False)
    for module in ("s3fs", "gcsfs"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=rf"firth\[{extra}\]"):
        Store(f"{scheme}://bucket/run")


def test_a_server_that_does_not_answer(s3: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """And a bucket that is not there: nothing is in it, and nothing can be put."""
    store = Store("s3://no-such-bucket/run")
    assert store.objects() == {}
    assert store.object() is None
    with pytest.raises(InputError, match="no-such-bucket"):
        store.create("x", b"x")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    type(s3).clear_instance_cache()
    with pytest.raises(InputError, match="cannot be reached"):
        Store("s3://bucket/run").objects()

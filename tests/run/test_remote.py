"""`firth.run.remote`: a run in a store is the old one or the new one, and never the loss of any."""

import json
import shutil
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import fsspec
import pytest

from firth.run import store as module
from firth.run.config import Config
from firth.run.errors import ConfigError, DamagedError, InputError
from firth.run.remote import Exchanged, pull, push
from firth.run.run import CONFIG, Run
from firth.run.stage import MANIFEST, Manifest, execute
from firth.run.store import Store

Files = dict[str, dict[str, str]]
"""Stage → file → text."""
ONE: Files = {
    "corpus": {"texts.txt": "one two", "more/words.txt": "1 2"},
    "baselines/bag": {"vectors.txt": "0.5"},
}
TWO: Files = {
    "corpus": {"texts.txt": "one two", "more/words.txt": "1 2 3"},
    "baselines/bag": {"vectors.txt": "0.5"},
    "index": {"vectors.txt": "0.5", "codes.txt": "0"},
}


def build(folder: Path, stages: Files, seed: int = 13) -> Path:
    """A run with such stages."""
    Run(folder, Config(seed=seed)).save()
    for name, files in stages.items():

        def fill(workspace: Path, files: dict[str, str] = files) -> dict[str, Any]:
            for file, text in files.items():
                (workspace / file).parent.mkdir(parents=True, exist_ok=True)
                (workspace / file).write_text(text)
            return {"files": len(files)}

        wanted = Manifest(name, {"in": json.dumps(files)}, {}, "code", {}).requested()
        execute(folder / name, wanted, fill)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a run, but what only says that it was locked, pushed or pulled."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name not in (".lock", ".store.json")
    }


def objects(address: str) -> dict[str, bytes]:
    store = Store(address)
    return {name: store.read(name) or b"" for name in store.objects()}


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, int], None]:
    """Lets the n-th call of a verb of the store in memory fail, one file a call."""
    monkeypatch.setattr(module, "_FILES_AT_ONCE", 1)
    files = fsspec.filesystem("memory")

    def arm(verbs: str, at: int) -> None:
        calls = count()

        def failing(whole: Callable[..., Any]) -> Callable[..., Any]:
            def call(*values: Any, **options: Any) -> Any:
                if next(calls) == at:
                    raise ConnectionError("the network went")
                return whole(*values, **options)

            return call

        for verb in verbs.split():
            monkeypatch.setattr(files, verb, failing(getattr(type(files), verb).__get__(files)))

    return arm


def test_pulled_is_what_was_pushed(place: str, tmp_path: Path) -> None:
    """Byte for byte; what is there already does not go again, and only what changed does."""
    address = f"{place}/my-run"
    one = build(tmp_path / "one", ONE)
    done = push(one, address)
    assert (done.commit, done.files) == (1, 6)  # equal files are one object
    assert set(done.stages) == {CONFIG, "corpus", "baselines/bag"}
    assert push(one, address).files == 0
    fetched = pull(address, tmp_path / "two")
    assert (fetched.commit, fetched.files) == (1, 3)
    assert contents(tmp_path / "two") == contents(one)
    assert all(not damage for damage in Run.open(tmp_path / "two").check().values())
    assert pull(address, tmp_path / "two").files == 0

    two = build(tmp_path / "two", TWO)  # built further where it was pulled to
    done = push(two, address)
    assert (done.commit, done.files) == (2, 4)  # two manifests, words, codes
    assert set(done.stages) == {"corpus", "index"}
    done = pull(address, one)
    assert (done.files, set(done.stages)) == (3, {"corpus", "index"})  # vectors: of another stage
    assert contents(one) == contents(two)
    assert "Commit 2." in done.text()
    assert json.loads(json.dumps(done.as_dict()))["commit"] == 2


def test_a_real_run_works_where_it_was_pulled_to(
    tiny_run: Path, bucket: str, tmp_path: Path
) -> None:
    """Over S3: whole, and all its stages up to date."""
    from firth.pipeline import bring_up_to_date

    shutil.copytree(tiny_run, tmp_path / "run")
    push(tmp_path / "run", f"{bucket}/run")
    pull(f"{bucket}/run", tmp_path / "back")
    assert contents(tmp_path / "back") == contents(tiny_run)
    outcomes = bring_up_to_date(Run.open(tmp_path / "back"))
    assert len(outcomes) > 5  # the premise
    assert all(outcome.reused for outcome in outcomes.values())


def attempts(call: Callable[[], Exchanged], arm: Callable[[int], None]) -> Iterator[bool]:
    """Calls with a fault at the first, second, … use of a store, until there is none; whether the
    call failed."""
    for at in count():
        arm(at)
        try:
            call()
        except InputError:
            yield True
        else:
            yield False
            return


def test_a_push_that_fails_anywhere_leaves_the_old_run(
    memory: str, tmp_path: Path, faults: Callable[[str, int], None]
) -> None:
    """At each put the network goes: whoever pulls gets the run as it was; the same push then
    puts what is missing."""
    files = fsspec.filesystem("memory")
    one = build(tmp_path / "one", ONE)
    push(one, memory)
    before = dict(files.store)
    two = build(shutil.copytree(one, tmp_path / "two"), TWO)
    failed = 0
    for fails in attempts(lambda: push(two, memory), lambda at: faults("put pipe_file", at)):
        failed += fails
        faults("put pipe_file", -1)
        pulled = tmp_path / f"pulled-{failed}-{fails}"
        pull(memory, pulled)
        assert contents(pulled) == contents(one if fails else two)
        if fails:
            push(two, memory)
            pull(memory, pulled)
            assert contents(pulled) == contents(two)
            files.store.clear()
            files.store.update(before)
            shutil.copy(one / ".store.json", two)
    assert failed == 5  # four objects and the commit


def test_a_pull_that_fails_anywhere_leaves_the_run_here(
    memory: str, tmp_path: Path, faults: Callable[[str, int], None]
) -> None:
    """Every file is as it was, until all have come; the same pull goes on."""
    one = build(tmp_path / "one", ONE)
    push(one, memory)
    two = build(shutil.copytree(one, tmp_path / "two"), TWO)
    push(two, memory)
    failed = 0
    here = tmp_path / "here"
    shutil.copytree(one, here)

    def arm(at: int) -> None:
        faults("get cat_file find", at)

    for fails in attempts(lambda: pull(memory, here), arm):
        failed += fails
        visible = {
            name: content for name, content in contents(here).items() if ".pull/" not in name
        }
        assert visible == contents(one if fails else two)
    assert failed > 5
    assert contents(here) == contents(two)


def test_what_was_fetched_is_not_fetched_again(
    memory: str, tmp_path: Path, faults: Callable[[str, int], None]
) -> None:
    """A pull that was interrupted goes on with the next file."""
    push(build(tmp_path / "one", ONE), memory)
    faults("get", 2)
    with pytest.raises(InputError, match="the network went"):
        pull(memory, tmp_path / "here")
    faults("get", -1)
    assert pull(memory, tmp_path / "here").files == 1


def test_damaged_objects_are_found(memory: str, tmp_path: Path) -> None:
    """By checksum, before anything is changed here; what was cut off is put again."""
    files = fsspec.filesystem("memory")
    one = build(tmp_path / "one", ONE)
    push(one, memory)
    for number, (name, whole) in enumerate(sorted(objects(memory).items())):
        path, here = f"/bucket/{name}", tmp_path / f"here-{number}"
        files.pipe_file(path, bytes([whole[0] ^ 1]) + whole[1:])
        with pytest.raises(DamagedError, match=memory):
            pull(memory, here)
        assert not (here / CONFIG).exists()
        assert not (here / "corpus").exists()
        files.pipe_file(path, whole[:-1])
        with pytest.raises((DamagedError, InputError), match=memory):
            pull(memory, here)
        if name.startswith("objects/"):
            build(one, {"again": {"x.txt": name}})
            push(one, memory)
            assert objects(memory)[name] == whole
        else:
            files.pipe_file(path, whole)
    pull(memory, tmp_path / "here")
    assert contents(tmp_path / "here") == contents(one)


def test_damage_here_is_not_pushed_and_is_healed_by_a_pull(memory: str, tmp_path: Path) -> None:
    """What a manifest says is what is put; a pull brings what is damaged again."""
    one = build(tmp_path / "one", ONE)
    (one / "corpus" / "texts.txt").write_text("one tvo")
    with pytest.raises(DamagedError, match=r"texts\.txt: damaged; nothing was pushed"):
        push(one, memory)
    assert objects(memory) == {}
    (one / "corpus" / "texts.txt").write_text("one two")
    push(one, memory)
    before = contents(one)
    (one / "corpus" / "texts.txt").write_text("one tvo")
    (one / "baselines" / "bag" / "vectors.txt").unlink()
    assert push(one, memory).files == 0  # what is there is whole
    done = pull(memory, one)
    assert (done.files, set(done.stages)) == (2, {"corpus", "baselines/bag"})
    assert contents(one) == before


def test_of_two_machines_the_second_is_told(memory: str, tmp_path: Path) -> None:
    """Neither a push nor a pull loses what another machine, or this one, has built since."""
    one = build(tmp_path / "one", ONE)
    push(one, memory)
    pull(memory, tmp_path / "two")
    two = build(tmp_path / "two", TWO)
    push(two, memory)
    build(one, {"scale": {"pairs.txt": "9"}})
    with pytest.raises(InputError, match=r"commit 2 there was pushed from another machine"):
        push(one, memory)
    pull(memory, one)  # nothing here is in the way, and what was built here stays
    assert (one / "scale" / "pairs.txt").read_text() == "9"
    assert push(one, memory).stages == ("scale",)

    build(two, {"corpus": {"texts.txt": "mine"}}, seed=5)
    mine = contents(two)
    with pytest.raises(InputError, match=r"commit 3"):
        push(two, memory)
    build(one, {"corpus": {"texts.txt": "theirs"}}, seed=6)
    push(one, memory)
    with pytest.raises(InputError, match=r"config\.yaml, corpus changed here, and differ"):
        pull(memory, two)
    assert contents(two) == mine
    pull(memory, two, force=True)
    assert contents(two) == contents(one)
    stranger = build(tmp_path / "stranger", {"other": {"x": "x"}})
    with pytest.raises(InputError, match="of another run"):
        push(stranger, memory)
    assert push(stranger, memory, force=True).commit == 5


def test_of_two_that_push_at_once_one_wins(
    memory: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the objects of the one and its commit comes the commit of the other."""
    one = build(tmp_path / "one", ONE)
    push(one, memory)
    two = build(shutil.copytree(one, tmp_path / "two"), TWO)
    build(one, {"scale": {"pairs.txt": "9"}})
    whole = Store.create

    def late(store: Store, name: str, content: bytes) -> bool:
        monkeypatch.setattr(Store, "create", whole)
        push(one, memory)
        return whole(store, name, content)

    monkeypatch.setattr(Store, "create", late)
    with pytest.raises(InputError, match="commit 2 there was pushed from another machine"):
        push(two, memory)
    pull(memory, tmp_path / "three")
    assert contents(tmp_path / "three") == contents(one)


def test_whose_commit_was_overwritten_is_told(memory: str, tmp_path: Path) -> None:
    """Where puts have no condition, another machine's commit of the same number comes over ours:
    what was built here is neither lost by a pull nor pushed over theirs."""
    one = build(tmp_path / "one", ONE)
    push(one, memory)
    two = build(shutil.copytree(one, tmp_path / "two"), TWO)
    build(one, {"corpus": {"texts.txt": "mine"}})
    assert push(one, memory).commit == 2
    Store(memory).remove(["commits/00000002.json"])
    assert push(two, memory).commit == 2
    mine = contents(one)
    with pytest.raises(InputError, match="corpus changed here, and differ"):
        pull(memory, one)
    with pytest.raises(InputError, match="commit 2 there was pushed from another machine"):
        push(one, memory)
    assert contents(one) == mine


def test_only_what_firth_put_is_pruned(memory: str, tmp_path: Path) -> None:
    """And only what the last commit does not need."""
    files = fsspec.filesystem("memory")
    one = build(tmp_path / "one", ONE)
    push(one, memory)
    foreign = {
        f"/bucket/{name}": b"mine"
        for name in ("notes.txt", "objects/readme", "commits/old.json", f"objects/{'a' * 39}/x")
    }
    for path, content in foreign.items():
        files.pipe_file(path, content)
    build(one, TWO)
    many = len(objects(memory))
    push(one, memory)
    done = push(one, memory, prune=True)
    assert done.pruned == 2  # the corpus' manifest and its words, as they were
    assert len(objects(memory)) == many + 4 + 1 - 2 - 1
    assert {path: files.cat_file(path) for path in foreign} == foreign
    pull(memory, tmp_path / "back")
    assert contents(tmp_path / "back") == contents(one)


def test_what_is_not_firths_here_stays(memory: str, tmp_path: Path) -> None:
    """A folder of one's own in a stage's place, a file in a stage, another program's settings."""
    push(build(tmp_path / "one", ONE), memory)
    for number, name in enumerate(("corpus/mine.txt", "config.yaml", "corpus")):
        here = tmp_path / f"here-{number}"
        (here / name).parent.mkdir(parents=True)
        (here / name).write_text("mine")
        before = contents(here)
        for force in (False, True):
            with pytest.raises(InputError):
                pull(memory, here, force=force)
            after = {n: c for n, c in contents(here).items() if ".pull/" not in n}
            assert after == before


def test_a_store_that_lies_is_not_followed(memory: str, tmp_path: Path) -> None:
    """No path leads out of the run, and no odd content is taken."""
    files = fsspec.filesystem("memory")
    push(build(tmp_path / "one", ONE), memory)
    commit = json.loads(files.cat_file("/bucket/commits/00000001.json"))
    corpus = commit["files"][f"corpus/{MANIFEST}"]
    odd: list[Any] = [[], {}, {"files": 1}, {"files": {}}, {"files": {CONFIG: "../x"}}]
    for name in (f"../x/{MANIFEST}", f"/x/{MANIFEST}", f".git/{MANIFEST}", MANIFEST, "x.txt"):
        odd.append({"files": {**commit["files"], name: corpus}})
    for lie in [*odd, "x"]:
        content = b"{" if lie == "x" else json.dumps(lie).encode()
        files.pipe_file("/bucket/commits/00000001.json", content)
        with pytest.raises(DamagedError, match="not a commit of firth's"):
            pull(memory, tmp_path / "here")
        with pytest.raises(DamagedError, match="not a commit of firth's"):
            push(tmp_path / "one", memory)

    def told(content: bytes, name: str) -> None:
        """A commit whose configuration or manifest is this."""
        from firth.run.files import fingerprint_bytes

        digest = fingerprint_bytes(content)
        files.pipe_file(f"/bucket/objects/{digest}", content)
        lying = {"files": {**commit["files"], name: digest}}
        files.pipe_file("/bucket/commits/00000001.json", json.dumps(lying).encode())

    manifest = json.loads((tmp_path / "one" / "corpus" / MANIFEST).read_bytes())
    output = manifest["outputs"]["texts.txt"]
    for name in ("../evil.txt", "/evil.txt", "a/../../evil.txt", ""):
        lying = manifest | {"outputs": {name: output}}
        told(json.dumps(lying).encode(), f"corpus/{MANIFEST}")
        with pytest.raises(DamagedError, match="leads out of its folder"):
            pull(memory, tmp_path / "here")
    told(b"[]", f"corpus/{MANIFEST}")
    with pytest.raises(DamagedError, match="not a manifest"):
        pull(memory, tmp_path / "here")
    told(b"nothing: known", CONFIG)
    with pytest.raises(ConfigError):
        pull(memory, tmp_path / "here")
    assert [path.name for path in tmp_path.iterdir()] == ["one"]


def test_there_is_nothing_to_pull_or_push(memory: str, tmp_path: Path) -> None:
    """Neither leaves anything behind."""
    with pytest.raises(InputError, match="no run there"):
        pull(memory, tmp_path / "here")
    with pytest.raises(InputError, match="not a run"):
        push(tmp_path / "here", memory)
    assert list(tmp_path.iterdir()) == []
    assert objects(memory) == {}

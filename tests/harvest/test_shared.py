"""Machines that share nothing but an object store score a harvest together."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.harvest.conftest import contents
from typer.testing import CliRunner

from firth.cli.main import app
from firth.harvest.harvest import Part, build_harvest, harvest_part
from firth.harvest.scorer import ShardScorer
from firth.harvest.shards import Shard
from firth.run.errors import InputError
from firth.run.remote import push
from firth.run.run import Run
from firth.run.store import Store


def test_the_whole_way(tiny_run: Path, run: Run, bucket: str, tmp_path: Path) -> None:
    """A run is pushed; two machines pull it and score a part each; a third pulls and merges, scores
    nothing, and pushes what came out, which has the bytes of a harvest on one machine."""
    address = f"{bucket}/my-run"

    def firth(*arguments: str) -> str:
        found = CliRunner().invoke(app, [*arguments, "--quiet"])
        assert found.exit_code == 0, found.output
        return " ".join(found.stdout.split())

    firth("push", str(run.path), address)
    machines = [str(tmp_path / name) for name in ("a", "b", "c")]
    for number, machine in enumerate(machines[:2], 1):
        firth("pull", address, machine)
        said = firth("harvest", "--run", machine, "--part", f"{number}/2", "--store", address)
    assert f"firth harvest --merge --store {address}" in said
    firth("pull", address, machines[2])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ShardScorer, "score", None)  # a call would fail
        firth("harvest", "--run", machines[2], "--merge", "--store", address)
    firth("push", machines[2], address)
    firth("pull", address, machines[0])
    for machine in machines[::2]:
        assert contents(Path(machine)) == contents(tiny_run)


def test_a_part_continues_on_another_machine(
    tiny_run: Path, run: Run, memory: str, tmp_path: Path
) -> None:
    """The first one was lost with all it had; what it sent is not scored again. What is damaged in
    the store is."""
    store = Store(memory)
    other = Run.open(shutil.copytree(run.path, tmp_path / "other"))
    lost = Run.open(shutil.copytree(run.path, tmp_path / "lost"))
    done = harvest_part(lost, Part(1, 2), store=store)
    assert (done.shards, done.missing, done.store) == (3, 2, memory)
    with pytest.raises(InputError, match="2 of 5 shards are missing"):
        build_harvest(run, merge=True, store=store)
    names = sorted(store.objects())
    assert len(names) == 3
    cut_off = (store.read(names[1]) or b"")[:-9]
    store._files.pipe_file(f"/bucket/{names[1]}", cut_off)
    scored: list[int] = []
    score = ShardScorer.score

    def noted(scorer: ShardScorer, shard: Shard) -> Any:
        scored.append(shard.number)
        return score(scorer, shard)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ShardScorer, "score", noted)
        harvest_part(other, Part(1, 2), store=store)
        harvest_part(other, Part(2, 2), store=store)
        assert scored == [2, 1, 3]
        build_harvest(run, merge=True, store=store)
        assert scored == [2, 1, 3]
    assert contents(run.path) == contents(tiny_run)


def test_a_network_that_goes_loses_no_shard(
    tiny_run: Path, run: Run, memory: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was scored lies here and is sent by the same command."""
    store = Store(memory)
    whole = store._files.put

    def fail(*_: Any) -> None:
        raise ConnectionError("gone")

    monkeypatch.setattr(store._files, "put", fail)
    with pytest.raises(InputError, match="the same command goes on"):
        harvest_part(run, Part(1, 1), store=store)
    monkeypatch.setattr(store._files, "put", whole)
    monkeypatch.setattr(ShardScorer, "score", None)
    assert harvest_part(run, Part(1, 1), store=store).missing == 0
    build_harvest(run, merge=True)
    assert contents(run.path) == contents(tiny_run)


def test_a_run_is_pushed_without_its_parts(run: Run, memory: str) -> None:
    """They are no stage: parts go to a store while they are scored."""
    harvest_part(run, Part(1, 5))
    push(run, memory)
    assert not [name for name in Store(memory).objects() if "shard" in name]


def test_where_parts_meet_is_asked_with_parts(run: Run) -> None:
    """`--store` alone is a mistake."""
    found = CliRunner().invoke(app, ["harvest", "--run", str(run.path), "--store", "s3://b/x"])
    assert isinstance(found.exception, InputError)

"""Ray as engine: any workers, in any order, killed or not, make the bytes of one process."""

import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, sleep
from typing import Any, cast

import numpy as np
import pytest
from typer.testing import CliRunner

from firth.cli.main import app
from firth.corpus import CORPUS
from firth.corpus.corpus import Corpus
from firth.harvest import HARVEST
from firth.harvest.harvest import build_harvest
from firth.harvest.shards import Shard
from firth.index.encode import encode
from firth.run import cluster as module
from firth.run.cluster import Cluster
from firth.run.engine import HERE, Engine
from firth.run.errors import InputError, MissingExtraError
from firth.run.run import Run
from firth.run.stage import files_in

ray = module.quiet_ray()
from ray.cluster_utils import Cluster as Machines  # noqa: E402, imported as `quiet_ray` says

ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers do not have this file
DEADLY = 666


STORE = 80 << 20


@pytest.fixture(scope="module")
def machines() -> Iterator[Machines]:
    """A Ray cluster of one machine, this one, with two workers; more can be added, and lost."""
    head = {"num_cpus": 2, "include_dashboard": False, "object_store_memory": STORE}
    found: Any = Machines(initialize_head=True, head_node_args=head)
    session = ray.init(found.address, log_to_driver=False).address_info["session_dir"]
    yield found
    ray.shutdown()
    found.shutdown()
    shutil.rmtree(session)


@pytest.fixture(scope="module")
def cluster(machines: Machines) -> str:
    """The address of the cluster."""
    return str(machines.address)


@pytest.fixture(scope="module")
def whole(tiny_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose harvest of five shards was made by one process. Its Origin needs no torch, which
    each worker would import."""
    path = shutil.copytree(tiny_run, tmp_path_factory.mktemp("whole") / "run")
    build_harvest(Run.open(path).changed({"origin": {"method": "ensemble"}}))
    return path


@pytest.fixture
def run(whole: Path, tmp_path: Path) -> Run:
    """The same run, and its harvest not built."""
    found = Run.open(shutil.copytree(whole, tmp_path / "run"))
    shutil.rmtree(found.path / HARVEST.name)
    return found


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@dataclass(frozen=True)
class Dying:
    """Scoring whose worker is killed in the middle of a shard, the first time.

    Each start of a shard leaves a file in the folder: `NUMBER-PROCESS`.
    """

    work: Any
    folder: Path
    shard: int

    def open(self) -> Callable[[Shard], Any]:
        from firth.harvest import scorer

        score, patched = self.work.open(), cast(Any, scorer)
        scored = patched._scored

        def kill(*_: Any) -> Any:  # pairs are chosen by then
            os.kill(os.getpid(), signal.SIGKILL)

        def start(shard: Shard) -> Any:
            (self.folder / f"{shard.number}-{os.getpid()}").touch()
            starts = len(list(self.folder.glob(f"{self.shard}-*")))
            dies = shard.number == self.shard and starts == 1
            patched._scored = kill if dies else scored
            return score(shard)

        return start


@dataclass(frozen=True)
class Deadly:
    """A cluster on which the worker of a shard is killed."""

    folder: Path
    shard: int

    def map(self, work: Any, shards: Iterable[Any]) -> Iterator[Any]:
        return Cluster().map(Dying(work, self.folder, self.shard), shards)


@dataclass(frozen=True)
class Roots:
    """Of numbers, and who found them; there is none of what is negative, and one kills."""

    def open(self) -> Callable[[float], tuple[float, int]]:
        def root(number: float) -> tuple[float, int]:
            if number == DEADLY:
                os.kill(os.getpid(), signal.SIGKILL)
            if number < 0:
                raise InputError(f"{number}: expected none below 0")
            return float(np.sqrt(number)), os.getpid()

        return root


def test_a_worker_is_killed_while_it_scores(
    cluster: str, whole: Path, run: Run, tmp_path: Path
) -> None:
    """Another scores its shard; the harvest has the bytes of one that a single process made."""
    started = tmp_path / "started"
    started.mkdir()
    build_harvest(run, engine=Deadly(started, shard=2))
    starts = [path.name.split("-") for path in started.iterdir()]
    two = [int(process) for number, process in starts if number == "2"]
    alive = [process for process in two if Path(f"/proc/{process}").exists()]
    assert (len(two), len(alive)) == (2, 1), "the premise: it was started, died, and started again"
    assert {number for number, _ in starts} == set("01234")
    assert contents(run.path / HARVEST.name) == contents(whole / HARVEST.name)


@dataclass(frozen=True)
class Elsewhere:
    """Of a number itself, the machine that has it, and more than Ray sends along with an answer."""

    def open(self) -> Callable[[int], tuple[int, str, bytes]]:
        here = ray.get_runtime_context().get_node_id()

        def wait(number: int) -> tuple[int, str, bytes]:
            sleep(0.05)
            return number, here, bytes(200_000)

        return wait


def test_a_machine_is_lost(cluster: str, machines: Machines) -> None:
    """What it had under way, and what it had done and nobody had fetched, is done by another; fewer
    shards are under way from then on."""
    lost = machines.add_node(num_cpus=2, object_store_memory=STORE)
    found = []
    for made in Cluster().map(Elsewhere(), range(60)):
        found.append(made)
        if len(found) == 20:
            assert ray.cluster_resources()["CPU"] == 4
            machines.remove_node(lost, allow_graceful=False)
    assert [number for number, _, _ in found] == list(range(60))
    assert len({machine for _, machine, _ in found}) == 2, "the premise: both were at work"
    assert len({machine for _, machine, _ in found[-20:]}) == 1


@dataclass(frozen=True)
class Computing:
    """Of a number itself, which accelerators its worker sees, and where it is to compute."""

    def open(self) -> Callable[[int], tuple[int, str, str]]:
        def look(number: int) -> tuple[int, str, str]:
            sleep(0.05)
            return number, os.environ.get("CUDA_VISIBLE_DEVICES", ""), os.environ["FIRTH_DEVICE"]

        return look


def test_each_worker_has_its_accelerators(
    cluster: str, machines: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many as are asked for, of those that machines say they have, and as many workers as there
    are enough for; otherwise they compute on processors. More than there are is refused at once."""
    monkeypatch.setenv("FIRTH_DEVICE", "cuda")
    with pytest.raises(InputError, match=r"--gpus 1: the cluster has 0\."):
        next(Cluster(gpus=1).map(Computing(), range(3)))
    more = machines.add_node(num_cpus=4, num_gpus=2, object_store_memory=STORE)
    found = list(Cluster(gpus=1).map(Computing(), range(30)))
    assert [number for number, _, _ in found] == list(range(30))
    assert {seen for _, seen, _ in found} == {"0", "1"}
    assert {device for _, _, device in found} == {"cuda"}
    assert {device for _, _, device in Cluster().map(Computing(), range(8))} == {"cpu"}
    machines.remove_node(more, allow_graceful=False)


def test_what_kills_every_worker_ends(cluster: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A shard is not tried for ever; what came before it was given."""
    monkeypatch.setattr(module, "RETRIES", 1)
    made = Cluster().map(Roots(), [1, 4, DEADLY, 9])
    assert [next(made)[0], next(made)[0]] == [1, 2]
    with pytest.raises(InputError, match="tried 2 times"):
        next(made)


COMMAND = """
import os
from firth.cli.main import main
from firth.harvest.shards import Shard

write = Shard.write

def dying(self, table, folder):
    write(self, table, folder)
    if self.number == 1:
        os.kill(os.getpid(), 9)

Shard.write = dying
main()
"""
"""`firth`, which is killed when it has written the second shard."""


def test_the_command_is_killed(cluster: str, whole: Path, run: Run, tmp_path: Path) -> None:
    """SIGKILL after two shards: another engine has the rest scored. Workers find the run from the
    folder that the command stands in, and Ray itself says nothing, on either stream."""
    options = ["--run", run.path.name, "--engine", "ray", "--address", cluster, "-q"]
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, "harvest", *options],
        capture_output=True,
        text=True,
        cwd=run.path.parent,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))},
    )
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGKILL, "", "")
    folder = run.path / ".harvest.work" / "scratch"
    assert sorted(path.name for path in folder.iterdir()) == [
        "shard-000000.parquet",
        "shard-000001.parquet",
    ]
    given: list[int] = []

    class Noted:
        def map(self, work: Any, shards: Iterable[Any]) -> Iterator[Any]:
            shards = list(shards)
            given.extend(shard.number for shard in shards)
            return HERE.map(work, shards)

    build_harvest(run, engine=Noted())
    assert given == [2, 3, 4]
    assert contents(run.path / HARVEST.name) == contents(whole / HARVEST.name)


def test_vectors_are_those_of_one_process(
    cluster: str, tiny_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each block of texts goes out, its rows come back, in their places."""
    monkeypatch.setattr("firth.index.vectors.SHARD", 50)
    engines: dict[str, Engine] = {"here": HERE, "ray": Cluster()}
    for name, engine in engines.items():
        done = encode(tiny_run, tmp_path / f"{name}.npy", engine=engine)
        assert done.rows > 300, "the premise: several blocks"
    assert (tmp_path / "here.npy").read_bytes() == (tmp_path / "ray.npy").read_bytes()


def test_a_corpus_is_that_of_one_process(
    cluster: str, tiny_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shards of documents go out, their sentences come back, in their places."""
    monkeypatch.setattr("firth.corpus.documents.SHARD", 2_000)
    for name, engine in {"here": HERE, "ray": Cluster()}.items():
        Corpus.build(tiny_folder, tmp_path / name, engine=cast(Engine, engine))
    stored = [Run.open(tmp_path / name).folder(CORPUS) for name in ("here", "ray")]
    assert len(Corpus.open(tmp_path / "here")) > 100, "the premise: several shards"
    one, two = (
        {path: (folder / path).read_bytes() for path in files_in(folder)} for folder in stored
    )
    assert one == two


def test_order_and_room(cluster: str) -> None:
    """What comes of shards comes in their order, of several workers; shards are taken as room for
    them comes."""
    taken: list[int] = []

    def shards() -> Iterator[int]:
        for number in range(60):
            taken.append(number)
            yield number

    made = Cluster().map(Roots(), shards())
    first = next(made)
    assert len(taken) == 8, "four for each of two workers"
    rest = list(made)
    assert [root for root, _ in [first, *rest]] == [float(np.sqrt(n)) for n in range(60)]
    assert os.getpid() not in {process for _, process in rest}
    assert list(Cluster().map(Roots(), [])) == []


def test_errors_come_back(cluster: str, capfd: pytest.CaptureFixture[str]) -> None:
    """With the machine where they were met, once, and without a trace."""
    with pytest.raises(InputError, match=rf"^a worker on {socket.gethostname()}: -1: expected"):
        list(Cluster().map(Roots(), [4, -1, 9, -2]))
    assert capfd.readouterr() == ("", "")


def test_workers_are_as_the_process_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other libraries, other code, and folders that are not there are refused by name."""
    monkeypatch.chdir(tmp_path)
    same = module._Began("key", str(tmp_path), "auto", module._made_of())
    same.enter()
    numpy = module._Began("key", str(tmp_path), "auto", {**same.made_of, "numpy": "1.0"})
    with pytest.raises(InputError, match=rf"numpy is {np.__version__}, not 1\.0\. Install"):
        numpy.enter()
    with pytest.raises(InputError, match="no such folder"):
        module._Began("key", str(tmp_path / "elsewhere"), "auto", same.made_of).enter()


def test_addresses_that_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refused within seconds, before any work: one message, in which the address stands."""
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    start = perf_counter()
    for wrong in ("nowhere", "ray://here:1", "here:port", ":80"):
        with pytest.raises(InputError, match=f"{wrong}: expected HOST:PORT"):
            Cluster(wrong)
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))  # and does not listen
        address = f"127.0.0.1:{bound.getsockname()[1]}"
        with pytest.raises(InputError, match=f"{address}: no Ray cluster answers .*refused"):
            Cluster(address)
        bound.listen()  # and says nothing
        monkeypatch.setattr(module, "_PATIENCE", 0.2)
        monkeypatch.setenv("RAY_ADDRESS", address)
        with pytest.raises(InputError, match=f"{address}: no Ray cluster answers .*timed out"):
            Cluster()
    assert perf_counter() - start < 5
    done = CliRunner().invoke(app, ["harvest", "--run", "x", "--address", "here:1"])
    assert isinstance(done.exception, InputError)
    assert "expected --engine ray" in str(done.exception)
    done = CliRunner().invoke(app, ["harvest", "--run", "x", "--gpus", "0.5"])
    assert "--gpus 0.5: expected --engine ray" in str(done.exception)


def test_without_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is to be installed is said."""
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"firth\[ray\]"):
        Cluster()

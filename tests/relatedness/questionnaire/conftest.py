"""A small questionnaire with awkward texts, and its files."""

import os
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from firth.relatedness.bws.records import Gold, Item, Tuple, write_gold, write_items, write_tuples
from firth.relatedness.questionnaire.server import make_server
from firth.relatedness.questionnaire.setup import Questionnaire, Rules, make_questionnaire
from firth.relatedness.questionnaire.store import Store
from firth.web.server import Limits

AWKWARD = (
    "<script>document.title = 'taken'</script>",
    '" onclick="x" & <b>bold</b>',
    "Zoë saw 漢字 and a 🚢.",
    "שלום עולם",
    "a\nline feed",
    "{{ 7 * 7 }}",
)
N_TUPLES, N_GOLD = 12, 3


def items() -> list[Item]:
    """24 pairs; the ids are awkward too."""
    return [
        Item(f"pair {n} <{n}>&", (f"First {n}: {AWKWARD[n % len(AWKWARD)]}", f"Second {n}."))
        for n in range(24)
    ]


def tuples() -> list[Tuple]:
    """Twelve tuples of four."""
    names = [item.id for item in items()]
    return [
        Tuple(f"t{n}", tuple(names[(n * 2 + k * 5) % 24] for k in range(4)))
        for n in range(N_TUPLES)
    ]


def gold() -> list[Gold]:
    """The last three tuples: the first item is best, the last is worst."""
    return [Gold(one.id, one.items[0], one.items[-1]) for one in tuples()[-N_GOLD:]]


def small(rules: Rules | None = None) -> Questionnaire:
    """The questionnaire."""
    rules = rules or Rules(annotations=2, gold_every=4)
    return make_questionnaire(items(), tuples(), gold(), rules=rules)


@contextmanager
def running(store: Store, limits: Limits | None = None) -> Iterator[int]:
    """A server of the questionnaire in a thread; its port."""
    server = make_server(store, limits)
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    end = time.monotonic() + 60
    while not server.started and time.monotonic() < end:
        time.sleep(0.01)
    yield listening.getsockname()[1]
    server.should_exit = True
    thread.join(timeout=30)
    assert not thread.is_alive()


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: hundreds of synced answers cost no time there."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(prefix="firth-test-", dir=memory) as made:
        yield Path(made)


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """Its files."""
    found = {name: tmp_path / f"{name}.csv" for name in ("items", "tuples", "gold")}
    write_items(found["items"], items(), ("sentence1", "sentence2"))
    write_tuples(found["tuples"], tuples())
    write_gold(found["gold"], gold())
    return found

"""Every tuple gets its answers, nobody sees one twice, and nothing that was given is lost."""

import itertools
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from firth.relatedness.bws.records import Annotation, Item, Tuple, read_annotations
from firth.relatedness.questionnaire.setup import Rules, make_questionnaire
from firth.relatedness.questionnaire.store import (
    NotAskedError,
    Question,
    Store,
    UnusableAnswerError,
)
from firth.run.errors import ConfigError, InputError

from .conftest import N_GOLD, N_TUPLES, gold, items, small, tuples

NUMBERS = itertools.count()
GOLD = {one.tuple: one for one in gold()}


def answer(store: Store, who: str, question: Question, *, right: bool = True) -> None:
    """Answer with the first and the last item, as the gold questions want it; or otherwise."""
    best, worst = question.items[0], question.items[-1]
    store.answer(who, question.id, *((best, worst) if right else (worst, best)))


def answer_all(path: Path, name: str) -> list[str]:
    """Answer until there is nothing left, with a connection of one's own; the tuples seen."""
    store = Store.create(path, small())
    who = store.enter(name)
    seen = []
    while (question := store.next(who)) is not None:
        answer(store, who, question)
        seen.append(question.id)
    store.close()
    return seen


def check_complete(path: Path, annotations: int = 2) -> None:
    """Each tuple that is not gold has the wanted answers, all by different annotators."""
    store = Store.open(path)
    found = store.annotations()
    asked = Counter(one.tuple for one in found if one.tuple not in GOLD)
    assert asked == dict.fromkeys((f"t{n}" for n in range(N_TUPLES - N_GOLD)), annotations)
    assert max(Counter((one.annotator, one.tuple) for one in found).values()) == 1
    assert store.overview().complete == N_TUPLES - N_GOLD
    store.close()


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    annotators=st.integers(2, 5),
    annotations=st.integers(1, 2),
    turns=st.randoms(use_true_random=False),
)
def test_each_tuple_gets_its_answers(
    annotators: int, annotations: int, turns: object, folder: Path
) -> None:
    """However the annotators take turns, and leave questions open meanwhile."""
    path = folder / f"{next(NUMBERS)}.db"
    store = Store.create(path, small(Rules(annotations=annotations, gold_every=4)))
    active = [store.enter(f"annotator {n}") for n in range(annotators)]
    numbers: dict[str, list[int]] = {who: [] for who in active}
    while active:
        who = turns.choice(active)  # type: ignore[attr-defined]
        question = store.next(who)
        if question is None:
            active.remove(who)
            continue
        assert question == store.next(who)  # asked again, it is the same
        if turns.random() < 0.8:  # type: ignore[attr-defined]
            answer(store, who, question)
            numbers[who].append(question.number)
            assert (question.id in GOLD) == (
                question.number % 4 == 0 and question.number <= 4 * N_GOLD
            )
    for found in numbers.values():
        assert found == list(range(1, len(found) + 1))
    check_complete(path, annotations)
    store.close()


def test_annotators_at_once_in_threads(folder: Path) -> None:
    """Four threads on one store: as if they had come one after the other."""
    store = Store.create(folder / "db", small())

    def run(number: int) -> None:
        who = store.enter(f"annotator {number}")
        while (question := store.next(who)) is not None:
            answer(store, who, question)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(run, range(4)))
    check_complete(folder / "db")


_ANNOTATE = """
import sys
from pathlib import Path
from firth.relatedness.questionnaire.setup import Rules, read_questionnaire
from firth.relatedness.questionnaire.store import Store

path, items, tuples, gold, name = sys.argv[1:]
questionnaire = read_questionnaire(Path(items), Path(tuples), Path(gold), rules=Rules(2, 4))
store = Store.create(path, questionnaire)
who = store.enter(name)
while (question := store.next(who)) is not None:
    store.answer(who, question.id, question.items[0], question.items[-1])
"""


def test_annotators_at_once_in_processes(folder: Path, files: dict[str, Path]) -> None:
    """Three processes on one file, the first of which makes it."""
    names = [str(files[name]) for name in ("items", "tuples", "gold")]
    running = [
        subprocess.Popen(
            [sys.executable, "-c", _ANNOTATE, str(folder / "db"), *names, f"annotator {n}"]
        )
        for n in range(3)
    ]
    assert [one.wait(timeout=120) for one in running] == [0, 0, 0]
    check_complete(folder / "db")


_SCRIPT = """
import itertools, sys
from firth.relatedness.bws.records import Item, Tuple
from firth.relatedness.questionnaire.setup import make_questionnaire
from firth.relatedness.questionnaire.store import Store

items = [Item(str(n), (f"text {n}",)) for n in range(1000)]
tuples = [Tuple(f"t{n}", (str(n), str((n + 1) % 1000), str((n + 2) % 1000))) for n in range(1000)]
store = Store.create(sys.argv[1], make_questionnaire(items, tuples))
who = store.enter("someone")
while (question := store.next(who)) is not None:
    store.answer(who, question.id, question.items[0], question.items[1])
    print(question.id, question.items[0], question.items[1], flush=True)
"""


def test_nothing_is_lost_when_killed(folder: Path) -> None:
    """Each answer that was acknowledged before a SIGKILL is in the file, and work goes on."""
    path = folder / "db"
    acknowledged: list[str] = []
    for _ in range(2):
        running = subprocess.Popen(
            [sys.executable, "-c", _SCRIPT, str(path)], stdout=subprocess.PIPE, text=True
        )
        assert running.stdout is not None
        for _ in range(20):
            acknowledged.append(running.stdout.readline().strip())
        os.kill(running.pid, signal.SIGKILL)
        acknowledged += [line.strip() for line in running.stdout if line.endswith("\n")]
        assert running.wait() == -signal.SIGKILL
        running.stdout.close()
    store = Store.open(path)
    kept = [f"{one.tuple} {one.best} {one.worst}" for one in store.annotations()]
    assert len(acknowledged) >= 40
    assert len(set(acknowledged)) == len(acknowledged)  # no question was asked twice
    # One answer may have been stored and not yet told when the kill came, each time.
    assert set(acknowledged) <= set(kept)
    assert len(kept) <= len(acknowledged) + 2
    store.close()
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_the_file_is_synced_at_every_answer(folder: Path) -> None:
    """Write-ahead log, and a sync of the disk at each commit."""
    store = Store.create(folder / "db", small())
    with store._reading() as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
        assert connection.execute("PRAGMA synchronous").fetchone()[0] == 2


def test_going_on_under_the_same_name(folder: Path) -> None:
    """After a restart the open question comes again, under the name in any spelling."""
    store = Store.create(folder / "db", small())
    first = store.next(store.enter("Zoë  Ångström"))
    assert first is not None
    answer(store, store.enter("Zoë Ångström"), first)
    second = store.next(store.enter("zoë ÅNGSTRÖM "))
    store.close()
    store = Store.create(folder / "db", small())
    who = store.enter("ZOE\u0308 Ångström")
    assert store.next(who) == second
    assert store.progress(who).answered == 1
    assert store.name(who) == "Zoë Ångström"
    assert store.overview().annotators == 1


@pytest.mark.parametrize("name", ["", "  \t", "\x00", "x" * 65])
def test_names_that_cannot_be(name: str, folder: Path) -> None:
    """Empty and endless names are refused."""
    with pytest.raises(UnusableAnswerError):
        Store.create(folder / "db", small()).enter(name)


def test_the_first_answer_counts(folder: Path) -> None:
    """A form sent twice changes nothing."""
    store = Store.create(folder / "db", small())
    who = store.enter("a")
    question = store.next(who)
    assert question is not None
    answer(store, who, question)
    store.answer(who, question.id, question.items[1], question.items[2])
    (kept,) = store.annotations()
    assert (kept.best, kept.worst) == (question.items[0], question.items[-1])


def test_answers_that_cannot_be(folder: Path) -> None:
    """Of questions that were not asked, of other items, of the same item twice: none is kept."""
    store = Store.create(folder / "db", small())
    who = store.enter("a")
    question = store.next(who)
    assert question is not None
    a, b, *_ = question.items
    other = next(one.id for one in tuples() if one.id != question.id)
    with pytest.raises(NotAskedError):
        store.answer(who, other, a, b)
    with pytest.raises(NotAskedError):
        store.answer(store.enter("b"), question.id, a, b)
    for best, worst in ((a, a), ("", b), (a, ""), (a, "no such item")):
        with pytest.raises(UnusableAnswerError):
            store.answer(who, question.id, best, worst)
    assert store.annotations() == []


def test_a_question_left_open_goes_to_others(folder: Path) -> None:
    """It is held for a while; then it is asked of somebody else, and a late answer is kept too."""
    only = make_questionnaire([Item(n, (n,)) for n in "abc"], [Tuple("t", ("a", "b", "c"))])
    short = Rules(annotations=1, hold_minutes=1e-9)
    long = Rules(annotations=1)
    store = Store.create(folder / "db", replace(only, rules=long))
    late = store.enter("late")
    question = store.next(late)
    assert question is not None
    assert store.next(store.enter("early")) is None
    store = Store.create(folder / "db", replace(only, rules=short))
    again = store.next(store.enter("early"))
    assert again is not None
    answer(store, "early", again)
    answer(store, "late", question)
    assert {one.annotator for one in store.annotations()} == {"early", "late"}


def test_feedback_only_after_the_answer(folder: Path) -> None:
    """The right answer of a gold question is told to those who answered it, and of no other."""
    store = Store.create(folder / "db", small(Rules(gold_every=2)))
    who = store.enter("a")
    first = store.next(who)
    assert first is not None
    assert first.id not in GOLD
    answer(store, who, first)
    assert store.feedback(who, first.id) is None
    second = store.next(who)
    assert second is not None
    assert second.id in GOLD
    assert store.feedback(who, second.id) is None
    answer(store, who, second, right=False)
    found = store.feedback(who, second.id)
    assert found is not None
    assert not found.right
    right = GOLD[second.id]
    assert (found.right_best, found.right_worst) == (right.best, right.worst)
    assert store.feedback(store.enter("b"), second.id) is None


@pytest.mark.parametrize(("wrong", "stopped"), [(0, False), (1, False), (2, True)])
def test_too_many_wrong_gold_answers(wrong: int, stopped: bool, folder: Path) -> None:
    """Below the bar after enough gold questions, there are no more questions; answers stay."""
    rules = Rules(gold_every=2, stop_below=0.5, stop_after=3)
    store = Store.create(folder / "db", small(rules))
    who = store.enter("a")
    n_gold = 0
    while n_gold < 3:
        question = store.next(who)
        assert question is not None
        is_gold = question.id in GOLD
        answer(store, who, question, right=not (is_gold and n_gold < wrong))
        n_gold += is_gold
    assert store.stopped(who) is stopped
    assert (store.next(who) is None) is stopped
    assert len(store.annotations()) == 6
    assert store.overview().stopped == int(stopped)


def test_answers_come_out_as_annotations(folder: Path) -> None:
    """In the order given, with name and time, in the format that scoring reads."""
    from typer.testing import CliRunner

    from firth.cli.main import app

    answer_all(folder / "db", "Zoë")
    store = Store.open(folder / "db")
    expected = store.annotations()
    store.close()
    out = folder / "annotations.csv"
    done = CliRunner().invoke(app, ["bws", "export", "--db", str(folder / "db"), "--out", str(out)])
    assert done.exit_code == 0, done.output
    found = read_annotations(out)
    assert found == expected
    assert [one.time for one in found] == sorted(one.time for one in found)
    assert all(isinstance(one, Annotation) and one.annotator == "Zoë" for one in found)


def test_another_questionnaire_is_refused(folder: Path) -> None:
    """Answers must not be mixed; the wording and the rules may change."""
    path = folder / "db"
    Store.create(path, small()).close()
    Store.create(path, small(Rules(annotations=5))).close()
    assert Store.open(path).rules.annotations == 5
    for other in (
        make_questionnaire(items(), tuples(), []),
        make_questionnaire(items(), tuples()[1:], gold()),
        make_questionnaire(items(), tuples(), gold(), seed=14),
    ):
        with pytest.raises(InputError, match="name a new file"):
            Store.create(path, other)


def test_other_files_are_refused(folder: Path) -> None:
    """Text, other databases and missing files are named as what they are, and left as they are."""
    text = folder / "notes.txt"
    text.write_text("not a database, but long enough to have a header " * 9, encoding="utf-8")
    with pytest.raises(InputError, match="cannot be opened"):
        Store.create(text, small())
    other = folder / "other.db"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE mine (x)")
    with pytest.raises(InputError, match="another kind"):
        Store.create(other, small())
    with pytest.raises(InputError, match="no such file"):
        Store.open(folder / "none.db")
    with pytest.raises(InputError, match="a file; expected a folder"):
        Store.create(text / "db", small())
    Store.create(folder / "new" / "db", small()).close()
    assert (folder / "new" / "db").is_file()
    assert text.read_text(encoding="utf-8").startswith("not a database")


def test_a_damaged_file(folder: Path) -> None:
    """One message, and no answer of it: a page of nonsense, a text that is none, and settings that
    are none."""
    whole = folder / "db"
    Store.create(whole, small()).close()
    Store.open(whole).close()
    data = whole.read_bytes()
    assert len(data) > 3 * 4096
    torn = folder / "torn.db"
    torn.write_bytes(data[:-4096] + b"\xff" * 4096)
    with pytest.raises(InputError, match="cannot be opened"):
        Store.open(torn)
    shutil.copy(whole, other := folder / "other.db")
    with closing(sqlite3.connect(other)) as connection, connection:
        connection.execute("UPDATE items SET texts = CAST(x'5b22ff225d' AS TEXT)")
    with pytest.raises(InputError, match=r"cannot be opened .*UTF-8"):
        Store.open(other)
    with closing(sqlite3.connect(whole)) as connection, connection:
        connection.execute("UPDATE meta SET value = '[]' WHERE key = 'settings'")
    with pytest.raises(InputError, match="settings are damaged"):
        Store.open(whole)


def test_rules_that_cannot_be() -> None:
    """All of them at once."""
    with pytest.raises(ConfigError) as caught:
        Rules(annotations=0, gold_every=1, stop_below=2, stop_after=0, hold_minutes=0)
    assert len(caught.value.problems) == 5


def test_a_plan_that_cannot_be() -> None:
    """Missing items, unknown gold, and nothing but gold are refused."""
    with pytest.raises(InputError, match="items of the tuples are not there"):
        make_questionnaire(items()[:5], tuples())
    with pytest.raises(InputError, match="not among the tuples"):
        make_questionnaire(items(), tuples()[:3], gold())
    with pytest.raises(InputError, match="all tuples are gold"):
        make_questionnaire(items(), tuples()[-N_GOLD:], gold())

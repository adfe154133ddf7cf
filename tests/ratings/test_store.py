"""Every tuple gets its answers, nobody sees one twice, and nothing that was given is lost."""

import itertools
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from firth.ratings import store as module
from firth.ratings.records import Item, Tuple
from firth.ratings.store import (
    NotAskedError,
    Question,
    Rules,
    Store,
    UnusableAnswerError,
    read_answers,
)
from firth.run.errors import InputError

from .conftest import GOLD, ITEMS, TUPLES, asking

NUMBERS = itertools.count()
CHECKED = {one.tuple: one for one in GOLD}


def asked(store: Store, who: str) -> Question:
    """Return the question that is shown to somebody who has one."""
    question = store.next(who)
    assert question is not None
    return question


def answer(store: Store, who: str, question: Question, *, right: bool = True) -> None:
    """Answer with the first and the last item, which are right in gold questions."""
    best, worst = question.items[0], question.items[-1]
    store.answer(who, question.id, *((best, worst) if right else (worst, best)))


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    annotators=st.integers(2, 5), answers=st.integers(1, 2), turns=st.randoms(use_true_random=False)
)
def test_each_tuple_gets_its_answers(
    tmp_path: Path, annotators: int, answers: int, turns: object
) -> None:
    """Annotators take turns in any order, and leave questions open meanwhile."""
    with asking(tmp_path / f"{next(NUMBERS)}.db", answers=answers) as store:
        active = [store.enter(f"annotator {n}") for n in range(annotators)]
        numbers: dict[str, list[int]] = {who: [] for who in active}
        while active:
            who = turns.choice(active)  # type: ignore[attr-defined]
            question = store.next(who)
            if question is None:
                active.remove(who)
                continue
            assert question == store.next(who), "an open question is shown again"
            if turns.random() < 0.8:  # type: ignore[attr-defined]
                answer(store, who, question)
                numbers[who].append(question.number)
                due = question.number % 4 == 0 and question.number <= 4 * len(GOLD)
                assert (question.id in CHECKED) == due
        assert all(each == list(range(1, len(each) + 1)) for each in numbers.values())
        found, complete = store.annotations(), len(TUPLES) - len(GOLD)
        counts = Counter(one.tuple for one in found if one.tuple not in CHECKED)
        assert counts == dict.fromkeys((f"t{n}" for n in range(complete)), answers)
        assert max(Counter((one.annotator, one.tuple) for one in found).values()) == 1
        assert store.overview().startswith(f"{complete} of {complete} tuples complete")


_SCRIPT = """
import sys, time
from pathlib import Path
from firth.ratings.records import Item, Tuple
from firth.ratings.store import Store

items = [Item(str(n), (f"text {n}",)) for n in range(1000)]
tuples = [Tuple(f"t{n}", (str(n), str((n + 1) % 1000), str((n + 2) % 1000))) for n in range(1000)]
store = Store.create(Path(sys.argv[1]), items, tuples)
who = store.enter(sys.argv[2])
while (question := store.next(who)) is not None:
    store.answer(who, question.id, question.items[0], question.items[1])
    print(question.id, question.items[0], question.items[1], flush=True)
    time.sleep(0.005)
"""


def test_nothing_is_lost_when_two_processes_are_killed(tmp_path: Path) -> None:
    """Each answer that was acknowledged before a SIGKILL is in the file, and work continues."""
    path, acknowledged = tmp_path / "db", []
    command = [sys.executable, "-c", _SCRIPT, str(path)]
    running = [
        subprocess.Popen([*command, name], stdout=subprocess.PIPE, text=True) for name in "ab"
    ]
    streams: list[Any] = [one.stdout for one in running]
    for stream in streams:
        acknowledged += [stream.readline().strip() for _ in range(20)]
    for one in running:
        one.kill()
    for one, stream in zip(running, streams, strict=True):
        acknowledged += [line.strip() for line in stream if line.endswith("\n")]
        assert one.wait() == -signal.SIGKILL
        stream.close()
    with Store.open(path) as store:
        kept = [f"{one.tuple} {one.best} {one.worst}" for one in store.annotations()]
        assert store.next("a") is not None
    assert len(acknowledged) >= 40
    assert set(acknowledged) <= set(kept)
    # One answer of each may have been stored before it was acknowledged.
    assert len(kept) <= len(acknowledged) + 2
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_continuing_under_the_same_name(tmp_path: Path) -> None:
    """After a restart the open question is shown again, under the name in any spelling."""
    with asking(tmp_path / "db") as store:
        first = asked(store, store.enter("Zoë  Ångström"))
        answer(store, store.enter("Zoë Ångström"), first)
        second = store.next(store.enter("zoë ÅNGSTRÖM "))
    with asking(tmp_path / "db") as store:
        who = store.enter("ZOE\u0308 Ångström")
        assert store.next(who) == second
        assert store.progress(who) == (1, 8)
        assert store.name(who) == "Zoë Ångström"
        assert "by 1 annotators" in store.overview()
        for name in ("", "  \t", "\x00", "x" * 65):
            with pytest.raises(UnusableAnswerError):
                store.enter(name)


def test_only_usable_answers_are_kept_and_the_first_counts(tmp_path: Path) -> None:
    with asking(tmp_path / "db") as store:
        who = store.enter("a")
        question = asked(store, who)
        a, b, c, d = question.items
        other = "t0" if question.id != "t0" else "t1"
        for whose, name in ((who, other), (store.enter("b"), question.id)):
            with pytest.raises(NotAskedError):
                store.answer(whose, name, a, b)
        for best, worst in ((a, a), ("", b), (a, ""), (a, "no such item")):
            with pytest.raises(UnusableAnswerError):
                store.answer(who, question.id, best, worst)
        assert store.annotations() == []
        store.answer(who, question.id, a, d)
        store.answer(who, question.id, b, c)
        (kept,) = store.annotations()
    assert (kept.best, kept.worst) == (a, d)
    assert read_answers(tmp_path / "db") == [kept], "scoring reads the database itself"


def test_a_question_left_open_goes_to_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is held for a while, and a late answer is kept, too."""
    items, tuples = [Item(n, (n,)) for n in "abc"], [Tuple("t", ("a", "b", "c"))]
    rules = Rules(answers=1)
    with Store.create(tmp_path / "db", items, tuples, rules=rules) as store:
        question = asked(store, store.enter("late"))
        assert store.next(store.enter("early")) is None
    monkeypatch.setattr(module, "HOLD_MINUTES", 1e-9)
    with Store.create(tmp_path / "db", items, tuples, rules=rules) as store:
        answer(store, "early", asked(store, "early"))
        answer(store, "late", question)
        assert [one.annotator for one in store.annotations()] == ["early", "late"]


def test_feedback_only_after_the_answer(tmp_path: Path) -> None:
    with asking(tmp_path / "db", gold_every=2) as store:
        who = store.enter("a")
        first = asked(store, who)
        answer(store, who, first)
        second = asked(store, who)
        assert second.id in CHECKED
        assert store.feedback(who, first.id) is store.feedback(who, second.id) is None
        answer(store, who, second, right=False)
        found = store.feedback(who, second.id)
        assert found is not None
        assert not found.is_right
        expected = CHECKED[second.id]
        assert (found.right_best, found.right_worst) == (expected.best, expected.worst)
        assert store.feedback(store.enter("b"), second.id) is None


@pytest.mark.parametrize(("wrong", "stopped"), [(0, False), (1, False), (2, True)])
def test_too_many_wrong_gold_answers(
    wrong: int, stopped: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Below the bar after enough gold questions there are no more questions; answers stay."""
    assert Rules().stop_below == 0.7, "the default is that of the paper"
    monkeypatch.setattr(module, "STOP_AFTER", 3)
    with asking(tmp_path / "db", gold_every=2, stop_below=0.5) as store:
        who, n_gold = store.enter("a"), 0
        while n_gold < 3:
            question = asked(store, who)
            is_gold = question.id in CHECKED
            answer(store, who, question, right=not (is_gold and n_gold < wrong))
            n_gold += is_gold
        assert store.is_stopped(who) is stopped
        assert (store.next(who) is None) is stopped
        assert len(store.annotations()) == 6


def test_another_questionnaire_is_refused(tmp_path: Path) -> None:
    """Answers must not be mixed; the rules may change."""
    path = tmp_path / "db"
    asking(path).close()
    asking(path, answers=5).close()
    for other in ((TUPLES, []), (TUPLES[1:], GOLD)):
        with pytest.raises(InputError, match="name a new file"):
            Store.create(path, ITEMS, *other)
    with pytest.raises(InputError, match="name a new file"):
        asking(path, seed=14)


def test_other_and_damaged_files_are_refused(tmp_path: Path) -> None:
    """They are left as they are."""
    text, other, torn = tmp_path / "notes.txt", tmp_path / "other.db", tmp_path / "torn.db"
    text.write_text("not a database, but long enough to have a header " * 9, encoding="utf-8")
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE mine (x)")
    asking(tmp_path / "new" / "db").close()
    torn.write_bytes((tmp_path / "new" / "db").read_bytes()[:-4096] + b"\xff" * 4096)
    before = [path.read_bytes() for path in (text, other, torn)]
    for path, problem in ((text, "cannot be opened"), (other, "another kind")):
        with pytest.raises(InputError, match=problem):
            asking(path)
    for path, problem in ((torn, "cannot be opened"), (tmp_path / "none.db", "no questionnaire")):
        with pytest.raises(InputError, match=problem):
            Store.open(path)
    assert before == [path.read_bytes() for path in (text, other, torn)]

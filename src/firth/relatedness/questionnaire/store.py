"""A questionnaire in an SQLite file: who is asked what; answers, stored as they are given."""

import json
import sqlite3
import time
import unicodedata
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from sqlite3 import Connection, Row
from threading import Lock

from firth.relatedness.bws.records import Annotation
from firth.relatedness.questionnaire.setup import Questionnaire, Rules, Wording
from firth.run.errors import InputError
from firth.run.files import claim_file
from firth.run.seeds import derive_seed

LONGEST_NAME = 64
_SCHEMA = "1"
_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE items (id TEXT PRIMARY KEY, texts TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE tuples (
    place INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    items TEXT NOT NULL,
    best TEXT,
    worst TEXT
);
CREATE TABLE annotators (
    key TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    joined TEXT NOT NULL,
    stopped INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE TABLE answers (
    annotator TEXT NOT NULL REFERENCES annotators (key),
    place INTEGER NOT NULL REFERENCES tuples (place),
    number INTEGER NOT NULL,
    shown REAL NOT NULL,
    best TEXT,
    worst TEXT,
    answered TEXT,
    PRIMARY KEY (annotator, place)
) WITHOUT ROWID;
CREATE INDEX answers_of_a_tuple ON answers (place);
"""
_OPEN = """
SELECT t.place FROM tuples AS t
LEFT JOIN (
    SELECT place, count(*) AS held FROM answers
    WHERE answered IS NOT NULL OR shown > :since GROUP BY place
) AS load ON load.place = t.place
WHERE t.best IS NULL AND coalesce(load.held, 0) < :wanted
AND NOT EXISTS (SELECT 1 FROM answers WHERE annotator = :me AND place = t.place)
"""
"""Tuples that still lack answers, and that `:me` has not seen; held ones count as answered."""
_ASKED = "answers AS a JOIN tuples AS t ON t.place = a.place"
_WAIT_SECONDS = 30


@dataclass(frozen=True)
class Question:
    """A tuple as it is shown: its id, the question's number among this annotator's (from 1), ids of
    items in the order they are shown, and the texts of each.
    """

    id: str
    number: int
    items: tuple[str, ...]
    texts: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Feedback:
    """What an annotator answered to a gold question, and what is right (ids of items)."""

    question: Question
    best: str
    worst: str
    right_best: str
    right_worst: str

    @property
    def right(self) -> bool:
        """Whether both are right."""
        return (self.best, self.worst) == (self.right_best, self.right_worst)


@dataclass(frozen=True)
class AnnotatorProgress:
    """Questions that an annotator answered (gold included), and questions still open to them."""

    answered: int
    left: int


@dataclass(frozen=True)
class Overview:
    """How far the questionnaire is: tuples that are not gold, those of them with all wanted
    answers, answers to them, answers to gold questions, who ever began, and those asked no more.
    """

    tuples: int
    complete: int
    answers: int
    gold_answers: int
    annotators: int
    stopped: int

    def __str__(self) -> str:
        """One line."""
        return (
            f"{self.complete:,} of {self.tuples:,} tuples complete; {self.answers:,} answers and "
            f"{self.gold_answers:,} gold answers by {self.annotators:,} annotators"
            + (f", {self.stopped:,} of them stopped" if self.stopped else "")
        )


class NotAskedError(Exception):
    """An answer to a question that was never put to this annotator."""


class UnusableAnswerError(ValueError):
    """An answer that names no two different items of the tuple."""


class Store:
    """A questionnaire in a file: `Store.create`, or `Store.open` for one that is there.

    Several threads share one connection; other processes may have the same file open. Every write
    is one transaction, synced to the disk before it ends (`synchronous=FULL`, write-ahead log):
    what was committed survives a kill and a loss of power.
    """

    def __init__(self, path: Path, wording: Wording, rules: Rules) -> None:
        self.path, self.wording, self.rules, self._lock = path, wording, rules, Lock()
        try:
            self._connection = sqlite3.connect(
                path, timeout=_WAIT_SECONDS, isolation_level=None, check_same_thread=False
            )
            self._connection.row_factory = Row
            _write_ahead(self._connection)
            for setting in ("synchronous=FULL", "foreign_keys=ON"):
                self._connection.execute(f"PRAGMA {setting}")
        except sqlite3.Error as error:
            raise InputError(f"{path}: cannot be opened as a questionnaire ({error})") from error

    @classmethod
    def create(cls, path: str | Path, questionnaire: Questionnaire) -> "Store":
        """Begin a questionnaire, or go on with it where the file holds it already: with its items,
        tuples and gold; wording and rules may have changed, and the new ones hold from now on.
        Raise `InputError` if the file is something else, or holds another questionnaire.
        """
        path = Path(path)
        _look_at(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        store = cls(path, questionnaire.wording, questionnaire.rules)
        with store._writing() as connection:
            if not _table_names(connection):
                _fill(connection, questionnaire)
            if _meta(connection, "fingerprint") != questionnaire.fingerprint:
                raise InputError(
                    f"{path}: holds answers to other items, tuples, gold questions, or another "
                    "order of them (--seed). Give the same ones, or name a new file with --db"
                )
            settings = json.dumps(questionnaire.settings(), ensure_ascii=False)
            _set_meta(connection, "settings", settings)
        return store

    @classmethod
    def open(cls, path: str | Path) -> "Store":
        """Open a questionnaire that is there; raise `InputError` if there is none, or a damaged
        one."""
        path = Path(path)
        if not path.is_file():
            raise InputError(f"{path}: no such file. firth bws serve makes it")
        if not _look_at(path):
            raise InputError(f"{path}: empty. firth bws serve fills it")
        store = cls(path, Wording(), Rules())
        with store._reading() as connection:
            kept = _meta(connection, "settings")
        try:
            settings = json.loads(kept)
            store.wording, store.rules = Wording(**settings["wording"]), Rules(**settings["rules"])
        except (LookupError, TypeError, ValueError) as error:
            store.close()
            raise InputError(f"{path}: its settings are damaged ({error})") from error
        return store

    def close(self) -> None:
        """Close the file; all answers are in it already."""
        with self._lock:
            self._connection.close()

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        """A consistent view of the file."""
        with self._lock:
            self._connection.execute("BEGIN")
            try:
                yield self._connection
            finally:
                self._connection.execute("ROLLBACK")

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        """One transaction: all of the block is on the disk when it ends, or none of it."""
        with self._lock:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    def enter(self, name: str) -> str:
        """The key of an annotator, who may have been here before: names that differ in case, blanks
        or Unicode form only are the same annotator's. Raise `UnusableAnswerError` if the name is
        empty, or longer than 64 characters.
        """
        shown = " ".join("".join(c if c.isprintable() else " " for c in name).split())
        key = unicodedata.normalize("NFKC", shown).casefold()
        if not key or len(shown) > LONGEST_NAME:
            raise UnusableAnswerError(f"Please give a name of 1 to {LONGEST_NAME} characters.")
        with self._writing() as connection:
            connection.execute(
                "INSERT INTO annotators (key, name, joined) VALUES (?, ?, ?) "
                "ON CONFLICT (key) DO NOTHING",
                (key, shown, _now()),
            )
        return key

    def name(self, annotator: str) -> str | None:
        """The name behind a key, as it was first given; None if there is none."""
        with self._reading() as connection:
            row = _one(connection, "SELECT name FROM annotators WHERE key = ?", annotator)
        return None if row is None else str(row["name"])

    def next(self, annotator: str) -> Question | None:
        """The question to show: the one not yet answered, else a new one; None when there is none.

        Every `gold_every`-th is a gold question. Of the others, the one with the fewest answers
        comes first, so that all tuples are answered once before any is answered twice.
        """
        with self._writing() as connection:
            if _is_stopped(connection, annotator):
                return None
            open_one = "SELECT place, number FROM answers WHERE annotator = ? AND answered IS NULL"
            if (row := _one(connection, open_one, annotator)) is not None:
                place, number = row
                statement = (
                    "UPDATE answers SET shown = :now WHERE annotator = :me AND place = :place"
                )
            else:
                number = 1 + _count(connection, "WHERE annotator = ?", annotator)
                if (place := self._choose(connection, annotator, number)) is None:
                    return None
                statement = (
                    "INSERT INTO answers (annotator, place, number, shown) "
                    "VALUES (:me, :place, :number, :now)"
                )
            now = {"now": time.time(), "me": annotator, "place": place, "number": number}
            connection.execute(statement, now)
            return _question(connection, place, number)

    def _choose(self, connection: Connection, annotator: str, number: int) -> int | None:
        """The place of the tuple that question `number` of an annotator asks about, if any: a gold
        one that they have not seen, where it is due and there are other questions left.
        """
        row = connection.execute(
            f"{_OPEN} ORDER BY coalesce(load.held, 0), t.place LIMIT 1", self._open_to(annotator)
        ).fetchone()
        if row is None:
            return None
        if number % self.rules.gold_every == 0:
            unseen = connection.execute(
                "SELECT place FROM tuples AS t WHERE best IS NOT NULL AND NOT EXISTS "
                "(SELECT 1 FROM answers WHERE annotator = ? AND place = t.place) ORDER BY place",
                (annotator,),
            ).fetchall()
            if unseen:
                # Annotators get the gold questions in different orders.
                row = unseen[derive_seed(number, annotator) % len(unseen)]
        return int(row["place"])

    def _open_to(self, annotator: str) -> dict[str, object]:
        """The parameters of `_OPEN` for an annotator, now."""
        since = time.time() - 60 * self.rules.hold_minutes
        return {"me": annotator, "since": since, "wanted": self.rules.annotations}

    def answer(self, annotator: str, tuple_id: str, best: str, worst: str) -> bool:
        """Store an answer; it is on the disk when this returns. The first one counts. Whether the
        tuple is a gold question, so that there is feedback.

        Raises:
            NotAskedError: The question was not put to this annotator.
            UnusableAnswerError: `best` and `worst` are not two different items of the tuple.
        """
        with self._writing() as connection:
            asked = (
                f"SELECT t.place, t.items, t.best, a.answered FROM {_ASKED} "
                "WHERE a.annotator = ? AND t.id = ?"
            )
            if (row := _one(connection, asked, annotator, tuple_id)) is None:
                raise NotAskedError(tuple_id)
            gold = row["best"] is not None
            if row["answered"] is not None:
                return gold
            items = json.loads(row["items"])
            if best not in items or worst not in items:
                raise UnusableAnswerError("Please choose one item of each kind.")
            if best == worst:
                raise UnusableAnswerError("Please choose two different items.")
            connection.execute(
                "UPDATE answers SET best = ?, worst = ?, answered = ? "
                "WHERE annotator = ? AND place = ?",
                (best, worst, _now(), annotator, row["place"]),
            )
            if gold:
                self._stop_if_needed(connection, annotator)
            return gold

    def _stop_if_needed(self, connection: Connection, annotator: str) -> None:
        """Mark an annotator whose share of right gold answers has fallen below the bar."""
        n, right = connection.execute(
            f"SELECT count(*), sum(a.best = t.best AND a.worst = t.worst) FROM {_ASKED} "
            "WHERE a.annotator = ? AND a.answered IS NOT NULL AND t.best IS NOT NULL",
            (annotator,),
        ).fetchone()
        if n >= self.rules.stop_after and right < self.rules.stop_below * n - 1e-9:
            connection.execute("UPDATE annotators SET stopped = 1 WHERE key = ?", (annotator,))

    def feedback(self, annotator: str, tuple_id: str) -> Feedback | None:
        """What to tell about a gold question that was answered; None where there is nothing."""
        with self._reading() as connection:
            answered = (
                f"SELECT t.place, a.number, a.best, a.worst, t.best, t.worst FROM {_ASKED} "
                "WHERE a.annotator = ? AND t.id = ? AND answered IS NOT NULL AND t.best IS NOT NULL"
            )
            if (row := _one(connection, answered, annotator, tuple_id)) is None:
                return None
            place, number, *answers = row
            return Feedback(_question(connection, place, number), *answers)

    def progress(self, annotator: str) -> AnnotatorProgress:
        """How far an annotator is."""
        with self._reading() as connection:
            answered = _count(connection, "WHERE annotator = ? AND answered IS NOT NULL", annotator)
            waiting = _count(connection, "WHERE annotator = ? AND answered IS NULL", annotator)
            (unseen,) = connection.execute(
                f"SELECT count(*) FROM ({_OPEN})", self._open_to(annotator)
            ).fetchone()
        return AnnotatorProgress(answered, waiting + int(unseen))

    def stopped(self, annotator: str) -> bool:
        """Whether the annotator is asked no more, after too many wrong gold answers."""
        with self._reading() as connection:
            return _is_stopped(connection, annotator)

    def annotations(self) -> list[Annotation]:
        """All answers in the order in which they were given, gold ones among them."""
        answers = (
            f"SELECT t.id, n.name, a.best, a.worst, a.answered FROM {_ASKED} JOIN annotators AS n "
            "ON n.key = a.annotator WHERE a.answered IS NOT NULL "
            "ORDER BY a.answered, a.annotator, a.number"
        )
        with self._reading() as connection:
            return [Annotation(*row) for row in connection.execute(answers)]

    def overview(self) -> Overview:
        """How far the questionnaire is."""
        with self._reading() as connection:
            tuples, complete, answers = connection.execute(
                "SELECT count(*), sum(n >= :wanted), sum(n) FROM ("
                "SELECT (SELECT count(*) FROM answers AS a WHERE a.place = t.place "
                "AND a.answered IS NOT NULL) AS n FROM tuples AS t WHERE t.best IS NULL)",
                {"wanted": self.rules.annotations},
            ).fetchone()
            gold = _count(connection, "WHERE answered IS NOT NULL") - answers
            people, stopped = connection.execute(
                "SELECT count(*), coalesce(sum(stopped), 0) FROM annotators"
            ).fetchone()
        return Overview(tuples, complete, answers, gold, people, stopped)


def _write_ahead(connection: Connection) -> None:
    """Switch to the write-ahead log. SQLite does not wait by itself while another process does."""
    end = time.monotonic() + _WAIT_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > end:
                raise
        time.sleep(0.02)


def _look_at(path: Path) -> bool:
    """Whether a file is a questionnaire; False if it is empty or missing. Nothing is changed in it.
    Raise `InputError` if it is something else, or a questionnaire of another release.
    """
    if not path.exists():
        claim_file(path, force=True)  # another process may have just made it: then it is looked at
        return False
    if not path.is_file():
        raise InputError(f"{path}: cannot be opened as a questionnaire (not a file)")
    found, uri = None, f"{path.resolve().as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(uri, timeout=_WAIT_SECONDS, uri=True)) as connection:
            connection.row_factory = Row
            names = _table_names(connection)
            if {"meta", "tuples", "answers"} <= names:
                found = _meta(connection, "schema")
                (state,) = connection.execute("PRAGMA quick_check(1)").fetchone()
                if state != "ok":
                    raise sqlite3.DatabaseError(state)
                for table in names:  # the check does not decode texts
                    quoted = table.replace('"', '""')
                    for _ in connection.execute(f'SELECT * FROM "{quoted}"'):
                        pass
    except sqlite3.Error as error:
        raise InputError(f"{path}: cannot be opened as a questionnaire ({error})") from error
    if names and found != _SCHEMA:
        raise InputError(
            f"{path}: a database of another kind (tables {', '.join(sorted(names))}; "
            f"schema {found}, expected {_SCHEMA}). Name a new file"
        )
    return bool(names)


def _table_names(connection: Connection) -> set[str]:
    return {
        name
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    }


def _fill(connection: Connection, questionnaire: Questionnaire) -> None:
    for statement in filter(str.strip, _TABLES.split(";")):
        connection.execute(statement)
    items = questionnaire.items.values()
    connection.executemany(
        "INSERT INTO items VALUES (?, ?)",
        ((item.id, json.dumps(item.texts, ensure_ascii=False)) for item in items),
    )
    rows = []
    for place, one in enumerate(questionnaire.tuples, start=1):
        gold = questionnaire.gold.get(one.id)
        answer = (None, None) if gold is None else (gold.best, gold.worst)
        rows.append((place, one.id, json.dumps(one.items, ensure_ascii=False), *answer))
    connection.executemany("INSERT INTO tuples VALUES (?, ?, ?, ?, ?)", rows)
    _set_meta(connection, "schema", _SCHEMA)
    _set_meta(connection, "fingerprint", questionnaire.fingerprint)


def _question(connection: Connection, place: int, number: int) -> Question:
    row = _one(connection, "SELECT id, items FROM tuples WHERE place = ?", place)
    assert row is not None, "a place that stands in an answer"
    items = tuple(json.loads(row["items"]))
    texts = [
        tuple(json.loads(found["texts"]))
        for item in items
        if (found := _one(connection, "SELECT texts FROM items WHERE id = ?", item))
    ]
    return Question(row["id"], number, items, tuple(texts))


def _is_stopped(connection: Connection, annotator: str) -> bool:
    row = _one(connection, "SELECT stopped FROM annotators WHERE key = ?", annotator)
    return row is not None and bool(row["stopped"])


def _one(connection: Connection, query: str, *values: object) -> Row | None:
    row: Row | None = connection.execute(query, values).fetchone()
    return row


def _count(connection: Connection, where: str, *values: object) -> int:
    return int(connection.execute(f"SELECT count(*) FROM answers {where}", values).fetchone()[0])


def _meta(connection: Connection, key: str) -> str:
    row = _one(connection, "SELECT value FROM meta WHERE key = ?", key)
    return "" if row is None else str(row["value"])


def _set_meta(connection: Connection, key: str, value: str) -> None:
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))


def _now() -> str:
    """UTC with microseconds, so that the order of answers can be seen."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")

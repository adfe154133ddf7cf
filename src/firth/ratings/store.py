"""A questionnaire in an SQLite file: who is asked which tuple, and the answers.

Every write is one transaction that is on the disk when it ends (`synchronous=FULL`): an answer
that was acknowledged survives a kill and a loss of power. Several threads share a connection, and
several processes may have the file open.
"""

import json
import random
import sqlite3
import time
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from sqlite3 import Connection, Row
from threading import Lock
from typing import Annotated, Any, Self

from pydantic import Field

from firth.ratings.records import Annotation, Gold, Item, Tuple, read_annotations
from firth.run.errors import FirthError, InputError
from firth.run.files import fingerprint_value
from firth.run.outputs import claim_output
from firth.run.settings import Section, derive_seed

LONGEST_NAME = 64
PAGES = Path(__file__).with_name("pages")
_SCHEMA = "1"
_WAIT_SECONDS = 30
STOP_AFTER, HOLD_MINUTES = 5, 60.0
"""Gold answers before anybody is stopped, and time for which a question that was shown is asked of
nobody else."""
_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE items (id TEXT PRIMARY KEY, texts TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE tuples (
    place INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, items TEXT NOT NULL, best TEXT, worst TEXT
);
CREATE TABLE annotators (
    key TEXT PRIMARY KEY, name TEXT NOT NULL, stopped INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE TABLE answers (
    annotator TEXT NOT NULL REFERENCES annotators (key),
    place INTEGER NOT NULL REFERENCES tuples (place),
    number INTEGER NOT NULL, shown REAL NOT NULL, best TEXT, worst TEXT, answered INTEGER,
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
"""Tuples that need answers and that `:me` has not seen; a tuple on somebody's screen is taken."""
_ASKED = "answers AS a JOIN tuples AS t ON t.place = a.place"


class Rules(Section):
    """What annotators read, and how questions are given out."""

    title: str = "Which is most related?"
    """Title of the pages."""
    best: str = "most related"
    """Label of the best item."""
    worst: str = "least related"
    """Label of the worst item."""
    instructions: str = PAGES.joinpath("instructions.md").read_text(encoding="utf-8")
    """Instructions in Markdown; HTML in them is shown as text."""
    answers: Annotated[int, Field(ge=1)] = 2
    """Answers wanted for each tuple, except gold questions."""
    gold_every: Annotated[int, Field(ge=2)] = 10
    """One question in so many is a gold question."""
    stop_below: Annotated[float, Field(ge=0, le=1)] = 0.7
    """Annotators with a smaller share of right gold answers get no more questions (§3.2.1)."""


@dataclass(frozen=True)
class Question:
    """A tuple as it is shown: number for this annotator, from 1, and items with their texts."""

    id: str
    number: int
    items: tuple[str, ...]
    texts: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Feedback:
    """The answer of an annotator to a gold question, and the right one; ids of items."""

    question: Question
    best: str
    worst: str
    right_best: str
    right_worst: str

    @property
    def is_right(self) -> bool:
        """Whether best and worst are both right."""
        return (self.best, self.worst) == (self.right_best, self.right_worst)


class NotAskedError(FirthError):
    """An answer to a question that this annotator was not asked."""


class UnusableAnswerError(FirthError):
    """An answer that does not name two different items of the tuple, or an unusable name."""


class Store:
    """A questionnaire in a file: `Store.create`, or `Store.open` for one that exists."""

    def __init__(self, path: Path, rules: Rules) -> None:
        self.path, self.rules, self._lock = path, rules, Lock()
        try:
            self._connection = sqlite3.connect(
                path, timeout=_WAIT_SECONDS, isolation_level=None, check_same_thread=False
            )
            self._connection.row_factory = Row
            if (names := _tables(self._connection)) and (
                not {"meta", "tuples", "answers"} <= names
                or _meta(self._connection).get("schema") != _SCHEMA
            ):
                self._connection.close()
                raise InputError(f"{path}: a database of another kind. Name a new file")
            (state,) = self._connection.execute("PRAGMA quick_check(1)").fetchone()
            if state != "ok":
                raise sqlite3.DatabaseError(state)
            for setting in ("synchronous=FULL", "foreign_keys=ON"):
                self._connection.execute(f"PRAGMA {setting}")
        except sqlite3.Error as error:
            raise InputError(f"{path}: cannot be opened as a questionnaire ({error})") from error

    @classmethod
    def create(
        cls,
        path: Path,
        items: Iterable[Item],
        tuples: Sequence[Tuple],
        gold: Sequence[Gold] = (),
        *,
        rules: Rules | None = None,
        seed: int = 13,
    ) -> Self:
        """Begin a questionnaire, or continue it, perhaps by other rules, where the file holds it.

        The seed decides the order of the tuples. The file records the rules.
        """
        if len(gold) == len(tuples):
            raise InputError("all tuples are gold questions; expected others to ask about")
        asked_ids = {name for question in tuples for name in question.items}
        items = sorted((item for item in items if item.id in asked_ids), key=lambda item: item.id)
        tuples, gold = list(tuples), sorted(gold, key=lambda answer: answer.tuple)
        random.Random(derive_seed(seed, "questionnaire")).shuffle(tuples)
        plain = [[asdict(record) for record in table] for table in (items, tuples, gold)]
        fingerprint = fingerprint_value(plain)
        claim_output(path, force=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        store = cls(path, rules or Rules())
        with store._transaction() as connection:
            if not _tables(connection):
                _fill(connection, items, tuples, gold, fingerprint)
            if _meta(connection)["fingerprint"] != fingerprint:
                raise InputError(
                    f"{path}: holds answers to other items, tuples or gold questions, or to "
                    "another order of them. Give the same files and seed, or name a new file"
                )
            text = store.rules.model_dump_json()
            connection.execute("INSERT OR REPLACE INTO meta VALUES ('rules', ?)", (text,))
        return store

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open a questionnaire that exists, to read its answers."""
        if not path.is_file() or not path.stat().st_size:
            raise InputError(f"{path}: no questionnaire. Make it with firth ratings serve")
        return cls(path, Rules())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; all answers are in it already."""
        with self._lock:
            self._connection.close()

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        with self._lock, self._connection as connection:  # It commits, or rolls back.
            connection.execute("BEGIN IMMEDIATE")
            yield connection

    def enter(self, name: str) -> str:
        """Return the key of an annotator, who may have been here before.

        Names that differ only in case, white space or Unicode form have the same key.
        """
        display_name = " ".join("".join(c if c.isprintable() else " " for c in name).split())
        key = unicodedata.normalize("NFKC", display_name).casefold()
        if not key or len(display_name) > LONGEST_NAME:
            raise UnusableAnswerError(f"Please give a name of 1 to {LONGEST_NAME} characters.")
        with self._transaction() as connection:
            insert = "INSERT INTO annotators (key, name) VALUES (?, ?) ON CONFLICT (key) DO NOTHING"
            connection.execute(insert, (key, display_name))
        return key

    def name(self, annotator: str) -> str | None:
        """Return the name behind a key, as it was first given; None where there is none."""
        with self._transaction() as connection:
            row = _one(connection, "SELECT name FROM annotators WHERE key = ?", annotator)
        return None if row is None else str(row["name"])

    def next(self, annotator: str) -> Question | None:
        """Return the question to show: one that is not answered yet, or a new one, or None.

        Of new ones, a gold question is asked where it is due. Of the others the one with the fewest
        answers is asked, so that no tuple is answered twice before all are answered once.
        """
        with self._transaction() as connection:
            if _is_stopped(connection, annotator):
                return None
            now = {"now": time.time(), "me": annotator}
            waiting = "SELECT place, number FROM answers WHERE annotator = ? AND answered IS NULL"
            if (row := _one(connection, waiting, annotator)) is not None:
                place, number = row
                change = "UPDATE answers SET shown = :now WHERE annotator = :me AND place = :place"
            else:
                number = 1 + sum(_asked_of(connection, annotator))
                place = self._choose(connection, annotator, number)
                if place is None:
                    return None
                change = (
                    "INSERT INTO answers (annotator, place, number, shown) "
                    "VALUES (:me, :place, :number, :now)"
                )
            connection.execute(change, {**now, "place": place, "number": number})
            return _question(connection, place, number)

    def _choose(self, connection: Connection, annotator: str, number: int) -> int | None:
        """Return the place of the tuple of a new question."""
        least = f"{_OPEN} ORDER BY coalesce(load.held, 0), t.place LIMIT 1"
        row = connection.execute(least, self._open_to(annotator)).fetchone()
        if row is None:
            return None
        if number % self.rules.gold_every == 0:
            unseen = connection.execute(
                "SELECT place FROM tuples AS t WHERE best IS NOT NULL AND NOT EXISTS "
                "(SELECT 1 FROM answers WHERE annotator = ? AND place = t.place) ORDER BY place",
                (annotator,),
            ).fetchall()
            if unseen:  # Annotators get the gold questions in different orders.
                row = unseen[derive_seed(number, annotator) % len(unseen)]
        return int(row["place"])

    def _open_to(self, annotator: str) -> dict[str, object]:
        since = time.time() - 60 * HOLD_MINUTES
        return {"me": annotator, "since": since, "wanted": self.rules.answers}

    def answer(self, annotator: str, tuple_id: str, best: str, worst: str) -> bool:
        """Store an answer: it is on the disk when this returns. The first answer counts.

        Return whether the tuple is a gold question, so that there is feedback. A `NotAskedError`
        says that the annotator was not asked this, and an `UnusableAnswerError` that best and worst
        are not two different items of the tuple.
        """
        with self._transaction() as connection:
            query = (
                f"SELECT t.place, t.items, t.best, a.answered FROM {_ASKED} "
                "WHERE a.annotator = ? AND t.id = ?"
            )
            if (row := _one(connection, query, annotator, tuple_id)) is None:
                raise NotAskedError(tuple_id)
            is_gold = row["best"] is not None
            if row["answered"] is not None:
                return is_gold
            items = json.loads(row["items"])
            if best not in items or worst not in items:
                raise UnusableAnswerError("Please choose one item of each kind.")
            if best == worst:
                raise UnusableAnswerError("Please choose two different items.")
            connection.execute(
                "UPDATE answers SET best = ?, worst = ?, "
                "answered = (SELECT coalesce(max(answered), 0) + 1 FROM answers) "
                "WHERE annotator = ? AND place = ?",
                (best, worst, annotator, row["place"]),
            )
            if is_gold:
                self._stop_if_needed(connection, annotator)
            return is_gold

    def _stop_if_needed(self, connection: Connection, annotator: str) -> None:
        n, right = connection.execute(
            f"SELECT count(*), sum(a.best = t.best AND a.worst = t.worst) FROM {_ASKED} "
            "WHERE a.annotator = ? AND a.answered IS NOT NULL AND t.best IS NOT NULL",
            (annotator,),
        ).fetchone()
        if n >= STOP_AFTER and right < self.rules.stop_below * n - 1e-9:
            connection.execute("UPDATE annotators SET stopped = 1 WHERE key = ?", (annotator,))

    def feedback(self, annotator: str, tuple_id: str) -> Feedback | None:
        """Return the right answer to a gold question that was answered; else None."""
        with self._transaction() as connection:
            answered = (
                f"SELECT t.place, a.number, a.best, a.worst, t.best, t.worst FROM {_ASKED} "
                "WHERE a.annotator = ? AND t.id = ? AND answered IS NOT NULL AND t.best IS NOT NULL"
            )
            if (row := _one(connection, answered, annotator, tuple_id)) is None:
                return None
            place, number, *answers = row
            return Feedback(_question(connection, place, number), *answers)

    def progress(self, annotator: str) -> tuple[int, int]:
        """Return the numbers of questions that an annotator answered, and that are left."""
        with self._transaction() as connection:
            answered, waiting = _asked_of(connection, annotator)
            unseen = f"SELECT count(*) FROM ({_OPEN})"
            (unseen_count,) = connection.execute(unseen, self._open_to(annotator)).fetchone()
        return answered, waiting + int(unseen_count)

    def is_stopped(self, annotator: str) -> bool:
        """Return whether the annotator gets no more questions, after wrong gold answers."""
        with self._transaction() as connection:
            return _is_stopped(connection, annotator)

    def annotations(self) -> list[Annotation]:
        """Return all answers in the order in which they were given, gold ones among them."""
        answers = (
            f"SELECT t.id, n.name, a.best, a.worst FROM {_ASKED} JOIN annotators AS n "
            "ON n.key = a.annotator WHERE a.answered IS NOT NULL ORDER BY a.answered"
        )
        with self._lock:  # Without a transaction: the file may be one that nobody may change.
            return [Annotation(*row) for row in self._connection.execute(answers)]

    def overview(self) -> str:
        """Return how far the questionnaire is, as a line for a screen."""
        with self._transaction() as connection:
            tuples, complete, answers = connection.execute(
                "SELECT count(*), sum(n >= :wanted), sum(n) FROM ("
                "SELECT (SELECT count(*) FROM answers AS a WHERE a.place = t.place "
                "AND a.answered IS NOT NULL) AS n FROM tuples AS t WHERE t.best IS NULL)",
                {"wanted": self.rules.answers},
            ).fetchone()
            people, stopped = connection.execute(
                "SELECT count(*), coalesce(sum(stopped), 0) FROM annotators"
            ).fetchone()
        return (
            f"{complete:,} of {tuples:,} tuples complete; {answers:,} answers by {people:,} "
            f"annotators, of whom {stopped:,} were stopped"
        )


def _tables(connection: Connection) -> set[str]:
    rows = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    return {name for (name,) in rows}


def _fill(
    connection: Connection,
    items: Iterable[Item],
    tuples: Iterable[Tuple],
    gold: Iterable[Gold],
    fingerprint: str,
) -> None:
    for statement in filter(str.strip, _TABLES.split(";")):
        connection.execute(statement)
    texts = ((item.id, json.dumps(item.texts)) for item in items)
    connection.executemany("INSERT INTO items VALUES (?, ?)", texts)
    right = {answer.tuple: (answer.best, answer.worst) for answer in gold}
    rows = (
        (place, question.id, json.dumps(question.items), *right.get(question.id, (None, None)))
        for place, question in enumerate(tuples, start=1)
    )
    connection.executemany("INSERT INTO tuples VALUES (?, ?, ?, ?, ?)", rows)
    values = [("schema", _SCHEMA), ("fingerprint", fingerprint)]
    connection.executemany("INSERT INTO meta VALUES (?, ?)", values)


def _question(connection: Connection, place: int, number: int) -> Question:
    row = connection.execute("SELECT id, items FROM tuples WHERE place = ?", (place,)).fetchone()
    items = tuple(json.loads(row["items"]))
    texts = (
        connection.execute("SELECT texts FROM items WHERE id = ?", (item,)).fetchone()["texts"]
        for item in items
    )
    return Question(row["id"], number, items, tuple(tuple(json.loads(stored)) for stored in texts))


def _is_stopped(connection: Connection, annotator: str) -> bool:
    row = _one(connection, "SELECT stopped FROM annotators WHERE key = ?", annotator)
    return bool(row and row["stopped"])


def _one(connection: Connection, query: str, *values: Any) -> Row | None:
    row: Row | None = connection.execute(query, values).fetchone()
    return row


def _asked_of(connection: Connection, annotator: str) -> tuple[int, int]:
    """Return the numbers of questions that an annotator has answered, and not yet."""
    query = "SELECT count(answered), count(*) FROM answers WHERE annotator = ?"
    answered, total = connection.execute(query, (annotator,)).fetchone()
    return answered, total - answered


def _meta(connection: Connection) -> dict[str, str]:
    return dict(map(tuple, connection.execute("SELECT key, value FROM meta")))


def read_answers(path: Path) -> list[Annotation]:
    """Read all answers from a questionnaire's database, or a file of annotations."""
    if path.is_file():
        with path.open("rb") as file:
            is_database = file.read(16) == b"SQLite format 3\0"
        if is_database:
            with Store.open(path) as store:
                if answers := store.annotations():
                    return answers
                raise InputError(f"{path}: has no answers yet")
    return read_annotations(path)

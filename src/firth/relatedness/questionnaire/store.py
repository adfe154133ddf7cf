"""Who is asked what, and the answers, each stored as it is given."""

import json
import time
import unicodedata
from datetime import UTC, datetime
from pathlib import Path
from sqlite3 import Connection, Row

from firth.relatedness.bws.records import Annotation
from firth.relatedness.questionnaire.assign import OPEN, choose, is_stopped, open_to, stop_if_needed
from firth.relatedness.questionnaire.database import SCHEMA, Database
from firth.relatedness.questionnaire.plan import Questionnaire, Rules, Wording
from firth.relatedness.questionnaire.question import (
    Feedback,
    NotAskedError,
    Overview,
    Progress,
    Question,
    UnusableAnswerError,
)
from firth.run.errors import InputError

LONGEST_NAME = 64


class Store:
    """A questionnaire in a file: `Store.create`, or `Store.open` for one that is there."""

    def __init__(self, database: Database, wording: Wording, rules: Rules) -> None:
        self._database, self.wording, self.rules = database, wording, rules

    @classmethod
    def create(cls, path: str | Path, questionnaire: Questionnaire) -> "Store":
        """Begin a questionnaire, or go on with it where the file holds it already.

        Items, tuples and gold must be those of the file; wording and rules may have changed, and
        the new ones hold from now on.

        Raises:
            InputError: The file is something else, or holds another questionnaire.
        """
        path = Path(path)
        if not path.parent.is_dir():
            raise InputError(f"{path}: there is no folder {path.parent}")
        database = Database(path)
        with database.writing() as connection:
            if not database.has_tables(connection):
                database.make_tables(connection)
                _fill(connection, questionnaire)
            kept = _meta(connection, "fingerprint")
            if kept != questionnaire.fingerprint:
                raise InputError(
                    f"{path}: holds answers to other items, tuples, gold questions, or another "
                    "order of them (--seed). Give the same ones, or name a new file with --db"
                )
            settings = json.dumps(questionnaire.settings(), ensure_ascii=False)
            _set_meta(connection, "settings", settings)
        return cls(database, questionnaire.wording, questionnaire.rules)

    @classmethod
    def open(cls, path: str | Path) -> "Store":
        """Open a questionnaire that is there.

        Raises:
            InputError: There is none.
        """
        path = Path(path)
        if not path.is_file():
            raise InputError(f"{path}: no such file. firth bws serve makes it")
        database = Database(path)
        with database.reading() as connection:
            if not database.has_tables(connection):
                raise InputError(f"{path}: empty. firth bws serve fills it")
            settings = json.loads(_meta(connection, "settings"))
        return cls(database, Wording(**settings["wording"]), Rules(**settings["rules"]))

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def enter(self, name: str) -> str:
        """The key of an annotator, who may have been here before.

        Names that differ in case, blanks or Unicode form only are the same annotator's.

        Raises:
            UnusableAnswerError: The name is empty, or longer than 64 characters.
        """
        shown = " ".join("".join(c if c.isprintable() else " " for c in name).split())
        key = unicodedata.normalize("NFKC", shown).casefold()
        if not key or len(shown) > LONGEST_NAME:
            raise UnusableAnswerError(f"Please give a name of 1 to {LONGEST_NAME} characters.")
        with self._database.writing() as connection:
            connection.execute(
                "INSERT INTO annotators (key, name, joined) VALUES (?, ?, ?) "
                "ON CONFLICT (key) DO NOTHING",
                (key, shown, _now()),
            )
        return key

    def name(self, annotator: str) -> str | None:
        """The name behind a key, as it was first given; None if there is none."""
        with self._database.reading() as connection:
            row = connection.execute(
                "SELECT name FROM annotators WHERE key = ?", (annotator,)
            ).fetchone()
        return None if row is None else str(row["name"])

    def next(self, annotator: str) -> Question | None:
        """The question to show: the one not yet answered, else a new one; None when there is none.

        Every `gold_every`-th is a gold question. Of the others, the one with the fewest answers
        comes first, so that all tuples are answered once before any is answered twice.
        """
        with self._database.writing() as connection:
            if is_stopped(connection, annotator):
                return None
            row = connection.execute(
                "SELECT place, number FROM answers WHERE annotator = ? AND answered IS NULL",
                (annotator,),
            ).fetchone()
            if row is not None:
                connection.execute(
                    "UPDATE answers SET shown = ? WHERE annotator = ? AND place = ?",
                    (time.time(), annotator, row["place"]),
                )
                return _question(connection, row["place"], row["number"])
            number = 1 + _count(connection, "WHERE annotator = ?", annotator)
            place = choose(connection, annotator, number, self.rules)
            if place is None:
                return None
            connection.execute(
                "INSERT INTO answers (annotator, place, number, shown) VALUES (?, ?, ?, ?)",
                (annotator, place, number, time.time()),
            )
            return _question(connection, place, number)

    def answer(self, annotator: str, tuple_id: str, best: str, worst: str) -> bool:
        """Store an answer; it is on the disk when this returns. The first one counts.

        Returns:
            Whether the tuple is a gold question, so that there is feedback.

        Raises:
            NotAskedError: The question was not put to this annotator.
            UnusableAnswerError: `best` and `worst` are not two different items of the tuple.
        """
        with self._database.writing() as connection:
            row = connection.execute(
                "SELECT t.place, t.items, t.best, a.answered FROM answers AS a "
                "JOIN tuples AS t ON t.place = a.place WHERE a.annotator = ? AND t.id = ?",
                (annotator, tuple_id),
            ).fetchone()
            if row is None:
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
                stop_if_needed(connection, annotator, self.rules)
            return gold

    def feedback(self, annotator: str, tuple_id: str) -> Feedback | None:
        """What to tell about a gold question that was answered; None where there is nothing."""
        with self._database.reading() as connection:
            row = connection.execute(
                "SELECT t.place, a.number, a.best, a.worst, t.best AS right_best, "
                "t.worst AS right_worst FROM answers AS a JOIN tuples AS t ON t.place = a.place "
                "WHERE a.annotator = ? AND t.id = ? AND a.answered IS NOT NULL "
                "AND t.best IS NOT NULL",
                (annotator, tuple_id),
            ).fetchone()
            if row is None:
                return None
            return Feedback(
                _question(connection, row["place"], row["number"]),
                row["best"],
                row["worst"],
                row["right_best"],
                row["right_worst"],
            )

    def progress(self, annotator: str) -> Progress:
        """How far an annotator is."""
        with self._database.reading() as connection:
            answered = _count(connection, "WHERE annotator = ? AND answered IS NOT NULL", annotator)
            waiting = _count(connection, "WHERE annotator = ? AND answered IS NULL", annotator)
            row = connection.execute(
                f"SELECT count(*) AS n FROM ({OPEN})", open_to(annotator, self.rules)
            ).fetchone()
            left = waiting + int(row["n"])
        return Progress(answered, left)

    def stopped(self, annotator: str) -> bool:
        """Whether the annotator is asked no more, after too many wrong gold answers."""
        with self._database.reading() as connection:
            return is_stopped(connection, annotator)

    def annotations(self) -> list[Annotation]:
        """All answers in the order in which they were given, gold ones among them."""
        with self._database.reading() as connection:
            return [
                Annotation(row["id"], row["name"], row["best"], row["worst"], row["answered"])
                for row in connection.execute(
                    "SELECT t.id, n.name, a.best, a.worst, a.answered FROM answers AS a "
                    "JOIN tuples AS t ON t.place = a.place JOIN annotators AS n "
                    "ON n.key = a.annotator WHERE a.answered IS NOT NULL "
                    "ORDER BY a.answered, a.annotator, a.number"
                )
            ]

    def overview(self) -> Overview:
        """How far the questionnaire is."""
        with self._database.reading() as connection:
            row = connection.execute(
                "SELECT count(*) AS tuples, sum(n >= :wanted) AS complete, sum(n) AS answers FROM ("
                "SELECT (SELECT count(*) FROM answers AS a WHERE a.place = t.place "
                "AND a.answered IS NOT NULL) AS n FROM tuples AS t WHERE t.best IS NULL)",
                {"wanted": self.rules.annotations},
            ).fetchone()
            all_answers = _count(connection, "WHERE answered IS NOT NULL")
            people = connection.execute(
                "SELECT count(*) AS n, coalesce(sum(stopped), 0) AS stopped FROM annotators"
            ).fetchone()
        return Overview(
            row["tuples"],
            row["complete"],
            row["answers"],
            all_answers - row["answers"],
            people["n"],
            people["stopped"],
        )


def _fill(connection: Connection, questionnaire: Questionnaire) -> None:
    connection.executemany(
        "INSERT INTO items VALUES (?, ?)",
        (
            (item.id, json.dumps(item.texts, ensure_ascii=False))
            for item in questionnaire.items.values()
        ),
    )
    rows = []
    for place, one in enumerate(questionnaire.tuples, start=1):
        gold = questionnaire.gold.get(one.id)
        answer = (None, None) if gold is None else (gold.best, gold.worst)
        rows.append((place, one.id, json.dumps(one.items, ensure_ascii=False), *answer))
    connection.executemany("INSERT INTO tuples VALUES (?, ?, ?, ?, ?)", rows)
    _set_meta(connection, "schema", SCHEMA)
    _set_meta(connection, "fingerprint", questionnaire.fingerprint)


def _question(connection: Connection, place: int, number: int) -> Question:
    row = connection.execute("SELECT id, items FROM tuples WHERE place = ?", (place,)).fetchone()
    items = tuple(json.loads(row["items"]))
    texts = []
    for item in items:
        found: Row = connection.execute("SELECT texts FROM items WHERE id = ?", (item,)).fetchone()
        texts.append(tuple(json.loads(found["texts"])))
    return Question(row["id"], number, items, tuple(texts))


def _count(connection: Connection, where: str, *values: object) -> int:
    return int(connection.execute(f"SELECT count(*) FROM answers {where}", values).fetchone()[0])


def _meta(connection: Connection, key: str) -> str:
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return "" if row is None else str(row["value"])


def _set_meta(connection: Connection, key: str, value: str) -> None:
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))


def _now() -> str:
    """UTC with microseconds, so that the order of answers can be seen."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")

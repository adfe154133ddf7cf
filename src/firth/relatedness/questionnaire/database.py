"""The SQLite file of a questionnaire: its tables, and how it is opened so that nothing is lost."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

from firth.run.errors import InputError

SCHEMA = "1"
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
_WAIT_SECONDS = 30


class Database:
    """A connection that several threads share; other processes may have the same file open.

    Every write is one transaction, synced to the disk before the block ends (`synchronous=FULL`,
    write-ahead log): what was committed survives a kill and a loss of power.

    Args:
        path: Of the file, made if need be.

    Raises:
        InputError: It cannot be opened, or is something else.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = Lock()
        try:
            self._connection = sqlite3.connect(
                path, timeout=_WAIT_SECONDS, isolation_level=None, check_same_thread=False
            )
            self._connection.row_factory = sqlite3.Row
            for setting in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
                self._connection.execute(f"PRAGMA {setting}")
        except sqlite3.Error as error:
            raise InputError(f"{path}: cannot be opened as a questionnaire ({error})") from error

    def close(self) -> None:
        """Close the file; all answers are in it already."""
        with self._lock:
            self._connection.close()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A consistent view of the file."""
        with self._lock:
            self._connection.execute("BEGIN")
            try:
                yield self._connection
            finally:
                self._connection.execute("ROLLBACK")

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction: all of the block is on the disk when it ends, or none of it."""
        with self._lock:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    def make_tables(self, connection: sqlite3.Connection) -> None:
        """Make the tables, inside a transaction of the caller."""
        for statement in _TABLES.split(";"):
            if statement.strip():
                connection.execute(statement)

    def has_tables(self, connection: sqlite3.Connection) -> bool:
        """Whether the file is a questionnaire; False if it is empty.

        Raises:
            InputError: It holds something else, or a questionnaire of another release.
        """
        names = {
            row["name"]
            for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        }
        if not names:
            return False
        found = None
        if {"meta", "tuples", "answers"} <= names:
            row = connection.execute("SELECT value FROM meta WHERE key = 'schema'").fetchone()
            found = row and row["value"]
        if found != SCHEMA:
            raise InputError(
                f"{self.path}: a database of another kind (tables {', '.join(sorted(names))}; "
                f"schema {found}, expected {SCHEMA}). Name a new file"
            )
        return True

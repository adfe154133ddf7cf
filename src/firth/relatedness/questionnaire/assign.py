"""Who is asked what next, and who is asked no more: the rules of `Rules` as queries."""

import time
from sqlite3 import Connection

from firth.relatedness.questionnaire.plan import Rules
from firth.run.seeds import derive_seed

OPEN = """
SELECT t.place FROM tuples AS t
LEFT JOIN (
    SELECT place, count(*) AS held FROM answers
    WHERE answered IS NOT NULL OR shown > :since GROUP BY place
) AS load ON load.place = t.place
WHERE t.best IS NULL AND coalesce(load.held, 0) < :wanted
AND NOT EXISTS (SELECT 1 FROM answers WHERE annotator = :me AND place = t.place)
"""
"""Tuples that still lack answers, and that `:me` has not seen; held ones count as answered."""


def open_to(annotator: str, rules: Rules) -> dict[str, object]:
    """The parameters of `OPEN` for an annotator, now."""
    since = time.time() - 60 * rules.hold_minutes
    return {"me": annotator, "since": since, "wanted": rules.annotations}


def choose(connection: Connection, annotator: str, number: int, rules: Rules) -> int | None:
    """The place of the tuple that question `number` of an annotator asks about, if there is one.

    Every `gold_every`-th is a gold question that this annotator has not seen, as long as there are
    other questions left. Of the others the one with the fewest answers comes first.
    """
    row = connection.execute(
        f"{OPEN} ORDER BY coalesce(load.held, 0), t.place LIMIT 1", open_to(annotator, rules)
    ).fetchone()
    if row is None:
        return None
    if number % rules.gold_every == 0:
        unseen = [
            found["place"]
            for found in connection.execute(
                "SELECT place FROM tuples AS t WHERE best IS NOT NULL AND NOT EXISTS "
                "(SELECT 1 FROM answers WHERE annotator = ? AND place = t.place) ORDER BY place",
                (annotator,),
            )
        ]
        if unseen:
            # Annotators get the gold questions in different orders.
            return int(unseen[derive_seed(number, annotator) % len(unseen)])
    return int(row["place"])


def stop_if_needed(connection: Connection, annotator: str, rules: Rules) -> None:
    """Mark an annotator whose share of right gold answers has fallen below the bar."""
    row = connection.execute(
        "SELECT count(*) AS n, sum(a.best = t.best AND a.worst = t.worst) AS n_right "
        "FROM answers AS a JOIN tuples AS t ON t.place = a.place "
        "WHERE a.annotator = ? AND a.answered IS NOT NULL AND t.best IS NOT NULL",
        (annotator,),
    ).fetchone()
    if row["n"] >= rules.stop_after and row["n_right"] < rules.stop_below * row["n"] - 1e-9:
        connection.execute("UPDATE annotators SET stopped = 1 WHERE key = ?", (annotator,))


def is_stopped(connection: Connection, annotator: str) -> bool:
    """Whether an annotator was marked so."""
    row = connection.execute(
        "SELECT stopped FROM annotators WHERE key = ?", (annotator,)
    ).fetchone()
    return row is not None and bool(row["stopped"])

"""What `encoder.model: auto` decides: encoders against n-grams of stems, by questions.

usage: python benchmarks/choice.py --work DIR --corpora FILE.jsonl.gz ... [--encoders NAME ...]

The language of a file is recognized. An encoder is asked whether or not it is said to read it.
"""

import argparse
from pathlib import Path
from typing import Any

from figures import Cell, record
from firth.corpus.build import build_corpus
from firth.encoders.words import build_words
from firth.evaluation.questions import build_questions
from firth.pipeline.choice import compared
from firth.run.run import Run
from firth.run.settings import Settings
from search import rows_of

WORDS = 300_000
"""White space separates them."""


def documents(file: Path) -> list[dict[str, Any]]:
    """Return the first documents of a file, of about `WORDS` words."""
    rows, count = list[dict[str, Any]](), 0
    for row in rows_of(file, WORDS):
        rows.append({name: row[name] for name in ("id", "title", "text") if row.get(name)})
        count += len(row["text"].split())
        if count > WORDS:
            break
    return rows


def main() -> None:
    """Ask every encoder about every corpus, and record the decisions."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--corpora", type=Path, nargs="+", required=True)
    parser.add_argument("--encoders", nargs="+", default=["use-multilingual"])
    options = parser.parse_args()
    rows: dict[str, list[Cell]] = {}
    for file in options.corpora:
        name = file.name.partition(".")[0]
        run = Run(options.work / name, Settings())
        language = build_corpus(run, documents(file)).language
        build_words(run)
        build_questions(run)
        decisions = [compared(run, encoder) for encoder in options.encoders]
        said = [
            f"{'taken' if each.accepted else 'refused'} {each.gain.signed}" for each in decisions
        ]
        rows[f"{name}, {language}"] = [*said]
        print(name, language, *said, flush=True)
    record(
        "choice",
        ["corpus, and the language that is recognized", *options.encoders],
        rows,
        command="python benchmarks/choice.py --work WORK --corpora FILE ...",
        data=f"the first {WORDS:,} words of each file; 100 questions of a type",
        seed=Settings().seed,
    )


if __name__ == "__main__":
    main()

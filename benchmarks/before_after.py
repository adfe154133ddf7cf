"""Pairs and queries of README: an encoder alone, BM25 alone, and firth, on the speeches.

usage: python benchmarks/before_after.py RUN

RUN was built with `firth build demo:speeches --run RUN --encoder use-multilingual`. Pairs and
queries were written before anything was measured; none was left out.
"""

import sys

import bm25s
import numpy as np
import Stemmer

import firth
from figures import Cell, record
from firth.encoders.kinds import open_encoder

ENCODER = "use-multilingual"
PAIRS = (
    ("Jobs are scarce.", "Unemployment is high."),
    ("Pets are allowed.", "Pets are not allowed."),
    ("The deadline is October 15th.", "The deadline is October 16th."),
    ("Profits rose.", "Profits fell."),
    ("He won.", "He did not win."),
)
QUERIES = (
    "people out of work",
    "nuclear weapons must never be used",
    "the cost of medicine for old people",
    "who discovered penicillin",
    "how to bake sourdough bread",
)


def main(folder: str) -> None:
    """Record both tables."""
    command, data = "python benchmarks/before_after.py RUN", "demo:speeches, 90 speeches"
    encoder, model = open_encoder(ENCODER), firth.load(folder, quiet=True)
    rows: dict[str, list[Cell]] = {}
    for a, b in PAIRS:
        one, two = encoder.encode([a, b])
        found = firth.differences(a, b)
        said = "; ".join(str(item) for item in found) or "nothing that matters"
        rows[f"{a} {b}"] = [round(float(one @ two), 2), round(model.similarity(a, b), 2), said]
    columns = ["pair", f"cosine of {ENCODER}", "firth: score", "firth: what differs"]
    record("before-pairs", columns, rows, command=command, data=data)

    index = model.ask(lambda opened: opened.search.index)
    texts = index.corpus.texts(np.arange(len(index)))
    vectors = index.vectors(np.arange(len(index)))
    bm25, stemmer = bm25s.BM25(), Stemmer.Stemmer("english")

    def tokens(given: list[str]) -> object:
        return bm25s.tokenize(given, stopwords="en", stemmer=stemmer, show_progress=False)

    bm25.index(tokens(texts), show_progress=False)
    rows = {}
    for query in QUERIES:
        first = bm25.retrieve(tokens([query]), k=1, show_progress=False)[0][0, 0]
        nearest = int((vectors @ encoder.encode([query])[0]).argmax())
        hits = model.search(query, top=1)
        said = f"{hits[0].text} ({hits.answer})" if hits else hits.answer
        rows[query] = [texts[first], texts[nearest], said]
    columns = ["query", "bm25s", f"cosine of {ENCODER}", "firth"]
    record("before-queries", columns, rows, command=command, data=data)


if __name__ == "__main__":
    main(sys.argv[1])

"""News articles: are stories, re-used sentences and answers found, with nothing chosen?

    python benchmarks/news.py RUN [--questions FILE] [--out FILE]

RUN is what `firth build` makes of OneStopEnglish (documents in three reading levels, whose titles
end in `-adv`, `-int` or `-ele`): two documents tell the same story where the rest of their titles
is the same. Everything is asked as the commands ask it by default:

- stories: pairs of documents that `firth mine` gives a score of at least 0.5, which is what
  `firth duplicates --documents` joins;
- sentences: of the copies that `firth duplicates` finds, by kind, the share whose original stands
  in the same story (what is said in two stories may be right, too: the share is a lower bound);
- reworded: elementary sentences that no advanced text has word for word are looked for in the
  advanced texts: does the first hit stand in their story?
- questions: of a TSV file (question, pattern of the answer, story), is the answer in one of the
  first 1, 3 and 10 sentences, and in that story?

Shares have 95 % intervals (Wilson); those of sentences of one article are not independent.
"""

import argparse
import csv
import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binomtest

from firth.evaluate.results import write_document
from firth.lexical.words import normal_form
from firth.reuse.duplicates import SAME, duplicates
from firth.reuse.kinds import Kind
from firth.reuse.mine import mine
from firth.run import progress
from firth.run.files import claim_file
from firth.run.seeds import derive_seed
from firth.search.among import Among
from firth.search.search import By, Search

LEVELS = ("-adv", "-int", "-ele")
ASKED = 500
WORDS = 6
QUESTIONS = Path(__file__).parent / "data" / "news_questions.tsv"


def story(title: str) -> str:
    """What a title says without the reading level."""
    return title.removesuffix("-adv").removesuffix("-int").removesuffix("-ele")


def share(right: int, n: int) -> str:
    """A share in %, and its interval."""
    interval = binomtest(right, n).proportion_ci(method="wilson")
    return f"{100 * right / n:.1f} ({100 * interval.low:.1f} to {100 * interval.high:.1f}) of {n:,}"


def stories(run: Path, titles: Sequence[str]) -> dict[str, Any]:
    """Precision and recall of the pairs that `firth mine` scores high enough."""
    one, two = np.triu_indices(len(titles), 1)
    truth = {
        (i, j)
        for i, j in zip(one.tolist(), two.tolist(), strict=True)
        if story(titles[i]) == story(titles[j])
    }
    found = {tuple(sorted(p.numbers)) for p in mine(run).pairs if p.score >= SAME}
    right = len(found & truth)
    return {"precision": share(right, len(found)), "recall": share(right, len(truth))}


def sentences(run: Path) -> dict[str, str]:
    """Of each kind of copy, how many stand in the story of their original."""
    groups = duplicates(run).groups
    found = {}
    for kind in Kind:
        same = [
            story(group.original.title) == story(copy.title)
            for group in groups
            for copy in group.copies
            if copy.kind is kind and copy.document != group.original.document
        ]
        found[str(kind)] = share(sum(same), len(same)) if same else "none"
    return found


def reworded(search: Search, seed: int) -> dict[str, str]:
    """Do elementary sentences find their story among the advanced texts?"""
    library = search.index.library
    bounds = library.document_bounds
    titles = [library.document_title(d) for d in range(library.n_documents)]
    texts = {
        title: library.texts(np.arange(start, stop))
        for title, (start, stop) in zip(titles, pairwise(bounds.tolist()), strict=True)
    }
    known = {normal_form(t) for title in titles if title.endswith("-adv") for t in texts[title]}
    there = {story(title) for title in titles if title.endswith("-adv")}
    asked = [
        (text, story(title))
        for title in titles
        if title.endswith("-ele") and story(title) in there
        for text in texts[title]
        if len(text.split()) >= WORDS and normal_form(text) not in known
    ]
    rng = np.random.default_rng(derive_seed(seed, "news"))
    chosen = [asked[n] for n in rng.permutation(len(asked))[:ASKED]]
    advanced = Among(documents=("*-adv",))
    found = {}
    for by in By:
        hits = [(search.search(text, top=1, by=by, among=advanced), of) for text, of in chosen]
        right = sum(bool(hit) and story(hit[0].title) == of for hit, of in hits)
        found[str(by)] = share(right, len(hits))
    return found


def questions(search: Search, file: Path) -> dict[str, Any]:
    """Is a question answered by one of the first sentences, by each way of searching?"""
    with file.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t"))
    found: dict[str, Any] = {}
    for by in By:
        ranks = []
        for row in rows:
            hits = search.search(row["question"], top=10, by=by)
            answers = [
                rank
                for rank, hit in enumerate(hits, start=1)
                if story(hit.title) == row["story"] and re.search(row["answer"], hit.text)
            ]
            ranks.append(answers[0] if answers else 99)
        tops = {
            f"first {top}": share(sum(r <= top for r in ranks), len(ranks)) for top in (1, 3, 10)
        }
        found[str(by)] = tops | {"ranks": ranks}
    return found


def main() -> None:
    """Print everything, and write it to `--out`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("--questions", type=Path, default=QUESTIONS)
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    if given.out:
        claim_file(given.out, force=True)
    progress.set_quiet(True)
    search = Search.open(given.run)
    library = search.index.library
    titles = [library.document_title(d) for d in range(library.n_documents)]
    found: dict[str, Any] = {}
    asked: dict[str, Callable[[], dict[str, Any]]] = {
        "questions": lambda: questions(search, given.questions),
        "reworded": lambda: reworded(search, given.seed),
        "stories": lambda: stories(given.run, titles),
        "sentences": lambda: sentences(given.run),
    }
    for name, measured in asked.items():
        found[name] = measured()
        print(name)
        for key, value in found[name].items():
            print(f"  {key}: {value}", flush=True)
    if given.out:
        write_document(given.out, found)


if __name__ == "__main__":
    main()

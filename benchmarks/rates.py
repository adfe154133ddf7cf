"""Rates: claimed against measured, where no text that is asked has a counterpart.

usage: python benchmarks/rates.py --data-dir DIR --work DIR [--bounds] [--encoder NAMES]

`--data-dir` has the folders corpora and languages. Documents of a corpus are drawn, and halved.
Each half is asked in the other, so that every document is taken out once. A fifth, or a twentieth,
of the documents of one side comes once more, each text without a fifth of its words; in OneStop as
articles at the elementary level. Texts that share most pairs of words with another document are
left out. The null is fitted to the half that is searched, with its copies (taken out). Or each
document has two copies, in OneStop those at both other levels (two versions).

`--bounds` measures how often bounds of 95 % fail, and near misses, in the folders lists and guard.
Vectors and results stay in `--work`, and are used again. The tables have all that is there.
"""

import argparse
import gzip
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import firth
from figures import Cell, record
from firth.plain import opened_encoder
from firth.run.console import set_quiet
from firth.run.settings import TEXT_ALONE
from firth.search.calibrate import fit_matches, with_versions
from firth.search.calibration import MatchNull, Strangers
from firth.search.match import Review
from firth.text.near import WordTable
from firth.text.sentences import split_paragraphs
from firth.text.types import Floats, Ints, Singles, unit
from lists import variants

CHOOSE = {
    "wiki_en_2021": "en",
    "news_onestop": "en",
    "captions_coco_val2017": "en",
    "deu_10kgnad_test": "de",
}
CONFIRM = {
    "mixed_gum": "en",
    "science_plos": "en",
    "textbook_openstax_anthropology": "en",
    "speeches_whitehouse_2009_2015": "en",
    "forum_stackexchange": "en",
    "fra_masakhanews": "fr",
    "hin_ltrc_literature": "hi",
}
"""Corpora on which the null was chosen, those that took no part in that, and their languages."""
ENCODERS = "text alone", "use-multilingual", "all-MiniLM-L6-v2", "multilingual-e5-small"
TEXTS, WITH_VERSIONS = 2_000, 1_000
"""Texts of a corpus, and those of which each has two versions."""
RATES, COPIED, VERSIONS = (0.2, 0.1, 0.05, 0.02, 0.01), (0.0, 0.05, 0.2), 2.0
PRECISIONS = (0.8, 0.9, 0.95, 0.97)
PER_DOCUMENT, MIN_WORDS, MAX_WORDS, SEED = 20, 6, 60, 13
FACTORS = (2, 2, 2, 2, 3)
"""Between a claimed rate and a measured one where it holds."""
RULES = {
    "taken out": ("firth", "cosine of other corpora"),
    "two versions": ("firth", "firth without versions"),
}
Bools = npt.NDArray[np.bool_]
Key = tuple[str, str, str, float]
"""Corpus, encoder, way, and share of copies."""
LISTS = ("Amphibian", "Artwork", "ChristianBishop", "FootballLeagueSeason", "GovernmentAgency",
         "Magazine", "Song", "TelevisionStation", "Tournament", "Venue")  # fmt: skip
SIMULATED = "normal", "exponential", "standard_cauchy", "gumbel", "logistic"
KNOWN, JUDGED, DRAWS = 50, 60, 1_000
"""Known strangers, judged matches, and how often they are drawn from each set."""


@dataclass(frozen=True)
class Sample:
    """Texts of a corpus: the document of each, and of which copy of that it is, from 1, or 0."""

    texts: Sequence[str]
    owners: Ints
    copied: Ints
    language: str


def sample(data: Path, corpus: str, versions: bool) -> Sample:
    """Draw texts of a corpus, and copy those of every fifth document, or twice those of all.

    Of five documents in a row, two or three are of a half.
    """
    size, every, levels = (WITH_VERSIONS, 1, ("int", "ele")) if versions else (TEXTS, 5, ("ele",))
    folder = data / ("languages/corpora" if corpus[3] == "_" else "corpora")
    language, rng = {**CHOOSE, **CONFIRM}[corpus], np.random.default_rng(SEED)
    with gzip.open(folder / f"{corpus}.jsonl.gz", "rt") as lines:
        rows = [json.loads(line) for line in lines]
    others = {row["id"]: row["text"] for row in rows} if corpus == "news_onestop" else {}
    rows = [row for row in rows if not others or row["id"].endswith("-adv")]
    drawn: list[tuple[str, int]] = []
    chosen: list[dict[str, Any]] = []
    for at in rng.permutation(len(rows)).tolist():
        drawn += [(text, len(chosen)) for text in usual(rows[at]["text"], language, rng)]
        chosen.append(rows[at])
        if len(drawn) >= 1.1 * size:
            break
    # Texts that another document repeats have a counterpart that nobody made.
    table, owners = WordTable([[text for text, _ in drawn]], MIN_WORDS), np.array(drawn)[:, 1]
    near = table.near()
    apart = owners[near.left] != owners[near.right]
    lost = {*near.left[apart].tolist(), *near.right[apart].tolist()}
    lost |= {other for first, others in table.repeats().items() for other in (first, *others)}
    kept = [row for at, row in enumerate(drawn) if at not in lost][:size]
    copies: list[tuple[str, int, int]] = []
    for number, (copy, level) in product(range(0, len(chosen), every), enumerate(levels, start=1)):
        written = others.get(f"{chosen[number]['id'].removesuffix('-adv')}-{level}")
        found = usual(written, language, rng) if written else []
        found = found or [worse(text, rng) for text, owner in kept if owner == number]
        copies += [(text, number, copy) for text in found]
    every_text = [(text, owner, 0) for text, owner in kept] + copies
    of = np.array([(owner, copy) for _, owner, copy in every_text])
    return Sample([text for text, _, _ in every_text], of[:, 0], of[:, 1], language)


def usual(text: str, language: str, rng: np.random.Generator) -> list[str]:
    """Return sentences of usual length, a few of each document in order."""
    every = [each for part in split_paragraphs(text, language) for each in part]
    found = [each for each in every if MIN_WORDS <= len(each.split()) <= MAX_WORDS]
    chosen = rng.permutation(len(found))[:PER_DOCUMENT]
    return [found[at] for at in sorted(chosen.tolist())]


def worse(text: str, rng: np.random.Generator) -> str:
    """Return a text without a fifth of its words."""
    words = text.split()
    gone = {*rng.permutation(len(words))[: max(1, len(words) // 5)].tolist()}
    return " ".join(word for at, word in enumerate(words) if at not in gone)


def vectors_of(texts: Sample, encoder: str, stored: Path) -> Singles:
    """Return unit vectors of the texts, (n, d), kept in a file."""
    if not stored.is_file():
        name = TEXT_ALONE if encoder == "text alone" else encoder
        with opened_encoder(texts.texts, name, texts.language, SEED) as (opened, _):
            encoded = opened.encode(texts.texts).astype(np.float64)
        np.save(stored.with_suffix(".part.npy"), unit(encoded).astype(np.float32))
        stored.with_suffix(".part.npy").rename(stored)
    vectors: Singles = np.load(stored)
    return vectors


def cells(texts: Sample, vectors: Singles) -> Iterator[dict[str, Any]]:
    """Yield thresholds of each rule and the best of each text, by the way and share of copies."""
    half = texts.owners % 2 ^ texts.owners // 20 % 2
    every = {0.0: 1, 0.05: 20, 0.2: 5, 2.0: 1}
    for copied in COPIED if texts.copied.max() == 1 else (VERSIONS,):
        again = (texts.copied > 0) & (texts.owners % every[copied] == 0) & (copied > 0)
        for side in (0, 1):
            held = np.flatnonzero((half == side) & (again | (texts.copied == 0)))
            asked = np.flatnonzero((half != side) & (texts.copied == 0))
            # A copy is a document beside its source.
            owners = texts.owners[held] + (texts.owners.max() + 1) * texts.copied[held]
            known_owners = with_versions([texts.texts[at] for at in held.tolist()], owners)
            null = fit_matches(vectors[held], known_owners, SEED)
            best = nearest(vectors[asked], vectors[held])
            if copied == VERSIONS:
                plain = thresholds(fit_matches(vectors[held], owners, SEED))
                rules = {"firth": thresholds(null), "firth without versions": plain}
                yield {"way": "two versions", "copied": copied, "rules": rules, "best": best}
                continue
            rules = {"firth": thresholds(null)}
            yield {"way": "taken out", "copied": copied, "rules": rules, "best": best}


def thresholds(null: MatchNull | None) -> list[float]:
    """Return the threshold of each rate; nothing reaches that of an unknown one."""
    return [2.0 if null is None else null.threshold(rate) for rate in RATES]


def nearest(left: Singles, right: Singles) -> list[float]:
    """Return the best cosine of each left vector, to four places."""
    best: list[float] = (left @ right.T).max(axis=1).astype(float).round(4).tolist()
    return best


def measured(pair: Sequence[dict[str, Any]], rule: str) -> Floats:
    """Return the share of texts that reach each threshold of a rule, over both halves."""
    reached = [np.array(cell["best"])[:, None] >= cell["rules"][rule] for cell in pair]
    share: Floats = np.concatenate(reached).mean(axis=0)
    return share


def held(shares: Sequence[Floats]) -> list[Cell]:
    """Return how many shares there are, and in how many percent the rate holds."""
    ratio = np.array(shares) / np.array(RATES)
    good = ((ratio <= FACTORS) & (ratio >= 1 / np.array(FACTORS))).mean(axis=0)
    return [len(ratio), *(round(100 * float(value)) for value in good[1:])]


def add_fixed(pairs: dict[Key, list[dict[str, Any]]]) -> None:
    """Add the rule of a rival: the cosine that has the rate in the corpora that chose."""
    for encoder in ENCODERS:
        own = {key: pair for key, pair in pairs.items() if key[1:3] == (encoder, "taken out")}
        best = [
            np.quantile(cell["best"], 1 - np.array(RATES))
            for key, pair in own.items()
            for cell in pair
            if key[0] in CHOOSE and not key[3]
        ]
        for cell in (cell for pair in own.values() if best for cell in pair):
            cell["rules"]["cosine of other corpora"] = np.mean(best, axis=0)


def report(results: dict[tuple[str, str], list[dict[str, Any]]]) -> None:
    """Record the tables: by encoder, by rule, and the share of chance in lists."""
    pairs: dict[Key, list[dict[str, Any]]] = {}
    for (corpus, encoder), found in results.items():
        for cell in found:
            pairs.setdefault((corpus, encoder, cell["way"], cell["copied"]), []).append(cell)
    add_fixed(pairs)
    rows: dict[str, list[Cell]] = {}
    rules: dict[str, list[Cell]] = {}
    for kind, corpora in {"chose": CHOOSE, "confirm": CONFIRM}.items():
        mine = {key: pair for key, pair in pairs.items() if key[0] in corpora}
        for encoder in ENCODERS if corpora is CONFIRM else ():
            named = [
                (key, measured(pair, "firth")) for key, pair in mine.items() if key[1] == encoder
            ]
            if named:
                once = np.array([cell for key, cell in named if key[3] != VERSIONS])
                rows[encoder] = [spread(100 * column, 1) for column in once.T]
        for way, names in RULES.items():
            for rule in names:
                own = [pair for key, pair in mine.items() if key[2] == way]
                shares = [measured(pair, rule) for pair in own if rule in pair[0]["rules"]]
                if shares and (rule == "firth" or corpora is CONFIRM):
                    rules[f"{rule}, {way}, {kind}"] = held(shares)
    data = (
        f"chose: {', '.join(CHOOSE)}; confirm: {', '.join(CONFIRM)}; {', '.join(ENCODERS)}; "
        f"{TEXTS:,} texts, copies 0, 5, 20 %; {WITH_VERSIONS:,} texts with two versions each"
    )
    for name, heads, table in (
        ("rates", ["measured, %, for", *(f"{rate:.0%}" for rate in RATES)], rows),
        ("rates-rules", ["rule", "cells", "10 %", "5 %", "2 %", "1 %"], rules),
    ):
        command = "python benchmarks/rates.py --data-dir DATA --work WORK"
        record(name, heads, table, command=command, data=data, seed=SEED)


def scores_of(name: str, folder: Path) -> tuple[Floats, Bools, Bools, Bools]:
    """Return leads of n texts, and which are strangers, have the right nearest, and match."""
    if name in LISTS:
        left, right, truth = variants(folder / f"dbpedia-{name}")["half"]
        of = {i: right[j] for i, j in truth}
        items = firth.match(left, right, encoder=TEXT_ALONE).items
        true = np.array([of.get(item.left) == item.nearest for item in items])
        known = [(i.lead, i.left not in of, i.is_match) for i in items]
        leads, strangers, matched = (np.array(column) for column in zip(*known, strict=True))
        return leads, strangers, true, matched
    rng, strangers = np.random.default_rng(SEED), np.arange(600) < 300
    scores = (getattr(rng, name)(size=600) + 3 * ~strangers).round(1)
    return scores, strangers, ~strangers & (rng.random(600) < 0.95), scores >= np.median(scores)


def bounds(scores: Floats, strangers: Bools, right: Bools, matched: Bools) -> Floats:
    """Return in how many percent of draws both bounds fail, and their median over the truth."""
    rng, said, failed = np.random.default_rng(SEED), np.zeros((DRAWS, 4)), np.zeros((DRAWS, 2))
    middle, asked, found = np.median(scores), len(scores) - KNOWN, np.flatnonzero(matched)
    for draw in range(DRAWS):
        leads = rng.permutation(scores[strangers])
        known, unknown = Strangers(np.sort(leads[:KNOWN])), np.sort(leads[KNOWN:])
        most = known.at_most_false(unknown, asked)
        judged = right[rng.permutation(found)[:JUDGED]]
        review = Review(matches=len(found), judged=len(judged), right=int(judged.sum()))
        said[draw, :2] = known.at_most_false(middle, asked), (unknown >= middle).sum()
        said[draw, 2:] = 100 * review.at_most_false, 100 * (1 - right[found].mean())
        is_more = len(unknown) - np.searchsorted(unknown, unknown) > most
        failed[draw] = is_more.any(), said[draw, 3] > said[draw, 2]
    ratios: Floats = np.median(said[:, ::2] / said[:, 1::2], axis=0)
    return np.concatenate([100 * failed.mean(axis=0), ratios])


def near_misses(cached: list[str], asked: list[list[str]], name: str) -> list[Cell]:
    """Return how many near misses pass, not vetoed, and of questions that nearly are cached."""
    own = [row[0] for row in asked if row[1] == "0"]
    known = firth.calibrate(cached, encoder=name, language="en")
    with opened_encoder(cached, name, "en", SEED) as (opened, _):
        best = (opened.encode(own) @ opened.encode(cached).T).max(axis=1)
    cuts = [known.threshold(rate) for rate in RATES]
    rows = [(known.near.share(c), known.near.share(c, veto=True), (best >= c).mean()) for c in cuts]
    return ["{:.0f} / {:.0f} ({:.0f})".format(*(100 * share for share in row)) for row in rows]


def near_matches(cached: list[str], asked: list[list[str]], precision: float) -> list[Cell]:
    """Return the same of a match of all questions with the cached ones, drawn and true."""
    matches = firth.match([row[0] for row in asked], cached, precision=precision)
    own = [item for item, row in zip(matches, asked, strict=True) if row[1] == "0"]
    stay = [item.is_match and not item.differ for item in own]
    true = np.mean([item.is_match for item in own]), np.mean(stay)
    shares = (matches.near_misses or (0.0, 0.0)), true
    return ["{:.0f} / {:.0f}".format(*(100 * share for share in row)) for row in shares]


def report_bounds(data: Path) -> None:
    """Record how often bounds fail, and the near misses."""
    command, rows = "python benchmarks/rates.py --data-dir DATA --work WORK --bounds", {}
    for name, sets in (("ten half lists", LISTS), ("five simulated", SIMULATED)):
        found = np.array([bounds(*scores_of(one, data / "lists")) for one in sets])
        cells = [*found[:, :2].max(axis=0), *np.median(found[:, 2:], axis=0)]
        rows[name] = [f"{cell:.1f}" for cell in cells]
    heads = ["sets", "strangers: fails, %", "review: fails, %", "strangers: bound/truth", "review"]
    text = f"{DRAWS:,} draws of {KNOWN} known strangers or {JUDGED} judged matches; lists half"
    record("rates-bounds", heads, rows, command=command, data=text, seed=SEED)
    names, cache = (TEXT_ALONE, "use-multilingual", "all-MiniLM-L6-v2"), data / "guard/cache_dev"
    files = (cache / f"{side}.tsv" for side in ("cached", "queries"))
    held, asked = ([row.split("\t") for row in f.read_text().split("\n")[1:-1]] for f in files)
    cached = [row[1] for row in held]
    near = {name: near_misses(cached, asked, name) for name in names}
    heads = ["encoder", *(f"{rate:.0%}" for rate in RATES)]
    text = "development half of a stream of a cache of 2,000 questions: 499 that are nearly one"
    record("rates-near", heads, near, command=command, data=text, seed=SEED)
    lists = {f"{share:g}": near_matches(cached, asked, share) for share in PRECISIONS}
    heads = ["precision", "drawn", "true"]
    record("rates-near-lists", heads, lists, command=command, data=text, seed=SEED)


def spread(values: Floats, digits: int = 0) -> str:
    """Return the median of percentages, and the middle nine tenths."""
    low, middle, high = (f"{value:.{digits}f}" for value in np.quantile(values, (0.05, 0.5, 0.95)))
    return f"{middle} ({low} to {high})"


def main() -> None:
    """Measure what is not measured yet, and record the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--bounds", action="store_true")
    parser.add_argument("--encoder", nargs="*", default=[*ENCODERS])
    given = parser.parse_args()
    set_quiet(True)
    if given.bounds:
        report_bounds(given.data_dir)
        return
    given.work.mkdir(parents=True, exist_ok=True)
    results: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for corpus, encoder, versions in product((*CHOOSE, *CONFIRM), ENCODERS, (False, True)):
        stored = given.work / f"{corpus}-{encoder}{'-versions' * versions}.json"
        if encoder in given.encoder and not stored.is_file():
            texts = sample(given.data_dir, corpus, versions)
            vectors = vectors_of(texts, encoder, stored.with_suffix(".npy"))
            stored.write_text(json.dumps([*cells(texts, vectors)]))
        if stored.is_file():
            results.setdefault((corpus, encoder), []).extend(json.loads(stored.read_text()))
    report(results)


if __name__ == "__main__":
    main()

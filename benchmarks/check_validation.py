"""Does the check without labels order systems as human ratings do?

    python benchmarks/check_validation.py DATA_DIR [GROUP=]SYSTEM[#NAME=VALUE,…] … \\
        --documents FILE … [--items 2000] [--out FILE]

Every system answers the items that `firth check` makes of the documents, which no system should
have read, and is measured on STSb dev, STS12, STSb test and STR-2021 (Spearman x 100). Printed are
all figures; Kendall's tau-b between the order by each kind of item (`next` also by file, and with
every file weighing the same) and by each set, and by the mean of the sets (and of the sets among
themselves, which is as much as can be hoped for); how often a verdict of the check (interval of the
difference without zero) is that of the ratings; and which systems, and GROUPs of them, the check
flatters: places that they stand too high, and how far their accuracy is above the line fitted
through all systems, in points. (The line is steered by the weakest systems: where the relation is
bent, go by the places.)

Intervals (95 %) are percentiles of resamples, in each of which the documents of the check and the
rows of every set are drawn anew, for all systems together. The noise of a resample comes on top of
that of the data, so that such an interval of tau lies lower than the truth rather than higher.

A SYSTEM is what `firth evaluate` takes; a run may have settings of Origin after `#`: `own`, and the
weights `sentences` and `words`, as in `RUN#sentences=1,words=0`.
"""

import argparse
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from scipy.stats import rankdata

from firth.check.items import Item, Kind, make_items
from firth.check.measure import accuracies
from firth.check.settings import CheckConfig
from firth.corpus.corpus import Corpus
from firth.evaluate.cache import Cache
from firth.evaluate.load import select_sets
from firth.evaluate.models import System, score, system_of
from firth.evaluate.results import write_document
from firth.evaluate.rows import Sample
from firth.lexical.arrays import Floats
from firth.lexical.scorer import Scorer
from firth.origin.origin import Origin
from firth.run import progress
from firth.run.code import fingerprint_code
from firth.run.files import cache_folder, claim_file, fingerprint_value
from firth.run.run import Run
from firth.run.seeds import derive_seed

SETS = {
    "sts-b:dev": "STSb dev",
    "sts12": "STS12",
    "sts-b:test": "STSb test",
    "str-2021": "STR-2021",
}
MEAN = "mean"
TAIL = 0.025


@dataclass(frozen=True)
class Entrant:
    """A system, and the group that it belongs to."""

    group: str
    system: System

    @classmethod
    def parse(cls, text: str) -> "Entrant":
        """`[GROUP=]SYSTEM[#NAME=VALUE,…]`."""
        found = re.match(r"([\w -]+)=(.*)", text)
        group, rest = found.groups() if found else ("", text)
        spec, mark, changes = rest.partition("#")
        if not mark:
            return cls(group, system_of(spec))
        named = (one.split("=") for one in changes.split(","))
        values = {name: float(value) for name, value in named}
        settings: dict[str, Any] = {"own": values.pop("own")} if "own" in values else {}
        if values:
            settings["weights"] = values
        identity = fingerprint_value([Origin.identity(Run.open(spec)), settings])
        return cls(group, System(rest, identity, partial(Origin.open, spec, **settings)))


@dataclass(frozen=True, eq=False)
class Drawn:
    """A figure of every system x 100, shape (1 + resamples, systems): first of the data."""

    values: Floats

    def text(self, place: int) -> str:
        """`73.3 [71.2, 75.4]`."""
        return shown(self.values[:, place])

    def __getitem__(self, place: int) -> float:
        return float(self.values[0, place])


def shown(drawn: Floats, form: str = ".1f") -> str:
    """A figure and its interval; a dash where all systems are equal in a resample."""
    if not np.isfinite(drawn).all():
        return "-"
    low, high = np.quantile(drawn[1:], [TAIL, 1 - TAIL])
    return f"{drawn[0]:{form}} [{low:{form}}, {high:{form}}]"


def items_of(documents: Sequence[str], size: int, seed: int) -> tuple[list[Item], dict[int, str]]:
    """The items of some files, and document → the file it is of."""
    with TemporaryDirectory() as folder:
        corpus = Corpus.build(documents, Path(folder) / "run", held_out=0)
        items = make_items(corpus, CheckConfig(items=size), seed)
        names = sorted(Path(name).name for name in documents)
        files = corpus.source_of(np.asarray(corpus.document_bounds)[:-1]).tolist()
    return items, {document: names[file] for document, file in enumerate(files)}


def answers(system: System, items: Sequence[Item], cache: Cache) -> Floats:
    """Accuracy of each item under a system, computed once."""

    def ask() -> Floats:
        scorer: Scorer = system.open()
        return accuracies(scorer, items)

    if system.fingerprint is None:
        return ask()
    texts = [[item.kind.value, item.sentence, item.right, *item.others] for item in items]
    code = [fingerprint_code(name) for name in ("firth.evaluate.models", "firth.check.measure")]
    key = fingerprint_value([system.fingerprint, texts, code])
    return cache.recall("accuracies", key, ask, np.asarray, np.asarray)


def resampled_accuracy(measured: Floats, homes: Sequence[int], resamples: int, seed: int) -> Drawn:
    """Mean accuracy of each system, over resamples of documents.

    `measured` has shape (systems, items), `homes` names the document of each item.
    """
    documents = np.unique(homes, return_inverse=True)[1]
    sizes = np.bincount(documents).astype(np.float64)
    sums = np.stack([np.bincount(documents, weights=one) for one in measured], axis=1)
    n = len(sizes)
    rng = np.random.default_rng(derive_seed(seed, "check", "bootstrap"))
    drawn = [sums.sum(axis=0) / sizes.sum()]
    for _ in range(resamples):
        counts = np.bincount(rng.integers(0, n, n), minlength=n)
        drawn.append(counts @ sums / (counts @ sizes))
    return Drawn(100 * np.array(drawn))


def resampled_spearman(samples: Sequence[Sample], resamples: int, seed: int) -> Drawn:
    """Spearman of each system with the ratings, over resamples of rows."""
    columns = np.stack([samples[0].x, *(sample.y for sample in samples)])
    n = columns.shape[1]
    rng = np.random.default_rng(derive_seed(seed, "validation", samples[0].name))
    drawn = []
    for draw in [np.arange(n), *(rng.integers(0, n, n) for _ in range(resamples))]:
        ranks = rankdata(columns[:, draw], axis=1)
        ranks -= ranks.mean(axis=1, keepdims=True)
        ranks /= np.linalg.norm(ranks, axis=1, keepdims=True)
        drawn.append(ranks[1:] @ ranks[0])
    return Drawn(100 * np.array(drawn))


def signs(values: Floats) -> Floats:
    """Which of each two systems is ahead, shape (…, pairs)."""
    first, second = np.triu_indices(values.shape[-1], 1)
    found: Floats = np.sign(values[..., first] - values[..., second])
    return found


def tau(one: Drawn, two: Drawn) -> Floats:
    """Kendall's tau-b between two orders of the systems, on the data and in each resample.

    Not a number where all systems are equal.
    """
    a, b = signs(one.values), signs(two.values)
    untied = np.abs(a).sum(axis=1) * np.abs(b).sum(axis=1)
    found: Floats = (a * b).sum(axis=1) / np.sqrt(np.where(untied > 0, untied, np.nan))
    return found


def decided(drawn: Drawn) -> Floats:
    """Which of each two systems is ahead beyond the interval of their difference, else 0."""
    first, second = np.triu_indices(drawn.values.shape[1], 1)
    differences = drawn.values[1:, first] - drawn.values[1:, second]
    low, high = np.quantile(differences, [TAIL, 1 - TAIL], axis=0)
    found: Floats = (low > 0).astype(np.float64) - (high < 0)
    return found


def residuals(check: Drawn, human: Drawn) -> Drawn:
    """How far each system's accuracy is above the line through all of them, in points."""
    x = human.values - human.values.mean(axis=1, keepdims=True)
    y = check.values - check.values.mean(axis=1, keepdims=True)
    slope = (x * y).sum(axis=1, keepdims=True) / (x * x).sum(axis=1, keepdims=True)
    return Drawn(y - slope * x)


@dataclass(frozen=True, eq=False)
class Validation:
    """Figures of all systems: by kind of item, by file of documents (`next`), by human set."""

    entrants: Sequence[Entrant]
    kinds: Mapping[str, Drawn]
    files: Mapping[str, Drawn]
    sets: Mapping[str, Drawn]
    counts: Mapping[str, int]

    def systems(self) -> str:
        """A row a system, from the best to the worst by the mean of the sets."""
        check, human = self.kinds[Kind.NEXT], self.sets[MEAN]
        left = residuals(check, human)
        kinds = [kind for kind in self.kinds if kind != Kind.NEXT]
        head = ["system", "group", "next", *kinds, *self.sets, "place by next / by ratings",
                "above the line"]  # fmt: skip
        places = [rankdata(-drawn.values[0], method="min") for drawn in (check, human)]
        lines = [head, ["---"] * len(head)]
        for at in np.argsort(-human.values[0]).tolist():
            one = self.entrants[at]
            lines.append(
                [
                    one.system.label, one.group, check.text(at),
                    *(f"{self.kinds[kind][at]:.1f}" for kind in kinds),
                    *(f"{drawn[at]:.1f}" for drawn in self.sets.values()),
                    f"{places[0][at]:.0f} / {places[1][at]:.0f}", f"{left[at]:+.1f}",
                ]
            )  # fmt: skip
        return markdown(lines)

    def agreement(self) -> str:
        """Kendall's tau of each kind, and of `next` on each file, with each set."""
        head = ["Kendall's tau", *self.sets]
        lines = [head, ["---"] * len(head)]
        for title, drawn in self._orders().items():
            lines.append([title, *(shown(tau(drawn, of), ".2f") for of in self.sets.values())])
        return markdown(lines)

    def verdicts(self) -> str:
        """How often a verdict of `next` is that of the ratings."""
        head = ["verdicts of next", *self.sets]
        ours = decided(self.kinds[Kind.NEXT])
        rows: dict[str, list[str]] = {
            "pairs of systems it tells apart": [],
            "of these, ordered alike by the ratings": [],
            "of these, contradicted beyond the ratings' interval": [],
        }
        for drawn in self.sets.values():
            theirs, clear = signs(drawn.values[0]), decided(drawn)
            told = int(np.count_nonzero(ours))
            alike = int(np.count_nonzero(ours * theirs > 0))
            against = np.count_nonzero(ours * clear < 0)
            for row, text in zip(
                rows.values(),
                (f"{told} of {len(ours)}", f"{100 * alike / max(told, 1):.0f} %", f"{against}"),
                strict=True,
            ):
                row.append(text)
        body = [[name, *row] for name, row in rows.items()]
        return markdown([head, ["---"] * len(head), *body])

    def groups(self) -> str:
        """How far `next` flatters each group, above 0, or wrongs it."""
        check, human = self.kinds[Kind.NEXT], self.sets[MEAN]
        left = residuals(check, human)
        places = rankdata(-human.values, axis=1) - rankdata(-check.values, axis=1)
        lines = [["group", "systems", "places too high", "above the line, points"], ["---"] * 4]
        for group in dict.fromkeys(one.group for one in self.entrants):
            members = [at for at, one in enumerate(self.entrants) if one.group == group]
            means = [of[:, members].mean(axis=1) for of in (places, left.values)]
            lines.append([group or "(none)", str(len(members)), *map(shown, means)])
        return markdown(lines)

    def plain(self) -> dict[str, Any]:
        """Everything for JSON."""

        def of(table: Mapping[str, Drawn]) -> dict[str, Any]:
            return {name: drawn.values[0].tolist() for name, drawn in table.items()}

        return {
            "systems": [[one.system.label, one.group] for one in self.entrants],
            "kinds": of(self.kinds),
            "files": of(self.files),
            "sets": of(self.sets),
            "items": dict(self.counts),
            "tau": {
                title: {name: shown(tau(drawn, to), ".3f") for name, to in self.sets.items()}
                for title, drawn in self._orders().items()
            },
        }

    def _orders(self) -> dict[str, Drawn]:
        files = {f"next, {name}": drawn for name, drawn in self.files.items()}
        even = Drawn(np.mean([drawn.values for drawn in self.files.values()], axis=0))
        return {**self.kinds, "next, every file alike": even, **files, **self.sets}


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """Rows of cells as Markdown."""
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def validate(
    entrants: Sequence[Entrant], data_dir: str, documents: Sequence[str],
    *, size: int, seed: int, resamples: int, cache: Cache,
) -> Validation:  # fmt: skip
    """Ask every system, and measure it on every set."""
    items, file_of = items_of(documents, size, seed)
    sets, _ = select_sets(list(SETS), data_dir, None)
    measured, samples = [], []
    with progress.bar("Measuring systems", len(entrants) * (1 + len(sets))) as shown_bar:
        for one in entrants:
            measured.append(answers(one.system, items, cache))
            shown_bar.advance(status=one.system.label)
            samples.append([done.sample for done in score(one.system, sets, cache, shown_bar)[1]])
    table = np.array(measured)

    def accuracy(places: Sequence[int]) -> Drawn:
        homes = [items[place].document for place in places]
        return resampled_accuracy(table[:, places], homes, resamples, seed)

    kinds = {
        kind.value: places
        for kind in Kind
        if (places := [place for place, item in enumerate(items) if item.kind is kind])
    }
    files: dict[str, list[int]] = {}
    for place in kinds[Kind.NEXT]:
        files.setdefault(file_of[items[place].document], []).append(place)
    human = {
        title: resampled_spearman([row[place] for row in samples], resamples, seed)
        for place, title in enumerate(SETS.values())
    }
    human[MEAN] = Drawn(np.mean([drawn.values for drawn in human.values()], axis=0))
    return Validation(
        entrants,
        {kind: accuracy(places) for kind, places in kinds.items()},
        {file: accuracy(places) for file, places in sorted(files.items())},
        human,
        {kind: len(places) for kind, places in kinds.items()},
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data_dir")
    parser.add_argument("systems", nargs="+", metavar="[GROUP=]SYSTEM")
    parser.add_argument("--documents", nargs="+", required=True, metavar="FILE")
    parser.add_argument("--items", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--resamples", type=int, default=1_000)
    parser.add_argument("--cache", type=Path, default=cache_folder())
    parser.add_argument("--out", type=Path, help="file of JSON")
    parser.add_argument("--force", action="store_true", help="replace it")
    options = parser.parse_args()
    if options.out:
        claim_file(options.out, force=options.force)
    progress.set_quiet(True)
    entrants = [Entrant.parse(text) for text in options.systems]
    found = validate(
        entrants, options.data_dir, options.documents, size=options.items, seed=options.seed,
        resamples=options.resamples, cache=Cache(options.cache),
    )  # fmt: skip
    print("Items:", ", ".join(f"{kind} {n:,}" for kind, n in found.counts.items()))
    for part in (found.systems(), found.agreement(), found.verdicts(), found.groups()):
        print(f"\n{part}")
    if options.out:
        write_document(options.out, found.plain())


if __name__ == "__main__":
    main()

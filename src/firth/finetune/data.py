"""What is learned from, what chooses, what measures: never the same row, and checked before."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from firth.evaluate.metrics import undefined
from firth.evaluate.rows import EvaluationSet, Row
from firth.evaluate.task import ALL
from firth.evaluate.task import Kind as Shape
from firth.finetune.recipe import Kind, Objective
from firth.finetune.sets import CLASSES, DEV, TEST, TRAIN, Places, read_sets
from firth.run.errors import InputError
from firth.run.seeds import derive_seed

FEWEST = 8
"""Rows to learn from, at least."""
_TRIAL = (DEV, "trial", "valid", "validation")


@dataclass(frozen=True, eq=False)
class Data:
    """The rows of a fine-tuning, none of which is in two parts.

    Attributes:
        train: What is learned from.
        dev: What chooses the best weights; None keeps the last.
        test: What measures.
        drawn: Names of the parts that were drawn at random from what was to be learned from.
        left_out: What is not learned from since it is in dev or test, a line each.
    """

    train: EvaluationSet
    dev: EvaluationSet | None
    test: EvaluationSet | None
    drawn: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    @property
    def parts(self) -> dict[str, EvaluationSet]:
        """Those that are there, by name."""
        named = {TRAIN: self.train, DEV: self.dev, TEST: self.test}
        return {name: data for name, data in named.items() if data is not None}


def gather(
    kind: Kind,
    names: Sequence[str],
    dev: str | None,
    test: str | None,
    places: Places,
    share: float,
    seed: int,
) -> Data:
    """Find what is learned from, and what is kept from it.

    Of a set named without a split, `train` is learned from (all rows where it has no splits), and
    its `dev` and `test` are taken where none are given. What is still missing is drawn at random,
    a `share` of the rows each; whole groups, where `places` names a column of them.

    Args:
        kind: Of the labels.
        names: Sets or files, either with `:SPLIT`.
        dev: Set or file, or None.
        test: Set or file, or None.
        places: Where and how they are read.
        share: In [0, 0.4]; at 0 nothing is drawn.
        seed: Of the drawing.

    Raises:
        InputError: A set cannot be had, nothing is left to learn from, or there are too few groups.
    """
    if not 0 <= share <= 0.4:
        raise InputError(f"share: got {share:g}; expected 0 to 0.4")
    sources = [read_sets(name, kind, places) for name in names]
    train = joined([_to_learn(name, one) for name, one in zip(names, sources, strict=True)], TRAIN)
    kept = {
        DEV: _given(dev, places) or _among(sources, _TRIAL, DEV),
        TEST: _given(test, places) or _among(sources, (TEST,), TEST),
    }
    drawn: list[str] = []
    left_out: list[str] = []
    for name in (TEST, DEV):
        if kept[name] is None and share and len(train.rows) >= FEWEST:
            divide = divided_by_groups if places.by else divided
            train, kept[name] = divide(train, share, derive_seed(seed, "finetune", name), name)
            drawn.append(name)
            if kept[name] is None:
                raise InputError(
                    f"{places.by}: no group is left for {name}. Expected a group to learn from and "
                    "one for each part that is drawn; or name the parts (--dev, --test)"
                )
        if (part := kept[name]) is not None and part.rows:
            if name == DEV and (measuring := kept[TEST]) is not None:
                part = _without(part, measuring, left_out)
            kept[name], train = in_order(part), _without(train, part, left_out)
    return Data(in_order(train), kept[DEV], kept[TEST], tuple(drawn), tuple(left_out))


def joined(sets: Sequence[EvaluationSet], name: str) -> EvaluationSet:
    """Some sets as one, under the name of a split; scores in [0, 1] where their ranges differ."""
    first = sets[0]
    if len(sets) == 1:
        return replace(first, split=name)
    task = first.task
    rows = [one.rows for one in sets]
    if len({one.task.score_range for one in sets}) > 1:
        task = replace(task, score_range=(0.0, 1.0))
        rows = [
            tuple(replace(r, score=score) for r, score in zip(one.rows, scaled(one), strict=True))
            for one in sets
        ]
    title = " + ".join(dict.fromkeys(one.task.name for one in sets))
    return EvaluationSet(
        replace(task, name=title, title=title), name, tuple(row for some in rows for row in some),
        ", ".join(dict.fromkeys(one.source for one in sets)),
        tuple(dict.fromkeys(note for one in sets for note in one.notes)),
        sum(one.skipped for one in sets),
    )  # fmt: skip


def scaled(data: EvaluationSet) -> list[float]:
    """The scores of a set's rows, from its lowest to its highest score there is: in [0, 1]."""
    low, high = data.task.score_range
    return [(row.score - low) / (high - low) for row in data.rows]


def divided(
    data: EvaluationSet, share: float, seed: int, name: str
) -> tuple[EvaluationSet, EvaluationSet]:
    """A set without a random share of its rows, and that share; whatever their order."""
    rng = np.random.default_rng(seed)
    mixed = data.order[rng.permutation(len(data.rows))]
    size = min(max(3, round(share * len(mixed))), len(mixed))
    return data.only(np.sort(mixed[size:])), replace(data.only(np.sort(mixed[:size])), split=name)


def divided_by_groups(
    data: EvaluationSet, share: float, seed: int, name: str
) -> tuple[EvaluationSet, EvaluationSet | None]:
    """A set without some of its groups, whole and at random, until they have a share of the rows;
    and those: None where there is one group alone, which cannot be both."""
    groups = [rows for group, rows in data.subtasks.items() if group != ALL]
    if not groups:
        return data, None
    rng = np.random.default_rng(seed)
    mixed = [groups[place] for place in rng.permutation(len(groups))]
    rows_before = np.cumsum([0, *map(len, mixed[:-1])])
    count = int(np.sum(rows_before[:-1] < share * len(data.rows)))  # one at least stays
    chosen = np.sort(np.concatenate(mixed[:count]))
    rest = np.setdiff1d(np.arange(len(data.rows)), chosen)
    return data.only(rest), replace(data.only(chosen), split=name)


def in_order(data: EvaluationSet) -> EvaluationSet:
    """A set with its rows in the order that follows from them alone."""
    return data.only(data.order)


def _to_learn(name: str, splits: Mapping[str, EvaluationSet]) -> EvaluationSet:
    if len(splits) == 1:
        split, found = next(iter(splits.items()))
        if split in (*_TRIAL, TEST) and not name.endswith(f":{split}"):
            raise InputError(
                f"{name}: only its split {split} can be had, which is there to measure by. Learn "
                "from rows of your own (DATA..., files); give the folder that has its "
                f"{TRAIN} (--data-dir); or learn from most of {split} all the same, and measure on "
                f"what is drawn from it: {name}:{split}"
            )
        return found
    for one in (TRAIN, ALL):
        if one in splits:
            return splits[one]
    raise InputError(
        f"{name}: no split {TRAIN} to learn from; it has {', '.join(splits)}. Name one: "
        f"{name}:{next(iter(splits))}"
    )


def _given(name: str | None, places: Places) -> EvaluationSet | None:
    if name is None:
        return None
    splits = read_sets(name, None, replace(places, by=None))
    if len(splits) == 1:
        return next(iter(splits.values()))
    raise InputError(f"{name}: has the splits {', '.join(splits)}. Name one: {name}:SPLIT")


def _among(
    sources: Sequence[Mapping[str, EvaluationSet]], names: Sequence[str], split: str
) -> EvaluationSet | None:
    found = [next((one[name] for name in names if name in one), None) for one in sources]
    several = [one for one, source in zip(found, sources, strict=True) if one and len(source) > 1]
    return joined(several, split) if several else None


def _without(data: EvaluationSet, other: EvaluationSet, left_out: list[str]) -> EvaluationSet:
    """The rows whose texts do not stand together in `other`; how many do is noted."""
    try:
        rest = data.without(other)
    except InputError as error:
        raise InputError(
            f"{data.split}: no row is left of {len(data.rows):,}, for their texts stand together "
            f"in {other.split} ({other.task.name}). Give {data.split} or {other.split} other rows"
        ) from error
    if gone := len(data.rows) - len(rest.rows):
        left_out.append(
            f"{gone:,} of {len(data.rows):,} rows of {data.split} left out: their texts stand "
            f"together in {other.split} ({other.task.name})"
        )
    return replace(rest, notes=data.notes, excluded=())


# What training sees.


@dataclass(frozen=True)
class Examples:
    """Columns of texts, and of labels where the objective has them.

    Attributes:
        columns: Name → values, texts first; all of one length.
        classes: Number of classes, of the softmax.
    """

    columns: Mapping[str, Sequence[Any]]
    classes: int = 0

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    @property
    def texts(self) -> Iterator[str]:
        """All texts."""
        for name, values in self.columns.items():
            if name != "label":
                yield from values

    def row(self, number: int) -> list[str]:
        """The texts of one."""
        return [values[number] for name, values in self.columns.items() if name != "label"]


def examples_of(data: EvaluationSet, kind: Kind, objective: Objective) -> Examples:
    """The rows of a set as an objective takes them, in an order that follows from the rows alone.

    For in-batch, inference becomes triplets: a premise, what follows from it, what contradicts it
    (Gao et al. 2021, §4); premises that lack either are left out.
    """
    order = data.order.tolist()
    rows = [data.rows[row] for row in order]
    if kind is Kind.NLI and objective is Objective.IN_BATCH:
        return _texts(_contradicted(rows), "anchor", "positive", "negative")
    if kind is Kind.TRIPLETS:
        return _texts([row.texts for row in rows], "anchor", "positive", "negative")
    columns = dict(_texts([row.texts for row in rows], "sentence1", "sentence2").columns)
    if objective is Objective.SOFTMAX:
        numbers = {score: number for number, score in enumerate(CLASSES)}
        columns["label"] = [numbers[row.score] for row in rows]
        return Examples(columns, len(CLASSES))
    scores = scaled(data)
    columns["label"] = [scores[row] for row in order]
    return Examples(columns)


def _texts(rows: Sequence[Sequence[str]], *names: str) -> Examples:
    return Examples({name: [row[place] for row in rows] for place, name in enumerate(names)})


def _contradicted(rows: Sequence[Row]) -> list[tuple[str, str, str]]:
    """(premise, entailment, contradiction); the shorter list of a premise goes round."""
    yes, no = (score for score, label in CLASSES.items() if label != "neutral")
    known: dict[str, dict[float, list[str]]] = {}
    for row in rows:
        known.setdefault(row.texts[0], {}).setdefault(row.score, []).append(row.texts[1])
    found = []
    for premise, texts in known.items():
        positives, negatives = texts.get(yes, []), texts.get(no, [])
        if positives and negatives:
            for n in range(max(len(positives), len(negatives))):
                found.append(
                    (premise, positives[n % len(positives)], negatives[n % len(negatives)])
                )
    return found


def problems(data: Data, kind: Kind, objective: Objective) -> list[str]:
    """What of the rows cannot be learned from, chosen or measured by, a line each."""
    found = problems_of_train(data.train, kind, objective)
    for name in (DEV, TEST):
        part = data.parts.get(name)
        if part is not None and (why := immeasurable(part)):
            found.append(f"{name} ({part.task.name}, {len(part.rows):,} rows): {why}")
    return found


def problems_of_train(data: EvaluationSet, kind: Kind, objective: Objective) -> list[str]:
    """What of the rows cannot be learned from, a line each."""
    found = []
    if len(data.rows) < FEWEST:
        found.append(
            f"{data.split}: {len(data.rows)} rows to learn from; expected {FEWEST} or more"
        )
    scores = {row.score for row in data.rows}
    if kind is Kind.NLI:
        if missing := [label for score, label in CLASSES.items() if score not in scores]:
            found.append(
                f"{data.split}: no row is {' or '.join(missing)}; expected all three labels"
            )
        elif objective is Objective.IN_BATCH and not _contradicted(data.rows):
            found.append(
                f"{data.split}: no premise has both an entailment and a contradiction, which "
                "in-batch needs; expected some, or objective softmax"
            )
    elif kind is not Kind.TRIPLETS and len(scores) == 1:
        found.append(f"{data.split}: all scores are {min(scores):g}; expected different ones")
    return found


def immeasurable(data: EvaluationSet) -> str:
    """Why a set can measure nothing, whatever the model; "" where it can."""
    if data.task.kind is Shape.TRIPLETS:
        return "" if data.rows else "there are no rows"
    scores = np.array([row.score for row in data.rows])
    return undefined(data.task.metrics[0], scores, np.arange(len(scores), dtype=np.float64)) or ""

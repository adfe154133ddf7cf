"""What is asked, and how often: items, tuples, gold questions; as a CSV for crowd platforms too."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

from firth.relatedness.bws.records import Gold, Item, Tuple, read_gold, read_items, read_tuples
from firth.run.errors import ConfigError, InputError
from firth.run.files import fingerprint_value
from firth.run.rows import write_rows
from firth.run.seeds import derive_seed

INSTRUCTIONS = """\
Each question shows a few numbered items. Choose the one that is **most related** in meaning and the
one that is **least related**.

- Where an item has two sentences, ask how close *these two* are to each other in meaning. Do not
  compare sentences of different items.
- Sentences can be related in many ways: they may say the same, speak of the same things, of the
  same event, or express the same view.
- There are often several good answers. Follow your own feeling for the language, and do not spend
  too long on one question.
- Some questions have a known answer. You are told at once whether you found it.
"""


@dataclass(frozen=True)
class Wording:
    """What an annotator reads: a title, what the best and the worst item are ("most related"), and
    instructions in Markdown, in which HTML is shown as text.
    """

    title: str = "Which is most related?"
    best: str = "most related"
    worst: str = "least related"
    instructions: str = INSTRUCTIONS


@dataclass(frozen=True)
class Rules:
    """How questions are given out. Rules with a help text are options of `firth bws serve`."""

    annotations: Annotated[int, "Answers wanted for each tuple, gold ones aside."] = 2
    gold_every: Annotated[int, "Every so manieth question is a gold one."] = 10
    stop_below: Annotated[
        float,
        "Ask no more of annotators whose share of right gold answers is below this; the paper's is "
        "0.7 (Abdalla et al., §3.2.1). Default: nobody is stopped.",
    ] = 0.0
    stop_after: Annotated[int, "Gold answers before that."] = 5
    hold_minutes: float = 60.0
    """How long a question that was shown, and not answered, is kept for the one who saw it before
    it is asked of others."""

    def __post_init__(self) -> None:
        checks = (
            (self.annotations >= 1, f"annotations {self.annotations}: expected at least 1"),
            (self.gold_every >= 2, f"gold_every {self.gold_every}: expected at least 2"),
            (0 <= self.stop_below <= 1, f"stop_below {self.stop_below:g}: expected 0 to 1"),
            (self.stop_after >= 1, f"stop_after {self.stop_after}: expected at least 1"),
            (self.hold_minutes > 0, f"hold_minutes {self.hold_minutes:g}: expected more than 0"),
        )
        if problems := [problem for good, problem in checks if not good]:
            raise ConfigError("questionnaire", problems)


@dataclass(frozen=True)
class Questionnaire:
    """Items of the tuples, tuples in the order in which they are given out, and right answers of
    gold ones, by id; what annotators read, and how questions are given out.
    """

    items: dict[str, Item]
    tuples: tuple[Tuple, ...]
    gold: dict[str, Gold]
    wording: Wording = field(default_factory=Wording)
    rules: Rules = field(default_factory=Rules)

    @property
    def fingerprint(self) -> str:
        """BLAKE2b-160 of items, tuples, their order, and gold: what answers refer to."""
        return fingerprint_value(
            [
                [asdict(self.items[name]) for name in sorted(self.items)],
                [asdict(one) for one in self.tuples],
                [asdict(self.gold[name]) for name in sorted(self.gold)],
            ]
        )

    def settings(self) -> dict[str, Any]:
        """Wording and rules as plain values."""
        return {"wording": asdict(self.wording), "rules": asdict(self.rules)}


def make_questionnaire(
    items: Sequence[Item],
    tuples: Sequence[Tuple],
    gold: Sequence[Gold] = (),
    *,
    wording: Wording | None = None,
    rules: Rules | None = None,
    seed: int = 13,
) -> Questionnaire:
    """Put a questionnaire together; the seed decides the order of the tuples. Raise `InputError` if
    a tuple names an item that is not there, or all tuples are gold.
    """
    known = {item.id: item for item in items}
    wanted = dict.fromkeys(name for one in tuples for name in one.items)
    if missing := [name for name in wanted if name not in known]:
        listed = ", ".join(missing[:10])
        raise InputError(f"{len(missing):,} items of the tuples are not there: {listed}")
    answers = {one.tuple: one for one in gold}
    if strange := answers.keys() - {one.id for one in tuples}:
        named = ", ".join(sorted(strange)[:10])
        raise InputError(f"gold questions are not among the tuples: {named}")
    if len(answers) == len(tuples):
        raise InputError("all tuples are gold questions; expected others to ask about")
    order = list(tuples)
    random.Random(derive_seed(seed, "questionnaire")).shuffle(order)
    kept = {name: known[name] for name in wanted}
    return Questionnaire(kept, tuple(order), answers, wording or Wording(), rules or Rules())


def read_questionnaire(
    items: Path, tuples: Path, gold: Path | None = None, **settings: Any
) -> Questionnaire:
    """Read the files of a questionnaire; settings as of `make_questionnaire`, errors also as of the
    readers.
    """
    texts = read_items(items)
    asked = read_tuples(tuples, {item.id for item in texts})
    answers = [] if gold is None else read_gold(gold, asked)
    return make_questionnaire(texts, asked, answers, **settings)


def write_crowd(path: Path, questionnaire: Questionnaire) -> int:
    """Write a row a tuple, in the order in which they are to be asked, and return how many.

    Columns: `tuple`; for each place k `itemK` (the id) and its texts (`itemK_text`, or
    `itemK_text1`, `itemK_text2`, … where items have several); `gold` (`true` or `false`),
    `gold_best`, `gold_worst` (ids, empty unless gold). Gold questions stand at every
    `gold_every`-th row, as long as there are any; what is left of them comes at the end.

    Raises:
        InputError: The file cannot be written.
    """
    texts = max(len(item.texts) for item in questionnaire.items.values())
    names = ["_text"] if texts == 1 else [f"_text{number}" for number in range(1, texts + 1)]
    places = range(1, len(questionnaire.tuples[0].items) + 1)
    header = ["tuple", *(f"item{place}{name}" for place in places for name in ("", *names))]
    rows = []
    for one in _in_order(questionnaire):
        cells = [one.id]
        for name in one.items:
            found = questionnaire.items[name].texts
            cells += [name, *found, *[""] * (texts - len(found))]
        gold = questionnaire.gold.get(one.id)
        rows.append([*cells, *(("true", gold.best, gold.worst) if gold else ("false", "", ""))])
    write_rows(path, [*header, "gold", "gold_best", "gold_worst"], rows)
    return len(rows)


def _in_order(questionnaire: Questionnaire) -> Iterator[Tuple]:
    gold = [one for one in questionnaire.tuples if one.id in questionnaire.gold]
    others = [one for one in questionnaire.tuples if one.id not in questionnaire.gold]
    for number, one in enumerate(others, start=1):
        yield one
        if gold and number % (questionnaire.rules.gold_every - 1) == 0:
            yield gold.pop(0)
    yield from gold

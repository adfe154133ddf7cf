"""What is asked: items, tuples, gold questions, and how often each question is asked."""

import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from firth.relatedness.bws.records import Gold, Item, Tuple, read_gold, read_items, read_tuples
from firth.run.errors import ConfigError, InputError
from firth.run.files import fingerprint_value
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
    """What an annotator reads.

    Attributes:
        title: Of all pages.
        best: What the best item is, as in "most related".
        worst: What the worst item is.
        instructions: Markdown; HTML in it is shown as text.
    """

    title: str = "Which is most related?"
    best: str = "most related"
    worst: str = "least related"
    instructions: str = INSTRUCTIONS


@dataclass(frozen=True)
class Rules:
    """How questions are given out.

    Attributes:
        annotations: Answers wanted for each tuple that is not gold, by different annotators.
        gold_every: Every so manieth question of an annotator is a gold one, while there are any.
        stop_below: An annotator whose share of right gold answers falls below this is asked no more
            questions, in [0, 1]; 0 stops nobody (Abdalla et al., §3.2.1: 0.7).
        stop_after: Gold answers before anybody is stopped.
        hold_minutes: How long a question that was shown, and not answered, is kept for the one who
            saw it before it is asked of others.
    """

    annotations: int = 2
    gold_every: int = 10
    stop_below: float = 0.0
    stop_after: int = 5
    hold_minutes: float = 60.0

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
    """Everything a questionnaire consists of.

    Attributes:
        items: Those of the tuples; others are not kept.
        tuples: In the order in which they are given out.
        gold: Tuple → its right answer.
        wording: What annotators read.
        rules: How questions are given out.
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


def plan(
    items: Sequence[Item],
    tuples: Sequence[Tuple],
    gold: Sequence[Gold] = (),
    *,
    wording: Wording | None = None,
    rules: Rules | None = None,
    seed: int = 13,
) -> Questionnaire:
    """Put a questionnaire together; the seed decides the order of the tuples.

    Raises:
        InputError: A tuple names an item that is not there, or all tuples are gold.
    """
    known = {item.id: item for item in items}
    wanted = dict.fromkeys(name for one in tuples for name in one.items)
    if missing := [name for name in wanted if name not in known]:
        listed = ", ".join(missing[:10])
        raise InputError(f"{len(missing):,} items of the tuples are not there: {listed}")
    answers = {one.tuple: one for one in gold}
    if strange := [name for name in answers if name not in {one.id for one in tuples}]:
        raise InputError(f"gold questions are not among the tuples: {', '.join(strange[:10])}")
    if len(answers) == len(tuples):
        raise InputError("all tuples are gold questions; expected others to ask about")
    order = list(tuples)
    random.Random(derive_seed(seed, "questionnaire")).shuffle(order)
    return Questionnaire(
        {name: known[name] for name in wanted},
        tuple(order),
        answers,
        wording or Wording(),
        rules or Rules(),
    )


def read_plan(
    items: Path,
    tuples: Path,
    gold: Path | None = None,
    *,
    wording: Wording | None = None,
    rules: Rules | None = None,
    seed: int = 13,
) -> Questionnaire:
    """Read the files of a questionnaire (formats: `firth.relatedness.bws.records`).

    Raises:
        InputError: A file cannot be read or has problems (all of one file are named).
    """
    texts = read_items(items)
    asked = read_tuples(tuples, {item.id for item in texts})
    answers = [] if gold is None else read_gold(gold, asked)
    return plan(texts, asked, answers, wording=wording, rules=rules, seed=seed)

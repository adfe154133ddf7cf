"""Leakage: which evaluation texts a training corpus holds already."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from firth.evaluate.cache import Cache
from firth.evaluate.overlap import MIN_WORDS, THRESHOLD, Finder, Kind, Match
from firth.evaluate.rows import EvaluationSet
from firth.evaluate.training_text import Training
from firth.lexical.words import normal_form
from firth.run.code import fingerprint_code
from firth.run.files import fingerprint_value
from firth.run.progress import note

KIND = "leakage"
_EXAMPLES = 5
_CODE = ("words", "corpus", "evaluate/leakage", "evaluate/overlap", "evaluate/training_text")


@dataclass(frozen=True)
class SetLeakage:
    """How much of one set stands in a training text.

    Attributes:
        task: Name of the task.
        split: Which split.
        texts: Distinct texts (and sentences within them) long enough to be looked for.
        exact: Of these, how many stand in the training text.
        near: How many others stand in it nearly.
        rows: Rows of the set.
        rows_touched: Rows of which a text, or a sentence within one, was found either way.
        touched: Which rows these are, counted from 0 in the order of the set.
    """

    task: str
    split: str
    texts: int
    exact: int
    near: int
    rows: int
    rows_touched: int
    touched: tuple[int, ...]

    def __str__(self) -> str:
        """`afs all: 3 of 8,120 texts exactly and 5 nearly, in 9 of 6,000 rows`."""
        return (
            f"{self.task} {self.split}: {self.exact:,} of {self.texts:,} texts exactly and "
            f"{self.near:,} nearly, in {self.rows_touched:,} of {self.rows:,} rows"
        )


@dataclass(frozen=True)
class Leakage:
    """What a training text shares with evaluation sets.

    Attributes:
        source: The training text, as named by the caller.
        fingerprint: Of its content.
        sets: One entry a set, those without any overlap included.
        examples: Task and split → some matches. They hold evaluation texts, which not every
            licence allows to be passed on, so `to_dict` leaves them out unless asked.
    """

    source: str
    fingerprint: str
    sets: tuple[SetLeakage, ...]
    examples: dict[tuple[str, str], tuple[Match, ...]]

    def to_dict(self, *, examples: bool = False) -> dict[str, Any]:
        """Plain values."""
        found: dict[str, Any] = {
            "source": self.source,
            "fingerprint": self.fingerprint,
            "min_words": MIN_WORDS,
            "threshold": THRESHOLD,
            "sets": [asdict(one) for one in self.sets],
        }
        if examples:
            found["examples"] = [
                {"task": task, "split": split, **asdict(match), "kind": match.kind.value}
                for (task, split), matches in self.examples.items()
                for match in matches
            ]
        return found

    def notes(self) -> list[str]:
        """A line for each set of which something was found."""
        return [
            f"{one}, stand in the text of {self.source}"
            for one in self.sets
            if one.exact or one.near
        ]


def find_leakage(
    training: Training, sets: Sequence[EvaluationSet], cache: Cache | None = None
) -> Leakage:
    """Look for the texts of evaluation sets, and the sentences within them, in a training text.

    A text is found if a sentence of the training text is the same up to case and punctuation
    (exact), or shares so many of its consecutive word pairs that their Jaccard similarity is at
    least `THRESHOLD` (near). Texts of fewer than `MIN_WORDS` words are not looked for.

    Args:
        training: What a model was trained on (see `firth.evaluate.training_text.training_of`).
        sets: The evaluation sets; the training text is read once for all of them.
        cache: Looked at first, set by set.
    """
    kept = cache or Cache(None)
    keys = {id(data): _key(training, data) for data in sets}
    known = {id(data): kept.value(KIND, keys[id(data)]) for data in sets}
    missing = [data for data in sets if known[id(data)] is None]
    if missing:
        note(f"Looking for evaluation texts in {training.source}")
        texts = {id(data): _texts(data) for data in missing}
        distinct = dict.fromkeys(
            piece for found in texts.values() for pieces in found.values() for piece in pieces
        )
        finder = Finder(list(distinct))
        for sentences in training.batches():
            finder.read(sentences)
        matches = finder.matches()
        for data in missing:
            value = _summary(data, texts[id(data)], finder, matches)
            kept.keep_value(KIND, keys[id(data)], value)
            known[id(data)] = value
    leaks, examples = [], {}
    for data in sets:
        value = known[id(data)]
        rows = tuple(value["touched"])
        leaks.append(SetLeakage(data.task.name, data.split, **value["counts"], touched=rows))
        examples[data.task.name, data.split] = tuple(
            Match(Kind(kind), *rest) for kind, *rest in value["examples"]
        )
    return Leakage(training.source, training.fingerprint, tuple(leaks), examples)


def _key(training: Training, data: EvaluationSet) -> str:
    settings = [MIN_WORDS, THRESHOLD, _EXAMPLES, fingerprint_code(*_CODE)]
    return fingerprint_value([training.fingerprint, data.question, settings])


def _texts(data: EvaluationSet) -> dict[str, tuple[str, ...]]:
    """Each text of a set → itself and, where it holds several, its sentences."""
    from firth.corpus.split import split_sentences

    return {
        text: tuple(dict.fromkeys((text, *split_sentences(text)))) if _several(text) else (text,)
        for text in dict.fromkeys(text for row in data.rows for text in row.texts)
    }


def _several(text: str) -> bool:
    """Whether a text may hold more than one sentence: a mark that ends one, not at its end."""
    inner = text.rstrip(" .!?\"')\n")
    return any(mark in inner for mark in (". ", "! ", "? ", "\n"))


def _summary(
    data: EvaluationSet,
    texts: dict[str, tuple[str, ...]],
    finder: Finder,
    matches: Iterable[Match],
) -> dict[str, Any]:
    found = {normal_form(match.text): match for match in matches}
    forms = {text: {normal_form(piece) for piece in pieces} for text, pieces in texts.items()}
    wanted = dict.fromkeys(
        form for every in forms.values() for form in sorted(every) if finder.wanted(form)
    )
    hits = [found[form] for form in wanted if form in found]
    touched = {text for text, every in forms.items() if not every.isdisjoint(found)}
    rows = [i for i, row in enumerate(data.rows) if not touched.isdisjoint(row.texts)]
    exact = [match for match in hits if match.kind is Kind.EXACT]
    near = [match for match in hits if match.kind is Kind.NEAR]
    near.sort(key=lambda match: (-match.similarity, match.text))
    counts = {
        "texts": len(wanted),
        "exact": len(exact),
        "near": len(near),
        "rows": len(data.rows),
        "rows_touched": len(rows),
    }
    examples = [
        [match.kind.value, match.text, match.sentence, match.similarity]
        for match in (*exact[:_EXAMPLES], *near[:_EXAMPLES])
    ]
    return {"counts": counts, "touched": rows, "examples": examples}

"""From documents to what can be searched, in one go, and what to know of it in a few sentences."""

import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from firth.check import CHECK
from firth.check.items import Kind
from firth.check.report import CheckReport
from firth.corpus import CORPUS
from firth.corpus.build import losses
from firth.corpus.corpus import Corpus
from firth.corpus.inputs import resolve_inputs
from firth.evaluate.label_free import check as run_check
from firth.pipeline import bring_up_to_date, needed
from firth.pipeline import check as check_run
from firth.run.config import Config
from firth.run.engine import HERE, Engine
from firth.run.errors import InputError
from firth.run.run import CONFIG, Run
from firth.run.screen import WIDTH, plural, wrapped
from firth.scale.scale import Scale, Scorer
from firth.surrogate import SURROGATE

BASELINE = "baseline:tfidf"
"""What the Surrogate has to be better than."""
_RATE = 0.01
"""Share of random pairs that score as high as the threshold that is told."""
_LENGTHS, _CHARACTERS = (6, 14), 70
"""Words of a sentence that is shown as an example; characters, at most: a line has room for it."""
_LOOKED_AT = 20_000
"""Sentences among which examples are looked for."""


@dataclass(frozen=True)
class Searchable:
    """A run that can be searched, and what to know of it.

    Attributes:
        run: Its folder.
        corpus: Figures of its corpus: `documents`, `held_out`, `sentences`, `words`, `duplicates`,
            and `skipped`, by reason.
        built: Stages that were built by this call; the others were up to date.
        seconds: That all of it took.
        check: The Surrogate beside tf-idf on held-out documents; None where these give no items.
        threshold: Cosine that one random pair in a hundred reaches; None without a scale.
        examples: Two sentences of the corpus, one after the other in it; empty if there are none.
    """

    run: Path
    corpus: Mapping[str, Any]
    built: tuple[str, ...]
    seconds: float
    check: CheckReport | None
    threshold: float | None
    examples: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON, with the commands to go on with."""
        return asdict(self) | {
            "run": str(self.run),
            "check": self.check and self.check.as_dict(),
            "next": list(self.commands()),
        }

    def commands(self) -> tuple[str, ...]:
        """What to type next, with sentences of the corpus."""
        run = shlex.quote(str(self.run))
        found = [f"firth duplicates {run}"]
        if self.examples:
            one, two = map(shlex.quote, self.examples)
            found.insert(0, f"firth search {run} {one}")
            found.append(f"firth explain {one} {two} --run {run}")
        return tuple(found)

    def text(self) -> str:
        """All of it in sentences."""
        told = [*self._read(), self._built(), f"Check: {verdict(self.check)}"]
        if self.threshold is not None:
            told.append(
                f"Scores: a cosine of {self.threshold:.2f} or more is reached by one random pair "
                "of sentences in a hundred. Searches and explanations say it of each score."
            )
        model = self.run / SURROGATE.name
        told.append(f"The model is {model}, which SentenceTransformer({str(model)!r}) opens.")
        return "\n".join([*map(wrapped, told), "", "Next:", *map(_typed, self.commands())])

    def _read(self) -> list[str]:
        found = self.corpus
        told, folder = [], self.run / CORPUS.name
        told.append(
            f"Read: {plural(found['documents'], 'document')} of "
            f"{plural(found['sentences'], 'sentence')} and {plural(found['words'], 'word')}; and "
            f"{plural(found['held_out'], 'document')} kept apart, to check the model by."
        )
        return told + losses(folder, found["skipped"], found["duplicates"])

    def _built(self) -> str:
        if not self.built:
            return "Everything was up to date; nothing was built."
        return f"Built in {self.seconds:,.0f} s: {', '.join(self.built)}."


def build(
    inputs: str | Path | Sequence[str | Path],
    run: str | Path,
    *,
    seed: int | None = None,
    engine: Engine = HERE,
    **sections: Mapping[str, Any],
) -> Searchable:
    """Bring a run up to date with documents: its models, its index, its scale; then ask the model.

    What was built before and is up to date stays; an interrupted call is continued by the same.

    Args:
        inputs: Files, folders, globs or `hub:NAME`, one or several.
        run: Folder of the run, made if need be.
        seed: Of every random choice; by default the run's (13).
        engine: Who does what is done in shards, as `firth.run.processes.Processes(4)`.
        sections: Sections of the configuration, such as `surrogate={"dimensions": 256}`.

    Raises:
        ConfigError: Settings that do not exist or have wrong values, or name what is not there.
        InputError: Inputs cannot be used, one lies inside the run, or no document is left.

    Example:
        >>> from firth import build
        >>> found = build(["docs", "README.md"], "mine")  # doctest: +SKIP
        >>> print(found.text())  # doctest: +SKIP
    """
    inputs, folder = [inputs] if isinstance(inputs, str | Path) else inputs, Path(run)
    resolve_inputs(inputs, folder)
    corpus = {**sections.get("corpus", {}), "inputs": [str(given) for given in inputs]}
    known = (folder / CONFIG).exists()
    opened = Run.open(folder) if known else Run(folder, Config())
    opened = opened.changed({**sections, "corpus": corpus, "seed": seed})
    check_run(opened, str(folder))
    start = perf_counter()
    outcomes = bring_up_to_date(opened, CORPUS, engine=engine)
    following = [stage for stage in needed(opened) if stage is not CORPUS]
    outcomes |= bring_up_to_date(opened, *following, engine=engine)
    return Searchable(
        run=folder,
        corpus=outcomes[CORPUS.name].manifest.summary,
        built=tuple(name for name, done in outcomes.items() if not done.reused),
        seconds=perf_counter() - start,
        check=checked(opened),
        threshold=_threshold(Scale.current(opened, Scorer.VECTORS)),
        examples=_examples(Corpus.open(opened)),
    )


def _typed(command: str) -> str:
    """A command as it can be typed, in lines of at most `WIDTH`."""
    lines = [" "]
    for word in map(shlex.quote, shlex.split(command)):
        if len(lines[-1]) + 1 + len(word) > WIDTH - len(" \\") and lines[-1].strip():
            lines[-1] += " \\"
            lines.append("   ")
        lines[-1] += f" {word}"
    return "\n".join(lines)


def _threshold(scale: Scale | None) -> float | None:
    """None, too, where the scale has too few pairs to tell."""
    with suppress(InputError):
        return scale.threshold(_RATE) if scale else None
    return None


def checked(run: Run, items: int | None = None) -> CheckReport | None:
    """The Surrogate beside tf-idf, of a run that has questions of the kind that counts.

    Args:
        run: The run.
        items: Most questions of a kind, which are made for this call, and nothing is written; None:
            those of the stage `check`, which is brought up to date.
    """
    if not run.manifest(CHECK).summary["items"][Kind.NEXT]:
        return None
    return run_check([str(run.folder(SURROGATE)), BASELINE], run, items=items, against=BASELINE)


def accuracies(check: CheckReport | None) -> list[dict[str, Any]]:
    """Of the Surrogate and tf-idf, what `verdict` says as rows: `name`, `value`, `low`, `high`."""
    systems = zip(("Surrogate", "tf-idf"), check.systems, strict=True) if check else ()
    return [
        {"name": name, "value": at.value, "low": at.low, "high": at.high}
        for name, one in systems
        if (at := one.accuracy.get(Kind.NEXT))
    ]


def verdict(check: CheckReport | None) -> str:
    """What was asked of the Surrogate and of tf-idf, and what it says of the Surrogate."""
    lead = check.systems[0].ahead.get(Kind.NEXT) if check else None
    if check is None or lead is None:
        return (
            "no question can be made of the documents that were kept apart, so nothing "
            "can be said of how good the model is here. More and longer documents would help."
        )
    ours, theirs = (str(one.accuracy[Kind.NEXT]) for one in check.systems)
    text = (
        "which sentence of a document that was kept apart follows another? In "
        f"{plural(check.items[Kind.NEXT], 'question')} (50 is chance, 100 all right) "
        f"tf-idf has {theirs}, the model {ours}. "
    )
    if lead.sign > 0:
        return text + "It has learned something of your text that words alone do not tell."
    if lead.sign < 0:
        return (
            text + "Words alone do better here: search with --by words, or adapt an encoder "
            "that was trained elsewhere (firth adapt)."
        )
    return text + "That does not tell them apart."


def _examples(corpus: Corpus) -> tuple[str, ...]:
    """Two sentences of the corpus, one after the other, that are neither short nor long; of several
    the middle ones: documents begin with salutations, or headings."""
    low, high = _LENGTHS
    counts = corpus.word_counts[:_LOOKED_AT]
    good = (low <= counts) & (counts <= high)
    found = (good[:-1] & good[1:]).nonzero()[0].tolist()
    for number in [*found[len(found) // 2 :], *found[: len(found) // 2]]:
        both = corpus.text(number), corpus.text(number + 1)
        # An apostrophe would have to be quoted twice where the commands are shown.
        short = max(map(len, both)) <= _CHARACTERS and "'" not in "".join(both)
        if short and corpus.document_of(number) == corpus.document_of(number + 1):
            return both
    return ()

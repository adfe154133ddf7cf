"""Which words make sentences related: Table 4 and Figure 2 for any scored pairs."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from firth.baselines.registry import identify_baseline
from firth.baselines.spec import PREFIX
from firth.relatedness.features.findings import Findings
from firth.relatedness.features.measure import (
    MIN_SHARE,
    check_scores,
    correlate,
    pair_features,
    texts_of,
)
from firth.relatedness.features.parse import Parsed, open_pipeline, parse
from firth.relatedness.features.vectors import open_word_vectors
from firth.relatedness.scored import DOMAIN, load_pairs
from firth.run.files import fingerprint_value

if TYPE_CHECKING:
    from firth.evaluate.rows import EvaluationSet

VECTORS = "baseline:glove"


def measure_features(
    pairs: "str | Path | EvaluationSet",
    vectors: str = VECTORS,
    spacy: str | None = None,
    *,
    data_dir: str | Path | None = None,
    domain: str = DOMAIN,
    seed: int = 13,
    resamples: int = 1_000,
    min_share: float = MIN_SHARE,
    command: str | None = None,
) -> Findings:
    """Correlate the features of §5 with people's scores.

    Args:
        pairs: A file of scored pairs, the name of an evaluation set, or loaded pairs.
        vectors: Word vectors; see `firth.relatedness.features.vectors.open_word_vectors`.
        spacy: spaCy pipeline; None takes the English one that is installed.
        data_dir: Folder of evaluation sets, for a name.
        domain: Column of the file that names a pair's domain.
        seed: Of the resampling.
        resamples: Bootstrap resamples of each interval.
        min_share: Parts of speech in no more than this share of the pairs are not shown.
        command: The command line, for the record.

    Raises:
        InputError: Pairs, vectors or pipeline cannot be used.
        MissingExtraError: spaCy, or what the vectors need, is not installed.
        MissingStageError: A run lacks the vectors.

    Example:
        >>> found = measure_features("pairs.csv")
        >>> found.find("NOUN").figure.n <= len(found.data.rows)
        True
    """
    data = load_pairs(pairs, data_dir, domain) if isinstance(pairs, str | Path) else pairs
    check_scores(data)
    words = open_word_vectors(vectors)
    pipeline = open_pipeline(spacy)
    sentences: Mapping[str, Parsed] = parse(pipeline, texts_of(data))
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

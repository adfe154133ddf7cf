"""Baselines of the papers by name, and the stages of those that learn from a run's corpus.

`firth.model.open_scorer` opens `baseline:NAME[=SOURCE][+POOL][@RUN]`, such as `baseline:glove+max`,
`baseline:bert=FOLDER+cls` or `baseline:cbos@RUN`.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from firth.corpus.corpus import Corpus
from firth.encoders.folder import PretrainedFiles
from firth.reproduce.averaged import WordBag, averaged, glove, sentences_of, stemmer_name
from firth.reproduce.settings import ReproduceSettings, VectorSettings
from firth.run.console import Progress, progress
from firth.run.errors import InputError, require
from firth.run.files import fingerprint_value
from firth.run.run import Run
from firth.run.settings import Section, derive_seed
from firth.run.stage import SCRATCH, Outcome, Stage
from firth.text.types import CosineScorer, PairScorer

Fill = Callable[[Run, str, Any, Path], Mapping[str, Any]]
"""Fills a workspace from run, name and settings, and returns the summary of the stage."""
PREFIX = "baseline:"
HUB = {"bert": "bert-base-uncased", "roberta": "roberta-base"}
_NAME = re.compile(r"(?P<name>[a-z-]+)(?:=(?P<source>[^+]+))?(?:\+(?P<pool>[a-z-]+))?")


# --- Opening -----------------------------------------------------------------------------------


def open_baseline(name: str, run: Run | None) -> PairScorer | None:
    """Open a baseline `NAME[=SOURCE][+POOL]`, or one that a run trained; None for an unknown name.

    Raises:
        InputError: A source, pool or run is missing, or is not taken.
        MissingStageError: The run did not train the baseline.
        MissingExtraError: A library is not installed.
    """
    parts = _NAME.fullmatch(name)
    if parts is None or parts["name"] not in BASELINES:
        return None
    known, title = BASELINES[parts["name"]], f"{PREFIX}{name}"
    source, pool = parts["source"] or "", parts["pool"] or ""
    if pool and pool not in known.pools:
        takes = ", ".join(f"+{each}" for each in known.pools) or "no option"
        raise InputError(f"{title}: no option +{pool}. It takes {takes}")
    if source and parts["name"] not in HUB:
        raise InputError(f"{title}: write {PREFIX}{parts['name']} without a source")
    if known.open is not None:
        return CosineScorer(title, known.open(parts["name"], source, pool or "mean"))
    if run is None:
        raise InputError(
            f"{title}: it learns from a corpus. Name the run that trained it: {title}@RUN"
        )
    return WordBag.load(run.folder(stage_of(parts["name"]))).scorer()


def _glove(name: str, source: str, pool: str) -> Any:
    return averaged(*glove(), pool)


def _masked(name: str, source: str, pool: str) -> Any:
    from firth.encoders.transformer import TransformerEncoder

    place = PretrainedFiles.find(source or HUB[name])
    if pool != "max":
        pooling: Any = pool
        return TransformerEncoder(place, pooling).encode
    from sentence_transformers.sentence_transformer.modules import Pooling

    encoder = TransformerEncoder(place, "cls")
    encoder.model[1] = Pooling(encoder.dimensions, "max")
    return encoder.encode


# --- Training ----------------------------------------------------------------------------------


def stage_of(name: str) -> Stage:
    """Return the stage that trains a baseline."""
    return Stage(f"baselines/{name}", 2, "reproduce", f"firth reproduce baseline {name}")


def build_baseline(
    run: Run, name: str, settings: Section | None = None, stage: Stage | None = None
) -> Outcome:
    """Train a baseline on a run's corpus, or reuse it where nothing has changed.

    Settings are by default those of the run, in `reproduce`. Another stage keeps a variant.

    Raises:
        InputError: There is no such baseline, or the corpus is too small.
        MissingStageError: The run has no corpus.
        MissingExtraError: A library is not installed.
    """
    known = BASELINES.get(name)
    if known is None or known.fill is None:
        trained = ", ".join(each for each, one in BASELINES.items() if one.trained)
        raise InputError(f"{name}: no baseline that is trained. Expected one of {trained}")
    chosen = settings or run.wing("reproduce", ReproduceSettings).of(name)
    print_of_settings = fingerprint_value(chosen.model_dump(mode="json"))
    inputs = {"corpus": Corpus.open(run).digest, "reproduce": print_of_settings}
    work = known.fill
    return run.build(
        stage or stage_of(name),
        lambda seen, workspace: work(seen, name, chosen, workspace),
        settings=["seed"],
        inputs=inputs,
    )


def _fill_vectors(
    run: Run, name: str, settings: VectorSettings, workspace: Path
) -> Mapping[str, Any]:
    """Learn skip-gram or CBOW by gensim, with its usual rates and one thread."""
    models = require("gensim.models", "reproduce", f"The baseline {name}")
    sentences = sentences_of(run, settings, workspace / SCRATCH)
    model = models.Word2Vec(
        sg=int(name == "skip-gram"),
        vector_size=settings.dimensions,
        window=settings.window,
        negative=settings.negatives,
        min_count=1,
        workers=1,
        seed=derive_seed(run.settings.seed, "baseline", name) % 2**32,
    )
    counts = zip(sentences.vocabulary, sentences.counts.tolist(), strict=True)
    model.build_vocab_from_freq(dict(counts))
    bar: Progress[int] = progress(settings.epochs, f"Baseline {name}")

    class Again:
        """Sentences that gensim reads once in each epoch."""

        def __iter__(self) -> Any:
            yield from sentences.texts()
            bar.advance()

    with bar:
        model.train(
            Again(),
            total_examples=len(sentences),
            total_words=len(sentences.pieces),
            epochs=settings.epochs,
        )
    vectors = np.stack([model.wv[word] for word in sentences.vocabulary])
    title = f"{name} ({settings.dimensions}-d)"
    stemmer = stemmer_name(run, settings)
    WordBag(title, sentences.vocabulary, vectors, stemmer).save(workspace)
    return sentences.summary


def _fill_neighbors(run: Run, name: str, settings: Any, workspace: Path) -> Mapping[str, Any]:
    require("torch", "reproduce", f"The baseline {name}")
    from firth.reproduce.neighbors import fill

    return fill(run, name, settings, workspace)


@dataclass(frozen=True)
class Baseline:
    """An entry of the registry: it is either opened as it is, or learns from a run's corpus.

    `open` returns a function from texts to vectors, by name, source and one of the pools; `fill`
    trains it.
    """

    summary: str
    open: Callable[[str, str, str], Any] | None = None
    pools: tuple[str, ...] = ()
    fill: Fill | None = None

    @property
    def trained(self) -> bool:
        """Whether it learns from a run's corpus."""
        return self.fill is not None


_POOLS = ("mean", "max", "first-last", "cls")
BASELINES: Mapping[str, Baseline] = {
    "glove": Baseline("averaged GloVe vectors (6B, 50-d)", _glove, ("mean", "max")),
    "bert": Baseline("pooled BERT, not tuned; =FOLDER names another", _masked, _POOLS),
    "roberta": Baseline("pooled RoBERTa, not tuned; =FOLDER names another", _masked, _POOLS),
    "skip-gram": Baseline("mean of skip-gram word vectors", fill=_fill_vectors),
    "cbow": Baseline("mean of CBOW word vectors", fill=_fill_vectors),
    "siamese-cbow": Baseline("Siamese CBOW (Kenter et al. 2016)", fill=_fill_neighbors),
    "cbos": Baseline("CBOS (Yuan & Zhang)", fill=_fill_neighbors),
}
"""Baselines by name; the section of settings of a trained one is `reproduce.NAME`, with `_`."""

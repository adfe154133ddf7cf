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
from firth.corpus.numbered import WordSentences, read_sentences
from firth.encoders.folder import PretrainedFiles
from firth.reproduce.averaged import WordBag, averaged, glove
from firth.reproduce.settings import NeighborSettings, ReproduceSettings, VectorSettings
from firth.run.console import Progress
from firth.run.errors import InputError, require
from firth.run.files import fingerprint_value
from firth.run.run import Run
from firth.run.settings import derive_seed
from firth.run.stage import SCRATCH, Outcome, Stage
from firth.text.types import CosineScorer, PairScorer, Singles
from firth.text.words import stemmer_of

Learn = Callable[[WordSentences, str, Any, int, Path], tuple[Singles, list[float]]]
"""Learns word vectors from sentences, by name, settings, seed and a folder for checkpoints; returns
them, (V, d), and the mean loss of each epoch, where it is known."""
PREFIX = "baseline:"
HUB = {"bert": "bert-base-uncased", "roberta": "roberta-base"}
_NAME = re.compile(r"(?P<name>[a-z-]+)(?:=(?P<source>[^+]+))?(?:\+(?P<pool>[a-z-]+))?")


# --- Opening -----------------------------------------------------------------------------------


def open_baseline(name: str, run: Run | None) -> PairScorer | None:
    """Open a baseline `NAME[=SOURCE][+POOL]`, or one of a run; return None for an unknown name."""
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
    run: Run, name: str, settings: VectorSettings | None = None, stage: Stage | None = None
) -> Outcome:
    """Train a baseline on a run's corpus, or reuse it where nothing has changed.

    Settings are by default those of the run, in `reproduce`. Another stage keeps a variant. The
    words are those of the corpus, or their stems where `stemmed` says so.
    """
    known = BASELINES.get(name)
    if known is None or known.learn is None:
        trained = ", ".join(each for each, one in BASELINES.items() if one.learn)
        raise InputError(f"{name}: no baseline that is trained. Expected one of {trained}")
    chosen: Any = settings or run.wing("reproduce", ReproduceSettings).of(name)
    learn, title = known.learn, f"{name} ({chosen.dimensions}-d)"
    if isinstance(chosen, NeighborSettings):
        title = f"{name} (k={chosen.window}, m={chosen.negatives}, {chosen.dimensions}-d)"

    def fill(seen: Run, workspace: Path) -> Mapping[str, Any]:
        stemmer = stemmer_of(Corpus.open(seen).language) if chosen.stemmed else "none"
        sentences = read_sentences(seen, chosen, workspace / SCRATCH, stemmer)
        seed = derive_seed(seen.settings.seed, "baseline", name)
        vectors, losses = learn(sentences, name, chosen, seed, workspace / SCRATCH)
        WordBag(title, sentences.vocabulary, vectors, stemmer).save(workspace)
        shown = {"losses": [round(loss, 6) for loss in losses]} if losses else {}
        return sentences.summary | shown

    print_of_settings = fingerprint_value(chosen.model_dump(mode="json"))
    inputs = {"corpus": Corpus.open(run).digest, "reproduce": print_of_settings}
    return run.build(stage or stage_of(name), fill, settings=["seed"], inputs=inputs)


def _learn_vectors(
    sentences: WordSentences, name: str, settings: VectorSettings, seed: int, scratch: Path
) -> tuple[Singles, list[float]]:
    """Learn skip-gram or CBOW by gensim, with its usual rates and one thread."""
    models = require("gensim.models", "reproduce", f"The baseline {name}")
    model = models.Word2Vec(
        sg=int(name == "skip-gram"),
        vector_size=settings.dimensions,
        window=settings.window,
        negative=settings.negatives,
        min_count=1,
        workers=1,
        seed=seed % 2**32,
    )
    counts = zip(sentences.vocabulary, sentences.counts.tolist(), strict=True)
    model.build_vocab_from_freq(dict(counts))
    bar = Progress(settings.epochs, f"Baseline {name}")

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
    return np.stack([model.wv[word] for word in sentences.vocabulary]), []


def _learn_from_neighbors(
    sentences: WordSentences, name: str, settings: NeighborSettings, seed: int, scratch: Path
) -> tuple[Singles, list[float]]:
    require("torch", "reproduce", f"The baseline {name}")
    from firth.reproduce.neighbors import learn

    return learn(sentences, name, settings, seed, scratch)


@dataclass(frozen=True)
class Baseline:
    """An entry of the registry: it is either opened as it is, or learns from a run's corpus.

    `open` returns a function from texts to vectors, by name, source and one of the pools.
    """

    summary: str
    open: Callable[[str, str, str], Any] | None = None
    pools: tuple[str, ...] = ()
    learn: Learn | None = None


_POOLS = ("mean", "max", "first-last", "cls")
BASELINES: Mapping[str, Baseline] = {
    "glove": Baseline("averaged GloVe vectors (6B, 50-d)", _glove, ("mean", "max")),
    "bert": Baseline("pooled BERT, not tuned; =FOLDER names another", _masked, _POOLS),
    "roberta": Baseline("pooled RoBERTa, not tuned; =FOLDER names another", _masked, _POOLS),
    "skip-gram": Baseline("mean of skip-gram word vectors", learn=_learn_vectors),
    "cbow": Baseline("mean of CBOW word vectors", learn=_learn_vectors),
    "siamese-cbow": Baseline("Siamese CBOW (Kenter et al. 2016)", learn=_learn_from_neighbors),
    "cbos": Baseline("CBOS (Yuan & Zhang)", learn=_learn_from_neighbors),
}
"""Baselines by name; the section of settings of a trained one is `reproduce.NAME`, with `_`."""

"""Baselines of the papers by name, and the stages of those that learn from a run's corpus.

`firth.model.open_scorer` opens `baseline:NAME[=SOURCE][+POOL][@RUN]`, such as `baseline:glove+max`,
`baseline:bert=FOLDER+cls` or `baseline:cbos@RUN`.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from firth.corpus.corpus import Corpus
from firth.corpus.numbered import WordSentences, read_sentences
from firth.encoders.folder import PretrainedFiles
from firth.reproduce.averaged import WordBag, averaged, glove, read_vectors
from firth.reproduce.settings import Recipe, ReproduceSettings
from firth.run.console import Progress
from firth.run.errors import InputError, require
from firth.run.files import fingerprint_value
from firth.run.run import Run
from firth.run.settings import WordSettings, derive_seed
from firth.run.stage import SCRATCH, Outcome, Stage
from firth.text.types import CosineScorer, PairScorer, Singles
from firth.text.words import stemmer_of

Learn = Callable[[WordSentences, str, Recipe, int, Path], tuple[Singles, list[float]]]
"""Learns word vectors from sentences, by name, recipe, seed and a folder for checkpoints; returns
them, (V, d), and the mean loss of each epoch, where it is known."""
PREFIX = "baseline:"
HUB = {"bert": "bert-base-uncased", "roberta": "roberta-base"}
_NAME = re.compile(r"(?P<name>[a-z0-9-]+)(?:=(?P<source>[^+]+))?(?:\+(?P<pool>[a-z-]+))?")


# --- Opening -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Named:
    """What a name says, `NAME[=SOURCE][+POOL][@RUN]`; "" and None are not said.

    The title is the name without the run.
    """

    title: str
    name: str
    source: str
    pool: str
    given: Run | None

    @property
    def run(self) -> Run:
        """The run; raise `InputError` where none is named."""
        if self.given is None:
            raise InputError(
                f"{self.title}: it learns from a corpus. Name its run: {self.title}@RUN"
            )
        return self.given


def open_baseline(name: str, run: Run | None) -> PairScorer | None:
    """Open a baseline `NAME[=SOURCE][+POOL]`, or one of a run; return None for an unknown name."""
    parts = _NAME.fullmatch(name)
    if parts is None or parts["name"] not in BASELINES:
        return None
    baseline = BASELINES[parts["name"]]
    named = Named(PREFIX + name, parts["name"], parts["source"] or "", parts["pool"] or "", run)
    if named.pool and named.pool not in baseline.pools:
        takes = ", ".join(f"+{pool}" for pool in baseline.pools) or "no option"
        raise InputError(f"{named.title}: no option +{named.pool}. It takes {takes}")
    if named.source and not baseline.has_source:
        raise InputError(f"{named.title}: write {PREFIX}{named.name} without a source")
    return baseline.open(named)


def _vectors(named: Named) -> PairScorer:
    if not named.source:
        raise InputError(f"{named.title}: it reads a file: {PREFIX}vectors=FILE")
    return CosineScorer(named.title, averaged(*read_vectors(named.source), named.pool or "mean"))


def _masked(named: Named) -> PairScorer:
    from firth.encoders.transformer import TransformerEncoder

    place = PretrainedFiles.find(named.source or HUB[named.name])
    if named.pool != "max":
        pooling: Any = named.pool or "mean"
        return CosineScorer(named.title, TransformerEncoder.open(place, pooling).encode)
    from sentence_transformers.sentence_transformer.modules import Pooling

    encoder = TransformerEncoder.open(place, "cls")
    encoder.model[1] = Pooling(encoder.dimensions, "max")
    return CosineScorer(named.title, encoder.encode)


def _trained(named: Named) -> PairScorer:
    return WordBag.load(named.run.folder(stage_of(named.name))).scorer()


# --- Training ----------------------------------------------------------------------------------


def stage_of(name: str) -> Stage:
    """Return the stage that trains a baseline."""
    return Stage(f"baselines/{name}", 2, "reproduce", f"firth reproduce baseline {name}")


def build_baseline(
    run: Run, name: str, recipe: Recipe | None = None, stage: Stage | None = None
) -> Outcome:
    """Train a baseline on a run's corpus, or reuse it where nothing has changed.

    The recipe is by default that of its paper, with the run's `reproduce.baselines`. Another stage
    keeps a variant. The words are those of the corpus, or their stems where `stemmed` says so.
    """
    baseline = BASELINES.get(name)
    if baseline is None or baseline.learn is None:
        trained = ", ".join(name for name, baseline in BASELINES.items() if baseline.learn)
        raise InputError(f"{name}: no baseline that is trained. Expected one of {trained}")
    chosen = recipe or run.wing("reproduce", ReproduceSettings).baselines.recipe(name)
    learn, title = baseline.learn, f"{name} ({chosen.dimensions}-d)"
    if chosen.batch:
        title = f"{name} (k={chosen.window}, m={chosen.negatives}, {chosen.dimensions}-d)"

    def fill(seen: Run, workspace: Path) -> Mapping[str, Any]:
        stemmer = stemmer_of(Corpus.open(seen).language) if chosen.stemmed else "none"
        rarity = WordSettings(min_count=chosen.min_count, vocabulary=chosen.vocabulary)
        sentences = read_sentences(seen, rarity, workspace / SCRATCH, stemmer)
        seed = derive_seed(seen.settings.seed, "baseline", name)
        vectors, losses = learn(sentences, name, chosen, seed, workspace / SCRATCH)
        WordBag(title, sentences.vocabulary, vectors, stemmer).save(workspace)
        of_epochs = {"losses": [round(loss, 6) for loss in losses]} if losses else {}
        return sentences.summary | of_epochs

    inputs = {"corpus": Corpus.open(run).digest, "reproduce": fingerprint_value(asdict(chosen))}
    return run.build(stage or stage_of(name), fill, settings=["seed"], inputs=inputs)


def _learn_vectors(
    sentences: WordSentences, name: str, recipe: Recipe, seed: int, scratch: Path
) -> tuple[Singles, list[float]]:
    """Learn skip-gram or CBOW by gensim, with its usual rates and one thread."""
    models = require("gensim.models", "reproduce", f"The baseline {name}")
    model = models.Word2Vec(
        sg=int(name == "skip-gram"),
        vector_size=recipe.dimensions,
        window=recipe.window,
        negative=recipe.negatives,
        min_count=1,
        workers=1,
        seed=seed % 2**32,
    )
    counts = zip(sentences.vocabulary, sentences.counts.tolist(), strict=True)
    model.build_vocab_from_freq(dict(counts))
    bar = Progress(recipe.epochs, f"Baseline {name}")

    class Again:
        """Sentences that gensim reads once in each epoch."""

        def __iter__(self) -> Any:
            names = np.array(sentences.vocabulary, dtype=object)
            for start, end in pairwise(sentences.bounds):
                yield names[sentences.pieces[start:end]].tolist()
            bar.advance()

    with bar:
        model.train(
            Again(),
            total_examples=len(sentences),
            total_words=len(sentences.pieces),
            epochs=recipe.epochs,
        )
    return np.stack([model.wv[word] for word in sentences.vocabulary]), []


def _learn_from_neighbors(
    sentences: WordSentences, name: str, recipe: Recipe, seed: int, scratch: Path
) -> tuple[Singles, list[float]]:
    require("torch", "reproduce", f"The baseline {name}")
    from firth.reproduce.neighbors import learn

    return learn(sentences, name, recipe, seed, scratch)


@dataclass(frozen=True, kw_only=True)
class Baseline:
    """An entry of the registry.

    Attributes:
        open: Returns the scorer that a name means.
        learn: Learns word vectors from a run's corpus; None where nothing is trained.
        has_source: Whether a name may say which model it reads.
    """

    summary: str
    open: Callable[[Named], PairScorer]
    pools: tuple[str, ...] = ()
    learn: Learn | None = None
    has_source: bool = False


def _bag(summary: str, learn: Learn) -> Baseline:
    return Baseline(summary=summary, open=_trained, learn=learn)


BASELINES: Mapping[str, Baseline] = {
    "glove": Baseline(
        summary="averaged GloVe vectors (6B, 50-d)",
        open=lambda named: CosineScorer(named.title, averaged(*glove(), named.pool or "mean")),
        pools=("mean", "max"),
    ),
    "vectors": Baseline(
        summary="averaged vectors of =FILE (word2vec, GloVe, fastText as text)",
        open=_vectors,
        pools=("mean", "max"),
        has_source=True,
    ),
    **{
        title.lower(): Baseline(
            summary=f"pooled {title}, not tuned; =FOLDER names another",
            open=_masked,
            pools=("mean", "max", "cls"),
            has_source=True,
        )
        for title in ("BERT", "RoBERTa")
    },
    "skip-gram": _bag("mean of skip-gram word vectors", _learn_vectors),
    "cbow": _bag("mean of CBOW word vectors", _learn_vectors),
    "siamese-cbow": _bag("Siamese CBOW (Kenter et al. 2016)", _learn_from_neighbors),
    "cbos": _bag("CBOS (Yuan & Zhang)", _learn_from_neighbors),
}
"""Baselines by name."""

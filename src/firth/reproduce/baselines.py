"""Baselines of the papers by name, and the stages of those that learn from a run's corpus.

`firth.model.open_scorer` opens `baseline:NAME[=SOURCE][+POOL][@RUN]`, such as `baseline:glove+sif`,
`baseline:bert=FOLDER+cls` or `baseline:cbos@RUN`. Options that `@RUN` adds to `glove` and
`prompt-eol` are counts, or means and deviations, of a run's corpus.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from firth.corpus.corpus import Corpus
from firth.encoders.folder import PretrainedFiles
from firth.encoders.learning import learn
from firth.encoders.pretrained import sample_sentences
from firth.reproduce import neighbors
from firth.reproduce.averaged import (
    POOLS,
    WordBag,
    WordTfIdf,
    averaged,
    glove,
    word_counts,
    wordllama,
)
from firth.reproduce.settings import (
    BagSettings,
    ReproduceSettings,
    TunedSettings,
    VectorSettings,
    printed,
)
from firth.run.console import Progress, progress
from firth.run.errors import InputError, require
from firth.run.run import Run
from firth.run.seeds import derive_seed
from firth.run.settings import EncoderSettings, Section
from firth.run.stage import SCRATCH, Outcome, Stage
from firth.text.arrays import Floats, unit
from firth.text.pairs import CosineScorer, PairScorer
from firth.text.rarity import fit_idf

Fill = Callable[[Run, str, Any, Path], Mapping[str, Any]]
"""Fills a workspace from run, name and settings, and returns the summary of the stage."""
PREFIX = "baseline:"
HUB = {"bert": "bert-base-uncased", "roberta": "roberta-base"}
_TOKEN_POOLS = ("mean", "max", "first-last", "cls")
_PROMPTS = (
    'This sentence : "{}" means in one word:"',
    'The essence of the sentence "{}" is captured by the word "',
)
_REFERENCES = 1_000
"""Sentences of a run that give means and deviations."""
_NAME = re.compile(r"(?P<name>[a-z-]+)(?:=(?P<source>[^+]+))?(?:\+(?P<pool>[a-z-]+))?")


# --- Opening -----------------------------------------------------------------------------------


def open_baseline(name: str, run: Run | None) -> PairScorer | None:
    """Open a baseline of the papers; None where the name is unknown.

    Args:
        name: `NAME[=SOURCE][+POOL]`, without `baseline:`; see `BASELINES`.
        run: The run that trained it, or whose corpus it reads.

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
    if bool(source) > bool(known.source) or (known.source.isupper() and not source):
        form = f"={known.source}" if known.source else " without a source"
        raise InputError(f"{title}: write {PREFIX}{parts['name']}{form}")
    if known.trained and run is None:
        raise InputError(
            f"{title}: it learns from a corpus. Name the run that trained it: {title}@RUN"
        )
    opened = known.open(parts["name"], source, pool, run)
    if isinstance(opened, CosineScorer) and not known.trained:
        opened.name = title if run is None else f"{title}@{run.path}"
    return opened


def _glove(name: str, source: str, pool: str, run: Run | None) -> PairScorer:
    look_up, dimensions = glove()
    title = f"{PREFIX}{name}+{pool or 'mean'}"
    return averaged(title, look_up, dimensions, pool or "mean", run)


def _masked(name: str, source: str, pool: str, run: Run | None) -> PairScorer:
    from firth.encoders.transformer import TransformerEncoder

    place = PretrainedFiles.find(source or HUB[name])
    if pool != "max":
        return CosineScorer(name, TransformerEncoder(place, _token_pool(pool)).encode)
    from sentence_transformers.sentence_transformer.modules import Pooling

    encoder = TransformerEncoder(place, "cls")
    encoder.model[1] = Pooling(encoder.dimensions, "max")
    return CosineScorer(name, encoder.encode)


def _token_pool(pool: str) -> Any:
    return pool or "mean"


def _prompt_eol(name: str, source: str, pool: str, run: Run | None) -> PairScorer:
    """Return PromptEOL (Jiang et al. 2023) with two prompts.

    The states of each prompt have unit length, so the cosine is the mean over the prompts. With a
    run, dimensions are first scaled by mean and deviation over its sentences, so that a few large
    dimensions do not decide alone.
    """
    from firth.encoders.language_model import LanguageModelEncoder

    place = PretrainedFiles.find(source)
    states = [LanguageModelEncoder(place, EncoderSettings(prompt=prompt)) for prompt in _PROMPTS]
    for other in states[1:]:  # The weights are kept once.
        other.model = states[0].model
    scales: list[tuple[Any, Any]] = [(0.0, 1.0)] * len(states)
    if run is not None:
        references = sample_sentences(run, _REFERENCES)
        read = [each.raw(references).astype(np.float64) for each in states]
        scales = [(r.mean(axis=0), np.maximum(r.std(axis=0), 1e-9)) for r in read]

    def encode(texts: Sequence[str]) -> Floats:
        scaled = [
            unit((each.raw(texts).astype(np.float64) - mean) / deviation)
            for each, (mean, deviation) in zip(states, scales, strict=True)
        ]
        return np.concatenate(scaled, axis=1)

    return CosineScorer(name, encode)


def _wordllama(name: str, source: str, pool: str, run: Run | None) -> PairScorer:
    return wordllama(source)


def _tfidf_words(name: str, source: str, pool: str, run: Run | None) -> PairScorer:
    return WordTfIdf(word_counts(run))


def _trained(name: str, source: str, pool: str, run: Run | None) -> PairScorer:
    assert run is not None
    return load_baseline(name, run.folder(stage_of(name)))


# --- Training ----------------------------------------------------------------------------------


def stage_of(name: str) -> Stage:
    """Return the stage that trains a baseline."""
    return Stage(f"baselines/{name}", 1, "reproduce", f"firth reproduce baseline {name}")


def build_baseline(
    run: Run, name: str, settings: Section | None = None, stage: Stage | None = None
) -> Outcome:
    """Train a baseline on a run's corpus, or reuse it where nothing has changed.

    Args:
        run: The run.
        name: One of the trained baselines of `BASELINES`.
        settings: By default those of the run, in `reproduce`.
        stage: By default `baselines/NAME`; another one keeps a variant.

    Raises:
        InputError: There is no such baseline, no base is named, or the corpus is too small.
        MissingStageError: The run has no corpus.
        MissingExtraError: A library is not installed.
    """
    known = BASELINES.get(name)
    if known is None or known.fill is None:
        trained = ", ".join(each for each, one in BASELINES.items() if one.trained)
        raise InputError(f"{name}: no baseline that is trained. Expected one of {trained}")
    chosen = settings or run.wing("reproduce", ReproduceSettings).of(name)
    inputs = {"corpus": Corpus.open(run).digest, "reproduce": printed(chosen)}
    if isinstance(chosen, TunedSettings):
        if chosen.base is None:
            raise InputError(
                f"baseline {name}: no encoder to start from. Name a folder or hub name: "
                f"--set reproduce.{name}.base=ENCODER"
            )
        inputs["base"] = PretrainedFiles.find(chosen.base).fingerprint
    work = known.fill
    return run.build(
        stage or stage_of(name),
        lambda seen, workspace: work(seen, name, chosen, workspace),
        settings=["seed", "corpus.language"],
        inputs=inputs,
    )


def load_baseline(name: str, folder: Path) -> PairScorer:
    """Open a folder that holds a trained baseline."""
    if name == "skip-thought":
        from firth.reproduce.neural import load_skip_thought

        return load_skip_thought(folder)
    if name in ("simcse", "tsdae", "ct"):
        from firth.encoders.transformer import TransformerEncoder

        encoder = TransformerEncoder(PretrainedFiles.find(str(folder)))
        return CosineScorer(f"{PREFIX}{name}", encoder.encode)
    return WordBag.load(folder).scorer()


def _fill_vectors(
    run: Run, name: str, settings: VectorSettings, workspace: Path
) -> Mapping[str, Any]:
    """Learn skip-gram or CBOW by gensim, with its usual rates and one thread."""
    models = require("gensim.models", "reproduce", f"The baseline {name}")
    sentences = neighbors.sentences_of(run, settings, workspace / SCRATCH)
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
    stemmer = neighbors.stemmer_name(run, settings.stemmed)
    WordBag(title, sentences.vocabulary, vectors, stemmer).save(workspace)
    return sentences.summary


def _fill_bag(run: Run, name: str, settings: BagSettings, workspace: Path) -> Mapping[str, Any]:
    """Learn the contrastive bag of words, each word by its learned weight."""
    scratch, stemmer = workspace / SCRATCH, neighbors.stemmer_name(run, True)
    sentences = neighbors.sentences_of(run, settings, scratch, stemmed=True)
    idf = fit_idf((text for batch in Corpus.open(run).batches() for text in batch), stemmer)
    weights = np.array([idf.weight(stem) for stem in sentences.vocabulary], np.float32)
    seed = derive_seed(run.settings.seed, "baseline", name)
    vectors, summary = learn(sentences, weights, settings, seed, scratch, f"Baseline {name}")
    title = f"contrastive bag ({settings.dimensions}-d)"
    WordBag(title, sentences.vocabulary, vectors, stemmer).save(workspace)
    return {**sentences.summary, **summary}


def _fill_neural(run: Run, name: str, settings: Any, workspace: Path) -> Mapping[str, Any]:
    require("sentence_transformers", "torch", f"The baseline {name}")
    from firth.reproduce.neural import fill_skip_thought, fill_tuned

    fill = fill_skip_thought if name == "skip-thought" else fill_tuned
    return fill(run, name, settings, workspace)


@dataclass(frozen=True)
class Baseline:
    """An entry of the registry.

    Attributes:
        summary: A line that describes it.
        open: Opens it from name, source, pool and run.
        source: The name of what may follow `=`; upper case where it must.
        pools: The options of which one may follow `+`.
        fill: Trains it; None where nothing is trained.
    """

    summary: str
    open: Callable[[str, str, str, Run | None], PairScorer] = _trained
    source: str = ""
    pools: tuple[str, ...] = ()
    fill: Fill | None = None

    @property
    def trained(self) -> bool:
        """Whether it learns from a run's corpus."""
        return self.fill is not None


BASELINES: Mapping[str, Baseline] = {
    "tfidf-words": Baseline("cosine of tf-idf of words, as scikit-learn computes it", _tfidf_words),
    "glove": Baseline("averaged GloVe vectors (6B, 50-d)", _glove, pools=POOLS),
    "bert": Baseline("pooled BERT, not tuned", _masked, "encoder", _TOKEN_POOLS),
    "roberta": Baseline("pooled RoBERTa, not tuned", _masked, "encoder", _TOKEN_POOLS),
    "prompt-eol": Baseline(
        "states of a causal language model that is asked for one word", _prompt_eol, "MODEL"
    ),
    "wordllama": Baseline("averaged token vectors of WordLlama", _wordllama, "folder"),
    "skip-gram": Baseline("mean of skip-gram word vectors", fill=_fill_vectors),
    "cbow": Baseline("mean of CBOW word vectors", fill=_fill_vectors),
    "siamese-cbow": Baseline("Siamese CBOW (Kenter et al. 2016)", fill=neighbors.fill),
    "cbos": Baseline("CBOS (Yuan & Zhang)", fill=neighbors.fill),
    "bag": Baseline("word vectors by contrast with a batch of sentences", fill=_fill_bag),
    "skip-thought": Baseline("a GRU that predicts the sentences around", fill=_fill_neural),
    "simcse": Baseline("an encoder tuned by SimCSE (Gao et al. 2021)", fill=_fill_neural),
    "tsdae": Baseline("an encoder tuned by TSDAE (Wang et al. 2021)", fill=_fill_neural),
    "ct": Baseline("an encoder tuned by Contrastive Tension", fill=_fill_neural),
}
"""Baselines by name; the section of settings of a trained one is `reproduce.NAME`, with `_`."""

"""Opening any encoder by name, and the pretrained encoder of a run: stage `pretrained`.

The weights of a pretrained model stay where they are. The stage keeps the fingerprints of its
files, statistics of its dimensions over sentences of the corpus, and the weights that were tuned.
"""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from firth.corpus.corpus import Corpus
from firth.encoders.encoder import Encoder, Normalized, PretrainedEncoder, StatesOfWords, WordStates
from firth.encoders.folder import ModelKind, PretrainedFiles
from firth.encoders.probe import REFUSED, probe
from firth.encoders.static import StaticEncoder
from firth.encoders.words import WORDS, BagEncoder, WordSpace
from firth.run.console import complain
from firth.run.errors import FirthError, InputError, first_line
from firth.run.files import read_arrays, read_json, remove_tree, write_arrays, write_json
from firth.run.limits import limit
from firth.run.run import Run
from firth.run.settings import EncoderSettings, derive_seed
from firth.run.stage import MANIFEST, SCRATCH, Outcome, Stage, claim
from firth.text.types import Floats
from firth.text.words import stemmer_of

if TYPE_CHECKING:
    from torch import nn

    from firth.encoders.language_model import LanguageModelEncoder

PRETRAINED = Stage("pretrained", version=1)
Normalization = Literal["none", "center", "standardize"]
NORMALIZATIONS: tuple[Normalization, ...] = ("none", "center", "standardize")
Tune = Callable[[Run, "LanguageModelEncoder", Normalized, Path], "nn.ModuleList"]
"""A function that tunes the upper layers of a language model in place and returns them. It gets a
run, the model, the same model standardized, and a folder for checkpoints."""


@dataclass(frozen=True)
class Tuning:
    """How a language model is tuned on the corpus of a run, and the settings which that reads."""

    tune: Tune
    settings: tuple[str, ...]


_RECORD, _STATISTICS, _TUNED = "encoder.json", "statistics.safetensors", "tuned.safetensors"
_TEXTS = ("The ship sailed in 1912.", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!")
"""What a model encodes when it is tried."""
_READ = ("max_tokens", "pooling", "prompt")
"""Settings with which the encoder is opened again."""


def open_encoder(
    model: str | PretrainedFiles, settings: EncoderSettings | None = None
) -> PretrainedEncoder:
    """Open an encoder of any kind: a folder, a GGUF or ONNX file, or a name on the hub."""
    settings = settings or EncoderSettings()
    place = model if isinstance(model, PretrainedFiles) else PretrainedFiles.find(model)
    if place.kind is ModelKind.STATIC:
        return StaticEncoder.open(place)
    if place.kind is ModelKind.ONNX:
        probe(place, settings)
        from firth.encoders.onnx import OnnxEncoder

        return OnnxEncoder(place, settings)
    if place.kind is ModelKind.CAUSAL_LM:
        from firth.encoders.language_model import LanguageModelEncoder

        return LanguageModelEncoder(place, settings)
    from firth.encoders.transformer import TransformerEncoder

    return TransformerEncoder(place, settings.pooling)


def try_model(model: str, settings: str, memory: str, seconds: str) -> None:
    """Open a model and encode texts with it in this process, which is then ended (`probe`)."""
    limit(int(memory), int(seconds))
    try:
        open_encoder(model, EncoderSettings.model_validate_json(settings)).raw(list(_TEXTS))
    except BaseException as error:  # noqa: BLE001
        complain(f"{type(error).__name__}: {first_line(error)}")
        sys.exit(REFUSED if isinstance(error, FirthError) else 1)


@dataclass(frozen=True, eq=False)
class RunEncoder:
    """The pretrained encoder of a run, and each dimension's mean and deviation in its corpus, (d,).

    `choices` are the normalizations to choose from: the one that is set, else `standardize` for a
    language model and all three for another encoder.
    """

    encoder: PretrainedEncoder
    mean: Floats
    deviation: Floats
    word_states: WordStates | None
    choices: tuple[Normalization, ...]

    @classmethod
    def open(cls, run: Run) -> "RunEncoder":
        """Open what the stage `pretrained` describes; its model must not have changed."""
        folder = run.folder(PRETRAINED)
        record, (arrays, _) = read_json(folder / _RECORD), read_arrays(folder / _STATISTICS)
        files = PretrainedFiles.find(record["model"])
        files.check(record["files"])
        encoder = open_encoder(files, EncoderSettings.model_validate(record["settings"]))
        if (folder / _TUNED).is_file():
            tuned: Any = encoder
            tuned.load_tuned(folder / _TUNED)
        states = None
        if encoder.token_states is not None:
            states = StatesOfWords(encoder.token_states, record["stemmer"], arrays["words"])
        choices = tuple(record["choices"])
        return cls(encoder, arrays["mean"], arrays["deviation"], states, choices)

    def normalized(self, kind: Normalization) -> Normalized:
        """Return the encoder with a normalization. States of words are centered in any case."""
        mean = np.zeros_like(self.mean) if kind == "none" else self.mean
        deviation = self.deviation if kind == "standardize" else np.ones_like(self.deviation)
        suffix = {"none": "", "center": ", centered", "standardize": ", standardized"}[kind]
        name = f"{self.encoder.name}{suffix}"
        return Normalized(self.encoder, mean, deviation, self.word_states, name)


def open_run_encoder(run: Run, normalize: Normalization | None = None) -> Encoder:
    """Open the encoder of a run: the pretrained one where it has one, else its word vectors.

    Without `normalize`, the normalization is the first of `RunEncoder.choices`.
    """
    if not run.has(PRETRAINED):
        return BagEncoder(WordSpace.load(run.folder(WORDS)))
    opened = RunEncoder.open(run)
    return opened.normalized(normalize or opened.choices[0])


def tuning_of(run: Run) -> Tuning | None:
    """Return how a language model is tuned; None where nothing that is installed does so.

    Who tunes registers in the entry-point group `firth.tuning` a function from a run to a `Tuning`
    or None.
    """
    found = (point.load()(run) for point in entry_points(group="firth.tuning"))
    return next(filter(None, found), None)


def build_pretrained(run: Run) -> Outcome | None:
    """Bring the stage up to date; where no model is set, remove an earlier one and return None.

    A causal language model is tuned, because it is no encoder before that.
    """
    settings = run.settings.encoder
    if settings.model is None:
        if run.has(PRETRAINED):
            with run.locked():
                claim(run.path / PRETRAINED.name)
                remove_tree(run.path / PRETRAINED.name, last=MANIFEST)
        return None
    files = PretrainedFiles.find(settings.model)
    tuning = tuning_of(run) if files.kind is ModelKind.CAUSAL_LM else None

    def fill(handed: Run, workspace: Path) -> Mapping[str, Any]:
        return _fill(handed, workspace, files, tuning.tune if tuning else None)

    read = [f"encoder.{name}" for name in (*_READ, "normalization_sentences", "normalize")]
    inputs = {"corpus": Corpus.open(run).digest, "model": files.fingerprint}
    return run.build(
        PRETRAINED,
        fill,
        settings=["seed", *read, *(tuning.settings if tuning else ())],
        inputs=inputs | ({"tuned": "yes"} if tuning else {}),
    )


def _fill(
    run: Run, workspace: Path, files: PretrainedFiles, tune: Tune | None
) -> Mapping[str, Any]:
    given = run.settings.encoder
    settings = EncoderSettings.model_validate({name: getattr(given, name) for name in _READ})
    encoder = open_encoder(files, settings)
    texts = sample_sentences(run, given.normalization_sentences)
    vectors = encoder.raw(texts).astype(np.float64)
    mean, deviation = vectors.mean(axis=0), np.maximum(vectors.std(axis=0), 1e-6)
    arrays = {"mean": mean, "deviation": deviation}
    stemmer = stemmer_of(Corpus.open(run).language)
    if encoder.token_states is not None:
        arrays["words"] = StatesOfWords.fit(encoder.token_states, stemmer, texts).mean
    if tune is not None:
        from firth.encoders.language_model import LanguageModelEncoder, save_tuned

        assert isinstance(encoder, LanguageModelEncoder)
        standardized = Normalized(encoder, mean, deviation)
        layers = tune(run, encoder, standardized, workspace / SCRATCH)
        save_tuned(workspace / _TUNED, layers)
    write_arrays(workspace / _STATISTICS, arrays)
    usual = ("standardize",) if files.kind is ModelKind.CAUSAL_LM else NORMALIZATIONS
    record = {
        "model": files.model,
        "files": dict(files.files),
        "settings": {name: getattr(settings, name) for name in _READ},
        "stemmer": stemmer,
        "choices": [given.normalize] if given.normalize else list(usual),
    }
    write_json(workspace / _RECORD, record)
    return {"encoder": encoder.name, "kind": str(files.kind), "sentences": len(texts)}


def sample_sentences(run: Run, count: int) -> list[str]:
    """Return a random sample of the corpus's sentences of usual length, in reading order."""
    corpus = Corpus.open(run)
    usual = corpus.usual_sentences()
    if len(usual) < 2:
        raise InputError(
            f"{run.path}: its corpus has {len(usual)} sentences of usual length; an encoder is "
            "normalized by at least 2. Add documents"
        )
    # The purpose of the seed keeps earlier figures comparable.
    rng = np.random.default_rng(derive_seed(run.settings.seed, "prompt-eol"))
    chosen = rng.choice(len(usual), min(count, len(usual)), replace=False)
    return list(corpus.texts(usual[np.sort(chosen)]))

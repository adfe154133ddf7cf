"""The pretrained encoder of a run: stage `pretrained`.

The weights of a pretrained model stay where they are. The stage keeps the fingerprints of its
files, or that of an encoder without files, and statistics of its dimensions over sentences of the
corpus.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from firth.corpus.corpus import Corpus
from firth.encoders.encoder import (
    Encoder,
    Normalization,
    Normalized,
    PretrainedEncoder,
    StatesOfWords,
    UnitEncoder,
    WordStates,
)
from firth.encoders.kinds import EncoderKind, FoundEncoder, find_encoder
from firth.encoders.words import WORDS, BagEncoder, WordSpace
from firth.run.errors import InputError
from firth.run.files import (
    fingerprint_value,
    read_arrays,
    read_json,
    remove_tree,
    write_arrays,
    write_json,
)
from firth.run.run import Run
from firth.run.settings import EncoderSettings, derive_seed, pretrained_name
from firth.run.stage import MANIFEST, Outcome, Stage, claim
from firth.text.types import Floats
from firth.text.words import stemmer_of

PRETRAINED = Stage("pretrained", version=2)
_RECORD, _STATISTICS = "encoder.json", "statistics.safetensors"
_READ = ("max_tokens", "pooling")
"""Settings with which the encoder is opened again."""


def with_encoder(run: Run, encoder: Encoder) -> Run:
    """Return a run with an object as its encoder; `encoder.model` names it."""
    found = _known(run, find_encoder(encoder))
    changed = run.changed({"encoder": {"model": found.name}})
    changed.encoder = found
    return changed


def opened_with_encoder(run: Run, encoder: str | Path | Encoder) -> Run:
    """Return a run that was built, with its encoder: the same object, or the same files elsewhere.

    Raises:
        InputError: The run has no encoder, or another one.
    """
    if not run.has(PRETRAINED):
        raise InputError(f"{run.path}: was built without an encoder; expected no encoder here")
    found, record = _known(run, find_encoder(encoder)), _record(run)
    known = record.get("fingerprint") or fingerprint_value(record["files"])
    if found.fingerprint != known:
        raise InputError(
            f"{run.path}: was built with another encoder than {found.name}: with {record['model']}."
            " Pass that one, or build the run again: firth.build(DOCUMENTS, RUN, encoder=…)"
        )
    changed = run.changed({})
    changed.encoder = found
    return changed


def encoder_of(run: Run, name: str | None) -> FoundEncoder:
    """Find the pretrained encoder of a run: the one that was passed, else the one of this name."""
    return run.encoder if isinstance(run.encoder, FoundEncoder) else find_encoder(str(name))


def _known(run: Run, found: FoundEncoder) -> FoundEncoder:
    """Give an object the fingerprint that a run keeps, where its vectors are those that it keeps.

    On another device or with other libraries they are rounded otherwise.
    """
    if found.passed is not None and run.has(PRETRAINED):
        arrays, _ = read_arrays(run.folder(PRETRAINED) / _STATISTICS)
        if "samples" in arrays and found.passed.is_like(arrays["samples"]):
            found.passed.fingerprint = _record(run)["fingerprint"]
    return found


def _record(run: Run) -> dict[str, Any]:
    record: dict[str, Any] = read_json(run.folder(PRETRAINED) / _RECORD)
    return record


@dataclass(frozen=True, eq=False, kw_only=True)
class RunEncoder:
    """The pretrained encoder of a run, and each dimension's mean and deviation in its corpus, (d,).

    `choices` are the normalizations to choose from: the one that is set, else those of its kind.
    """

    encoder: PretrainedEncoder
    kind: EncoderKind
    mean: Floats
    deviation: Floats
    word_states: WordStates | None
    choices: tuple[Normalization, ...]

    @classmethod
    def open(cls, run: Run) -> "RunEncoder":
        """Open what the stage `pretrained` describes; its model must not have changed."""
        folder, record = run.folder(PRETRAINED), _record(run)
        arrays, _ = read_arrays(folder / _STATISTICS)
        found = encoder_of(run, record["model"])
        if found.files is not None:
            found.files.check(record["files"])
        elif found.fingerprint != record["fingerprint"]:
            raise InputError(
                f"{record['model']}: has changed; the run was built with another encoder. Build it "
                "again: firth build"
            )
        encoder = found.open(EncoderSettings.model_validate(record["settings"]))
        states = encoder.word_states
        if encoder.token_states is not None:
            states = StatesOfWords(encoder.token_states, record["stemmer"], arrays["words"])
        choices = tuple(record["choices"])
        return cls(
            encoder=encoder,
            kind=found.kind,
            mean=arrays["mean"],
            deviation=arrays["deviation"],
            word_states=states,
            choices=choices,
        )

    def normalized(self, kind: Normalization) -> Normalized:
        """Return the encoder with a normalization. States of words are centered in any case."""
        mean = np.zeros_like(self.mean) if kind == "none" else self.mean
        deviation = self.deviation if kind == "standardize" else np.ones_like(self.deviation)
        suffix = {"none": "", "center": ", centered", "standardize": ", standardized"}[kind]
        name = f"{self.encoder.name}{suffix}"
        return Normalized(self.encoder, mean, deviation, self.word_states, name)


def open_run_encoder(run: Run, normalize: Normalization | None = None) -> UnitEncoder:
    """Open the encoder of a run: the pretrained one where it has one, else its word vectors.

    Without `normalize`, the normalization is the first of `RunEncoder.choices`.
    """
    if not run.has(PRETRAINED):
        return BagEncoder(WordSpace.load(run.folder(WORDS)))
    opened = RunEncoder.open(run)
    return opened.normalized(normalize or opened.choices[0])


def build_pretrained(run: Run) -> Outcome | None:
    """Bring the stage up to date; where no model is set, remove an earlier one and return None."""
    model = pretrained_name(run.settings.encoder.model)
    if model is None:
        if run.has(PRETRAINED):
            with run.locked():
                claim(run.path / PRETRAINED.name)
                remove_tree(run.path / PRETRAINED.name, last=MANIFEST)
        return None
    found = encoder_of(run, model)

    def fill(handed: Run, workspace: Path) -> Mapping[str, Any]:
        return _fill(handed, workspace, found)

    read = [f"encoder.{name}" for name in (*_READ, "normalization_sentences", "normalize")]
    inputs = {"corpus": Corpus.open(run).digest, "model": found.fingerprint}
    return run.build(PRETRAINED, fill, settings=["seed", *read], inputs=inputs)


def _fill(run: Run, workspace: Path, found: FoundEncoder) -> Mapping[str, Any]:
    given = run.settings.encoder
    settings = EncoderSettings.model_validate({name: getattr(given, name) for name in _READ})
    encoder = found.open(settings)
    texts = sample_sentences(run, given.normalization_sentences)
    vectors = encoder.raw(texts).astype(np.float64)
    mean, deviation = vectors.mean(axis=0), np.maximum(vectors.std(axis=0), 1e-6)
    arrays = {"mean": mean, "deviation": deviation}
    stemmer = stemmer_of(Corpus.open(run).language)
    if encoder.token_states is not None:
        arrays["words"] = StatesOfWords.fit(encoder.token_states, stemmer, texts).mean
    if found.passed is not None:
        arrays["samples"] = found.passed.samples
    write_arrays(workspace / _STATISTICS, arrays)
    known = {"fingerprint": found.fingerprint, "dimensions": encoder.dimensions}
    record = {
        "model": found.name,
        **({"files": dict(found.files.files)} if found.files else known),
        "settings": {name: getattr(settings, name) for name in _READ},
        "stemmer": stemmer,
        "choices": [given.normalize] if given.normalize else list(found.kind.normalizations),
    }
    write_json(workspace / _RECORD, record)
    return {"encoder": encoder.name, "kind": found.kind.name, "sentences": len(texts)}


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

"""The pretrained encoder of a run: stage `pretrained`.

The weights of a pretrained model stay where they are. The stage keeps the fingerprints of its
files, or that of an encoder without files, and the mean of the directions of words.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from firth.corpus.corpus import Corpus
from firth.encoders.encoder import Encoder, UnitEncoder, WordDirections
from firth.encoders.kinds import FoundEncoder, find_encoder
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
from firth.text.words import stemmer_of

PRETRAINED = Stage("pretrained", version=2)
_RECORD, _STATISTICS = "encoder.json", "statistics.safetensors"
_READ = ("max_tokens", "pooling")
"""Settings with which the encoder is opened again."""
_SAMPLE = 1_000
"""Sentences of the corpus whose words have directions with the mean 0."""


def open_words(run: Run) -> WordDirections:
    """Open what the stage `pretrained` describes; its model must not have changed."""
    folder, record = run.folder(PRETRAINED), _record(run)
    arrays, _ = read_arrays(folder / _STATISTICS)
    encoder = encoder_of(run, record["model"])
    if encoder.files is not None:
        encoder.files.check(record["files"])
    elif encoder.fingerprint != record["fingerprint"]:
        raise InputError(
            f"{record['model']}: has changed; the run was built with another encoder. Build it "
            "again: firth build"
        )
    opened = encoder.open(EncoderSettings.model_validate(record["settings"]))
    return WordDirections(opened, record["stemmer"], arrays["words"], record["floor"])


def with_encoder(run: Run, encoder: Encoder) -> Run:
    """Return a run with an object as its encoder; `encoder.model` names it."""
    recorded = _recorded(run, find_encoder(encoder))
    return Run(run.path, run.changed({"encoder": {"model": recorded.name}}).settings, recorded)


def opened_with_encoder(run: Run, encoder: str | Path | Encoder) -> Run:
    """Return a run that was built, with its encoder: the same object, or the same files elsewhere.

    Raises:
        InputError: The run has no encoder, or another one.
    """
    if not run.has(PRETRAINED):
        raise InputError(f"{run.path}: was built without an encoder; expected no encoder here")
    passed, record = _recorded(run, find_encoder(encoder)), _record(run)
    if passed.fingerprint != (record.get("fingerprint") or fingerprint_value(record["files"])):
        raise InputError(
            f"{run.path}: was built with another encoder than {passed.name}: with "
            f"{record['model']}. Pass that one, or build the run again: "
            "firth.build(DOCUMENTS, RUN, encoder=…)"
        )
    return Run(run.path, run.settings, passed)


def encoder_of(run: Run, name: str | None) -> FoundEncoder:
    """Find the pretrained encoder of a run: the one that was passed, else the one of this name."""
    return run.encoder if isinstance(run.encoder, FoundEncoder) else find_encoder(str(name))


def _recorded(run: Run, found: FoundEncoder) -> FoundEncoder:
    """Return an object with the fingerprint that a run has, where its vectors are those of the run.

    On another device or with other libraries they are rounded otherwise.
    """
    if found.passed is None or not run.has(PRETRAINED):
        return found
    arrays, _ = read_arrays(run.folder(PRETRAINED) / _STATISTICS)
    if "samples" in arrays and found.passed.is_like(arrays["samples"]):
        return found.known_as(_record(run)["fingerprint"])
    return found


def _record(run: Run) -> dict[str, Any]:
    record: dict[str, Any] = read_json(run.folder(PRETRAINED) / _RECORD)
    return record


def open_run_encoder(run: Run) -> UnitEncoder:
    """Open the encoder of a run's scorer: the pretrained one, or else its word vectors."""
    if run.has(PRETRAINED):
        return open_words(run).encoder
    return BagEncoder(WordSpace.load(run.folder(WORDS)))


def build_pretrained(run: Run) -> Outcome | None:
    """Bring the stage up to date; where no model is set, remove an earlier one and return None."""
    model = pretrained_name(run.settings.encoder.model)
    if model is None:
        if run.has(PRETRAINED):
            with run.locked():
                claim(run.path / PRETRAINED.name)
                remove_tree(run.path / PRETRAINED.name, last=MANIFEST)
        return None
    pretrained = encoder_of(run, model)

    def fill(declared: Run, workspace: Path) -> Mapping[str, Any]:
        return _fill(declared, workspace, pretrained)

    settings = ["seed", *(f"encoder.{name}" for name in _READ)]
    inputs = {"corpus": Corpus.open(run).digest, "model": pretrained.fingerprint}
    return run.build(PRETRAINED, fill, settings=settings, inputs=inputs)


def _fill(run: Run, workspace: Path, found: FoundEncoder) -> Mapping[str, Any]:
    values = {name: getattr(run.settings.encoder, name) for name in _READ}
    encoder = found.open(EncoderSettings.model_validate(values))
    texts = sample_sentences(run, _SAMPLE)
    stemmer = stemmer_of(Corpus.open(run).language)
    words = WordDirections.fit(encoder, stemmer, texts)
    arrays: dict[str, npt.NDArray[np.floating]] = {"words": words.mean}
    if found.passed is not None:
        arrays["samples"] = found.passed.samples
    write_arrays(workspace / _STATISTICS, arrays)
    identity = {"fingerprint": found.fingerprint, "dimensions": encoder.dimensions}
    record = {
        "model": found.name,
        **({"files": dict(found.files.files)} if found.files else identity),
        "settings": values,
        "stemmer": stemmer,
        "floor": words.floor,
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
            "used with at least 2. Add documents"
        )
    # The purpose of the seed keeps earlier figures comparable.
    rng = np.random.default_rng(derive_seed(run.settings.seed, "prompt-eol"))
    chosen = rng.choice(len(usual), min(count, len(usual)), replace=False)
    return list(corpus.texts(usual[np.sort(chosen)]))

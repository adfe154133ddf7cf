"""Any encoder by name, and what the stage of a pretrained encoder keeps."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.encoders.conftest import TEXTS

from firth.encoders.encoder import NORMALIZATIONS, Normalized
from firth.encoders.kinds import open_encoder
from firth.encoders.pretrained import (
    PRETRAINED,
    RunEncoder,
    build_pretrained,
    open_run_encoder,
    sample_sentences,
)
from firth.encoders.words import BagEncoder
from firth.run.errors import InputError
from firth.run.files import read_json
from firth.run.run import Run

Edited = Callable[..., Path]
KINDS = ["tiny_encoder", "tiny_bert", "tiny_onnx"]


def with_encoder(run: Run, model: Path, **settings: object) -> Run:
    given = {"model": str(model), "normalization_sentences": 50} | settings
    return run.changed({"encoder": given})


@pytest.mark.parametrize("name", KINDS)
def test_a_run_has_its_encoder_with_every_normalization(
    words_run: Run, name: str, request: pytest.FixtureRequest
) -> None:
    """By hand: statistics of the raw vectors of the sampled sentences."""
    model = request.getfixturevalue(name)
    run = with_encoder(words_run, model)
    build_pretrained(run)
    plain = open_encoder(str(model))
    raw = plain.raw(sample_sentences(run, 50)).astype(np.float64)
    assert len(raw) == 50
    mean, deviation = raw.mean(axis=0), raw.std(axis=0)
    assert RunEncoder.open(run).choices == NORMALIZATIONS
    scales = {"none": (0 * mean, 1), "center": (mean, 1), "standardize": (mean, deviation)}
    for kind in NORMALIZATIONS:
        shift, scale = scales[kind]
        expected = (plain.raw(TEXTS) - shift) / scale
        expected /= np.linalg.norm(expected, axis=1, keepdims=True)
        found = open_run_encoder(run, kind)
        np.testing.assert_allclose(found.encode(TEXTS), expected, atol=1e-4)
        assert (found.word_states is not None) == (plain.token_states is not None)


def test_without_one_a_run_has_its_word_vectors(words_run: Run, tiny_encoder: Path) -> None:
    """And a stage that was built for an earlier setting is removed."""
    assert isinstance(open_run_encoder(words_run), BagEncoder)
    build_pretrained(with_encoder(words_run, tiny_encoder))
    assert isinstance(open_run_encoder(words_run), Normalized)
    assert build_pretrained(words_run) is None
    assert isinstance(open_run_encoder(words_run), BagEncoder)
    assert not (words_run.path / PRETRAINED.name).exists()


def test_a_model_that_has_changed_is_refused(
    words_run: Run, tiny_encoder: Path, edited: Edited
) -> None:
    """A moved one of the same bytes is not another one: the stage is reused."""
    model, moved = edited(tiny_encoder), edited(tiny_encoder)
    build_pretrained(with_encoder(words_run, model))
    assert read_json(words_run.folder(PRETRAINED) / "encoder.json")["model"] == str(model)
    outcome = build_pretrained(with_encoder(words_run, moved))
    assert outcome is not None
    assert outcome.reused
    (model / "1_Pooling" / "config.json").write_text('{"embedding_dimension": 16}')
    with pytest.raises(InputError, match=r"1_Pooling/config\.json has changed"):
        open_run_encoder(words_run)


def test_word_vectors_and_static_encoders_need_no_torch(words_run: Run, tmp_path: Path) -> None:
    """Learning, writing and opening them, in a process where torch cannot be imported."""
    code = f"""
import sys
for name in ("torch", "transformers", "sentence_transformers", "onnxruntime"):
    sys.modules[name] = None
from pathlib import Path
from firth.encoders.kinds import open_encoder
from firth.encoders.pretrained import open_run_encoder
from firth.encoders.static import build_static
from firth.encoders.words import WORDS, WordSpace, build_words
from firth.run.run import Run
run = Run.open({str(words_run.path)!r})
build_words(run.changed({{"words": {{"dimensions": 6}}}}))
build_static(run, WordSpace.load(run.folder(WORDS)), 0.5, Path({str(tmp_path / "made")!r}))
print(open_encoder({str(tmp_path / "made")!r}).encode(["the ship"]).shape)
print(open_run_encoder(run).dimensions)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["(1,", "32)", "6"]

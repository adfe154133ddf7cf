"""Any encoder by name, and what the stage of a pretrained encoder keeps."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.encoders.conftest import TEXTS

from firth.encoders import pretrained
from firth.encoders.encoder import PretrainedEncoder
from firth.encoders.kinds import open_encoder
from firth.encoders.pretrained import (
    PRETRAINED,
    build_pretrained,
    open_run_encoder,
    open_words,
    sample_sentences,
)
from firth.encoders.words import BagEncoder
from firth.run.errors import InputError
from firth.run.files import read_json
from firth.run.run import Run

Edited = Callable[..., Path]
KINDS = ["tiny_encoder", "tiny_bert", "tiny_onnx"]


def with_encoder(run: Run, model: Path) -> Run:
    return run.changed({"encoder": {"model": str(model)}})


@pytest.mark.parametrize("name", KINDS)
def test_a_run_reads_sentences_and_their_words(
    words_run: Run, name: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Vectors are those of the encoder; directions of words are centered by the corpus."""
    monkeypatch.setattr(pretrained, "_SAMPLE", 50)
    model = request.getfixturevalue(name)
    run = with_encoder(words_run, model)
    build_pretrained(run)
    expected = open_encoder(str(model)).encode(TEXTS)
    words = open_words(run)
    np.testing.assert_array_equal(words.encoder.encode(TEXTS), expected)
    assert words.encoder.read_tokens is not None
    vectors, states = words(TEXTS)
    np.testing.assert_allclose(vectors, expected, atol=1e-5)
    assert [len(rows) for rows in states] == [3, 0, 13, 1]
    mean = np.concatenate(words(sample_sentences(run, 50))[1]).mean(axis=0)
    assert np.abs(mean).max() < 0.3


def test_without_one_a_run_has_its_word_vectors(words_run: Run, tiny_encoder: Path) -> None:
    """And a stage that was built for an earlier setting is removed."""
    assert isinstance(open_run_encoder(words_run), BagEncoder)
    build_pretrained(with_encoder(words_run, tiny_encoder))
    assert isinstance(open_run_encoder(words_run), PretrainedEncoder)
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

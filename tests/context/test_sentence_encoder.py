"""Encoders of one's own: they answer as the library does, and what is changed is as said."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from transformers import AutoModel, AutoTokenizer

from firth.context import CONTEXT
from firth.context.build import build_context
from firth.context.candidates import adapt_encoder
from firth.context.encoder import unit
from firth.context.open import open_encoder
from firth.context.sentence_encoder import GivenEncoder, Scaling
from firth.context.settings import Encoder, Scale, TuneConfig
from firth.origin.choose import build_origin
from firth.origin.ensemble import EnsembleOrigin
from firth.run.errors import InputError
from firth.run.model_kind import ModelKind
from firth.run.pretrained import kind_of
from firth.run.run import Run
from firth.run.section import Pooling

TEXTS = ["The ship sailed.", "The judge left the court near the old red barn.", "a", "The cow."]


@pytest.mark.parametrize("name", ["tiny_encoder", "tiny_static", "tiny_bert"])
def test_an_unchanged_encoder_is_the_library_s(name: str, request: pytest.FixtureRequest) -> None:
    """Vectors are those of SentenceTransformer.encode, of length 1."""
    folder = str(request.getfixturevalue(name))
    plain = SentenceTransformer(folder, device="cpu").encode(TEXTS, normalize_embeddings=True)
    found = GivenEncoder.open(folder, None, 1).encode(TEXTS)
    np.testing.assert_allclose(found, plain, atol=1e-6)
    assert np.ptp(plain @ plain.T) > 0.01  # the premise: sentences differ


@pytest.mark.parametrize("pooling", list(Pooling))
def test_pooling_of_a_bare_encoder(tiny_bert: Path, tmp_path: Path, pooling: Pooling) -> None:
    """Each way equals the plain model's states, pooled by hand; also when saved and opened again
    by the library alone."""
    network, tokenizer = (
        AutoModel.from_pretrained(tiny_bert),
        AutoTokenizer.from_pretrained(tiny_bert),
    )
    expected = []
    for text in TEXTS:
        with torch.inference_mode():
            states = network(**tokenizer(text, return_tensors="pt"), output_hidden_states=True)
        layers = [layer[0] for layer in states.hidden_states]
        expected.append({
            Pooling.MEAN: layers[-1].mean(dim=0),
            Pooling.CLS: layers[-1][0],
            Pooling.FIRST_LAST: (layers[1].mean(dim=0) + layers[-1].mean(dim=0)) / 2,
        }[pooling].numpy())  # fmt: skip
    encoder = GivenEncoder.open(str(tiny_bert), pooling, 1)
    np.testing.assert_allclose(encoder.raw(TEXTS), np.array(expected), atol=1e-5)
    encoder.model.save(str(tmp_path / "saved"), create_model_card=False)
    again = SentenceTransformer(str(tmp_path / "saved"), device="cpu").encode(TEXTS)
    np.testing.assert_allclose(again, encoder.raw(TEXTS), atol=1e-5)
    assert kind_of(str(tmp_path / "saved")) is ModelKind.SENTENCE_ENCODER


def test_a_pooling_of_its_own_stays(tiny_encoder: Path) -> None:
    """Another one for a model that has its own is refused."""
    with pytest.raises(InputError, match="has its own"):
        GivenEncoder.open(str(tiny_encoder), Pooling.CLS, 1)


@pytest.mark.parametrize("scale", list(Scale))
@pytest.mark.parametrize("name", ["tiny_encoder", "tiny_static"])
def test_scaling_is_folded_into_the_model(
    name: str, scale: Scale, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Two modules more: the same vectors as scaling by hand, in the library alone, too."""
    encoder = GivenEncoder.open(str(request.getfixturevalue(name)), None, 1)
    raw = encoder.raw(TEXTS)
    scaling = Scaling.fit(raw, scale)
    assert scaling.changes is (scale is not Scale.NONE)
    z = {
        Scale.NONE: raw,
        Scale.CENTRED: raw - raw.mean(axis=0),
        Scale.STANDARDISED: (raw - raw.mean(axis=0)) / raw.std(axis=0),
    }[scale]
    np.testing.assert_allclose(scaling(raw), unit(z), atol=1e-6)
    encoder.scale(scaling)
    np.testing.assert_allclose(encoder.encode(TEXTS), unit(z), atol=1e-4)
    encoder.model.save(str(tmp_path), create_model_card=False)
    again = SentenceTransformer(str(tmp_path), device="cpu").encode(TEXTS)
    np.testing.assert_allclose(unit(again.astype(float)), encoder.encode(TEXTS), atol=1e-6)


@pytest.mark.parametrize("name", ["tiny_encoder", "tiny_static"])
def test_what_learns_from_is_what_answers(name: str, request: pytest.FixtureRequest) -> None:
    """Vectors with gradients equal those without; gradients reach the part that learns, alone."""
    encoder = GivenEncoder.open(str(request.getfixturevalue(name)), None, 1)
    part, rate = encoder.learning(TuneConfig(layers=1))
    assert rate > 0
    part.requires_grad_(True)
    found = encoder.vectors(TEXTS, 64)
    np.testing.assert_allclose(found.detach().numpy(), encoder.encode(TEXTS), atol=1e-5)
    torch.autograd.backward(found[0, 0])
    with_gradient = {n for n, p in encoder.model.named_parameters() if p.grad is not None}
    inside = {id(p) for p in part.parameters()}
    assert with_gradient == {n for n, p in encoder.model.named_parameters() if id(p) in inside}


def test_long_texts_are_cut_in_training_only(tiny_encoder: Path) -> None:
    """`max_tokens` holds inside `vectors`, and nothing of it stays."""
    encoder = GivenEncoder.open(str(tiny_encoder), None, 1)
    long = "The ship " * 20
    before = encoder.encode([long])
    cut = encoder.vectors([long, "The ship"], 4)
    torch.testing.assert_close(cut[0], cut[1])
    np.testing.assert_array_equal(encoder.encode([long]), before)


@pytest.mark.parametrize("name", ["tiny_encoder", "tiny_static", "tiny_bert"])
def test_a_run_with_an_encoder_of_one_s_own(
    fresh: Callable[..., Run], name: str, request: pytest.FixtureRequest
) -> None:
    """Found by its files, opened as it was built, blended, and explained: parts sum to the score,
    and what corpus sentences add is the cosine of the vectors."""
    folder = request.getfixturevalue(name)
    run = fresh(model=str(folder), scale="standardised")
    build_context(run)
    build_origin(run)
    encoder = open_encoder(run)
    assert encoder.kind is Encoder.SENTENCE_ENCODER
    assert encoder.name.startswith(folder.name)
    raw = GivenEncoder.open(str(folder), None, 1).encode(TEXTS)
    assert not np.allclose(encoder.encode(TEXTS), raw, atol=1e-3)
    origin = EnsembleOrigin.open(run)
    a, b = "The ship reached the harbour.", "The sailor found the island."
    found = origin.explain(a, b)
    assert found.similarity == pytest.approx(origin.similarity(a, b))
    assert found.similarity == pytest.approx(sum(part.added for part in found.parts.values()))
    one, two = encoder.encode([a, b])
    cosine = origin.weights["sentences"] * float(one @ two)
    assert found.parts["themes"].added == pytest.approx(cosine, abs=1e-6)
    assert found.themes
    assert (encoder.words is None) == (name == "tiny_static")
    texts = [*TEXTS, a, b, ""]
    pairs = [(one, two) for one in texts for two in texts]
    wanted = origin.similarities(pairs).reshape(len(texts), -1)
    assert origin.gram(texts) == pytest.approx(wanted, abs=1e-5)


def test_the_opened_encoder_is_the_adapted_one(
    fresh: Callable[..., Run], tiny_encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tuned weights and scaling are kept, whatever the check thinks of them."""
    monkeypatch.setattr("firth.context.candidates.keep", lambda *_: ("tuned, standardised", []))
    run = fresh(model=str(tiny_encoder))
    build_context(run)
    plain = GivenEncoder.open(str(tiny_encoder), None, 1).encode(TEXTS)
    found = open_encoder(run)
    assert "tuned, standardised" in found.name
    assert not np.allclose(found.encode(TEXTS), plain, atol=1e-3)
    adapted = adapt_encoder(run, str(tiny_encoder), tmp_path / "scratch")
    np.testing.assert_allclose(found.encode(TEXTS), adapted.encoder.encode(TEXTS), atol=1e-6)
    assert Run.open(run.path).manifest(CONTEXT).summary["kept"] == "tuned, standardised"

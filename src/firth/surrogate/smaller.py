"""Shorter vectors and smaller numbers: made possible, and what they cost."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Dense, StaticEmbedding
from torch import Tensor

from firth.lexical.arrays import Singles, to_int8
from firth.run.files import read_json, write_atomically
from firth.surrogate.matrices import HeldOut, encode

_SIZES = tuple(2**power for power in range(5, 14))
"""Numbers of dimensions that are tried, where a vector has more: 32, 64, 128, …"""


def turn(model: SentenceTransformer, texts: Sequence[str]) -> None:
    """Turn a model's space so that its first dimensions say most of some texts; cosines stay.

    These are the principal axes of their unit vectors (their Matryoshka order: Kusupati et al.
    2022). Only where the last module is a table or a linear map.

    Args:
        model: Changed in place.
        texts: Usual ones.
    """
    last = model[len(model) - 1]
    if not isinstance(last, StaticEmbedding | Dense):
        return
    vectors = encode(model, list(texts)).astype(np.float64)
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    _, axes = np.linalg.eigh(vectors.T @ vectors)
    turned = torch.from_numpy(axes[:, ::-1].copy())
    with torch.no_grad():
        if isinstance(last, StaticEmbedding):
            weight = last.embedding.weight
            weight.copy_((weight.double() @ turned).float())
        else:
            last.linear.weight.copy_((turned.T @ last.linear.weight.double()).float())
            last.linear.bias.copy_((last.linear.bias.double() @ turned).float())


def halve(model: SentenceTransformer) -> None:
    """Round a network's weights, in place, to numbers that have a float16.

    A static model's stay: sentence-transformers opens those in the format they lie in.
    """
    if isinstance(model[0], StaticEmbedding):
        return
    with torch.no_grad():
        for weight in model.state_dict().values():
            rounded = weight.to(torch.float16)
            if weight.is_floating_point() and rounded.isfinite().all():
                weight.copy_(rounded)


def save(model: SentenceTransformer, folder: Path) -> None:
    """Save a model, with weights as float16 wherever that loses nothing (`halve`).

    It opens in float32 all the same: this is what its configuration says.
    """
    model.save(str(folder), create_model_card=False)
    if isinstance(model[0], StaticEmbedding):
        return
    for module in read_json(folder / "modules.json"):
        path = folder / module["path"] / "model.safetensors"
        if path.is_file():
            weights = {name: _halved(weight) for name, weight in load_file(path).items()}
            with write_atomically(path) as partial:
                save_file(weights, partial, metadata={"format": "pt"})


def _halved(weight: Tensor) -> Tensor:
    half = weight.to(torch.float16)
    lossless = weight.is_floating_point() and torch.equal(half.to(weight.dtype), weight)
    return half if lossless else weight


def sizes(model: SentenceTransformer, held: HeldOut) -> list[dict[str, Any]]:
    """Agreement with the teacher by dimensions and number format.

    Numbers of 8 bits are those of `firth encode`, a scale for each vector. (One for each dimension,
    as sentence-transformers has it, makes all axes equal, and those that say least the loudest.)

    Args:
        model: The student.
        held: What it is measured by.

    Returns:
        Of each size: `dimensions`, `precision` (float32 or int8), `bytes` of a vector, and
        `spearman` on all pairs.
    """
    vectors = encode(model, held.texts)
    whole = vectors.shape[1]
    found = []
    for size in [*(size for size in _SIZES if size < whole), whole]:
        for precision, width in (("float32", 4), ("int8", 1)):
            cut = _unit(vectors[:, :size])
            if precision == "int8":
                cut = to_int8(cut).astype(np.float32)
            figure = held.figures(cut)["all"]["spearman"]
            found.append({"dimensions": size, "precision": precision, "bytes": size * width,
                          "spearman": figure})  # fmt: skip
    return found


def _unit(vectors: Singles) -> Singles:
    scaled: Singles = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    return scaled

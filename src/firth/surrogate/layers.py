"""A student made of its teacher: some layers of the run's language model, reading both ways.

EuroBERT is Llama's architecture (root mean square norms, gated feed-forward layers, rotary
positions, grouped heads) without the causal mask (Boizard et al. 2025), so that weights of the one
are weights of the other.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
from transformers import EuroBertConfig, EuroBertModel

from firth.context.encoder import SentenceEncoder
from firth.run.errors import InputError
from firth.run.tensors import write_network

FIRST = 6
_SHARED = (
    "vocab_size",
    "hidden_size",
    "intermediate_size",
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
    "hidden_act",
    "max_position_embeddings",
    "rms_norm_eps",
    "rope_parameters",
    "attention_bias",
    "mlp_bias",
)


def pruned(
    encoder: SentenceEncoder, keep: Sequence[int] | None, max_tokens: int, scratch: Path
) -> SentenceTransformer:
    """Some layers of an encoder's language model as a bidirectional one, with mean pooling.

    Its word embeddings are not trained.

    Args:
        encoder: The run's, tuned or not.
        keep: Numbers of layers, from 0, or from -1 backwards; None takes the first six.
        max_tokens: Of a sentence that are read.
        scratch: Its parts are put together in the folder `encoder` there.

    Raises:
        InputError: The encoder is no language model, or none of Llama's architecture; a layer is
            named that it does not have.
    """
    states = getattr(encoder, "states", None)
    if states is None:
        raise InputError(
            "surrogate.base: got layers, but the run's encoder is no language model; expected "
            "static or transformer, or train one first: firth train context --model NAME --run RUN"
        )
    model: Any = states.model
    if (kind := model.config.model_type) != "llama":
        raise InputError(
            f"surrogate.base: got layers, but the run's language model is of type {kind!r}; only "
            "those of type 'llama' (Llama, SmolLM2, TinyLlama) can be read in both directions. "
            "Take static or transformer, or the folder or hub name of an encoder"
        )
    config = model.config
    kept = chosen_layers(keep, config.num_hidden_layers)
    tokenizer: Any = states.tokenizer
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token or tokenizer.unk_token
    shape = EuroBertConfig(
        **{name: getattr(config, name) for name in _SHARED},
        num_hidden_layers=len(kept),
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        mask_token_id=tokenizer.pad_token_id,
    )
    student = EuroBertModel(shape)
    body = model.base_model
    student.embed_tokens.load_state_dict(body.embed_tokens.state_dict())
    student.norm.load_state_dict(body.norm.state_dict())
    for layer, number in zip(student.layers, kept, strict=True):
        layer.load_state_dict(body.layers[number].state_dict())
    folder = scratch / "encoder"
    write_network(student, folder)
    tokenizer.model_max_length = max_tokens
    tokenizer.padding_side = "right"
    tokenizer.save_pretrained(folder)
    modules = [
        Transformer(str(folder), model_kwargs={"dtype": torch.float32}),
        Pooling(config.hidden_size),
    ]
    return SentenceTransformer(modules=modules, device="cpu", local_files_only=True)


def freeze_words(model: SentenceTransformer) -> None:
    """Leave a Transformer's word embeddings as they are in training."""
    network: Any = model[0].auto_model
    network.get_input_embeddings().weight.requires_grad_(False)


def chosen_layers(keep: Sequence[int] | None, count: int) -> list[int]:
    """Numbers of the layers that are kept of `count`, ascending.

    Raises:
        InputError: There is no such layer.

    Example:
        >>> chosen_layers([0, 1, -1], 30)
        [0, 1, 29]
    """
    if keep is None:
        keep = range(min(FIRST, count))
    if wrong := [n for n in keep if not -count <= n < count]:
        raise InputError(
            f"surrogate.keep_layers: got {', '.join(map(str, wrong))}; the language model has "
            f"{count} layers, numbered from 0 to {count - 1}, or from -1 to {-count}"
        )
    return sorted({n % count for n in keep})

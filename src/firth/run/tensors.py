"""Tensors in files: some that tell whether they are whole, which a stopped training goes on from,
and networks as libraries open them."""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from firth.run.files import write_atomically


def write_tensors(path: Path, tensors: Mapping[str, Tensor], state: str) -> None:
    """Write tensors and what is to be known of them."""
    known = {"state": state, "digest": _digest(state, sorted(tensors.items()))}
    with write_atomically(path) as partial:
        save_file(dict(tensors), partial, metadata=known)


def read_state(path: Path) -> str | None:
    """What was written beside the tensors of a file; None where it or they are damaged."""
    try:
        with safe_open(path, framework="pt") as stored:
            known = stored.metadata()
            tensors = ((name, stored.get_tensor(name)) for name in sorted(stored.keys()))
            whole = known["digest"] == _digest(known["state"], tensors)
            return str(known["state"]) if whole else None
    except (SafetensorError, LookupError, TypeError, ValueError):
        return None


def write_network(network: Any, folder: Path) -> None:
    """Write a network of transformers, and its configuration, into a folder that opens as one.

    Its own `save_pretrained` writes in the first of several processes alone (`firth.run.sharing`).
    """
    network.config.architectures = [type(network).__name__]
    network.config.dtype = network.dtype
    network.config.save_pretrained(folder)
    weights = {name: one.detach().contiguous() for name, one in network.state_dict().items()}
    with write_atomically(folder / "model.safetensors") as partial:
        save_file(weights, partial, metadata={"format": "pt"})


def _digest(state: str, tensors: Iterable[tuple[str, Tensor]]) -> str:
    """Fingerprint of a file, one tensor in memory at a time."""
    found = hashlib.blake2b(state.encode(), digest_size=20)
    for name, tensor in tensors:
        found.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        found.update(tensor.reshape(-1).view(torch.uint8).cpu().numpy().data)
    return found.hexdigest()

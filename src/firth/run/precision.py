"""Where to compute, and in which number format."""

import os

import torch

from firth.run.errors import InputError
from firth.run.section import WORKER, Device, Precision

_CAPABILITIES = ("avx512_bf16", "amx_bf16", "bf16", "sve_bf16")


def device() -> torch.device:
    """Where to compute: as the variable FIRTH_DEVICE says, which `firth --device` sets; without it,
    on the accelerator if there is one, else the processor.

    Of several processes that share a training (`firth.run.sharing`) or the shards of a work
    (`firth.run.processes`) each has its own accelerator, as far as there are enough.

    Raises:
        InputError: FIRTH_DEVICE says something else, or there is no such accelerator.
    """
    asked = os.environ.get("FIRTH_DEVICE", Device.AUTO)
    there = {
        Device.CUDA: torch.cuda.is_available(),
        Device.MPS: torch.backends.mps.is_available(),
        Device.CPU: True,
    }
    if asked == Device.AUTO:
        asked = next(kind for kind, usable in there.items() if usable)
    elif asked not in there:
        raise InputError(f"FIRTH_DEVICE={asked}: expected {', '.join(Device)}")
    if not there[Device(asked)]:
        usable = ", ".join(kind for kind in there if there[kind])
        raise InputError(f"--device {asked}: torch {torch.__version__} finds none; it has {usable}")
    number = os.environ.get("LOCAL_RANK", os.environ.get(WORKER))
    if asked != Device.CUDA or number is None:
        return torch.device(asked)
    return torch.device(asked, int(number) % torch.cuda.device_count())


def has_bfloat16(where: torch.device) -> bool:
    """Whether `where` multiplies bfloat16 in hardware (AVX512-BF16, AMX, SVE or a GPU that can)."""
    if where.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    if where.type == "mps":
        return False  # it can, and gains nothing that was measured
    if hasattr(torch.cpu, "get_capabilities"):
        found = torch.cpu.get_capabilities()
        return any(bool(found.get(name)) for name in _CAPABILITIES)
    older = getattr(torch.cpu, "_is_avx512_bf16_supported", None)
    return bool(older and older())


def number_format(precision: Precision, where: torch.device) -> torch.dtype:
    """The number format that `precision` means on the device `where`."""
    if precision is Precision.AUTO:
        return torch.bfloat16 if has_bfloat16(where) else torch.float32
    return torch.bfloat16 if precision is Precision.BFLOAT16 else torch.float32

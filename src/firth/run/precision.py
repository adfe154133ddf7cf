"""Where to compute, and in which number format."""

import torch

from firth.run.section import Precision

_CAPABILITIES = ("avx512_bf16", "amx_bf16", "bf16", "sve_bf16")


def device() -> torch.device:
    """The accelerator if there is one, else the processor."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def has_bfloat16(where: torch.device) -> bool:
    """Whether `where` multiplies bfloat16 in hardware (AVX512-BF16, AMX, SVE or a GPU that can)."""
    if where.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
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

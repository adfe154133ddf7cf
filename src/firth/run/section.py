"""What every section of a configuration is, and the ranges that settings share."""

from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Fraction = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=1, le=10**15)]
Rate = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Section(BaseModel):
    """A part of the configuration: immutable, and strict about names it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


WORKER = "FIRTH_WORKER"
"""The variable that numbers the processes which share a work (`firth.run.processes`), from 0: each
computes on an accelerator of its own."""


class Device(StrEnum):
    """Where models compute."""

    AUTO = "auto"
    """The accelerator if there is one, else the processor."""
    CPU = "cpu"
    CUDA = "cuda"
    MPS = "mps"
    """Apple's."""


class Precision(StrEnum):
    """Number format of the matrix products when scoring."""

    AUTO = "auto"
    """bfloat16 where the processor multiplies it in hardware, else float32."""
    FLOAT32 = "float32"
    BFLOAT16 = "bfloat16"


class Pooling(StrEnum):
    """How a Transformer's token vectors become a sentence vector."""

    MEAN = "mean"
    """Mean over the tokens of the last layer."""
    CLS = "cls"
    """The first token of the last layer: [CLS], <s>."""
    FIRST_LAST = "first-last"
    """Mean over the tokens of the first layer's and the last layer's output."""

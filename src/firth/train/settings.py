"""The settings of this wing: the section `tokenizer` of a run."""

from typing import Annotated

from pydantic import Field

from firth.run.settings import Section


class TokenizerSettings(Section):
    """The tokenizer of models that are trained from scratch."""

    vocabulary: Annotated[int, Field(ge=300)] = 16_000
    """Tokens, at most."""
    lower_case: bool = True
    """Whether case is ignored."""

"""The three parts of [c_<, s, c_>], and their tokens as the encoder-decoder reads them."""

from collections.abc import Sequence
from enum import IntEnum

from tokenizers import Tokenizer

from firth.corpus.context import Context
from firth.paper.generation.forest import Tokens
from firth.run.errors import InputError


class Role(IntEnum):
    """Sentence position (§3.2.2): which part a token belongs to, or is to be generated for."""

    LEFT = 0
    SENTENCE = 1
    RIGHT = 2


ROLES = tuple(Role)


def cut(tokens: Sequence[int], role: Role, most: int) -> Tokens:
    """At most `most` tokens: the end of a left side, the beginning of the others."""
    return tuple(tokens[-most:] if role is Role.LEFT else tokens[:most])


def special_tokens(tokenizer: Tokenizer) -> tuple[int, int]:
    """Ids of `<s>`, which begins a part to be generated, and `<mask>`, which stands for it.

    Raises:
        InputError: The tokenizer lacks them.
    """
    start, missing = tokenizer.token_to_id("<s>"), tokenizer.token_to_id("<mask>")
    if start is None or missing is None:
        raise InputError("the tokenizer lacks <s> or <mask>; expected the tokenizer of a run")
    return start, missing


class PartReader:
    """Turns sentences and the sides of contexts into tokens.

    Sentences of one side are tokenised one by one and joined. What UTF-8 cannot hold becomes "?".

    Args:
        tokenizer: Of the run.
        max_tokens: Most tokens of a part.
    """

    def __init__(self, tokenizer: Tokenizer, max_tokens: int) -> None:
        self._tokenizer = tokenizer
        self._max_tokens = max_tokens

    def tokens(self, texts: Sequence[str]) -> list[list[int]]:
        """Tokens of each text, not cut; none for one that is empty or blank."""
        clean = [text.strip().encode("utf-8", "replace").decode("utf-8") for text in texts]
        encoded = self._tokenizer.encode_batch_fast(clean, add_special_tokens=False)
        return [e.ids if text else [] for e, text in zip(encoded, clean, strict=True)]

    def sentences(self, texts: Sequence[str]) -> list[Tokens]:
        """Tokens of each sentence."""
        return [cut(ids, Role.SENTENCE, self._max_tokens) for ids in self.tokens(texts)]

    def sides(self, contexts: Sequence[Context], role: Role) -> list[Tokens]:
        """Tokens of each c_< (`Role.LEFT`) or each c_> (`Role.RIGHT`)."""
        sides = [c.left if role is Role.LEFT else c.right for c in contexts]
        encoded = iter(self.tokens([text for side in sides for text in side]))
        return [
            cut([t for _ in side for t in next(encoded)], role, self._max_tokens) for side in sides
        ]

"""Texts to tokens for a causal language model, the same tokens in every context."""

from collections.abc import Sequence

from transformers import PreTrainedTokenizerBase

from firth.corpus.context import Context
from firth.paper.generation.forest import Tokens
from firth.run.errors import InputError


class Reader:
    """Turns sentences and the sides of contexts into tokens that can be put one after another.

    Each part is tokenised by itself, with the blank that divides it from the part before, so that
    a sentence has the same tokens wherever it stands. A left side too long keeps its end, a
    sentence and a right side keep their beginning. White space at both ends is dropped; what
    UTF-8 cannot hold becomes "?".

    Args:
        tokenizer: Of the model.
        max_tokens: Most tokens of a sentence, and of one side of a context.
        start: The token that begins every text; by default the tokenizer's
            beginning-of-text token if it has one, else its end-of-text token.
    """

    def __init__(
        self, tokenizer: PreTrainedTokenizerBase, max_tokens: int, start: str | None = None
    ) -> None:
        self._tokenizer = tokenizer
        self._max_tokens = max_tokens
        token = start or tokenizer.bos_token or tokenizer.eos_token
        known = token in tokenizer.get_vocab() if token else False
        if not known:
            raise InputError(
                f"the tokenizer has no start-of-text token (got {token!r}): it defines neither a "
                "bos nor an eos token of its vocabulary. Name the token to start texts with."
            )
        self.start = int(tokenizer.get_vocab()[token])
        self._lead = self._find_lead()

    def _find_lead(self) -> str:
        """What to put before a part so that its tokens are those it has in running text."""
        plain, blank, running = self._encode(["sea", " sea", "sea sea"])
        if running == plain + plain:
            return ""
        return " " if running == plain + blank or blank != plain else ""

    def _encode(self, texts: Sequence[str]) -> list[Tokens]:
        if not texts:
            return []
        encoded = self._tokenizer(list(texts), add_special_tokens=False, verbose=False)
        return [tuple(ids) for ids in encoded["input_ids"]]

    def tokens(self, texts: Sequence[str]) -> list[Tokens]:
        """Tokens of each text, not cut; none for an empty one."""
        clean = [text.strip().encode("utf-8", "replace").decode("utf-8") for text in texts]
        encoded = iter(self._encode([self._lead + text for text in clean if text]))
        return [next(encoded) if text else () for text in clean]

    def sentences(self, texts: Sequence[str]) -> list[Tokens]:
        """Tokens of each sentence, its beginning if it is too long."""
        return [tokens[: self._max_tokens] for tokens in self.tokens(texts)]

    def lefts(self, contexts: Sequence[Context]) -> list[Tokens]:
        """Tokens of each c_<, its end if it is too long."""
        texts = [" ".join(context.left) for context in contexts]
        return [tokens[-self._max_tokens :] for tokens in self.tokens(texts)]

    def rights(self, contexts: Sequence[Context]) -> list[Tokens]:
        """Tokens of each c_>, its beginning if it is too long."""
        return self.sentences([" ".join(context.right) for context in contexts])

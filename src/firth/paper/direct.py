"""Direct contexts: each sentence as the other's only context, by a causal language model.

This is another method than the paper's, without context sets and Eq. 3. The paper asks whether the
same contexts would produce both sentences. The shortest context of a sentence is the other one: how
much of it does that explain?

    share(b | a) = (log p(b | T(a)) - log p(b | T())) / -log p(b | T())

T(a) is a prompt with a, and T() the same without a sentence. The similarity is the mean of both
directions. It is the sum of what is explained of each token.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from firth.encoders.encoder import by_length
from firth.encoders.folder import ModelKind, PretrainedFiles
from firth.encoders.transformer import check_loaded, quietly
from firth.run.console import Progress
from firth.run.errors import InputError, require
from firth.scorer.explanation import Explanation
from firth.scorer.parts import CONTEXTS, ContextShare, Word, parts_of
from firth.text.types import Floats, TextPair
from firth.text.words import checked, spans

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

PROMPT = "First sentence: {}\nThe same in other words:"
"""T of the module; a sentence follows it after a blank."""
MAX_TOKENS, BATCH_TOKENS = 48, 1_024
"""Tokens of a sentence that are read, and tokens of a batch, padding included."""
_ENDS = (".", "?", "!", '"', "\u3002", "\uff1f", "\uff01")


class LanguageModel:
    """A causal language model that reads sentences by the prompt.

    Args:
        model: The model, which is put into evaluation mode.
        tokenizer: Its tokenizer, which has a token to begin a text with.
        max_tokens: Tokens of a sentence that are read.
        batch_tokens: Tokens of a batch, padding included.

    Raises:
        InputError: The tokenizer has no such token.
    """

    def __init__(
        self,
        model: "PreTrainedModel",
        tokenizer: "PreTrainedTokenizerBase",
        max_tokens: int = MAX_TOKENS,
        batch_tokens: int = BATCH_TOKENS,
    ) -> None:
        token = tokenizer.bos_token or tokenizer.eos_token
        if not token or token not in tokenizer.get_vocab():
            raise InputError(
                f"The tokenizer has no start-of-text token (got {token!r}): it defines neither a "
                "bos nor an eos token of its vocabulary. Choose a model that has one."
            )
        self.start = int(tokenizer.get_vocab()[token])
        model.train(False)
        self.model, self.tokenizer = model, tokenizer
        self._max, self._budget = max_tokens, batch_tokens

    def tokens(self, text: str) -> list[int]:
        """Return the tokens of a text, without special ones."""
        return list(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    def target(self, text: str) -> tuple[list[int], list[int]]:
        """Return the tokens of a sentence that follows something, and where each ends in it."""
        encoded = self.tokenizer(
            f" {_ended(text)}", add_special_tokens=False, return_offsets_mapping=True
        )
        ends = [end - 1 for _, end in encoded["offset_mapping"]]
        return list(encoded["input_ids"])[: self._max], ends[: self._max]

    def prompt(self, text: str) -> list[int]:
        """Return the tokens of T of a sentence, which is cut at the limit; "" gives T()."""
        if text:
            text = str(self.tokenizer.decode(self.tokens(_ended(text))[: self._max]))
        return [self.start, *self.tokens(PROMPT.format(text))]

    def scores(
        self, before: Sequence[Sequence[int]], after: Sequence[Sequence[int]], title: str = ""
    ) -> list[Floats]:
        """Return log p of each token of `after` given `before` and the tokens between, in nats.

        Both have n rows of tokens, and no row of `before` is empty. With a title, a bar is shown.
        """
        logs: list[Floats] = [np.zeros(0)] * len(before)
        sizes = [len(first) + len(second) for first, second in zip(before, after, strict=True)]
        bar = Progress(len(before), title) if title else None
        for batch in by_length(sizes, self._budget, len(sizes)):
            width = max(sizes[row] for row in batch)
            # Padding follows the text, where a causal model cannot see it.
            rows = [[*before[row], *after[row]] for row in batch]
            tokens = torch.tensor([row + [0] * (width - len(row)) for row in rows])
            places = [
                (place, position)
                for place, row in enumerate(batch)
                for position in range(len(before[row]) - 1, sizes[row] - 1)
            ]
            targets = [token for row in batch for token in after[row]]
            values = self._log_p(tokens, places, targets)
            ends = np.cumsum([0, *(len(after[row]) for row in batch)]).tolist()
            for row, (begin, end) in zip(batch, pairwise(ends), strict=True):
                logs[row] = values[begin:end]
            if bar is not None:
                bar.advance(len(batch))
        return logs

    def _log_p(
        self, tokens: torch.Tensor, places: Sequence[tuple[int, int]], targets: Sequence[int]
    ) -> Floats:
        """Return log p of targets after some (row, position) of tokens, (n, t)."""
        network: Any = self.model
        rows, columns = torch.tensor(places, dtype=torch.long).reshape(-1, 2).T
        with torch.inference_mode():
            logits = network(input_ids=tokens.to(network.device), use_cache=False).logits
            logs = logits[rows, columns].float().log_softmax(-1)
            chosen = logs.gather(1, torch.tensor(targets, device=logs.device)[:, None])[:, 0]
        return np.asarray(chosen.cpu().double().numpy())


class Direct:
    """How much of each sentence the other explains; a `PairScorer` that explains by tokens.

    Scores are at most 1, which equal texts have, and 0 where the other sentence tells nothing. They
    are below 0 where it misleads. They are symmetric, and depend on no other pair beyond rounding.
    """

    name = "direct contexts"

    def __init__(self, language_model: LanguageModel) -> None:
        self._model = language_model

    @classmethod
    def open(cls, name: str, dtype: torch.dtype, where: torch.device) -> "Direct":
        """Open direct contexts by a language model: folder, GGUF file, or name."""
        return cls(LanguageModel(*open_causal_lm(PretrainedFiles.find(name), dtype, where)))

    def similarity(self, text1: str, text2: str) -> float:
        """Return the similarity of two texts."""
        return float(self.similarities([(text1, text2)])[0])

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        """Return the similarities of n pairs, (n,)."""
        shares = [1.0] * len(pairs)
        for number, (first, second) in enumerate(self._explained(pairs)):
            if pairs[number][0] != pairs[number][1]:
                shares[number] = float(first.sum() + second.sum()) / 2
        return np.array(shares, np.float64)

    def explain(self, text1: str, text2: str) -> Explanation:
        """Return the similarity with what each sentence explains of every word of the other.

        The contexts are the two sentences. The details of a context are the words of the other
        sentence, each with what it adds to the score.
        """
        (shares,) = self._explained(checked([(text1, text2)]))
        texts, sides, contexts = (text1, text2), [], []
        for side, (text, share) in enumerate(zip(texts, shares, strict=True)):
            words = self._words(text, share / 2, texts[1 - side])
            sides.append(words)
            contexts.append(
                ContextShare(
                    text=texts[1 - side],
                    document=f"sentence {2 - side}",
                    fit1=float(share.sum()) if side == 0 else 1.0,
                    fit2=float(share.sum()) if side == 1 else 1.0,
                    contribution=float(share.sum()) / 2,
                    details={word.text: word.contribution or 0.0 for word in words},
                )
            )
        added = [context.contribution for context in contexts]
        score = sum(added)
        return Explanation(
            text1=text1,
            text2=text2,
            score=score,
            parts=parts_of(score, {CONTEXTS: (score, added)}),
            contexts=tuple(contexts),
            words1=sides[0],
            words2=sides[1],
        )

    def _explained(self, pairs: Sequence[TextPair]) -> Iterator[tuple[Floats, Floats]]:
        """Yield the share of each token of both texts of a pair, in the order of the pairs."""
        directed = list(dict.fromkeys(p for a, b in checked(pairs) for p in ((a, b), (b, a))))
        texts = list(dict.fromkeys(target for _, target in directed))
        targets = {text: self._model.target(text)[0] for text in texts}
        empty = [self._model.prompt("")] * len(texts)
        unprompted = self._model.scores(empty, [targets[text] for text in texts])
        alone = dict(zip(texts, unprompted, strict=True))
        prompts = {a: self._model.prompt(a) for a in dict.fromkeys(a for a, _ in directed)}
        conditional = self._model.scores(
            [prompts[context] for context, _ in directed],
            [targets[target] for _, target in directed],
            "Direct contexts",
        )
        shares = {}
        for (context, target), logs in zip(directed, conditional, strict=True):
            surprise = -float(alone[target].sum())
            shares[context, target] = (logs - alone[target]) / (surprise or 1.0)
        for a, b in pairs:
            yield shares[b, a], shares[a, b]

    def _words(self, text: str, added: Floats, other: str) -> tuple[Word, ...]:
        """Return the distinct words of a text with what their tokens add to the score."""
        ends = self._model.target(text)[1]
        written = spans(text)
        if not written:
            return ()
        starts = np.array([start for start, _ in written])
        # A token belongs to the last word that begins before its end, as a full stop does.
        owners = np.maximum(np.searchsorted(starts, np.array(ends, np.int64)) - 1, 0)
        sums: dict[str, float] = {text[start:end]: 0.0 for start, end in written}
        for owner, amount in zip(owners.tolist(), added.tolist(), strict=True):
            sums[text[slice(*written[owner])]] += amount
        shared = {other[start:end].lower() for start, end in spans(other)}
        return tuple(
            Word(text=word, contribution=amount, matched=word.lower() in shared)
            for word, amount in sums.items()
        )


def _ended(text: str) -> str:
    """Return a sentence that ends in a mark."""
    stripped = text.strip()
    return stripped if stripped[-1:] in _ENDS else f"{stripped}."


def open_causal_lm(
    place: PretrainedFiles, dtype: torch.dtype, where: torch.device
) -> "tuple[PreTrainedModel, PreTrainedTokenizerBase]":
    """Open a causal language model and its tokenizer, in evaluation mode."""
    if place.kind is not ModelKind.CAUSAL_LM:
        raise InputError(f"{place.model}: {place.kind}; expected a causal language model")
    if place.file is not None:
        require("gguf", "torch", f"The GGUF file {place.file}")

    def load() -> "tuple[PreTrainedModel, PreTrainedTokenizerBase]":
        import transformers

        library: Any = transformers
        more = {"gguf_file": place.file} if place.file is not None else {}
        tokenizer = library.AutoTokenizer.from_pretrained(
            place.folder, local_files_only=True, **more
        )
        if place.file is not None:
            return _from_gguf(place), tokenizer
        network, info = library.AutoModelForCausalLM.from_pretrained(
            place.folder, dtype=dtype, use_safetensors=True, local_files_only=True,
            output_loading_info=True,
        )  # fmt: skip
        check_loaded(info)
        return network, tokenizer

    network: Any
    network, tokenizer = quietly(place.model, "a causal language model", load)
    return network.to(dtype=dtype, device=where).eval(), tokenizer


def _from_gguf(place: PretrainedFiles) -> "PreTrainedModel":
    """Return the model of a GGUF file as an ordinary one; the loaded one counts as quantized."""
    import transformers

    library: Any = transformers
    loaded = library.AutoModelForCausalLM.from_pretrained(
        place.folder, gguf_file=place.file, dtype=torch.float32, local_files_only=True
    )
    config = loaded.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    plain: PreTrainedModel = library.AutoModelForCausalLM.from_config(config)
    plain.load_state_dict(loaded.state_dict())
    plain.tie_weights()
    return plain

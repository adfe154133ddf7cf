"""What an encoder makes of each word in its sentence: the mean state of the word's tokens.

By these states the words of two sentences are aligned (as in BERTScore: Zhang et al. 2020), where
an encoder has them; where it has none, by what the corpus taught of each word.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Transformer

from firth.context.encoder import unit
from firth.lexical.arrays import Floats
from firth.lexical.words import Stemmer, spans, stems, words
from firth.run.quiet import quiet_libraries

_BATCH = 64


class WordStates:
    """Texts → directions of their distinct stems, in the order of `WordSpace.stems`.

    Args:
        model: Its first module is a Transformer with offsets of its tokens (`has_states`).
        stemmer: Of the words.
        mean: Taken away from every state, (d,).
    """

    def __init__(self, model: SentenceTransformer, stemmer: Stemmer, mean: Floats) -> None:
        self._model, self._stemmer, self.mean = model, stemmer, mean

    @classmethod
    def fit(
        cls, model: SentenceTransformer, stemmer: Stemmer, texts: Sequence[str]
    ) -> "WordStates":
        """Centred by the words of some sentences of the corpus."""
        found = cls(model, stemmer, np.zeros(1))
        states = np.concatenate([rows for rows in found._raw(texts) if len(rows)])
        found.mean = states[states.any(axis=1)].mean(axis=0)
        return found

    def __call__(self, texts: Sequence[str]) -> list[Floats]:
        """Unit vectors, (stems of the text, d) each; 0 for a word that was not read to its end."""
        return [
            unit(np.where(rows.any(axis=1, keepdims=True), rows - self.mean, 0.0))
            for rows in self._raw(texts)
        ]

    def _raw(self, texts: Sequence[str]) -> list[Floats]:
        found: dict[int, Floats] = {}
        order = sorted(range(len(texts)), key=lambda n: len(texts[n]))
        with quiet_libraries(), torch.inference_mode():
            for start in range(0, len(order), _BATCH):
                numbers = order[start : start + _BATCH]
                states, offsets = self._states([texts[n] for n in numbers])
                for n, rows, places in zip(numbers, states, offsets, strict=True):
                    found[n] = self._by_stem(texts[n], rows, places)
        return [found[n] for n in range(len(texts))]

    def _states(self, texts: list[str]) -> tuple[Floats, Any]:
        """States of the tokens, (n, tokens, d), and where in its text each begins and ends."""
        tokenizer: Any = self._model.tokenizer
        longest = self._model.max_seq_length
        read = tokenizer(
            texts, truncation=longest is not None, max_length=longest, padding=True,
            return_tensors="pt", return_offsets_mapping=True,
        )  # fmt: skip
        offsets = read.pop("offset_mapping").numpy()
        features = {name: each.to(self._model.device) for name, each in read.items()}
        states = self._model[0](features)["token_embeddings"]
        return states.cpu().double().numpy(), offsets

    def _by_stem(self, text: str, states: Floats, offsets: Any) -> Floats:
        said, places = words(text), spans(text)
        # A capital may have a small form of two characters, one of them outside the word (İ).
        if [text[a:b].lower() for a, b in places] != said:
            places = [(0, 0)] * len(said)
        held: dict[str, list[Floats]] = {}
        for stem, (start, end) in zip(stems(said, self._stemmer), places, strict=True):
            states_of = held.setdefault(stem, [])
            inside = (offsets[:, 1] > start) & (offsets[:, 0] < end)
            inside &= offsets[:, 1] > offsets[:, 0]  # no token of the model's own
            if inside.any():
                states_of.append(states[inside].mean(axis=0))
        nothing = np.zeros(states.shape[1])
        rows = [np.mean(each, axis=0) if each else nothing for each in held.values()]
        return np.array(rows).reshape(-1, states.shape[1])


def has_states(model: SentenceTransformer) -> bool:
    """Whether a model's words have states, and it is known which tokens are theirs."""
    return isinstance(model[0], Transformer) and getattr(model.tokenizer, "is_fast", False)

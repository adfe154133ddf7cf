"""Skip-thought vectors (Kiros et al. 2015): encode a sentence, write the ones before and after."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional

from firth.corpus.numbered import WordSentences, read_sentences
from firth.lexical.arrays import Ints, Singles
from firth.lexical.scorer import CosineScorer
from firth.lexical.words import Stemmer, stems, words
from firth.run.errors import InputError
from firth.run.files import read_json, write_atomically, write_json
from firth.run.run import Run
from firth.run.seeds import derive_seed
from firth.run.stage import SCRATCH
from firth.run.training import Schedule, train

SETTINGS, WEIGHTS = "settings.json", "model.safetensors"
_ENCODER = ("embedding.", "encoder.")
_TEXTS = 64
"""Texts encoded together."""


@dataclass(frozen=True)
class Padded:
    """Sentences as a rectangle of word numbers.

    Attributes:
        pieces: int64, (B, T); 0 after a sentence's end.
        lengths: int64, (B,), at least 1.
    """

    pieces: Tensor
    lengths: Tensor

    @property
    def inside(self) -> Tensor:
        """(B, T): true where there is a word."""
        return torch.arange(self.pieces.shape[1]) < self.lengths[:, None]


@dataclass(frozen=True)
class Sampled:
    """Words that stand for the whole vocabulary in one softmax (Jean et al. 2015, §3).

    Attributes:
        words: int64, (S,), distinct.
        odds: float32, (V,): log of how often a word is expected in such a sample.
    """

    words: Tensor
    odds: Tensor


class SkipThought(nn.Module):
    """A GRU encoder whose last state is the sentence vector, and two GRU decoders.

    A decoder sees the sentence vector at every step beside the word before: the conditional GRU of
    §2.1, whose biases are linear in the vector, with one matrix.

    Args:
        vocabulary: V.
        embedding: Size of a word vector, shared by all three.
        hidden: Size of the sentence vector and of the decoders' states.
    """

    def __init__(self, vocabulary: int, embedding: int, hidden: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, embedding)
        nn.init.normal_(self.embedding.weight, std=0.1)
        self.encoder = nn.GRU(embedding, hidden, batch_first=True)
        self.before = nn.GRU(embedding + hidden, hidden, batch_first=True)
        self.after = nn.GRU(embedding + hidden, hidden, batch_first=True)
        self.output = nn.Embedding(vocabulary, hidden)
        nn.init.normal_(self.output.weight, std=0.1)

    def forward(self, sentences: Padded) -> Tensor:
        """Sentence vectors, (B, hidden)."""
        states, _ = self.encoder(self.embedding(sentences.pieces))
        last: Tensor = states[torch.arange(len(states)), sentences.lengths - 1]
        return last

    def loss(self, centres: Padded, before: Padded, after: Padded, sampled: Sampled) -> Tensor:
        """Mean negative log-likelihood of a word of the sentences before and after (§2.1, Eq. 10).

        A rectangle's rows belong together; each word's softmax is over it and the sampled words.
        """
        vectors = self(centres)
        costs = [
            self._written(self.before, vectors, before, sampled),
            self._written(self.after, vectors, after, sampled),
        ]
        return torch.cat(costs).mean()

    def _written(
        self, decoder: nn.GRU, vectors: Tensor, sentences: Padded, sampled: Sampled
    ) -> Tensor:
        """-log p of each word, (number of words,)."""
        words = self.embedding(sentences.pieces)
        # The first word is written from the sentence vector alone.
        previous = functional.pad(words, (0, 0, 1, 0))[:, :-1]
        given = vectors[:, None].expand(-1, words.shape[1], -1)
        states, _ = decoder(torch.cat((previous, given), dim=2))
        inside = sentences.inside
        return sampled_cost(states[inside], sentences.pieces[inside], self.output.weight, sampled)


def sampled_cost(states: Tensor, targets: Tensor, output: Tensor, sampled: Sampled) -> Tensor:
    """-log softmax of each target among itself and the sampled words, corrected for sampling.

    Args:
        states: (N, h).
        targets: (N,), word numbers.
        output: (V, h).
        sampled: The sample, and how likely each word was to be in it.

    Returns:
        (N,). With every word sampled and equal odds it is the full softmax.
    """
    own = (states * output[targets]).sum(dim=1) - sampled.odds[targets]
    others = states @ output[sampled.words].T - sampled.odds[sampled.words]
    others = others.masked_fill(sampled.words == targets[:, None], -torch.inf)
    return torch.logsumexp(torch.cat((own[:, None], others), dim=1), dim=1) - own


class Triples:
    """Batches of sentences with the ones before and after, a function of the step alone.

    Args:
        sentences: The corpus.
        size: Centres a batch.
        sample: Words that stand for the vocabulary in a step's softmax.
        seed: Of centres and words.
    """

    def __init__(self, sentences: WordSentences, size: int, sample: int, seed: int) -> None:
        documents = sentences.documents
        self.centres: Ints = np.flatnonzero(documents[:-2] == documents[2:]) + 1
        self._sentences, self._size, self._seed = sentences, size, seed
        share = sentences.counts**0.75
        # With the sampling of each word apart, of mean min(1, S·q), no normalisation is needed.
        self._expected = np.minimum(1.0, min(sample, len(share)) * (share / share.sum()))
        self._odds = torch.from_numpy(np.log(self._expected).astype(np.float32))

    def __call__(self, step: int) -> tuple[Padded, Padded, Padded, Sampled]:
        """Centres, the sentences before, the ones after, and the sampled words."""
        rng = np.random.default_rng(derive_seed(self._seed, step))
        chosen = rng.choice(self.centres, self._size)
        drawn = np.flatnonzero(rng.random(len(self._expected)) < self._expected)
        sampled = Sampled(torch.from_numpy(drawn), self._odds)
        return self._padded(chosen), self._padded(chosen - 1), self._padded(chosen + 1), sampled

    def _padded(self, chosen: Ints) -> Padded:
        pieces, offsets = self._sentences.gather(chosen)
        return padded(np.split(pieces, offsets[1:]))


def padded(rows: Sequence[Ints]) -> Padded:
    """Rows of word numbers, none empty, as one rectangle."""
    lengths = np.array([len(row) for row in rows])
    cells = np.zeros((len(rows), int(lengths.max())), np.int64)
    cells[np.arange(cells.shape[1]) < lengths[:, None]] = np.concatenate(rows)
    return Padded(torch.from_numpy(cells), torch.from_numpy(lengths))


def fit(run: Run, name: str, workspace: Path) -> Mapping[str, Any]:
    """Train skip-thought vectors on a run's corpus; see `firth.baselines.trained`.

    Raises:
        InputError: No word occurs often enough, or no sentence has two neighbours.
    """
    config = run.config.baselines.skip_thought
    seed = derive_seed(run.config.seed, "baseline", name)
    sentences = read_sentences(run, config, workspace / SCRATCH)
    triples = Triples(sentences, config.batch, config.sampled_words, derive_seed(seed, "order"))
    if not len(triples.centres):
        raise InputError(f"{run.path}: no document has three sentences; {name} learns from three")
    torch.manual_seed(derive_seed(seed, "vectors"))
    model = SkipThought(len(sentences.vocabulary), config.dimensions, config.hidden)
    schedule = Schedule(
        steps=config.steps,
        learning_rate=config.learning_rate,
        warmup=int(config.warmup * config.steps),
        checkpoint_steps=200,
        seed=seed,
        report_steps=-(-config.steps // 10),
    )
    history = train(
        model,
        triples,
        lambda batch: model.loss(*batch),
        schedule,
        workspace / SCRATCH,
        f"Baseline {name}",
    )
    settings = {
        "vocabulary": list(sentences.vocabulary),
        "dimensions": config.dimensions,
        "hidden": config.hidden,
        "stemmer": config.stemmer.value,
        "max_words": config.max_words,
    }
    write_json(workspace / SETTINGS, settings)
    kept = {key: value for key, value in model.state_dict().items() if key.startswith(_ENCODER)}
    with write_atomically(workspace / WEIGHTS) as partial:
        save_file(kept, partial)
    return {**sentences.summary, "losses": [round(entry["loss"], 6) for entry in history]}


def load(folder: Path) -> CosineScorer:
    """The encoder of a trained folder; a text is cut after `max_words` known words."""
    settings = read_json(folder / SETTINGS)
    numbers = {word: i for i, word in enumerate(settings["vocabulary"])}
    stemmer, cut = Stemmer(settings["stemmer"]), settings["max_words"]
    model = SkipThought(len(numbers), settings["dimensions"], settings["hidden"]).eval()
    model.load_state_dict(load_file(folder / WEIGHTS), strict=False)

    def encode(texts: Sequence[str]) -> Singles:
        found = np.zeros((len(texts), settings["hidden"]), np.float32)
        rows = {}
        for place, text in enumerate(texts):
            known = [i for stem in stems(words(text), stemmer) if (i := numbers.get(stem, -1)) >= 0]
            if known:
                rows[place] = np.array(known[:cut], np.int64)
        order = sorted(rows, key=lambda place: len(rows[place]))
        for start in range(0, len(order), _TEXTS):
            places = order[start : start + _TEXTS]
            with torch.no_grad():
                found[places] = model(padded([rows[place] for place in places])).numpy()
        return found

    return CosineScorer(f"skip-thought ({settings['hidden']}-d GRU)", encode)

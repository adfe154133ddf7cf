"""Baselines that torch trains on the sentences of a run: skip-thought, SimCSE, TSDAE and CT.

- skip-thought (Kiros et al. 2015): encode a sentence, predict the sentences before and after;
- SimCSE (Gao et al. 2021, unsupervised): a sentence and itself under another dropout are a pair,
  and the other sentences of the batch are its negatives;
- TSDAE (Wang et al. 2021): words are deleted, and a decoder that sees the sentence vector alone
  writes the sentence again;
- Contrastive Tension (CT, Carlsson et al. 2021): two copies of the encoder agree on the same
  sentence and disagree on different ones.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional

from firth.corpus.corpus import Corpus
from firth.corpus.numbered import WordSentences
from firth.encoders.folder import MODULES, PretrainedFiles
from firth.encoders.transformer import device, open_sentence_transformer
from firth.reproduce.averaged import evenly_spaced
from firth.reproduce.neighbors import sentences_of
from firth.reproduce.settings import SkipThoughtSettings, TunedSettings
from firth.run.console import quiet_libraries
from firth.run.errors import InputError, first_line
from firth.run.files import read_json, write_json
from firth.run.run import Run
from firth.run.seeds import derive_seed
from firth.run.stage import SCRATCH
from firth.text.arrays import Ints, Singles
from firth.text.pairs import CosineScorer
from firth.text.words import words
from firth.train.loop import Schedule, train, write_tensors

_SETTINGS, _WEIGHTS = "settings.json", "model.safetensors"
_ENCODER = ("embedding.", "encoder.")
_TEXTS = 64
"""Texts that are encoded together."""
_MAX_WORDS = 30
"""Words of a sentence that skip-thought reads and predicts."""
_SAMPLED_WORDS = 1_000
"""Words that represent the vocabulary in a step's softmax, about."""
_WARMUP = 0.05
_TEMPERATURE = 0.05
_DELETION = 0.6
"""Share of words that TSDAE deletes."""
_NEGATIVES = 7
"""Different sentences for each equal one in CT."""
_CHECKPOINT_STEPS = 200


# --- Skip-thought ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Padded:
    """Sentences as a rectangle of word numbers.

    Attributes:
        pieces: int64, (B, T); 0 after the end of a sentence.
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
    """Words that represent the whole vocabulary in one softmax (Jean et al. 2015, section 3).

    Attributes:
        words: int64, (S,), distinct.
        odds: float32, (V,): log of how often a word is expected in such a sample.
    """

    words: Tensor
    odds: Tensor


class SkipThought(nn.Module):
    """A GRU encoder whose last state is the sentence vector, and two GRU decoders.

    A decoder sees the sentence vector and the previous word at every step: the conditional GRU of
    section 2.1, whose biases are linear in the vector.

    Args:
        vocabulary: V.
        embedding: Size of a word vector, shared by all three.
        hidden: Size of the sentence vector and of the states.
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
        """Return sentence vectors, (B, hidden)."""
        states, _ = self.encoder(self.embedding(sentences.pieces))
        last: Tensor = states[torch.arange(len(states)), sentences.lengths - 1]
        return last

    def loss(self, centers: Padded, before: Padded, after: Padded, sampled: Sampled) -> Tensor:
        """Return the mean cost of a word of the sentences before and after (Eq. 10).

        Equal rows belong together. The softmax of a word is over it and the sampled words.
        """
        vectors = self(centers)
        costs = [
            self._costs(self.before, vectors, before, sampled),
            self._costs(self.after, vectors, after, sampled),
        ]
        return torch.cat(costs).mean()

    def _costs(
        self, decoder: nn.GRU, vectors: Tensor, sentences: Padded, sampled: Sampled
    ) -> Tensor:
        """Return -log p of each word, (number of words,)."""
        # The first word is predicted from the sentence vector alone.
        previous = functional.pad(self.embedding(sentences.pieces), (0, 0, 1, 0))[:, :-1]
        given = vectors[:, None].expand(-1, previous.shape[1], -1)
        states, _ = decoder(torch.cat((previous, given), dim=2))
        inside = sentences.inside
        return sampled_cost(states[inside], sentences.pieces[inside], self.output.weight, sampled)


def sampled_cost(states: Tensor, targets: Tensor, output: Tensor, sampled: Sampled) -> Tensor:
    """Return -log softmax of each target among itself and sampled words, corrected for sampling.

    Args:
        states: (N, h).
        targets: (N,), word numbers.
        output: (V, h).
        sampled: The sample, and how likely each word was to be in it.

    Returns:
        (N,). With every word sampled and equal odds it is the full softmax.
    """
    aimed = (states * output[targets]).sum(dim=1) - sampled.odds[targets]
    others = states @ output[sampled.words].T - sampled.odds[sampled.words]
    others = others.masked_fill(sampled.words == targets[:, None], -torch.inf)
    return torch.logsumexp(torch.cat((aimed[:, None], others), dim=1), dim=1) - aimed


class Triples:
    """Batches of sentences with the ones before and after, a function of the step.

    Args:
        sentences: The corpus.
        size: Centers in a batch.
        seed: Decides centers and sampled words.
    """

    def __init__(self, sentences: WordSentences, size: int, seed: int) -> None:
        documents = sentences.documents
        self.centers: Ints = np.flatnonzero(documents[:-2] == documents[2:]) + 1
        self._sentences, self._size, self._seed = sentences, size, seed
        share = sentences.counts**0.75
        # Each word is sampled independently, with probability min(1, S q).
        expected = min(_SAMPLED_WORDS, len(share)) * (share / share.sum())
        self._expected = np.minimum(1.0, expected)
        self._odds = torch.from_numpy(np.log(self._expected).astype(np.float32))

    def __call__(self, step: int) -> tuple[Padded, Padded, Padded, Sampled]:
        """Return centers, the sentences before, the ones after, and the sampled words."""
        rng = np.random.default_rng(derive_seed(self._seed, step))
        chosen = rng.choice(self.centers, self._size)
        drawn = np.flatnonzero(rng.random(len(self._expected)) < self._expected)
        sampled = Sampled(torch.from_numpy(drawn), self._odds)
        return self._padded(chosen), self._padded(chosen - 1), self._padded(chosen + 1), sampled

    def _padded(self, chosen: Ints) -> Padded:
        pieces, offsets = self._sentences.gather(chosen)
        return padded([row[:_MAX_WORDS] for row in np.split(pieces, offsets[1:])])


def padded(rows: Sequence[Ints]) -> Padded:
    """Return rows of word numbers, none empty, as one rectangle."""
    lengths = np.array([len(row) for row in rows])
    cells = np.zeros((len(rows), int(lengths.max())), np.int64)
    cells[np.arange(cells.shape[1]) < lengths[:, None]] = np.concatenate(rows)
    return Padded(torch.from_numpy(cells), torch.from_numpy(lengths))


def fill_skip_thought(
    run: Run, name: str, settings: SkipThoughtSettings, workspace: Path
) -> Mapping[str, Any]:
    """Train skip-thought vectors on a run's corpus.

    Raises:
        InputError: No word occurs often enough, or no sentence has two neighbors.
    """
    seed, scratch = derive_seed(run.settings.seed, "baseline", name), workspace / SCRATCH
    sentences = sentences_of(run, settings, scratch)
    triples = Triples(sentences, settings.batch, derive_seed(seed, "order"))
    if not len(triples.centers):
        raise InputError(f"{run.path}: no document has three sentences; {name} learns from three")
    torch.manual_seed(derive_seed(seed, "vectors"))
    model = SkipThought(len(sentences.vocabulary), settings.dimensions, settings.hidden)
    schedule = Schedule(
        steps=settings.steps,
        rate=settings.learning_rate,
        warmup=int(_WARMUP * settings.steps),
        checkpoint_steps=_CHECKPOINT_STEPS,
        seed=seed,
        report_steps=-(-settings.steps // 10),
    )
    history = train(
        model, triples, lambda batch: model.loss(*batch), schedule, scratch, f"Baseline {name}"
    )
    plain = settings.model_dump(mode="json", include={"dimensions", "hidden"})
    write_json(workspace / _SETTINGS, plain | {"vocabulary": list(sentences.vocabulary)})
    kept = {key: value for key, value in model.state_dict().items() if key.startswith(_ENCODER)}
    write_tensors(workspace / _WEIGHTS, kept)
    return {**sentences.summary, "losses": [round(entry["loss"], 6) for entry in history]}


def load_skip_thought(folder: Path) -> CosineScorer:
    """Open the encoder of a trained folder; a text is cut after 30 known words."""
    settings = read_json(folder / _SETTINGS)
    numbers = {word: i for i, word in enumerate(settings["vocabulary"])}
    model = SkipThought(len(numbers), settings["dimensions"], settings["hidden"]).eval()
    model.load_state_dict(load_file(folder / _WEIGHTS), strict=False)

    def encode(texts: Sequence[str]) -> Singles:
        vectors = np.zeros((len(texts), settings["hidden"]), np.float32)
        rows = {}
        for place, text in enumerate(texts):
            if known := [numbers[word] for word in words(text) if word in numbers]:
                rows[place] = np.array(known[:_MAX_WORDS], np.int64)
        order = sorted(rows, key=lambda place: len(rows[place]))
        for start in range(0, len(order), _TEXTS):
            places = order[start : start + _TEXTS]
            with torch.no_grad():
                vectors[places] = model(padded([rows[place] for place in places])).numpy()
        return vectors

    return CosineScorer(f"skip-thought ({settings['hidden']}-d GRU)", encode)


# --- Encoders that are tuned without labels ----------------------------------------------------


def fill_tuned(run: Run, name: str, settings: TunedSettings, workspace: Path) -> Mapping[str, Any]:
    """Tune an encoder on a run's corpus by `simcse`, `tsdae` or `ct`.

    The workspace becomes a folder that sentence-transformers opens.

    Raises:
        InputError: The base cannot be loaded or used as a decoder, or the corpus has fewer than
            two sentences of usual length.
    """
    seed, scratch = derive_seed(run.settings.seed, "baseline", name), workspace / SCRATCH
    corpus = Corpus.open(run)
    usual = corpus.usual_sentences()
    if len(usual) < 2:
        raise InputError(f"{run.path}: got {len(usual)} sentences of usual length; {name} needs 2")
    texts = corpus.texts(evenly_spaced(usual, settings.sentences))
    where = device()
    with quiet_libraries(), torch.random.fork_rng():
        torch.manual_seed(seed)  # Decides TSDAE's cross-attention, which has no weights yet.
        model = _encoder(settings)
        loss = _loss(model, name).to(where)
    pairs = examples(texts, name, settings.epochs, seed)
    steps = -(-len(pairs) // settings.batch)

    def loss_of(some: Sequence[tuple[str, str]]) -> Tensor:
        with quiet_libraries():
            read = [model.preprocess(list(side)) for side in zip(*some, strict=True)]
        features = [
            {key: value.to(where) if isinstance(value, Tensor) else value
             for key, value in one.items()}
            for one in read
        ]  # fmt: skip
        value: Tensor = loss(features, None)
        return value

    schedule = Schedule(
        steps=steps,
        rate=settings.learning_rate,
        warmup=int(settings.warmup * steps),
        checkpoint_steps=_CHECKPOINT_STEPS,
        seed=seed,
        report_steps=-(-steps // 10),
    )
    history = train(
        loss,
        lambda step: pairs[step * settings.batch : (step + 1) * settings.batch],
        loss_of,
        schedule,
        scratch,
        f"Baseline {name}",
    )
    with quiet_libraries():
        model.eval().cpu().save_pretrained(str(workspace), create_model_card=False)
    losses = [round(entry["loss"], 6) for entry in history]
    return {"sentences": len(texts), "examples": len(pairs), "losses": losses}


def _encoder(settings: TunedSettings) -> Any:
    """Open the base; one that has no pooling gets that of the settings."""
    place = PretrainedFiles.find(settings.base or "")
    has_modules = (place.folder / MODULES).is_file()
    model = open_sentence_transformer(place, None if has_modules else settings.pooling)
    longest = model.max_seq_length or settings.max_tokens
    model.max_seq_length = min(longest, settings.max_tokens)
    return model


def _loss(model: Any, name: str) -> nn.Module:
    from sentence_transformers.sentence_transformer import losses

    if name == "simcse":
        return losses.MultipleNegativesRankingLoss(model, scale=1 / _TEMPERATURE)
    if name == "ct":
        return losses.ContrastiveTensionLoss(model)
    try:
        return losses.DenoisingAutoEncoderLoss(model, tie_encoder_decoder=True)
    except (ValueError, OSError, AttributeError, AssertionError, KeyError) as error:
        raise InputError(
            f"baseline tsdae: the base cannot be a decoder: {first_line(error)}. Expected a BERT, "
            "RoBERTa or the like with a language-model head"
        ) from error


def examples(texts: Sequence[str], name: str, epochs: int, seed: int) -> list[tuple[str, str]]:
    """Return the pairs of all epochs, one after the other; the seed decides pairs and order."""
    rng = random.Random(seed)
    pairs: list[tuple[str, str]] = []
    for _ in range(epochs):
        epoch = []
        for place in rng.sample(range(len(texts)), len(texts)):
            text = texts[place]
            epoch.append((damaged(text, _DELETION, rng) if name == "tsdae" else text, text))
            if name == "ct":
                others = [rng.randrange(len(texts) - 1) for _ in range(_NEGATIVES)]
                epoch += [(text, texts[other + (other >= place)]) for other in others]
        if name == "ct":
            rng.shuffle(epoch)
        pairs += epoch
    return pairs


def damaged(text: str, deletion: float, rng: random.Random) -> str:
    """Return a text without a share `deletion` of its words, at least one being left."""
    split = text.split()
    return " ".join([word for word in split if rng.random() >= deletion] or [rng.choice(split)])

"""Baselines that tune a pretrained encoder on the sentences of a run: SimCSE, TSDAE and CT.

- SimCSE (Gao et al. 2021, unsupervised): a sentence and itself under another dropout are a pair,
  and the other sentences of the batch are its negatives;
- TSDAE (Wang et al. 2021): words are deleted, and a decoder that sees the sentence vector alone
  writes the sentence again;
- Contrastive Tension (CT, Carlsson et al. 2021): two copies of the encoder agree on the same
  sentence and disagree on different ones.
"""

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sentence_transformers.sentence_transformer import losses
from torch import Tensor, nn

from firth.corpus.corpus import Corpus
from firth.encoders.folder import MODULES, PretrainedFiles
from firth.encoders.transformer import device, open_sentence_transformer
from firth.reproduce.settings import TunedSettings
from firth.run.console import quiet_libraries
from firth.run.errors import InputError, first_line
from firth.run.run import Run
from firth.run.seeds import derive_seed
from firth.run.stage import SCRATCH
from firth.train.loop import Schedule, train
from firth.train.students import on_device

_TEMPERATURE = 0.05
_DELETION = 0.6
"""Share of words that TSDAE deletes."""
_NEGATIVES = 7
"""Different sentences for each equal one in CT."""
_CHECKPOINT_STEPS = 200


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
    count = min(len(usual), settings.sentences)  # evenly spaced
    texts = corpus.texts(usual[np.arange(count) * len(usual) // count])
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
        value: Tensor = loss([on_device(one, where) for one in read], None)
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

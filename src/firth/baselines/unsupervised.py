"""Unsupervised encoders on equal data: SimCSE, TSDAE and CT, by sentence-transformers' own losses.

Each tunes a given encoder on the sentences of a run's corpus, and nothing else:

- **simcse** (Gao, Yao & Chen, EMNLP 2021, unsupervised): a sentence and itself under another
  dropout are a pair, the other sentences of the batch are its negatives;
- **tsdae** (Wang, Reimers & Gurevych, Findings of EMNLP 2021): words are deleted, and a decoder
  that sees the sentence vector alone writes the sentence again;
- **ct** (Carlsson et al., ICLR 2021, Contrastive Tension): two copies of the encoder shall agree on
  the same sentence and disagree on different ones.
"""

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from sentence_transformers import (
    SentenceTransformer,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
)
from sentence_transformers.sentence_transformer.losses import (
    ContrastiveTensionLoss,
    DenoisingAutoEncoderLoss,
    MultipleNegativesRankingLoss,
)
from sentence_transformers.sentence_transformer.modules import Pooling
from transformers import PrinterCallback, TrainerCallback, TrainerControl, TrainerState
from transformers import TrainingArguments as _Arguments

from firth.baselines.settings import CtConfig, EncoderConfig, SimcseConfig, TsdaeConfig
from firth.baselines.transformer import open_sentence_encoder
from firth.corpus.corpus import Corpus
from firth.corpus.statistics import evenly_spaced, usual_sentences
from firth.lexical.scorer import CosineScorer
from firth.run import sharing
from firth.run.errors import InputError, first_line
from firth.run.files import read_json, write_json
from firth.run.model_files import PretrainedFiles, find_model
from firth.run.pretrained import open_encoder
from firth.run.progress import Bar, bar
from firth.run.quiet import quiet_libraries
from firth.run.run import Run
from firth.run.seeds import derive_seed
from firth.run.stage import SCRATCH

SETTINGS = "settings.json"
TITLES = {"simcse": "SimCSE", "tsdae": "TSDAE", "ct": "Contrastive Tension"}


def _config(run: Run, name: str) -> EncoderConfig:
    config: EncoderConfig = getattr(run.config.baselines, name)
    return config


def _base(run: Run, name: str) -> str:
    base = _config(run, name).base
    if base is None:
        raise InputError(
            f"baseline {name}: no encoder to start from. Name a folder or a hub name: "
            f"firth train baseline {name} --run {run.path} --base NAME_OR_PATH"
        )
    return base


def inputs(run: Run, name: str) -> Mapping[str, str]:
    """What it starts from: what the files of its base hold. Errors as in `fit`."""
    return {"base": PretrainedFiles.find(_base(run, name)).fingerprint}


def fit(run: Run, name: str, workspace: Path) -> Mapping[str, Any]:
    """Tune an encoder on a run's corpus; see `firth.baselines.trained`.

    Adam without weight decay, the learning rate rising over the first steps and falling
    linearly. Float32.

    Args:
        run: A run whose corpus is built.
        name: `simcse`, `tsdae` or `ct`.
        workspace: Where the model is written, as a folder that sentence-transformers opens.

    Raises:
        InputError: No base is named, it cannot be loaded or serves not as a decoder (tsdae), the
            corpus has fewer than two sentences, or several processes are to share the training.
    """
    if sharing.size() > 1:
        raise InputError(f"baseline {name} takes one process, for its batches are not shared: "
                         "train it without torchrun")  # fmt: skip
    config, base = _config(run, name), _base(run, name)
    seed = derive_seed(run.config.seed, "baseline", name) % 2**32
    texts = _texts(run, config)
    with quiet_libraries(), torch.random.fork_rng():
        torch.manual_seed(seed)  # decides TSDAE's cross-attention, which is new
        model = _encoder(base, config)
        loss = _loss(model, config)
        data = _examples(texts, config, seed)
        losses = _train(model, loss, data, config, seed, workspace, name)
    shown = Path(base).name if Path(base).is_dir() else base
    write_json(workspace / SETTINGS, {"title": f"{TITLES[name]} from {shown}"})
    with quiet_libraries():
        model.eval().cpu().save(str(workspace), create_model_card=False)
    return {"sentences": len(texts), "examples": len(data), "loss": losses}


def load(folder: Path) -> CosineScorer:
    """The scorer of a tuned encoder: cosine of its sentence vectors."""
    return open_sentence_encoder(str(folder), str(read_json(folder / SETTINGS)["title"]))


def _texts(run: Run, config: EncoderConfig) -> list[str]:
    """At most `config.sentences` sentences of ordinary length, evenly spaced over the corpus."""
    corpus = Corpus.open(run)
    usual = usual_sentences(corpus, run.config.corpus)
    if len(usual) < 2:
        raise InputError(
            f"{run.path}: {len(usual)} sentences of ordinary length; expected 2 or more"
        )
    return corpus.texts(usual[evenly_spaced(len(usual), config.sentences)])


def _encoder(base: str, config: EncoderConfig) -> SentenceTransformer:
    model = open_encoder(base)
    plain = not (find_model(base) / "modules.json").is_file()
    if plain and len(model) == 2 and isinstance(model[1], Pooling):
        model[1] = Pooling(model[1].get_embedding_dimension(), pooling_mode=config.pooling.value)
    model.max_seq_length = min(model.max_seq_length or config.max_tokens, config.max_tokens)
    return model


def _loss(model: SentenceTransformer, config: EncoderConfig) -> torch.nn.Module:
    if isinstance(config, SimcseConfig):
        return MultipleNegativesRankingLoss(model, scale=1 / config.temperature)
    if isinstance(config, CtConfig):
        return ContrastiveTensionLoss(model)
    try:
        return DenoisingAutoEncoderLoss(model, tie_encoder_decoder=True)
    except (ValueError, OSError, AttributeError, AssertionError, KeyError) as error:
        raise InputError(
            f"baseline tsdae: the base cannot serve as a decoder: {first_line(error)}. "
            "Expected a BERT, RoBERTa or the like with a language-model head"
        ) from error


def _examples(texts: Sequence[str], config: EncoderConfig, seed: int) -> Dataset:
    """Two columns of texts, all epochs one after the other; which ones, the seed decides."""
    rng = random.Random(seed)
    pairs: list[tuple[str, str]] = []
    for _ in range(config.epochs):
        for place in rng.sample(range(len(texts)), len(texts)):
            if isinstance(config, TsdaeConfig):
                pairs.append((damaged(texts[place], config.deletion, rng), texts[place]))
            else:
                pairs.append((texts[place], texts[place]))
            if isinstance(config, CtConfig):
                others = [rng.randrange(len(texts) - 1) for _ in range(config.negatives)]
                pairs += [(texts[place], texts[other + (other >= place)]) for other in others]
    one, two = map(list, zip(*pairs, strict=True))
    return Dataset.from_dict({"text1": one, "text2": two})


def damaged(text: str, deletion: float, rng: random.Random) -> str:
    """`text` without a share `deletion` of its words, at least one being left."""
    words = text.split()
    return " ".join([word for word in words if rng.random() >= deletion] or [rng.choice(words)])


class _Trainer(SentenceTransformerTrainer):
    def add_model_card_callback(self, default_args_dict: dict[str, Any]) -> None:
        """No card is written, so nothing is collected for one."""


class _Progress(TrainerCallback):
    def __init__(self, shown: Bar) -> None:
        self._shown = shown

    def on_step_end(
        self, args: _Arguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        self._shown.advance(1)


def _train(
    model: SentenceTransformer,
    loss: torch.nn.Module,
    data: Dataset,
    config: EncoderConfig,
    seed: int,
    workspace: Path,
    name: str,
) -> list[float]:
    """Train in place; the mean loss of each tenth of the steps."""
    steps = -(-len(data) // config.batch)
    arguments = SentenceTransformerTrainingArguments(
        output_dir=str(workspace / SCRATCH),
        num_train_epochs=1,  # the examples already hold every epoch
        per_device_train_batch_size=config.batch,
        learning_rate=config.learning_rate,
        lr_scheduler_type="linear",
        warmup_steps=int(config.warmup * steps),
        weight_decay=0.0,
        seed=seed,
        data_seed=seed,
        logging_steps=max(1, steps // 10),
        logging_nan_inf_filter=False,
        save_strategy="no",
        eval_strategy="no",
        report_to="none",
        disable_tqdm=True,
        dataloader_pin_memory=False,
    )
    with bar(f"Baseline {name}", steps) as shown:
        trainer = _Trainer(
            model=model,
            args=arguments,
            train_dataset=data,
            loss=loss,
            callbacks=[_Progress(shown)],
        )
        trainer.remove_callback(PrinterCallback)
        trainer.train()
    return [round(float(e["loss"]), 6) for e in trainer.state.log_history if "loss" in e]

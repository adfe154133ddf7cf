"""Tiny models of both backends, made offline."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedModel,
    PreTrainedTokenizerFast,
)

from firth.corpus.build import build_corpus
from firth.corpus.context import Context
from firth.corpus.tokenizer import build_tokenizer
from firth.paper.generation import GENERATOR
from firth.paper.generation.build import train_generator
from firth.paper.generation.open import open_seq2seq
from firth.paper.generation.protocol import Likelihoods, Pairs
from firth.paper.generation.seq2seq import Seq2Seq
from firth.run.config import Config
from firth.run.run import Run

SENTENCES = [
    "The sailor saw the ship near the harbour.",
    "The judge praised the lawyer near the court.",
    "A wave!",
    "The sailor saw the ship near the harbour.",
    "The farmer followed the cow, the tractor, the seed and the plough into the meadow.",
]
CONTEXTS = [
    Context(("The captain left the island.",), ("The storm reached the anchor.",)),
    Context(("The jury found the witness.", "The trial met the law."), ("The verdict.",)),
    Context(("The storm reached the anchor.",), ("The captain left the island.",)),
    Context(("The captain left the island.",), ("The storm reached the anchor.",)),
    Context((), ("The cow met the farmer.",)),
    Context(("The cow met the farmer.",), ()),
]
TERMS = ("sentence", "left", "right")


def all_pairs(n_sentences: int = len(SENTENCES), n_contexts: int = len(CONTEXTS)) -> Pairs:
    """Every sentence with every context."""
    return np.array([(s, c) for s in range(n_sentences) for c in range(n_contexts)], np.int64)


def stack(found: Likelihoods) -> npt.NDArray[np.float32]:
    """(3, n) in the order of `TERMS`."""
    return np.stack([getattr(found, term) for term in TERMS])


def causal_tokenizer() -> PreTrainedTokenizerFast:
    """A byte-level BPE tokenizer with a beginning-of-text token."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=320,
        special_tokens=["<s>", "</s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    texts = SENTENCES + [text for c in CONTEXTS for text in (*c.left, *c.right)]
    tokenizer.train_from_iterator(texts * 3, trainer)
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer,
        bos_token="<s>",
        eos_token="</s>",
        clean_up_tokenization_spaces=False,
    )


def tiny_llama(vocabulary: int = 320) -> PreTrainedModel:
    """Random weights large enough that what stands before a word matters."""
    torch.manual_seed(3)
    config = LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=200,
        initializer_range=0.35,
    )
    model: PreTrainedModel = LlamaForCausalLM(config).train(False)
    return model


def tiny_gpt2(vocabulary: int = 320) -> PreTrainedModel:
    """Learned positions, as many key heads as query heads, biases, tied embeddings."""
    torch.manual_seed(4)
    config = GPT2Config(
        vocab_size=vocabulary,
        n_embd=32,
        n_layer=2,
        n_head=4,
        n_positions=200,
        initializer_range=0.35,
    )
    model: PreTrainedModel = GPT2LMHeadModel(config).train(False)
    return model


SETTINGS = {
    "layers": 2,
    "width": 32,
    "heads": 2,
    "feedforward": 64,
    "steps": 60,
    "batch_tokens": 600,
    "max_tokens": 24,
    "warmup": 5,
    "learning_rate": 0.01,
    "held_out": 0.2,
    "checkpoint_steps": 20,
    "precision": "float32",
}


def prepare(folder: Path, texts: Path, **changes: object) -> Run:
    """A run with a corpus and a tokenizer, ready to train a generator."""
    config = {
        "corpus": {"inputs": [str(texts)]},
        "tokenizer": {"vocabulary": 400},
        "generator": {**SETTINGS, **changes},
    }
    run = Run.create(folder, Config.parse(config, "test"))
    build_corpus(run)
    build_tokenizer(run)
    return run


@pytest.fixture(scope="session")
def trained(tiny_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run with a trained encoder-decoder."""
    run = prepare(tmp_path_factory.mktemp("seq2seq"), tiny_folder)
    train_generator(run)
    return run


@pytest.fixture(scope="session")
def seq2seq(trained: Run) -> Seq2Seq:
    """The generator of `trained`, in float32."""
    return open_seq2seq(trained.folder(GENERATOR), trained.config.generator)

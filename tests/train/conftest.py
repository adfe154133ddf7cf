"""A small run and tiny models of every kind, made here: none of them is downloaded."""

import json
import random
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from firth.corpus.build import build_corpus
from firth.corpus.tokenizer import build_tokenizer
from firth.encoders.static import write_static
from firth.encoders.words import build_words
from firth.evaluation.questions import build_questions
from firth.run.run import Run
from firth.run.settings import Settings
from firth.scorer.blend import build_blend

TOPICS = {
    line.split()[0]: line.split()[1:]
    for line in (
        "sea ship harbor wave sailor storm sail captain anchor island tide",
        "farm farmer field wheat plow cow barn harvest tractor seed meadow",
        "court judge lawyer trial jury witness verdict appeal court law crime",
        "music singer song violin concert piano melody orchestra choir drum stage",
        "verbs saw met left found watched reached followed praised feared remembered",
    )
}
VERBS = TOPICS.pop("verbs")
NOUNS = [noun for nouns in TOPICS.values() for noun in nouns]
SETTINGS = {
    "corpus": {"held_out_fraction": 0.4},
    "words": {"min_count": 2, "dimensions": 16, "batch": 32, "epochs": 2},
    "questions": {"questions": 120, "distractors": 3},
    "distill": {"sentences": 400, "dimensions": 16, "layers": 1, "max_tokens": 32, "batch": 32},
    "adapt": {"steps": 6, "batch": 8},
}


def sentence(topic: str, rng: random.Random) -> str:
    """A sentence about a topic."""
    one, two, three = rng.sample(TOPICS[topic], 3)
    return f"The {one} {rng.choice(VERBS)} the {two} near the {three} of {rng.randint(2, 90)} men."


def documents(count: int = 80) -> list[dict[str, str]]:
    """Documents of one topic each, of two paragraphs of six sentences."""
    rng, records = random.Random(5), []
    for number in range(count):
        topic = list(TOPICS)[number % len(TOPICS)]
        paragraphs = [" ".join(sentence(topic, rng) for _ in range(6)) for _ in range(2)]
        title = f"About the {rng.choice(TOPICS[topic])}"
        records.append({"id": f"{topic}-{number}", "title": title, "text": "\n\n".join(paragraphs)})
    return records


@pytest.fixture(scope="session")
def session_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run with corpus, words, questions and blend."""
    run = Run.create(tmp_path_factory.mktemp("runs") / "run", Settings.model_validate(SETTINGS))
    build_corpus(run, documents())
    build_tokenizer(run)
    build_words(run)
    build_questions(run)
    build_blend(run)
    return run


@pytest.fixture
def run(session_run: Run, tmp_path: Path) -> Run:
    """A copy of the run, in which a test may build."""
    shutil.copytree(session_run.path, tmp_path / "run")
    return Run.open(tmp_path / "run")


@pytest.fixture(scope="session")
def words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A static encoder whose words of one topic have similar vectors."""
    rng, folder = np.random.default_rng(3), tmp_path_factory.mktemp("static") / "words"
    centers = {topic: rng.standard_normal(12) for topic in TOPICS}
    rows = [centers[topic] + rng.standard_normal(12) for topic in TOPICS for _ in TOPICS[topic]]
    rows += [0.2 * rng.standard_normal(12) for _ in VERBS]
    write_static(folder, [*NOUNS, *VERBS], np.array(rows, np.float32))
    return folder


@pytest.fixture(scope="session")
def tiny_bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a random BERT of two layers, which reads 64 tokens."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokens = {token: n for n, token in enumerate([*specials, *NOUNS, *VERBS, "the", "of", "."])}
    tokenizer: Any = Tokenizer(models.WordPiece(tokens, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]",
        special_tokens=[(token, tokens[token]) for token in ("[CLS]", "[SEP]")],
    )  # fmt: skip
    folder = tmp_path_factory.mktemp("models") / "tiny-bert"
    wrapped: Any = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer, model_max_length=64, pad_token="[PAD]", unk_token="[UNK]",
        cls_token="[CLS]", sep_token="[SEP]", mask_token="[MASK]",
    )  # fmt: skip
    wrapped.save_pretrained(folder)
    torch.manual_seed(3)
    config = BertConfig(
        vocab_size=len(tokens), hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=64, initializer_range=0.5,
    )  # fmt: skip
    BertModel(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def tiny_llm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a random Llama of two layers and a byte-level tokenizer without merges."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokens = {token: n for n, token in enumerate(["</s>", *alphabet])}
    tokenizer: Any = Tokenizer(models.BPE(vocab=tokens, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    folder = tmp_path_factory.mktemp("models") / "tiny-llm"
    wrapped: Any = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer, eos_token="</s>"
    )
    wrapped.save_pretrained(folder)
    torch.manual_seed(3)
    config = LlamaConfig(
        vocab_size=len(tokens), hidden_size=32, intermediate_size=48, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=512,
        initializer_range=0.35,
    )  # fmt: skip
    LlamaForCausalLM(config).save_pretrained(folder)
    return folder


def write_rows(path: Path, rows: list[dict[str, Any]]) -> Path:
    """Write records as JSON Lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def scored(tmp_path: Path) -> Path:
    """Pairs of sentences: 5 for one topic, 1 for two; three sources."""
    rng = random.Random(2)
    rows = []
    for number in range(90):
        one, two = (rng.choice(list(TOPICS)) for _ in range(2))
        two = one if number % 2 else two
        texts = [sentence(topic, rng) for topic in (one, two)]
        row = {"sentence1": texts[0], "sentence2": texts[1], "source": "abc"[number % 3]}
        rows.append(row | {"score": 5 if one == two else 1 + rng.random()})
    return write_rows(tmp_path / "scored.jsonl", rows)


@pytest.fixture
def inference(tmp_path: Path) -> Path:
    """Premises with an entailment, a neutral sentence and a contradiction each."""
    rng, rows = random.Random(3), []
    for _ in range(30):
        topic, other = rng.sample(list(TOPICS), 2)
        premise = sentence(topic, rng)
        for label, about in (("entailment", topic), ("neutral", other), ("contradiction", other)):
            row = {"sentence1": premise, "sentence2": sentence(about, rng), "label": label}
            rows.append(row)
    return write_rows(tmp_path / "inference.jsonl", rows)


@pytest.fixture
def triplets(tmp_path: Path) -> Path:
    """Anchors, sentences of their topic, and sentences of another; all splits."""
    rng, rows = random.Random(4), []
    for number in range(60):
        topic, other = rng.sample(list(TOPICS), 2)
        texts = [sentence(about, rng) for about in (topic, topic, other)]
        row = dict(zip(("anchor", "positive", "negative"), texts, strict=True))
        rows.append(row | {"split": ("train", "train", "train", "dev", "test")[number % 5]})
    return write_rows(tmp_path / "triplets.jsonl", rows)

"""Tiny models of every kind, made here: none of them is downloaded."""

import json
import shutil
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from firth.run.run import Run

if find_spec("torch") is None:
    collect_ignore = ["test_transformer.py"]
TEXTS = [
    "The ship sailed.",
    "",
    "A judge left the court near the old red barn, and the sailor followed the cow.",
    "a",
]
KNOWN = """
ship harbor wave sailor storm sail captain anchor island farmer field wheat plow cow barn harvest
tractor seed judge lawyer trial jury witness verdict appeal court law saw met left found watched
reached followed praised feared the a . red
"""
"""Words that the tokenizer of the tiny models has."""


@pytest.fixture
def words_run(toy_copy: Path) -> Run:
    """A copy of the toy run, which has word vectors."""
    return Run.open(toy_copy)


@pytest.fixture(scope="session")
def tiny_bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a random BERT of two layers, which reads 64 tokens."""
    torch: Any = pytest.importorskip("torch")
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    vocabulary = {token: i for i, token in enumerate([*specials, *sorted(KNOWN.split())])}
    tokenizer: Any = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B [SEP]",
        special_tokens=[(token, vocabulary[token]) for token in ("[CLS]", "[SEP]")],
    )
    folder = tmp_path_factory.mktemp("models") / "tiny-bert"
    wrapped: Any = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer, model_max_length=64, pad_token="[PAD]", unk_token="[UNK]",
        cls_token="[CLS]", sep_token="[SEP]", mask_token="[MASK]",
    )  # fmt: skip
    wrapped.save_pretrained(folder)
    torch.manual_seed(3)
    config = BertConfig(
        vocab_size=len(vocabulary), hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=64, initializer_range=0.5,
    )  # fmt: skip
    BertModel(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def tiny_encoder(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sentence-transformers folder: the tiny BERT, mean pooling, a linear map, length 1."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Dense, Normalize

    folder = tmp_path_factory.mktemp("encoder") / "tiny-encoder"
    model = SentenceTransformer(str(tiny_bert), device="cpu")
    model.append(Dense(16, 12))
    model.append(Normalize())
    model.save(str(folder), create_model_card=False)
    return folder


@pytest.fixture(scope="session")
def tiny_onnx(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an ONNX model whose states depend on all tokens that are not masked.

    The state of a token is its row of a table, times a matrix, plus the mean over the text.
    """
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    rng = np.random.default_rng(2)
    arrays = {"table": rng.standard_normal((60, 16)), "matrix": rng.standard_normal((16, 16)) / 4}
    constants = [numpy_helper.from_array(a.astype(np.float32), n) for n, a in arrays.items()]
    axes = [numpy_helper.from_array(np.array([n]), name) for name, n in (("one", 1), ("two", 2))]
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["rows"]),
        helper.make_node("MatMul", ["rows", "matrix"], ["mapped"]),
        helper.make_node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["mask", "two"], ["wide"]),
        helper.make_node("Mul", ["mapped", "wide"], ["known"]),
        helper.make_node("ReduceSum", ["known", "one"], ["sum"], keepdims=1),
        helper.make_node("ReduceSum", ["wide", "one"], ["count"], keepdims=1),
        helper.make_node("Div", ["sum", "count"], ["mean"]),
        helper.make_node("Add", ["mapped", "mean"], ["last_hidden_state"]),
    ]
    given = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["n", "t"])
        for name in ("input_ids", "attention_mask")
    ]
    states = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["n", "t", 16])
    graph = helper.make_graph(nodes, "tiny", given, [states], [*constants, *axes])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    folder = tmp_path_factory.mktemp("onnx")
    onnx.save(model, str(folder / "model.onnx"))
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(tiny_bert / name, folder)
    return folder


@pytest.fixture
def edited(tmp_path: Path) -> Callable[..., Path]:
    """Copies of a folder in which one JSON file is changed by a function."""

    def copy(folder: Path, file: str = "", change: Callable[[Any], Any] = lambda v: v) -> Path:
        made = tmp_path / f"{folder.name}-{len(list(tmp_path.iterdir()))}"
        shutil.copytree(folder, made)
        if file:
            stored = json.loads((made / file).read_text()) if (made / file).is_file() else {}
            (made / file).parent.mkdir(exist_ok=True)
            (made / file).write_text(json.dumps(change(stored)))
        return made

    return copy

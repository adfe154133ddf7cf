"""Tiny inputs and models, built offline and shared by all tests."""

import gc
import importlib.util
import json
import os
import random
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from filelock import FileLock
from hypothesis import settings

from firth.run import progress
from firth.run.config import Config
from firth.run.run import CONFIG, Run

# Threads gain nothing from tiny models, and those of two workers on two cores spend most of their
# time waiting for each other. Set before torch is imported; commands that tests start inherit it.
for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
progress.set_quiet(True)  # for what runs before the first test
# How long an example takes depends on what else the machine does.
settings.register_profile("firth", deadline=None)
settings.load_profile("firth")


def benchmark(name: str) -> ModuleType:
    """benchmarks/NAME.py as a module."""
    path = Path(__file__).parents[1] / "benchmarks" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def quiet() -> None:
    """No bars, whatever a command run by an earlier test has switched on."""
    progress.set_quiet(True)


@pytest.fixture(autouse=True, scope="module")
def settled() -> Iterator[None]:
    """What stays (libraries, above all) is looked at for garbage once: each training collects it,
    and would look at a million objects again."""
    yield
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or fills the cache of the user."""
    monkeypatch.setenv("FIRTH_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))


BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@pytest.fixture(scope="session")
def missing() -> Callable[[str], None]:
    """Skips, or fails where a browser is required (FIRTH_REQUIRE_BROWSER=1), for a reason."""

    def stop(reason: str) -> None:
        required = os.environ.get("FIRTH_REQUIRE_BROWSER", "")
        if required not in ("", "0"):
            pytest.fail(f"FIRTH_REQUIRE_BROWSER={required}, but {reason}", pytrace=False)
        pytest.skip(reason)

    return stop


@pytest.fixture(scope="module")
def browser(missing: Callable[[str], None]) -> Iterator[Any]:
    """A headless Chromium (or Chrome): on the path, or its path in FIRTH_BROWSER."""
    named = os.environ.get("FIRTH_BROWSER")
    found = next(filter(None, map(shutil.which, [named] if named else BROWSERS)), None)
    if found is None and named:
        missing(f"FIRTH_BROWSER={named} is not a program")
    if found is None:
        missing(f"there is no browser: none of {', '.join(BROWSERS)}, and FIRTH_BROWSER is not set")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("playwright is not installed: pip install 'firth[test]'")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=found)
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def s3_server() -> Iterator[str]:
    """Address of an S3 server of this machine, from a package, without a network."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def s3(s3_server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The filesystem of that server, opened as a user's environment says."""
    import fsspec

    for name, value in {
        "AWS_ENDPOINT_URL": s3_server,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_MAX_ATTEMPTS": "1",
    }.items():
        monkeypatch.setenv(name, value)
    files = fsspec.get_filesystem_class("s3")
    files.clear_instance_cache()
    yield files()
    files.clear_instance_cache()


@pytest.fixture
def bucket(s3: Any, tmp_path: Path) -> str:
    """Address of an empty bucket."""
    name = f"bucket-{abs(hash(tmp_path)):x}"
    s3.mkdir(name)
    return f"s3://{name}"


@pytest.fixture
def memory() -> Iterator[str]:
    """Address of an empty store in memory: quicker, where it does not matter which store it is."""
    import fsspec

    files = fsspec.filesystem("memory")
    files.store.clear()
    yield "memory://bucket"
    files.store.clear()


@pytest.fixture(params=["s3", "memory", "folder"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Address of an empty store, of each kind."""
    if request.param == "folder":
        return str(tmp_path / "shared")
    found: str = request.getfixturevalue({"s3": "bucket"}.get(request.param, request.param))
    return found


TOPICS = {
    topic: nouns.split()
    for topic, nouns in {
        "sea": "ship harbour wave sailor storm sail captain anchor island tide",
        "farm": "farmer field wheat plough cow barn harvest tractor seed meadow",
        "court": "judge lawyer trial jury witness verdict appeal court law crime",
        "music": "singer song violin concert piano melody orchestra choir drum stage",
    }.items()
}
VERBS = (
    "saw",
    "met",
    "left",
    "found",
    "watched",
    "reached",
    "followed",
    "praised",
    "feared",
    "remembered",
)


def tiny_documents(count: int = 40, seed: int = 5) -> list[tuple[str, str]]:
    """(id, text) of made-up documents: four topics, paragraphs of three to five sentences."""
    rng = random.Random(seed)
    documents = []
    for number in range(count):
        topic = list(TOPICS)[number % len(TOPICS)]
        paragraphs = []
        for _ in range(3):
            sentences = []
            for _ in range(rng.randint(3, 5)):
                one, two, three = rng.sample(TOPICS[topic], 3)
                sentences.append(f"The {one} {rng.choice(VERBS)} the {two} near the {three}.")
            paragraphs.append(" ".join(sentences))
        documents.append((f"{topic}-{number}", "\n\n".join(paragraphs)))
    return documents


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of `tiny_documents` as .txt files."""
    folder = tmp_path_factory.mktemp("texts")
    for name, text in tiny_documents():
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")
    return folder


def tiny_settings(folder: Path) -> dict[str, object]:
    """A configuration of the whole pipeline that takes seconds."""
    return {
        "corpus": {"inputs": [str(folder)]},
        "tokenizer": {"vocabulary": 400},
        "retrieve": {"chunks": 50, "features_log2": 12},
        "coherence": {"hidden": 8, "embedding": 8, "batch": 16, "steps": 12, "held_out": 0.2,
                      "checkpoint_steps": 4},
        "generator": {"layers": 1, "width": 16, "heads": 2, "feedforward": 32, "steps": 12,
                      "batch_tokens": 512, "warmup": 2, "held_out": 0.2, "checkpoint_steps": 4},
        "context": {"bag": {"dimensions": 12, "epochs": 4, "batch": 32, "by_source": True},
                    "tune": {"layers": 1, "steps": 6, "batch": 6, "checkpoint_steps": 2}},
        "origin": {"method": "paper"},
        "paper": {"contexts": 4, "shortlist": 6},
        "harvest": {"pairs": 60, "shard_pairs": 12, "cluster": 3},
        "surrogate": {"dimensions": 16, "epochs": 1, "batch": 8, "checkpoint_steps": 2},
        "cross_encoder": {"dimensions": 16, "layers": 1, "epochs": 1, "batch": 8,
                          "checkpoint_steps": 2},
    }  # fmt: skip


@pytest.fixture(scope="session")
def tiny_run(
    tiny_folder: Path, tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory, worker_id: str
) -> Path:
    """A finished run over `tiny_folder`, built once and shared by all workers. Do not change it.

    Its Origin is the paper's; what the default one needs is built as well.
    """
    from firth.context import CONTEXT, THEMES
    from firth.origin import ORIGIN
    from firth.pipeline import bring_up_to_date
    from firth.surrogate import CROSS_ENCODER

    base = tmp_path_factory.getbasetemp()
    if worker_id != "master":
        base = base.parent
    path = base / "tiny-run"
    with FileLock(base / "tiny-run.lock"):
        if not (path / ORIGIN.name / "manifest.json").is_file():
            texts = base / "tiny-texts"
            texts.mkdir(exist_ok=True)
            for file in tiny_folder.iterdir():
                (texts / file.name).write_bytes(file.read_bytes())
            settings = tiny_settings(texts) | {"adapt": {"encoder": str(tiny_bert)}}
            run = Run.create(path, Config.parse(settings, CONFIG))
            bring_up_to_date(run)
            bring_up_to_date(run, CONTEXT, THEMES, ORIGIN, CROSS_ENCODER)
    return path


@pytest.fixture(scope="session")
def prompt_run(tiny_folder: Path, tiny_llm: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose sentence encoder is a tiny language model, tuned a little. Do not change it."""
    from firth.check.build import build_check
    from firth.context.build import build_context
    from firth.corpus.build import build_corpus
    from firth.origin.choose import build_origin

    settings = {
        "corpus": {"inputs": [str(tiny_folder)]},
        "origin": {"items": 3},
        "context": {
            "encoder": "causal-lm",
            "model": str(tiny_llm),
            "precision": "float32",
            "contexts": 50,
            "bag": {"dimensions": 12, "epochs": 2, "batch": 32},
            "tune": {"layers": 1, "steps": 6, "batch": 6, "learning_rate": 1e-2,
                     "checkpoint_steps": 2},
        },
    }  # fmt: skip
    run = Run.create(tmp_path_factory.mktemp("prompt") / "run", Config.parse(settings, CONFIG))
    for build in (build_corpus, build_check, build_context, build_origin):
        build(run)
    return run.path


TINY_BASELINES: dict[str, dict[str, object]] = {
    "skip_gram": {"dimensions": 12, "epochs": 3},
    "cbow": {"dimensions": 12, "epochs": 3},
    "siamese_cbow": {"dimensions": 12, "epochs": 4},
    "cbos": {"dimensions": 12, "epochs": 3},
    "bag": {"dimensions": 12, "epochs": 4, "batch": 32},
    "skip_thought": {
        "dimensions": 8,
        "hidden": 12,
        "steps": 60,
        "batch": 16,
        "learning_rate": 0.02,
    },
}
"""Settings with which each trained baseline takes a second or less."""


@pytest.fixture(scope="session")
def trained_run(
    tiny_folder: Path, tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A run with a corpus and every trained baseline. Do not change it."""
    from firth.baselines.trained import TRAINED, build_baseline
    from firth.corpus.build import build_corpus

    peers = {
        name: {"base": str(tiny_bert), "sentences": 32, "batch": 8, "learning_rate": 1e-2}
        for name in ("simcse", "tsdae", "ct")
    }
    corpus = {"inputs": [str(tiny_folder)], "held_out": 0}  # every sentence is needed
    settings = {"corpus": corpus, "baselines": TINY_BASELINES | peers}
    run = Run.create(tmp_path_factory.mktemp("trained") / "run", Config.parse(settings, CONFIG))
    build_corpus(run)
    for name in TRAINED:
        build_baseline(run, name)
    return run.path


@pytest.fixture(scope="session")
def tiny_bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a random BERT of two layers over the words of `tiny_documents`, 64 tokens."""
    import torch
    from tokenizers import Tokenizer
    from tokenizers.models import WordPiece
    from tokenizers.normalizers import BertNormalizer
    from tokenizers.pre_tokenizers import BertPreTokenizer
    from tokenizers.processors import TemplateProcessing
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast, set_seed

    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    known = {noun for nouns in TOPICS.values() for noun in nouns} | set(VERBS)
    known |= {"the", "a", "near", "old", "red", "sailed", ".", "in"}
    vocabulary = {token: i for i, token in enumerate([*specials, *sorted(known)])}
    tokenizer = Tokenizer(WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = BertNormalizer()
    tokenizer.pre_tokenizer = BertPreTokenizer()
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B [SEP]",
        special_tokens=[(token, vocabulary[token]) for token in ("[CLS]", "[SEP]")],
    )
    folder = tmp_path_factory.mktemp("bert")
    wrapped: Any = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer,
        model_max_length=64,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
    )
    wrapped.save_pretrained(folder)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
        pad_token_id=0,
        initializer_range=0.3,  # far enough from zero for sentences to differ
    )
    state = torch.get_rng_state()
    set_seed(3)
    BertModel(config).save_pretrained(folder)
    torch.set_rng_state(state)
    return folder


@pytest.fixture(scope="session")
def tiny_static(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a random static model over the words of `tiny_documents`, 12 dimensions."""
    import numpy as np
    from safetensors.numpy import save_file
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    known = {noun for nouns in TOPICS.values() for noun in nouns} | {*VERBS, "the", "near"}
    vocabulary = {word: i for i, word in enumerate(["[UNK]", *sorted(known)])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    folder = tmp_path_factory.mktemp("static")
    tokenizer.save(str(folder / "tokenizer.json"))
    table = np.random.default_rng(4).standard_normal((len(vocabulary), 12)).astype(np.float32)
    save_file({"embedding.weight": table}, folder / "model.safetensors")
    kind = "sentence_transformers.sentence_transformer.modules.StaticEmbedding"
    modules = [{"idx": 0, "name": "0", "path": "", "type": kind}]
    (folder / "modules.json").write_text(json.dumps(modules), encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def tiny_llm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a random Llama of two layers and a byte-level tokenizer without merges."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: i for i, token in enumerate(["</s>", *alphabet])}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    folder = tmp_path_factory.mktemp("llm")
    wrapped: Any = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer, eos_token="</s>"
    )
    wrapped.save_pretrained(folder)
    torch.manual_seed(3)
    config = LlamaConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=512,
        initializer_range=0.35,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    return folder


_NET = "Encoder_en/KonaTransformer/Encode"
_LAYER = f"module_apply_default/{_NET}/Layer_%d/TransformerLayer"
_FFN = f"module_apply_default/{_NET}/TransformerStack/Layer_%d/TransformerLayer/FFN"
_NORM = "layer_prepostprocess/layer_norm/layer_norm_%s/ConcatPartitions/concat"


def use_lite_weights(widths: tuple[int, int] = (4, 6), seed: int = 3) -> dict[str, Any]:
    """Random weights of a tiny Universal Sentence Encoder lite under their names in the package:
    two heads, 30 pieces, texts cut at 12."""
    import numpy as np

    rng = np.random.default_rng(seed)

    def drawn(*shape: int) -> Any:
        return rng.normal(0, 0.5, shape).astype(np.float32)

    narrow, wide = widths
    heads = "MultiheadAttention/split_heads/split_last_dimension/Reshape/shape/2"
    weights: dict[str, Any] = {
        "module/Embeddings_en": drawn(32, narrow),
        f"{_LAYER % 0}/AddTimingSignal/TimingSignal/ExpandDims_1": drawn(1, narrow // 2),
        f"{_LAYER % 0}/dense/kernel/ConcatPartitions/concat": drawn(narrow, wide),
        f"{_LAYER % 0}/dense/bias/ConcatPartitions/concat": drawn(wide),
        "module/Encoder_en/hidden_layers/tanh_layer_0/weights": drawn(wide, 5),
        "module/Encoder_en/hidden_layers/tanh_layer_0/bias": drawn(5),
        "module_apply_default/Encoder_en/ClipToMaxLength/Less/y": np.int32(12),
        f"{_FFN % 1}/layer_prepostprocess/layer_norm/Cast/x": np.float32(1e-6),
        f"{_LAYER % 1}/{heads}": np.int32(2),
    }
    for layer, width in enumerate(widths):
        ffn, own = _FFN % layer, f"module/{_NET}/Layer_{layer}/TransformerLayer/MultiheadAttention"
        kernels = {"qkv": (width, 3 * width), "output": (width, wide)}
        for name, (rows, columns) in kernels.items():
            weights[f"{own}/{name}_transform_single/kernel/part_0"] = drawn(1, 1, rows, columns)
            bias = f"MultiheadAttention/{name}_transform_single/bias/ConcatPartitions/concat"
            weights[f"{_LAYER % layer}/{bias}"] = drawn(columns)
        for name, (rows, columns) in {"conv1": (wide, 8), "conv2": (8, wide)}.items():
            weights[f"{ffn}/{name}/Tensordot/Reshape_1"] = drawn(rows, columns)
            bias = f"Layer_{layer}/TransformerLayer/FFN/{name}/bias/ConcatPartitions/concat"
            weights[f"module_apply_default/{_NET}/{bias}"] = drawn(columns)
        for part in ("scale", "bias"):
            weights[f"{_LAYER % layer}/{_NORM % part}"] = drawn(width)
            weights[f"{ffn}/{_NORM % part}"] = drawn(wide)
    return weights


def write_use_lite(folder: Path, weights: dict[str, Any]) -> None:
    """The files of the package: a manifest, two shards (one ends within a weight), pieces."""
    import json

    import numpy as np

    folder.mkdir(parents=True)
    data = b"".join(np.asarray(array).tobytes() for array in weights.values())
    names = ["group1-shard1of2", "group1-shard2of2"]
    for name, part in zip(names, (data[:1001], data[1001:]), strict=True):
        (folder / name).write_bytes(part)
    known = [
        {"name": name, "shape": list(array.shape), "dtype": str(array.dtype)}
        for name, array in weights.items()
    ]
    manifest = [{"paths": names, "weights": known}]
    model = {"modelTopology": {}, "weightsManifest": manifest}
    (folder / "model.json").write_text(json.dumps(model))
    pieces = ["�", "<s>", "</s>", *(f"extra_token_id_{n}" for n in (1, 2, 3)), "▁the", "▁ship"]
    pieces += ["▁old", "▁sailed", "▁storm", "▁", *"abcdehilmoprst", ":", "?", "t1", "sh"]
    scores = [0.0] * 6 + [-2.0 - n / 10 for n in range(len(pieces) - 6)]
    rows = [[p, None if p == ":" else s] for p, s in zip(pieces, scores, strict=True)]
    (folder / "vocab.json").write_text(json.dumps(rows))


@pytest.fixture(scope="session")
def tiny_use_lite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package like that of Universal Sentence Encoder lite, unpacked."""
    folder = tmp_path_factory.mktemp("use-lite")
    write_use_lite(folder / "package" / "dist", use_lite_weights())
    return folder


@pytest.fixture(scope="session")
def tiny_wordllama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The two files of WordLlama's package, for words of the topics."""
    import numpy as np
    from safetensors.numpy import save_file
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace

    folder = tmp_path_factory.mktemp("wordllama")
    words = [
        "[UNK]",
        "the",
        "old",
        "left",
        "sailed",
        *(n for nouns in TOPICS.values() for n in nouns),
    ]
    vocabulary = {word: number for number, word in enumerate(dict.fromkeys(words))}
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    for name in ("weights", "tokenizers"):
        (folder / name).mkdir()
    tokenizer.save(str(folder / "tokenizers" / "tiny_tokenizer_config.json"))
    drawn = np.random.default_rng(4).normal(size=(len(vocabulary), 6)).astype(np.float16)
    save_file({"embedding.weight": drawn}, folder / "weights" / "tiny_6.safetensors")
    return folder

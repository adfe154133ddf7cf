"""A model is looked at before any library opens it."""

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from firth.encoders import folder as folder_module
from firth.encoders.folder import ModelKind, PretrainedFiles, look, opened
from firth.encoders.pretrained import open_encoder
from firth.run.errors import InputError
from firth.run.files import write_arrays

Edited = Callable[..., Path]
PICKLE = "pytorch_model.bin"


def first_module(key: str, value: str) -> Callable[[Any], Any]:
    return lambda modules: [{**modules[0], key: value}, *modules[1:]]


def with_key(key: str, value: object) -> Callable[[Any], Any]:
    return lambda settings: {**settings, key: value}


def normalizer(*steps: dict[str, object]) -> Callable[[Any], Any]:
    return with_key("normalizer", {"type": "Sequence", "normalizers": list(steps)})


def replacing(content: str) -> dict[str, object]:
    return {"type": "Replace", "pattern": {"String": "a"}, "content": content}


NESTED = {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated", "invert": False}
BERT = "sentence_bert_config.json"
REFUSED = {
    "foreign class": ("modules.json", first_module("type", "evil.Module"), "not from sentence-tr"),
    "class of Python": ("modules.json", first_module("type", "os.system"), "os.system"),
    "path upwards": ("modules.json", first_module("path", "../other"), "outside the folder"),
    "absolute path": ("modules.json", first_module("path", "/etc"), "outside the folder"),
    "backslashes": ("modules.json", first_module("path", "..\\other"), "outside the folder"),
    "deep path": ("modules.json", first_module("path", "a/b/c"), "not looked at"),
    "code of a model": ("config.json", with_key("auto_map", {"AutoModel": "e.M"}), "auto_map"),
    "code of a tokenizer": ("tokenizer_config.json", with_key("auto_map", {"x": "y"}), "auto_map"),
    "trusted code": ("config.json", with_key("trust_remote_code", True), "trust_remote_code"),
    "attention of the hub": ("config.json", with_key("attn_implementation", "e/a"), "code of the"),
    "another backbone": ("config.json", with_key("backbone", "resnet50"), "backbone 'resnet50'"),
    "downloaded weights": ("config.json", with_key("use_pretrained_backbone", True), "reaches"),
    "a folder that is made": (BERT, with_key("model_kwargs", {"offload_folder": "x"}), "offload_"),
    "a pattern for names": (BERT, with_key("model_args", {"key_mapping": {"(a+)+$": ""}}), "key_m"),
    "a method by name": (BERT, with_key("modality_config", {"text": {"method": "save"}}), "'save'"),
    "endless sequences": (BERT, with_key("max_seq_length", 10**12), "max_seq_length is 1e"),
    "millions of layers": ("config.json", with_key("num_hidden_layers", 10**7), "num_hidden_laye"),
    "a huge width": ("config.json", with_key("hidden_size", 10**12), "hidden_size is 1e"),
    "an endless number": ("config.json", with_key("initializer_range", float("inf")), "is inf"),
    "a slow pattern": ("tokenizer.json", with_key("pre_tokenizer", NESTED), "repeats a repetition"),
    "growing text": ("tokenizer.json", normalizer(*[replacing("aa")] * 8), "256 times as long"),
    "a long text before": ("tokenizer.json", normalizer({"prepend": "x" * 10**6}), "1,000,000 tim"),
    "no tokenizer": ("tokenizer.json", lambda _: [], "not a tokenizer"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_it_is_refused_unopened(
    tiny_encoder: Path, edited: Edited, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    """No library is asked, so no code of the folder can run."""
    file, change, part = REFUSED[case]
    model = edited(tiny_encoder, file, change)
    monkeypatch.setattr(folder_module, "opened", lambda *_: pytest.fail("a library was asked"))
    with pytest.raises(InputError, match="this model is not opened") as caught:
        open_encoder(str(model))
    assert part in str(caught.value)


def test_the_folder_of_the_test_above_opens_unchanged(tiny_encoder: Path) -> None:
    """The premise: only the change speaks against it."""
    assert open_encoder(str(tiny_encoder)).encode(["a ship"]).shape == (1, 12)


def test_everything_that_speaks_against_a_folder_is_said_at_once(
    tiny_encoder: Path, edited: Edited
) -> None:
    model = edited(tiny_encoder, "modules.json", first_module("type", "evil.Module"))
    (model / "model.safetensors").rename(model / "model.pkl")
    for path in model.rglob("model.safetensors"):
        path.unlink()
    with pytest.raises(InputError) as caught:
        look(model)
    assert "evil.Module" in str(caught.value)
    assert "pickles are never opened" in str(caught.value)


@pytest.mark.parametrize("place", ["", "2_Dense"])
def test_a_pickle_that_a_module_would_read_is_refused(
    tiny_encoder: Path, edited: Edited, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """The weights of other modules as safetensors do not excuse it."""
    import torch

    model = edited(tiny_encoder)
    (model / place / "model.safetensors").unlink()
    torch.save({}, model / place / PICKLE)
    assert any(model.rglob("*.safetensors")), "premise"
    monkeypatch.setattr(torch, "load", lambda *_, **__: pytest.fail("a pickle was opened"))
    with pytest.raises(InputError, match=f"{PICKLE}: a module would read it"):
        open_encoder(str(model))


def test_a_static_model_reads_no_pickle(tmp_path: Path) -> None:
    """Its one module would fall back to the pickle in the folder of the model."""
    from firth.encoders.static import write_static

    write_static(tmp_path, ["ship"], np.ones((1, 4), np.float32))
    (tmp_path / "model.safetensors").rename(tmp_path / PICKLE)
    with pytest.raises(InputError, match="pickles are never opened"):
        open_encoder(str(tmp_path))


@pytest.mark.parametrize(
    ("shard", "part"), [("../a.safetensors", "outside"), ("part.bin", r"no \.safetensors file")]
)
def test_shards_are_in_the_folder_and_no_pickles(
    tiny_encoder: Path, edited: Edited, shard: str, part: str
) -> None:
    index = {"metadata": {}, "weight_map": {"a": shard, "b": "model.safetensors"}}
    model = edited(tiny_encoder, "model.safetensors.index.json", lambda _: index)
    with pytest.raises(InputError, match=part):
        look(model)


def test_inner_folders_are_looked_at_too(tiny_encoder: Path, edited: Edited) -> None:
    model = edited(tiny_encoder)
    place = model.joinpath(*["inner"] * 4)
    place.mkdir(parents=True)
    (place / "modules.json").write_text(json.dumps([{"type": "evil.Module", "path": ""}]))
    with pytest.raises(InputError, match=r"evil\.Module"):
        look(model)


def test_ordinary_settings_of_the_field_are_not_refused(tiny_encoder: Path, edited: Edited) -> None:
    """Values that published models have."""
    patterns = [
        r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
        r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    ]  # fmt: skip
    splits = [{"type": "Split", "pattern": {"Regex": p}} for p in patterns]
    for file, change in (
        ("tokenizer_config.json", with_key("model_max_length", int(1e30))),
        ("config.json", with_key("rope_theta", 500_000.0)),
        ("config.json", with_key("max_position_embeddings", 131_072)),
        (BERT, with_key("model_args", {"attn_implementation": "sdpa", "torch_dtype": "float32"})),
        ("tokenizer.json", with_key("pre_tokenizer", {"pretokenizers": splits})),
        ("tokenizer.json", normalizer(replacing("\u2581"), {"prepend": "\u2581"})),
    ):  # fmt: skip
        look(edited(tiny_encoder, file, change))


def test_a_model_is_recognized_by_its_bytes(tiny_bert: Path, edited: Edited) -> None:
    """Wherever it is; one byte of the same size is noticed, and named."""
    model = edited(tiny_bert)
    before, moved = PretrainedFiles.find(str(tiny_bert)), PretrainedFiles.find(str(model))
    moved.check(before.files)
    assert before.fingerprint == moved.fingerprint
    weights = model / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    after = PretrainedFiles.find(str(model))
    assert after.fingerprint != before.fingerprint
    with pytest.raises(InputError, match=r"model\.safetensors has changed"):
        after.check(before.files)
    (model / "config.json").unlink()
    with pytest.raises(InputError, match=r"config\.json is missing"):
        PretrainedFiles.find(str(model)).check(before.files)


@pytest.mark.parametrize(
    ("architecture", "model_type", "kind"),
    [
        ("RobertaForMaskedLM", "roberta", ModelKind.MASKED_LM),
        ("BertModel", "bert", ModelKind.MASKED_LM),
        ("LlamaForCausalLM", "llama", ModelKind.CAUSAL_LM),
        ("GPT2LMHeadModel", "gpt2", ModelKind.CAUSAL_LM),
        ("LlamaModel", "llama", ModelKind.CAUSAL_LM),
        ("BertForSequenceClassification", "bert", ModelKind.CROSS_ENCODER),
        ("BertForTokenClassification", "bert", ModelKind.OTHER),
    ],
)
def test_the_kind_follows_from_the_files(
    tiny_bert: Path, edited: Edited, architecture: str, model_type: str, kind: ModelKind
) -> None:
    changed = {"architectures": [architecture], "model_type": model_type}
    model = edited(tiny_bert, "config.json", lambda settings: settings | changed)
    assert PretrainedFiles.find(str(model)).kind is kind
    if kind in (ModelKind.CROSS_ENCODER, ModelKind.OTHER):
        with pytest.raises(InputError, match=f"its kind is {kind}"):
            open_encoder(str(model))


@pytest.mark.parametrize(
    ("said", "kind"),
    [("SparseEncoder", ModelKind.OTHER), ("CrossEncoder", ModelKind.CROSS_ENCODER)],
)
def test_the_library_says_what_a_folder_is(
    tiny_encoder: Path, edited: Edited, said: str, kind: ModelKind
) -> None:
    file = "config_sentence_transformers.json"
    model = edited(tiny_encoder, file, with_key("model_type", said))
    assert PretrainedFiles.find(str(model)).kind is kind
    assert PretrainedFiles.find(str(tiny_encoder)).kind is ModelKind.SENTENCE_ENCODER


def test_a_gguf_file_is_named(tmp_path: Path) -> None:
    """A folder that has one says how to name it."""
    (tmp_path / "small.gguf").touch()
    with pytest.raises(InputError, match=r"name one of its GGUF files: .*small\.gguf"):
        PretrainedFiles.find(str(tmp_path))
    files = PretrainedFiles.find(str(tmp_path / "small.gguf"))
    assert (files.kind, files.file, list(files.files)) == (
        ModelKind.CAUSAL_LM, "small.gguf", ["small.gguf"],
    )  # fmt: skip


def test_of_several_onnx_files_one_is_named(tmp_path: Path) -> None:
    (tmp_path / "onnx").mkdir()
    (tmp_path / "config.json").write_text("{}")
    for name in ("model_int8.onnx", "model_fp16.onnx"):
        (tmp_path / "onnx" / name).touch()
    with pytest.raises(InputError, match="several ONNX files"):
        PretrainedFiles.find(str(tmp_path))
    (tmp_path / "onnx" / "model.onnx").touch()
    assert PretrainedFiles.find(str(tmp_path)).file == "onnx/model.onnx"


def test_a_name_that_is_nowhere_says_what_was_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    for name in ("no-one/nothing", "x" * 600, "no such folder", "../nowhere", "a/b/c.gguf"):
        with pytest.raises(InputError, match="neither a folder nor a model"):
            PretrainedFiles.find(name)


def test_a_model_of_the_hub_is_downloaded_without_pickles(
    tiny_bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only what is asked for; where the hub cannot be reached, its cache is asked."""

    def unreachable(*_: object) -> None:
        raise OSError

    def download(name: str, allow_patterns: list[str], local_files_only: bool) -> str:
        assert name == "some/model"
        assert "*.safetensors" in allow_patterns
        assert not any("bin" in pattern or pattern == "*" for pattern in allow_patterns)
        if local_files_only:
            raise FileNotFoundError
        return str(tiny_bert)

    monkeypatch.setattr("huggingface_hub.snapshot_download", download)
    monkeypatch.setenv("HTTPS_PROXY", "http://somewhere")
    files = PretrainedFiles.find("some/model")
    assert files.model == "some/model"
    assert "model.safetensors" in files.files
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "HF_HUB_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("socket.getaddrinfo", unreachable)
    with pytest.raises(InputError, match="cannot be reached"):
        PretrainedFiles.find("some/model")


def test_errors_of_libraries_are_one_message() -> None:
    """A panic in Rust is no `Exception`; an interruption stays one."""

    panic = type("PanicException", (BaseException,), {"__module__": "pyo3_runtime"})

    def failing(error: BaseException) -> Callable[[], None]:
        def fail() -> None:
            raise error

        return fail

    for error in (OSError("torn\nfile"), Exception("torn"), panic("torn"), KeyError("x")):
        with pytest.raises(InputError, match=r"m: cannot be opened: .*\. Expected a model"):
            opened("m", "a model", failing(error))
    for stop in (KeyboardInterrupt(), MemoryError()):
        with pytest.raises(type(stop)):
            opened("m", "a model", failing(stop))


@pytest.mark.parametrize("prefix", ["wrong.", ""])
def test_weights_that_do_not_fit_are_refused(
    tiny_encoder: Path, edited: Edited, prefix: str
) -> None:
    """The library would take random ones: with other names, and where one is missing."""
    from safetensors.numpy import load_file

    model = edited(tiny_encoder)
    weights = load_file(model / "model.safetensors")
    dropped = "" if prefix else "encoder.layer.1.output.dense.weight"
    assert prefix or dropped in weights, "premise"
    kept = {f"{prefix}{name}": value for name, value in weights.items() if name != dropped}
    write_arrays(model / "model.safetensors", kept, {"format": "pt"})
    with pytest.raises(InputError, match="lacks weights of the network"):
        open_encoder(str(model))


def test_the_head_of_another_task_is_no_problem(tiny_bert: Path, edited: Edited) -> None:
    """A masked language model has weights that an encoder does not read, and lacks the pooler."""
    from safetensors.numpy import load_file

    model = edited(tiny_bert)
    weights = load_file(model / "model.safetensors")
    kept = {name: value for name, value in weights.items() if not name.startswith("pooler.")}
    assert len(kept) < len(weights), "premise"
    kept["cls.predictions.bias"] = np.zeros(3, np.float32)
    write_arrays(model / "model.safetensors", kept, {"format": "pt"})
    texts = ["The ship sailed.", "a cow"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one, two = (open_encoder(str(each)).encode(texts) for each in (tiny_bert, model))
    np.testing.assert_allclose(one, two, atol=1e-6)
    kept["encoder.layer.7.output.dense.bias"] = np.zeros(3, np.float32)
    write_arrays(model / "model.safetensors", kept, {"format": "pt"})
    with pytest.raises(InputError, match="has weights that the network does not have"):
        open_encoder(str(model))

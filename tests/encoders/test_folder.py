"""A model is looked at before any library opens it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from firth.encoders import folder as folder_module
from firth.encoders import onnx, static, transformer
from firth.encoders.folder import ModelKind, PretrainedFiles, look, opened
from firth.encoders.kinds import open_encoder
from firth.run.errors import InputError
from firth.run.files import write_arrays

Edited = Callable[..., Path]
PICKLE = "pytorch_model.bin"


def first_module(key: str, value: str) -> Callable[[Any], Any]:
    return lambda modules: [{**modules[0], key: value}, *modules[1:]]


def with_key(key: str, value: object) -> Callable[[Any], Any]:
    return lambda settings: {**settings, key: value}


BERT = "sentence_bert_config.json"
REFUSED = {
    "foreign class": ("modules.json", first_module("type", "evil.Module"), "not from sentence-tr"),
    "path upwards": ("modules.json", first_module("path", "../other"), "outside the folder"),
    "hidden path": ("modules.json", first_module("path", ".inner"), "not looked at"),
    "deep path": ("modules.json", first_module("path", "a/b/c"), "not looked at"),
    "code of a model": ("config.json", with_key("auto_map", {"AutoModel": "e.M"}), "auto_map"),
    "trusted code": ("config.json", with_key("trust_remote_code", True), "trust_remote_code"),
    "attention of the hub": ("config.json", with_key("attn_implementation", "e/a"), "code of the"),
    "another backbone": ("config.json", with_key("backbone", "resnet50"), "backbone 'resnet50'"),
    "a folder that is made": (BERT, with_key("model_kwargs", {"offload_folder": "x"}), "offload_"),
    "a pattern for names": (BERT, with_key("model_args", {"key_mapping": {"(a+)+$": ""}}), "key_m"),
    "a length that is none": ("tokenizer_config.json", with_key("model_max_length", "x"), "number"),
    "a method by name": (BERT, with_key("modality_config", {"text": {"method": "save"}}), "'save'"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_it_is_refused_unopened(
    tiny_encoder: Path, edited: Edited, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    """No library is asked, so no code of the folder can run."""
    file, change, part = REFUSED[case]
    model = edited(tiny_encoder, file, change)
    for module in (folder_module, onnx, static, transformer):
        monkeypatch.setattr(module, "opened", lambda *_: pytest.fail("a library was asked"))
    with pytest.raises(InputError, match="this model is not opened") as caught:
        open_encoder(str(model))
    assert part in str(caught.value)


@pytest.mark.parametrize("beside", ["", "model.safetensors.index.json", "model.onnx"])
@pytest.mark.parametrize("place", ["", "2_Dense"])
@pytest.mark.parametrize("pickled", [PICKLE, "weights.pt"])
def test_a_pickle_that_a_module_would_read_is_refused(
    tiny_encoder: Path,
    edited: Edited,
    monkeypatch: pytest.MonkeyPatch,
    place: str,
    beside: str,
    pickled: str,
) -> None:
    """Neither weights of other modules, nor an index or an ONNX file beside it, excuse it."""
    torch: Any = pytest.importorskip("torch")

    model = edited(tiny_encoder)
    (model / place / "model.safetensors").unlink()
    if beside:
        (model / place / beside).write_text('{"weight_map": {}}')
    torch.save({}, model / place / pickled)
    assert any(model.rglob("*.safetensors")), "premise"
    monkeypatch.setattr(torch, "load", lambda *_, **__: pytest.fail("a pickle was opened"))
    with pytest.raises(InputError, match=f"{pickled}: a module would read it"):
        look(model)


def test_a_pickle_beside_its_safetensors_is_never_read(
    tiny_encoder: Path, edited: Edited, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch: Any = pytest.importorskip("torch")

    model = edited(tiny_encoder)
    torch.save({}, model / PICKLE)
    monkeypatch.setattr(torch, "load", lambda *_, **__: pytest.fail("a pickle was opened"))
    assert open_encoder(str(model)).encode(["a ship"]).shape == (1, 12)


def test_the_advice_to_open_a_pickle_is_not_passed_on() -> None:
    def fail() -> None:
        raise RuntimeError("Weights only load failed. Re-run with `weights_only=False`.")

    with pytest.raises(InputError, match="pickles are never opened") as caught:
        opened("m", "a model", fail)
    assert "weights_only" not in str(caught.value)


def test_the_fingerprint_covers_what_a_library_reads(
    tiny_bert: Path, tiny_onnx: Path, edited: Edited
) -> None:
    """External weights of an ONNX file have any name; a tokenizer's tables, too."""
    model = edited(tiny_onnx)
    file = next(model.rglob("*.onnx"))
    file.write_bytes(file.read_bytes() + b"outer.weights" + b"\n\x08location\x12\x08.inner/w")
    for folder, name in (
        (model, "outer.weights"), (model, ".inner/w"), (edited(tiny_bert), "bpe.codes")
    ):  # fmt: skip
        path = (file.parent if folder == model else folder) / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"1")
        before = PretrainedFiles.find(str(folder)).fingerprint
        path.write_bytes(b"2")
        assert PretrainedFiles.find(str(folder)).fingerprint != before


def test_nan_in_the_weights_is_refused(tiny_bert: Path, edited: Edited) -> None:
    from safetensors.numpy import load_file

    model = edited(tiny_bert)
    weights = load_file(model / "model.safetensors")
    name = "embeddings.word_embeddings.weight"
    weights[name] = np.full_like(weights[name], np.nan)
    write_arrays(model / "model.safetensors", weights, {"format": "pt"})
    with pytest.raises(InputError, match="NaN"):
        open_encoder(str(model)).encode(["The ship sailed."])


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


def test_ordinary_settings_are_not_refused(tiny_encoder: Path, edited: Edited) -> None:
    harmless = {"attn_implementation": "sdpa", "torch_dtype": "float32"}
    model = edited(tiny_encoder, BERT, with_key("model_args", harmless))
    assert open_encoder(str(model)).encode(["a ship"]).shape == (1, 12)


def test_a_length_or_a_module_that_does_not_fit_is_one_message(
    tiny_encoder: Path, edited: Edited
) -> None:
    """A length beyond the network's own matters for texts beyond it only."""
    model = edited(tiny_encoder, BERT, with_key("max_seq_length", 10**12))
    expected = open_encoder(str(tiny_encoder)).encode(["a ship"])
    assert np.array_equal(open_encoder(str(model)).encode(["a ship"]), expected)
    with pytest.raises(InputError, match="Expected texts that it can read"):
        open_encoder(str(model)).encode(["ship " * 500])
    model = edited(tiny_encoder, "2_Dense/config.json", with_key("module_output_name", "x"))
    with pytest.raises(InputError, match="cannot be opened"):
        open_encoder(str(model)).encode(["a ship"])


@pytest.mark.parametrize(
    ("architecture", "model_type", "kind"),
    [
        ("RobertaForMaskedLM", "roberta", ModelKind.MASKED_LM),
        ("BertModel", "bert", ModelKind.MASKED_LM),
        ("LlamaForCausalLM", "llama", ModelKind.CAUSAL_LM),
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


def test_a_gguf_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "small.gguf").touch()
    with pytest.raises(InputError, match="name one of its GGUF files"):
        PretrainedFiles.find(str(tmp_path))
    files = PretrainedFiles.find(str(tmp_path / "small.gguf"))
    assert (files.kind, files.file, list(files.files)) == (
        ModelKind.CAUSAL_LM, "small.gguf", ["small.gguf"],
    )  # fmt: skip


def test_a_model_of_the_hub_is_downloaded_without_pickles(
    tiny_bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def download(name: str, allow_patterns: list[str]) -> str:
        if name != "some/model":
            raise OSError("not there")
        assert "*.safetensors" in allow_patterns
        assert not any("bin" in pattern or pattern == "*" for pattern in allow_patterns)
        return str(tiny_bert)

    monkeypatch.setattr("huggingface_hub.snapshot_download", download)
    files = PretrainedFiles.find("some/model")
    assert files.model == "some/model"
    assert "model.safetensors" in files.files
    with pytest.raises(InputError, match=r"nor a model on the hub \(not there\)"):
        PretrainedFiles.find("no-one/nothing")


def test_errors_of_libraries_are_one_message() -> None:
    """A panic in Rust is no `Exception`; an interruption stays one."""
    panic = type("PanicException", (BaseException,), {"__module__": "pyo3_runtime"})

    def failing(error: BaseException) -> Callable[[], None]:
        def fail() -> None:
            raise error

        return fail

    for error in (OSError("torn\nfile"), panic("torn")):
        with pytest.raises(InputError, match=r"m: cannot be opened: .*\. Expected a model"):
            opened("m", "a model", failing(error))
    with pytest.raises(KeyboardInterrupt):
        opened("m", "a model", failing(KeyboardInterrupt()))


def test_weights_that_do_not_fit_are_refused(tiny_bert: Path, edited: Edited) -> None:
    """The library would take random ones. The head of another task may be there, a pooler not."""
    from safetensors.numpy import load_file

    model = edited(tiny_bert)
    weights = load_file(model / "model.safetensors")
    name, bias = "encoder.layer.1.output.dense.weight", np.zeros(3, np.float32)
    kept = {key: value for key, value in weights.items() if not key.startswith("pooler.")}
    assert name in kept, "premise"
    assert len(kept) < len(weights), "premise"

    def encoded(stored: dict[str, Any]) -> Any:
        write_arrays(model / "model.safetensors", stored, {"format": "pt"})
        return open_encoder(str(model)).encode(["The ship sailed.", "a cow"])

    expected = encoded(weights)
    found = encoded({**kept, "cls.predictions.bias": bias})
    np.testing.assert_allclose(found, expected, atol=1e-6)
    with pytest.raises(InputError, match="has weights that the network does not have"):
        encoded({**kept, "encoder.layer.7.output.dense.bias": bias})
    del kept[name]
    with pytest.raises(InputError, match="lacks weights of the network"):
        encoded(kept)

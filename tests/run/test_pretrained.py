"""`firth.run.pretrained`: a model is looked at before a library opens it."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sentence_transformers import SentenceTransformer

from firth.run import pretrained
from firth.run.errors import InputError
from firth.run.model_files import PretrainedFiles
from firth.run.model_kind import ModelKind
from firth.run.pretrained import (
    encoder_kind,
    kind_of,
    open_cross_encoder,
    open_encoder,
    open_transformer,
)

PICKLED = "pytorch_model.bin"
CODE = "from pathlib import Path\nPath({marker!r}).touch()\n"


@pytest.fixture
def encoder(tiny_bert: Path, tmp_path: Path) -> Path:
    """A sentence-transformers folder with modules of its own kind."""
    SentenceTransformer(str(tiny_bert), device="cpu").save(str(tmp_path / "encoder"))
    return tmp_path / "encoder"


def edit(path: Path, change: Callable[[Any], Any]) -> None:
    path.write_text(json.dumps(change(json.loads(path.read_text()))))


def first_module(key: str, value: str) -> Callable[[Any], Any]:
    return lambda modules: [{**modules[0], key: value}, *modules[1:]]


def with_key(key: str, value: object) -> Callable[[Any], Any]:
    return lambda settings: {**settings, key: value}


BAD = {
    "foreign class": ("modules.json", first_module("type", "evil.Module"), "not sentence-tr"),
    "class of another package": ("modules.json", first_module("type", "os.system"), "os.system"),
    "no class": ("modules.json", first_module("type", ""), "not sentence-transformers' own"),
    "path upwards": ("modules.json", first_module("path", "../other"), "outside the folder"),
    "absolute path": ("modules.json", first_module("path", "/etc"), "outside the folder"),
    "backslashes": ("modules.json", first_module("path", "..\\other"), "outside the folder"),
    "auto_map": ("config.json", with_key("auto_map", {"AutoModel": "evil.Model"}), "auto_map"),
    "auto_map of a tokenizer": ("tokenizer_config.json", with_key("auto_map", {"x": "y"}), "auto_"),
    "no place for a module": ("modules.json", first_module("path", "checkpoints"), "none belongs"),
    "deeper than is looked": ("modules.json", first_module("path", "a/b/c"), "none belongs"),
    "attention of the hub": (
        "config.json",
        with_key("attn_implementation", "evil/attention"),
        "evil/attention: code of the hub",
    ),
    "trusted code": ("config.json", with_key("trust_remote_code", True), "trust_remote_code"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_names_code_or_leads_out_is_refused_unopened(
    encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    """No library is asked, so that no code of the folder can run."""
    file, change, part = BAD[case]
    marker = tmp_path / "ran"
    (encoder / "evil.py").write_text(CODE.format(marker=str(marker)))
    edit(encoder / file, change)
    monkeypatch.setattr(pretrained, "_opened", lambda *_: pytest.fail("a library was asked"))
    for opened in (open_encoder, open_cross_encoder, open_transformer, PretrainedFiles.find):
        with pytest.raises(InputError, match=part):
            opened(str(encoder))
    assert not marker.exists()


def test_the_folder_of_the_tests_above_opens_unchanged(encoder: Path) -> None:
    """Their premise: only the change speaks against it."""
    assert open_encoder(str(encoder)).encode(["a ship"]).shape == (1, 16)


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "weights.pkl"])
def test_pickled_weights_are_not_opened(encoder: Path, name: str) -> None:
    """A folder whose weights are a pickle only is refused, by name."""
    (encoder / "model.safetensors").rename(encoder / name)
    with pytest.raises(InputError, match="pickled weights are never opened"):
        open_encoder(str(encoder))


def test_a_pickle_of_a_module_is_not_opened(encoder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights of the Transformer as safetensors do not excuse a later module's pickle."""
    import torch
    from sentence_transformers.sentence_transformer.modules import Dense

    name = "2_Dense"
    (encoder / name).mkdir()
    Dense(in_features=16, out_features=4).save(str(encoder / name))
    kind = f"{Dense.__module__}.Dense"
    more = {"idx": 2, "name": "2", "path": name, "type": kind}
    edit(encoder / "modules.json", lambda modules: [*modules, more])
    assert open_encoder(str(encoder)).encode(["a ship"]).shape == (1, 4)  # the premise
    (encoder / name / "model.safetensors").unlink()
    torch.save(Dense(in_features=16, out_features=4).state_dict(), encoder / name / PICKLED)
    monkeypatch.setattr(torch, "load", lambda *_, **__: pytest.fail("a pickle was opened"))
    with pytest.raises(InputError, match=rf"{name}/{PICKLED}: pickled weights are never opened"):
        open_encoder(str(encoder))


@pytest.mark.parametrize(
    ("shard", "part"),
    [("../other.safetensors", "outside the folder"), ("part.bin", r"not a \.safetensors file")],
)
def test_shards_lie_in_the_folder_and_are_no_pickles(
    encoder: Path, monkeypatch: pytest.MonkeyPatch, shard: str, part: str
) -> None:
    """An index of shards can lead the library to any file; so it is looked at too."""
    index = {"metadata": {}, "weight_map": {"a": shard, "b": "model.safetensors"}}
    (encoder / "model.safetensors.index.json").write_text(json.dumps(index))
    monkeypatch.setattr(pretrained, "_opened", lambda *_: pytest.fail("a library was asked"))
    with pytest.raises(InputError, match=part):
        open_encoder(str(encoder))


@pytest.mark.parametrize("depth", [2, 3, 4])
def test_what_lies_deeper_is_looked_at_too(encoder: Path, depth: int) -> None:
    """Modules may hold modules: a class of another package is found in them."""
    place = encoder.joinpath(*["inner"] * depth)
    place.mkdir(parents=True)
    (place / "modules.json").write_text(json.dumps([{"type": "evil.Module", "path": ""}]))
    with pytest.raises(InputError, match=r"evil\.Module"):
        open_encoder(str(encoder))


def test_all_that_speaks_against_a_folder_is_said_at_once(encoder: Path) -> None:
    """Weights, module and settings in one message."""
    (encoder / "model.safetensors").unlink()
    edit(encoder / "modules.json", first_module("type", "evil.Module"))
    edit(encoder / "config.json", with_key("auto_map", {"AutoModel": "evil.Model"}))
    with pytest.raises(InputError, match=r"(?s)safetensors.*auto_map.*evil\.Module"):
        open_encoder(str(encoder))


@pytest.mark.parametrize(
    ("architecture", "model_type", "kind"),
    [
        (None, None, ModelKind.MASKED_LM),
        ("RobertaForMaskedLM", "roberta", ModelKind.MASKED_LM),
        ("LlamaForCausalLM", "llama", ModelKind.CAUSAL_LM),
        ("GPT2LMHeadModel", "gpt2", ModelKind.CAUSAL_LM),
        ("LlamaModel", "llama", ModelKind.CAUSAL_LM),
        ("T5EncoderModel", "t5", ModelKind.MASKED_LM),
    ],
)
def test_the_kind_is_found_by_the_files(
    tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    architecture: str | None, model_type: str | None, kind: ModelKind,
) -> None:  # fmt: skip
    """Architecture first, else the type of model; no library opens it."""
    folder = Path(shutil.copytree(tiny_bert, tmp_path / "model"))
    if architecture:
        edit(folder / "config.json", with_key("architectures", [architecture]))
        edit(folder / "config.json", with_key("model_type", model_type))
    monkeypatch.setattr(pretrained, "_opened", lambda *_: pytest.fail("a library was asked"))
    assert kind_of(str(folder)) is kind
    assert kind_of(str(folder), None) is kind


def test_a_folder_of_modules_is_a_sentence_encoder(encoder: Path) -> None:
    """Whatever its Transformer is."""
    assert kind_of(str(encoder)) is ModelKind.SENTENCE_ENCODER


def test_without_pooling_there_is_no_sentence_vector(encoder: Path) -> None:
    """Whoever opens it, before it is asked anything."""
    edit(encoder / "modules.json", lambda modules: modules[:1])
    with pytest.raises(InputError, match="it has no pooling"):
        open_encoder(str(encoder))


def test_a_cross_encoder_is_no_sentence_encoder(tiny_bert: Path, tmp_path: Path) -> None:
    """What scores pairs only is refused by name where sentences need vectors."""
    from sentence_transformers import CrossEncoder

    model: Any = CrossEncoder(str(tiny_bert), num_labels=1, device="cpu")
    model.save_pretrained(str(tmp_path / "cross"))
    assert open_cross_encoder(str(tmp_path / "cross")).predict([("a ship", "the ship")]).shape
    assert kind_of(str(tmp_path / "cross")) is ModelKind.CROSS_ENCODER
    for asked in (open_encoder, encoder_kind):
        with pytest.raises(InputError, match="a cross-encoder"):
            asked(str(tmp_path / "cross"))


def test_a_causal_language_model_is_no_sentence_encoder(tiny_llm: Path) -> None:
    """Its kind is told to who can read with it; who wants vectors is told what to do."""
    assert encoder_kind(str(tiny_llm)) is ModelKind.CAUSAL_LM
    with pytest.raises(InputError, match=r"a causal language model.*firth train context --model"):
        open_encoder(str(tiny_llm))


@pytest.mark.parametrize(
    ("file", "key", "value", "kind"),
    [
        ("config_sentence_transformers.json", "model_type", "SparseEncoder", "sparse-encoder"),
        ("config_sentence_transformers.json", "model_type", "ColBERT", "multi-vector-encoder"),
        ("config_sentence_transformers.json", "model_type", "CrossEncoder", "cross-encoder"),
        ("config.json", "architectures", ["BertForTokenClassification"], "other"),
        ("config.json", "architectures", ["BertForSequenceClassification"], "cross-encoder"),
    ],
)
def test_what_has_no_vectors_for_sentences_is_named(
    encoder: Path, file: str, key: str, value: object, kind: str
) -> None:
    """By what the library or the architecture says; opened as an encoder it would be scored."""
    if file == "config.json":
        (encoder / "modules.json").unlink()
    edit(encoder / file, with_key(key, value))
    assert kind_of(str(encoder)) == kind
    with pytest.raises(InputError, match="Expected a sentence encoder"):
        open_encoder(str(encoder))
    if kind != "cross-encoder":
        with pytest.raises(InputError, match=f"a {kind}; expected a cross-encoder"):
            open_cross_encoder(str(encoder))


def test_modules_of_another_package_say_what_they_are(encoder: Path) -> None:
    """Where a library left nothing else that says it."""
    (encoder / "config_sentence_transformers.json").unlink()
    modules = json.loads((encoder / "modules.json").read_text())
    modules[-1]["type"] = "sentence_transformers.sparse_encoder.modules.SpladePooling"
    (encoder / "modules.json").write_text(json.dumps(modules))
    assert kind_of(str(encoder)) is ModelKind.SPARSE_ENCODER


def test_a_setting_of_another_kind_is_one_message(tiny_bert: Path, tmp_path: Path) -> None:
    """A word where a model's settings have a number: the library's own kind of error names it."""
    folder = Path(shutil.copytree(tiny_bert, tmp_path / "model"))
    settings = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(settings | {"classifier_dropout": "float32"}))
    with pytest.raises(InputError, match=r"cannot be opened: .*'classifier_dropout'. Expected"):
        open_encoder(str(folder))


def test_a_damaged_tokenizer_is_one_message(tiny_static: Path, tmp_path: Path) -> None:
    """Its library raises a bare `Exception`, which says no more than that."""
    folder = Path(shutil.copytree(tiny_static, tmp_path / "model"))
    (folder / "tokenizer.json").write_bytes(b"")
    with pytest.raises(InputError, match="cannot be opened: EOF while parsing"):
        open_encoder(str(folder))


def test_a_table_of_another_tokenizer_is_refused(tiny_static: Path, tmp_path: Path) -> None:
    """When it is opened, and not when a sentence has a word beyond its table."""
    from safetensors.numpy import load_file, save_file

    folder = Path(shutil.copytree(tiny_static, tmp_path / "model"))
    weights = folder / "model.safetensors"
    table = load_file(weights)["embedding.weight"]
    save_file({"embedding.weight": table[:-1].copy()}, weights)
    last = len(table) - 1
    with pytest.raises(InputError, match=f"up to {last}, and its table .*{last - 1}:"):
        open_encoder(str(folder))

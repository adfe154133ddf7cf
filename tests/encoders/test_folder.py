"""A model is looked at before any library opens it."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from hashlib import blake2b
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar

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
    "an activation": ("2_Dense/config.json", with_key("activation_function", "os.sys"), "'os.sys'"),
    "code of a model": ("config.json", with_key("auto_map", {"AutoModel": "e.M"}), "auto_map"),
    "trusted code": ("config.json", with_key("trust_remote_code", True), "trust_remote_code"),
    "attention of the hub": ("config.json", with_key("attn_implementation", "e/a"), "code of the"),
    "another backbone": ("config.json", with_key("backbone", "resnet50"), "backbone 'resnet50'"),
    "a folder that is made": (BERT, with_key("model_kwargs", {"offload_folder": "x"}), "offload_"),
    "a pattern for names": (BERT, with_key("model_args", {"key_mapping": {"(a+)+$": ""}}), "key_m"),
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


def test_the_fingerprint_covers_what_a_library_reads(
    tiny_bert: Path, tiny_onnx: Path, edited: Edited
) -> None:
    """External weights of an ONNX file have any name; a tokenizer's tables, too."""
    model = edited(tiny_onnx)
    file = next(model.rglob("*.onnx"))
    file.write_bytes(file.read_bytes() + b"outer.weights")
    for folder, name in ((model, "outer.weights"), (edited(tiny_bert), "bpe.codes")):
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


@pytest.mark.parametrize("shard", ["../a.safetensors", "part.bin"])
def test_shards_are_in_the_folder_and_no_pickles(
    tiny_encoder: Path, edited: Edited, shard: str
) -> None:
    index = {"metadata": {}, "weight_map": {"a": shard, "b": "model.safetensors"}}
    model = edited(tiny_encoder, "model.safetensors.index.json", lambda _: index)
    with pytest.raises(InputError, match=r"no \.safetensors file of the folder"):
        look(model)


def test_memory_is_bounded_while_a_model_is_opened(tiny_onnx: Path, edited: Edited) -> None:
    """A small file can ask for any memory. Afterwards the process has what it had."""
    resource = pytest.importorskip("resource")
    import onnx

    model = edited(tiny_onnx)
    loaded = onnx.load(str(model / "model.onnx"))
    shape = onnx.numpy_helper.from_array(np.array([3 << 30]), "shape")
    loaded.graph.initializer.append(shape)
    for operator, input, output in (
        ("ConstantOfShape", "shape", "many"), ("ReduceSum", "many", "nothing")
    ):  # fmt: skip
        loaded.graph.node.append(onnx.helper.make_node(operator, [input], [output]))
    last = next(node for node in loaded.graph.node if node.output[0] == "last_hidden_state")
    last.output[0] = "before"
    added = onnx.helper.make_node("Add", ["before", "nothing"], ["last_hidden_state"])
    loaded.graph.node.append(added)
    (model / "model.onnx").write_bytes(loaded.SerializeToString())
    before = resource.getrlimit(resource.RLIMIT_DATA)
    with pytest.raises(InputError, match="cannot be opened"):
        open_encoder(model)
    assert resource.getrlimit(resource.RLIMIT_DATA) == before
    assert open_encoder(tiny_onnx).encode(["a ship"]).shape == (1, 16)


def test_a_pattern_without_end_is_one_message(tiny_bert: Path, edited: Edited) -> None:
    """The library panics; this process does not."""
    pattern = {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated"}
    changed = with_key("pre_tokenizer", {**pattern, "invert": False})
    model = edited(tiny_bert, "tokenizer.json", changed)
    with pytest.raises(InputError, match=r"Expected|texts that it can") as caught:
        open_encoder(str(model)).encode(["a" * 60 + "!"])
    assert "\n" not in str(caught.value)


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


@pytest.mark.parametrize(
    ("architecture", "model_type", "kind"),
    [
        ("RobertaForMaskedLM", "roberta", ModelKind.MASKED_LM),
        ("BertModel", "bert", ModelKind.MASKED_LM),
        ("LlamaForCausalLM", "llama", ModelKind.OTHER),
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


def test_a_model_of_the_hub_is_downloaded_once(tiny_onnx: Path, tmp_path: Path) -> None:
    """From a stand-in of the hub: settings and weights, no pickle. The name is then the commit
    that it was, though the hub has another one; without the hub it opens as well."""
    commits = {"main": "a" * 40}

    class Hub(BaseHTTPRequestHandler):
        asked: ClassVar[list[str]] = []

        def do_HEAD(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            Hub.asked.append(self.path)
            parts = self.path.partition("?")[0].split("/")
            if parts[1:3] == ["api", "models"]:
                sizes = {path.name: path.stat().st_size for path in tiny_onnx.iterdir()}
                tree = [
                    {"type": "file", "oid": "0", "path": "onnx/" * (n[-1] == "x") + n, "size": size}
                    for n, size in {**sizes, "pytorch_model.bin": 9}.items()
                ]
                commit = {"id": "some/model", "sha": commits.get(parts[-1], parts[-1])}
                body = json.dumps(tree if "tree" in parts else commit).encode()
            elif "resolve" in parts:
                body = (tiny_onnx / parts[-1]).read_bytes()
            else:
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("ETag", f'"{blake2b(body, digest_size=20).hexdigest()}"')
            if "resolve" in parts:
                self.send_header("X-Repo-Commit", parts[4])
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    code = (
        "import sys\nsys.modules['sentence_transformers'] = None\n"
        "from firth.encoders.kinds import find_encoder\n"
        "found = find_encoder('some/model')\nprint(found.name)\n"
        "print(found.open().encode(['a ship']).tobytes().hex())\n"
        "print(*sorted(found.files.files))\n"
    )
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    Thread(target=server.serve_forever, daemon=True).start()
    environment = os.environ | {
        "HF_ENDPOINT": f"http://127.0.0.1:{server.server_port}", "HF_HOME": str(tmp_path / "hub"),
        "FIRTH_CACHE": str(tmp_path / "cache"), "HF_HUB_DISABLE_XET": "1",
    }  # fmt: skip
    environment.pop("HF_HUB_OFFLINE", None)

    def printed() -> list[str]:
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True
        )
        return done.stdout.splitlines() or [done.stderr]

    first = printed()
    assert first[0] == f"some/model@{'a' * 40}"
    assert first[2] == "onnx/model.onnx tokenizer.json tokenizer_config.json"
    assert not any("bin" in path for path in Hub.asked)
    commits["main"], count = "b" * 40, len(Hub.asked)
    assert printed() == first
    assert len(Hub.asked) == count
    server.shutdown()
    server.server_close()
    assert printed() == first
    code = code.replace("some/model", "no-one/nothing")
    assert "nor a model on the hub" in printed()[0]


def test_errors_of_libraries_are_one_message() -> None:
    """A panic in Rust is no `Exception`; an interruption stays one. The advice to open a pickle is
    not passed on."""
    panic = type("PanicException", (BaseException,), {"__module__": "pyo3_runtime"})

    def failing(error: BaseException) -> Callable[[], None]:
        def fail() -> None:
            raise error

        return fail

    pickled = RuntimeError("Weights only load failed. Re-run with `weights_only=False`.")
    for error, part in (
        (OSError("torn\nfile"), r"torn.*\. Expected a model"),
        (panic("torn"), r"torn.*\. Expected a model"),
        (pickled, "pickles are never opened"),
    ):
        with pytest.raises(InputError, match=f"m: cannot be opened: .*{part}") as caught:
            opened("m", "a model", failing(error))
        assert "weights_only" not in str(caught.value)
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

"""Kinds of encoders are registered from outside, and any object is an encoder."""

import json
import pickle
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from tests.conftest import TOY_SETTINGS, blocks, toy_documents
from tests.encoders.conftest import TEXTS

import firth
from firth.encoders.encoder import SAMPLES, AdaptedEncoder
from firth.encoders.kinds import find_encoder, kinds, open_encoder
from firth.run.errors import ConfigError, InputError
from firth.run.executor import Processes
from firth.run.settings import EncoderSettings
from firth.search.index import Index

A, B = "The ship saw the harbor.", "A boat left the storm."
SHARD = 90


def hashed(texts: Sequence[str], size: int = 24) -> np.ndarray[Any, Any]:
    """Return counts of words by number, (n, size); the last place is the same for all texts."""
    vectors = np.zeros((len(texts), size))
    for row, text in zip(vectors, texts, strict=True):
        row[-1] = 0.1
        for word in text.lower().split():
            row[crc32(word.encode()) % size] += 1
    return vectors


class Hashed:
    """An encoder of a user: nothing but a class with `encode`."""

    def __init__(self, change: Callable[[Any], Any] = np.asarray) -> None:
        self.change, self.asked = change, 0

    def encode(self, texts: Sequence[str]) -> Any:
        self.asked += len(texts)
        return self.change(hashed(texts))


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """A function that installs a distribution with one kind of encoder into a folder."""

    def install(source: str, registration: str) -> None:
        site = tmp_path / "site"
        info = site / "hashed_words-1.0.dist-info"
        info.mkdir(parents=True)
        (site / "hashed_words.py").write_text(source)
        (info / "METADATA").write_text("Name: hashed-words\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(registration)
        monkeypatch.syspath_prepend(str(site))
        monkeypatch.delitem(sys.modules, "hashed_words", raising=False)

    return install


# --- Kinds -------------------------------------------------------------------------------------


def test_a_strangers_kind_goes_through_everything(
    install: Callable[[str, str], None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file and registration of docs/design.md: build, explain, search and find duplicates."""
    from firth.cli import main

    source, registration = (
        next(block for block in blocks("design.md", kind) if part in block)
        for kind, part in (("python", "EncoderKind("), ("toml", "firth.encoders"))
    )
    install(source, registration.replace("project.entry-points.", "").replace('"', ""))
    lines = "".join(json.dumps(document) + "\n" for document in toy_documents(20))
    (tmp_path / "docs.jsonl").write_text(lines)
    settings = [f"--set={part}.{name}={value}" for part, values in TOY_SETTINGS.items()
                for name, value in values.items() if part != "corpus"]  # fmt: skip
    run = str(tmp_path / "kb")
    command = ["build", str(tmp_path / "docs.jsonl"), "--run", run, "--encoder", "hashed:24"]
    main.app([*command, *settings, "-q"], standalone_mode=False)
    assert "Documents: 20" in capsys.readouterr().out
    model = firth.load(run)
    explanation = model.explain(A, B)
    assert explanation.score == model.similarity(A, B)
    index = Index.open(model.run)
    texts = list(index.corpus.texts(np.arange(5)))
    encoder = open_encoder("hashed:24")
    assert encoder.name == "hashed:24"
    np.testing.assert_allclose(index.vectors(range(5)), encoder.encode(texts), atol=1e-3)
    np.testing.assert_allclose(encoder.raw(texts), hashed(texts), atol=1e-6)
    assert model.search(texts[0], mode="dense", top=1)[0].text == texts[0]
    assert len(model.duplicates()) > 0
    assert main.app(["build", "--run", run, "-q"], standalone_mode=False) is None
    assert "Everything was up to date" in capsys.readouterr().out


def test_a_kind_that_cannot_be_imported_is_left_out(
    install: Callable[[str, str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    """The others still open what is theirs; the note says which one and why."""
    known = {kind.name for kind in kinds()}
    install("raise RuntimeError('broken')", "[firth.encoders]\nother = hashed_words:KIND\n")
    assert {kind.name for kind in kinds()} == known
    assert "other (hashed_words:KIND) is left out: broken" in capsys.readouterr().err


# --- Objects -----------------------------------------------------------------------------------


def tensors(vectors: Any) -> Any:
    torch: Any = pytest.importorskip("torch")
    return torch.from_numpy(vectors)


SHAPES: dict[str, Callable[[Any], Any]] = {
    "float64": lambda v: 3 * v,
    "lists": lambda v: v.tolist(),
    "list of arrays": list,
    "generator": iter,
    "tensor": tensors,
    "list of tensors": lambda v: list(tensors(v)),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_any_shape_of_vectors_becomes_unit_rows(shape: str) -> None:
    encoder = open_encoder(Hashed(SHAPES[shape]))
    vectors, expected = encoder.encode(TEXTS), hashed(TEXTS)
    assert vectors.dtype == np.float32
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(vectors, expected, atol=1e-6)
    assert (encoder.name, encoder.dimensions) == ("Hashed", 24)
    assert encoder.encode([]).shape == (0, 24)


def test_embed_is_a_name_for_encode() -> None:
    """As FastEmbed has it: a generator, and the name of the model."""

    class TextEmbedding:
        model_name = "bge"

        def embed(self, documents: list[str]) -> Iterator[Any]:
            yield from hashed(documents)

    given: Any = TextEmbedding()
    encoder = open_encoder(given)
    assert encoder.name == "bge"
    assert encoder.encode(["a", "b"]).shape == (2, 24)


WRONG: dict[str, tuple[Callable[[Any], Any], str]] = {
    "one row": (lambda v: v[0], r"shape \(24,\) for 10 texts; expected 10 rows"),
    "too few": (lambda v: v[:1], "for 10 texts"),
    "NaN": (lambda v: v + np.nan, "NaN or infinity"),
    "ragged": (lambda v: [row[:n] for n, row in enumerate(v.tolist())], "cannot encode"),
    "nothing": (lambda v: None, "cannot encode"),
    "words": (lambda v: [["a"] * 3] * len(v), "cannot encode"),
    "no column": (lambda v: v[:, :0], "no number"),
    "whole call": (lambda v: v + len(v), "depends on the other texts"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_no_array_of_rows_is_one_message(case: str) -> None:
    change, part = WRONG[case]
    with pytest.raises(InputError, match=part) as caught:
        open_encoder(Hashed(change))
    assert "\n" not in str(caught.value)


def test_an_encoder_that_changes_its_width_is_refused() -> None:
    """The number of columns is that of the first call."""
    encoder: Any = Hashed()
    adapted = AdaptedEncoder(encoder)
    encoder.change = lambda v: v[:, :3]
    with pytest.raises(InputError, match=r"shape \(1, 3\) for 1 texts; expected 1 rows of 24"):
        adapted.encode(["a"])


@pytest.mark.parametrize("nothing", [3, object(), Hashed])
def test_what_has_no_encode_is_refused(nothing: Any) -> None:
    with pytest.raises(InputError, match="an object with encode"):
        find_encoder(nothing)


def test_the_fingerprint_is_that_of_the_vectors() -> None:
    """Small differences of libraries and devices do not count; other vectors do."""
    rng = np.random.default_rng(0)
    adapted = AdaptedEncoder(Hashed())
    assert AdaptedEncoder(Hashed()).fingerprint == adapted.fingerprint
    noise = 1e-4 * rng.standard_normal(adapted.samples.shape)
    assert adapted.is_like(adapted.samples + noise)
    assert not adapted.is_like(np.roll(adapted.samples, 1, axis=1))
    assert not adapted.is_like(adapted.samples[:, :8])
    other = AdaptedEncoder(Hashed(lambda v: np.roll(v, 1, axis=1)))
    assert other.fingerprint != adapted.fingerprint
    named: Any = Hashed()
    named.fingerprint = "v1"
    assert AdaptedEncoder(named).fingerprint == "v1"
    assert len(SAMPLES) == len(set(SAMPLES)) == 10


def test_a_sentence_transformer_has_its_states_of_words(tiny_encoder: Path) -> None:
    """The object that a user opened gives what its folder gives by name."""
    from sentence_transformers import SentenceTransformer

    given, named = open_encoder(SentenceTransformer(str(tiny_encoder))), open_encoder(tiny_encoder)
    assert given.name == named.name == "tiny-encoder"
    np.testing.assert_allclose(given.raw(TEXTS), named.raw(TEXTS), atol=1e-6)
    assert given.read_tokens is not None
    assert named.read_tokens is not None
    both = given.read_tokens(TEXTS)[1], named.read_tokens(TEXTS)[1]
    for (states, _), (same, _) in zip(*both, strict=True):
        np.testing.assert_allclose(states, same, atol=1e-6)


# --- Runs --------------------------------------------------------------------------------------


def test_a_run_is_built_over_an_object(tmp_path: Path) -> None:
    """It is opened with the object again, and with no other; an equal build does nothing."""
    given = Hashed()
    model = firth.build(toy_documents(20), tmp_path / "kb", encoder=given, settings=TOY_SETTINGS)
    score = model.similarity(A, B)
    assert model.explain(A, B).score == score
    assert model.search("ship in the storm", mode="dense")
    model.duplicates()
    texts = list(Index.open(model.run).corpus.texts(np.arange(3)))
    found = Index.open(model.run).vectors(range(3))
    np.testing.assert_allclose(found, open_encoder(given).encode(texts), atol=1e-3)
    assert model.run.settings.encoder.model == "object:Hashed"
    again = firth.load(tmp_path / "kb", encoder=Hashed())
    assert again.similarity(A, B) == score
    assert again.search(texts[0], mode="dense", top=1)[0].text == texts[0]
    again.add([{"id": "new", "text": "The zeppelin crossed the field slowly."}])
    assert again.search("zeppelin", top=1)[0].document == "new"
    rounded = Hashed(lambda v: v + 1e-3)
    assert AdaptedEncoder(rounded).fingerprint != AdaptedEncoder(given).fingerprint
    assert firth.load(tmp_path / "kb", encoder=rounded).similarity(A, B) == pytest.approx(
        score, abs=0.01
    )
    copied = pickle.loads(pickle.dumps(again))
    assert copied.similarity(A, B) == score
    assert copied.search("zeppelin", top=1)[0].document == "new"
    turned = Hashed(lambda v: np.roll(v, 1, axis=1))
    with pytest.raises(InputError, match="another encoder than object:Hashed"):
        firth.load(tmp_path / "kb", encoder=turned)
    plain = firth.load(tmp_path / "kb")
    for ask in (lambda: plain.similarity(A, B), lambda: plain.search("ship")):
        with pytest.raises(
            InputError, match=r"object:Hashed: .*firth\.load\(RUN, encoder=OBJECT\)"
        ):
            ask()
    with pytest.raises(ConfigError, match="which no name opens"):
        firth.build(toy_documents(20), tmp_path / "kb")
    rebuilt = firth.build(toy_documents(20), tmp_path / "kb", encoder=Hashed()).built
    assert rebuilt is not None
    assert not rebuilt.stages["pretrained"]
    changed = firth.build(toy_documents(20), tmp_path / "kb", encoder=turned).built
    assert changed is not None
    assert changed.stages["pretrained"]
    assert changed.stages["index"]


def test_a_name_is_opened_once_in_a_process(
    tiny_onnx: Path, edited: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other settings and other bytes are other encoders; the oldest of several is closed."""
    place = edited(tiny_onnx)
    first = open_encoder(place)
    assert open_encoder(str(place)) is first
    assert open_encoder(place, EncoderSettings(pooling="cls")) is not first
    stored = json.loads((place / "tokenizer_config.json").read_text())
    (place / "tokenizer_config.json").write_text(json.dumps({**stored, "model_max_length": 3}))
    second = open_encoder(place)
    assert second is not first
    monkeypatch.setattr("firth.encoders.kinds._MOST_OPEN", 1)
    open_encoder(tiny_onnx)
    assert open_encoder(place) is not second


def test_a_run_without_an_encoder_is_not_loaded_with_one(toy_folder: Path) -> None:
    with pytest.raises(InputError, match="without an encoder"):
        firth.load(toy_folder, encoder=Hashed())


def test_a_folder_that_has_moved_is_passed_by_name(
    toy_copy: Path, tiny_onnx: Path, edited: Callable[..., Path]
) -> None:
    """The bytes count, not the place; other bytes are refused."""
    place = edited(tiny_onnx)
    model = firth.build(toy_documents(20), toy_copy, encoder=str(place))
    score, moved = model.similarity(A, B), place.with_name("moved")
    place.rename(moved)
    with pytest.raises(InputError, match="neither a folder"):
        firth.load(toy_copy).similarity(A, B)
    model = firth.load(toy_copy, encoder=str(moved))
    assert model.similarity(A, B) == score
    assert model.search("ship")
    other = edited(tiny_onnx, "tokenizer_config.json", lambda c: {**c, "padding_side": "left"})
    with pytest.raises(InputError, match="another encoder"):
        firth.load(toy_copy, encoder=str(other))


def test_processes_leave_an_object_in_this_one(tmp_path: Path) -> None:
    """A class in a function cannot be sent to another process."""

    class Local(Hashed):
        pass

    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(Local())
    file = tmp_path / "docs.jsonl"
    file.write_text("".join(json.dumps(document) + "\n" for document in toy_documents(20)))
    processes = Processes(2)
    model = firth.build(
        file, tmp_path / "kb", encoder=Local(), executor=processes, settings=TOY_SETTINGS
    )
    assert model.run.settings.corpus.inputs == (str(file),)
    assert model.similarity(A, A) == 1

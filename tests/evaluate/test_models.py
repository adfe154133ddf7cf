"""From a name to a scorer, or to an error that helps; and to what identifies it."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import huggingface_hub
import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer

from firth.evaluate import EVALUATION, models
from firth.evaluate.models import EncoderScorer, OriginScorer, fingerprint_model, resolve_model
from firth.origin.settings import Method
from firth.run.config import Config
from firth.run.errors import InputError, MissingStageError
from firth.run.run import Run
from firth.surrogate.cross_scorer import CrossScorer

PAIRS = [
    ("the red ship sailed", "a ship left the harbour"),
    ("the storm", "the old captain"),
    ("it was the sea", "it was the sea"),
]


def test_an_encoder_folder_gives_its_cosines(encoder_folder: Path) -> None:
    """The same numbers as encoding each text by hand."""
    model = SentenceTransformer(str(encoder_folder), device="cpu")
    expected = []
    for a, b in PAIRS:
        u, v = model.encode([a])[0], model.encode([b])[0]
        expected.append(float(u @ v / (np.linalg.norm(u) * np.linalg.norm(v))))
    scorer = resolve_model(encoder_folder)
    assert isinstance(scorer, EncoderScorer)
    found = scorer.similarities(PAIRS)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert len(set(found.round(3).tolist())) == 3, "premise: the pairs differ"


def test_each_distinct_text_is_encoded_once() -> None:
    """Evaluation sets repeat texts; encoding is what costs."""
    seen: list[str] = []

    class Counting:
        def eval(self) -> "Counting":
            return self

        def encode(self, texts: list[str], **_: object) -> np.ndarray:
            seen.extend(texts)
            return np.ones((len(texts), 2))

    scorer = EncoderScorer(Counting(), "counting")  # type: ignore[arg-type]
    scorer.similarities([("a", "b"), ("b", "a"), ("a", "c")])
    assert sorted(seen) == ["a", "b", "c"]


def test_a_text_without_known_words_is_similar_to_nothing(encoder_folder: Path) -> None:
    """An empty text has no vector: similarity 0, not a NaN."""
    assert resolve_model(encoder_folder).similarities([("", "the ship"), ("", "")]).tolist() == [
        0,
        0,
    ]


def test_a_run_is_origin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with a configuration of firth in it is scored by Origin."""
    run = Run.create(tmp_path / "run", Config())
    asked: list[object] = []

    def opened(path: Path) -> SimpleNamespace:
        asked.append(path)
        return SimpleNamespace(
            name="a stand-in",
            similarities=lambda pairs: np.arange(len(pairs), dtype=np.float32),
        )

    monkeypatch.setattr(models, "Origin", SimpleNamespace(open=opened))
    scorer = resolve_model(run.path)
    assert isinstance(scorer, OriginScorer)
    assert asked == [run.path]
    assert scorer.name == f"Origin of {run.path} (a stand-in)"
    assert scorer.similarities(PAIRS).dtype == np.float64
    assert scorer.similarities(PAIRS).tolist() == [0, 1, 2]


def test_a_surrogate_that_is_not_there_names_the_command(tmp_path: Path) -> None:
    """RUN/surrogate before distillation: what to type, not that a folder is missing."""
    run = Run.create(tmp_path / "run", Config())
    with pytest.raises(MissingStageError, match="firth distill --run"):
        resolve_model(run.path / "surrogate")


def test_a_surrogate_is_an_encoder(tmp_path: Path, encoder_folder: Path) -> None:
    """A folder inside a run is what it holds, not the run."""
    run = Run.create(tmp_path / "run", Config())
    shutil.copytree(encoder_folder, run.path / "surrogate")
    assert isinstance(resolve_model(run.path / "surrogate"), EncoderScorer)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("baseline:nonsense", "baseline:dice, baseline:tfidf"),
        ("./nowhere", "no such folder"),
        ("/nowhere/at/all", "no such folder"),
        ("runs/nowhere/model", "no such folder"),
        ("no-such-model", "the hub cannot be reached"),
    ],
)
def test_names_of_nothing(spec: str, message: str) -> None:
    """Each kind of mistake gets the error that fits it."""
    with pytest.raises(InputError, match=message):
        resolve_model(spec)


def test_other_folders_are_refused(tmp_path: Path, encoder_folder: Path) -> None:
    """An empty folder, and an encoder with a file missing or broken."""
    with pytest.raises(InputError, match="neither a run"):
        resolve_model(tmp_path)
    broken = tmp_path / "broken"
    shutil.copytree(encoder_folder, broken)
    (weights,) = broken.rglob("*.safetensors")
    weights.write_bytes(weights.read_bytes()[:50])
    with pytest.raises(InputError, match=str(broken)):
        resolve_model(broken)
    (broken / "modules.json").write_text("{")
    with pytest.raises(InputError, match=str(broken)):
        resolve_model(broken)


def test_pickled_weights_are_refused(tiny_bert: Path, tmp_path: Path) -> None:
    """Whether transformers or sentence-transformers would read them."""
    import torch
    from transformers import AutoModel

    folder = tmp_path / "model"
    shutil.copytree(tiny_bert, folder)
    assert isinstance(resolve_model(folder), EncoderScorer), "premise: with safetensors it opens"
    for weights in folder.rglob("*.safetensors"):
        weights.unlink()
    model = AutoModel.from_pretrained(tiny_bert)
    torch.save(model.state_dict(), folder / "pytorch_model.bin")
    with pytest.raises(InputError, match="pickled weights are never opened"):
        resolve_model(folder)


@pytest.fixture(scope="module")
def classifiers(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Cross-encoders with a head of one output, of inference's classes, and of nameless ones."""
    from transformers import AutoModelForSequenceClassification

    folder = tmp_path_factory.mktemp("classifiers")
    for name, labels in {
        "one": ["LABEL_0"],
        "nli": ["contradiction", "entailment", "neutral"],
        "two": ["LABEL_0", "LABEL_1"],
    }.items():
        shutil.copytree(tiny_bert, folder / name)
        model = AutoModelForSequenceClassification.from_pretrained(
            tiny_bert, num_labels=len(labels), id2label=dict(enumerate(labels))
        )
        model.save_pretrained(folder / name)
    return folder


def test_a_cross_encoder_is_scored_as_what_it_is(classifiers: Path) -> None:
    """Of one output the raw output, as the library gives it; of inference, that of entailment; of
    classes that say nothing, none."""
    import torch
    from sentence_transformers import CrossEncoder

    said = CrossEncoder(str(classifiers / "one"), device="cpu").predict(
        list(PAIRS), activation_fn=torch.nn.Identity()
    )
    scorer = resolve_model(classifiers / "one")
    assert isinstance(scorer, CrossScorer)
    assert scorer.similarities(PAIRS) == pytest.approx(said, abs=1e-5)
    assert scorer.similarities([]).shape == (0,)
    logits = CrossEncoder(str(classifiers / "nli"), device="cpu").predict(
        list(PAIRS), activation_fn=torch.nn.Identity()
    )
    expected = torch.softmax(torch.tensor(logits), dim=1)[:, 1]
    assert resolve_model(classifiers / "nli").similarities(PAIRS) == pytest.approx(
        expected.numpy(), abs=1e-5
    )
    with pytest.raises(InputError, match="two: a classifier of label_0, label_1, none of which"):
        resolve_model(classifiers / "two")


def test_a_cross_encoder_in_the_layout_of_its_library(tiny_bert: Path, tmp_path: Path) -> None:
    """Saved with modules, as `CrossEncoder` does: the same scores, never those of cosines."""
    from sentence_transformers import CrossEncoder

    model = CrossEncoder(str(tiny_bert), num_labels=1, device="cpu")
    model.save_pretrained(str(tmp_path / "cross"))
    found = resolve_model(tmp_path / "cross")
    assert found.similarities(PAIRS) == pytest.approx(
        CrossScorer(model).similarities(PAIRS), abs=1e-5
    )


def test_a_language_model_is_refused_by_name(tiny_llm: Path) -> None:
    """The mean of its states would be scored; what to type instead is said."""
    with pytest.raises(InputError, match=r"a causal language model.* baseline:prompt-eol@"):
        resolve_model(tiny_llm)


def test_no_code_of_a_model_is_ever_run(
    encoder_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """trust_remote_code stays off."""
    given: dict[str, object] = {}

    class Recording:
        device = "cpu"

        def __init__(self, _: str, **arguments: object) -> None:
            given.update(arguments)

        def __getitem__(self, module: int) -> None:
            assert module == 0

        def preprocess(self, texts: list[str]) -> dict[str, torch.Tensor]:
            return {"sentence_embedding": torch.zeros(len(texts), 2)}

        def __call__(self, features: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
            return features

        def eval(self) -> "Recording":
            return self

    monkeypatch.setattr("sentence_transformers.SentenceTransformer", Recording)
    resolve_model(encoder_folder)
    assert "local_files_only" in given, "premise: the model was opened by the fake"
    assert not given.get("trust_remote_code")


def test_fingerprints_are_of_contents_not_of_names(tmp_path: Path, encoder_folder: Path) -> None:
    """A copy is the same model, a changed byte another one; a hub name has none."""
    copy = tmp_path / "copy"
    shutil.copytree(encoder_folder, copy)
    original = fingerprint_model(encoder_folder)
    assert original == fingerprint_model(copy) is not None
    (weights,) = copy.rglob("*.safetensors")
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(data)
    assert fingerprint_model(copy) != original
    assert fingerprint_model("someone/some-model") is None
    assert fingerprint_model("baseline:dice") != fingerprint_model("baseline:tfidf")


def test_a_runs_fingerprint_follows_what_origin_reads(tiny_run: Path, tmp_path: Path) -> None:
    """Settings of Origin and stages count; the harvest and the Surrogate made from it do not."""
    run = Run.open(shutil.copytree(tiny_run, tmp_path / "run"))
    first, idf = fingerprint_model(run.path), fingerprint_model(f"baseline:tfidf@{run.path}")
    assert first == fingerprint_model(tiny_run), "a copy is the same model"
    for later in ("harvest", "surrogate"):
        shutil.rmtree(run.path / later)
    assert fingerprint_model(run.path) == first
    found = {first}
    for change in ({"retrieve": {"chunks": 77}}, {"seed": 99}, {"paper": {"contexts": 3}}):
        assert run.config.origin.method is Method.PAPER, "premise: the printed method reads them"
        run.changed(change).save()
        found.add(fingerprint_model(run.path))
        run.save()
    assert len(found) == 4
    manifest = run.path / "corpus" / "manifest.json"
    values = json.loads(manifest.read_text())
    others = re.sub(r"[0-9a-f]{40}", "0" * 40, json.dumps(values["outputs"]))
    manifest.write_text(json.dumps({**values, "outputs": json.loads(others)}))
    assert fingerprint_model(run.path) not in found
    assert fingerprint_model(f"baseline:tfidf@{run.path}") != idf


def test_a_run_without_an_evaluation_names_a_command_that_takes_it(tmp_path: Path) -> None:
    """`firth run` takes a file, and a run after --run."""
    run = Run.create(tmp_path / "run", Config())
    with pytest.raises(MissingStageError, match=f"firth run .* --run {run.path}"):
        run.folder(EVALUATION)


def test_naming_things_of_the_package_stays_light() -> None:
    """Listing tasks loads neither torch nor scikit-learn nor scipy."""
    code = (
        "import sys; from firth.evaluate.task import TASKS; from firth.evaluate.results import "
        "Evaluation; from firth.evaluate.models import resolve_model; "
        "resolve_model('baseline:dice'); "
        "print([m for m in ('torch', 'sklearn', 'scipy', 'datasets') if m in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"


# Hub names are known by their commit, or not at all.


def test_a_reachable_hub_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same commit, the same identity; another commit or name, another; no answer, none."""
    asked: list[str] = []
    commit = "a" * 40

    def model_info(name: str, timeout: float) -> SimpleNamespace:
        asked.append(name)
        return SimpleNamespace(sha=commit)

    monkeypatch.setattr(huggingface_hub, "model_info", model_info)
    monkeypatch.setattr(models, "hub_is_reachable", lambda: True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    first = fingerprint_model("someone/some-model")
    assert first == fingerprint_model("someone/some-model") is not None
    assert first != fingerprint_model("someone/other-model")
    commit = "b" * 40
    assert first != fingerprint_model("someone/some-model")
    fingerprint_model("all-mpnet")
    assert asked[-1] == "sentence-transformers/all-mpnet"

    def fails(name: str, timeout: float) -> SimpleNamespace:
        raise OSError("no answer")

    monkeypatch.setattr(huggingface_hub, "model_info", fails)
    assert fingerprint_model("someone/some-model") is None


def test_without_a_hub_the_local_copy_counts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Its commit is in the path of its files; without a copy there is no identity."""
    assert fingerprint_model("someone/absent") is None
    file = tmp_path / "models--someone--here" / "snapshots" / ("c" * 40) / "modules.json"
    monkeypatch.setattr(huggingface_hub, "try_to_load_from_cache", lambda *_: str(file))
    assert fingerprint_model("someone/here") is not None


def test_a_folder_that_is_no_model_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be all of a disk: it is refused by what it lacks, and no file of it is opened."""
    (tmp_path / "letter.txt").write_text("Dear reader")
    monkeypatch.setattr(models, "fingerprint_file", lambda _: pytest.fail("a file was read"))
    assert fingerprint_model(tmp_path) is None
    with pytest.raises(InputError, match="neither a run"):
        resolve_model(tmp_path)

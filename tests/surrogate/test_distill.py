"""Distillation end to end: it learns, it is honest, it is the same twice, and it stands alone."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from sentence_transformers import SentenceTransformer
from tests.surrogate.conftest import contents, write_pairs

from firth.context import CONTEXT
from firth.corpus.corpus import Corpus
from firth.corpus.drawn import Pairs, draw
from firth.harvest import HARVEST
from firth.run import model_files
from firth.run.config import Config
from firth.run.errors import InputError, MissingStageError
from firth.run.model_files import PretrainedFiles
from firth.run.run import CONFIG, Run
from firth.surrogate import SURROGATE
from firth.surrogate.by_pairs import cosines
from firth.surrogate.distill import Distilled, distill
from firth.surrogate.meaning import paired_cosines
from firth.surrogate.start import start_model

ALONE = """
import sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "firth":
            raise ImportError("firth is not installed")
sys.meta_path.insert(0, Block())
from sentence_transformers import SentenceTransformer
vectors = SentenceTransformer(sys.argv[1]).encode(["The ship left.", ""])
print(vectors.shape[1])
"""


@pytest.fixture(scope="module")
def distilled(harvested: Path, tmp_path_factory: pytest.TempPathFactory) -> Distilled:
    """The static Surrogate of the harvested run, with enough epochs to learn."""
    path = tmp_path_factory.mktemp("distilled") / "run"
    shutil.copytree(harvested, path)
    return distill(path, epochs=20, learning_rate=5e-3)


def test_distilling_learns_origin(distilled: Distilled) -> None:
    """L2 ends below the start's and below the constant's, and the ranks agree better."""
    before, after = (distilled.report[when]["test"]["all"] for when in ("before", "after"))
    assert after["l2"] < before["l2"]
    assert after["l2"] < after["constant_l2"]
    assert after["spearman"] > before["spearman"]
    history = distilled.report["history"]["distillation"]
    assert history[-1]["loss"] < history[0]["loss"]


def test_the_report_tells_what_the_model_does(distilled: Distilled) -> None:
    """Figures recomputed from the saved folder are those of the report."""
    run = Run.open(distilled.path.parent)
    table = pq.read_table(run.folder(HARVEST) / "test.parquet")
    model = SentenceTransformer(str(distilled.path), device="cpu")
    labels = distilled.labels.apply(table["score"].to_numpy())
    l2 = np.mean((cosines(model, table) - labels) ** 2)
    assert distilled.report["after"]["test"]["all"]["l2"] == pytest.approx(l2, abs=1e-5)
    start = np.mean((cosines(start_model(run), table) - labels) ** 2)
    assert distilled.report["before"]["test"]["all"]["l2"] == pytest.approx(start, abs=1e-5)


def test_labels_come_from_the_training_scores_alone(distilled: Distilled) -> None:
    """The map has their mean and deviation, not those of dev and test."""
    path = distilled.path.parent / "harvest" / "train.parquet"
    scores = pq.read_table(path)["score"].to_numpy()
    assert distilled.labels.mean == pytest.approx(scores.mean())
    assert distilled.labels.deviation == pytest.approx(scores.std())


def test_the_folder_opens_without_firth(distilled: Distilled) -> None:
    """sentence-transformers alone opens it, and encodes even an empty sentence."""
    done = subprocess.run(
        [sys.executable, "-c", ALONE, str(distilled.path)],
        capture_output=True, text=True, check=True,
        env={"HF_HUB_OFFLINE": "1", "PATH": "", "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.stdout.strip() == "32"


def test_the_folder_holds_no_pickles_and_no_traces(distilled: Distilled) -> None:
    """safetensors only; neither temporary paths nor dates in any text; a card of our own."""
    found = contents(distilled.path)
    assert "model.safetensors" in found
    assert {Path(name).suffix for name in found} <= {".safetensors", ".json", ".md"}
    texts = "".join(data.decode() for name, data in found.items() if not name.endswith("tensors"))
    assert str(distilled.path.parent.parent) not in texts
    assert not re.search(r"20\d\d-\d\d-\d\d", texts)
    card = found["README.md"].decode()
    assert "Intended use and limits" in card
    assert f"{distilled.report['after']['test']['all']['l2']:.4f}" in card
    assert "$" not in card


def test_the_card_says_what_its_cosines_mean(distilled: Distilled) -> None:
    """Fewer random pairs reach higher cosines; of pairs drawn anew no more than it says."""
    told = distilled.report["scale"]["levels"]
    assert [one["rate"] for one in told] == [0.1, 0.01, 0.001]
    assert sorted(one["cosine"] for one in told) == [one["cosine"] for one in told]
    card = (distilled.path / "README.md").read_text()
    assert all(f"| {one['cosine']:.2f} | {100 * one['rate']:g} % |" in card for one in told)
    corpus = Corpus.open(distilled.path.parent)
    model = SentenceTransformer(str(distilled.path), device="cpu")
    texts = (corpus.texts(side) for side in draw(corpus, Pairs.RANDOM, 4_000, 99))
    share = (paired_cosines(model, *texts) >= told[0]["cosine"]).mean()
    assert 0 < share < 0.1 + 4 * (0.1 * 0.9 / 4_000) ** 0.5 + 0.01


@pytest.mark.parametrize("base", ["static", "transformer"])
def test_two_runs_give_the_same_bytes(fresh: Callable[..., Run], base: str) -> None:
    """Another folder, the same bytes; a third call reuses what is there."""
    runs = [fresh(name, base=base, epochs=1, batch=200, layers=1) for name in ("one", "two")]
    first, second = (distill(run) for run in runs)
    assert contents(first.path) == contents(second.path)
    assert not second.reused
    assert distill(runs[1]).reused


def test_a_masked_language_model_becomes_an_encoder(
    fresh: Callable[..., Run], roberta: Path
) -> None:
    """RoBERTa gets mean pooling of its last layer; a Surrogate as base keeps its own modules."""
    found = distill(fresh("mlm", epochs=1, batch=200), str(roberta))
    model = SentenceTransformer(str(found.path), device="cpu")
    assert [type(part).__name__ for part in model] == ["Transformer", "Pooling"]
    assert model[1].pooling_mode == "mean"
    assert found.report["settings"]["base"] == roberta.name
    assert found.report["settings"]["learning_rate"] == 2e-5
    again = distill(fresh("again", epochs=1, batch=200), str(found.path))
    table = pq.read_table(again.path.parent / "harvest" / "dev.parquet")
    labels = again.labels.apply(table["score"].to_numpy())
    start = np.mean((cosines(model, table) - labels) ** 2)
    assert again.report["before"]["dev"]["all"]["l2"] == pytest.approx(start, abs=1e-5)


def test_nothing_is_left_on_screen_or_in_the_working_directory(
    fresh: Callable[..., Run],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Quiet means quiet, and training leaves no folder behind."""
    run = fresh("run", epochs=1, batch=200)
    place = tmp_path / "working"
    place.mkdir()
    monkeypatch.chdir(place)
    distill(run)
    assert not list(place.iterdir())
    assert capfd.readouterr() == ("", "")


def encoder_folder(folder: Path, roberta: Path, change: str) -> Path:
    """A copy of `roberta` that is spoilt in one way."""
    shutil.copytree(roberta, folder)
    modules = [
        {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}
    ]
    if change == "pickle":
        (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    elif change == "broken":
        (folder / "model.safetensors").write_bytes(b"no weights")
    elif change == "foreign code":
        modules[0]["type"] = "evil.Module"
        (folder / "modules.json").write_text(json.dumps(modules))
    elif change == "outside":
        modules[0]["path"] = "../elsewhere"
        (folder / "modules.json").write_text(json.dumps(modules))
    elif change == "auto_map":
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(config | {"auto_map": {"x": "evil.X"}}))
    return folder


REFUSED = {
    "pickle": "no .safetensors file",
    "foreign code": "evil.Module",
    "outside": "outside the folder",
    "auto_map": "code of its own",
}


@pytest.mark.parametrize("change", REFUSED)
def test_a_base_with_pickles_or_code_is_refused_before_a_library_opens_it(
    fresh: Callable[..., Run],
    roberta: Path,
    tmp_path: Path,
    change: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The folder is looked at first, and no work was begun."""
    run = fresh("run")
    base = encoder_folder(tmp_path / "base", roberta, change)
    opened: list[object] = []
    monkeypatch.setattr(SentenceTransformer, "__init__", lambda *given, **_: opened.append(given))
    with pytest.raises(InputError, match=f"surrogate.base: .*{REFUSED[change]}"):
        distill(run, str(base))
    assert not opened
    assert not list(run.path.glob("*surrogate*"))


def test_a_refused_base_changes_nothing(
    distilled: Distilled, roberta: Path, tmp_path: Path
) -> None:
    """Called from Python: configuration and Surrogate stay as they are, whenever it is refused."""
    path = Path(shutil.copytree(distilled.path.parent, tmp_path / "run"))
    before = contents(path / "surrogate"), (path / CONFIG).read_bytes()
    (tmp_path / "empty").mkdir()
    late = encoder_folder(tmp_path / "late", roberta, "broken")
    for base, said in [
        ("/no/such", "surrogate.base: /no/such: no such folder"),
        (str(path / CONFIG), "a file"),
        (str(tmp_path / "empty"), "no .safetensors file"),
        (str(late), "cannot be opened"),
    ]:
        with pytest.raises(InputError, match=said):
            distill(path, base)
        assert (contents(path / "surrogate"), (path / CONFIG).read_bytes()) == before
    assert Distilled.open(path).report == distilled.report


def test_a_base_is_known_by_its_content(
    fresh: Callable[..., Run], roberta: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other weights of the same size make another Surrogate; so they do under a hub's name."""
    base = Path(shutil.copytree(roberta, tmp_path / "base"))
    runs = {
        str(base): fresh("folder", epochs=1, batch=200),
        "a/b": fresh("hub", epochs=1, batch=200),
    }
    find = model_files.find_model
    monkeypatch.setattr(
        model_files, "find_model", lambda name, *more: find(str(base) if name == "a/b" else name)
    )
    for name, run in runs.items():
        assert not distill(run, name).reused
        assert distill(run, name).reused
    weights = base / "model.safetensors"
    data = bytearray(weights.read_bytes())
    data[-3] ^= 1
    weights.write_bytes(data)
    for name, run in runs.items():
        assert not distill(run, name).reused


def test_what_is_missing_is_said_before_any_work(
    fresh: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stage that is not there; the base is not even looked for before."""
    run = fresh("run")
    shutil.rmtree(run.path / "harvest")
    monkeypatch.setattr(PretrainedFiles, "find", None)  # a call would fail
    with pytest.raises(MissingStageError, match="firth harvest"):
        distill(run, "someone/model")


@pytest.mark.parametrize(
    ("sizes", "said"), [({"test": 0}, "no pair in test"), ({"train": 0}, "no training pair")]
)
def test_an_empty_split_is_refused(
    fresh: Callable[..., Run], sizes: dict[str, int], said: str
) -> None:
    """A report without held-out pairs would say nothing; said before a start is built."""
    run = fresh("run")
    write_pairs(run, {"train": 60, "dev": 20, "test": 20} | sizes)
    with pytest.raises(InputError, match=said):
        distill(run)


def test_where_origin_is_the_papers_the_start_is_learned(fresh: Callable[..., Run]) -> None:
    """The stage context, though built, is not read then; `start_model` follows the same rule."""
    run = fresh("run", epochs=1, batch=200).changed({"origin": {"method": "paper"}})
    assert run.has(CONTEXT)
    found = distill(run)
    assert found.report["history"]["start"]
    assert CONTEXT.name not in run.manifest(SURROGATE).inputs
    table = pq.read_table(run.folder(HARVEST) / "dev.parquet")
    error = cosines(start_model(run), table) - found.labels.apply(table["score"].to_numpy())
    l2 = found.report["before"]["dev"]["all"]["l2"]
    assert l2 == pytest.approx(np.mean(error**2), abs=1e-5)


def test_without_a_harvest_the_command_is_named(tiny_folder: Path, tmp_path: Path) -> None:
    """The message says which command builds what is missing."""
    from firth.context.build import build_context
    from firth.corpus.build import build_corpus
    from firth.corpus.tokenizer import build_tokenizer

    config = {"corpus": {"inputs": [str(tiny_folder)]}, "tokenizer": {"vocabulary": 400}}
    run = Run.create(tmp_path / "run", Config.parse(config, "test"))
    build_corpus(run)
    build_tokenizer(run)
    build_context(run)
    with pytest.raises(MissingStageError, match="firth harvest"):
        distill(run, way="paper")


def test_the_start_is_kept_where_training_only_harms(fresh: Callable[..., Run]) -> None:
    """At a ruinous rate no look beats the start: it is saved as it was, and the report says so."""
    run = fresh("run", epochs=1, batch=50, learning_rate=50.0, looks=6)
    found = distill(run)
    chosen = found.report["chosen"]
    assert chosen["step"] == 0
    assert chosen["steps"] == 12
    looks = [one["spearman"] for one in chosen["seen"]]
    assert len(looks) == 7
    assert looks[0] == max(looks)
    assert looks[0] == found.report["before"]["dev"]["all"]["spearman"]
    assert found.report["after"] == found.report["before"]
    assert "the start was kept" in " ".join(found.report["notes"])
    assert "the start was kept" in (found.path / "README.md").read_text()
    model, start = SentenceTransformer(str(found.path), device="cpu"), start_model(run)
    texts = ["The ship met the storm near the wave.", "The cow left the barn."]
    np.testing.assert_array_equal(model.encode(texts), start.encode(texts))


def test_the_best_look_is_what_is_saved(distilled: Distilled) -> None:
    """Agreement on dev after training is the best that was seen, and better than the start's."""
    chosen = distilled.report["chosen"]
    best = max(chosen["seen"], key=lambda one: one["spearman"])
    assert chosen["step"] == best["step"] > 0
    after = distilled.report["after"]["dev"]["all"]["spearman"]
    assert after == pytest.approx(best["spearman"], abs=1e-6)
    assert "the start was kept" not in " ".join(distilled.report["notes"])

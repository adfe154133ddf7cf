"""`firth adapt`: a folder that stands alone, the same twice, honest, and nothing foreign lost."""

import json
import shutil
from collections.abc import Callable, Collection
from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import CrossEncoder, SentenceTransformer

from firth.check.gate import Verdict, keep
from firth.check.report import CheckReport
from firth.context import ADAPT
from firth.context.adapt import CARD, REPORT, AdaptedFolder, adapt
from firth.context.candidates import adapt_encoder
from firth.context.encoder import unit
from firth.context.settings import Pairs
from firth.context.tune import Neighbours
from firth.corpus.build import build_corpus
from firth.run.config import Config
from firth.run.errors import InputError, MissingStageError
from firth.run.run import CONFIG, Run

TEXTS = ["The ship reached the harbour.", "The judge praised the old witness.", "The cow."]
Fresh = Callable[..., Run]
Force = Callable[[str], None]


@pytest.fixture
def forced(monkeypatch: pytest.MonkeyPatch) -> Force:
    """Has the gate keep a candidate whatever it finds."""

    def force(name: str) -> None:
        def kept(report: CheckReport, counts: Collection[str]) -> tuple[str, list[Verdict]]:
            return name, keep(report, counts)[1]  # type: ignore[arg-type]

        monkeypatch.setattr("firth.context.candidates.keep", kept)

    return force


def encoded(folder: Path) -> np.ndarray:
    model = SentenceTransformer(str(folder), device="cpu")
    return unit(model.encode(TEXTS).astype(float))


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("tiny_encoder", "as it is"),
        ("tiny_encoder", "tuned, standardised"),
        ("tiny_static", "tuned"),
        ("tiny_bert", "centred"),
    ],
)
def test_the_folder_is_the_encoder_in_the_run(
    fresh: Fresh,
    forced: Force,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    name: str,
    kept: str,
) -> None:
    """The library alone gives the vectors of the encoder that was adapted; kept as it is, they
    are those of the encoder that was given."""
    forced(kept)
    folder, run = request.getfixturevalue(name), fresh()
    found = adapt(str(folder), run)
    assert found.kept == kept
    inside = adapt_encoder(Run.open(run.path), str(folder), tmp_path / "scratch")
    np.testing.assert_allclose(encoded(found.path), inside.encoder.encode(TEXTS), atol=1e-5)
    same = np.allclose(encoded(found.path), encoded(folder), atol=1e-5)
    assert same is (kept == "as it is")


def test_the_report_says_what_was_thought_of_each(fresh: Fresh, tiny_encoder: Path) -> None:
    """Six candidates, each with figures of each kind; the card has both tables."""
    found = adapt(str(tiny_encoder), fresh())
    report = found.report
    names = [one["candidate"] for one in report["candidates"]]
    assert names == [
        "as it is", "centred", "standardised", "tuned", "tuned, centred", "tuned, standardised",
    ]  # fmt: skip
    assert report["items"]["next"] > 10  # the premise: there is something to ask
    for one in report["candidates"]:
        assert set(one["accuracy"]) == set(one["ahead"]) == set(report["items"])
        assert ("why" in one) is (one["candidate"] != "as it is")
        fell = [kind for kind, lead in one["ahead"].items() if (lead["high"] or 0) < 0]
        assert one.get("lost", []) == fell
        assert not (fell and one["candidate"] == found.kept)
    text = (found.path / CARD).read_text()
    assert text.count("| tuned, standardised |") == 2
    assert "$" not in text
    assert found.text().count("tuned, standardised  ") == 2
    assert json.loads((found.path / REPORT).read_text()) == report
    assert len(report["history"]) == 6


def test_the_same_twice_and_reused(fresh: Fresh, forced: Force, tiny_bert: Path) -> None:
    """Equal runs give equal bytes, and a second call builds nothing."""
    forced("tuned, centred")
    one, two = (adapt(str(tiny_bert), fresh(name)) for name in ("one", "two"))
    files = sorted(p.relative_to(one.path) for p in one.path.rglob("*") if p.is_file())
    assert len(files) > 8
    for file in files:
        assert (one.path / file).read_bytes() == (two.path / file).read_bytes(), file
    assert not one.reused
    assert adapt(str(tiny_bert), one.path.parent).reused


def test_resumed_tuning_ends_with_the_same_bytes(
    fresh: Fresh, forced: Force, tiny_encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped at a batch after the first checkpoint, and started again."""
    forced("tuned")
    whole = adapt(str(tiny_encoder), fresh("whole"))
    run, call = fresh("stopped"), Neighbours.__call__
    asked: list[int] = []

    def stop(self: Neighbours, step: int) -> object:
        asked.append(step)
        if step == 4 and asked.count(4) == 1:
            raise KeyboardInterrupt
        return call(self, step)

    monkeypatch.setattr(Neighbours, "__call__", stop)
    with pytest.raises(KeyboardInterrupt):
        adapt(str(tiny_encoder), run)
    found = adapt(str(tiny_encoder), run)
    assert asked == [0, 1, 2, 3, 4, 4, 5]
    for file in (p for p in whole.path.rglob("*") if p.is_file()):
        assert (found.path / file.relative_to(whole.path)).read_bytes() == file.read_bytes()


def test_out_is_a_copy_and_replaces_nothing_foreign(
    fresh: Fresh, tiny_static: Path, tmp_path: Path
) -> None:
    """A copy that is firth's own is replaced; a folder with other files is refused before work."""
    run, out = fresh(), tmp_path / "deep" / "out"
    assert adapt(str(tiny_static), run, out=out).path == out
    np.testing.assert_allclose(encoded(out), encoded(run.path / ADAPT.name))
    adapt(str(tiny_static), run, out=out, steps=3)
    assert json.loads((out / REPORT).read_text())["settings"]["tune"]["steps"] == 3
    (out / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match=r"notes\.txt"):
        adapt(str(tiny_static), run, out=out, steps=2)
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "model.safetensors").write_text("mine")
    with pytest.raises(InputError, match=r"holds model\.safetensors"):
        adapt(str(tiny_static), tmp_path / "no run", out=theirs)
    assert (theirs / "model.safetensors").read_text() == "mine"


def test_documents_make_the_run(tiny_static: Path, tiny_folder: Path, tmp_path: Path) -> None:
    """An encoder and files: the corpus is built first. A corpus without held-out items changes
    nothing, and says why."""
    texts = [*tiny_folder.glob("sea-*.txt")][:4]
    found = adapt(str(tiny_static), tmp_path / "run", texts, steps=1)
    assert found.kept == "as it is"
    assert "held_out" in found.report["notes"][0]
    assert isinstance(found, AdaptedFolder)


def test_what_is_no_encoder_is_refused_and_leaves_the_run(
    fresh: Fresh, tiny_bert: Path, tiny_llm: Path, tmp_path: Path
) -> None:
    """A cross-encoder, a causal model, a pickle, nothing: each by name, the run as before."""
    model = CrossEncoder(str(tiny_bert), num_labels=1, device="cpu")
    model.save_pretrained(str(tmp_path / "cross"))
    pickled = Path(shutil.copytree(tiny_bert, tmp_path / "pickled"))
    (pickled / "model.safetensors").rename(pickled / "pytorch_model.bin")
    run = fresh()
    before = (run.path / CONFIG).read_text()
    for folder, message in (
        (tmp_path / "cross", "a cross-encoder"),
        (pickled, "pickled weights are never opened"),
        (tiny_llm, "firth train context --model"),
        (tmp_path / "none", "neither a folder nor a model"),
    ):
        with pytest.raises(InputError, match=message):
            adapt(str(folder), run)
    assert (run.path / CONFIG).read_text() == before
    assert not run.has(ADAPT)


def test_a_run_without_a_corpus_is_named(tiny_static: Path, tmp_path: Path) -> None:
    """Before any model is looked at."""
    run = Run.create(tmp_path / "run", Config())
    with pytest.raises(MissingStageError, match="firth corpus build"):
        adapt(str(tiny_static), run)


def test_a_corpus_of_single_sentences_tunes_on_crops(tiny_static: Path, tmp_path: Path) -> None:
    """Nothing stands next to anything, and spans of one sentence do."""
    texts = tmp_path / "texts"
    texts.mkdir()
    for number in range(60):
        (texts / f"{number}.txt").write_text(f"The ship {number} did not reach harbour {number}.")
    run = Run.create(tmp_path / "run", Config.parse({"corpus": {"inputs": [str(texts)]}}, CONFIG))
    build_corpus(run)
    assert run.config.context.tune.pairs is Pairs.NEIGHBOURS  # the premise
    found = adapt(str(tiny_static), run, steps=2)
    assert found.report["settings"]["tune"]["pairs"] == "crops"
    assert "crop" not in found.report["counts"]

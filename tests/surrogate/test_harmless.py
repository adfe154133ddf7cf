"""Distillation does no harm that the check sees: what falls is thrown away, what gains is kept."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.torch import load_file
from sentence_transformers import SentenceTransformer
from tests.surrogate.conftest import contents

from firth.check.items import Item, Kind
from firth.check.measure import cosine_accuracies, texts_of
from firth.check.report import FEW_DOCUMENTS
from firth.corpus.corpus import Corpus
from firth.lexical.arrays import Floats
from firth.run.run import Run
from firth.summaries import sentences_of
from firth.surrogate import SURROGATE, by_matrices, by_pairs
from firth.surrogate.checked import START, TRAINED
from firth.surrogate.distill import Distilled, distill
from firth.surrogate.harmless import Start
from firth.surrogate.losses import listwise
from firth.surrogate.start import start_model

Fresh = Callable[..., Run]
LEARNING: dict[str, Any] = {"epochs": 12, "batch": 48, "learning_rate": 5e-3}
DOCUMENTS = 2 * FEW_DOCUMENTS


def cosines(model: SentenceTransformer, texts: Sequence[str]) -> Floats:
    vectors: Floats = model.encode(list(texts), show_progress_bar=False).astype(float)
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    found: Floats = vectors @ vectors.T
    return found


def turned(run: Path, one: SentenceTransformer, two: SentenceTransformer) -> list[Item]:
    """Questions that the first model answers rightly and the second wrongly, of invented documents.

    A document has two.
    """
    corpus = Corpus.open(run)
    texts = list(dict.fromkeys(corpus.texts(np.arange(120))))
    first, second = cosines(one, texts), cosines(two, texts)
    found = []
    for asked in range(len(texts)):
        rows = (row[asked] for row in (first, second))
        ahead, behind = (row[:, None] - row[None, :] for row in rows)
        right, wrong = np.unravel_index(np.argmax(np.minimum(ahead, -behind)), ahead.shape)
        if min(ahead[right, wrong], -behind[right, wrong]) > 1e-3 and asked not in (right, wrong):
            found.append((texts[asked], texts[right], (texts[wrong],)))
    kinds = itertools.cycle([Kind.NEXT, Kind.NAME])
    return [
        Item(kind, n // 2, *texts)
        for n, (kind, texts) in enumerate(zip(kinds, found, strict=False))
    ]


@pytest.fixture(scope="module")
def trained(taught: Path, tmp_path_factory: pytest.TempPathFactory) -> Distilled:
    """A student that was trained, and kept: these documents give the check too little."""
    import shutil

    path = tmp_path_factory.mktemp("trained") / "run"
    shutil.copytree(taught, path)
    found = distill(Run.open(path).changed({"surrogate": {**LEARNING, "way": "matrices"}}))
    assert found.report["chosen"]["step"] > 0  # the premise: by dev, training helped
    assert found.report["check"]["counts"] == []
    return found


@pytest.fixture(scope="module")
def hard(trained: Distilled) -> list[Item]:
    """Questions that the start answers rightly, and what was trained wrongly."""
    run = trained.path.parent
    start = start_model(Run.open(run))
    student = SentenceTransformer(str(trained.path), device="cpu")
    items = turned(run, start, student)
    assert len({item.document for item in items}) >= DOCUMENTS  # the premise: there are enough
    for model, rate in ((start, 1.0), (student, 0.0)):
        vectors = model.encode(texts_of(items), show_progress_bar=False).astype(float)
        assert np.mean(cosine_accuracies("", items, vectors)) == rate
    return items


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Callable[[Sequence[Item]], None]:
    """Has the check ask other questions."""

    def ask(items: Sequence[Item]) -> None:
        for way in (by_matrices, by_pairs):
            monkeypatch.setattr(way, "open_items", lambda _: list(items))

    return ask


def reversed_(items: Sequence[Item]) -> list[Item]:
    return [replace(item, right=item.others[0], others=(item.right,)) for item in items]


def test_what_falls_is_thrown_away(
    fresh_taught: Fresh, trained: Distilled, hard: list[Item], asked: Callable[..., None]
) -> None:
    """Dev asked for the trained weights, and the check for the start's: the start it is."""
    asked(hard)
    found = distill(fresh_taught("falls", **LEARNING))
    check = found.report["check"]
    assert check["kept"] == START
    assert check["candidates"][1]["lost"] == ["next", "name"]
    assert check["mean"]["value"] == -100
    assert found.report["chosen"]["step"] == 0
    assert found.report["chosen"]["seen"] == trained.report["chosen"]["seen"]
    for split in ("dev", "test"):
        before, after = (found.report[when][split]["all"]["spearman"] for when in
                         ("before", "after"))  # fmt: skip
        assert after == pytest.approx(before, abs=1e-4)
    said = sentences_of("surrogate", Run.open(found.path.parent).manifest(SURROGATE).summary)
    card = (found.path / "README.md").read_text()
    for text in (said, card):
        assert "fell on the mean of next, name (-100.0 " in text
        assert "The start was kept, and what was learned was thrown away." in text
    assert "| trained | -100.0 [-100.0, -100.0] | -100.0 [-100.0, -100.0] |" in card
    assert not any("At no look" in note for note in found.report["notes"])


def test_what_gains_is_kept(
    fresh_taught: Fresh, trained: Distilled, hard: list[Item], asked: Callable[..., None]
) -> None:
    """The same weights as without questions, and the report says on which kinds it rose."""
    asked(reversed_(hard))
    found = distill(fresh_taught("gains", **LEARNING))
    check = found.report["check"]
    assert check["kept"] == TRAINED
    assert check["candidates"][1]["gained"] == ["next", "name"]
    assert check["mean"]["value"] == 50  # from chance upwards
    name = "model.safetensors"
    assert (found.path / name).read_bytes() == (trained.path / name).read_bytes()
    assert found.report["chosen"] == trained.report["chosen"]
    assert "What was learned was kept." in (found.path / "README.md").read_text()


def test_resumed_it_is_thrown_away_all_the_same(
    fresh_taught: Fresh, hard: list[Item], asked: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Stopped after the first checkpoint and started again: the bytes of a run that was not."""
    asked(hard)
    settings = LEARNING | {"checkpoint_steps": 2}
    whole, run = distill(fresh_taught("whole", **settings)), fresh_taught("stopped", **settings)
    assert whole.report["check"]["kept"] == START
    left = iter(range(6))

    def stopping(*given: Any) -> Any:
        if next(left, None) is None:
            raise KeyboardInterrupt
        return listwise(*given)

    monkeypatch.setattr("firth.surrogate.matrices.listwise", stopping)
    with pytest.raises(KeyboardInterrupt):
        distill(run)
    monkeypatch.setattr("firth.surrogate.matrices.listwise", listwise)
    scratch = run.path / ".surrogate.work" / "scratch"
    assert (scratch / "checkpoint.safetensors").is_file()
    assert (scratch / "start.safetensors").is_file()
    assert contents(distill(run).path) == contents(whole.path)


def test_too_little_text_decides_nothing(
    fresh_taught: Fresh, trained: Distilled, hard: list[Item], asked: Callable[..., None]
) -> None:
    """Without questions, or of few documents, dev decides, and the card says that it did."""
    few = [item for item in hard if item.document < FEW_DOCUMENTS - 1]
    for name, items in (("none", []), ("few", few)):
        asked(items)
        found = distill(fresh_taught(name, **LEARNING))
        assert found.report["check"]["kept"] == TRAINED
        assert found.report["check"]["mean"] is None
        assert found.report["chosen"] == trained.report["chosen"]
        card = (found.path / "README.md").read_text()
        assert "agreement with the teacher on dev alone decided" in card.replace("\n", " ")
        assert "$" not in card


def test_the_papers_way_is_told_and_not_decided(fresh: Fresh, asked: Callable[..., None]) -> None:
    """By pairs what was trained is kept where it fell on all that was asked; the report says so."""
    learning = {"epochs": 10, "learning_rate": 5e-3}
    asked([])
    free = distill(fresh("free", **learning))
    assert free.report["chosen"]["step"] > 0  # the premise: training helped
    student = SentenceTransformer(str(free.path), device="cpu")
    items = turned(free.path.parent, start_model(Run.open(free.path.parent)), student)
    assert len({item.document for item in items}) >= FEW_DOCUMENTS  # the premise: it is asked
    asked(items)
    found = distill(fresh("asked", **learning))
    name = "model.safetensors"
    assert (found.path / name).read_bytes() == (free.path / name).read_bytes()
    assert found.report["check"]["mean"]["value"] == -100
    card = (found.path / "README.md").read_text()
    assert "it fell on the mean of next, name (-100.0 " in card
    assert "this one decides nothing; way matrices obeys it. What was learned was kept." in card


def test_nothing_trained_nothing_asked(fresh_taught: Fresh) -> None:
    """A student that is not trained has nothing that could be thrown away."""
    found = distill(fresh_taught("start"))
    assert found.report["check"] is None
    assert "without labels" not in (found.path / "README.md").read_text()


def test_the_start_comes_back(taught: Path, hard: list[Item], tmp_path: Path) -> None:
    """Ruined weights are judged to have fallen, and restored to the last bit."""
    model = start_model(Run.open(taught))
    start = Start(model, hard, tmp_path)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    for tensor in model.parameters():
        tensor.data.mul_(-1).exp_()
    assert start.judge(13)["kept"] == START
    start.restore()
    after, stored = model.state_dict(), load_file(tmp_path / "start.safetensors")
    assert all(after[name].equal(tensor) for name, tensor in before.items())
    assert set(stored) == set(before)

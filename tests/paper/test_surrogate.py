"""The harvest and the Surrogate, by the preset of the paper at tiny sizes."""

import pickle
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sentence_transformers import CrossEncoder, SentenceTransformer

from firth.paper.harvest import HARVEST, SPLITS, ScoredPairs, build_harvest, read_pairs
from firth.paper.origin import Origin, build_origin
from firth.paper.settings import PaperSettings, SurrogateSettings, preset
from firth.paper.surrogate import SURROGATE, PairLabels, open_pairs, train_surrogate
from firth.run.errors import MissingStageError
from firth.run.files import read_json
from firth.run.run import Run
from firth.run.stage import Stage

from .conftest import SMALL, make_run

TEXTS = ["The ship reached the harbour.", "The judge praised the jury."]


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run by the preset `paper` in small, with raw cosines and a Surrogate from scratch."""
    run = make_run(tmp_path_factory.mktemp("printed") / "run")
    sizes = {
        **SMALL,
        "coherence": SMALL["coherence"] | {"passes": 0.2},
        "generator": SMALL["generator"] | {"passes": 0.15},
        "surrogate": SMALL["surrogate"] | {"base": "transformer", "calibration": "none"},
        "fits": SMALL["fits"] | {"measure": "cosine", "pmi": False},
    }
    run = run.changed(preset("paper")).changed({"paper": sizes})
    build_origin(run)
    build_harvest(run)
    return run


def test_scores_are_raw_cosines_in_full_precision(printed: Run) -> None:
    """The harvest holds what Eq. 4 gives in float64: no two scores become one as in float32."""
    origin, folder = Origin.open(printed), printed.folder(HARVEST)
    harvested = [read_pairs(folder, split) for split in SPLITS]
    scores = np.concatenate([split.scores for split in harvested])
    assert scores.min() > 0.9, "premise: raw cosines are near 1"
    pairs = [pair for split in harvested for pair in split.pairs]
    np.testing.assert_allclose(scores, origin.similarities(pairs), atol=1e-6)
    distinct = len(np.unique(scores))
    assert len(np.unique(scores.astype(np.float32))) < distinct, "premise: float32 loses some"
    sizes = [len(split.pairs) for split in harvested]
    assert min(sizes) > 0
    assert sizes[0] >= 8 * sizes[1]


class _Travelling:
    """An executor whose work is sent as to another process."""

    def map(self, work: Any, items: Iterable[Any]) -> Iterator[Any]:
        opened = pickle.loads(pickle.dumps(work)).open()
        yield from map(opened, items)


def test_another_process_harvests_the_same_bytes(printed: Run, tmp_path: Path) -> None:
    """Who scores the shards changes nothing, and a finished harvest is reused."""
    assert build_harvest(printed).reused
    other = Run(tmp_path / "run", printed.settings)
    other.save()
    (other.path / "corpus.db").write_bytes((printed.path / "corpus.db").read_bytes())
    (other.path / "tokenizer").symlink_to(printed.path / "tokenizer")
    (other.path / "paper").mkdir()
    for name in ("retrieve", "coherence", "generator", "deviations"):
        (other.path / "paper" / name).symlink_to(printed.path / "paper" / name)
    outcome = build_harvest(other, _Travelling())
    assert outcome.manifest.outputs == printed.manifest(HARVEST).outputs


def test_a_siamese_surrogate_opens_as_a_sentence_transformer(printed: Run) -> None:
    """Labels are raw cosines as in the paper, and the report has the error of a constant."""
    outcome = train_surrogate(printed)
    model = SentenceTransformer(str(printed.folder(SURROGATE)), device="cpu")
    assert model.encode(TEXTS).shape == (2, 32)
    test = read_json(printed.folder(SURROGATE) / "report.json")["after"]["test"]
    assert {"l2", "constant_l2", "spearman"} <= set(test)
    assert test["constant_l2"] < 1e-3, "labels that hardly differ, as the paper's"
    assert train_surrogate(printed).reused
    assert outcome.manifest.summary["sizes"]["train"] > 40


def test_variants_keep_their_own_stages(printed: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Table 7, §5.6: fewer pairs, and a cross-encoder. To be better on dev alone is no learning."""
    monkeypatch.setattr(PairLabels, "agreement", iter(range(99)).__next__)
    stage = Stage("paper/variants/cross-30", 1)
    small = printed.wing("paper", PaperSettings).surrogate.model_dump()
    changed = {"structure": "cross-encoder", "base": "transformer", "pairs": 30}
    settings = SurrogateSettings.model_validate(small | changed)
    summary = train_surrogate(printed, settings, stage).manifest.summary
    assert (summary["sizes"]["train"], summary["step"], summary["learned"]) == (30, 3, False)
    scores = CrossEncoder(str(printed.folder(stage)), device="cpu").predict([tuple(TEXTS)])
    assert np.isfinite(scores).all()


def test_a_surrogate_learned_where_it_gains_on_held_out_pairs() -> None:
    """More than luck: the interval of its agreement with the teacher, minus that of its start."""
    scores = np.linspace(0, 1, 40)
    splits = {split: ScoredPairs([("a", "b")] * 40, scores) for split in SPLITS}
    luck, *answers = np.random.default_rng(1).random((2, 40))
    student: Any = SimpleNamespace(similarities=lambda _: answers[-1])
    labels = PairLabels(student, splits, SurrogateSettings(), 1)
    for after, learned in ((scores, True), (luck + scores / 9, False)):
        answers.append(after)
        assert ((labels.gain().low or 0) > 0) is learned


def test_fewer_pairs_are_a_part_of_more(printed: Run) -> None:
    some = {count: open_pairs(printed, count) for count in (10, 20, None)}
    kept = {count: splits["train"].pairs for count, splits in some.items()}
    assert (len(kept[10]), len(kept[20])) == (10, 20)
    assert set(kept[10]) < set(kept[20]) < set(kept[None])
    assert some[10]["test"].pairs == some[None]["test"].pairs


def test_what_is_missing_is_named(fresh: Callable[..., Run]) -> None:
    run = fresh()
    with pytest.raises(MissingStageError, match="firth paper build"):
        build_harvest(run)
    with pytest.raises(MissingStageError, match="firth paper build"):
        train_surrogate(run)

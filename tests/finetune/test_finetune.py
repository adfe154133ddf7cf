"""Fine-tuning as a user calls it: what is learned, kept, continued, told."""

from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from tests.finetune.conftest import Write, contents, inference_rows, scored_rows, triplet_rows

from firth.evaluate.metrics import Metric, estimate
from firth.evaluate.models import EncoderScorer
from firth.finetune import finetune as module
from firth.finetune.calibration import Line, read_calibration
from firth.finetune.finetune import finetune
from firth.finetune.recipe import recipe_of
from firth.finetune.sets import Places, read_sets
from firth.finetune.start import Start
from firth.run.errors import InputError
from firth.run.run import Run
from firth.scale.scale import Probability

ROWS = {
    "pairs": lambda: scored_rows(200),
    "sts": lambda: scored_rows(200),
    "nli": lambda: inference_rows(60),
    "triplets": lambda: triplet_rows(160),
}
WAYS = [
    ("pairs", "l2"), ("sts", "cosent"), ("pairs", "angle"), ("nli", "softmax"), ("nli", "in-batch"),
    ("triplets", "triplet"), ("triplets", "in-batch"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "objective"), WAYS, ids=" ".join)
def test_every_objective_learns(
    kind: str, objective: str, static: Path, write: Write, tmp_path: Path
) -> None:
    """From random word vectors, rows that were kept from training are told better than before; the
    folder is a model that the library opens, and that gives the figures of the report."""
    file = write(ROWS[kind]())
    out = tmp_path / "model"
    found = finetune(kind, static, out, data=[file], objective=objective, share=0.2, epochs=8,
                     learning_rate=5e-2, resamples=20)  # fmt: skip
    (one,) = found.report["seeds"]
    assert one["looks"][-1]["loss"] < one["looks"][1]["loss"]
    if objective != "angle":  # which cosines of few dimensions follow late
        assert one["dev"] > one["looks"][0]["figure"] + 0.03
        test = next(iter(found.report["test"].values()))
        assert test["fine-tuned"]["value"] > test["start"]["value"]
    assert SentenceTransformer(str(out), device="cpu").encode(["The ship left."]).shape == (1, 12)
    assert "kept" in found.report
    if kind in ("pairs", "sts"):
        # The held-out rows travel with the model, so that it can be measured again.
        held_out = [row for row in (out / "test.jsonl").read_text().splitlines() if row]
        assert len(held_out) == 40


def test_a_transformer_learns(tiny_bert: Path, write: Write, tmp_path: Path) -> None:
    """A bare Transformer gets mean pooling, and learns."""
    found = finetune("pairs", tiny_bert, tmp_path / "model", data=[write(scored_rows(80))],
                     learning_rate=1e-3, share=0.2, resamples=20)  # fmt: skip
    (one,) = found.report["seeds"]
    assert one["looks"][-1]["loss"] < one["looks"][1]["loss"]
    assert one["dev"] >= one["looks"][0]["figure"]


@pytest.mark.parametrize(
    ("kind", "objective", "start"), [("pairs", "l2", "static"), ("nli", "softmax", "tiny_bert")]
)
def test_what_stopped_ends_with_the_same_bytes(
    kind: str, objective: str, start: str, request: pytest.FixtureRequest, write: Write,
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Interrupted twice, before and after a checkpoint and within the second seed, a call continues
    where it was; and once it is done, the same call finds it there."""
    base, file = request.getfixturevalue(start), write(ROWS[kind]())
    monkeypatch.setattr(module, "recipe_of", lambda *a, **k: recipe_of(*a, **k, checkpoint_steps=3))
    options: dict[str, Any] = {"data": [file], "epochs": 1, "seeds": (5, 6), "resamples": 10,
                               "objective": objective}  # fmt: skip
    quiet = finetune(kind, base, tmp_path / "quiet", **options)
    assert quiet.report["seeds"][0]["steps"] >= 5  # the premise: there is a checkpoint
    step = torch.optim.Adam.step
    for place in (2, 4, 6):
        steps = count(1)

        def stop(*given: Any, steps: Any = steps, place: int = place, **named: Any) -> None:
            step(*given, **named)
            if next(steps) == place:
                raise KeyboardInterrupt

        monkeypatch.setattr(torch.optim.Adam, "step", stop)
        with pytest.raises(KeyboardInterrupt):
            finetune(kind, base, tmp_path / "stopped", **options)
        assert not (tmp_path / "stopped").exists()
    monkeypatch.setattr(torch.optim.Adam, "step", step)
    found = finetune(kind, base, tmp_path / "stopped", **options)
    assert not found.reused
    assert contents(found.path) == contents(quiet.path)
    assert finetune(kind, base, tmp_path / "stopped", **options).reused
    assert not list(tmp_path.glob(".*"))


def test_the_best_seed_by_dev_is_kept(static: Path, write: Write, tmp_path: Path) -> None:
    """Of several seeds the report has all, mean and spread; what is kept is the best by dev."""
    found = finetune("pairs", static, tmp_path / "model", data=[write(scored_rows(90))], epochs=4,
                     learning_rate=5e-2, seeds=(1, 2, 3), limit=30, resamples=20)  # fmt: skip
    by_dev = {one["seed"]: one["dev"] for one in found.report["seeds"]}
    assert len(set(by_dev.values())) > 1  # the premise: seeds differ
    assert found.report["kept"] == max(by_dev, key=lambda seed: by_dev[seed])
    seeds = found.report["test"]["spearman"]["seeds"]
    assert seeds["lowest"] <= seeds["value"] <= seeds["highest"]
    assert {one["rows"] for one in found.report["seeds"]} == {30}
    whole = found.report["data"]["train"]["rows"]
    assert f"30 of {whole} train" in found.text()
    card = (found.path / "README.md").read_text(encoding="utf-8")
    assert f"30 of {whole} labelled rows" in card
    assert f"kept: {found.report['kept']}, the best by dev" in found.text()


def test_evaluate_finds_the_same_figures(static: Path, write: Write, tmp_path: Path) -> None:
    """The rows drawn for the test lie with the model: asked again, figures are those told."""
    found = finetune("pairs", static, tmp_path / "model", data=[write(scored_rows(100))],
                     share=0.3, epochs=2, learning_rate=1e-2, resamples=50)  # fmt: skip
    model = SentenceTransformer(str(found.path), device="cpu")
    (data,) = read_sets(str(found.path / "test.jsonl"), None, Places()).values()
    columns = data.columns(EncoderScorer(model, "").similarities(data.pairs))
    value = estimate(Metric.PEARSON, *columns, seed=1, resamples=1).value
    assert value == pytest.approx(found.report["test"]["pearson"]["fine-tuned"]["value"], abs=1e-3)


def test_patience_ends_training(static: Path, write: Write, tmp_path: Path) -> None:
    """Where dev gets no better, training ends after so many looks, and the best weights stay."""
    found = finetune("pairs", static, tmp_path / "model", data=[write(scored_rows(60))],
                     learning_rate=1e-9, patience=2, resamples=10)  # fmt: skip
    (one,) = found.report["seeds"]
    assert one["step"] == 0
    assert one["ended"] < one["steps"]
    assert len(one["looks"]) == 3
    assert any("ended early" in note for note in found.report["notes"])


def test_a_start_made_of_a_run(tiny_run: Path, write: Write, tmp_path: Path) -> None:
    """`static` are a run's word vectors, `transformer` has random weights by the seed; neither
    changes the run."""
    before = (tiny_run / "config.yaml").read_bytes()
    file = write(scored_rows(40))
    run = Run.open(tiny_run)
    for start in ("static", "transformer"):
        found = finetune("pairs", start, tmp_path / start, data=[file], run=run, epochs=1,
                         seeds=(1, 2), resamples=10)  # fmt: skip
        firsts = [one["looks"][0]["figure"] for one in found.report["seeds"]]
        assert (firsts[0] == firsts[1]) == (start == "static")
    assert (tiny_run / "config.yaml").read_bytes() == before


@pytest.mark.parametrize("encoder", ["static", "tiny_bert"])
def test_from_scratch(encoder: str, request: pytest.FixtureRequest) -> None:
    """`scratch:` opens the same encoder, shapes and tokens, with other weights of the same spread:
    a function of the seed, and another start than the encoder itself."""
    folder = request.getfixturevalue(encoder)
    known, start = Start(folder), Start(f"scratch:{folder}")
    before = dict(known.open(3).named_parameters())
    one, again, other = (dict(start.open(seed).named_parameters()) for seed in (3, 3, 4))
    assert {name: each.shape for name, each in one.items()} == {
        name: each.shape for name, each in before.items()
    }
    for name, values in one.items():
        assert values.equal(again[name])
        if values.ndim > 1:
            assert not values.equal(other[name])
            assert values.std().item() == pytest.approx(before[name].std().item(), rel=0.2)
    assert start.random
    assert not known.random
    assert start.identity() != known.identity()
    assert start.shown == f"scratch:{known.shown}"


def test_random_weights_learn_at_their_own_rate(
    tiny_bert: Path, write: Write, tmp_path: Path
) -> None:
    """Of a transformer from scratch the rate is that of random weights, not that of weights that
    have learned: at 2e-5 a rival from scratch would learn next to nothing."""
    file = write(scored_rows(40))
    rates: dict[str, float] = {}
    for name in (str(tiny_bert), f"scratch:{tiny_bert}"):
        found = finetune("pairs", name, tmp_path / str(len(rates)), data=[file], epochs=1,
                         resamples=10)  # fmt: skip
        rates[name] = found.report["seeds"][0]["rate"]
        assert str(tiny_bert.parent) not in found.path.joinpath("README.md").read_text("utf-8")
    assert list(rates.values()) == [2e-5, 5e-4]


def test_no_row_is_learned_from_and_measured_by(static: Path, write: Write, tmp_path: Path) -> None:
    """A pair of test that stands in train too, turned round and written otherwise, is left out
    there, and that is told."""
    rows = scored_rows(60)
    turned = [
        {**row, "sentence1": str(row["sentence2"]).upper(), "sentence2": row["sentence1"]}
        for row in rows[:7]
    ]
    train, test = write([*rows, *turned], "train.csv"), write(rows[:7], "test.csv")
    found = finetune("pairs", static, tmp_path / "model", data=[train], test=test, epochs=1,
                     resamples=10)  # fmt: skip
    assert any("14 of" in note and "test" in note for note in found.report["left_out"])
    assert found.report["drawn"] == ["dev"]


def test_shared_texts_are_told(static: Path, write: Write, tmp_path: Path) -> None:
    """Test rows that share one text with what was learned from are counted; drawn as whole groups,
    here with one first sentence each, they share none."""
    rows = [{**row, "sentence1": f"The {row['topic']} saw."} for row in scored_rows(90)]
    options: dict[str, Any] = {"data": [write(rows)], "epochs": 1, "resamples": 5}
    found = finetune("pairs", static, tmp_path / "rows", **options)
    assert found.report["shared"] == found.report["data"]["test"]["rows"]
    assert any("share a text" in note for note in found.report["notes"])
    found = finetune("pairs", static, tmp_path / "groups", apart="topic", **options)
    assert found.report["shared"] == 0
    assert "whole groups of topic" in found.text()


REFUSED = [
    ("pairs", [{"sentence1": "a b", "sentence2": "", "score": 1}], {}, "no text in sentence2"),
    ("pairs", scored_rows(5), {}, "rows to learn from"),
    ("pairs", [{**row, "score": 3} for row in scored_rows(30)], {}, "all scores are 3"),
    ("pairs", scored_rows(30), {"score_range": (0, 3)}, "outside 0 to 3"),
    ("nli", [{**row, "gold_label": "maybe"} for row in inference_rows(9)], {}, "'maybe'"),
    ("nli", [row for row in inference_rows(20) if row["gold_label"] != "neutral"], {},
     "no row is neutral"),
    ("pairs", scored_rows(30), {"objective": "softmax"}, "expected l2 or cosent or angle"),
    ("pairs", scored_rows(30), {"seeds": (3, 3)}, "different numbers"),
    ("pairs", scored_rows(30), {"run": "nowhere"}, "is not made of a run"),
    ("pairs", scored_rows(30), {"limit": 3}, "rows to learn from"),
    ("triplets", scored_rows(30), {}, "anchor"),
    ("pairs", scored_rows(30), {"test": "sts-b:nothing"}, "no split"),
    ("pairs", scored_rows(30), {"test": "wiki"}, "no such set"),
    ("pairs", scored_rows(30), {"test": "mine.csv"}, "no row is left of 30"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "rows", "options", "part"), REFUSED, ids=[f"{r[0]} {r[3]}" for r in REFUSED]
)
def test_bad_input_is_one_message(
    kind: str, rows: list[dict[str, object]], options: dict[str, Any], part: str, static: Path,
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Before anything is trained or written."""
    monkeypatch.setattr(module, "_build", lambda *_: pytest.fail("trained"))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=part):
        finetune(kind, static, tmp_path / "model", data=[write(rows)], **options)
    assert {path.name for path in tmp_path.iterdir()} == {"mine.csv"}


def test_problems_are_told_together(static: Path, write: Write, tmp_path: Path) -> None:
    """Whatever is wrong with what the parts hold stands in one message."""
    rows = [{**row, "split": "dev"} for row in scored_rows(2)]
    rows = [{**row, "score": 2} for row in rows] + [{**r, "split": "train"} for r in scored_rows(4)]
    with pytest.raises(InputError, match=r"2 problems(.|\n)*rows to learn from(.|\n)*dev"):
        finetune("pairs", static, tmp_path / "model", data=[write(rows)], share=0)


def test_an_encoder_without_pooling_is_refused(
    tiny_bert: Path, write: Write, tmp_path: Path
) -> None:
    """Token vectors are no sentence vector; said before training."""
    from sentence_transformers.sentence_transformer.modules import Transformer

    bare = tmp_path / "bare"
    SentenceTransformer(modules=[Transformer(str(tiny_bert))], device="cpu").save(str(bare))
    with pytest.raises(InputError, match="pooling"):
        finetune("pairs", bare, tmp_path / "model", data=[write(scored_rows(30))])


def test_what_is_no_encoder_is_refused(write: Write, tmp_path: Path) -> None:
    """A baseline, and a folder that holds no model: by name, before training."""
    for start, part in (("baseline:dice", "no encoder"), (str(tmp_path), "neither a run")):
        with pytest.raises(InputError, match=part):
            finetune("pairs", start, tmp_path / "model", data=[write(scored_rows(30))])
    with pytest.raises(InputError, match="needs a run"):
        finetune("pairs", "static", tmp_path / "model", data=[write(scored_rows(30))])


def test_nothing_of_the_user_is_replaced(static: Path, write: Write, tmp_path: Path) -> None:
    """A folder with a file of the user's is refused, also by force; another fine-tuned model is
    replaced by force alone."""
    file, own = write(scored_rows(30)), tmp_path / "own"
    own.mkdir()
    (own / "thesis.txt").write_text("ten years of work")
    with pytest.raises(InputError, match=r"thesis\.txt"):
        finetune("pairs", static, own, data=[file], force=True)
    options: dict[str, Any] = {"data": [file], "resamples": 5}
    finetune("pairs", static, tmp_path / "model", epochs=1, **options)
    with pytest.raises(InputError, match="--force"):
        finetune("pairs", static, tmp_path / "model", epochs=2, **options)
    found = finetune("pairs", static, tmp_path / "model", epochs=2, force=True, **options)
    assert found.report["settings"]["epochs"] == 2


def test_what_a_cosine_means(static: Path, write: Write, tmp_path: Path) -> None:
    """Of pairs the score, between the lowest and the highest; of triplets a probability."""
    scored = finetune("pairs", static, tmp_path / "scored", data=[write(scored_rows(80))],
                      epochs=2, score_range=(0, 5), resamples=5)  # fmt: skip
    line = read_calibration(scored.path)
    assert isinstance(line, Line)
    assert ((line.of([-9.0, 0.3, 9.0]) >= 0) & (line.of([-9.0, 0.3, 9.0]) <= 5)).all()
    nearer = finetune("triplets", static, tmp_path / "nearer", data=[write(triplet_rows(80))],
                      objective="in-batch", epochs=8, share=0.2, learning_rate=5e-2,
                      resamples=5)  # fmt: skip
    chance = read_calibration(nearer.path)
    assert isinstance(chance, Probability)
    assert (np.diff(chance.of([-0.5, 0.0, 0.5])) > 0).all()


def test_equal_calls_give_equal_bytes(static: Path, write: Write, tmp_path: Path) -> None:
    """The order of a file's rows changes nothing, nor does where it lies."""
    rows, folders = scored_rows(60), []
    for name, some in (("one", rows), ("two", rows[::-1])):
        (tmp_path / name).mkdir()
        file = write(some, f"{name}/mine.csv")
        folders.append(finetune("pairs", static, tmp_path / name / "model", data=[file], epochs=1,
                                resamples=5).path)  # fmt: skip
    assert contents(folders[0]) == contents(folders[1])

"""Fine-tuning and its folds: data say what is learned, dev chooses, no row is in two parts."""

import json
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sentence_transformers import SentenceTransformer

from firth.evaluation.files import NLI
from firth.evaluation.sets import load_set, make_folds
from firth.run.errors import InputError
from firth.train import finetune as module
from firth.train.finetune import (
    Recipe,
    check,
    columns_of,
    finetune,
    gather,
    load_splits,
    occurring_words,
    plan,
    recipe_for,
)
from firth.train.folds import cross_validate, parts_of_fold
from firth.train.loop import Best, History, Schedule, train
from firth.train.students import TrainedFolder


def recipe_of(path: Path, objective: str | None = None) -> Recipe:
    return recipe_for(gather(path, None, 1)[0]["train"], objective, None, None, 1)


def test_the_data_decide_what_is_learned(scored: Path, inference: Path, triplets: Path) -> None:
    for path, expected in (
        (scored, ("scored pairs", "l2")),
        (inference, ("inference", "in-batch")),
        (triplets, ("triplets", "triplet")),
    ):
        recipe = recipe_of(path)
        assert (recipe.kind, recipe.objective) == expected
    assert recipe_of(inference, "softmax").objective == "softmax"
    with pytest.raises(InputError, match="got objective softmax for triplets; expected triplet"):
        recipe_of(triplets, "softmax")


def test_no_row_is_in_two_parts(scored: Path) -> None:
    parts, notes = gather(scored, None, 1)
    texts = [{row.texts for row in part.rows} for part in parts.values()]
    assert [len(some) for some in texts] == [73, 8, 9]
    assert len(set.union(*texts)) == 90
    assert notes == [
        f"A tenth of the rows was drawn at random for {part}." for part in ("test", "dev")
    ]
    labels = columns_of(parts["train"], recipe_of(scored))[1]
    assert labels is not None
    assert (min(labels), max(labels)) == (0, 1)


def sizes(path: Path) -> dict[str, int]:
    return {name: len(part.rows) for name, part in gather(path, None, 1)[0].items()}


def test_splits_of_a_file_are_used_as_such(triplets: Path) -> None:
    assert sizes(triplets) == {"train": 36, "dev": 12, "test": 12}
    assert list(load_splits(f"{triplets}:dev", None)) == ["dev"]
    with pytest.raises(InputError, match="no split 'trial'"):
        load_splits(f"{triplets}:trial", None)


def write_splits(path: Path, **splits: list[dict[str, object]]) -> Path:
    rows = [row | {"split": name} for name, some in splits.items() for row in some]
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def test_rows_of_dev_and_test_are_not_learned_from(scored: Path, tmp_path: Path) -> None:
    rows = [json.loads(line) for line in scored.read_text().splitlines()]
    path = write_splits(tmp_path / "all.jsonl", train=rows, dev=rows[:20], test=rows[15:30])
    assert sizes(path) == {"train": 60, "dev": 15, "test": 15}
    note = "15 rows were not learned from: their texts are in test."
    assert gather(path, None, 1)[1][0] == note


def test_all_problems_of_the_rows_are_named(scored: Path, tmp_path: Path) -> None:
    rows = [json.loads(line) for line in scored.read_text().splitlines()]
    some = [row | {"score": 1} for row in rows[:6]]
    parts, _ = gather(write_splits(tmp_path / "few.jsonl", train=some, dev=rows[80:81]), None, 1)
    with pytest.raises(InputError, match="nothing was trained") as error:
        check(parts, recipe_for(parts["train"], None, None, None, 1))
    assert "train: 6 examples to learn from; expected 8 or more" in str(error.value)
    assert "dev: spearman needs at least 2 rows" in str(error.value)


def test_inference_becomes_triplets_or_classes(inference: Path) -> None:
    data = gather(inference, None, 1)[0]["train"]
    columns, labels = columns_of(data, recipe_for(data, None, None, None, 1))
    assert labels is None
    by_texts = {row.texts: row.label for row in data.rows}
    assert len(columns[0]) > 10
    for premise, positive, negative in zip(*columns, strict=True):
        assert by_texts[premise, positive] == NLI[0]
        assert by_texts[premise, negative] == NLI[2]
    columns, labels = columns_of(data, recipe_for(data, "softmax", None, None, 1))
    assert labels is not None
    assert [NLI[int(label)] for label in labels] == [row.label for row in data.rows]


@given(
    st.lists(st.integers(0, 30), min_size=1, max_size=80),
    st.integers(1, 3),
    st.sampled_from(["in-batch", "l2"]),
)
def test_batches_hold_every_row_once(numbers: Sequence[int], epochs: int, objective: str) -> None:
    recipe = Recipe(kind="x", objective=objective, epochs=epochs, batch=16, rate=None, seed=1)
    columns = [[str(number) for number in numbers], [f"b{n}" for n in range(len(numbers))]]
    batches = plan(columns, recipe, 5)
    assert batches == plan(columns, recipe, 5)
    rows = [row for batch in batches for row in batch]
    assert all(1 <= len(batch) <= recipe.batch for batch in batches)
    if objective == "l2":
        assert sorted(rows) == sorted([*range(len(numbers))] * epochs)
        return
    assert all(rows.count(row) <= epochs for row in rows)
    for batch in batches:
        assert len(batch) > 1
        assert len({columns[0][row] for row in batch}) == len(batch)


def test_occurring_words_learn_what_they_would_in_the_whole_table(words: Path) -> None:
    texts = ["the ship met the judge", "a singer left the field"]

    def learned(within: Any) -> Any:
        model: Any = SentenceTransformer(str(words), device="cpu")
        whole = model[0].embedding.weight
        before = whole.detach().clone()
        with within(model, texts):
            assert (len(model[0].embedding.weight) < len(before)) == (within is occurring_words)
            optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
            for _ in range(3):
                optimizer.zero_grad()
                vectors = model(model.preprocess(texts))["sentence_embedding"]
                (vectors[0] @ vectors[1]).backward()
                optimizer.step()
        assert not torch.equal(before, whole)
        return whole.detach()

    torch.testing.assert_close(learned(occurring_words), learned(lambda *_: nullcontext()))


@pytest.mark.parametrize("data", ["scored", "inference", "triplets"])
def test_words_learn_from_labels(
    data: str,
    words: Path,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    schedules: list[Schedule] = []

    def recorded(*given: Any) -> History:
        schedules.append(given[3])
        return train(*given)

    monkeypatch.setattr(module, "train", recorded)
    result = finetune(words, request.getfixturevalue(data), tmp_path / "out", epochs=3)
    model = SentenceTransformer(str(result.path), device="cpu")
    assert model.encode(["the ship"]).shape == (1, 12)
    figure = next(iter(result.report["test"].values()))
    assert figure["fine-tuned"]["value"] >= figure["start"]["value"] - 5
    (schedule,) = schedules
    assert schedule.warmup == schedule.steps // 10
    assert schedule.warmup > 0 or data != "scored", "the premise"
    known = result.report["learned"]
    looks = [{"step": 0, "dev": known["start"]}, *known["history"]]
    assert known["step"] == max(looks, key=lambda look: look["dev"])["step"]
    card = (result.path / "README.md").read_text()
    assert all(line in card for line in result.report["lines"])
    assert str(result.path) in result.text()


def test_a_transformer_learns_and_a_stopped_training_ends_with_the_same_bytes(
    tiny_bert: Path, scored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("firth.train.loop.CHECKPOINT_STEPS", 3)

    def learn(name: str, epochs: int = 2) -> TrainedFolder:
        return finetune(tiny_bert, scored, tmp_path / name, epochs=epochs, learning_rate=1e-3)

    whole, looks, look = learn("whole"), [], Best.look

    def stopped(best: Best, step: int) -> dict[str, float]:
        looks.append(step)
        if len(looks) == 5:
            raise KeyboardInterrupt
        return look(best, step)

    with monkeypatch.context() as patch:
        patch.setattr(Best, "look", stopped)
        with pytest.raises(KeyboardInterrupt):
            learn("stopped")
    assert not (tmp_path / "stopped").exists()
    resumed = learn("stopped")
    for file in ("model.safetensors", "README.md", "report.json"):
        assert (resumed.path / file).read_bytes() == (whole.path / file).read_bytes()
    assert learn("whole").reused
    with pytest.raises(InputError, match="holds another result"):
        learn("whole", epochs=3)


def test_no_row_of_a_fold_is_learned_from(scored: Path) -> None:
    whole = load_set(f"{scored}:all")
    folds = make_folds(whole, 5, 1)
    assert sorted(row for rows in folds.values() for row in rows.tolist()) == [*range(90)]
    rows = folds["fold 2"]
    parts = parts_of_fold(whole, rows, "fold 2", 1)
    texts = [{row.texts for row in part.rows} for part in parts.values()]
    assert [len(some) for some in texts] == [65, 7, 18]
    assert len(set.union(*texts)) == 90
    assert texts[2] == {whole.rows[row].texts for row in rows}


def test_cross_validation_of_folds_and_of_groups(scored: Path, words: Path, tmp_path: Path) -> None:
    by_folds = cross_validate(words, scored, out := tmp_path / "folds", folds=3, epochs=1)
    assert list(by_folds.report["folds"]) == ["fold 1", "fold 2", "fold 3"]
    assert len(by_folds.report["cosines"]["fine-tuned"]) == 90
    names = {name for name in by_folds.report["figures"] if name.startswith("spearman")}
    assert names == {"spearman, mean of folds", "spearman, all rows"}
    figure = by_folds.report["figures"]["spearman, all rows"]
    assert figure["difference"]["value"] == pytest.approx(
        figure["fine-tuned"]["value"] - figure["start"]["value"]
    )
    assert cross_validate(words, scored, out, folds=3, epochs=1).reused
    groups = cross_validate(words, scored, out, leave_out="source", epochs=1, force=True)
    assert list(groups.report["folds"]) == ["a", "b", "c"]
    assert "one source left out at a time" in groups.report["lines"][0]

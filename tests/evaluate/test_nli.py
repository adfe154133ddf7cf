"""SNLI and MNLI: the same pairs from every layout, and nothing without a gold label."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from firth.evaluate import nli
from firth.evaluate.nli import NLI, Label, NliPair, load_nli
from firth.run.errors import InputError

PAIRS = [
    ("A man plays.", "Music is made.", "entailment"),
    ('He said "no".', "It rains.", "neutral"),
    ("A cat sleeps.", "Nothing sleeps.", "contradiction"),
]
UNDECIDED = ("Two dogs run.", "They race.", "-")
EXPECTED = tuple(NliPair(a, b, Label(label)) for a, b, label in PAIRS)


@pytest.fixture(autouse=True)
def _no_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nli, "hub_is_reachable", lambda: False)


def write(folder: Path, layout: str) -> None:
    """SNLI's dev split in one of the layouts."""
    home = folder / "SNLI"
    home.mkdir(exist_ok=True)
    rows = [*PAIRS, UNDECIDED]
    if layout == "tsv":
        lines = [f"{a}\t{b}\t{label}\tSNLI\tdev\n" for a, b, label in rows]
        text = "sentence1\tsentence2\tscore\tsubtask\tsplit\n" + "".join(lines)
        (home / "pairs.tsv").write_text(text + "a\tb\tneutral\tSNLI\ttest\n")
    elif layout == "jsonl":
        lines = [
            json.dumps({"sentence1": a, "sentence2": b, "gold_label": label, "other": 1}) + "\n"
            for a, b, label in rows
        ]
        (home / "snli_1.0_dev.jsonl").write_text("".join(lines))
    else:
        lines = [f"{label}\tparse\t{a}\t{b}\n" for a, b, label in rows]
        text = "gold_label\tparse\tsentence1\tsentence2\n" + "".join(lines)
        (home / "snli_1.0_dev.txt").write_text(text)


@pytest.mark.parametrize("layout", ["tsv", "jsonl", "txt"])
def test_layouts_agree(tmp_path: Path, layout: str) -> None:
    """The pairs of the split, in order; what has no gold label is counted, and so is the rest."""
    write(tmp_path, layout)
    found = load_nli("snli", tmp_path, "dev")
    assert found.pairs == EXPECTED
    assert found.notes == (
        "1 pairs without a gold label left out",
        "3 labelled pairs, published with 9842",
    )


def test_the_hub_numbers_the_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    """0, 1, 2 and −1 for none; MNLI's second dev split has a name of its own."""
    asked = []

    def load_dataset(name: str, split: str) -> list[dict[str, object]]:
        asked.append((name, split))
        numbers = {**{label.value: i for i, label in enumerate(Label)}, "-": -1}
        return [
            {"premise": a, "hypothesis": b, "label": numbers[label]}
            for a, b, label in [*PAIRS, UNDECIDED]
        ]

    monkeypatch.setattr(nli, "hub_is_reachable", lambda: True)
    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load_dataset))
    assert load_nli("mnli", split="dev-mismatched").pairs == EXPECTED
    assert asked == [("nyu-mll/multi_nli", "validation_mismatched")]


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    """Unknown names, missing files, broken lines, unknown labels."""
    with pytest.raises(InputError, match="Known: snli, mnli"):
        load_nli("anli")
    with pytest.raises(InputError, match="It has: train, dev, test"):
        load_nli("snli", split="validation")
    with pytest.raises(InputError, match=r"snli_1\.0_train\.jsonl: no such file"):
        load_nli("snli", tmp_path)
    write(tmp_path, "jsonl")
    file = tmp_path / "SNLI" / "snli_1.0_dev.jsonl"
    file.write_text(file.read_text() + '{"sentence1": "a"}\n')
    with pytest.raises(InputError, match="line 5: not a record"):
        load_nli("snli", tmp_path, "dev")
    file.write_text(json.dumps({"sentence1": "a", "sentence2": "b", "gold_label": "yes"}))
    assert (
        "1 pairs with the unknown label 'yes' left out" in load_nli("snli", tmp_path, "dev").notes
    )


def test_published_counts_are_the_usual_ones() -> None:
    """Labelled and unlabelled pairs add up to the released sizes."""
    sizes = {
        (name, split): one.rows + one.without_gold
        for name, found in NLI.items()
        for split, one in found.splits.items()
    }
    assert sizes["snli", "train"] == 550_152
    assert {n for (_, split), n in sizes.items() if split != "train"} == {10_000}

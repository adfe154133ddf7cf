"""Which encoder a run takes where none is named: `encoder.model: auto`."""

from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import TOY_SETTINGS

import firth
from firth.encoders.packaged import AUTOMATIC, Automatic
from firth.encoders.pretrained import PRETRAINED
from firth.encoders.static import write_static
from firth.pipeline.choice import VARIABLE
from firth.run.settings import load_settings
from firth.search.match import ALL, ENCODER
from firth.text.words import language_of_texts

NOUNS = [f"{a}{b}{c}o" for a in "bdfgklmnprst" for b in ("an", "el", "ir") for c in "bdgklmpt"]
DOCUMENTS = [
    " ".join(f"The {x} saw the {y} near the {x}." for x, y in permutations(NOUNS[n : n + 4], 2))
    for n in range(0, 240, 4)
]
"""Documents of which each has its own nouns, so that equal words say what belongs together."""
WORDS = ["the", "saw", "near", *NOUNS]
SHORT = ["Jobs are scarce.", "Unemployment is high.", "The cat sat on the mat."]
HELD_OUT = TOY_SETTINGS | {"corpus": {"held_out_fraction": 0.5, "language": "en"}}


@pytest.fixture(autouse=True)
def _automatic(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE)


@pytest.fixture
def encoders(tmp_path: Path) -> dict[str, str]:
    """Two static encoders: one knows which words are which, and one takes all for the same."""
    rows = np.random.default_rng(13).normal(size=(len(WORDS), 64))
    rows[:3] /= 9
    folders = {}
    for name, vectors in (("knows", rows), ("knows-nothing", np.ones_like(rows))):
        (tmp_path / name).mkdir()
        write_static(tmp_path / name, WORDS, vectors.astype(np.float32))
        folders[name] = str(tmp_path / name)
    return folders


def install(
    monkeypatch: pytest.MonkeyPatch, *names: str, reads: str = "en", speed: float = 100
) -> None:
    """Let packages bring encoders of these names, in this order, and no others."""
    installed = {name: Automatic(frozenset([reads]), speed) for name in names}
    monkeypatch.setattr("firth.pipeline.choice.AUTOMATIC", {**installed, **AUTOMATIC})
    monkeypatch.setattr("firth.pipeline.choice.is_brought", installed.__contains__)


def test_the_best_installed_encoder_is_taken_and_kept(
    encoders: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It is named in the settings, with its reason; what is installed later changes no run."""
    install(monkeypatch, encoders["knows"])
    model = firth.build(DOCUMENTS, tmp_path / "run", settings=HELD_OUT)
    notes = capsys.readouterr().err
    assert "reads en. On held-out text, against n-grams of stems: no significant loss (" in notes
    assert model.built is not None
    assert model.built.as_dict()["encoder"] == encoders["knows"]
    assert load_settings(tmp_path / "run" / "settings.toml").encoder.model == encoders["knows"]
    install(monkeypatch, encoders["knows-nothing"])
    again = firth.build(None, tmp_path / "run", quiet=True)
    assert again.built is not None
    assert not any(again.built.stages.values())


def test_the_text_overrules_an_encoder_that_does_not_know_it(
    encoders: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The next one is asked; without another, the run is that of the text alone, to the byte."""
    install(monkeypatch, encoders["knows-nothing"], encoders["knows"])
    firth.build(DOCUMENTS, tmp_path / "next", settings=HELD_OUT)
    notes = capsys.readouterr().err
    assert f"{encoders['knows-nothing']} is rejected: " in notes
    assert load_settings(tmp_path / "next" / "settings.toml").encoder.model == encoders["knows"]
    install(monkeypatch, encoders["knows-nothing"])
    overruled = firth.build(DOCUMENTS, tmp_path / "overruled", settings=HELD_OUT)
    assert "encoder: text alone. " in capsys.readouterr().err
    assert not overruled.run.has(PRETRAINED)
    named = firth.build(DOCUMENTS, tmp_path / "none", encoder="none", settings=HELD_OUT)
    for file in sorted(path for path in named.path.rglob("*") if path.is_file()):
        if file.suffix in (".npy", ".safetensors", ".json", ".toml"):
            same = overruled.path / file.relative_to(named.path)
            assert same.read_bytes() == file.read_bytes(), file


@pytest.mark.parametrize(
    ("reads", "speed", "language", "note"),
    [
        ("fi", 100, "auto", "no installed encoder is known to read en. "),
        ("fi", 100, "en+fi", "no installed encoder is known to read en+fi"),
        ("en", 0.001, "auto", "would take about 50 minutes (--encoder "),
    ],
)
def test_another_language_and_too_many_sentences_leave_the_text_alone(
    encoders: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    reads: str,
    speed: float,
    language: str,
    note: str,
) -> None:
    """The note says why, and what to do."""
    install(monkeypatch, encoders["knows"], reads=reads, speed=speed)
    model = firth.build(SHORT, settings={"corpus.language": language})
    assert note in capsys.readouterr().err.replace("\n", " ")
    assert model.run.settings.encoder.model == "none"


@pytest.mark.parametrize("texts", [NOUNS[:24], ["red shoes", "scarlet shoes"]])
def test_plain_strings_are_matched_with_the_encoder_that_a_build_takes(
    texts: list[str], encoders: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the recognized language; `none` compares words and characters alone."""
    language = language_of_texts(texts)
    install(monkeypatch, encoders["knows"], reads=language)
    names = (None, "auto", encoders["knows"], "none")
    candidates = {name: firth.match(texts, encoder=name).candidates for name in names}
    assert candidates[None] == candidates["auto"] == candidates[encoders["knows"]]
    assert set(candidates[None]) - set(candidates["none"]) == {ENCODER, ALL}
    model = firth.build(texts, quiet=True)
    assert model.run.settings.encoder.model == encoders["knows"]
    assert model.similarity(texts[0], texts[0]) > 0.99
    install(monkeypatch, encoders["knows"], reads="another")
    assert firth.match(texts).candidates == candidates["none"]
    assert firth.build(texts, quiet=True).similarity(texts[0], texts[1]) < 1
    if len(texts) > 20:
        rates = [vars(firth.calibrate(texts, encoder=name).matches) for name in (None, "none")]
        assert rates[0] == rates[1]


def test_an_encoder_that_fails_costs_no_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A package that is damaged is named, and the text alone is learned from."""
    (tmp_path / "damaged").mkdir()
    write_static(tmp_path / "damaged", ["ship"], np.ones((1, 4), np.float32))
    (tmp_path / "damaged" / "tokenizer.json").write_text("{}")
    install(monkeypatch, str(tmp_path / "damaged"))
    assert firth.build(SHORT).run.settings.encoder.model == "none"
    assert "cannot be opened" in capsys.readouterr().err


def test_a_variable_names_the_encoder_of_new_runs(
    encoders: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stands in for `auto` alone: a name that is given counts."""
    monkeypatch.setenv(VARIABLE, encoders["knows"])
    assert firth.build(SHORT, quiet=True).run.settings.encoder.model == encoders["knows"]
    named = firth.build(SHORT, quiet=True, encoder="none")
    assert named.run.settings.encoder.model == "none"

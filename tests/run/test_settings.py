"""Settings: one file describes a run, and all its problems are named at once."""

import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from firth.run.errors import ConfigError
from firth.run.run import Run
from firth.run.settings import (
    HEADER,
    Settings,
    change_settings,
    derive_seed,
    load_settings,
    parse_changes,
    parse_settings,
    settings_text,
    values_of,
)

CHANGED = {
    "seed": 7,
    "corpus": {"inputs": ["a, b", "ü*.txt", "no"], "language": "no", "id_field": None},
    "encoder": {"model": "{}: b # c\n\t'\"["},
    "scorer": {"spelling_weight": 0.5, "weights": {"sentences": 1e-07}},
    "paper": {"coherence": {"hidden": 8}},
}


def test_settings_written_and_read_again_are_the_same(tmp_path: Path) -> None:
    """Also odd strings; settings that were not changed are not values in the file."""
    settings = parse_settings(CHANGED, "test")
    path = tmp_path / "settings.toml"
    path.write_text(settings_text(settings), encoding="utf-8")
    assert load_settings(path) == settings
    values = [line for line in path.read_text().splitlines() if line and line[0] != "#"]
    assert {line.partition(" = ")[0] for line in values} == {
        "seed", "corpus.inputs", "corpus.language", "encoder.model",
        "scorer.spelling_weight", "scorer.weights.sentences", "paper.coherence.hidden",
    }  # fmt: skip


@given(st.text())
@example("a.b")
def test_any_text_survives_the_file(text: str) -> None:
    """The name of a field may be anything, and so may the name of a component.

    Half a surrogate pair stands for a byte of a file name that is no UTF-8."""
    values = {"corpus": {"text_field": text}, "scorer": {"weights": {text: 0.5}}}
    with TemporaryDirectory() as folder:
        run = Run.create(folder, parse_settings(values, "test"))
        assert Run.open(run.path).settings == run.settings


def test_a_partial_file_and_both_spellings_are_read(tmp_path: Path) -> None:
    """Sections and dotted paths mean the same; an empty file has all defaults.

    A file without changes is the header alone.
    """
    path = tmp_path / "settings.toml"
    path.write_text("corpus.language = 'de'\ncorpus.min_words = 4\n[words]\nepochs = 2\n")
    settings = load_settings(path)
    assert (settings.corpus.language, settings.corpus.min_words) == ("de", 4)
    assert (settings.words.epochs, settings.seed) == (2, Settings().seed)
    path.write_text(settings_text(Settings()))
    assert path.read_text() == HEADER
    assert load_settings(path) == Settings()


ODD = [
    "- 1", "a = [", "\udcff", "seed = 2024-01-31", "seed = nan", "seed = " + "[" * 5000,
    "words.learning_rate = inf", "seed = 'yes'", "seed = 1\nseed = 2",
    "words.epochs = 1\nwords = {epochs = 2}",
]  # fmt: skip


@pytest.mark.parametrize("text", ODD, ids=lambda text: text[:30])
def test_odd_files_are_refused_in_one_message(tmp_path: Path, text: str) -> None:
    """What is no TOML, depth, scalars of every kind: one problem that names the file."""
    path = tmp_path / "odd.toml"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(ConfigError, match=r"odd\.toml: 1 problem"):
        load_settings(path)


def test_options_become_changes() -> None:
    """Values of TOML, and bare words as text; a later `=` belongs to the value.

    Norwegian is a language, a date is text, and a line end begins no other setting.
    """
    changes = parse_changes(
        ["corpus.language=no", "corpus.fields=a,b", "encoder.model=x = {}", "words.epochs=",
         "seed=5", "paper.coherence={hidden = 8}", "corpus.text_field=2024-01-31",
         "corpus.title_field='1'\nx = 2", "corpus.id_field='1'", 'corpus.inputs=["a", "b"]',
         "corpus.lines=true"]
    )  # fmt: skip
    assert changes == {
        "corpus": {"language": "no", "inputs": ["a", "b"], "fields": "a,b", "lines": True,
                   "text_field": "2024-01-31", "title_field": "'1'\nx = 2", "id_field": "1"},
        "encoder": {"model": "x = {}"}, "words": {"epochs": None}, "seed": 5,
        "paper": {"coherence": {"hidden": 8}},
    }  # fmt: skip
    assert parse_settings(changes, "test").corpus.fields == ("a", "b")
    assert parse_changes([]) == {}


def test_problems_of_options_blame_the_option() -> None:
    """All at once, and not a file that nobody wrote."""
    with pytest.raises(ConfigError) as raised:
        parse_changes(["corpus.langage=de", "seed", "=3", "seed=x", "corpus.fields=["])
    assert str(raised.value).startswith("--set: 5 problems in the settings:")
    assert "did you mean corpus.language?" in str(raised.value)


def test_changes_are_laid_over() -> None:
    """Other settings stay; None is `none`; the settings that are changed are not touched."""
    before = parse_settings(CHANGED, "test")
    after = change_settings(
        before, {"encoder": {"model": None}, "paper": {"coherence": {"batch": 2}}}, "test"
    )
    assert (after.encoder.model, after.scorer) == ("none", before.scorer)
    assert after.model_dump()["paper"]["coherence"] == {"hidden": 8, "batch": 2}
    assert before.model_dump()["paper"]["coherence"] == {"hidden": 8}
    with pytest.raises(ConfigError, match="here: 2 problem"):
        change_settings(before, {"seed": -1, "corpus": {"language": "german"}}, "here")


@pytest.mark.parametrize(
    ("values", "meant"),
    [
        ({"corpus": {"held_out": 3}}, "corpus.held_out_fraction?"),
        ({"corpsu": {}}, "corpus?"),
        ({"corpus": {"dimensions": 3}}, "words.dimensions or static.dimensions"),
    ],
)
def test_unknown_settings_are_guessed(values: dict[str, object], meant: str) -> None:
    """By likeness in the section, or by the same name elsewhere; never without likeness."""
    with pytest.raises(ConfigError, match=re.escape(f"did you mean {meant}")):
        parse_settings(values, "test")
    with pytest.raises(ConfigError, match=r"zigzag: no such setting\n.*zz: no such setting$"):
        parse_settings({"corpus": {"zz": 3}, "zigzag": {}}, "test")


def test_sections_of_wings_are_checked_with_the_others() -> None:
    """With defaults where a stage declares them; all problems are named together."""
    settings = parse_settings({"tokenizer.vocabulary": 400}, "test")
    declared = values_of(settings, ["tokenizer", "paper.window"])
    assert declared["tokenizer"] == {"vocabulary": 400, "lower_case": True}
    assert declared["paper.window"] == 1
    changes = {"sed": 1, "tokenizer": {"lower": 1, "vocabulary": 0}, "paper.vocabulary": 9}
    with pytest.raises(ConfigError) as raised:
        parse_settings(changes, "x")
    assert len(raised.value.problems) == 4
    for part in (
        "mean tokenizer.lower_case",
        "tokenizer.vocabulary: got 0",
        "or static.vocabulary",
    ):
        assert part in str(raised.value)


def test_seeds_are_fixed_and_differ_by_purpose() -> None:
    seeds = {derive_seed(*names) for names in ((13,), (14,), (13, "words"), (13, "words", 1))}
    assert len(seeds) == 4
    assert all(0 <= seed < 2**63 for seed in seeds)
    code = "from firth.run.settings import derive_seed; print(derive_seed(13, 'words', 1))"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout
    assert int(printed) == derive_seed(13, "words", 1) == 1_678_798_740_314_119_500

"""Settings: one file describes a run, and all its problems are named at once."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.run.errors import ConfigError
from firth.run.settings import (
    HEADER,
    SHOWN,
    Settings,
    change_settings,
    derive_seed,
    load_settings,
    parse_changes,
    parse_settings,
    read_yaml,
    settings_text,
    values_of,
)

CHANGED = {
    "seed": 7,
    "corpus": {"inputs": ["a, b", "ü*.txt", "no"], "language": "no", "id_field": None},
    "encoder": {"model": "a: b # c", "prompt": "{}\n\t'\"["},
    "scorer": {"spelling_weight": 0.5, "weights": {"sentences": 1e-07}},
    "paper": {"coherence": {"hidden": 8}},
}


def test_settings_written_and_read_again_are_the_same(tmp_path: Path) -> None:
    """Also odd strings; settings that were not changed are not values in the file."""
    settings = parse_settings(CHANGED, "test")
    path = tmp_path / "config.yaml"
    path.write_text(settings_text(settings), encoding="utf-8")
    assert load_settings(path) == settings
    values = [line for line in path.read_text().splitlines() if line and line[0] != "#"]
    assert {line.partition(":")[0] for line in values} == {
        "seed", "corpus.inputs", "corpus.language", "encoder.model", "encoder.prompt",
        "scorer.spelling_weight", "scorer.weights.sentences", "paper.coherence.hidden",
    }  # fmt: skip


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
def test_any_text_survives_the_file(text: str) -> None:
    """A language model's prompt may be anything."""
    settings = parse_settings({"encoder.prompt": text}, "test")
    again = parse_settings(read_yaml(settings_text(settings)), "test")
    assert again.encoder.prompt == text


def test_a_fresh_file_is_short_and_its_comments_can_be_used(tmp_path: Path) -> None:
    """At most 40 lines; each comment is a line that is valid without its mark."""
    text = settings_text(Settings())
    assert text.startswith(HEADER)
    assert len(text.splitlines()) <= 40
    path = tmp_path / "config.yaml"
    path.write_text(text)
    assert load_settings(path) == Settings()
    lines = [line[2:] for line in text.splitlines() if re.match(r"# [a-z_.]+: ", line)]
    assert [line.partition(":")[0] for line in lines] == list(SHOWN)
    path.write_text("\n".join(lines))
    assert load_settings(path) == Settings()


def test_a_file_that_may_never_end_is_not_read(tmp_path: Path) -> None:
    """A FIFO, whose writer is missing, and a device without end."""
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path / "fifo", Path("/dev/zero"), tmp_path):
        with pytest.raises(ConfigError, match="expected a file of settings"):
            load_settings(path)


def test_a_partial_file_and_both_spellings_are_read(tmp_path: Path) -> None:
    """Sections and dotted paths mean the same; an empty file has all defaults."""
    path = tmp_path / "config.yaml"
    path.write_text("corpus.language: de\ncorpus: {min_words: 4}\nwords:\n  epochs: 2\n")
    settings = load_settings(path)
    assert (settings.corpus.language, settings.corpus.min_words) == ("de", 4)
    assert (settings.words.epochs, settings.seed) == (2, Settings().seed)
    path.write_text("# nothing\n")
    assert load_settings(path) == Settings()


def test_all_problems_are_raised_together(tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(
        "seed: -1\nsped: 3\ncorpus: {min_words: none, inputs: a.txt}\nencoder.pooling: max\n"
    )
    with pytest.raises(ConfigError) as raised:
        load_settings(path)
    assert len(raised.value.problems) == 5
    for part in ("bad.yaml: 5 problems", "seed: got -1", "sped: no such setting; did you mean seed",
                 "corpus.min_words: got 'none'", "corpus.inputs: got 'a.txt'",
                 "encoder.pooling: got 'max'"):  # fmt: skip
        assert part in str(raised.value)


BOMB = "a0: &a0 [x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 10)
)
ODD = [
    "[1, 2]", "a: [", "\udcff", "seed: !!timestamp x", "seed: !!int x", "seed: .nan",
    "seed: !!python/object:os.system {}", "seed: " + "[" * 5000, 'corpus: {inputs: ["\\0"]}',
    "words: {learning_rate: .inf}", "seed: yes", "seed: 1\nseed: 2",
    "words: {epochs: 1, epochs: 2}", "words.epochs: 1\nwords: {epochs: 2}",
]  # fmt: skip


@pytest.mark.parametrize("text", [BOMB, *ODD], ids=lambda text: text[:30])
def test_odd_yaml_is_refused_in_one_message(tmp_path: Path, text: str) -> None:
    """Aliases without end, tags, scalars of every kind: one problem that names the file."""
    path = tmp_path / "odd.yaml"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(ConfigError, match=r"odd\.yaml: 1 problem"):
        load_settings(path)


@pytest.mark.parametrize(
    ("text", "value"),
    [("no", "no"), ("true", True), ("null", None), ("", None), ("2024-01-31", "2024-01-31"),
     ("[a, 1]", ["a", 1]), ("-3", -3), ("0.5", 0.5), ("'1'", "1")],
)  # fmt: skip
def test_scalars_are_those_of_yaml_1_2(text: str, value: Any) -> None:
    """Norwegian is a language, and a date a string."""
    assert read_yaml(text) == value
    assert type(read_yaml(text)) is type(value)


def test_options_become_changes() -> None:
    """As `--set` gives them; a later `=` belongs to the value."""
    changes = parse_changes(
        ["corpus.language=no", "corpus.inputs=[a, b]", "encoder.prompt=x = {}", "words.epochs=null",
         "seed=5", "paper.coherence.hidden=8"]
    )  # fmt: skip
    assert changes == {
        "corpus": {"language": "no", "inputs": ["a", "b"]}, "encoder": {"prompt": "x = {}"},
        "words": {"epochs": None}, "seed": 5, "paper": {"coherence": {"hidden": 8}},
    }  # fmt: skip
    assert parse_changes([]) == {}


def test_problems_of_options_blame_the_option() -> None:
    """All at once, and not a file that nobody wrote."""
    with pytest.raises(ConfigError) as raised:
        parse_changes(["corpus.langage=de", "seed", "=3", "seed=x", "words.epochs=["])
    assert raised.value.source == "--set"
    assert len(raised.value.problems) == 5
    assert "did you mean corpus.language?" in str(raised.value)
    assert "yaml:" not in str(raised.value)


def test_changes_are_laid_over() -> None:
    """Other settings stay; None is `none`; the settings that are changed are not touched."""
    before = parse_settings(CHANGED, "test")
    after = change_settings(
        before, {"encoder": {"model": None}, "paper": {"coherence": {"batch": 2}}}, "test"
    )
    assert (after.encoder.model, after.encoder.prompt) == ("none", before.encoder.prompt)
    assert after.model_dump()["paper"]["coherence"] == {"hidden": 8, "batch": 2}
    assert before.model_dump()["paper"]["coherence"] == {"hidden": 8}
    with pytest.raises(ConfigError, match="here: 1 problem"):
        change_settings(before, {"seed": -1}, "here")


@pytest.mark.parametrize(
    ("values", "meant"),
    [
        ({"corpus": {"held_out": 3}}, "corpus.held_out_fraction?"),
        ({"scorrer": {}}, "scorer?"),
        ({"corpus": {"dimensions": 3}}, "words.dimensions or static.dimensions"),
    ],
)
def test_unknown_settings_are_guessed(values: dict[str, object], meant: str) -> None:
    """By likeness in the section, or by the same name elsewhere; never without likeness."""
    with pytest.raises(ConfigError, match=re.escape(f"did you mean {meant}")):
        parse_settings(values, "test")
    with pytest.raises(ConfigError) as caught:
        parse_settings({"corpus": {"zz": 3}}, "test")
    assert "did you mean" not in str(caught.value)


def test_sections_of_wings_are_checked_with_the_others() -> None:
    """With defaults where a stage declares them; all problems are named together."""
    settings = parse_settings({"adapt.steps": 3}, "test")
    declared = values_of(settings, ["adapt", "distill.layers"])
    assert (declared["adapt"]["steps"], declared["adapt"]["batch"]) == (3, 48)
    assert declared["distill.layers"] == 4
    with pytest.raises(ConfigError) as raised:
        parse_settings({"sed": 1, "adapt": {"stesp": 1, "batch": 0}, "distill.vocabulary": 9}, "x")
    assert len(raised.value.problems) == 4
    for part in ("mean adapt.steps", "adapt.batch: got 0", "or static.vocabulary"):
        assert part in str(raised.value)


def test_a_section_of_a_wing_that_is_missing_is_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It comes through changes and files untouched, and is named once; a mistyped one is not."""
    path, section = tmp_path / "config.yaml", {"hidden": 8, "inner": {"a.b": [1, None]}}
    settings = change_settings(parse_settings({"zigzag": section}, "f"), {"seed": 7}, "f")
    assert capsys.readouterr().err.count("the section zigzag is kept") == 1
    path.write_text(settings_text(settings))
    assert load_settings(path) == settings
    assert load_settings(path).model_dump()["zigzag"] == section
    with pytest.raises(ConfigError, match=r"corpsu: no such setting; did you mean corpus\?"):
        parse_settings({"corpsu": {}}, "test")


def test_seeds_are_fixed_and_differ_by_purpose() -> None:
    seeds = {derive_seed(*names) for names in ((13,), (14,), (13, "words"), (13, "words", 1))}
    assert len(seeds) == 4
    assert all(0 <= seed < 2**63 for seed in seeds)
    code = "from firth.run.settings import derive_seed; print(derive_seed(13, 'words', 1))"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout
    assert int(printed) == derive_seed(13, "words", 1) == 1_678_798_740_314_119_500

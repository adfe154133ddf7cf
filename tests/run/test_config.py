"""`firth.run.config`: one file describes a run, and all that is wrong with it is said at once."""

import re
from pathlib import Path

import pytest

from firth.run.config import Config
from firth.run.errors import ConfigError


def test_yaml_round_trip(tmp_path: Path) -> None:
    """A configuration written and read again is the same."""
    config = Config().changed({"seed": 7, "paper": {"weights": {"left": 0.25}}}, "test")
    path = tmp_path / "config.yaml"
    path.write_text(config.to_yaml())
    assert Config.load(path) == config
    assert config.paper.weights.left == 0.25
    assert config.paper.weights.right == Config().paper.weights.right


def test_all_problems_are_raised_together(tmp_path: Path) -> None:
    """Every wrong setting is named in one error, with what was got."""
    path = tmp_path / "bad.yaml"
    path.write_text(
        "seed: -1\nsped: 3\ncorpus: {chunk_sentences: none}\n"
        "paper: {contexts: 500, shortlist: 10}\ngenerator: {backend: causal-lm}\n"
    )
    with pytest.raises(ConfigError) as raised:
        Config.load(path)
    assert len(raised.value.problems) == 5
    message = str(raised.value)
    for part in ("bad.yaml", "seed: got -1", "sped: no such setting", "shortlist 10", "`model`"):
        assert part in message


@pytest.mark.parametrize(
    ("text", "part"),
    [("[1, 2]", "mapping"), ("a: [", "not valid YAML"), ("\udcff", "not valid YAML")],
)
def test_a_file_that_is_no_configuration(tmp_path: Path, text: str, part: str) -> None:
    """A file of another kind is refused with its name."""
    path = tmp_path / "odd.yaml"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(ConfigError, match=part):
        Config.load(path)


BOMB = "a0: &a0 [x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 10)
)
ODD = [
    "seed: 2001-99-99", "seed: 2001-12-14", "seed: !!binary 'x'", "seed: !!timestamp x",
    "seed: !!int x", "seed: !!float x", "seed: .nan", "seed: " + "9" * 5000,
    "? [1, 2]\n: 3", "{1: 2}", "seed: !!set {a, b}", "seed: !!omap [a: 1]", "<<: 3", "=: 4",
    "seed: !!python/object:os.system {}", "seed: " + "[" * 5000, "seed: '\x1b]52;c;x'", "",
    "# nothing", "---\nseed: 1\n---\nseed: 2", 'run: "a\\0b"', 'corpus: {inputs: ["\\0"]}',
    'x: {"\\0": 1}',
    "origin: {weights: {words: .inf}}", "paper: {weights: {left: .inf}}",
    "coherence: {learning_rate: .inf}", "generator: {learning_rate: .inf}",
]  # fmt: skip


@pytest.mark.parametrize("text", [BOMB, *ODD], ids=lambda text: text[:30])
def test_odd_yaml_is_refused_in_one_message(tmp_path: Path, text: str) -> None:
    """Aliases without end, scalars of every kind, and an empty file: named, none is believed."""
    path = tmp_path / "odd.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"odd\.yaml: 1 problem"):
        Config.load(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """The path that was tried is in the message."""
    with pytest.raises(ConfigError, match="absent"):
        Config.load(tmp_path / "absent.yaml")


def test_none_changes_nothing() -> None:
    """Options that were not given leave the configuration as it is."""
    config = Config()
    assert config.changed({"seed": None, "harvest": {"pairs": None}}, "test") == config


def test_an_unknown_section_is_refused() -> None:
    """A change outside the tree is an error, not silently kept."""
    with pytest.raises(ConfigError, match="orign: no such setting"):
        Config().changed({"orign": {"contexts": 3}}, "--set")


@pytest.mark.parametrize(
    ("values", "meant"),
    [
        ({"corpus": {"held_oot": 3}}, "corpus.held_out?"),
        ({"surogate": {}}, "surrogate?"),
        ({"context": {"dimensions": 3}}, "context.bag.dimensions or "),
        ({"context": {"bag": {"epoch": 3}}}, "context.bag.epochs?"),
    ],
)
def test_unknown_settings_are_guessed(values: dict[str, object], meant: str) -> None:
    """By likeness among those beside, or by the same name elsewhere; never without likeness."""
    with pytest.raises(ConfigError, match=re.escape(f"did you mean {meant}")):
        Config.parse(values, "test")
    with pytest.raises(ConfigError) as caught:
        Config.parse({"corpus": {"zz": 3}}, "test")
    assert "did you mean" not in str(caught.value)

"""The stage `origin`: never significantly worse than the best, and near to the default."""

import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.check import CHECK
from firth.check.build import build_check, open_items
from firth.check.items import Item, Kind
from firth.check.measure import accuracies, figures
from firth.context import CONTEXT
from firth.context.build import build_context
from firth.context.open import open_encoder
from firth.context.settings import Encoder
from firth.corpus.build import build_corpus
from firth.lexical.arrays import Floats
from firth.lexical.word_space import WordSpace
from firth.origin import ORIGIN, choose
from firth.origin.blend import BLEND, DEFAULT, Blend, default_blend
from firth.origin.choose import FEWEST, OWN, WORDS, build_origin
from firth.origin.ensemble import EnsembleOrigin
from firth.run.config import Config
from firth.run.run import Run

BLENDS = [Blend(1.0, words, own) for own in OWN for words in WORDS]


def items(documents: int, count: int = FEWEST) -> list[Item]:
    return [Item(Kind.NEXT, number % documents, "a", "b", ("c",)) for number in range(count)]


def measured(rng: np.random.Generator, n: int, ahead: Mapping[Blend, float]) -> dict[Blend, Floats]:
    """Accuracies with a common part, some blends being so far ahead."""
    common = rng.random(n)
    return {blend: common + 0.05 * rng.random(n) + ahead.get(blend, 0.0) for blend in BLENDS}


def test_where_texts_stand_alone_what_was_learned_has_to_show(tiny_run: Path) -> None:
    """It is left out by default and where nothing tells the candidates apart, but not where the
    check finds it better."""
    default, asked = default_blend(Encoder.BAG, alone=True), items(60)
    assert default.own is None
    run = Run.open(tiny_run)
    space, encoder = WordSpace.load(run.folder(CONTEXT)), open_encoder(run)
    some = [item for item in open_items(run) if item.kind is Kind.NEXT]
    blends = [*choose._measure(some, encoder, space, alone=True)]
    assert default in blends
    assert blends[: len(BLENDS)] == [*choose._measure(some, encoder, space)] == BLENDS
    equal = {blend: np.ones(len(asked)) for blend in blends}
    assert choose._choose(asked, equal, 1, default)[0] == default
    found = {blend: 0.5 * (one if blend != DEFAULT else 2 * one) for blend, one in equal.items()}
    assert choose._choose(asked, found, 1, default)[0] == DEFAULT


def test_the_default_is_a_candidate() -> None:
    """Else nothing could be found equal to it; each encoder has its own."""
    assert DEFAULT in BLENDS
    assert {default_blend(encoder) for encoder in Encoder} <= set(BLENDS)
    assert default_blend(Encoder.SENTENCE_ENCODER).words < DEFAULT.words


@pytest.mark.parametrize("encoder", list(Encoder))
def test_equal_blends_leave_the_encoder_s_default(encoder: Encoder) -> None:
    """Where nothing tells them apart, it is the default of the encoder."""
    asked, default = items(60), default_blend(encoder)
    found = {blend: np.ones(len(asked)) for blend in BLENDS}
    assert choose._choose(asked, found, 1, default)[0] == default


@settings(max_examples=15)
@given(st.integers(0, 2**32), st.integers(30, 60), st.sampled_from(BLENDS), st.floats(0, 0.2))
def test_the_chosen_is_never_worse_than_the_best(
    seed: int, documents: int, winner: Blend, lead: float
) -> None:
    """Of those that cannot be told from the best none is nearer to the default."""
    asked = items(documents)
    found = measured(np.random.default_rng(seed), len(asked), {winner: lead})
    chosen, table = choose._choose(asked, found, seed=1)
    blends, values = list(found), list(found.values())
    best = int(np.argmax([value.mean() for value in values]))
    behind = figures(asked, values, against=best, seed=1)
    equal = [blend for blend, (_, one) in zip(blends, behind, strict=True) if not one.sign]
    assert chosen in equal
    assert choose._steps(chosen) == min(map(choose._steps, equal))
    assert [Blend(row["sentences"], row["words"], row["own"]) for row in table] == blends


def test_a_clear_winner_is_chosen() -> None:
    """Far ahead on many documents, however far from the default."""
    winner = max(BLENDS, key=choose._steps)
    asked = items(60)
    found = measured(np.random.default_rng(3), len(asked), {winner: 0.5})
    assert choose._choose(asked, found, seed=1)[0] == winner


@pytest.mark.parametrize(
    ("documents", "count"), [(1, 0), (1, FEWEST), (29, FEWEST), (60, FEWEST - 1)]
)
def test_with_little_to_tell_by_the_default_is_taken(documents: int, count: int) -> None:
    """Without items, with those of few documents, and with few."""
    asked = items(documents, count)
    winner = max(BLENDS, key=choose._steps)
    found = measured(np.random.default_rng(3), len(asked), {winner: 0.5})
    assert choose._choose(asked, found, seed=1)[0] == DEFAULT
    assert "the default" in choose._said(count, False, **asdict(DEFAULT))
    assert "the default" not in choose._said(count, True, **asdict(winner))


def test_candidates_are_measured_as_the_check_measures_them(tiny_run: Path) -> None:
    """The accuracy written down for a blend is that of the Origin that has it."""
    run = Run.open(tiny_run)
    asked = [item for item in open_items(run) if item.kind is Kind.NEXT]
    assert asked, "premise"
    table = json.loads((run.folder(ORIGIN) / BLEND).read_text())["candidates"]
    assert len(table) == len(BLENDS)
    for row in (table[0], table[-1]):
        blend = Blend(row["sentences"], row["words"], row["own"])
        expected = 100 * accuracies(EnsembleOrigin.blended(run, blend, 0.0), asked).mean()
        assert row["accuracy"]["value"] == pytest.approx(expected)
    assert run.manifest(ORIGIN).summary["held_out_sentences"] == len(asked)


def test_a_language_model_has_weights_to_choose_only(prompt_run: Path) -> None:
    """Its vectors have no own directions; and as few items are read as asked for."""
    run = Run.open(prompt_run)
    table = json.loads((run.folder(ORIGIN) / BLEND).read_text())["candidates"]
    assert [row["words"] for row in table] == list(WORDS)
    assert {row["own"] for row in table} == {DEFAULT.own}
    assert run.manifest(ORIGIN).summary["held_out_sentences"] == run.config.origin.items == 3


def test_chosen_twice_the_bytes_are_the_same(tiny_run: Path, tmp_path: Path) -> None:
    """From the same run; and no stage is built again without need."""
    run = Run.open(shutil.copytree(tiny_run, tmp_path / "run"))
    assert build_origin(run).reused
    shutil.rmtree(run.folder(ORIGIN))
    assert not build_origin(run).reused
    for file in (tiny_run / ORIGIN.name).iterdir():
        assert (run.path / ORIGIN.name / file.name).read_bytes() == file.read_bytes(), file.name


def test_a_run_without_held_out_documents_has_the_default(
    tiny_folder: Path, tmp_path: Path
) -> None:
    """It says so, and Origin opens."""
    settings = {
        "corpus": {"inputs": [str(tiny_folder)], "held_out": 0},
        "context": {"bag": {"dimensions": 4, "epochs": 1}},
    }
    run = Run.create(tmp_path / "run", Config.parse(settings, "test"))
    for build in (build_corpus, build_check, build_context):
        build(run)
    assert not open_items(run), "premise"
    summary = build_origin(run).manifest.summary
    assert not summary["changed"]
    assert "the default; no held-out sentence has a next one" in choose._said(**summary)
    assert 0 < EnsembleOrigin.open(run).similarity("The ship sank.", "A ship sails.") < 1
    assert CHECK.name in run.manifest(ORIGIN).inputs

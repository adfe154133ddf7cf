"""Plans from made-up probes are their arithmetic; a probe builds what a run would."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conftest import tiny_settings
from typer.testing import CliRunner

from firth.check import CHECK
from firth.cli.main import app
from firth.context import CONTEXT
from firth.corpus import CORPUS
from firth.harvest import HARVEST
from firth.index import INDEX
from firth.pipeline import needed
from firth.plan import probe
from firth.plan.plan import Plan, plan, predict
from firth.plan.probe import Cost, Probe, draw, probes
from firth.plan.units import Size, Unit, work_of
from firth.run.config import Config
from firth.run.errors import ConfigError, InputError
from firth.run.run import Run
from firth.surrogate import SURROGATE, TEACHER

CONFIG = Config()
PER_WORD, PER_COUNT, PER_UPDATE, PER_PAIR, PER_SENTENCE = 2e-6, 4e-7, 1e-9, 3e-4, 4e-5


def sized(words: float) -> Size:
    """Documents of 500 words, sentences of 20, and words that grow more slowly than text."""
    vocabulary = 30 * words**0.5, 40 * words**0.5, 7_000
    return Size(words / 500, words / 20, words, *vocabulary, words / 100)


def made_up(words: float) -> Probe:
    """A part that took what lines say, exactly."""
    size = sized(words)
    amounts = size.amounts(CONFIG)
    training = 1 + PER_WORD * words + PER_UPDATE * amounts[Unit.UPDATES]
    return Probe(
        size,
        CONFIG,
        Cost(PER_COUNT * words, 0, 0, 1 << 29),
        {
            CORPUS: Cost(2 + PER_WORD * words, 0, round(6 * words), 1 << 29),
            CONTEXT: Cost(training, 0, round(1e6 + 800 * amounts[Unit.VECTORS]), 1 << 30),
            HARVEST: Cost(5 + PER_PAIR * size.pairs, 0, round(200 * size.pairs), 1 << 29),
            SURROGATE: Cost(2 + PER_COUNT * words + 1e-4 * amounts[Unit.ROWS], 0, 1 << 20, 1 << 30),
            INDEX: Cost(1 + PER_SENTENCE * size.sentences, 0, 1 << 20, 1 << 29),
        },
    )


def planned(times: float, machines: int = 1) -> Plan:
    parts = [made_up(words) for words in (5e4, 1e5, 2e5, 4e5)]
    return predict(CONFIG, parts, times, 10**8, machines)


@pytest.mark.parametrize("times", [1.0, 10.0, 2.5e5])
def test_a_plan_is_what_the_lines_say(times: float) -> None:
    """Time and disk of every stage at up to 100 billion words: a cent in the dollar, at most."""
    found, wanted = planned(times), made_up(times * 4e5)
    assert found.size.words == times * 4e5
    assert found.size.stems == pytest.approx(wanted.size.stems, rel=1e-6)
    corpus, context, harvest, surrogate, index = found.stages
    assert corpus.seconds(1) == pytest.approx(wanted.costs[CORPUS].seconds, rel=0.01)
    assert corpus.disk.at(corpus.amounts) == pytest.approx(wanted.costs[CORPUS].disk, rel=0.01)
    assert context.seconds(1) == pytest.approx(wanted.costs[CONTEXT].seconds, rel=0.01)
    assert context.disk.at(context.amounts) == pytest.approx(wanted.costs[CONTEXT].disk, rel=0.01)
    counting = surrogate.time.each[Unit.WORDS] * surrogate.amounts[Unit.WORDS]
    assert counting == pytest.approx(PER_COUNT * times * 4e5)
    assert surrogate.seconds(1) - counting < 2.1 + 1e-4 * surrogate.amounts[Unit.ROWS]
    assert index.seconds(1) == pytest.approx(wanted.costs[INDEX].seconds, rel=0.01)
    assert harvest.seconds(1) == pytest.approx(5 + PER_PAIR * 1e8, rel=0.01)
    assert found.seconds == pytest.approx(sum(stage.seconds(1) for stage in found.stages))


def test_memory_is_what_the_probe_had_and_what_is_known() -> None:
    """Of stems, and never of words and sentences, wherever the libraries' own memory lies."""
    one, ten = (planned(times) for times in (1.0, 10.0))
    context = [each.stages[1] for each in (one, ten)]
    assert context[0].memory.at(context[0].amounts) == pytest.approx(1 << 30)
    known = work_of(CONTEXT, CONFIG).memory
    for stage in (CONTEXT, TEACHER, SURROGATE, INDEX):
        assert not {Unit.WORDS, Unit.SENTENCES} & {*work_of(stage, CONFIG).memory}
    added = sum(
        value * (context[1].amounts[unit] - context[0].amounts[unit])
        for unit, value in known.items()
    )
    grown = context[1].memory.at(context[1].amounts) - context[0].memory.at(context[0].amounts)
    assert grown == pytest.approx(added)


def test_words_that_learn_stop_growing() -> None:
    """Beyond `context.bag.vocabulary` twice the text is twice the updates, and no more memory for
    words' vectors, while there are ever more different stems."""
    one, two = (sized(words).amounts(CONFIG) for words in (1e9, 2e9))
    most = CONFIG.context.bag.vocabulary
    assert most < one[Unit.STEMS] < two[Unit.STEMS], "premise"
    assert one[Unit.VECTORS] == two[Unit.VECTORS] == most
    assert two[Unit.UPDATES] == pytest.approx(2 * one[Unit.UPDATES], rel=1e-3)


def test_questions_and_a_card_stop_growing() -> None:
    """The check tries so many sentences, a Surrogate is judged by so many, and its card by so many:
    a hundred times the text is no more of any."""
    small, one, two = (sized(words).amounts(CONFIG) for words in (1e5, 1e9, 1e11))
    for unit in (Unit.TRIED, Unit.JUDGED, Unit.DRAWN):
        assert small[unit] < one[unit], "premise"
        assert one[unit] == pytest.approx(two[unit], rel=1e-3)
    for stage in (CHECK, SURROGATE):
        assert Unit.WORDS not in work_of(stage, CONFIG).time
    assert work_of(SURROGATE, CONFIG).counts


def test_machines_share_what_can_be_shared() -> None:
    """A tenth of the harvest each, and its fixed part; nothing else is faster."""
    alone, shared = planned(100.0), planned(100.0, machines=10)
    for one, stage in zip(alone.stages, shared.stages, strict=True):
        whole = one.seconds(1)
        if stage.stage == HARVEST.name:
            fixed = one.time.fixed
            assert stage.seconds(10) == pytest.approx(fixed + (whole - fixed) / 10)
        else:
            assert stage.seconds(10) == whole
    assert shared.seconds < alone.seconds


def test_a_plan_is_told_with_its_arithmetic() -> None:
    """A line for each stage, the totals, and what each unit costs; JSON has the same."""
    found = planned(2.5e5, machines=10)
    text = found.text()
    for said in ("100,000,000,000 words", "100,000,000 pairs", "harvest*", "2 µs \u00d7", "all"):
        assert said in text
    assert all(len(line) <= 80 for line in text.splitlines())
    stored = json.loads(json.dumps(found.as_dict()))
    assert [one["stage"] for one in stored["stages"]] == [one.stage for one in found.stages]
    assert stored["seconds"] == found.seconds
    assert stored["stages"][0]["amounts"]["words"] == 1e11


def test_capped_work_stops_growing() -> None:
    """A teacher reads so many sentences, whatever the corpus has; a table has so many rows."""
    small, large = (sized(words).amounts(CONFIG) for words in (1e6, 1e11))
    assert small[Unit.TAUGHT] < large[Unit.TAUGHT] == CONFIG.surrogate.sentences
    assert large[Unit.ROWS] == CONFIG.surrogate.vocabulary + sized(1e11).pieces


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"words": 0}, "words"),
        ({"pairs": 10**10}, "pairs"),
        ({"machines": 0}, "machines"),
        ({"words": 10, "documents": 10}, "both"),
    ],
)
def test_wrong_numbers_are_refused(given: dict[str, int], named: str, tiny_folder: Path) -> None:
    """Before anything is read."""
    with pytest.raises(InputError, match=named):
        plan(CONFIG.changed({"corpus": {"inputs": [str(tiny_folder)]}}, "test"), **given)


def test_what_a_run_would_refuse_is_refused(tiny_folder: Path) -> None:
    """No inputs; inputs that are not there; too little text."""
    with pytest.raises(ConfigError, match=r"corpus\.inputs"):
        plan(CONFIG)
    with pytest.raises(ConfigError, match="no such file"):
        plan(CONFIG.changed({"corpus": {"inputs": [str(tiny_folder / "none")]}}, "test"))
    with pytest.raises(InputError, match="at least"):
        plan(CONFIG.changed({"corpus": {"inputs": [str(tiny_folder)]}}, "test"))


@pytest.fixture
def small(tiny_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Config:
    """Settings that take seconds, of documents that are few, in two parts."""
    monkeypatch.setattr(probe, "FEWEST_DOCUMENTS", 10)
    monkeypatch.setattr(probe, "FEWEST_WORDS", 500)
    monkeypatch.setattr(probe, "PARTS", ((0.5, 0.05, 1), (0.5, 0.05, 2), (1.0, 0.1, 1)))
    settings: dict[str, Any] = tiny_settings(tiny_folder) | {"origin": {"method": "ensemble"}}
    return Config.parse(settings, "test")


def test_documents_are_drawn_by_chance(small: Config) -> None:
    """As many words as asked for, of any of the documents; the same ones for one seed."""
    all_of_them = draw(small, 10**9)
    assert len(all_of_them.texts) == 40
    assert all_of_them.whole == pytest.approx(all_of_them.words)
    some = draw(small, 1_000)
    assert 1_000 <= some.words < 1_200
    assert {*some.texts} < {*all_of_them.texts}
    assert draw(small, 1_000) == some
    assert draw(small.changed({"seed": 4}, "test"), 1_000).texts != some.texts
    assert some.whole == pytest.approx(all_of_them.words)


def test_a_probe_builds_every_stage(small: Config, tmp_path: Path) -> None:
    """Those of a run with these settings, and leaves nothing behind; the first part only warms
    up."""
    sample = draw(small, 10**9)
    found = probes(small, sample, pairs=True)
    assert len(found) == 2
    wanted = {stage.name for stage in needed(Run(tmp_path, small))} | {"harvest", "retrieve"}
    for part in found:
        assert {stage.name for stage in part.costs} == wanted
        assert all(cost.seconds > 0 and cost.disk > 0 for cost in part.costs.values())
        assert all(cost.memory > 1 << 24 for cost in part.costs.values())
        assert part.counting.seconds > 0
        assert part.size.stems > 10
        assert part.size.whole > 10
        assert part.size.pieces > 10
    assert found[0].size.words < found[1].size.words < sample.words  # some are held out
    assert found[1].size.pairs == found[1].config.harvest.pairs
    assert not list(tmp_path.iterdir())
    whole = predict(small, found, 10.0, 10**6, 4)
    assert np.isfinite([whole.seconds, whole.disk, whole.memory]).all()
    assert SURROGATE.name in whole.text()


def test_a_probe_of_the_printed_method_asks_little(small: Config) -> None:
    """Few pairs in few contexts, however many a run has of them in a shard; the plan counts all."""
    printed = small.changed(
        {
            "origin": {"method": "paper"},
            "paper": {"contexts": 500, "shortlist": 1_000},
            "harvest": {"pairs": 60_000, "shard_pairs": 10_000},
        },
        "test",
    )
    found = probes(printed, draw(small, 10**9), pairs=True)
    for part, contexts in zip(found, (2, 3), strict=True):
        assert part.size.pairs == 30
        assert (part.config.paper.contexts, part.config.paper.shortlist) == (contexts, 2 * contexts)
        assert part.size.amounts(part.config)[Unit.FITS] == 2 * 30 * 3 * contexts
    (harvest,) = (
        stage
        for stage in predict(printed, found, 1.0, 60_000, 1).stages
        if stage.stage == HARVEST.name
    )
    assert harvest.amounts[Unit.FITS] == 2 * 60_000 * 1_500
    assert harvest.time.each.keys() <= {Unit.FITS}


def test_the_command_takes_documents_or_a_configuration(
    small: Config, tiny_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both plan the same; JSON on the screen and in a file are the same; a file that is there stays
    without --force."""
    parts = [made_up(words) for words in (5e4, 1e5, 2e5, 4e5)]
    monkeypatch.setattr("firth.plan.plan.probes", lambda *_: parts)
    path, out = tmp_path / "run.yaml", tmp_path / "plan.json"
    path.write_text(f"corpus: {{inputs: ['{tiny_folder}']}}\n", encoding="utf-8")
    asked = ["--words", "1000000000", "--pairs", "1000000", "--machines", "4", "--quiet"]
    results = [
        CliRunner().invoke(app, ["plan", str(given), *asked, "--json", *more])
        for given, more in ((tiny_folder, ["--out", str(out)]), (path, []))
    ]
    assert [result.exit_code for result in results] == [0, 0], results
    one, two = (json.loads(result.stdout) for result in results)
    assert one == two == json.loads(out.read_text(encoding="utf-8"))
    assert one["machines"] == 4
    assert one["size"]["pairs"] == 1_000_000
    told = CliRunner().invoke(app, ["plan", str(path), *asked])
    assert "How that comes about" in told.stdout
    again = CliRunner().invoke(app, ["plan", str(path), *asked, "--out", str(out)])
    assert isinstance(again.exception, InputError)
    assert "--force" in str(again.exception)

"""The demo's parts: its texts, its configuration, what it shows of a finished run."""

import json
import re
import shutil
from pathlib import Path

import pytest

from firth.demo.demo import Demo, demo_config
from firth.demo.preflight import REPORT
from firth.demo.texts import collect_texts, write_example
from firth.evaluate import EVALUATION
from firth.index import INDEX
from firth.pipeline import bring_up_to_date
from firth.report.gather import Asked, gather_report
from firth.report.page import write_page
from firth.run.config import Config
from firth.run.run import CONFIG, Run
from firth.surrogate import SURROGATE, TEACHER

PAIRS = (("The ship reached the harbour.", "The sailor found the <b>island</b>."),) * 2


@pytest.fixture(scope="module")
def evaluated(tiny_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The tiny run with the default Origin, its Surrogate, and an evaluation on the rated texts
    that gensim ships."""
    path = Path(shutil.copytree(tiny_run, tmp_path_factory.mktemp("demo") / "run"))
    config = Config.load(path / CONFIG)
    changes = {"evaluate": {"tasks": ["lee"]}, "origin": {"method": "ensemble"}}
    run = Run.create(path, config.changed(changes, "test"))
    assert not bring_up_to_date(run, TEACHER, SURROGATE, INDEX, EVALUATION)["evaluation"].reused
    return run


def test_texts_are_prose_and_the_same_each_time(tmp_path: Path) -> None:
    """Documents of installed packages as JSON lines, without markup, byte-identical twice."""
    one = collect_texts(tmp_path / "one", 0.02)
    two = collect_texts(tmp_path / "two", 0.02)
    assert [Path(p).name for p in one] == [Path(p).name for p in two]
    assert len(one) >= 2
    for first, second in zip(one, two, strict=True):
        assert Path(first).read_bytes() == Path(second).read_bytes()
        records = [json.loads(line) for line in Path(first).read_text("utf-8").splitlines()]
        assert records
        for record in records:
            assert len(record["text"].split()) > 20
            assert "'''" not in record["text"]
            assert "[[" not in record["text"]


def test_the_texts_that_firth_carries_are_speeches(tmp_path: Path) -> None:
    """Nothing else is needed: each has a name, a title, a date and prose, no editor's remark."""
    assert write_example(tmp_path / "new" / "speeches.jsonl") == 29
    lines = (tmp_path / "new" / "speeches.jsonl").read_text("utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    assert len({record["id"] for record in records}) == len(records) == 29
    for record in records:
        assert record["title"].endswith(record["date"][:4])
        assert len(record["text"].split()) > 3_000
        assert not re.search(r"[\[\]]|laughter\)", record["text"])


def test_a_reduced_demo_is_a_valid_one() -> None:
    """Any size gives a configuration that holds together."""
    for size in (0.01, 0.1, 1.0):
        config = demo_config(["texts"], size, seed=5, data_dir=None)
        assert config.seed == 5
    smaller = demo_config(["texts"], 0.1, None, None).surrogate.sentences
    assert 0 < smaller < config.surrogate.sentences


def test_stsb_is_added_where_it_is_offered(tmp_path: Path) -> None:
    """`--data-dir` with STSb in it adds the task."""
    sets = tmp_path / "STSb"
    sets.mkdir()
    header = "sentence1\tsentence2\tscore\tsubtask\tsplit\n"
    (sets / "pairs.tsv").write_text(header + "A ship.\tA boat.\t3.0\ttoy\tdev\n" * 3)
    with_it = demo_config(["texts"], 1.0, None, tmp_path)
    assert with_it.evaluate.tasks == ("lee", "sts-b:dev")


def test_the_evaluation_compares_all_systems_on_the_same_pairs(evaluated: Run) -> None:
    """Dice, tf-idf, Origin and Surrogate, each with an interval, on as many pairs."""
    results = json.loads((evaluated.path / "evaluation" / "results.json").read_text())
    names = [model["spec"] for model in results["models"]]
    assert names == ["Dice", "tf-idf", "Origin", "Surrogate"]
    sizes = {result["n"] for result in results["results"]}
    assert sizes == {1225}
    assert bring_up_to_date(evaluated, EVALUATION)["evaluation"].reused


def test_the_report_shows_everything_and_escapes_it(evaluated: Run) -> None:
    """Pairs, contexts, results, table and plots are in one page without outside resources."""
    report = gather_report(evaluated, "demo", "", Asked(PAIRS, (0,), ("Where is the ship?",)))
    path = evaluated.path / REPORT
    write_page(path, report)
    page = path.read_text(encoding="utf-8")
    assert "<b>island</b>" not in page
    assert "&lt;b&gt;island&lt;/b&gt;" in page
    assert page.count("<svg") == len(report.curves) + 2
    for outside in ("<script", "src=", "@import", "url(http"):
        assert outside not in page
    assert [each.query for each in report.searches] == ["Where is the ship?"]
    assert [each.n for each in report.beside] == [1225]
    first = path.read_bytes()
    write_page(path, report)
    assert path.read_bytes() == first

    shown = Demo(report, path, "TABLE").text()
    for part in ("Why: ", "Where is the ship?", "TABLE", str(path)):
        assert part in shown

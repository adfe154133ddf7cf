"""Tables 5, 6, 8 and §5.4 on tiny models: rows are what Origin gives, terms are computed once."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from firth.cli.main import app
from firth.corpus.corpus import Corpus
from firth.origin.origin import Origin
from firth.paper.origin import PaperOrigin
from firth.paper.settings import Weights
from firth.reproduce import context_fits as module
from firth.reproduce.ablation import rated_pairs
from firth.reproduce.options import Options, all_ones
from firth.reproduce.published import SUN_TABLE5, SUN_TABLE6, SUN_TABLE8
from firth.reproduce.registry import reproduce
from firth.reproduce.report import Report
from firth.run.errors import ConfigError, InputError, MissingStageError
from firth.run.run import CONFIG, Run

from .conftest import request_of

FILES = {"results.json", "table.md", "plot.png", "plot.svg", "manifest.json"}


def cells(report: Report, row: str) -> tuple[float | None, ...]:
    (found,) = (one.cells for one in report.rows if one.name == row)
    return found


def literal(run: Run, data: Path, contexts: int, shortlist: int, **changes: Any) -> float | None:
    """Spearman of the paper's Origin, by Origin itself."""
    settings: dict[str, Any] = {
        "contexts": contexts, "shortlist": shortlist, "selection": "two-step", "diverse": True,
        "max_jaccard": 0.5, "weights": all_ones().model_dump(), "pmi": False,
        "measure": "cosine",
    }  # fmt: skip
    rated = rated_pairs(request_of(run, data))
    origin = PaperOrigin.open(run, **{**settings, **changes})
    return rated.spearman(origin.similarities(rated.pairs)).value


def no_more_work(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("terms were computed again")

    monkeypatch.setattr(module, "open_fitter", refuse)


def test_one_computation_serves_three_experiments(
    whole_run: Run, stsb: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Table 6 equals runs of each size; Table 8 and §5.4 then compute no two-step terms again."""
    run, before = whole_run.path, (whole_run.path / CONFIG).read_bytes()
    options = Options(sizes=("2", "3", "5"), shortlist=9)
    sizes = reproduce("table6", run, stsb, options=options)
    for size in (2, 3, 5):
        own = literal(whole_run, stsb, size, 9)
        assert cells(sizes, str(size))[0] == pytest.approx(own, abs=1e-6)
    assert cells(sizes, "500") == (None, None, None, None, SUN_TABLE6[500])
    assert {path.name for path in (run / "reproduce" / "table6").iterdir()} == FILES
    stored = json.loads((run / "reproduce" / "table6" / "results.json").read_text())
    assert stored["details"]["intervals"]["5 cosine"][3] == 24
    assert set(stored["details"]["differences"]) == {"3 minus 2", "5 minus 3"}

    fixed = Options(contexts=5, shortlist=9)
    real = module.open_fitter
    opened = []

    def counted(*arguments: Any) -> Any:
        opened.append(arguments[2].value)
        return real(*arguments)

    monkeypatch.setattr(module, "open_fitter", counted)
    terms = reproduce("table8", run, stsb, options=fixed)
    assert opened == []
    built = reproduce("context-construction", run, stsb, options=fixed)
    assert opened == ["random"], "only random contexts need terms of their own"

    assert cells(terms, "Full")[0] == cells(sizes, "5")[0] == cells(built, "two-step")[0]
    for row, change in (
        ("w/o left-context", {"weights": {**all_ones().model_dump(), "left": 0}}),
        ("sentence alone", {"weights": {"coherence": 0, "sentence": 1, "left": 0, "right": 0}}),
    ):
        assert cells(terms, row)[0] == pytest.approx(
            literal(whole_run, stsb, 5, 9, **change), abs=1e-6
        )
    assert cells(terms, "w/o both contexts")[-2] == SUN_TABLE8["w/o both contexts"]
    assert cells(built, "without diversity")[0] == pytest.approx(
        literal(whole_run, stsb, 5, 9, diverse=False), abs=1e-6
    )
    assert cells(built, "random")[0] == pytest.approx(
        literal(whole_run, stsb, 5, 5, selection="random"), abs=1e-6
    )
    rated = rated_pairs(request_of(whole_run, stsb))
    origin = PaperOrigin.open(whole_run, contexts=9, shortlist=9, diverse=False)
    sets = [[set(origin.context_set(s).positions.tolist()) for s in pair] for pair in rated.pairs]
    shared = np.array([len(one & two) / min(len(one), len(two)) for one, two in sets])
    assert 0 < shared.min() + shared.std() < 1
    assert cells(built, "shared contexts alone")[0] == rated.spearman(shared).value
    two_step, random, ahead = (
        cells(built, "two-step")[0], cells(built, "random")[0], cells(built, "random")[3]
    )  # fmt: skip
    assert two_step is not None
    assert random is not None
    assert ahead == pytest.approx(two_step - random)

    no_more_work(monkeypatch)
    files = {p.name: p.read_bytes() for p in (run / "reproduce" / "table8").iterdir()}
    reproduce("table8", run, stsb, options=fixed)
    assert files == {p.name: p.read_bytes() for p in (run / "reproduce" / "table8").iterdir()}
    assert (run / CONFIG).read_bytes() == before


def test_lambdas(whole_run: Run, stsb: Path) -> None:
    """Given λ are used; a term of λ = 0 cannot be left out; `run` takes those of the run."""
    run, some = whole_run.path, {"pairs": 10, "contexts": 2, "shortlist": 4}
    report = reproduce("table8", run, stsb, options=Options(lambdas="0,1,0,0", **some))  # type: ignore[arg-type]
    names = [row.name for row in report.rows]
    assert "w/o discriminative" not in names
    assert "w/o both contexts" not in names
    assert cells(report, "Full")[0] == cells(report, "sentence alone")[0]
    own = reproduce("table8", run, stsb, options=Options(lambdas="run", **some))  # type: ignore[arg-type]
    expected = Weights(coherence=0.1, left=2.0).model_dump()
    assert own.details["lambdas"] == whole_run.config.paper.weights.model_dump() == expected


def test_a_language_model_in_the_place_of_the_generator(
    whole_run: Run, stsb: Path, tiny_llm: Path
) -> None:
    """`--model` scores with it, and leaves the generator of the run as it is."""
    run = whole_run.path
    before = (run / "generator" / "manifest.json").read_bytes()
    options = Options(pairs=10, sizes=("2", "3"), model=str(tiny_llm))
    other = reproduce("table6", run, stsb, options=options)
    assert (run / "generator" / "manifest.json").read_bytes() == before
    own = reproduce("table6", run, stsb, options=Options(pairs=10, sizes=("2", "3")))
    assert other.details["stages"]["generator"] != own.details["stages"]["generator"]
    assert other.details["stages"]["coherence"] == own.details["stages"]["coherence"]
    assert other.details["fits"] != own.details["fits"]
    assert "causal-lm" in " ".join(other.notes)
    (run / "generator" / "manifest.json").unlink()
    reproduce("table6", run, stsb, options=options)
    with pytest.raises(MissingStageError, match="firth train generator"):
        reproduce("table6", run, stsb, options=Options(pairs=10, sizes=("2", "3")))


def test_table5(whole_run: Run, stsb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each part is a run of its own over documents of the larger ones; the whole is the run."""
    options = Options(pairs=10, sizes=("100%", "40%", "60%"), contexts=2, shortlist=4)
    whole_run.changed({"origin": {"method": "ensemble"}}).save()  # the default
    report = reproduce("table5", whole_run.path, stsb, options=options)
    names = [row.name for row in report.rows]
    assert names[3 : 3 + len(SUN_TABLE5)] == [f"{tokens:,} tokens" for tokens in SUN_TABLE5]
    parts = {}
    for label in ("40pct", "60pct"):
        part = Run.open(whole_run.path / "reproduce" / "table5" / label)
        corpus = Corpus.open(part)
        parts[label] = {corpus.document_id(d) for d in range(corpus.n_documents)}
        opened = Origin.open(part, contexts=2, shortlist=4)  # needs no stage that was not built
        assert opened.similarity("A ship.", "A cow.") <= 1
        assert part.config.run == str(part.path)
    whole = Corpus.open(whole_run)
    total = int(whole.word_counts.sum())
    assert (
        parts["40pct"] < parts["60pct"] < {whole.document_id(d) for d in range(whole.n_documents)}
    )
    sizes = report.details["sizes"]
    assert 0.4 * total <= sizes["40pct"]["words"] < 0.6 * total
    assert sizes["100pct"]["words"] == total
    assert sizes["100pct"]["stages"]["generator"] != sizes["40pct"]["stages"]["generator"]
    assert not (whole_run.path / "reproduce" / "table5" / "100pct").exists()

    no_more_work(monkeypatch)
    again = reproduce("table5", whole_run.path, stsb, options=options)
    assert again.rows == report.rows


def test_what_cannot_be_varied(whole_run: Run, stsb: Path) -> None:
    """Sizes out of range are refused before anything is computed, all of them at once."""
    run = whole_run.path
    with pytest.raises(ConfigError, match="below the largest size 8"):
        reproduce("table6", run, stsb, options=Options(sizes=("8",), shortlist=4))
    with pytest.raises(ConfigError, match="expected numbers"):
        reproduce("table6", run, stsb, options=Options(sizes=("10%",)))
    with pytest.raises(ConfigError, match="below --contexts 8"):
        reproduce("table8", run, stsb, options=Options(contexts=8, shortlist=4))
    with pytest.raises(ConfigError) as caught:
        reproduce("table5", run, stsb, options=Options(sizes=("1M", "2M", "10%")))
    assert len(caught.value.problems) == 2
    with pytest.raises(InputError, match=r"no split .validation"):
        reproduce("table8", run, stsb, options=Options(split="validation"))
    assert not (run / "reproduce").exists()


def test_the_command(whole_run: Run, stsb: Path) -> None:
    """Options reach the experiment; a wrong one is refused and changes nothing in the run."""
    before = (whole_run.path / CONFIG).read_bytes()
    start = ["reproduce", "table6", "--run", str(whole_run.path), "--data-dir", str(stsb), "-q"]
    options = ["--sizes", "2, 3", "--pairs", "10", "--shortlist", "4", "--split", "dev"]
    result = CliRunner().invoke(app, [*start, *options, "--lambdas", "1,0,1,1"])
    assert result.exit_code == 0, (result.output, result.exception)
    assert "10 random pairs of the 12 pairs of STSb dev" in result.output
    assert "λ = 1, 0, 1, 1" in " ".join(result.output.split())
    assert [line.split()[0] for line in result.output.splitlines()[4:7]] == [
        "2",
        "3",
        "20",
    ]
    for wrong in (["--sizes", "2", "--contexts", "4"], ["--sizes", ","], ["--lambdas", "1"]):
        refused = CliRunner().invoke(app, [*start, *wrong, "--set", "paper.contexts=7"])
        assert isinstance(refused.exception, ConfigError), wrong
    assert (whole_run.path / CONFIG).read_bytes() == before

"""The report of any run: parts by what it has, the same each time, nothing replaced."""

import json
import shutil
from pathlib import Path

import pytest

from firth.corpus import CORPUS
from firth.index import INDEX
from firth.report.report import write_report
from firth.run.config import Config
from firth.run.errors import InputError, MissingStageError
from firth.run.run import Run
from firth.search.search import By, Search


@pytest.fixture(scope="module")
def ensemble_run(tiny_run: Path) -> Run:
    """The tiny run, asked for its default Origin."""
    return Run.open(tiny_run).changed({"origin": {"method": "ensemble"}})


def only_corpus(tiny_run: Path, to: Path) -> Path:
    """A run that has read documents and done no more."""
    to.mkdir()
    shutil.copytree(tiny_run / CORPUS.name, to / CORPUS.name)
    shutil.copy(tiny_run / "config.yaml", to)
    return to


def test_two_reports_have_the_same_bytes(ensemble_run: Run, tmp_path: Path) -> None:
    """What is shown is drawn by the run's seed."""
    for name in ("a.html", "b.html"):
        write_report(ensemble_run, tmp_path / name)
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert page == (tmp_path / "b.html").read_text(encoding="utf-8")
    assert "<script" not in page
    write_report(ensemble_run, tmp_path / "c.html", seed=14)
    assert page != (tmp_path / "c.html").read_text(encoding="utf-8")


def test_either_way_of_searching_shows_what_the_other_has_not(
    ensemble_run: Run, tmp_path: Path
) -> None:
    """No hit by meaning is among the best by words, and the other way round; no query is a hit."""
    assert ensemble_run.has(INDEX)  # the premise
    found = write_report(ensemble_run, tmp_path / "a.html")
    assert found.searches
    search = Search.open(ensemble_run)
    for each in found.searches:
        words = search.search(each.query, top=each.depth, by=By.WORDS)
        assert not {hit.text for hit in each.hits} & {hit.text for hit in words if hit.words > 0}
        vectors = search.search(each.query, top=each.depth, by=By.VECTORS)
        assert not {hit.text for hit in each.words} & {hit.text for hit in vectors}
        assert each.query not in {hit.text for hit in (*each.hits, *each.words)}


def test_reasons_are_introduced_as_what_they_are(
    ensemble_run: Run, tiny_run: Path, tmp_path: Path
) -> None:
    """Words meet where Origin compares words; contexts of the printed method sum to nothing."""
    pages = []
    for name, run in (("a.html", ensemble_run), ("b.html", Run.open(tiny_run))):
        assert write_report(run, tmp_path / name).explanations
        pages.append((tmp_path / name).read_text(encoding="utf-8"))
    assert [("words meet" in page, "do not\nsum" in page) for page in pages] == [
        (True, False),
        (False, True),
    ]


def test_a_corpus_alone_has_a_report(tiny_run: Path, tmp_path: Path) -> None:
    """Every part that is lacking is named with its command."""
    folder = only_corpus(tiny_run, tmp_path / "bare")
    found = write_report(folder, tmp_path / "a.html")
    assert found.facts["documents"] != "0"
    for part in (found.pairs, found.explanations, found.searches, found.levels):
        assert not part
    assert len(found.lacking) == 5
    assert all(command.startswith("firth ") for _, command in found.lacking)


def test_nothing_is_replaced_unasked(tiny_run: Path, tmp_path: Path) -> None:
    """A file that is there stays, unless `force` says otherwise."""
    folder, path = only_corpus(tiny_run, tmp_path / "bare"), tmp_path / "a.html"
    path.write_text("mine")
    with pytest.raises(InputError, match="--force"):
        write_report(folder, path)
    assert path.read_text() == "mine"
    write_report(folder, path, force=True)
    assert path.read_text().startswith("<!doctype html>")


def test_an_evaluation_is_drawn_and_anything_else_is_refused(
    tiny_run: Path, tmp_path: Path
) -> None:
    """The chart has the figures of whole sets; a file of another kind is named."""
    folder, given = only_corpus(tiny_run, tmp_path / "bare"), tmp_path / "results.json"
    row = {"model": "Mine", "task": "own", "subtask": "all", "split": "test", "n": 7}
    row |= {"metric": "spearman", "value": 61.25, "low": 58.0, "high": 64.0}
    given.write_text(json.dumps({"results": [row, row | {"subtask": "part"}], "notes": ["Few."]}))
    found = write_report(folder, tmp_path / "a.html", evaluation=given)
    assert (len(found.results), [*found.remarks], len(found.lacking)) == (1, ["Few."], 4)
    for other in ('{"results": [{}]}', '{"results": 3}', "[]", "{}"):
        given.write_text(other)
        with pytest.raises(InputError, match="no results of an evaluation"):
            write_report(folder, tmp_path / "b.html", evaluation=given)


def test_a_run_without_a_corpus_has_none(tmp_path: Path) -> None:
    """There is nothing to tell."""
    with pytest.raises(MissingStageError, match="corpus"):
        write_report(Run(tmp_path / "new", Config()), tmp_path / "a.html")

"""Which documents are searched: conditions on fields, and as many hits as there are."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from firth.cli.main import app
from firth.corpus.corpus import Corpus
from firth.corpus.library import Library
from firth.index.build import build_index
from firth.run.errors import InputError
from firth.run.run import Run
from firth.search.among import Among, Condition, matches
from firth.search.search import By, Search

AUTHORS = ("Ann", "Bo", "Cy [ed.]")


@pytest.fixture(scope="module")
def run(tiny_static: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """120 documents of two sentences; the first kind is one in sixty."""
    folder = tmp_path_factory.mktemp("fields")
    nouns = ("ship", "harbour", "wave", "sailor", "storm")
    with (folder / "a.jsonl").open("w") as file:
        for n in range(120):
            text = f"The {nouns[n % 5]} saw the {nouns[n % 3]}. Then the tide came to place{n}."
            row = {
                "id": f"d{n}",
                "text": text,
                "author": AUTHORS[n % 3] if n % 12 != 11 else None,
                "stars": n % 10,
                "kind": "news" if n % 60 == 7 else "wiki",
                "date": f"{2015 + n % 10}-05-{1 + n % 28:02}",
                "title": "Even" if n % 2 == 0 else None,
            }
            file.write(json.dumps(row) + "\n")
    Corpus.build(folder / "a.jsonl", folder / "run", fields=("author", "stars", "kind"))
    opened = Run.open(folder / "run").changed({"index": {"model": str(tiny_static)}})
    build_index(opened)
    return opened


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (["kind=news"], lambda n: n % 60 == 7),
        (["kind=n*"], lambda n: n % 60 == 7),
        (["kind!=wiki"], lambda n: n % 60 == 7),
        (["author=Ann", "author=Bo"], lambda n: n % 3 < 2),
        (["author = Cy [ed.]"], lambda n: n % 3 == 2 and n % 12 != 11),
        (["author!=*"], lambda n: n % 12 == 11),
        (["author!=Ann", "author!=Bo"], lambda n: n % 3 == 2),
        (["stars>=9"], lambda n: n % 10 == 9),
        (["stars=9.0"], lambda n: n % 10 == 9),
        (["stars<10", "stars>7.5"], lambda n: n % 10 >= 8),
        (["author>Ann"], lambda n: n % 3 and n % 12 != 11),
        (["date>=2022"], lambda n: n % 10 >= 7),
        (["date<=2016"], lambda n: n % 10 <= 1),
        (["date>2016", "date<2018-05-02"], lambda n: n % 10 == 2 or (n % 10 == 3 and n % 28 == 0)),
        (["date=2020"], lambda n: n % 10 == 5),
        (["date!=2020-05"], lambda n: n % 10 != 5),
        (["date=*-05-01"], lambda n: n % 28 == 0),
        (["title=Even"], lambda n: n % 2 == 0),
        (["title!=Even", "id=d1?"], lambda n: n % 2 and 10 <= n < 20),
        (["id=d3", "id=d5", "stars=3"], lambda n: n == 3),
    ],
)  # fmt: skip
def test_conditions_choose_documents(run: Run, where: list[str], expected: object) -> None:
    """Exactly those of which all conditions hold; what one field is to be, one of several."""
    library = Library.open(run)
    chosen = Among(where=tuple(where)).chosen(library)
    numbers = {int(library.document_id(d)[1:]) for d in np.flatnonzero(chosen).tolist()}
    assert callable(expected)
    assert numbers == {n for n in range(120) if expected(n)}
    assert 0 < len(numbers) < 120  # the premise


@pytest.mark.parametrize("by", [*By])
@pytest.mark.parametrize("documents", [False, True])
def test_hits_are_as_many_as_there_are(run: Run, by: By, documents: bool) -> None:
    """However few documents are left, and wherever they stand in the order of all: those of all,
    the others left out."""
    search = Search.open(run)
    every = search.search("the tide and the storm", top=240, by=by, documents=documents)
    for where in ("kind=news", "author=Bo", "date>=2020"):
        among = Among(where=(where,))
        hits = search.search("the tide and the storm", top=6, by=by, documents=documents,
                             among=among)  # fmt: skip
        known = {search.index.library.document_id(int(d)) for d in
                 np.flatnonzero(among.chosen(search.index.library))}  # fmt: skip
        inside = [hit for hit in every if hit.document in known]
        assert [hit.score for hit in hits] == [hit.score for hit in inside[:6]]
        assert {hit.document for hit in hits} <= known
        assert len(hits) == min(6, len(inside)) > 1


def test_documents_that_all_speak_alike_are_all_found(run: Run) -> None:
    """As many documents as asked for, though others have more of the best sentences."""
    search = Search.open(run)
    few = search.search("the tide", top=100, documents=True)
    assert len({hit.document for hit in few}) == 100


def test_what_cannot_be_asked(run: Run) -> None:
    """No condition, a field that is not kept, no date, nothing that matches."""
    search = Search.open(run)
    for where, said in (
        ("stars", "expected FIELD=VALUE"),
        ("=3", "expected FIELD=VALUE"),
        ("source=a", "kept are id, title, date, author, stars, kind"),
        ("date>May", "expected a date"),
        ("stars>10", "matches stars>10"),
    ):
        with pytest.raises(InputError, match=said):
            search.search("the tide", among=Among(where=(where,)))


def test_a_name_is_its_own_pattern(run: Run) -> None:
    """Only `*` and `?` stand for others."""
    assert matches("a[1]", "a[1]")
    assert matches("a[1].txt", "a[?].*")
    assert not matches("a1", "a[1]")
    assert not matches("ab", "a")


@given(field=st.text("abz_ .", min_size=1), value=st.text(max_size=8))
def test_conditions_are_read_as_written(field: str, value: str) -> None:
    """Whatever stands on either side, but for white space around it."""
    if not field.strip():
        return
    for relation in ("=", "!=", "<", "<=", ">", ">="):
        if value.strip()[:1] == "=":
            continue
        found = Condition.parse(f"{field}{relation}{value}")
        assert (found.field, found.relation.value) == (field.strip(), relation)
        assert found.value == value.strip()


def test_the_command(run: Run) -> None:
    """Conditions by the command line; hits say their fields."""
    command = ["search", str(run.path), "the tide", "--where", "kind=news", "--where", "stars>=7"]
    found = CliRunner().invoke(app, [*command, "--json", "-q"])
    assert found.exit_code == 0, found.output
    hits = json.loads(found.stdout)[0]["hits"]
    assert {hit["document"] for hit in hits} == {"d7", "d67"}
    assert hits[0]["fields"]["kind"] == ["news"]

"""`firth.run.code`: a stage is stale when anything that it can run has changed."""

import ast
from pathlib import Path

import pytest

from firth.corpus import ADDED, CORPUS
from firth.evaluate import EVALUATION
from firth.index import ADDED_INDEX
from firth.pipeline import STEPS
from firth.run import code
from firth.run.code import fingerprint_code, import_closure


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package `firth` of five modules; what was read of the real one is forgotten."""
    files = {
        "__init__.py": "",
        "a.py": "from firth.b import f\nfrom typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from firth.typed import T\n",
        "b.py": "def f():\n    import firth.late\n    from firth.inner import leaf\n",
        "late.py": "x = 1\n",
        "typed.py": "T = int\n",
        "inner/__init__.py": "",
        "inner/leaf.py": "import firth.a\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(code, "_ROOT", tmp_path)
    forget()
    return tmp_path


def forget() -> None:
    kept = (code._tree, code._path, code._imported, code._what_runs)
    for function in (*kept, import_closure, fingerprint_code):
        function.cache_clear()


@pytest.fixture(autouse=True)
def _forgotten() -> object:
    yield
    forget()


def test_the_closure_has_all_that_runs_and_nothing_else(house: Path) -> None:
    """Imports in functions count, circles end, and what only type checkers read is left out."""
    assert import_closure("firth.a") == {
        "firth", "firth.a", "firth.b", "firth.late", "firth.inner", "firth.inner.leaf",
    }  # fmt: skip
    assert (house / "typed.py").is_file()


@pytest.mark.parametrize(("module", "changes"), [("late", True), ("typed", False)])
def test_a_change_is_seen_where_it_can_run(house: Path, module: str, changes: bool) -> None:
    """The fingerprint follows the closure."""
    before = fingerprint_code("firth.a")
    (house / f"{module}.py").write_text("x = 2\n")
    forget()
    assert (fingerprint_code("firth.a") != before) is changes


def test_comments_and_docstrings_are_not_code() -> None:
    """The fingerprint sees what runs, and only that."""

    def dumped(source: str) -> str:
        return ast.dump(code._without_docstrings(ast.parse(source)))

    plain = "def f(x):\n    return x"
    assert dumped(plain) == dumped('"""Page."""\ndef f(x):\n    "Doc."\n    # why\n    return x')
    assert dumped(plain) != dumped("def f(x):\n    return x + 1")


def test_the_stages_know_what_they_run() -> None:
    """What the corpus and the harvest run is found, and what only shows is not followed."""
    forget()
    corpus, harvest = import_closure("firth.corpus.build"), import_closure("firth.harvest.harvest")
    assert {"firth.corpus.store", "firth.lexical.words", "firth.run.stage"} <= corpus
    assert {"firth.origin.ensemble", "firth.lexical.words", "firth.lexical.tfidf"} <= harvest
    assert not {"firth.run.progress", "firth.run.config", "firth.cli.main"} & (corpus | harvest)


def test_how_documents_are_read_is_no_code_of_what_reads_the_corpus() -> None:
    """A mended reader makes later stages stale only if the corpus becomes another one."""
    forget()
    reader = "firth.corpus.readers.json_lines"
    assert reader in import_closure("firth.corpus.build")
    follow = [step for step in STEPS if step.stage not in (CORPUS, ADDED)]
    ran = {step.stage.name for step in follow if reader in import_closure(step.module)}
    assert ran == {ADDED_INDEX.name, EVALUATION.name}

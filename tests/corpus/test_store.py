"""The store on disk: what it refuses, and filters."""

import json
import sqlite3
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.corpus.build import add_documents, build_corpus, remove_documents
from firth.corpus.corpus import Corpus
from firth.corpus.store import FILE, Store, StoreError, damage, parse_filter
from firth.run.errors import DamagedError, FirthError, InputError, MissingStageError
from firth.run.run import Run

from .conftest import built, contents, json_lines, run_of

RECORDS: list[dict[str, Any]] = [
    {"id": "a", "text": "One is here.", "date": "2019-12-31", "section": "news", "stars": 3},
    {"id": "b", "text": "Two is here.", "date": "2020-05-01T10:00", "section": ["news", "law"]},
    {"id": "c", "text": "Three is here.", "date": "2020-05-02", "section": "it's", "stars": 10},
    {"id": "d", "text": "Four is here.", "title": "The 'end'", "stars": "n/a"},
]
FIELDS = ("section", "stars", "no value")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    records = [*RECORDS[:3], {**RECORDS[3], "no value": "x"}]
    return built(tmp_path_factory.mktemp("store") / "run", records, fields=FIELDS)[0]


@pytest.mark.parametrize(
    ("condition", "ids"),
    [
        ("section = news", "ab"),
        ("section = 'news' and date >= 2020", "b"),
        ("date <= 2019 or date = 2020-05-02", "ac"),
        ("date > 2019", "bc"),
        ("date <= 2020", "abc"),
        ("date = '2020-05'", "bc"),
        ("not date = 2020", "ad"),
        ("date != 2020", "ad"),
        ("section != law", "acd"),
        ('section in (law, "it\'s")', "bc"),
        ("section = 'it''s'", "c"),
        ("stars >= 3", "acd"),  # "n/a" is no number: it is compared as text
        ("stars > 5", "cd"),
        ("stars > '5'", "d"),
        ("stars = 3", "a"),
        ("stars < 10", "a"),
        ("id like '?'", "abcd"),
        ("id in (a, d) and not (title like '*end*' or section = law)", "a"),
        ("id = a or id = b and id = c", "a"),
        ("(id = a or id = b) AND NOT id = b", "a"),
        ('"no value" = x', "d"),
        ("source = texts", "abcd"),
        ("title = \"The 'end'\"", "d"),
        ("section = 'x'' OR 1=1 --'", ""),
        ("section == news", "ab"),
        ("section <> news", "cd"),
    ],
)
def test_filters_choose_documents(corpus: Corpus, condition: str, ids: str) -> None:
    """By comparisons joined by and, or, not and parentheses; and binds closer than or."""
    chosen = corpus.documents_where(condition)
    assert "".join(corpus.document_ids()[d] for d in chosen) == ids


@pytest.mark.parametrize(
    "condition",
    ["", "section", "section =", "section = a b", "= news", "section = 'open", "(id = a", "id = a)",
     "date = May", "id = a and", "not", "id in a", "id in (a", "id ~ a", "and = a", "; DROP TABLE",
     " or ".join(["id = a"] * 2_000), "id = a; DROP TABLE documents", "1 = 1"],
)  # fmt: skip
def test_invalid_filters_are_refused(corpus: Corpus, condition: str) -> None:
    """With the filter in the message."""
    with pytest.raises(InputError, match="filter"):
        corpus.documents_where(condition)


def test_an_unknown_field_is_refused_with_the_kept_ones(corpus: Corpus) -> None:
    """A misspelt field would silently match nothing."""
    with pytest.raises(InputError, match=r"'autor' is not kept. Kept are id, title, .*section"):
        corpus.documents_where("autor = 'x'")


@given(st.text(max_size=30), st.text(max_size=20))
def test_any_value_is_only_a_value(text: str, value: str) -> None:
    """No text reaches SQL, whatever it is: it is a value, or refused."""
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE documents (id TEXT, title, date, source, fields TEXT)")
    row = (value, json.dumps({"kept": [value]}))
    database.execute("INSERT INTO documents VALUES (?, '', '', '', ?)", row)
    quoted = value.replace("'", "''")
    for condition in (f"id = '{quoted}'", f"kept = '{quoted}'", text):
        try:
            sql, values = parse_filter(condition, ["kept"])
        except InputError:
            assert condition == text
            continue
        if all(str(v).isprintable() for v in values):
            found = database.execute(f"SELECT id FROM documents WHERE {sql}", values).fetchall()
            assert condition == text or found == [(value,)]


def test_files_that_firth_did_not_write_are_refused(tmp_path: Path) -> None:
    """They stay as they are; so do stores of a later version, and links."""
    run = run_of(tmp_path / "run")
    path = run.path / FILE
    for content in (b"no database" * 100, b"x"):
        path.write_bytes(content)
        with pytest.raises(InputError, match="no database of firth"):
            build_corpus(run, ["One is here."])
        assert path.read_bytes() == content
    path.unlink()
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE theirs (x)")
    other.close()
    with pytest.raises(InputError, match="firth did not write it"):
        build_corpus(run, ["One is here."])
    path.unlink()
    build_corpus(run, ["One is here."])
    changed = sqlite3.connect(path)
    changed.execute("PRAGMA user_version = 999")
    changed.close()
    for call in (lambda: Corpus.open(run), lambda: build_corpus(run, ["Two is here."])):
        with pytest.raises(InputError, match=r"version 999, and .* reads \d.* Install the firth"):
            call()
    path.rename(tmp_path / "elsewhere.db")
    path.symlink_to(tmp_path / "elsewhere.db")
    with pytest.raises(InputError, match="a link"):
        Corpus.open(run)


def test_without_a_corpus_the_error_says_what_to_build(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run")
    for call in (lambda: Corpus.open(run), lambda: add_documents(run, ["One is here."])):
        with pytest.raises(MissingStageError, match="firth build DOCUMENTS --run"):
            call()
    assert not (run.path / FILE).exists()


def seen(run: Run) -> object:
    """Return what a user sees of a corpus; the message where that is an error of firth."""
    try:
        parts = [Corpus.open(run, "all"), Corpus.open(run, "learn")]
        with Store(run.path / FILE) as store:
            others = [store.problems(), store.problems(staged=True), store.staged(new=False)]
            gone = store.is_removed("gone"), *map(store.meta, ("request", "counts", "split"))
        documents = [[*map(corpus.document, range(corpus.n_documents))] for corpus in parts]
        texts = [[corpus.text(i) for i in range(len(corpus))] for corpus in parts]
        about = [(corpus.document_ids(), corpus.digest, corpus.fields) for corpus in parts]
        found = parts[0].documents_where("section = news and date >= 2020").tolist()
        return documents, texts, about, found, others, gone
    except FirthError as error:
        return str(error)


def test_each_changed_bit_that_a_user_sees_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In every table, what a killed call has staged included, and anywhere else in the file."""
    run = run_of(tmp_path / "run", fields=("section",))
    long = {"id": "long", "text": f"It rained {'and rained ' * 50}until dawn."}
    build_corpus(run, [*RECORDS, long, {"id": "gone", "text": "It goes."}, {"text": "", "id": "!"}])
    remove_documents(run, ["gone"])
    with monkeypatch.context() as patch:
        patch.setattr(Store, "finish", lambda *_, **__: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            add_documents(run, [{"id": "staged", "text": "It is staged."}])
    path = run.path / FILE
    content, expected, rng = path.read_bytes(), seen(run), Random(1)
    marks = {"documents": b"it's", "texts": b"Three is here", "long": b"until dawn",
             "incoming": b"staged", "meta": b"lim", "removed": b"gone",
             "problems": b"empty text", "schema": b"TABLE removed"}  # fmt: skip
    places = [content.index(mark) + 1 for mark in marks.values()]
    places += rng.sample([place for place, byte in enumerate(content) if byte], 120)
    counts = Counter[str]()
    for number, place in enumerate(places):
        changed = bytearray(content)
        changed[place] ^= 1 << rng.randrange(5)
        path.write_bytes(changed)
        found, is_other = damage(path), seen(run) != expected
        assert found or not is_other, place
        assert found or number >= len(marks), place
        counts["other"] += is_other
    assert counts["other"] > 40, "the premise"


def test_a_changed_document_is_named_and_read_again(tmp_path: Path) -> None:
    """By whoever fetches its text, and by `damage`; the next build reads it again."""
    run, inputs = run_of(tmp_path / "run"), tmp_path / "documents.jsonl"
    inputs.write_bytes(json_lines(RECORDS))
    build_corpus(run, inputs)
    add_documents(run, [{"id": "added", "text": "Five came later."}])
    before, path = contents(run), run.path / FILE
    for old, new, id in ((b"Three is", b"Tiree is", "c"), (b"Five", b"Dive", "added")):
        path.write_bytes(path.read_bytes().replace(old, new))
        assert damage(path) == [f"document {id!r} is not as it was written"]
        with pytest.raises(DamagedError, match=rf"document '{id}' .*: firth build --run .* add"):
            contents(run)
        build_corpus(run, inputs)
        if damage(path):
            add_documents(run, [{"id": "added", "text": "Five came later."}])
        assert contents(run) == before
        assert damage(path) == []


def test_a_database_in_use_is_an_error_of_firth(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("firth.corpus.store._PATIENCE", 0.1)
    run = run_of(tmp_path / "run")
    build_corpus(run, ["One is here."])
    with Store(run.path / FILE) as store, store.transaction():
        store.database.execute("DELETE FROM meta")
        with (
            Store(run.path / FILE) as other,
            pytest.raises(StoreError, match="locked"),
            other.transaction(),
        ):
            pass
        raised = pytest.raises(ZeroDivisionError)
    with raised, Store(run.path / FILE) as store, store.transaction():
        store.database.execute("DELETE FROM meta")
        raise ZeroDivisionError
    assert Run.open(run).path == run.path
    with pytest.raises(DamagedError, match="nothing"), Store(run.path / FILE) as store:
        store.database.execute("SELECT * FROM nothing")


def test_a_removed_text_is_not_left_in_the_file(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run")
    build_corpus(run, [{"id": "x", "text": "The secretword is here."}, "Another text is here."])
    assert b"secretword" in (run.path / FILE).read_bytes()
    remove_documents(run, ["x"])
    assert b"secretword" not in (run.path / FILE).read_bytes()

"""Build, add and remove: the store follows the inputs, and says what was lost."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.corpus import build as module
from firth.corpus.build import HELD_OUT, add_documents, build_corpus, part_of, remove_documents
from firth.corpus.corpus import Corpus
from firth.corpus.store import FILE, damage
from firth.run.errors import InputError
from firth.run.executor import Processes
from firth.run.run import Run
from firth.text.sentences import split_paragraphs

from .conftest import built, contents, json_lines, keys_of, run_of


def records(*pairs: tuple[str, str]) -> list[dict[str, Any]]:
    return [{"id": id, "text": text} for id, text in pairs]


def text(n: int) -> str:
    """Return a text of three sentences like no other."""
    return f"Text {n} begins here. It goes on with {n * 7919}.\n\nIt ends in line {n}."


def write(path: Path, rows: list[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(json_lines(rows))
    return path


STATES = st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 8), min_size=1)


@settings(max_examples=8)
@given(states=st.lists(STATES, min_size=2, max_size=3))
def test_the_store_follows_its_inputs(
    states: list[dict[str, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """After any builds it holds what a new build of the last inputs holds, but for the order; a
    document that has not changed keeps its key."""
    folder = tmp_path_factory.mktemp("follow")
    run = run_of(folder / "run")
    before: dict[str, tuple[int, str]] = {}
    for state in states:
        rows = records(*((id, text(n)) for id, n in state.items()))
        summary = build_corpus(run, write(folder / "a.jsonl", rows))
        new = run_of(folder / f"new-{len(before)}-{id(state)}")
        expected = build_corpus(new, folder / "a.jsonl")
        assert contents(run) == contents(new)
        assert summary.documents == expected.documents == expected.added
        assert (summary.sentences, summary.words) == (expected.sentences, expected.words)
        now = keys_of(run)
        kept = {id for id in now if before.get(id) == (now[id], text(state[id]))}
        unchanged = {id for id in now if id in before and before[id][1] == text(state[id])}
        assert kept == unchanged
        assert summary.replaced == len(set(before) & set(now) - kept)
        assert summary.removed == len(set(before) - set(now))
        assert len({*now.values()} | {key for key, _ in before.values()}) == len(
            set(now) | set(before)
        ) + len(set(before) & set(now) - kept)
        before = {id: (key, text(state[id])) for id, key in now.items()}
    assert "(unchanged)" in build_corpus(run, folder / "a.jsonl").text()


def test_an_unchanged_build_reads_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are compared by their bytes; the summary is that of the build."""
    path = write(tmp_path / "a.jsonl", [{"text": text(n)} for n in range(5)] + [{"no": 1}])
    run = run_of(tmp_path / "run")
    first = build_corpus(run, path)
    digest = Corpus.open(run).digest
    monkeypatch.setattr(module, "read_given", None)
    again = build_corpus(Run.open(run.path), path)
    assert "(unchanged)" in again.text()
    assert replace(first, added=0) == again
    assert again.skipped == {"missing field": 1}
    assert Corpus.open(run).digest == digest


def test_an_unchanged_document_is_not_split_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the new one is, and lines before it do not make others new; its place is updated."""
    run, path = run_of(tmp_path / "run"), tmp_path / "a.jsonl"
    rows = records(*((f"d{n}", text(n)) for n in range(5)))
    build_corpus(run, write(path, rows))
    keys = Corpus.open(run).keys.tolist()
    seen: list[str] = []

    def counted(given: str, language: str) -> list[list[str]]:
        seen.append(given)
        return split_paragraphs(given, language)

    monkeypatch.setattr(module, "split_paragraphs", counted)
    summary = build_corpus(run, write(path, [*records(("new", text(9))), *rows]))
    assert seen == [text(9)]
    assert (summary.added, summary.replaced, summary.removed) == (1, 0, 0)
    corpus = Corpus.open(run)
    assert corpus.keys.tolist()[:5] == keys
    assert (corpus.document(0).source, corpus.document(0).line) == ("a.jsonl", 2)


@pytest.mark.parametrize("change", [{"language": "de"}, {"fields": ("n",)}, {"min_words": 4}])
def test_settings_that_decide_the_content_make_it_stale(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    path = write(tmp_path / "a.jsonl", [{"text": text(n), "n": n} for n in range(3)])
    run = run_of(tmp_path / "run")
    build_corpus(run, path)
    digest = Corpus.open(run).digest
    build_corpus(run.changed({"corpus": change}), path)
    assert Corpus.open(run).digest != digest
    assert Run.open(run.path).settings.corpus.model_dump(include=set(change)) == change
    build_corpus(run, path)
    assert Corpus.open(run).digest == digest


def test_the_content_does_not_depend_on_the_executor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor on the sizes of shards and transactions: the same keys and digest."""
    path = write(tmp_path / "a.jsonl", [{"text": text(n)} for n in range(60)] + ["x", {"a": 1}])
    one = run_of(tmp_path / "one")
    build_corpus(one, path)
    monkeypatch.setattr(module, "_SHARD", 200)
    monkeypatch.setattr(module, "_TRANSACTION", 500)
    two = run_of(tmp_path / "two")
    build_corpus(two, path, Processes(2))
    corpora = Corpus.open(one), Corpus.open(two)
    assert corpora[0].digest == corpora[1].digest
    assert corpora[0].keys.tolist() == corpora[1].keys.tolist()
    assert (one.path / "skipped.jsonl").read_bytes() == (two.path / "skipped.jsonl").read_bytes()


# --- Copies and ids ----------------------------------------------------------------------------


def test_documents_with_the_same_words_share_a_text(tmp_path: Path) -> None:
    """Whatever its case and punctuation: models see it once, and each keeps what is known of it."""
    rows = [
        {"id": "a", "text": "The cat sat.", "section": "x"},
        {"id": "b", "text": "the  CAT, sat", "section": "y", "title": "The seat"},
        {"id": "c", "text": "A dog sat.", "section": "x"},
    ]
    path = write(tmp_path / "a.jsonl", rows)
    corpus, summary = built(tmp_path / "run", path, fields=("section",))
    assert corpus.document_ids() == ["a", "c"]
    assert [corpus.texts([i]) for i in range(len(corpus))] == [["The cat sat."], ["A dog sat."]]
    assert (summary.documents, summary.copies, summary.sentences, summary.words) == (3, 1, 2, 6)
    assert "3 (3 added), 1 of them with the text of another, 2 sentences" in summary.text()
    assert (summary.skipped, summary.noted) == ({}, {})
    copy = corpus.documents_with_text(0)[1]
    assert (copy.id, copy.title, copy.line) == ("b", "The seat", 2)
    assert (corpus.number_of("b"), corpus.number_of("d")) == (0, None)
    assert corpus.documents_where("section = y").tolist() == [0]
    assert [each.id for each in corpus.documents_with_text(0, "section = y")] == ["b"]
    alone, _ = built(tmp_path / "alone", write(path, [rows[0], rows[2]]), fields=("section",))
    assert alone.digest != corpus.digest
    learned = [Corpus.open(each.path, "learn").digest for each in (alone, corpus)]
    assert learned[0] == learned[1]


def test_a_copy_takes_the_place_of_the_first_one(tmp_path: Path) -> None:
    """Where that is removed or replaced, without a build; in its part, known to the same models."""
    rows = [(f"{c}{n}", f"{text(n)}{'!' * (c == 'b')}") for n in range(40) for c in "ab"]
    run = run_of(tmp_path / "run", held_out_fraction=0.2)
    build_corpus(run, [write(tmp_path / "a.jsonl", records(*rows))])
    learn, held_out = parts(run)
    assert all(id[0] == "a" for id in learn | held_out)
    assert held_out
    least = run_of(tmp_path / "least", held_out_fraction=1e-6)
    build_corpus(least, records(*rows))
    assert len(parts(least)[1]) == 5  # one in eight texts
    remove_documents(run, sorted(held_out))
    add_documents(run, records(*((id, f"Now {id} has other words.") for id in learn)))
    now = parts(run)
    assert {id.replace("a", "b") for id in held_out} == now[1]
    assert {id.replace("a", "b") for id in learn} | learn == now[0]
    assert damage(run.path / FILE) == []


def test_two_texts_of_one_id_both_stay(tmp_path: Path) -> None:
    """The second is called by its place, and noted; so it is in the next build, too."""
    rows = records(("a", "The cat sat."), ("a", "A dog sat."), ("a", "The cat sat."))
    path = write(tmp_path / "a.jsonl", rows)
    run = run_of(tmp_path / "run")
    summary = build_corpus(run, path)
    assert contents(run) == {"a": ["The cat sat."], "a.jsonl:2": ["A dog sat."]}
    assert summary.noted == {"repeated id": 1, "duplicate": 1}
    keys = Corpus.open(run).keys.tolist()
    write(path, [*rows, *records(("new", "It rained."))])
    summary = build_corpus(run, path)
    assert (summary.added, summary.replaced, summary.removed) == (1, 0, 0)
    assert Corpus.open(run).keys.tolist()[:2] == keys
    write(path, records(("a", "Something else."), *((r["id"], r["text"]) for r in rows)))
    build_corpus(run, path)
    texts = {sentence for sentences in contents(run).values() for sentence in sentences}
    assert texts == {"A dog sat.", "Something else.", "The cat sat."}


# --- Add and remove ----------------------------------------------------------------------------


def test_add_replaces_and_remove_removes(tmp_path: Path) -> None:
    """By id; other documents keep their keys, and a key is never used again."""
    run = run_of(tmp_path / "run")
    build_corpus(run, records(("a", "The cat sat."), ("b", "A dog sat.")))
    keys = Corpus.open(run).keys.tolist()
    summary = add_documents(run, records(("b", "A cow sat."), ("c", "It rained.")))
    assert (summary.added, summary.replaced, summary.documents) == (1, 1, 3)
    assert contents(run) == {"a": ["The cat sat."], "b": ["A cow sat."], "c": ["It rained."]}
    assert "(unchanged)" in add_documents(run, records(("c", "It rained."))).text()
    removed = remove_documents(run, ["c", "a", "c"])
    assert (removed.removed, removed.documents) == (2, 1)
    assert "(unchanged)" in remove_documents(run, ["c"]).text()
    with pytest.raises(InputError, match="no document has the id 'x', 'y'; nothing was removed"):
        remove_documents(run, ["b", "x", "y"])
    assert contents(run) == {"b": ["A cow sat."]}
    add_documents(run, records(("c", "It rained.")))
    assert max(keys) < Corpus.open(run).keys.min() < Corpus.open(run).keys.max()
    assert Corpus.open(run).keys.max() > max(keys) + 2


def test_builds_keep_what_was_added_and_what_was_removed(tmp_path: Path) -> None:
    """A build removes only what its inputs lost, and brings back only what add brings back."""
    path = write(tmp_path / "a.jsonl", records(("a", text(1)), ("b", text(2)), ("c", text(3))))
    run = run_of(tmp_path / "run")
    build_corpus(run, path)
    add_documents(run, records(("x", text(4)), ("y", text(5))))
    remove_documents(run, ["b"])
    assert "(unchanged)" in build_corpus(run, path).text()
    write(path, records(("a", text(1)), ("b", text(2)), ("y", text(5)), ("z", text(4))))
    summary = build_corpus(run, path)
    assert sorted(contents(run)) == ["a", "x", "y", "z"]  # z has the words of x
    assert keys_of(run)["x"] < keys_of(run)["z"]
    assert summary.skipped == {"removed earlier": 1}
    write(path, records(("a", text(1))))
    build_corpus(run, path)
    assert sorted(contents(run)) == ["a", "x"]  # y was in the inputs since
    add_documents(run, records(("b", text(2))))
    write(path, records(("a", text(1)), ("b", text(8))))
    build_corpus(run, path)
    assert contents(run)["b"][0] == "Text 8 begins here."


# --- Errors ------------------------------------------------------------------------------------


def test_a_call_that_fails_leaves_the_store_as_it_was(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run")
    with pytest.raises(InputError, match=r"no document .* can be used .*1 missing field"):
        build_corpus(run, write(tmp_path / "bad.jsonl", [{"no": 1}]))
    assert not (run.path / FILE).exists()
    with pytest.raises(InputError, match="no record has a value of 'autor'"):
        build_corpus(run.changed({"corpus": {"fields": ("autor",)}}), ["One is here."])
    assert not (run.path / FILE).exists()
    build_corpus(run, [text(1)])
    digest = Corpus.open(run).digest
    with pytest.raises(InputError, match="no document can be added"):
        add_documents(run, [{"no": 1}])
    with pytest.raises(InputError, match="no such file"):
        build_corpus(run, "absent.txt")
    assert Corpus.open(run).digest == digest
    assert Run.open(run.path).settings == run.settings


def test_an_interrupted_call_continues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same call goes on behind what is staged; readers see the old content until the end."""
    monkeypatch.setattr(module, "_SHARD", 100)
    monkeypatch.setattr(module, "_TRANSACTION", 200)
    run, path = run_of(tmp_path / "run"), write(tmp_path / "old.jsonl", records(("o", text(99))))
    build_corpus(run, path)
    before = contents(run)
    more = write(tmp_path / "a.jsonl", records(*((f"d{n}", text(n)) for n in range(30))))
    split, count = module.split, 0

    def stopped(given: Any) -> Any:
        nonlocal count
        count += 1
        if count == 15:
            raise KeyboardInterrupt
        return split(given)

    monkeypatch.setattr(module, "split", stopped)
    with pytest.raises(KeyboardInterrupt):
        build_corpus(run, more)
    assert contents(run) == before
    summary = build_corpus(run, more)
    assert (summary.added, summary.removed) == (30, 1)
    assert 30 < count < 40  # not all were split again


def test_what_another_call_staged_is_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And its keys are used: they never were those of a document."""
    monkeypatch.setattr(module, "_TRANSACTION", 1)
    run = run_of(tmp_path / "run")
    build_corpus(run, records(("a", text(1))))

    def broken() -> Iterator[dict[str, Any]]:
        yield from records(("b", text(2)))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        add_documents(run, broken())
    summary = add_documents(run, records(("c", text(3))))
    assert (summary.added, sorted(contents(run))) == (1, ["a", "c"])
    assert Corpus.open(run).keys.tolist() == [1, 2]


def test_what_was_lost_is_said_and_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """On the screen, in skipped.jsonl and in the summary, also when nothing has changed."""
    folder = tmp_path / "texts"
    rows: list[Any] = [{"text": text(1), "date": "May"}, {"no": 1}, {"text": text(1)}]
    write(folder / "a.jsonl", rows)
    (folder / "gone.txt").symlink_to(tmp_path / "nowhere")
    run = run_of(tmp_path / "run")
    for _ in range(2):
        summary = build_corpus(run, folder)
        said = capsys.readouterr().err
        assert "left out: texts/gone.txt: not a regular file" in said
        assert "skipped: 2 records (skipped.jsonl" in said
        assert "not a date of ISO 8601: 1 record" in said
        assert "1 of them with the text of another" in summary.text()
        assert summary.skipped == {"missing field": 1, "not a regular file": 1}
        assert summary.noted == {"not a date of ISO 8601": 1}
    listed = [json.loads(line) for line in (run.path / "skipped.jsonl").read_text().splitlines()]
    assert [(p["source"], p["line"]) for p in listed] == [
        ("texts/gone.txt", 0), ("texts/a.jsonl", 1), ("texts/a.jsonl", 2),
    ]  # fmt: skip
    build_corpus(run, [text(5)])
    assert not (run.path / "skipped.jsonl").exists()


# --- Held-out documents ------------------------------------------------------------------------


def parts(run: Run) -> tuple[set[str], set[str]]:
    return set(Corpus.open(run).document_ids()), set(Corpus.open(run, "held-out").document_ids())


def test_a_document_is_held_out_by_its_id(tmp_path: Path) -> None:
    """More documents move none; the share is as asked; another seed chooses others."""
    run = run_of(tmp_path / "run", held_out_fraction=0.2)
    build_corpus(run, records(*((f"d{n}", text(n)) for n in range(200))))
    learn, held_out = parts(run)
    assert held_out == {f"d{n}" for n in range(200) if part_of(f"d{n}", 13, 0.2) == HELD_OUT}
    assert 20 < len(held_out) < 60
    add_documents(run, records(*((f"e{n}", text(200 + n)) for n in range(50))))
    assert all(before <= now for before, now in zip((learn, held_out), parts(run), strict=True))
    other = run_of(tmp_path / "other", seed=14, held_out_fraction=0.2)
    build_corpus(other, records(*((f"d{n}", text(n)) for n in range(200))))
    assert parts(other)[1] != held_out
    keys = np.concatenate([Corpus.open(run, "learn").keys, Corpus.open(run, "held-out").keys])
    assert np.array_equal(np.sort(keys), Corpus.open(run, "all").keys)


def test_small_corpora_have_one_held_out_document_or_none(tmp_path: Path) -> None:
    """None of fewer than ten; at least one of ten; it stays when more come."""
    rows = records(*((f"d{n}", text(n)) for n in range(12)))
    run = run_of(tmp_path / "run", held_out_fraction=1e-6)
    path = write(tmp_path / "a.jsonl", rows[:9])
    build_corpus(run, path)
    assert parts(run)[1] == set()
    build_corpus(run, write(path, rows))
    (held_out,) = parts(run)[1]
    assert held_out in {"d9", "d10", "d11"}  # the others were learned from
    build_corpus(run, write(path, [*rows, *records(("d99", text(99)))]))
    assert parts(run)[1] == {held_out}
    everything = run.changed({"corpus": {"held_out_fraction": 1.0}})
    with pytest.raises(InputError, match="holds out all 13 documents"):
        build_corpus(everything, path)
    assert parts(run)[1] == {held_out}
    nothing = run.changed({"corpus": {"held_out_fraction": 0.0}})
    build_corpus(nothing, path)
    assert parts(run)[1] == set()

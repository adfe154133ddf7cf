"""Duplicates of a run: planted ones are found in one group, in order of reading."""

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from firth.corpus.corpus import Corpus
from firth.corpus.library import Library
from firth.index.add import add_documents
from firth.reuse.duplicates import Duplicates, duplicates, numbers_of, reading_ranks
from firth.reuse.kinds import Kind, Unit
from firth.run.errors import InputError, MissingStageError
from firth.scale.scale import Scale
from firth.search.among import Among

PLANTED = "The captain never knew who had opened the old gate at night."
NEARLY = "The captain never knew who had opened the old gate at midnight."


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, tiny_folder: Path) -> Path:
    """Forty documents; a sentence planted in three of them, and one document three times."""
    folder = tmp_path_factory.mktemp("duplicates")
    texts = {path.stem: path.read_text() for path in tiny_folder.iterdir()}
    with (folder / "texts.jsonl").open("w") as file:
        for n, (name, text) in enumerate(sorted(texts.items())):
            end = {3: PLANTED, 20: NEARLY, 30: PLANTED.upper()}.get(n, "")
            row = {"id": name, "title": f"T{n}", "text": f"{text} {end}"}
            file.write(json.dumps(row) + "\n")
            if n in (7, 8):
                file.write(json.dumps({**row, "id": f"again-{n}"}) + "\n")
    Corpus.build(folder / "texts.jsonl", folder / "run", held_out=10)
    return folder / "run"


def planted(found: Duplicates) -> list[tuple[str, Kind]]:
    """Titles and kinds of the group that holds the planted sentence."""
    (group,) = [g for g in found.groups if g.original.text == PLANTED]
    assert group.original.kind is Kind.EXACT
    items = (group.original, *group.copies)
    return [(item.title, item.kind) for item in items]


def test_planted_duplicates_are_one_group(run: Path, tiny_run: Path) -> None:
    """The first read is the original; how far is looked decides what is found."""
    exact = [("T3", Kind.EXACT), ("T30", Kind.EXACT)]
    assert planted(duplicates(run, kind="exact")) == exact
    near = [exact[0], ("T20", Kind.NEAR), exact[1]]
    assert planted(duplicates(run, kind="near")) == near
    found = duplicates(run, model=tiny_run / "surrogate", threshold=0.9)
    assert {*near} <= {*planted(found)}
    assert found.compared <= len(Library.open(run))


def test_some_documents(run: Path, tiny_run: Path) -> None:
    """Only those are compared; what was dropped goes with what it repeats."""
    asked = Among(where=("title=T3", "title=T30", "title=T7"))
    found = duplicates(run, kind="near", among=asked)
    assert planted(found) == [("T3", Kind.EXACT), ("T30", Kind.EXACT)]
    assert found.compared < duplicates(run, kind="near").compared
    whole = duplicates(run, unit="documents", model=tiny_run / "surrogate", among=asked)
    assert whole.compared == 4
    assert ("T7", "again-7") in [
        (group.original.title, item.document) for group in whole.groups for item in group.copies
    ]


def test_reworded_items_say_what_their_scores_mean(tiny_run: Path) -> None:
    """By the run's scale, of the cosines of its own vectors and of nothing else."""
    scale = Scale.open(tiny_run)
    found = duplicates(tiny_run, threshold=0.3, min_words=4)
    items = [item for group in found.groups for item in group.copies]
    reworded = [item for item in items if item.kind is Kind.REWORDED]
    assert reworded, "premise"
    assert [item.above for item in reworded] == [scale.shares(i.score)["random"] for i in reworded]
    assert all(item.above is None for item in items if item.kind is not Kind.REWORDED)
    other = duplicates(tiny_run, threshold=0.3, min_words=4, model=tiny_run / "surrogate")
    assert all(item.above is None for group in other.groups for item in group.copies)


def test_other_numbers_are_told() -> None:
    """150 and 40 are not the same, the same numbers elsewhere are; names with digits count."""
    assert numbers_of("At most 150 KB.") != numbers_of("At most 40 KB.")
    assert numbers_of("2 of 15 B2 forms") == numbers_of("of b2 forms 15 and 2")
    assert not numbers_of("none")


def test_sentences_are_numbered_within_their_document(run: Path) -> None:
    """From one on; the number leads back to the text."""
    library = Library.open(run)
    ids = library.document_ids()
    for group in duplicates(run, kind="near").groups:
        for item in (group.original, *group.copies):
            first = int(library.document_bounds[ids.index(item.document)])
            assert library.text(first + item.sentence - 1) == item.text


def test_whole_documents(run: Path, tiny_run: Path) -> None:
    """What `firth corpus build` dropped is listed under what it kept."""
    found = duplicates(run, unit="documents", kind="exact")
    assert found.unit is Unit.DOCUMENTS
    assert found.compared == 42
    said = [(g.original.title, [item.document for item in g.copies]) for g in found.groups]
    assert said == [("T7", ["again-7"]), ("T8", ["again-8"])]
    more = duplicates(run, unit="documents", model=tiny_run / "surrogate", threshold=0.9)
    assert {"again-7", "again-8"} <= {i.document for g in more.groups for i in g.copies}


def test_the_earliest_is_the_original(tmp_path: Path) -> None:
    """Of sentences and of documents, one that corpus build dropped as a repetition among them; what
    has no date comes last."""
    late, early = f"{PLANTED} It was late.", f"{NEARLY} It was late."
    rows = [("none", late.upper(), ""), ("late", early.upper(), "2024-05-03"),
            ("mid", early, "2024-05-02"), ("first", late, "2024-05-01")]  # fmt: skip
    with (tmp_path / "a.jsonl").open("w") as file:
        for name, text, date in rows:
            file.write(json.dumps({"id": name, "text": text, "date": date}) + "\n")
    Corpus.build(tmp_path / "a.jsonl", tmp_path / "run", held_out=0)
    assert Library.open(tmp_path / "run").document_ids() == ["none", "late"]  # the premise
    found = duplicates(tmp_path / "run", unit="documents", kind="near")
    (group,) = found.groups
    assert (group.original.document, group.original.date) == ("first", "2024-05-01")
    assert group.original.text
    assert {(item.document, item.kind) for item in group.copies} == {
        ("none", Kind.EXACT), ("late", Kind.NEAR), ("mid", Kind.NEAR)
    }  # fmt: skip
    assert "earliest" in found.text()
    assert "(2024-05-01)" in found.text()
    sentences = duplicates(tmp_path / "run", kind="near").groups
    assert {group.original.document for group in sentences} == {"late"}


def test_documents_rank_as_they_were_read(run: Path) -> None:
    """Those held out take their places among the others."""
    library = Library.open(run)
    ranks = reading_ranks(library, 10)
    assert library.parts[1].n_documents == 4  # the premise
    titles = [library.document_title(int(d)) for d in np.argsort(ranks)]
    assert titles == [f"T{n}" for n in range(40)]
    assert len({*ranks.tolist()}) == 40


def test_the_last_of_few_documents_ranks_last(tmp_path: Path) -> None:
    """It alone is held out; what is added later comes after it."""
    for name, first, last in (("few", 0, 12), ("later", 12, 22)):
        rows = (
            json.dumps({"id": f"d{n}", "text": f"Text number {n}."}) for n in range(first, last)
        )
        (tmp_path / f"{name}.jsonl").write_text("\n".join(rows))
    Corpus.build(tmp_path / "few.jsonl", tmp_path / "run")
    add_documents(tmp_path / "later.jsonl", tmp_path / "run")
    library = Library.open(tmp_path / "run")
    assert library.parts[1].n_documents == 1  # the premise
    order = np.argsort(reading_ranks(library, 20))
    assert [library.document_id(int(d)) for d in order] == [f"d{n}" for n in range(22)]


@pytest.mark.parametrize("name", ["groups.jsonl", "groups.parquet"])
def test_files_hold_all_groups(run: Path, tmp_path: Path, name: str) -> None:
    """As JSON lines, a group each; as Parquet, a row an item."""
    found = duplicates(run, kind="near")
    found.write(tmp_path / name)
    if name.endswith("parquet"):
        rows = pq.read_table(tmp_path / name).to_pylist()
        assert sum(row["original"] for row in rows) == len(found.groups)
        assert len(rows) == sum(1 + len(group.copies) for group in found.groups)
    else:
        lines = (tmp_path / name).read_text().splitlines()
        assert [json.loads(line)["original"]["text"] for line in lines] == [
            group.original.text for group in found.groups
        ]
    assert max(map(len, found.text(50).splitlines())) <= 80


def test_what_cannot_be_done_is_said(run: Path, tmp_path: Path) -> None:
    """No Surrogate, no corpus, numbers out of range."""
    with pytest.raises(MissingStageError, match="surrogate"):
        duplicates(run)
    with pytest.raises(InputError):
        duplicates(tmp_path)
    with pytest.raises(InputError, match="--threshold 2"):
        duplicates(run, threshold=2)

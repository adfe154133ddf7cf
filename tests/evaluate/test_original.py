"""The organisers' files give the rows that the tab-separated layout gives."""

from collections.abc import Callable
from pathlib import Path

import pytest

from firth.evaluate.load import load_set
from firth.evaluate.rows import Row
from firth.evaluate.task import ALL, TASKS
from firth.run.errors import InputError

TEXTS = [
    ('He said: "no".', "She said no."),
    ("One, two.", "Two; one."),
    ("Crème brûlée", "A dessert"),
]


def year(folder: Path) -> None:
    """STS 2015's layout: most pairs have no gold score; 2016 adds columns."""
    home = folder / "STS15" / "test_evaluation_task2a"
    home.mkdir(parents=True)
    lines = [f"{a}\t{b}\tsource\tsource\n" for a, b in TEXTS]
    (home / "STS.input.belief.txt").write_text("".join([*lines, "no\tgold\n"]), "utf-8")
    (home / "STS.gs.belief.txt").write_text("1.0\n2.5\n5\n\n")


def benchmark(folder: Path) -> None:
    """Tab-separated in spite of its name, quotes unescaped, sources after the sentences."""
    home = folder / "stsbenchmark"
    home.mkdir()
    rows = zip(TEXTS, (1.0, 2.5, 5), strict=True)
    lines = [
        f"main-news\tMSRpar\t2012test\t{i}\t{s}\t{a}\t{b}\n" for i, ((a, b), s) in enumerate(rows)
    ]
    (home / "sts-test.csv").write_text("".join(lines), "utf-8")


def sick(folder: Path) -> None:
    """One file for all splits."""
    home = folder / "SICK"
    home.mkdir()
    head = "pair_ID\tsentence_A\tsentence_B\tentailment_label\trelatedness_score\tSemEval_set\n"
    rows = zip(TEXTS, (1.0, 2.5, 5), strict=True)
    lines = [f"{i}\t{a}\t{b}\tNEUTRAL\t{s}\tTEST\n" for i, ((a, b), s) in enumerate(rows)]
    (home / "SICK.txt").write_text(head + "".join(lines) + "9\ta\tb\tNEUTRAL\t3\tTRIAL\n", "utf-8")


def relatedness(folder: Path) -> None:
    """Quoted, the two sentences in one cell of two lines."""
    home = folder / "STR-2021"
    home.mkdir()
    rows = [
        f'Wiki_pp_{i},"{a.replace(chr(34), chr(34) * 2)}\n{b}",{s}\n'
        for i, ((a, b), s) in enumerate(zip(TEXTS, (0.1, 0.25, 1), strict=True))
    ]
    (home / "sem_text_rel_ranked.csv").write_text("PairID,Text,Score\n" + "".join(rows), "utf-8")


def arguments(folder: Path) -> None:
    """A quoted file a topic."""
    home = folder / "AFS" / "data"
    home.mkdir(parents=True)
    rows = [
        f'{s},x,"{a.replace(chr(34), chr(34) * 2)}","{b}"\n'
        for (a, b), s in zip(TEXTS, (1.0, 2.5, 5), strict=True)
    ]
    head = "Regression_Label,other,Sentence_1,Sentence_2\n"
    (home / "ArgPairs_GM.csv").write_text(head + "".join(rows), "utf-8")


LAYOUTS: dict[str, tuple[Callable[[Path], None], str]] = {
    "sts15": (year, "belief"),
    "sts-b": (benchmark, "news"),
    "sick-r": (sick, ""),
    "str-2021": (relatedness, "Wikipedia"),
    "afs": (arguments, "gay_marriage"),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_rows_come_out_as_they_were_published(tmp_path: Path, name: str) -> None:
    """Texts verbatim, scores, subtasks by their reported names; nothing is called broken."""
    write, subtask = LAYOUTS[name]
    write(tmp_path)
    found = load_set(TASKS[name], tmp_path)
    scores = (0.1, 0.25, 1.0) if name == "str-2021" else (1.0, 2.5, 5.0)
    expected = [Row(texts, score, subtask) for texts, score in zip(TEXTS, scores, strict=True)]
    assert list(found.rows) == expected
    assert found.skipped == 0
    assert "organisers' files" in found.source


def test_sick_counts_the_whole_set_as_a_split_too(tmp_path: Path) -> None:
    """`all` holds the rows of every split."""
    sick(tmp_path)
    assert len(load_set(TASKS["sick-r"], tmp_path, ALL).rows) == 4
    assert len(load_set(TASKS["sick-r"], tmp_path, "trial").rows) == 1


def test_our_layout_is_taken_first(tmp_path: Path) -> None:
    """A pairs.tsv beside the organisers' files wins."""
    year(tmp_path)
    (tmp_path / "STS15" / "pairs.tsv").write_text(
        "sentence1\tsentence2\tscore\tsubtask\tsplit\na b\tc d\t1\tbelief\ttest\n"
    )
    assert len(load_set(TASKS["sts15"], tmp_path).rows) == 1


def test_training_rows_of_2012_are_told_by_their_folder(tmp_path: Path) -> None:
    """`train/` and `test-gold/`, as the archives unpack."""
    for folder in ("train", "test-gold"):
        home = tmp_path / "STS2012" / folder
        home.mkdir(parents=True)
        (home / "STS.input.MSRpar.txt").write_text(f"a {folder}\tb\n")
        (home / "STS.gs.MSRpar.txt").write_text("3\n")
    for split, folder in (("train", "train"), ("test", "test-gold")):
        (row,) = load_set(TASKS["sts12"], tmp_path, split).rows
        assert row.texts == (f"a {folder}", "b")


def test_older_files_in_latin_1_are_read(tmp_path: Path) -> None:
    """Where UTF-8 fails."""
    home = tmp_path / "STS14"
    home.mkdir()
    (home / "STS.input.images.txt").write_bytes("café\tbar\n".encode("latin-1"))
    (home / "STS.gs.images.txt").write_text("3\n")
    assert load_set(TASKS["sts14"], tmp_path).rows[0].texts == ("café", "bar")


def test_broken_files_are_named(tmp_path: Path) -> None:
    """Gold scores missing or of another number; a column that is not there; a broken row."""
    year(tmp_path)
    home = tmp_path / "STS15" / "test_evaluation_task2a"
    (home / "STS.gs.belief.txt").write_text("1.0\n9\n3\n\n")
    found = load_set(TASKS["sts15"], tmp_path)
    assert found.skipped == 1
    assert any("belief.txt, line 2: score 9 is outside" in note for note in found.notes)
    (home / "STS.gs.belief.txt").write_text("1.0\n")
    with pytest.raises(InputError, match="4 lines, but"):
        load_set(TASKS["sts15"], tmp_path)
    (home / "STS.gs.belief.txt").unlink()
    with pytest.raises(InputError, match="gold scores are missing"):
        load_set(TASKS["sts15"], tmp_path)
    arguments(tmp_path)
    file = tmp_path / "AFS" / "data" / "ArgPairs_GM.csv"
    file.write_text(file.read_text("utf-8").replace("Sentence_2", "Text"), "utf-8")
    with pytest.raises(InputError, match="no column sentence_2"):
        load_set(TASKS["afs"], tmp_path)

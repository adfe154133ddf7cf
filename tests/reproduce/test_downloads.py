"""Sets as their authors publish them: each form is read, and what is wrong is said."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from firth.evaluation.sets import load_set
from firth.reproduce.cli import app
from firth.reproduce.downloads import convert_downloads
from firth.run.errors import InputError

A, B = "A man plays a guitar.", 'He said "no" to it.'
NLI = {"gold_label": "entailment", "sentence1": A, "sentence2": B}
FILES = {
    "stsbenchmark/sts-dev.csv": f"main-news\tMSRpar\t2012test\t0001\t4.500\t{A}\t{B}\n",
    "train/STS.input.MSRpar.txt": f"{A}\t{B}\n{B}\t{A}\n",
    "train/STS.gs.MSRpar.txt": "4.4\n1.0\n",
    "test-gold/STS.input.MSRvid.txt": f"{A}\t{B}\n",
    "test-gold/STS.gs.MSRvid.txt": "2\n",
    "test-gold/STS.input.ALL.txt": f"{A}\t{B}\n",
    "sts2016-english-with-gs-v1.0/STS2016.input.plagiarism.txt": f"{A}\t{B}\n{B}\t{A}\n",
    "sts2016-english-with-gs-v1.0/STS2016.gs.plagiarism.txt": "\n3\n",
    "test-gs/STS.input.FNWN.txt": f"{A}\t{B}\n",
    "test-gs/STS.gs.FNWN.txt": "2.5\n",
    "STS2014/sts-en-test-gs-2014/STS.input.images.txt": f"{A}\t{B}\n",
    "STS2014/sts-en-test-gs-2014/STS.gs.images.txt": "3.5\n",
    "test_evaluation_task2a/STS.input.belief.txt": f"{A}\t{B}\n",
    "test_evaluation_task2a/STS.gs.belief.txt": "1.5\n",
    "SICK/SICK.txt": "pair_ID\tsentence_A\tsentence_B\tentailment_label\trelatedness_score\t"
    f"SemEval_set\n1\t{A}\t{B}\tNEUTRAL\t4.5\tTRIAL\n",
    "STR/sem_text_rel_ranked.csv": 'PairID,Text,Score\nP-1,"One ship.\nTwo ships.",0.5\n',
    "afs/ArgPairs_GC.csv": f'regression_label,sentence_1,sentence_2\n3.0,{A},"{B[:3]}"\n',
    "snli_1.0/snli_1.0_train.jsonl": json.dumps(NLI)
    + "\n"
    + json.dumps(NLI | {"gold_label": "-"})
    + "\n",
    "multinli_1.0/multinli_1.0_train.jsonl": "".join(
        json.dumps(NLI | {"gold_label": label}) + "\n" for label in ("neutral", "contradiction")
    ),
    "wikipedia-sections-triplets/validation.csv": "Article,Sentence1,Sentence2,Sentence3\n"
    f'7,One ship.,"{A}","{B.replace(chr(34), chr(34) * 2)}"\n',
    "MRPC/msr_paraphrase_test.txt": "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\n"
    f"1\t7\t8\t{A}\t{B}\n",
}


@pytest.fixture
def downloads(tmp_path: Path) -> Path:
    """A folder of published files with one or two rows each."""
    for name, text in FILES.items():
        path = tmp_path / "downloads" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path / "downloads"


def test_each_form_becomes_a_set(downloads: Path, tmp_path: Path) -> None:
    """Texts, scores, splits and subsets are those of the files; unrated pairs are left out."""
    counts = convert_downloads(downloads, tmp_path / "sets")
    assert counts == {
        "AFS": 1, "MNLI": 2, "MRPC": 1, "NLI": 3, "SICK": 1, "SNLI": 1, "STR-2021": 1, "STS12": 3,
        "STS13": 1, "STS14": 1, "STS15": 1, "STS16": 1, "STSb": 1, "WikiSections": 1,
    }  # fmt: skip
    (row,) = load_set("sts-b:dev", tmp_path / "sets").rows
    assert (row.texts, row.score, row.subset) == ((A, B), 4.5, "news")
    assert len(load_set("sts12:train", tmp_path / "sets").rows) == 2
    assert load_set("sts12", tmp_path / "sets").rows[0].subset == "MSRvid"
    assert load_set("sts16", tmp_path / "sets").rows[0].score == 3.0
    assert load_set("sick-r:trial", tmp_path / "sets").rows[0].score == 4.5
    assert load_set("str-2021", tmp_path / "sets").rows[0].texts == ("One ship.", "Two ships.")
    assert sum(row.score for row in load_set("nli:train", tmp_path / "sets").rows) == 1.0
    assert load_set("mrpc:test", tmp_path / "sets").rows[0].texts == (A, B)
    sections = load_set("wiki-sections:dev", tmp_path / "sets")
    assert sections.rows[0].texts == ("One ship.", A, B)
    command = ["sets", str(downloads), "--data-dir", str(tmp_path / "others"), "--json", "--quiet"]
    assert json.loads(CliRunner().invoke(app, command).stdout) == counts


def test_nothing_is_written_where_a_file_is_wrong(downloads: Path, tmp_path: Path) -> None:
    """All problems are named together, and a set that is there is not replaced."""
    (downloads / "stsbenchmark/sts-dev.csv").write_text("main-news\tx\n")
    (downloads / "train/STS.gs.MSRpar.txt").write_text("much\n1\n")
    kept = tmp_path / "sets/SICK/pairs.tsv"
    kept.parent.mkdir(parents=True)
    kept.write_text("mine")
    with pytest.raises(InputError) as caught:
        convert_downloads(downloads, tmp_path / "sets")
    for part in ("sts-dev.csv", "expected 7", "'much'", str(kept)):
        assert part in str(caught.value)
    assert [path.name for path in (tmp_path / "sets").iterdir()] == ["SICK"]
    assert kept.read_text() == "mine"


def test_no_known_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"STS12, .*MRPC"):
        convert_downloads(tmp_path, tmp_path / "sets")
    with pytest.raises(InputError, match="no such folder"):
        convert_downloads(tmp_path / "nowhere", tmp_path / "sets")

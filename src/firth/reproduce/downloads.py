"""Evaluation sets as their authors publish them, made into the one form that firth reads.

A folder of downloads is searched for the files of STS 2012 to 2016 (SemEval), STS benchmark, SICK,
STR-2021, AFS, SNLI, MNLI, MRPC and Wikipedia Sections, which are recognized by their names. Each
becomes a folder with `pairs.tsv` or `triplets.tsv` (`firth.evaluation.sets`). SNLI and MNLI
together become `NLI`, the set `nli`.
"""

import csv
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from firth.evaluation.files import parse_score
from firth.run.errors import InputError
from firth.run.files import write_text
from firth.run.outputs import claim_output

COLUMNS = ("sentence1", "sentence2", "score", "subtask", "split")
_TRIPLETS = ("anchor", "positive", "negative", "subtask", "split")
Fields = tuple[str, str, str, str, str]
"""The columns of a file; the score of natural language inference is its label."""
_FOLDERS = {
    12: "train|test-gold", 13: "test-gs", 14: "sts-en-test-gs-2014", 15: "test_evaluation_task2a",
    16: "sts2016-english-with-gs-v1.0",
}  # fmt: skip
"""Folders of the archives of SemEval by year, which say no year themselves."""
_SECTIONS = "WikiSections"
_SPLITS = {"TRAIN": "train", "TRIAL": "trial", "TEST": "test"}


@dataclass(frozen=True)
class Form:
    """A published form: the set, a pattern of paths with its files, and what reads one.

    `read` yields the rows of a file, or raises `ValueError` with what is wrong.
    """

    name: str
    pattern: re.Pattern[str]
    read: Callable[[Path], Iterator[Fields]]


def convert_downloads(
    downloads: str | Path, data_dir: str | Path, force: bool = False
) -> dict[str, int]:
    """Make `DATA_DIR/SET/pairs.tsv` of all sets in a folder of downloads; return set → rows.

    Args:
        downloads: Folder that holds the unpacked files, at any depth.
        data_dir: Folder of evaluation sets, for `--data-dir`.
        force: Whether files that are there are replaced. Else they are an error.

    Raises:
        InputError: There is no such folder, no file of a known set in it, a file that is not of its
            published form, or a file that would be replaced. All problems are named, and nothing
            is written then.
    """
    folder, out = Path(downloads), Path(data_dir)
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; expected one with the unpacked downloads")
    rows: dict[str, list[Fields]] = defaultdict(list)
    problems: list[str] = []
    for path in sorted(file for file in folder.rglob("*") if file.is_file()):
        for form in FORMS:
            if form.pattern.search(path.relative_to(folder).as_posix()):
                try:
                    rows[form.name] += form.read(path)
                except (ValueError, KeyError, UnicodeDecodeError, OSError) as error:
                    problems.append(f"{path}: not as {form.name} is published ({error})")
                break
    if inference := [*rows["SNLI"], *rows["MNLI"]]:
        rows["NLI"] = inference
    sets = {name: fields for name, fields in rows.items() if fields}
    for name in sets:
        try:
            claim_output(out / name / _file(name), force)
        except InputError as error:
            problems.append(str(error))
    if not sets:
        problems.append(
            f"{folder}: no file of a known set; expected those of {', '.join(_NAMES)}, unpacked "
            "and with the names under which they are published"
        )
    if problems:
        raise InputError("\n".join(problems))
    for name, rows_of_set in sets.items():
        columns = _TRIPLETS if name == _SECTIONS else COLUMNS
        plain = ([" ".join(field.split()) for field in fields] for fields in rows_of_set)
        lines = map("\t".join, [columns, *plain])
        (out / name).mkdir(parents=True, exist_ok=True)
        write_text(out / name / _file(name), "".join(f"{line}\n" for line in lines))
    return {name: len(fields) for name, fields in sorted(sets.items())}


def _file(name: str) -> str:
    return "triplets.tsv" if name == _SECTIONS else "pairs.tsv"


def _lines(path: Path) -> list[str]:
    """Return the lines of a text file in UTF-8, or in Latin-1 as some of 2012 are."""
    data = path.read_bytes()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    return [line.rstrip("\r") for line in text.split("\n")]


def _score(text: str, line: int) -> str:
    try:
        parse_score(text)
    except ValueError as error:
        raise ValueError(f"line {line}: {error}") from None
    return text


def _semeval(path: Path) -> Iterator[Fields]:
    """Read `STS.input.NAME.txt`, whose scores are in `STS.gs.NAME.txt` beside it."""
    subset = path.stem.partition(".input.")[2]
    gold = path.with_name(path.name.replace(".input.", ".gs.", 1))
    pairs, scores = ([*_lines(file)] for file in (path, gold))
    while pairs and not pairs[-1].strip():
        pairs.pop()
    split = "train" if "train" in path.as_posix().lower().split("/")[-2] else "test"
    if len(scores) < len(pairs):
        raise ValueError(f"{gold.name} has {len(scores)} lines for {len(pairs)} pairs")
    for line, (pair, score) in enumerate(zip(pairs, scores, strict=False), start=1):
        texts = pair.split("\t")
        if len(texts) < 2:
            raise ValueError(f"line {line}: expected two sentences with a tab between them")
        if score.strip():  # Pairs of 2015 and 2016 that were not rated have an empty line.
            yield texts[0], texts[1], _score(score.strip(), line), subset, split


def _sts_benchmark(path: Path) -> Iterator[Fields]:
    """Read `sts-train.csv`, which has tabs and no header: genre, file, year, id, score, texts."""
    split = path.stem.removeprefix("sts-")
    for line, text in enumerate(_lines(path), start=1):
        if text:
            fields = text.split("\t")
            if len(fields) < 7:
                raise ValueError(f"line {line}: got {len(fields)} columns; expected 7 or more")
            yield fields[5], fields[6], _score(fields[4], line), fields[0], split


def _sick(path: Path) -> Iterator[Fields]:
    """Read `SICK.txt`, or `SICK_train.txt` and its like, which have tabs and a header."""
    named = re.search(r"train|trial|test", path.stem.lower())
    for row in csv.DictReader(_lines(path), delimiter="\t", quoting=csv.QUOTE_NONE):
        split = _SPLITS[row["SemEval_set"].strip()] if "SemEval_set" in row else ""
        split = split or (named[0] if named else "")
        yield row["sentence_A"], row["sentence_B"], row["relatedness_score"], "all", split


def _str_2021(path: Path) -> Iterator[Fields]:
    """Read `sem_text_rel_ranked.csv`: both sentences of a pair in one field, on two lines."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        for number, row in enumerate(csv.DictReader(file), start=1):
            texts = row["Text"].split("\n")
            if len(texts) != 2:
                raise ValueError(f"pair {number}: got {len(texts)} lines of text; expected 2")
            yield texts[0], texts[1], _score(row["Score"], number), "all", ""


def _afs(path: Path) -> Iterator[Fields]:
    """Read `ArgPairs_GC.csv` and its like: argument pairs of one topic, rated from 0 to 5."""
    topic = path.stem.removeprefix("ArgPairs_")
    for number, row in enumerate(csv.DictReader("\n".join(_lines(path)).splitlines()), start=1):
        yield (
            row["sentence_1"], row["sentence_2"], _score(row["regression_label"], number),
            topic, "",
        )  # fmt: skip


def _inference(path: Path) -> Iterator[Fields]:
    """Read JSON lines of SNLI or MNLI; pairs whose annotators did not agree are left out."""
    split = "train" if "train" in path.stem else "dev" if "dev" in path.stem else "test"
    name = "SNLI" if path.name.startswith("snli") else "MNLI"
    for line in _lines(path):
        if line.strip():
            row = json.loads(line)
            if row["gold_label"] != "-":
                yield row["sentence1"], row["sentence2"], row["gold_label"], name, split


def _mrpc(path: Path) -> Iterator[Fields]:
    """Read `msr_paraphrase_train.txt`, which has tabs and a header."""
    split = path.stem.removeprefix("msr_paraphrase_")
    for row in csv.DictReader(_lines(path), delimiter="\t", quoting=csv.QUOTE_NONE):
        yield row["#1 String"], row["#2 String"], row["Quality"], "all", split


def _wiki_sections(path: Path) -> Iterator[Fields]:
    """Read `train.csv` and its like: a header; then article, anchor, positive and negative."""
    split = {"validation": "dev"}.get(path.stem, path.stem)
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = csv.reader(file)
        next(rows, None)
        for number, row in enumerate(rows, start=2):
            if len(row) < 4:
                raise ValueError(f"row {number}: got {len(row)} columns; expected 4")
            yield row[1], row[2], row[3], row[0], split


FORMS = (
    *(
        Form(
            f"STS{year}",
            re.compile(rf"((20|STS){year}.*|(^|/)({at}))/STS(2016)?\.input\.(?!ALL)[^/]*\.txt$"),
            _semeval,
        )
        for year, at in _FOLDERS.items()
    ),
    Form("STSb", re.compile(r"(^|/)sts-(train|dev|test)\.csv$"), _sts_benchmark),
    Form("SICK", re.compile(r"(^|/)SICK(_train|_trial|_test_annotated)?\.txt$"), _sick),
    Form("STR-2021", re.compile(r"(^|/)sem_text_rel_ranked\.csv$"), _str_2021),
    Form("AFS", re.compile(r"(^|/)ArgPairs_[A-Z]+\.csv$"), _afs),
    Form("SNLI", re.compile(r"(^|/)snli_1\.0_(train|dev|test)\.jsonl$"), _inference),
    Form("MNLI", re.compile(r"(^|/)multinli_1\.0_(train|dev_matched)\.jsonl$"), _inference),
    Form(
        _SECTIONS,
        re.compile(r"(^|/)wikipedia-sections-triplets/(train|validation|test)\.csv$"),
        _wiki_sections,
    ),
    Form("MRPC", re.compile(r"(^|/)msr_paraphrase_(train|test)\.txt$"), _mrpc),
)
"""The published forms, in the order in which they are tried."""
_NAMES = tuple(dict.fromkeys(form.name for form in FORMS))

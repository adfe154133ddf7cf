"""Results that a user names: nothing that firth did not write is replaced or removed."""

import csv
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from firth.run.errors import InputError
from firth.run.outputs import claim_output, copy_folder, write_file, write_folder, write_rows
from firth.run.stage import MANIFEST

from .test_files import names


def write(out: Path, text: str = "one", force: bool = False, **settings: Any) -> bool:
    """Write a result of some settings; return whether an earlier one was reused."""

    def fill(workspace: Path) -> Mapping[str, Any]:
        (workspace / "result.txt").write_text(text)
        return {}

    return write_folder(out, fill, command="x", settings=settings, force=force).reused


def test_a_file_is_written_whole_and_replaced_only_with_force(tmp_path: Path) -> None:
    """From text or a function. Folders, links into nothing and files in place of folders are
    refused even then."""
    path = tmp_path / "new" / "deep" / "results.json"
    claim_output(path)
    assert names(tmp_path) == [], "folders are made when the file is written"
    write_file(path, "é\r\n")
    assert path.read_bytes() == "é\r\n".encode()
    for content in ("text", lambda partial: partial.write_text("text")):
        with pytest.raises(InputError, match="--force"):
            write_file(path, content)
        write_file(path, content, force=True)
        assert path.read_text() == "text"
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for other, part in (
        (tmp_path, "a folder"),
        (path / "file", "a file; expected a folder"),
        (path / "deep" / "file", "a file; expected a folder"),
        (tmp_path / "link", "not an ordinary file"),
        (tmp_path / "absent" / ("é" * 128), "too long"),
    ):
        with pytest.raises(InputError, match=part):
            claim_output(other, force=True)
    assert names(path.parent) == ["results.json"]
    write_file(tmp_path / ("a" * 255), "text")


def test_rows_are_lines_or_a_table(tmp_path: Path) -> None:
    """By the name; nested values are JSON in a cell."""
    rows: list[dict[str, Any]] = [{"text": 'a "b"\n,é', "score": 0.5, "members": [1, 2]},
            {"text": "", "score": None, "members": []}]  # fmt: skip
    write_rows(tmp_path / "d.jsonl", rows)
    lines = (tmp_path / "d.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == rows
    write_rows(tmp_path / "d.csv", rows)
    with (tmp_path / "d.csv").open(newline="") as file:
        table = list(csv.DictReader(file))
    assert table == [
        {"text": 'a "b"\n,é', "score": "0.5", "members": "[1, 2]"},
        {"text": "", "score": "", "members": "[]"},
    ]
    formulas = ["=A1", "+1", "-1", "@x", "\t=1", "\r=1"]
    rows = [{"text": text, "score": -1.5} for text in (*formulas, "a=b", "'x")]
    for is_safe, mark in ((True, "'"), (False, "")):
        write_rows(tmp_path / "d.csv", rows, force=True, for_spreadsheets=is_safe)
        with (tmp_path / "d.csv").open(newline="") as file:
            table = list(csv.DictReader(file))
        expected = [*(mark + text for text in formulas), "a=b", "'x"]
        assert [row["text"] for row in table] == expected
        assert {row["score"] for row in table} == {"-1.5"}
    write_rows(tmp_path / "empty.csv", [])
    write_rows(tmp_path / "empty.jsonl", [])
    assert (tmp_path / "empty.jsonl").read_bytes() == b""


def test_a_folder_is_reused_and_replaced_with_force(tmp_path: Path) -> None:
    out = tmp_path / "new" / "results"
    assert not write(out, x=1, deep={"y": 2})
    assert write(out, "not written", x=1, deep={"y": 2})
    with pytest.raises(InputError, match=r"another result of firth x.*--force"):
        write(out, "two", x=1, deep={"y": 3})
    assert (out / "result.txt").read_text() == "one"
    assert not write(out, "two", force=True, x=1, deep={"y": 3})
    assert (out / "result.txt").read_text() == "two"
    assert names(out) == [MANIFEST, "result.txt"]
    assert names(out.parent) == ["results"]


@pytest.mark.parametrize("force", [False, True])
def test_files_of_the_user_are_never_replaced(tmp_path: Path, force: bool) -> None:
    """Neither a file in the folder's place, nor a folder of others."""
    (tmp_path / "file").write_text("mine")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "result.txt").write_text("mine")
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / MANIFEST).write_text('{"name": "a web site"}')
    for name in ("file", "file/results", "mine", "site"):
        with pytest.raises(InputError):
            write(tmp_path / name, force=force, x=2)
    assert (tmp_path / "file").read_text() == "mine"
    assert (tmp_path / "mine" / "result.txt").read_text() == "mine"
    assert names(tmp_path / "site") == [MANIFEST]
    assert names(tmp_path) == ["file", "mine", "site"]


def test_stopped_work_is_continued_by_the_same_request(tmp_path: Path) -> None:
    """Another request starts from nothing; so does one that was refused."""
    seen: list[bool] = []

    def stopped(error: BaseException) -> Any:
        def fill(workspace: Path) -> Mapping[str, Any]:
            seen.append((workspace / "shard").exists())
            (workspace / "shard").touch()
            raise error

        return fill

    errors = [KeyboardInterrupt(), KeyboardInterrupt(), InputError("no"), KeyboardInterrupt()]
    for error in errors:
        with pytest.raises(type(error)):
            write_folder(tmp_path / "out", stopped(error), command="x", settings={"x": 1})
    with pytest.raises(KeyboardInterrupt):
        write_folder(tmp_path / "out", stopped(errors[0]), command="x", settings={"x": 2})
    assert seen == [False, True, True, False, False]
    write(tmp_path / "out", x=1)
    assert names(tmp_path) == ["out"]


def test_an_encoder_is_copied_with_its_card(tmp_path: Path) -> None:
    """With its folders; another one replaces it with force."""
    source, out = tmp_path / "source", tmp_path / "mine"
    (source / "deep").mkdir(parents=True)
    for number in (13, 14):
        (source / "deep" / "weights").write_text(f"{number}")
        options: Any = {"fingerprint": f"{number}", "card": "A card."}
        files = ["deep/weights"]
        if number == 14:
            with pytest.raises(InputError, match="--force"):
                copy_folder(source, files, out, force=False, **options)
        assert copy_folder(source, files, out, force=number == 14, **options) == out
        assert (out / "deep" / "weights").read_text() == f"{number}"
        assert (out / "README.md").read_text() == "A card."

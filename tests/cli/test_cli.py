"""The command line: each command on a toy run, as text and as JSON, and its errors."""

import csv
import io
import json
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from tests.conftest import toy_documents

from firth.cli import main
from firth.run.console import set_quiet

A, B = "The ship saw the harbor.", "A boat left the storm."


def firth(*arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command in this process, which saves the imports of another one."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", ["firth", *map(str, arguments)])
        patch.chdir(cwd or Path.cwd())
        set_quiet(False)
        try:
            main.main()
        except SystemExit as ended:
            code = int(ended.code or 0)
    return subprocess.CompletedProcess([*map(str, arguments)], code, out.getvalue(), err.getvalue())


def output(*arguments: object, cwd: Path | None = None) -> str:
    done = firth(*arguments, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("similarity", A, B),
        ("explain", A, B),
        ("search", "ship in a storm"),
        ("duplicates",),
        ("duplicates", "--unit", "document", "--false-share", 0.05),
        ("duplicates", "--unit", "passage"),
        ("compare-documents", "doc-0", "doc-2"),
        ("status",),
        ("verify",),
        ("calibrate",),
        ("calibrate", "--false-match-rate", 0.05),
        ("compare-models", "baseline:dice", "baseline:ngrams"),
    ],
)
def test_text_and_json(arguments: tuple[object, ...], toy_folder: Path) -> None:
    """Each command prints text within 80 columns for people and one JSON document for programs."""
    command = (*arguments, "--run", toy_folder)
    quiet = () if arguments[0] in ("status", "verify") else ("-q",)
    text = output(*command, *quiet)
    assert text.strip()
    assert json.loads(output(*command, *quiet, "--json")) is not None
    assert "Traceback" not in text


def test_the_way_from_files_to_answers(tmp_path: Path) -> None:
    """Build, add, search, write results, remove, report; the only run of a folder is found.

    Nothing that is written can be read by others where the umask says so.
    """
    before = os.umask(0o077)
    lines = "".join(json.dumps(one) + "\n" for one in toy_documents(20))
    (tmp_path / "docs.jsonl").write_text(lines)
    settings = ("--set", "words.min_count=2", "--set", "words.dimensions=16")
    built = output("build", "docs.jsonl", "--run", "kb", *settings, "-q", cwd=tmp_path)
    assert "Documents: 20" in built
    assert "min_count = 2" in (tmp_path / "kb" / "settings.toml").read_text()
    (tmp_path / "new.txt").write_text("The zeppelin crossed the field.")
    output("add", "new.txt", "-q", cwd=tmp_path)
    assert "zeppelin" in output("search", "zeppelin", "-q", cwd=tmp_path)
    output("remove", "new.txt", "-q", cwd=tmp_path)
    assert "zeppelin crossed" not in output("search", "zeppelin", "-q", cwd=tmp_path)
    (tmp_path / "pairs.tsv").write_text(f"sentence1\tsentence2\tscore\n{A}\t{B}\t1\n{B}\t{B}\t5\n")
    output("similarity", "--pairs-file", "pairs.tsv", "--out", "s.jsonl", "-q", cwd=tmp_path)
    assert len((tmp_path / "s.jsonl").read_text().splitlines()) == 2
    output("explain", "--pairs-file", "pairs.tsv", "--out", "why.html", "-q", cwd=tmp_path)
    output("duplicates", "--out", "d.jsonl", "-q", cwd=tmp_path)
    output("report", "--out", "r.html", "-q", cwd=tmp_path)
    models = "kb", "baseline:dice"
    output("evaluate", *models, "--task", "pairs.tsv", "--out", "e.json", "-q", cwd=tmp_path)
    assert {"kb", "baseline:dice"} == {
        *json.loads((tmp_path / "e.json").read_text())["sets"][0]["scores"]
    }
    again = output("build", "-q", cwd=tmp_path)
    assert "up to date" in again
    os.umask(before)
    assert not [path for path in tmp_path.rglob("*") if path.stat().st_mode & 0o077]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("search", "ship", "--run", "nowhere"), "nowhere"),
        (("similarity", A, "--run", "RUN"), "expected two texts"),
        (("search", "ship", "--run", "RUN", "--where", "color = 'red'"), "section"),
        (("search", " ", "--run", "RUN"), "query"),
        (("search", b"ship \xff".decode(errors="surrogateescape"), "--run", "RUN"), "half of a"),
        (("search", "RUN", "--run", "ship"), "ship: not a run"),
        (("search", "ship", "--run", "a b; c"), "--run 'a b; c'"),
        (("remove", b"doc \xff".decode(errors="surrogateescape"), "--run", "RUN"), "half of a"),
        (("build", "nothing.txt", "--run", "new"), "nothing.txt"),
        (("build", "demo:speeches", "--run", ""), "--run"),
        (("build", "demo:speeches", "--run", "new", "--set", "words.dimension=3"), "dimensions"),
        (("calibrate", "--run", "RUN", "--false-match-rate", "2"), "between 0 and 1"),
        (("compare-models", "baseline:none", "--run", "RUN"), "none"),
        (("report", "--run", "RUN", "--out", "FILE"), "FILE"),
        (("duplicates", "--run", "absent", "--out", "a" * 250), "too long"),
    ],
)
def test_errors_are_one_message(
    arguments: tuple[str, ...], message: str, toy_folder: Path, tmp_path: Path
) -> None:
    """Exit status 1 or 2, a message that names the problem, no traceback, and nothing is made."""
    (tmp_path / "FILE").write_text("mine")
    given = [str(toy_folder) if one == "RUN" else one for one in arguments]
    done = firth(*given, cwd=tmp_path)
    assert done.returncode in (1, 2)
    assert message in done.stderr.replace("\n", " ")
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "new").exists()
    assert (tmp_path / "FILE").read_text() == "mine"


@pytest.mark.parametrize("closed", ["| true", ">&-", "> /dev/full"])
def test_output_that_nobody_takes_is_no_traceback(closed: str, toy_folder: Path) -> None:
    """A reader that goes away, a closed stream, and a full disk."""
    command = f"{sys.executable} -m firth search ship --run {toy_folder} --top 50 -q {closed}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr


def test_help_of_every_command_is_short() -> None:
    for name in ("build", "search", "evaluate", "duplicates", "train"):
        text = output(name, "--help")
        assert "Usage" in text
        assert max(map(len, text.splitlines())) <= 100
    assert output("--version").startswith("firth ")


def test_two_files_are_matched_side_by_side(tmp_path: Path) -> None:
    """A row for each text of the left file, with all columns of both files."""
    names = [f"{a} {b} works" for a in ("north", "steel", "river", "amber") for b in
             ("bridge", "harbor", "garden", "castle", "market")]  # fmt: skip
    left, right, out = (tmp_path / name for name in ("left.csv", "right.csv", "out.csv"))
    left.write_text("key,name,town\n" + "".join(f"L{i},{x},T{i}\n" for i, x in enumerate(names)))
    right.write_text("code,name\n" + "".join(f"R{i},{x} ltd\n" for i, x in enumerate(names[5:])))
    output("match", left, right, "--text", "name", "--encoder", "none", "--out", out)
    with out.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["left: key"] for row in rows] == [f"L{i}" for i in range(20)]
    assert [*rows[0]][:5] == ["left: key", "left: name", "left: town", "right: code", "right: name"]
    assert [row["right: code"] for row in rows[5:]] == [f"R{i}" for i in range(15)]
    assert rows[7]["right: name"] == f"{names[7]} ltd"
    assert sum(not row["right: code"] for row in rows[:5]) >= 4
    renamed, again = tmp_path / "titles.csv", tmp_path / "again.csv"
    renamed.write_text(right.read_text().replace("code,name", "code,title"))
    for options in ((), ("--text", "name=title")):
        output("match", left, renamed, *options, "--encoder", "none", "--out", again, "--force")
        with again.open(encoding="utf-8", newline="") as file:
            assert [row["right: title"] for row in csv.DictReader(file)] == [
                row["right: name"] for row in rows
            ]
    drawn = tmp_path / "judged.csv"
    command = "match", left, right, "--text", "name", "--encoder", "none", "--review", drawn
    assert "1 or 0" in output(*command)
    drawn.write_text(drawn.read_text().replace("\n,", "\n1,"))
    assert "15 of 15 judged matches are right: at most" in output(*command)


def test_a_file_of_unrelated_texts_proves_a_rate(tmp_path: Path) -> None:
    """Of matches and of cosines; fewer than 20 texts prove nothing, and a run has no such file."""
    colors, things = ("red", "blue", "green", "grey", "pink"), ("mill", "quay", "barn", "shed")
    names = [f"{color} {thing} {where}" for color in colors for thing in things for where in
             ("street", "garden", "market")]  # fmt: skip
    left, right, other = (tmp_path / f"{side}.txt" for side in ("left", "right", "other"))
    left.write_text("\n".join(names[:30]))
    right.write_text("\n".join(f"the {name} house" for name in names[:30]))
    other.write_text("\n".join(names[30:]))
    options = "--encoder", "none", "--unrelated", other, "-q"
    assert "30 known strangers" in " ".join(output("match", left, right, *options).split())
    cosines = json.loads(output("calibrate", right, *options, "--json"))
    assert cosines["matches"]["proof"] == "proved with 30 known strangers"
    assert set(cosines["near_misses"]["0.1"]) == {"all", "not vetoed"}
    other.write_text("\n".join(names[30:45]))
    assert "at least 20" in firth("calibrate", right, *options).stderr
    assert "a file of texts" in firth("calibrate", "--unrelated", other).stderr
    assert "no such file" in firth("match", left, "nothing", "-q").stderr, "and no text"

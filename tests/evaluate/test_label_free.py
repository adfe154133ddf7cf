"""`firth check`: any systems, on a run or on documents."""

import json
import shutil
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import firth
from firth.check import CHECK
from firth.check.build import build_check, open_items
from firth.check.items import Item, Kind
from firth.check.measure import accuracies
from firth.cli import main as cli
from firth.evaluate.label_free import FLATTERED, check
from firth.evaluate.leakage import training_of
from firth.evaluate.models import resolve_model
from firth.lexical.arrays import Floats
from firth.lexical.scorer import TextPair
from firth.run import progress
from firth.run.config import Config
from firth.run.errors import InputError
from firth.run.run import CONFIG, Run


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    """Documents of 30 sentences whose neighbours share a word."""
    rng = np.random.default_rng(0)
    with (tmp_path / "a.jsonl").open("w") as file:
        for name in ("ship", "cow", "judge"):
            words = rng.permutation([f"w{a}{b}x" for a in "abcdef" for b in "ghijkl"])
            pairs = pairwise(words)
            text = " ".join(f"The {name} saw {one} near {two}." for one, two in pairs)
            file.write(json.dumps({"text": text}) + "\n")
    return tmp_path / "a.jsonl"


class Constant:
    name = "constant"

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        return np.zeros(len(pairs))


def test_documents_are_enough(documents: Path) -> None:
    """No run, no label: what shares words is better than what knows nothing; those who learned from
    the documents are warned of; nothing is left behind."""
    before = sorted(documents.parent.rglob("*"))
    report = firth.check([Constant(), "baseline:dice"], documents=documents)
    constant, dice = report.systems
    assert constant.accuracy[Kind.NEXT].value == 50
    assert dice.accuracy[Kind.NEXT].value > 90
    assert report.verdicts() == ["baseline:dice is better than constant here"]
    assert report.against == "constant"
    assert FLATTERED in report.text()
    assert report.documents[Kind.NEXT] == 3
    assert sorted(documents.parent.rglob("*")) == before
    same = check([Constant(), "baseline:dice"], documents=[documents], against="constant")
    assert same == report
    assert json.loads(json.dumps(report.as_dict()))["items"]["next"] == report.items[Kind.NEXT]


def test_a_run_is_asked_about_its_held_out_documents(tiny_run: Path) -> None:
    """The items are those of the stage; Origin and the Surrogate of the run are systems like any;
    with other items or another seed the run stays as it is."""
    models = [str(tiny_run / "surrogate"), "baseline:dice"]
    report = check(models, tiny_run)
    items = open_items(tiny_run)
    assert report.items[Kind.NEXT] == len([i for i in items if i.kind is Kind.NEXT]) > 10
    expected = 100 * accuracies(resolve_model("baseline:dice"), items).mean()
    assert set(report.items) == {Kind.NEXT}
    assert report.systems[1].accuracy[Kind.NEXT].value == pytest.approx(expected)
    assert report.elsewhere > 0
    assert FLATTERED not in report.text()
    before = (tiny_run / "check" / "manifest.json").read_bytes()
    few = check("baseline:dice", tiny_run, items=5, seed=4)
    assert few.items == {Kind.NEXT: 5}
    assert few.seed == 4
    assert few == check(["baseline:dice"], tiny_run, items=5, seed=4)
    assert (tiny_run / "check" / "manifest.json").read_bytes() == before


def test_items_that_the_run_has_are_not_made_again(
    tiny_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asked for as many as its stage was, the run gives the stage's own; for others, new ones."""
    config = Run.open(tiny_run).config
    expected = check("baseline:dice", tiny_run)

    def made(*_: object) -> list[Item]:
        raise NotImplementedError

    monkeypatch.setattr("firth.evaluate.label_free.make_items", made)
    assert check("baseline:dice", tiny_run, items=config.check.items, seed=config.seed) == expected
    with pytest.raises(NotImplementedError):
        check("baseline:dice", tiny_run, items=config.check.items - 1)


def test_the_stage_is_built_where_it_is_absent(tiny_run: Path, tmp_path: Path) -> None:
    """A run with a corpus needs nothing else; the configuration stays."""
    run = tmp_path / "run"
    run.mkdir()
    shutil.copy(tiny_run / CONFIG, run)
    shutil.copytree(tiny_run / "corpus", run / "corpus")
    assert not Run.open(run).has(CHECK)
    assert check("baseline:dice", run) == check("baseline:dice", tiny_run)
    assert build_check(Run.open(run)).reused
    assert Config.load(run / CONFIG) == Config.load(tiny_run / CONFIG)


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ((), "expected either a run"),
        (("--run", "{run}", "--documents", "{documents}"), "expected either a run"),
        (("--documents", "{documents}", "--against", "baseline:tfidf"), "--against baseline:tfidf"),
        (("--documents", "{short}"), "give no items; expected running text"),
        (("--run", "{few}"), "--set corpus.held_out=10"),
        (("--documents", "{documents}", "--out", "{short}"), "there already"),
    ],
)
def test_refusals(
    tiny_run: Path, documents: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], part: str,
) -> None:  # fmt: skip
    """One message that says what to do, and nothing on standard output."""
    short, few = tmp_path / "short.txt", tmp_path / "few"
    short.write_text("One line is not enough for this.")
    firth.Corpus.build([documents], few)
    names = {"run": tiny_run, "documents": documents, "short": short, "few": few}
    given = [argument.format(**names) for argument in arguments]
    status, out, err = call(monkeypatch, capsys, "baseline:dice", *given)
    assert (status, out) == (1, "")
    assert part in err


def call(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: object
) -> tuple[int, str, str]:
    """Run `firth check ARGUMENTS…`; exit status, standard output, standard error."""
    monkeypatch.setattr(sys, "argv", ["firth", "check", *map(str, arguments), "-q"])
    status = 0
    try:
        cli.main()
    except SystemExit as stop:
        status = int(stop.code or 0)
    finally:
        progress.set_quiet(True)
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def test_the_command(
    documents: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """`--json` prints what `--out` writes, and several documents follow one `--documents`."""
    out = tmp_path / "found" / "check.json"
    both = (documents, documents.parent)
    arguments = ("baseline:dice", "--documents", *both, "--items", 20, "--out", out)
    status, shown, err = call(monkeypatch, capsys, *arguments, "--json")
    assert status == 0, err
    assert json.loads(shown) == json.loads(out.read_text())
    assert json.loads(shown)["items"] == {"next": 20}
    status, shown, err = call(monkeypatch, capsys, *arguments)
    assert status == 1
    assert "--force" in err
    status, shown, err = call(monkeypatch, capsys, *arguments, "--force")
    assert status == 0
    assert "\nbaseline:dice  " in shown


def test_odd_models_are_refused(documents: Path) -> None:
    """What is no model is said before documents are read."""
    with pytest.raises(InputError, match="no such baseline"):
        check("baseline:nothing", documents=documents)
    with pytest.raises(InputError, match="got an object of type object"):
        check([object()], documents=documents)  # type: ignore[list-item]


def test_leakage_is_looked_for_in_what_was_learned_from(tiny_run: Path) -> None:
    """The training text of a run is its corpus without the held-out documents."""
    read = [text for batch in training_of(tiny_run).batches() for text in batch]
    corpus, held_out = firth.Corpus.open(tiny_run), firth.Corpus.held_out(tiny_run)
    assert read == corpus.texts(range(len(corpus)))
    assert not {*held_out.texts(range(len(held_out)))} <= {*read}

"""The command line: each command with good and with bad input, as a user types it."""

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from firth.cli import main as main_module
from firth.cli.main import app, main
from firth.corpus.corpus import Corpus
from firth.run import progress
from firth.run.config import Config
from firth.run.run import CONFIG

A, B = "The ship reached the harbour.", "The sailor found the island."
Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def firth(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs `firth ARGUMENTS…`; returns exit status, standard output, standard error."""

    def call(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["firth", *map(str, arguments)])
        status = 0
        try:
            main()
        except SystemExit as stop:
            status = int(stop.code or 0)
        finally:
            progress.set_quiet(True)
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return call


@pytest.fixture
def run(tiny_run: Path, tmp_path: Path) -> Path:
    """A copy of the tiny run that may be changed."""
    return Path(shutil.copytree(tiny_run, tmp_path / "run"))


def commands(of: Any = None, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    """Every command and every group of commands, by the words that call it."""
    found = {path: of or get_command(app)}
    for name, command in getattr(found[path], "commands", {}).items():
        found |= commands(command, (*path, name))
    return found


COMMANDS = commands()
SEEDLESS = {
    ("example",),
    ("mteb",),
    ("bws", "export"),
    ("corpus", "add"),
    ("corpus", "stats"),
    ("check-run",),
    ("leakage",),
    ("pull",),
    ("push",),
    ("encode",),
    ("search",),
    ("serve",),
}
"""They draw nothing at random."""


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_has_help(firth: Command, words: tuple[str, ...]) -> None:
    """`--help` explains each command; all that do work take --seed, and --quiet or -q."""
    status, out, _ = firth(*words, "--help")
    assert status == 0
    assert "Usage" in out
    if not hasattr(COMMANDS[words], "commands"):
        assert "--quiet" in out
        assert "-q" in {name for option in COMMANDS[words].params for name in option.opts}
        assert ("--seed" in out) == (words not in SEEDLESS)


def test_help_stands_in_groups(firth: Command) -> None:
    """What is built and used comes first, research last; no command stands outside of a group."""
    _, out, _ = firth("--help")
    panels = [out.index(title) for title in (main_module._USE, main_module._MEASURE,
              main_module._ADAPT, main_module._RESEARCH)]  # fmt: skip
    assert panels == sorted(panels)
    assert panels[0] < out.index(" build ") < panels[1] < panels[3] < out.index(" reproduce ")
    assert " Commands " not in out


def test_the_commands_are_found() -> None:
    """The premise of the test above: groups are looked into."""
    assert {(), ("demo",), ("corpus", "build"), ("bws", "crowd")} <= set(COMMANDS)


def test_similarity_prints_one_number_and_is_symmetric(firth: Command, tiny_run: Path) -> None:
    """The number is sim(s1, s2), and nothing else is on standard output."""
    _, one, _ = firth("similarity", A, B, "--run", tiny_run)
    _, two, _ = firth("similarity", B, A, "--run", tiny_run)
    assert one == two
    assert -1 <= float(one) <= 1


def test_similarity_json_holds_all_terms(firth: Command, tiny_run: Path) -> None:
    """`--json` gives Eq. 3 term by term, consistent with the number."""
    _, out, _ = firth("similarity", A, B, "--run", tiny_run, "--json")
    found = json.loads(out)
    _, plain, _ = firth("similarity", A, B, "--run", tiny_run)
    assert found["similarity"] == pytest.approx(float(plain), abs=1e-6)
    for item in found["evidence"]:
        total = sum(found["weights"][name] * item["terms1"][name] for name in found["weights"])
        assert total == pytest.approx(item["fit1"], rel=1e-5)


def test_the_default_origin_explains_by_parts(firth: Command, run: Path) -> None:
    """Method `ensemble`: parts and evidence on the screen, the sum of them in JSON."""
    blend = ("--set", "origin.method=ensemble")
    near = A.replace("ship", "sailor")
    _, out, _ = firth("explain", A, near, "--run", run, "--top", 2, *blend)
    assert all(name in out for name in ("Where both would stand", "Words that meet", "rest"))
    _, out, _ = firth("similarity", A, near, "--run", run, "--json", *blend)
    found = json.loads(out)
    added = sum(part["added"] for part in found["parts"].values())
    assert added == pytest.approx(found["similarity"])
    assert {"themes", "words"} <= set(found["parts"])
    for name, listed in (("themes", found["themes"]), ("words", found["meetings"])):
        whole = sum(item["added"] for item in listed) + found["parts"][name]["rest"]
        assert whole == pytest.approx(found["parts"][name]["added"], abs=1e-9)


def test_explain_writes_pages_and_lines(firth: Command, run: Path, tmp_path: Path) -> None:
    """`--out` by the name of the file, of one pair or many; a wrong name is refused at once."""
    given = ("--run", run, "--set", "origin.method=ensemble")
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text(f"{A}\t{B}\n{B}\t{A}\n")
    assert firth("explain", A, B, *given, "--out", tmp_path / "one.json")[0] == 0
    one = json.loads((tmp_path / "one.json").read_text())
    assert firth("explain", "--pairs", pairs, *given, "--out", tmp_path / "all.jsonl")[0] == 0
    lines = [json.loads(line) for line in (tmp_path / "all.jsonl").read_text().splitlines()]
    assert [line["sentence1"] for line in lines] == [A, B]
    assert lines[0]["similarity"] == lines[1]["similarity"] == one["similarity"]
    for preset in (given, given[:2]):  # the printed method has a page, too
        out = tmp_path / "all.html"
        assert firth("explain", "--pairs", pairs, *preset, "--out", out, "--force")[0] == 0
        assert out.read_text().count("<article>") == 2
    status, _, err = firth("explain", A, B, *given, "--out", tmp_path / "one.txt")
    assert status == 1
    assert ".html" in err
    status, _, err = firth("explain", A, B, *given, "--out", tmp_path / "one.json")
    assert status == 1
    assert "--force" in err


def test_explain_a_model(firth: Command, run: Path) -> None:
    """The Surrogate's own score, by the run's contexts; settings of Origin do not reach it."""
    model = ("--run", run, "--model", run / "surrogate")
    status, out, _ = firth("explain", A, B, *model, "--json")
    assert status == 0
    found = json.loads(out)
    assert found["parts"]["themes"]["added"] == pytest.approx(found["similarity"])
    status, _, err = firth("explain", A, B, *model, "--set", "origin.own=1")
    assert status == 1
    assert "--model" in err


def test_the_preset_is_origin_as_printed(firth: Command, run: Path) -> None:
    """`--preset paper-small` asks for the cosine of raw fits, whatever the run says; --set wins."""
    preset = ("--preset", "paper-small", "--json")
    status, out, _ = firth("similarity", A, B, "--run", run, *preset)
    found = json.loads(out)
    assert status == 0
    assert found["measure"] == "cosine"
    assert set(found["weights"].values()) == {1.0}
    assert len(found["evidence"]) > 4, "more contexts than the run's configuration has"
    more = ("--set", "paper.contexts=2", "--set", "paper.measure=centred")
    _, out, _ = firth("similarity", A, B, "--run", run, *preset, *more)
    fewer = json.loads(out)
    assert len(fewer["evidence"]) <= 4
    assert fewer["measure"] == "centred"


def test_whatever_takes_settings_takes_a_preset() -> None:
    """And what asks a run's Origin takes one, too."""
    options = {
        path: {name for parameter in command.params for name in parameter.opts}
        for path, command in COMMANDS.items()
    }
    taking = {path for path, names in options.items() if "--preset" in names}
    assert {path for path, names in options.items() if "--set" in names} <= taking
    asking: set[tuple[str, ...]] = {
        ("evaluate",),
        ("check",),
        ("mteb",),
        ("search",),
        ("compare-documents",),
    }
    asking |= {("serve",), ("report",), ("relatedness", "models")}
    assert asking <= taking


def test_a_preset_reaches_evaluation_and_harvest(firth: Command, run: Path) -> None:
    """Origin is asked as printed where it is evaluated, and stays so in a run that harvests; a
    preset that no model could follow is refused."""
    small = ("--set", "paper.contexts=3", "--set", "paper.shortlist=4")
    given = ("harvest", "--run", run, "--preset", "paper-small", "--pairs", "36")
    assert firth(*given, *small, "--set", "harvest.shard_pairs=12")[0] == 0
    kept = Config.load(run / CONFIG)
    assert (kept.paper.measure, kept.paper.contexts, kept.harvest.pairs) == ("cosine", 3, 36)
    more = ("--task", "lee", "--pairs", "2", "--no-leakage", "--no-cache", "--resamples", "9")
    status, out, _ = firth("evaluate", run, *more, "--preset", "paper-small")
    assert status == 0
    assert "500 contexts, cosine" in out
    status, out, _ = firth("evaluate", run, *more)
    assert "3 contexts, cosine" in out
    status, _, err = firth("evaluate", "baseline:dice", *more, "--preset", "paper-small")
    assert status == 1
    assert "expected a run" in err


def test_scores_as_printed_keep_their_order_on_the_screen(
    firth: Command, run: Path, tmp_path: Path
) -> None:
    """Raw cosines have 12 decimals: two that are one in six are two in the file."""
    pairs, out = tmp_path / "pairs.tsv", tmp_path / "scores.tsv"
    pairs.write_text(f"{A}\t{B}\n{A}\tThe judge praised the jury.\n")
    given = ("similarity", "--pairs", pairs, "--run", run, "--out", out)
    assert firth(*given, "--set", "paper.measure=cosine")[0] == 0
    shown = [line.split("\t")[0] for line in out.read_text().splitlines()]
    assert [len(score.partition(".")[2]) for score in shown] == [12, 12]
    assert len(set(shown)) == 2


@pytest.mark.parametrize("built", ["paper", "ensemble"])
def test_where_one_origin_is_missing_the_other_is_told(
    firth: Command, run: Path, built: str
) -> None:
    """A run whose models are those of the other method says how to ask them, whatever is asked."""
    missing, other = ("context", "ensemble") if built == "paper" else ("coherence", "paper")
    shutil.rmtree(run / missing)
    config = Config.load(run / CONFIG).changed({"origin": {"method": other}}, "test")
    (run / CONFIG).write_text(f"# Written by firth: the settings of this run.\n{config.to_yaml()}")
    way = "--preset paper-small" if built == "paper" else "--set origin.method=ensemble"
    for command in (
        ("similarity", A, B, "--run", run),
        ("explain", A, B, "--run", run),
        ("evaluate", run, "--task", "lee", "--no-cache"),
        ("harvest", "--run", run, "--pairs", "36"),
    ):
        status, _, err = firth(*command)
        assert status == 1, command
        assert way in err, command
        assert f"'{missing}'" in err, command
    asked = way.split() + (["--set", "paper.contexts=3"] if built == "paper" else [])
    assert firth("similarity", A, B, "--run", run, *asked)[0] == 0


def test_train_fit(firth: Command, run: Path, tmp_path: Path) -> None:
    """Reused where nothing changed; a model that is not there leaves the run as it was."""
    status, out, _ = firth("train", "context", "--run", run)
    assert status == 0
    assert "context (up to date): Learned 52 words from" in out
    before = (run / CONFIG).read_text()
    status, _, err = firth("train", "context", "--run", run, "--model", tmp_path / "none")
    assert status == 1
    assert "none" in err
    assert (run / CONFIG).read_text() == before
    status, out, _ = firth("train", "context", "--run", run, "--set", "context.bag.epochs=2")
    assert status == 0


def test_adapt(firth: Command, run: Path, tmp_path: Path) -> None:
    """The folder is there, both tables on the screen; JSON is the report; what is refused is said
    before anything changes."""
    more = ("--run", run, "--set", "context.tune.steps=2")
    status, out, _ = firth("adapt", run / "surrogate", *more, "--out", tmp_path / "out")
    assert status == 0
    assert out.count("standardised") >= 3
    assert f"Kept: as it is. {tmp_path / 'out'}" in out
    assert (tmp_path / "out" / "modules.json").is_file()
    status, out, _ = firth("adapt", run / "surrogate", *more, "--json")
    assert json.loads(out)["kept"] == "as it is"
    before = (run / CONFIG).read_text()
    status, _, err = firth("adapt", tmp_path / "none", "--run", run)
    assert status == 1
    assert "none" in err
    assert (run / CONFIG).read_text() == before


def test_train_context_finds_the_kind_of_a_model(
    firth: Command, run: Path, tiny_bert: Path, tiny_llm: Path
) -> None:
    """By its files, whatever the run had before; --encoder overrules."""
    small = ("--run", run, "--set", "context.tune.steps=0", "--set", "context.contexts=20")
    for model, options, kind in (
        (tiny_bert, (), "sentence-encoder"),
        (tiny_llm, (), "causal-lm"),
        (tiny_llm, ("--encoder", "bag"), "bag"),
    ):
        status, _, err = firth("train", "context", "--model", model, *options, *small)
        assert status == 0, err
        assert Config.load(run / CONFIG).context.encoder == kind
        assert json.loads((run / "context" / "encoder.json").read_text())["encoder"] == kind


def test_similarity_of_a_file(firth: Command, tiny_run: Path, tmp_path: Path) -> None:
    """`--pairs` scores each line; `--out` writes what would be printed; blank lines are skipped."""
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text(f"{A}\t{B}\n\n{B}\t{B}\textra\r\n", encoding="utf-8-sig")
    status, out, _ = firth("similarity", "--pairs", pairs, "--run", tiny_run)
    assert status == 0
    rows = [line.split("\t") for line in out.splitlines()]
    assert [row[1:] for row in rows] == [[A, B], [B, B]]
    assert float(rows[1][0]) == 1
    written = ("similarity", "--pairs", pairs, "--run", tiny_run, "--out", tmp_path / "out.tsv")
    assert firth(*written)[0] == 0
    assert (tmp_path / "out.tsv").read_text() == out
    status, _, err = firth(*written)
    assert status == 1
    assert "--force" in err
    assert firth(*written, "--force")[0] == 0


def test_rows_and_pages_say_what_scores_mean(firth: Command, run: Path, tmp_path: Path) -> None:
    """Where the scale is built, a table has the shares that JSON has, and a page the words."""
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text(f"{A}\t{B}\n")
    ensemble = ("--run", run, "--set", "origin.method=ensemble")
    asked = ("similarity", "--pairs", pairs, *ensemble)
    _, plain, _ = firth(*asked)
    assert plain.count("\t") == 2, "premise: no scale of Origin's scores"
    assert firth("scale", *ensemble, "--set", "scale.origin_pairs=40")[0] == 0
    _, out, err = firth(*asked)
    found = json.loads(firth(*asked, "--json")[1])[0]["scale"]
    cells = out.rstrip("\n").split("\t")
    assert [float(cell) for cell in cells[3:]] == pytest.approx([*found.values()], abs=1e-6)
    assert ", ".join(found) in err
    page = tmp_path / "why.html"
    for model in (ensemble, ("--run", run, "--model", run / "surrogate")):
        assert firth("explain", A, B, *model, "--out", page, "--force")[0] == 0
        assert "random pairs" in page.read_text()


def test_nothing_known_is_not_the_same(firth: Command, run: Path) -> None:
    """Two sentences of words that the corpus never had are not alike, and the words are named."""
    given = ("--run", run, "--set", "origin.method=ensemble")
    for one, two, words in (("The xqzzy blorped.", "The wuffle grommed.", "xqzzy, blorped"),
                            ("!!!", "???", "")):  # fmt: skip
        status, out, err = firth("similarity", one, two, *given)
        assert status == 0
        assert float(out) < 0.1
        assert words in err
    _, _, err = firth("explain", A, B, *given)
    assert "nothing was learned of" not in err


def test_a_header_is_no_pair(firth: Command, tiny_run: Path, tmp_path: Path) -> None:
    """Names of columns in the first line are left out, and said; a pair there is a pair."""
    pairs = tmp_path / "pairs.tsv"
    for header in ("sentence1\tsentence2\tscore", "Text A\ttext_b", "s1\ts2"):
        pairs.write_text(f"{header}\n{A}\t{B}\n")
        _, out, err = firth("similarity", "--pairs", pairs, "--run", tiny_run)
        assert len(out.splitlines()) == 1
        assert "line 1: names of columns" in err
    pairs.write_text(f"{A}\t{B}\ns1\ts2\n")
    _, out, _ = firth("similarity", "--pairs", pairs, "--run", tiny_run)
    assert len(out.splitlines()) == 2


def test_contexts_and_explain(firth: Command, tiny_run: Path) -> None:
    """The best contexts come first, and explanations by the size of their influence."""
    _, out, _ = firth("contexts", A, "--run", tiny_run, "--top", 3, "--json")
    fits = [row["fit"] for row in json.loads(out)["contexts"]]
    assert len(fits) == 3
    assert fits == sorted(fits, reverse=True)
    _, out, _ = firth("explain", A, B, "--run", tiny_run, "--json")
    moved = [abs(item["influence"]) for item in json.loads(out)["evidence"]]
    assert moved == sorted(moved, reverse=True)
    _, out, _ = firth("explain", A, B, "--run", tiny_run, "--top", 2)
    assert out.count("fits") == 2


def test_settings_for_one_question_leave_the_run_alone(firth: Command, run: Path) -> None:
    """`--set origin.…` changes the answer and not the configuration on disk."""
    before = (run / CONFIG).read_bytes()
    _, usual, _ = firth("similarity", A, B, "--run", run)
    _, other, _ = firth("similarity", A, B, "--run", run, "--set", "paper.measure=cosine")
    assert usual != other
    assert (run / CONFIG).read_bytes() == before


def test_corpus_stats(firth: Command, tiny_run: Path) -> None:
    """The figures are those of the tiny corpus, and each source has a line."""
    _, out, _ = firth("corpus", "stats", "--run", tiny_run, "--json")
    found = json.loads(out)
    assert found["documents"] + found["held_out"] == 40
    assert found["sources"]
    _, out, _ = firth("corpus", "stats", "--run", tiny_run)
    lines = [line.split() for line in out.splitlines()]
    for source in found["sources"]:
        name = Path(source.pop("source")).name
        assert [name, *(str(figure) for figure in source.values())] in lines


def test_building_again_changes_nothing(firth: Command, run: Path) -> None:
    """`firth run` on a finished run reuses every stage."""
    before = {p: p.stat().st_mtime_ns for p in run.rglob("manifest.json")}
    status, out, err = firth("run", run / CONFIG, "--run", run)
    assert status == 0
    assert {p: p.stat().st_mtime_ns for p in run.rglob("manifest.json")} == before
    assert "built in" not in err
    assert "harvest" in out


def test_step_by_step_equals_run(firth: Command, tiny_run: Path, tmp_path: Path) -> None:
    """The single commands, one after the other, end with the bytes of the whole pipeline."""
    run = tmp_path / "steps"
    inputs = Config.load(tiny_run / CONFIG).corpus.inputs
    run.mkdir()
    (run / CONFIG).write_bytes((tiny_run / CONFIG).read_bytes())
    for command in (
        ("corpus", "build", *inputs),
        ("train", "coherence"),
        ("train", "generator"),
        ("harvest", "--pairs", 60),
        ("distill",),
    ):
        status, _, err = firth(*command, "--run", run, "--quiet")
        assert status == 0, err
    for name in ("harvest/train.parquet", "surrogate/manifest.json", "coherence/manifest.json"):
        assert (run / name).read_bytes() == (tiny_run / name).read_bytes()


@pytest.mark.parametrize("model", ["{run}", "{run}/surrogate", "baseline:dice", "baseline:tfidf"])
def test_evaluate_writes_what_it_shows(
    firth: Command, tiny_run: Path, tmp_path: Path, model: str
) -> None:
    """Any kind of model is evaluated on a folder of sets; JSON holds value and interval × 100."""
    sets = tmp_path / "sets" / "STSb"
    sets.mkdir(parents=True)
    rows = ["sentence1\tsentence2\tscore\tsubtask\tsplit"]
    for i, words in enumerate(("ship wave", "cow barn", "judge trial", "song violin", "sail tide")):
        one, two = words.split()
        rows.append(f"The {one} is here.\tThe {two} is there.\t{i}.0\ttoy\ttest")
    (sets / "pairs.tsv").write_text("\n".join(rows) + "\n")
    arguments = ("--task", "sts-b", "--data-dir", sets.parent, "--quiet")
    status, out, err = firth("evaluate", model.format(run=tiny_run), *arguments)
    assert status == 0, err
    assert "sts-b" in out
    status, out, err = firth("evaluate", model.format(run=tiny_run), *arguments, "--json")
    assert status == 0, err
    results = json.loads(out)["results"]
    assert {"model", "task", "subtask", "split", "metric", "value", "low", "high", "n"} <= set(
        results[0]
    )


@pytest.mark.parametrize(
    ("command", "option"),
    [
        (("distill",), ("--base", "no/such/encoder")),
        (("train", "generator"), ("--backend", "causal-lm", "--model", "no/such/model")),
        (("train", "baseline", "simcse"), ("--base", "no/such/encoder")),
        (("corpus", "build", "no-such-file.txt"), ("--set", "corpus.window=2")),
    ],
)
def test_what_is_refused_leaves_no_trace(
    firth: Command, run: Path, command: tuple[str, ...], option: tuple[str, ...]
) -> None:
    """A setting that cannot be used is not kept: the run goes on as it was."""
    before = (run / "config.yaml").read_text()
    status, _, err = firth(*command, "--run", run, *option, "-q")
    assert status == 1
    assert "no/such" in err or "no-such" in err
    assert (run / "config.yaml").read_text() == before


def test_several_models_into_a_folder_and_compared(
    firth: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Models before --task, names of sets after it; what `compare` says is in its JSON too."""
    monkeypatch.chdir(tmp_path)
    sets = tmp_path / "STSb"
    sets.mkdir()
    rows = ["sentence1\tsentence2\tscore\tsubtask\tsplit"]
    for split in ("dev", "test"):
        for i, one in enumerate(("ship", "cow is", "judge is here", "song over there", "tide")):
            rows.append(f"The {one} here.\tThe {one} is there.\t{i}.0\ttoy\t{split}")
    (sets / "pairs.tsv").write_text("\n".join(rows) + "\n")
    models = ("baseline:dice", "baseline:tfidf")
    given = ("--task", "sts-b", "sts-b:dev", "--data-dir", tmp_path, "--resamples", 20)
    group = ("--group", "both=baseline:dice,baseline:tfidf", "--against", "baseline:dice")
    status, out, err = firth("evaluate", *models, *given, *group, "--out", "found", "-q")
    assert status == 0, err
    assert out.splitlines()[0].split()[-2:] == list(models)
    assert "both (2 models) sts-b dev spearman" in out
    assert (tmp_path / "found" / "plots" / "bars.png").is_file()
    status, out, err = firth("compare", "found", "--out", "differences.json")
    assert status == 0, err
    differences = json.loads((tmp_path / "differences.json").read_text())["differences"]
    assert len(differences) == sum(not line.startswith(" ") for line in out.splitlines()) == 4
    printed = json.loads(firth("compare", "found", "--json")[1])
    assert printed["differences"] == differences
    for cached in (("--no-cache",), ("--cache", "elsewhere")):
        assert firth("compare", "found", "--subtasks", *cached)[1] == out
    assert not list((tmp_path / "elsewhere").rglob("similarities/*"))
    mean = ("--mean", "sts-b:dev, sts-b:test", "--out", "means.json")
    status, out, err = firth("compare", "found", *mean)
    assert status == 0, err
    assert out.startswith("mean of sts-b:dev, sts-b:test spearman: baseline:dice has ")
    assert len(json.loads((tmp_path / "means.json").read_text())["averages"]) == 4


def test_leakage_names_what_a_run_holds(firth: Command, tiny_run: Path, tmp_path: Path) -> None:
    """Counts of every split that is there, examples below; the JSON holds both."""
    sets = tmp_path / "STSb"
    sets.mkdir()
    text = Corpus.open(tiny_run).text(0)
    rows = "".join(f"{text}\tA ship.\t1.0\ttoy\t{split}\n" for split in ("dev", "test"))
    (sets / "pairs.tsv").write_text("sentence1\tsentence2\tscore\tsubtask\tsplit\n" + rows)
    file = tmp_path / "leaks.json"
    given = ("--task", "sts-b", "--data-dir", tmp_path, "-q")
    status, out, err = firth("leakage", tiny_run, *given, "--out", file)
    assert status == 0, err
    assert "sts-b dev: 1 of 1 texts exactly" in out
    assert "sts-b test: 1 of 1 texts exactly" in out
    assert f"exact (1.00): {text}" in out
    assert [one["exact"] for one in json.loads(file.read_text())["sets"]] == [1, 1]
    assert json.loads(firth("leakage", tiny_run, *given, "--json")[1]) == json.loads(
        file.read_text()
    )


BAD = [
    (("similarity", A, "--run", "{run}"), "expected two sentences"),
    (("similarity", A, " ", "--run", "{run}"), "empty sentence"),
    (("similarity", A, B, "--run", "{tmp}/nowhere"), "not a run"),
    (("similarity", "--pairs", "{tmp}/none.tsv", "--run", "{run}"), "none.tsv"),
    (("similarity", "--pairs", "{bad}", "--run", "{run}"), "line 2"),
    (("similarity", A, B, "--pairs", "{bad}", "--run", "{run}"), "expected one of them"),
    (("similarity", A, B, "--run", "{run}", "--set", "paper.contexts=0"), "paper.contexts"),
    (("similarity", A, B, "--run", "{run}", "--set", "origin.colour=red"), "no such setting"),
    (("similarity", A, B, "--run", "{run}", "--set", "corpus.window=2"), "only origin"),
    (("similarity", A, B, "--run", "{run}", "--set", "contexts"), "SECTION.NAME=VALUE"),
    (("contexts", "", "--run", "{run}"), "empty sentence"),
    (("explain", A, "", "--run", "{run}"), "empty sentence"),
    (("corpus", "build", "{tmp}/absent.txt", "--run", "{tmp}/new"), "absent.txt"),
    (("corpus", "stats", "--run", "{tmp}/nowhere"), "not a run"),
    (("train", "coherence", "--run", "{tmp}/nowhere"), "not a run"),
    (("train", "generator", "--run", "{run}", "--backend", "causal-lm"), "model"),
    (("harvest", "--run", "{run}", "--pairs", "5"), "harvest.pairs"),
    (("harvest", "--run", "{run}", "--pairs", "9" * 20), "harvest.pairs"),
    (("harvest", "--run", "{run}", "--pairs", "9" * 9), "sentences, which make"),
    (("distill", "--run", "{run}", "--base", "{tmp}/no-model"), "no-model"),
    (("evaluate", "{run}", "--task", "sts-z"), "sts-z"),
    (("evaluate", "{run}"), "--task"),
    (("evaluate", "--task", "lee"), "MODEL"),
    (("evaluate", "baseline:dice", "--task", "lee", "--against", "{run}"), "among the models"),
    (("evaluate", "--task", "lee", "--group", "cbos=baseline:dice"), "at least two models"),
    (("evaluate", "baseline:dice", "--task", "lee", "--out", "{bad}"), "pairs.tsv"),
    (("compare", "{tmp}/nowhere.json"), "nowhere.json"),
    (("compare", "{bad}"), "pairs.tsv"),
    (("leakage", "{tmp}/nowhere.txt"), "nowhere.txt"),
    (("evaluate", "baseline:dice", "--task", "lee", "--cache", "{bad}"), "folder of the cache"),
    (("leakage", "{run}", "--task", "sts-z"), "sts-z"),
    (("evaluate", "baseline:dove", "--task", "lee"), "dove"),
    (("evaluate", "{tmp}/nowhere", "--task", "lee"), "nowhere"),
    (("run", "{tmp}/absent.yaml"), "absent.yaml"),
    (("run", "{bad}"), "pairs.tsv"),
]


@pytest.mark.parametrize(("arguments", "part"), BAD, ids=lambda x: " ".join(x)[:60])
def test_bad_input_is_one_message(
    firth: Command, run: Path, tmp_path: Path, arguments: tuple[str, ...], part: str
) -> None:
    """A non-zero exit, nothing on standard output, and a message that names what was wrong."""
    bad = tmp_path / "pairs.tsv"
    bad.write_text(f"{A}\t{B}\nonly one cell\n")
    names = {"run": run, "tmp": tmp_path, "bad": bad}
    status, out, err = firth(*[argument.format(**names) for argument in arguments])
    assert status != 0
    assert out == ""
    assert part in err
    assert "Traceback" not in err


def test_a_failed_change_leaves_the_configuration(firth: Command, run: Path) -> None:
    """A setting that is refused is not written."""
    before = (run / CONFIG).read_bytes()
    status, _, _ = firth("harvest", "--run", run, "--pairs", 5)
    assert status != 0
    assert (run / CONFIG).read_bytes() == before

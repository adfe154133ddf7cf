"""Several models at once: selection, cache, groups, folder, tables, plots, comparison of files."""

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from firth import evaluate
from firth.cli.main import app
from firth.evaluate import load, models, plots
from firth.evaluate import models as scoring
from firth.evaluate.comparison import compare, compare_saved
from firth.evaluate.evaluate import evaluate_models
from firth.evaluate.metrics import Floats
from firth.evaluate.plots import plot_heat
from firth.evaluate.report import Report, read_saved
from firth.evaluate.results import Evaluation
from firth.evaluate.tables import escape, to_latex, to_markdown
from firth.lexical.scorer import Scorer, TextPair
from firth.run.errors import InputError

MODELS = ["baseline:dice", "baseline:tfidf"]
TASKS = ["sts13", "sts-b", "wiki-sections", "lee"]


class Noisy:
    """Length of the shorter text, and noise of a seed: a model trained with that seed."""

    def __init__(self, seed: int, noise: float = 1.0) -> None:
        self.name = f"noisy {seed}"
        self._seed, self._noise = seed, noise

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        """Shape (n,)."""
        noise = np.random.default_rng(self._seed).normal(size=len(pairs))
        return np.array([min(map(len, pair)) for pair in pairs]) + self._noise * noise


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The models that are opened."""
    opened: list[str] = []
    resolve = models.resolve_model

    def counting(spec: str) -> Scorer:
        opened.append(str(spec))
        return resolve(spec)

    monkeypatch.setattr(scoring, "resolve_model", counting)
    return opened


def test_several_models_equal_one_by_one(data_dir: Path) -> None:
    """The report is the evaluations of its models, in their order, each once."""
    report = evaluate_models([*MODELS, MODELS[0]], TASKS, data_dir)
    assert report.evaluations == tuple(evaluate(model, TASKS, data_dir) for model in MODELS)


def test_many_models_stand_below_each_other(data_dir: Path) -> None:
    """Past four, a line a model: the values and intervals of the Markdown table, columns even."""
    few = evaluate_models([Noisy(seed) for seed in range(4)], ["sts13", "sts-b"], data_dir)
    assert few.text().splitlines()[0].startswith("task")
    many = evaluate_models([Noisy(seed) for seed in range(5)], ["sts13", "sts-b"], data_dir)
    lines = many.text().splitlines()
    assert lines[0].split() == ["system", "STS13", "STSb", "Avg."]
    rows = [line for line in to_markdown(many.layout()).splitlines() if line.startswith("| ")][2:]
    assert [line.split() for line in lines[2:7]] == [row.replace("|", " ").split() for row in rows]
    assert len({len(line) for line in lines[:7]}) == 1


def test_all_takes_what_is_there_and_says_what_is_not(data_dir: Path) -> None:
    """Every task whose data can be found; for each other one the places looked at."""
    report = evaluate_models(["baseline:dice"], ["all"], data_dir)
    found = [(i.data.task.name, i.data.split) for i in report.evaluations[0].scored]
    expected = [("sts13", "test"), ("sts-b", "test"), ("wiki-sections", "test"), ("lee", "all")]
    assert [one for one in found if one in expected] == expected
    reasons = {item.name: item.reason for item in report.left_out}
    assert {"sts12", "sick-r", "afs"} <= reasons.keys()
    assert f"{data_dir}/STS12/pairs.tsv: no such file" in reasons["sts12"]
    assert "\n" not in reasons["sts12"]
    hub = "the hub cannot be reached (HF_HUB_OFFLINE=1 uses what is cached)"
    assert [line for line in report.text().splitlines() if "left out" in line] == [
        f"(6 tasks left out (sts12, sts14, sts15, sts16, sick-r, str-2021): not in {data_dir}; "
        f"{hub})",
        f"(task afs left out: not in {data_dir}; not on the hub)",
    ], "each problem once"
    both = evaluate_models(["baseline:dice"], ["all", "sts-b:dev"], data_dir)
    splits = {i.data.split for i in both.evaluations[0].scored if i.data.task.name == "sts-b"}
    assert splits == {"dev", "test"}


def test_nothing_found_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without hub, folder and gensim: a line a reason, not one a task."""
    monkeypatch.setattr(load, "gensim_files", lambda: None)
    with pytest.raises(InputError, match="all: no evaluation set can be found") as error:
        evaluate_models(["baseline:dice"], ["all"])
    lines = str(error.value).splitlines()
    assert len(lines) == 4
    assert lines[1].startswith("  - 9 tasks left out (sts12, sts13, ")


def test_all_baselines_are_those_that_open(data_dir: Path, tiny_run: Path) -> None:
    """Without a run those that need nothing; with one also its idf; reasons for all others."""
    report = evaluate_models(["baseline:all"], ["sts13"], data_dir)
    names = [one.model for one in report.evaluations]
    assert names[:2] == MODELS
    left = {item.name: item.reason for item in report.left_out}
    assert "needs baseline:cbow@RUN" in left["baseline:cbow"]
    with_run = evaluate_models([f"baseline:all@{tiny_run}"], ["sts13"], data_dir)
    assert f"baseline:tfidf@{tiny_run}" in [one.model for one in with_run.evaluations]
    left = {item.name: item.reason for item in with_run.left_out}
    assert "firth train baseline cbow" in left[f"baseline:cbow@{tiny_run}"]
    with pytest.raises(InputError, match="is not a run"):
        evaluate_models(["baseline:all@nowhere"], ["sts13"], data_dir)


def test_a_rerun_opens_no_model_and_changes_no_byte(
    data_dir: Path, tmp_path: Path, encoder_folder: Path, counted: list[str]
) -> None:
    """Similarities, figures and differences come from the cache; a damaged entry is made again."""
    models = [*MODELS, str(encoder_folder)]

    def run(name: str) -> Path:
        report = evaluate_models(
            models, TASKS, data_dir, against=MODELS[0], cache=tmp_path / "cache"
        )
        report.to_json(tmp_path / name)
        return tmp_path / name

    first = run("first.json").read_bytes()
    assert counted == models
    assert run("second.json").read_bytes() == first
    assert counted == models
    for path in (tmp_path / "cache" / "similarities").iterdir():
        path.write_bytes(path.read_bytes()[:-1])
    assert run("third.json").read_bytes() == first
    assert counted == [*models, *models]


def test_two_models_of_one_name_share_nothing(
    data_dir: Path, tmp_path: Path, encoder_folder: Path, counted: list[str]
) -> None:
    """The cache knows a folder by its bytes: another model put in its place is computed anew, and
    an equal one elsewhere is not computed at all.
    """
    from safetensors.numpy import load_file, save_file

    folder, cache = tmp_path / "model", tmp_path / "cache"
    shutil.copytree(encoder_folder, folder)
    one = evaluate(str(folder), ["sts13"], data_dir, cache=cache)
    (weights,) = folder.rglob("*.safetensors")
    tensors = load_file(weights)
    save_file({name: -tensor[::-1].copy() for name, tensor in tensors.items()}, weights)
    two = evaluate(str(folder), ["sts13"], data_dir, cache=cache)
    assert len(counted) == 2
    assert one.fingerprint != two.fingerprint
    assert one.results != two.results
    three = evaluate(str(encoder_folder), ["sts13"], data_dir, cache=cache)
    assert [r.value for r in three.results] == [r.value for r in one.results]
    assert np.array_equal(three.scored[0].similarities, one.scored[0].similarities)


def test_a_run_that_is_not_there_has_no_cached_similarities(
    data_dir: Path, tmp_path: Path, tiny_run: Path
) -> None:
    """`baseline:tfidf@NOWHERE` is an error, though `baseline:tfidf` is in the cache."""
    cache = tmp_path / "cache"
    own = evaluate("baseline:tfidf", ["sts13"], data_dir, cache=cache)
    with pytest.raises(InputError, match="not a run"):
        evaluate(f"baseline:tfidf@{tmp_path}", ["sts13"], data_dir, cache=cache)
    of_run = evaluate(f"baseline:tfidf@{tiny_run}", ["sts13"], data_dir, cache=cache)
    assert own.fingerprint != of_run.fingerprint


def test_reordered_rows_are_not_mixed_up(data_dir: Path, tmp_path: Path) -> None:
    """The data's fingerprint ignores the order of rows; cached similarities must not."""
    first = evaluate("baseline:dice", ["sts13"], data_dir, cache=tmp_path / "cache")
    file = data_dir / "STS13" / "pairs.tsv"
    header, *rows = file.read_text().splitlines()
    file.write_text("\n".join([header, *reversed(rows)]) + "\n")
    second = evaluate("baseline:dice", ["sts13"], data_dir, cache=tmp_path / "cache")
    assert first.results == second.results


def test_models_without_an_identity_are_asked_every_time(data_dir: Path, tmp_path: Path) -> None:
    """Two objects of one name have no fingerprint, and must not share similarities."""
    one, two = Noisy(1), Noisy(2)
    two.name = one.name
    values = [
        evaluate(model, ["sts13"], data_dir, cache=tmp_path / "cache").find("sts13").value
        for model in (one, two)
    ]
    assert values[0] != values[1]
    with pytest.raises(InputError, match="two models of this name"):
        evaluate_models([one, two], ["sts13"], data_dir)


def test_a_group_is_the_mean_of_its_models(data_dir: Path) -> None:
    """Mean, standard deviation and range are those of the members' figures; the interval is about
    the mean, and for equal members it is theirs.
    """
    members = [Noisy(seed) for seed in (1, 2, 3)]
    report = evaluate_models([], ["sts13"], data_dir, groups={"noisy": members})
    values = np.array([one.find("sts13").value for one in report.evaluations], dtype=float)
    found = next(g for g in report.groups if (g.subtask, g.metric) == ("all", "spearman"))
    assert found.models == ("noisy 1", "noisy 2", "noisy 3")
    assert found.mean == pytest.approx(values.mean())
    assert found.deviation == pytest.approx(values.std(ddof=1))
    assert (found.lowest, found.highest) == pytest.approx((values.min(), values.max()))
    assert "noisy (3 models) sts13 test spearman" in report.text()
    equal = [Noisy(1, noise=0), Noisy(2, noise=0)]
    same = evaluate_models([], ["sts13"], data_dir, groups={"same": equal})
    for result in same.groups:
        member = same.evaluations[0].find("sts13", result.metric, subtask=result.subtask)
        assert (result.mean, result.low, result.high) == pytest.approx(
            (member.value, member.low, member.high)
        )
        assert result.deviation == pytest.approx(0)
    with pytest.raises(InputError, match="expected at least 2"):
        evaluate_models([], ["sts13"], data_dir, groups={"one": [Noisy(1)]})


def test_a_group_is_of_models_that_are_named(data_dir: Path) -> None:
    """`baseline:all` stands for several, which differ in more than their seed: refused at once."""
    with pytest.raises(InputError, match="group g: baseline:all stands for several models"):
        evaluate_models([], ["sts13"], data_dir, groups={"g": ["baseline:all", "baseline:dice"]})
    with pytest.raises(InputError, match="stands for several models; expected one"):
        evaluate("baseline:all", ["sts13"], data_dir)


def test_the_folder_holds_everything_twice_the_same(data_dir: Path, tmp_path: Path) -> None:
    """JSON, similarities, tables and plots; two runs write equal bytes, plots included."""
    tasks = ["sts13", "wiki-sections"]
    for name in ("one", "two"):
        evaluate_models(MODELS, tasks, data_dir, against=MODELS[0]).write(tmp_path / name)
    files = sorted(p.relative_to(tmp_path / "one") for p in (tmp_path / "one").rglob("*.*"))
    assert {str(file) for file in files} >= {
        "results.json", "similarities.parquet", "table.md", "table.tex", "plots/bars.png",
        "plots/heat.svg", "plots/scatter-sts13-test.png", "plots/scatter-wiki-sections-test.svg",
    }  # fmt: skip
    for file in files:
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()
    values = json.loads((tmp_path / "one" / "results.json").read_text())
    assert [model["spec"] for model in values["models"]] == MODELS
    assert {d["second"] for d in values["differences"]} == {MODELS[0]}


def test_the_table_has_the_papers_columns(data_dir: Path) -> None:
    """Table 1's sets in its order, their plain mean, then all others with their usual metric."""
    report = evaluate_models(
        ["baseline:dice"], ["lee", "sts-b:dev", "sts-b", "wiki-sections", "sts13"], data_dir
    )
    layout = report.layout()
    assert layout.headings == ("STS13", "STSb", "Avg.", "Lee", "STSb dev", "WikiSec.")
    ((_, cells),) = layout.rows
    values = [cell.value if cell else None for cell in cells]
    one = report.evaluations[0]
    first, second = one.find("sts13").value, one.find("sts-b", split="test").value
    assert first is not None
    assert second is not None
    assert values[:3] == pytest.approx([first, second, (first + second) / 2])
    assert values[3] == one.find("lee", "pearson").value
    assert values[5] == one.find("wiki-sections", "accuracy").value
    assert any("Avg.: mean over STS13, STSb." in text for text in layout.caption)


def test_a_system_without_a_set_has_no_average(data_dir: Path) -> None:
    """A mean over fewer sets would not be comparable."""
    full = evaluate("baseline:dice", ["sts13", "sts-b"], data_dir)
    part = evaluate("baseline:tfidf", ["sts13"], data_dir)
    layout = Report((full, part)).layout()
    assert layout.headings[2] == "Avg."
    assert [row[1][2].value is None for row in layout.rows] == [False, True]
    assert "| – |" in to_markdown(layout)  # noqa: RUF001


def test_latex_is_escaped(data_dir: Path) -> None:
    """No character of a model's name is a command; every row has as many cells as the head."""

    class Odd(Noisy):
        pass

    odd = Odd(1)
    odd.name = r"a_b & 50% {x} \y ~^#$"
    text = to_latex(evaluate_models([odd], ["sts13", "sts-b"], data_dir).layout())
    assert escape(odd.name) in text
    assert r"a\_b \& 50\% \{x\} \textbackslash{}y" in text
    rows = [line for line in text.splitlines() if line.endswith((r"\\", r"\\[2pt]"))]
    assert {line.replace(r"\&", "").count("&") for line in rows} == {3}
    assert text.count(r"\begin") == text.count(r"\end") == 2


def test_plots_of_undefined_figures(data_dir: Path) -> None:
    """A constant model has no correlation; its cells are empty, not an error."""

    class Constant(Noisy):
        def similarities(self, pairs: Sequence[TextPair]) -> Floats:
            return np.zeros(len(pairs))

    report = evaluate_models([Constant(1), "baseline:dice"], ["sts13"], data_dir)
    assert plot_heat(report.layout()).axes


@pytest.fixture
def saved(data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Evaluates models into a folder of some name, with mock plots, as real ones take seconds."""

    def mock(folder: Path, _: object, evaluations: Sequence[Evaluation]) -> None:
        folder.mkdir()
        for one in evaluations[0].scored:
            name = f"scatter-{one.sample.task}-{one.sample.split}.png"
            (folder / name).write_bytes(b"plot")

    monkeypatch.setattr(plots, "write_plots", mock)

    def save(name: str, models: Sequence[str], tasks: Sequence[str] = ("sts13", "lee")) -> Path:
        evaluate_models(models, tasks, data_dir).write(tmp_path / name)
        return tmp_path / name

    return save


def test_saved_results_compare_as_fresh_ones(data_dir: Path, saved: Callable[..., Path]) -> None:
    """Files and folders, one result or two: the differences of `compare`, units included."""
    a, b = saved("a", MODELS[:1]), saved("b", MODELS[1:])
    both = saved("both", MODELS)
    fresh = compare(*(evaluate(model, ["sts13", "lee"], data_dir) for model in MODELS))
    for found in (
        compare_saved(a, b / "results.json"),
        compare_saved(both),
        compare_saved(a, both),
    ):
        assert list(found.differences) == fresh
    turned = compare_saved(a, b, against=MODELS[0])
    assert [d.second for d in turned.differences] == [MODELS[0]] * len(fresh)
    assert read_saved(a).samples.keys() == {MODELS[0]}


def test_saved_results_of_other_data_are_refused(
    data_dir: Path, saved: Callable[..., Path]
) -> None:
    """The message names the set whose rows differ, and only that one."""
    a = saved("a", MODELS[:1])
    file = data_dir / "STS13" / "pairs.tsv"
    file.write_text("\n".join(file.read_text().splitlines()[:-1]) + "\n")
    b = saved("b", MODELS[1:])
    with pytest.raises(InputError, match=r"rows differ in sts13 test \("):
        compare_saved(a, b)


def test_results_that_cannot_be_compared(
    data_dir: Path, tmp_path: Path, saved: Callable[..., Path]
) -> None:
    """Without similarities, with others' similarities, of one model only, of another schema."""
    a = saved("a", MODELS[:1])
    with pytest.raises(InputError, match="one model only"):
        compare_saved(a)
    with pytest.raises(InputError, match="no such model"):
        compare_saved(saved("both", MODELS), against="baseline:cbow")
    evaluate("baseline:dice", ["sts13"], data_dir).to_json(tmp_path / "plain.json")
    with pytest.raises(InputError, match="written without similarities"):
        compare_saved(a, tmp_path / "plain.json")
    shutil.copy(tmp_path / "both" / "similarities.parquet", a / "similarities.parquet")
    with pytest.raises(InputError, match="not the similarities"):
        compare_saved(a, tmp_path / "both")
    values = json.loads((a / "results.json").read_text())
    del values["data"][0]["fingerprint"]
    values["similarities"] = json.loads((tmp_path / "both" / "results.json").read_text())[
        "similarities"
    ]
    (tmp_path / "both" / "cut.json").write_text(json.dumps(values))
    with pytest.raises(InputError, match="not results as firth writes them"):
        compare_saved(tmp_path / "both" / "cut.json")
    (tmp_path / "old.json").write_text('{"schema": 1}')
    with pytest.raises(InputError, match="schema 1; expected"):
        compare_saved(tmp_path / "old.json")


@pytest.mark.parametrize(
    "content",
    ["", "[]", "null", "{", '{"schema": 2, "similarities": [1]}', "\udcff",
     '{"schema": 2, "similarities": {"file": "similarities.parquet", "fingerprint": 1}}'],
)  # fmt: skip
def test_damaged_results_are_named(saved: Callable[..., Path], content: str) -> None:
    """Whatever stands in the file: its name and one message, no traceback."""
    file = saved("a", MODELS) / "results.json"
    file.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(InputError, match=r"results\.json|similarities\.parquet"):
        compare_saved(file.parent)


def test_every_key_of_results_may_be_missing(saved: Callable[..., Path]) -> None:
    """A key that went, or a value of another kind, is refused with the file's name."""
    file = saved("a", MODELS) / "results.json"
    whole = json.loads(file.read_text())
    needed = ("results", "models", "data", "settings", "similarities", "schema")
    for key in needed:
        for wrong in (None, 7, "x", ["x"], {"x": 1}):
            file.write_text(json.dumps({**whole, key: wrong}))
            with pytest.raises(InputError, match=r"results\.json"):
                compare_saved(file)
    file.write_text(json.dumps(whole))
    assert compare_saved(file).differences, "premise: the whole file is good"


def test_a_folder_without_results_says_how_to_get_them(tmp_path: Path) -> None:
    """And a folder in place of the file is no traceback."""
    with pytest.raises(
        InputError, match=r"no results of an evaluation in it.*firth evaluate MODEL"
    ):
        compare_saved(tmp_path)
    with pytest.raises(InputError, match=r"nowhere\.json"):
        compare_saved(tmp_path / "nowhere.json")


def test_files_of_others_are_never_replaced(saved: Callable[..., Path]) -> None:
    """A report replaces what an earlier one wrote, and nothing else without `force`."""
    folder = saved("a", MODELS)
    written = json.loads((folder / "manifest.json").read_text())["outputs"]
    drawn = {"plots/scatter-lee-all.png", "plots/scatter-sts13-test.png"}
    assert set(written) == drawn | {"results.json", "similarities.parquet", "table.md", "table.tex"}
    (folder / "notes.txt").write_text("mine")
    saved("a", MODELS, ["sts13"])
    assert (folder / "notes.txt").read_text() == "mine"
    assert not (folder / "plots" / "scatter-lee-all.png").exists(), "of a set that is not there"
    (folder / "table.tex").write_text("mine")
    with pytest.raises(InputError, match=r"holds table\.tex.*--force"):
        saved("a", MODELS)
    assert (folder / "table.tex").read_text() == "mine"


def test_commands_refuse_files_that_are_there(tmp_path: Path) -> None:
    """Each command that writes, before it looks at anything else; what was there stays."""
    file, folder = tmp_path / "mine.json", tmp_path / "mine"
    file.write_text("mine")
    folder.mkdir()
    (folder / "table.tex").write_text("mine")
    for command in (
        ["evaluate", "baseline:dice", "--task", "lee", "--out", str(folder)],
        ["compare", str(tmp_path), "--out", str(file)],
        ["leakage", "nowhere.txt", "--out", str(file)],
        ["mteb", "baseline:dice", "--task", "STS12", "--out", str(file)],
    ):
        found = CliRunner().invoke(app, command)
        assert isinstance(found.exception, InputError), command
        assert "--force" in str(found.exception)
    assert file.read_text() == (folder / "table.tex").read_text() == "mine"
    group = ["evaluate", "--group", "g=baseline:all", "--task", "lee"]
    assert "stands for several" in str(CliRunner().invoke(app, group).exception)
    given = ["evaluate", "baseline:dice", "--task", "lee", "--no-cache", "--resamples", "5", "-q"]
    done = CliRunner().invoke(app, [*given, "--json", "--out", str(folder), "--force"])
    assert not done.exception
    printed = json.loads(done.stdout)
    stored = json.loads((folder / "results.json").read_text())
    assert {**stored, "similarities": None} == {**printed, "similarities": None}
    assert printed["results"]

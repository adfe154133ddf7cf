"""docs/design.md holds in the code: imports point one way and in no circle; the core is light."""

import inspect
import subprocess
import sys
import tomllib
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest

import firth
from firth.run.code import _imported

ROOT = Path(firth.__file__).parent
PACKAGES = (
    "run", "web", "lexical", "corpus", "check", "context", "paper", "origin", "harvest",
    "surrogate", "index", "scale", "search", "baselines", "evaluate", "finetune", "reuse",
    "relatedness", "pipeline", "plan", "summaries", "searchable", "report", "serve",
    "demo", "reproduce", "cli", "__main__",
)  # fmt: skip
"""From left to right, as the data flows: each imports from those to its left only."""
SETTINGS = "settings"
"""A package's settings are assembled by `run.config`, so that they stand left of everything else:
they import settings, `run.section`, and nothing that does anything."""
MODULES = {
    ".".join(("firth", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(
        ".__init__"
    ): path
    for path in sorted(ROOT.rglob("*.py"))
}


def imports_of(module: str) -> set[str]:
    """Modules of firth that a module imports, its own packages' `__init__` aside."""
    return {name for name in _imported(module) if not module.startswith(f"{name}.")}


def test_every_module_has_its_place() -> None:
    """The order names every part of the package, so that none escapes the next test."""
    parts = {module.split(".")[1] for module in MODULES if "." in module}
    assert parts == set(PACKAGES)


@pytest.mark.parametrize("package", PACKAGES)
def test_imports_point_one_way(package: str) -> None:
    """A package imports only from those to its left in the data flow."""
    allowed = {*PACKAGES[: PACKAGES.index(package) + 1]}
    found = []
    for module in MODULES:
        if not f"{module}.".startswith(f"firth.{package}."):
            continue
        for name in imports_of(module) - {"firth"}:
            part, *rest = name.split(".")[1:]
            if part not in allowed and rest[-1:] != [SETTINGS]:
                found.append(f"{module} imports {name}")
    assert found == []


@pytest.mark.parametrize("module", [name for name in MODULES if name.endswith(f".{SETTINGS}")])
def test_settings_stand_left_of_everything(module: str) -> None:
    """Settings read settings, sections and enumerations, and open nothing."""
    allowed = {"firth.run.section", "firth.run.errors", "firth.lexical.words"}
    inner = {name for name in imports_of(module) if name in MODULES and name.count(".") > 1}
    assert {name for name in inner if not name.endswith(f".{SETTINGS}")} <= allowed


def test_there_is_no_circle() -> None:
    """No module reaches itself by imports, in functions or at the top, in all of firth."""
    graph = {module: imports_of(module) & set(MODULES) for module in MODULES}
    assert sum(map(len, graph.values())) > 500  # the premise: imports are found
    try:
        tuple(TopologicalSorter(graph).static_order())
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


HEAVY = ("torch", "transformers", "sentence_transformers", "sklearn", "scipy", "pyarrow")


@pytest.mark.parametrize(
    "heavy",
    [
        {"firth": HEAVY, "firth.cli.main": HEAVY},
        {"firth.origin.ensemble": HEAVY[:3], "firth.paper.origin": HEAVY[1:3]},
    ],
    ids=["command line", "Origin"],
)
def test_importing_is_light(heavy: dict[str, tuple[str, ...]]) -> None:
    """Neither `import firth` nor the command line loads a heavy library before it is used; to ask
    an Origin without a language model loads no transformers, and one without a network no torch."""
    script = "import sys\n" + "".join(
        f"import {module}\nassert not {{*{names!r}}} & set(sys.modules), {module!r}\n"
        for module, names in heavy.items()
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("check", "firth.evaluate.label_free"),
        ("evaluate", "firth.evaluate.evaluate"),
        ("finetune", "firth.finetune.finetune"),
        ("harvest", "firth.harvest.harvest"),
    ],
)
def test_packages_are_called_as_the_functions_of_their_names(
    name: str, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`firth.evaluate(…)` and its like are calls, whatever was imported before."""
    home = import_module(module)
    package = getattr(firth, name)
    assert id(package) == id(sys.modules[f"firth.{name}"])
    assert inspect.signature(package) == inspect.signature(getattr(home, name))
    monkeypatch.setattr(home, name, lambda *values, **options: (values, options))
    assert package(1, two=2) == ((1,), {"two": 2})


def test_modules_can_be_imported_under_other_names() -> None:
    """`import firth.harvest.plan as plan`: the packages are not hidden by functions."""
    import firth.harvest.plan as plan

    assert plan is sys.modules["firth.harvest.plan"]


def test_data_files_travel() -> None:
    """Each file of the package that is no Python matches a pattern of the package data."""
    project = tomllib.loads((ROOT.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = project["tool"]["setuptools"]["package-data"]["firth"]
    declared = {path for pattern in patterns for path in ROOT.glob(pattern)}
    files = {path for path in ROOT.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    data = {path for path in files if path.suffix not in {".py", ".pyc"}}
    assert len(data) >= 10  # the premise: there are such files
    assert data - declared == set()

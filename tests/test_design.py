"""docs/design.md holds in the code: imports point one way, modules are small, the core light."""

import ast
import inspect
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

import firth

ROOT = Path(firth.__file__).parent
FOUNDATION = (
    "errors",
    "words",
    "seeds",
    "contexts",
    "reach",
    "settings",
    "baseline_settings",
    "fit_settings",
    "origin_settings",
    "config",
    "progress",
    "artifacts",
    "training",
    "silence",
    "encoders",
    "run",
)
PACKAGES = (
    "corpus",
    "retrieve",
    "coherence",
    "generation",
    "baselines",
    "fit",
    "origin",
    "harvest",
    "surrogate",
    "evaluate",
    "relatedness",
    "pipeline",
    "preflight",
    "demo",
    "reproduce",
    "commands",
    "cli",
)
ORDER = (*FOUNDATION, *PACKAGES)
MODULES = sorted(ROOT.rglob("*.py"))


def part_of(path: Path) -> str:
    relative = path.relative_to(ROOT)
    return relative.parts[0].removesuffix(".py")


def imported_parts(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "firth":
            found |= {alias.name for alias in node.names if alias.name in ORDER}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("firth."):
            found.add(str(node.module).split(".")[1])
        elif isinstance(node, ast.Import):
            names = [a.name for a in node.names if a.name.startswith("firth.")]
            found |= {name.split(".")[1] for name in names}
    return found


def test_every_module_has_its_place() -> None:
    """The order below names every part of the package, so that none escapes the next test."""
    parts = {part_of(path) for path in MODULES} - {"__init__"}
    assert parts == set(ORDER)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_one_way(path: Path) -> None:
    """A package imports only from those to its left in the data flow."""
    part = part_of(path)
    if part == "__init__":
        return
    allowed = set(ORDER[: ORDER.index(part) + 1])
    # One fingerprinted order among the foundations keeps them free of cycles too.
    assert imported_parts(path) <= allowed


def test_the_rule_would_notice_a_breach() -> None:
    """The premise of the test above: imports are found in both their forms."""
    commands = imported_parts(ROOT / "commands" / "query.py")
    commands |= imported_parts(ROOT / "commands" / "evaluate.py")
    assert {"artifacts", "run", "origin", "evaluate"} <= commands


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_stay_small(path: Path) -> None:
    """One concept a file: about 120 lines, seldom past 300, never past 320."""
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 320


HEAVY = ("torch", "transformers", "sentence_transformers", "sklearn", "scipy", "pyarrow")


@pytest.mark.parametrize(
    "heavy",
    [
        {"firth": HEAVY, "firth.cli": HEAVY},
        {"firth.origin.blend": HEAVY[:3], "firth.origin.paper": HEAVY[1:3]},
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


@pytest.mark.parametrize("name", ["evaluate", "harvest"])
def test_packages_are_called_as_the_functions_of_their_names(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`firth.evaluate(…)` and `firth.harvest(…)` are calls, whatever was imported before."""
    home = import_module(f"firth.{name}.{name}")
    package = getattr(firth, name)
    assert id(package) == id(sys.modules[f"firth.{name}"])
    assert inspect.signature(package) == inspect.signature(getattr(home, name))
    monkeypatch.setattr(home, name, lambda *values, **options: (values, options))
    assert package(1, two=2) == ((1,), {"two": 2})


def test_modules_can_be_imported_under_other_names() -> None:
    """`import firth.evaluate.mteb as mteb`: the packages are not hidden by functions."""
    import firth.evaluate.mteb as mteb
    import firth.harvest.exclusion as exclusion

    assert mteb is sys.modules["firth.evaluate.mteb"]
    assert exclusion is sys.modules["firth.harvest.exclusion"]


def test_data_files_travel() -> None:
    """Each file of the package that is no Python matches a pattern of the package data."""
    project = tomllib.loads((ROOT.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = project["tool"]["setuptools"]["package-data"]["firth"]
    declared = {path for pattern in patterns for path in ROOT.glob(pattern)}
    files = {path for path in ROOT.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    data = {path for path in files if path.suffix not in {".py", ".pyc"}}
    assert len(data) >= 10  # the premise: there are such files
    assert data - declared == set()

"""docs/design.md holds in the code: imports point one way, modules are small, the core light."""

import ast
import subprocess
import sys
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


@pytest.mark.parametrize("module", ["firth", "firth.cli"])
def test_importing_is_light(module: str) -> None:
    """Neither `import firth` nor the command line loads a heavy library before it is used."""
    heavy = {"torch", "transformers", "sentence_transformers", "sklearn", "scipy", "pyarrow"}
    script = f"import sys, {module}; print(sorted({heavy!r} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_functions_are_not_hidden_by_packages_of_the_same_name() -> None:
    """`firth.harvest` and `firth.evaluate` stay functions after their packages were imported."""
    import firth.evaluate.evaluate
    import firth.harvest.harvest

    assert firth.harvest is sys.modules["firth.harvest.harvest"].harvest
    assert firth.evaluate is sys.modules["firth.evaluate.evaluate"].evaluate

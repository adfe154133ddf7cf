"""The house that docs/design.md draws: its size, its floors, and what the core may import."""

import ast
import os
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from inspect import CO_OPTIMIZED
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from tests.conftest import TOY_SETTINGS, toy_documents

import firth
from firth.run.settings import Section, Settings

SOURCE = Path(firth.__file__).parent
ROOT = SOURCE.parent.parent
BUDGETS = tomllib.loads((ROOT / "tests" / "budgets.toml").read_text())
WINGS = ("train", "paper", "ratings", "reproduce")
FLOORS = (
    ("run",),
    ("text",),
    ("corpus",),
    ("encoders",),
    ("evaluation",),
    ("scorer",),
    ("search",),
    ("pipeline",),
    ("model", "plain"),
    ("sklearn",),
    ("serve",),
    ("cli",),
    ("__main__",),
)
"""From top to bottom; a package imports from floors above it, and from itself."""
HEAVY = {
    "torch", "transformers", "sentence_transformers", "datasets", "accelerate", "sklearn", "pandas",
    "pyarrow", "ray", "onnxruntime", "spacy", "gensim",
}  # fmt: skip
MODULES = {
    ".".join(("firth", *path.relative_to(SOURCE).with_suffix("").parts)): path
    for path in sorted(SOURCE.rglob("*.py"))
}


def imports(path: Path, *, top_only: bool = False) -> Iterator[str]:
    """Yield the full names of modules that a file imports."""
    tree = ast.parse(path.read_text())
    if top_only:
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or (
                isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
            ):
                node.body = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (
                name if (name := f"{node.module}.{alias.name}") in MODULES else node.module
                for alias in node.names
            )


def part(module: str) -> str:
    """Return the package (or file) of firth that a module belongs to."""
    return module.split(".")[1] if "." in module else ""


def lines(*folders: Path) -> int:
    """Return the number of lines of all Python files."""
    paths = [path for folder in folders for path in folder.rglob("*.py")]
    return sum(len(path.read_text().splitlines()) for path in paths)


def settings_of(section: type[BaseModel]) -> Iterator[str]:
    """Yield the names of all settings of a section and of those inside it."""
    for name, field in section.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, Section):
            yield from (f"{name}.{inner}" for inner in settings_of(field.annotation))
        else:
            yield name


def test_lines_and_files() -> None:
    """The tree is no larger than its budget."""
    core = [path for path in SOURCE.iterdir() if path.is_dir() and path.name not in WINGS]
    sizes = {
        "src": lines(SOURCE),
        "core": lines(*core) + sum(len(p.read_text().splitlines()) for p in SOURCE.glob("*.py")),
        "tests": lines(ROOT / "tests"),
        "benchmarks": lines(ROOT / "benchmarks"),
    }
    assert {name: n for name, n in sizes.items() if n > BUDGETS["lines"][name]} == {}
    assert len(MODULES) <= BUDGETS["counts"]["files"]
    packages = [path for path in SOURCE.iterdir() if (path / "__init__.py").is_file()]
    assert len(packages) <= BUDGETS["counts"]["packages"]


def test_settings_and_dependencies() -> None:
    """The core has few settings and few dependencies."""
    names = [*settings_of(Settings)]
    assert len(names) > 30, "the settings are not read"
    assert len(names) <= BUDGETS["counts"]["settings"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert len(project["dependencies"]) <= BUDGETS["counts"]["core_dependencies"]


def test_commands_and_options() -> None:
    """The command line fits a page, and so does the help of each command."""
    import typer.main

    from firth.cli import main

    main.add_wings()
    group: Any = typer.main.get_command(main.app)
    assert len(group.commands) <= BUDGETS["counts"]["commands"]

    def too_many(command: Any, name: str) -> Iterator[str]:
        if hasattr(command, "commands"):
            for inner, one in command.commands.items():
                yield from too_many(one, f"{name} {inner}")
        options = [p for p in command.params if p.param_type_name == "option" and p.name != "help"]
        if len(options) > BUDGETS["counts"]["options"]:
            yield f"{name}: {len(options)} options"

    assert [*too_many(group, "firth")] == []


def test_words_of_documentation() -> None:
    """A reader can read all pages."""
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    assert sum(len(page.read_text().split()) for page in pages) <= BUDGETS["words"]["docs"]


VAGUE = frozenset(("one", "some", "each", "there", "given"))
"""Names that do not say what a thing is."""


def test_names_say_what_things_are() -> None:
    """Few parameters and variables are called `one` or `some`."""
    nodes = [node for path in MODULES.values() for node in ast.walk(ast.parse(path.read_text()))]
    bound = [node.arg for node in nodes if isinstance(node, ast.arg)]
    names = [node for node in nodes if isinstance(node, ast.Name)]
    bound += [name.id for name in names if isinstance(name.ctx, ast.Store)]
    assert len(bound) > 5_000, "the names are not read"
    assert sum(name in VAGUE for name in bound) <= BUDGETS["counts"]["vague_names"]


def test_a_package_of_the_core_has_few_files() -> None:
    """At most so many beside `__init__`."""
    homes = Counter(part(name) for name in MODULES if name.count(".") > 1)
    large = {name: n for name, n in homes.items() if name not in WINGS}
    assert {name: n for name, n in large.items() if n > BUDGETS["counts"]["files_in_package"]} == {}


def test_every_package_has_a_floor() -> None:
    """No part of firth escapes the next test."""
    named = {name for floor in FLOORS for name in floor} | {*WINGS, "__init__"}
    assert {part(module) for module in MODULES if "." in module} == named


@pytest.mark.parametrize("name", [name for floor in FLOORS for name in floor])
def test_imports_point_one_way(name: str) -> None:
    """A package of the core imports only from floors above it, and never from a wing."""
    place = next(i for i, floor in enumerate(FLOORS) if name in floor)
    allowed = {other for floor in FLOORS[:place] for other in floor} | {name, ""}
    wrong = [
        f"{module} imports {other}"
        for module, path in MODULES.items()
        if part(module) == name
        for other in imports(path)
        if other.split(".")[0] == "firth" and part(other) not in allowed
    ]
    assert wrong == []


def test_the_core_names_no_wing() -> None:
    """Wings come through entry points; only `firth.__init__` lists their public names."""
    named = re.compile(rf"\bfirth[./]({'|'.join(WINGS)})\b")
    core = {
        module: path for module, path in MODULES.items() if part(module) not in (*WINGS, "__init__")
    }
    assert len(core) > 50
    assert [module for module, path in core.items() if named.search(path.read_text())] == []


def test_wings_import_one_way() -> None:
    """A wing imports from the core and from wings above it."""
    wrong = [
        f"{module} imports {other}"
        for module, path in MODULES.items()
        for other in imports(path)
        if part(module) in WINGS and other.startswith("firth.") and part(other) in WINGS
        if WINGS.index(part(other)) > WINGS.index(part(module))
    ]
    assert wrong == []


def test_no_module_reaches_itself() -> None:
    """There is no circle of imports between modules."""
    from graphlib import TopologicalSorter

    graph = {
        module: {o for o in imports(path, top_only=True) if o in MODULES and o != module}
        for module, path in MODULES.items()
    }
    assert [*TopologicalSorter(graph).static_order()]


def test_heavy_libraries_are_imported_where_they_are_used() -> None:
    """No module of the core imports a heavy library at its top."""
    wrong = [
        f"{module} imports {other}"
        for module, path in MODULES.items()
        if part(module) not in (*WINGS, "sklearn")  # nothing imports it but its users
        for other in imports(path, top_only=True)
        if other.split(".")[0] in HEAVY | {"scipy"}
    ]
    assert wrong == []


def test_public_names_are_listed_and_resolve() -> None:
    """`dir(firth)` shows the public names, and each of them is a function or a class."""
    assert dir(firth) == sorted(firth.__all__)
    for name in firth.__all__:
        assert callable(getattr(firth, name)) or name == "__version__"


def files_that_run(work: Callable[[], object]) -> set[str]:
    """Return the files of firth of which a function runs during some work; imports are none."""
    ran: set[str] = set()

    def trace(frame: Any, event: str, argument: object) -> None:
        if str(SOURCE) in frame.f_code.co_filename and frame.f_code.co_flags & CO_OPTIMIZED:
            ran.add(str(Path(frame.f_code.co_filename).relative_to(SOURCE)))

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return ran


def test_one_similarity_runs_through_few_files(toy_folder: Path) -> None:
    """A reader who follows a score from the name of the run to the number opens few files."""
    scorer: Any = firth.open_scorer
    scorer(str(toy_folder))  # imports are no part of it
    pairs = [("A ship sailed.", "A boat left.")]
    ran = files_that_run(lambda: scorer(str(toy_folder)).similarities(pairs))
    assert 5 < len(ran) <= BUDGETS["counts"]["similarity_files"]


def test_a_build_and_a_query_run_through_few_files(toy_folder: Path, tmp_path: Path) -> None:
    """From texts to a run, and from a query to its hits where everything is open."""
    build: Any = firth.build
    ran = files_that_run(
        lambda: build(toy_documents(), tmp_path / "run", settings=TOY_SETTINGS, quiet=True)
    )
    assert 20 < len(ran) <= BUDGETS["counts"].get("build_files", 42), sorted(ran)
    model = firth.load(toy_folder)
    assert model.search("ship in a storm")
    ran = files_that_run(lambda: model.search("ship in a storm"))
    assert 3 < len(ran) <= BUDGETS["counts"].get("query_files", 12), sorted(ran)


def seconds(*command: str) -> float:
    """Return the least processor time of three runs of a command, in seconds."""
    times = []
    for _ in range(3):
        before = os.times()
        subprocess.run([sys.executable, *command], check=True, capture_output=True)
        after = os.times()
        used = after.children_user + after.children_system
        times.append(used - before.children_user - before.children_system)
    return min(times)


def test_start_up_is_fast() -> None:
    """`import firth` costs next to nothing, and help appears at once."""
    bare = seconds("-c", "pass")
    assert seconds("-c", "import firth") - bare < BUDGETS["milliseconds"]["import_firth"] / 1000
    assert seconds("-m", "firth", "--help") < BUDGETS["milliseconds"]["help"] / 1000


def _is_dataclass(decorator: ast.expr) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return isinstance(called, ast.Name) and called.id == "dataclass"


def test_long_records_are_made_by_keywords() -> None:
    """A record of more than five fields is keyword-only: no reader counts commas."""
    counted, positional = 0, []
    for path in sorted((ROOT / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.ClassDef):
                continue
            fields = [
                entry
                for entry in node.body
                if isinstance(entry, ast.AnnAssign) and "ClassVar" not in ast.dump(entry.annotation)
            ]
            for decorator in filter(_is_dataclass, node.decorator_list):
                words = decorator.keywords if isinstance(decorator, ast.Call) else []
                counted += len(fields) > 5
                if len(fields) > 5 and not any(word.arg == "kw_only" for word in words):
                    positional.append(f"{path.name}: {node.name}")
    assert counted > 20, "premise"
    assert positional == []

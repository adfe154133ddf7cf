"""What a stage runs: the import closure of a module in firth's own source, and its fingerprint."""

import ast
import hashlib
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

_ROOT = Path(__file__).parents[1]
_NOT_FOLLOWED = frozenset(
    {
        "firth.run.config",  # what it assembles is fingerprinted by value: Stage.settings
        "firth.run.progress",  # these two only show
        "firth.run.screen",
    }
)


@cache
def fingerprint_code(module: str) -> str:
    """BLAKE2b-160 of all of firth's source that importing and calling `module` can run.

    Comments, docstrings and layout do not count: only a change of what runs makes a stage stale.

    Args:
        module: Full name of a module, as `firth.corpus.build`; one that is not of firth has been
            imported.
    """
    digest = hashlib.blake2b(digest_size=20)
    for name in sorted(import_closure(module)):
        digest.update(name.encode() + _what_runs(name))
    return digest.hexdigest()


@cache
def _what_runs(module: str) -> bytes:
    return ast.dump(_without_docstrings(_tree(module))).encode()


@cache
def import_closure(module: str) -> frozenset[str]:
    """`module` and all modules of firth that it imports, at any depth, in functions too.

    Imports for type checkers alone do not count, nor do modules named in strings.
    """
    found: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name in found or name in _NOT_FOLLOWED:
            continue
        found.add(name)
        waiting += _imported(name)
    return frozenset(found)


@cache
def _imported(module: str) -> tuple[str, ...]:
    parents = module.split(".")
    found = {".".join(parents[:depth]) for depth in range(1, len(parents)) if _path(module)}
    for node in _running(_tree(module)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if _path(alias.name)}
        elif isinstance(node, ast.ImportFrom) and node.module and _path(node.module):
            found.add(node.module)
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name for name in inner if _path(name)}
    return tuple(sorted(found))


def _running(tree: ast.AST) -> Iterator[ast.AST]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for other in node.orelse:
                yield from _running(other)
        else:
            yield node
            yield from _running(node)


@cache
def _path(module: str) -> Path | None:
    """The file of a module of firth; None for what is none."""
    first, *rest = module.split(".")
    if first != "firth":
        return None
    place = _ROOT.joinpath(*rest)
    file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    return file if file.is_file() else None


@cache
def _tree(module: str) -> ast.Module:
    # Only where a closure begins, a module may be another's than firth's.
    file = _path(module) or Path(str(sys.modules[module].__file__))
    return ast.parse(file.read_text(encoding="utf-8"))


def _without_docstrings(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                node.body = node.body[1:]
    return tree

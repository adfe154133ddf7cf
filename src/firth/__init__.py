"""Sentence similarity from unlabelled documents, with the contexts each score comes from.

    >>> from firth import Corpus, Origin, adapt, check, distill, evaluate, harvest

- `build(inputs, run)`: documents in; a model, an index and a scale out, with a check of the model.
- `add_documents(inputs, run)`: more documents, searched at once, while the models stay.
- `Corpus.build(inputs, run)`, `Corpus.open(run)`: documents in; sentences and their contexts out.
- `Origin.open(run)`: similarity of two sentences, and the contexts it comes from.
- `harvest(run)`: pairs of corpus sentences with their Origin similarity.
- `distill(run)`: a sentence-transformers model that learns what Origin knows.
- `finetune(kind, start, out)`: any encoder, taught by labels; `cross_validate` where there are few.
- `evaluate(model, tasks)`: a model's similarities against people's, with intervals.
- `adapt(encoder, run)`: any sentence encoder, adapted to a run's documents where that does no harm.
- `compare_documents(a, b, run)`, `duplicates(run)`, `mine(run)`: what stands in several documents.
- `Search.open(run)`: sentences and documents found by meaning and by words.
- `Index.open(run)`: the vectors of all sentences. `Scale.open(run)`: what a score means.
- `write_report(run, out)`: a run as one page of HTML.
- `push(run, address)`, `pull(address, run)`: a run into a store (`s3://bucket/run`), and back.
- `check(models, run)`: which model is better on the run's own documents, without labels.

What stands between `Corpus.build` and `Origin.open` is built by `build`, or on the command line,
a command a stage. Everything heavy loads when it is first used.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = [
    "Corpus",
    "Index",
    "Origin",
    "Scale",
    "Search",
    "__version__",
    "adapt",
    "add_documents",
    "build",
    "check",
    "compare_documents",
    "cross_validate",
    "distill",
    "duplicates",
    "evaluate",
    "finetune",
    "harvest",
    "mine",
    "pull",
    "push",
    "write_report",
]

if TYPE_CHECKING:
    from inspect import Signature

    from firth.context.adapt import adapt
    from firth.corpus.corpus import Corpus
    from firth.evaluate.evaluate import evaluate
    from firth.evaluate.label_free import check
    from firth.finetune.finetune import finetune
    from firth.finetune.folds import cross_validate
    from firth.harvest.harvest import harvest
    from firth.index.add import add_documents
    from firth.index.index import Index
    from firth.origin.origin import Origin
    from firth.report.report import write_report
    from firth.reuse.compare import compare_documents
    from firth.reuse.duplicates import duplicates
    from firth.reuse.mine import mine
    from firth.run.remote import pull, push
    from firth.scale.scale import Scale
    from firth.search.search import Search
    from firth.searchable import build
    from firth.surrogate.distill import distill


def _lazily(module: str, name: str) -> property:
    return property(lambda _: getattr(import_module(module), name))


_HOMES = {
    "check": "firth.evaluate.label_free",
    "evaluate": "firth.evaluate.evaluate",
    "finetune": "firth.finetune.finetune",
    "harvest": "firth.harvest.harvest",
}
"""Packages that are called as the function of their name, and the module that has it."""


class _CallablePackage(ModuleType):
    """A package that is called as the function of its name: `firth.evaluate(…)`."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return self._function(*arguments, **options)

    @property
    def __signature__(self) -> "Signature":
        from inspect import signature

        return signature(self._function)

    @property
    def _function(self) -> Any:
        name = self.__name__.rpartition(".")[2]
        return getattr(import_module(_HOMES[name]), name)


def _callable_package(name: str) -> property:
    # Importing a package assigns it to this module's attribute of the same name, where users expect
    # a function. Were that kept instead, `import firth.evaluate.mteb as mteb` would look for mteb
    # in the function; so the package stays, and learns to be called.
    def keep(_: ModuleType, package: ModuleType) -> None:
        package.__class__ = _CallablePackage

    return property(lambda _: import_module(f"firth.{name}"), keep)


class _Firth(ModuleType):
    Corpus = _lazily("firth.corpus.corpus", "Corpus")
    Index = _lazily("firth.index.index", "Index")
    Origin = _lazily("firth.origin.origin", "Origin")
    Scale = _lazily("firth.scale.scale", "Scale")
    Search = _lazily("firth.search.search", "Search")
    check = _callable_package("check")
    harvest = _callable_package("harvest")
    add_documents = _lazily("firth.index.add", "add_documents")
    adapt = _lazily("firth.context.adapt", "adapt")
    build = _lazily("firth.searchable", "build")
    distill = _lazily("firth.surrogate.distill", "distill")
    evaluate = _callable_package("evaluate")
    cross_validate = _lazily("firth.finetune.folds", "cross_validate")
    finetune = _callable_package("finetune")
    compare_documents = _lazily("firth.reuse.compare", "compare_documents")
    duplicates = _lazily("firth.reuse.duplicates", "duplicates")
    mine = _lazily("firth.reuse.mine", "mine")
    pull = _lazily("firth.run.remote", "pull")
    push = _lazily("firth.run.remote", "push")
    write_report = _lazily("firth.report.report", "write_report")


sys.modules[__name__].__class__ = _Firth

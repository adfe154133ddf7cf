"""The models of Tables 1 to 4 of Sun et al.: at hand, trained from a start, or missing, and why."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from firth.baselines.spec import PREFIX
from firth.corpus import CORPUS
from firth.evaluate.cache import Cache
from firth.evaluate.evaluate import evaluate
from firth.evaluate.figures import Aggregate, Bootstrap
from firth.evaluate.load import LeftOut, load_set
from firth.evaluate.metrics import Difference, Estimate, Metric
from firth.evaluate.models import EncoderScorer, Model
from firth.evaluate.results import Evaluation
from firth.evaluate.rows import EvaluationSet, Sample
from firth.evaluate.task import ALL, find_task
from firth.finetune.finetune import Finetuned, finetune
from firth.finetune.recipe import Kind, Objective
from firth.finetune.sets import INFERENCE, TRAIN, Places, read_sets
from firth.finetune.start import SCRATCH, Start
from firth.reproduce.options import Request
from firth.reproduce.report import UNKNOWN, intervals
from firth.run.errors import ConfigError, FirthError, InputError
from firth.run.hub import hub_is_reachable
from firth.run.run import Run
from firth.surrogate import SURROGATE
from firth.surrogate.settings import BaseKind

RESAMPLES = 1_000
ORIGIN, TFIDF = "Origin", "tf-idf"
Key = tuple[str, Metric]
"""Task and metric."""


@dataclass(frozen=True)
class Peer:
    """What may stand beside a row of the paper.

    Attributes:
        model: Taken where none is named: a baseline, or a name on the hub; "" for nothing.
        why: Why there is nothing then.
        fronts: Baselines (up to the `@`) that stand for the row whenever they are named.
    """

    model: str = ""
    why: str = "its weights are not at hand"
    fronts: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Entry:
    """A model in a table.

    Attributes:
        name: What its row is called.
        beside: The row of the paper that it stands beside, or "".
        found: What it scored; None where it could not be had, or was measured in folds.
        reason: Why it could not be had.
        figures: What was measured.
        says: What it is, or how it learned.
    """

    name: str
    beside: str = ""
    found: Evaluation | None = None
    reason: str = ""
    figures: Mapping[Key, Estimate] = field(default_factory=dict)
    says: str = ""

    def figure(self, task: str, metric: Metric) -> Estimate:
        """Of one set; `UNKNOWN` where it was not measured."""
        return self.figures.get((task, metric), UNKNOWN)

    def samples(self) -> list[Sample]:
        """What was measured, set by set; empty where nothing was."""
        return [one.sample for one in self.found.scored] if self.found else []

    def details(self) -> dict[str, Any]:
        """Plain values for the JSON."""
        figures = {f"{task} {metric}": one for (task, metric), one in self.figures.items()}
        return {"row": self.name, "beside": self.beside, "says": self.says, "reason": self.reason,
                "figures": intervals(figures)}  # fmt: skip


class Trial:
    """A table about to be measured: its sets, its starts, and where trained models are kept.

    Args:
        request: What was asked for.
        tasks: Sets to measure on, as `firth evaluate` names them; of `A or B`, the first there is.
        peers: Row of the paper → what may stand beside it.
        aggregate: How a set's rows become one figure.

    Attributes:
        sets: Task → set, of those that can be had.
        notes: Why the others cannot.
        starts: What is fine-tuned; the first is compared with the paper's Surrogate.

    Raises:
        ConfigError: Two starts of one name.
        InputError: No start is named and there is no Surrogate; a start cannot be opened; no set
            can be had. All before any work.
        MissingStageError: The run that a start is made of is not built far enough.
    """

    def __init__(
        self, request: Request, tasks: Sequence[str], peers: Mapping[str, Peer],
        aggregate: Aggregate = Aggregate.ALL,
    ) -> None:  # fmt: skip
        self.request, self._aggregate = request, aggregate
        self._peers, self._named = peers, _named(request, peers)
        self.sets: dict[str, EvaluationSet] = {}
        self.notes: list[str] = []
        for names in tasks:
            found, said = _load(names, request.data_dir)
            self.sets |= {found.task.name: found} if found else {}
            self.notes += [said] if said else []
        if not self.sets:
            raise InputError(f"{request.name}: no set of the table can be had; {self.notes[0]}")
        self.bootstrap = Bootstrap(request.seed, RESAMPLES, Cache(request.folder / "cache"))
        run = request.given
        self._models = (request.folder if run is None else run.path / "reproduce") / "models"
        self.starts = _starts(request)

    # What is there.

    def entry(self, name: str, model: Model, beside: str = "") -> Entry:
        """A model, measured on all sets; one that cannot be opened is missing, for the reason."""
        request, how = self.request, self._aggregate
        try:
            found = evaluate(
                model, [f"{name}:{one.split}" for name, one in self.sets.items()],
                request.data_dir, pairs=request.options.pairs, seed=request.seed,
                resamples=RESAMPLES, cache=self.bootstrap.cache, leakage=False, aggregates=[how],
            )  # fmt: skip
        except FirthError as error:
            return unavailable(name, beside, error)
        figures = {}
        for one in found.results:
            if one.subtask in (ALL, how.value):  # an aggregate comes after `all`, and replaces it
                known = Estimate(one.value, one.low, one.high, one.n)
                figures[one.task, Metric(one.metric)] = known
        supervised = ", supervised" if "(supervised" in found.name else ""
        says = found.name if str(model).startswith(PREFIX) else ""
        return Entry(f"{name}{supervised}", beside, found, figures=figures, says=says)

    def peers(self) -> list[Entry]:
        """What stands beside the paper's baselines, and the peers that stand for themselves."""
        found = []
        for row, peer in self._peers.items():
            models = self._named.get(row, [])
            if not models and peer.model:
                if peer.model.startswith(PREFIX) or hub_is_reachable():
                    models = [(shown(peer.model), peer.model)]
                else:
                    name, reason = f"{row} ({peer.model})", "the hub cannot be reached"
                    found.append(Entry(name, row, reason=reason))
            elif not models:
                found.append(Entry(row, row, reason=peer.why))
            found += [self.entry(name, model, row) for name, model in models]
        return found + [self.entry(name, model) for name, model in self._named.get("", [])]

    def tfidf(self) -> Entry:
        """Idf of the run's corpus where there is one, else of the measured set."""
        run = self.request.given
        words = run is not None and run.has(CORPUS)
        return self.entry(TFIDF, f"{PREFIX}tfidf@{run.path}" if run and words else f"{PREFIX}tfidf",
                          TFIDF)  # fmt: skip

    def origin(self) -> Entry:
        """The run's."""
        run = self.request.given
        if run is None:
            return Entry(ORIGIN, ORIGIN, reason="no run is named: --run RUN")
        return self.entry(ORIGIN, run.path, ORIGIN)

    def untrained(self) -> list[Entry]:
        """The starts as they are; the first stands beside the paper's Surrogate."""
        found = []
        for start in self.starts:
            made = start.random or self.run_of(start) is not None
            model: Model = (
                EncoderScorer(start.open(self.request.seed), start.shown) if made else start.name
            )
            found.append(self.entry(start.shown, model, self.beside(start, "Surrogate base")))
        return found

    def beside(self, start: Start, row: str) -> str:
        """The row, for the first start."""
        return row if start is self.starts[0] else ""

    # What is trained.

    def trained(self, name: str, beside: str, train: Callable[[], Finetuned]) -> Entry:
        """A model that is trained, measured; missing where it cannot be, for the reason."""
        try:
            model = train()
        except FirthError as error:
            return unavailable(name, beside, error)
        data, seed = model.report["data"]["train"], model.report["seeds"][0]
        says = (
            f"learned from {seed['rows']:,} of {data['rows']:,} rows of {data['name']} "
            f"({model.report['objective']}), step {seed['step']:,} of {seed['steps']:,} kept"
        )
        return replace(self.entry(name, model.path, beside), says=says)

    def tune(
        self, kind: Kind, start: Start, what: str, data: Sequence[str], limit: int | None = None,
        begin: Path | None = None, **given: Any,
    ) -> Finetuned:  # fmt: skip
        """A start, or what was made of it (`begin`), fine-tuned; kept in the run as `what`.

        Errors as in `firth.finetune.finetune.finetune`.
        """
        run = None if begin else self.run_of(start)
        return finetune(
            kind, begin or start.name, self.place(start, what, limit), data=data, run=run,
            data_dir=self.request.data_dir, seeds=[self.request.seed], limit=limit,
            resamples=RESAMPLES, force=True, **given,
        )  # fmt: skip

    def after_nli(self, start: Start, objective: Objective) -> Finetuned:
        """A start that learned from natural language inference; errors as in `tune`."""
        options = self.request.options
        sets = options.learn_from or inference_sets(self.request.data_dir)
        what = "nli" if objective is Objective.SOFTMAX else f"nli-{objective}"
        return self.tune(Kind.NLI, start, what, sets, options.train_pairs, objective=objective)

    def place(self, start: Start, what: str, limit: int | None = None) -> Path:
        """Folder of a model that is trained from a start."""
        name = what if limit is None else f"{what}-{limit}"
        return self._models / start.shown.replace(":", "-").replace("/", "-") / name

    def run_of(self, start: Start) -> Run | None:
        """The run that a start is made of, if it is made of one."""
        return None if start.kind is BaseKind.PRETRAINED else self.request.given

    # What is said.

    def average(self, entry: Entry) -> Estimate:
        """The mean over the sets of their first metric."""
        samples = entry.samples()
        return self.bootstrap.average(samples, self.metric) if samples else UNKNOWN

    def ahead(self, first: Entry, second: Entry) -> Difference:
        """How far the first is ahead of the second in that mean, on the same resamples."""
        one, two = first.samples(), second.samples()
        if not one or not two:
            return Difference(None, None, None, 0)
        return self.bootstrap.average_difference(one, two, self.metric)

    @property
    def metric(self) -> Metric:
        """The usual one of the sets."""
        return next(iter(self.sets.values())).task.metrics[0]

    def remarks(self, entries: Sequence[Entry]) -> list[str]:
        """What is missing and how to fill it, what the models are, what to mind about the sets."""
        said, missing = list(self.notes), dict[str, list[str]]()
        for entry in entries:
            if entry.reason:
                row = entry.beside if entry.beside in self._peers else entry.name
                missing.setdefault(entry.reason, []).append(
                    entry.name if entry.name.startswith(row) else f"{row} ({entry.name})"
                )
        said += [f"missing: {'; '.join(dict.fromkeys(names))}: {reason}"
                 for reason, names in missing.items()]  # fmt: skip
        if missing:
            said.append("A missing row is filled by --peer 'ROW=MODEL', or as its note says.")
        said += [f"{entry.name}: {entry.says}" for entry in entries if entry.says]
        for name, one in self.sets.items():
            said += [f"{name} {one.split}: {note}" for note in one.notes]
        if (pairs := self.request.options.pairs) is not None:
            said.append(f"At most {pairs:,} random rows of each set, seed {self.request.seed}.")
        return list(dict.fromkeys(said))


def inference_sets(data_dir: Path | None) -> list[str]:
    """SNLI and MNLI as far as they can be had: their training rows, or all rows where those are not
    there; raise `InputError` if there are none."""
    found, problem = [], None
    for name in INFERENCE:
        try:
            splits = read_sets(name, Kind.NLI, Places(data_dir))
        except FirthError as error:
            problem = error
            continue
        found += [f"{name}:{split}" for split in ([TRAIN] if TRAIN in splits else splits)]
    if not found:
        raise InputError(f"{problem}\nOr name what is learned from: --learn-from SET_OR_FILE")
    return found


def shown(model: str) -> str:
    """A model without the places that it is read from: two parts of a path, a baseline's front."""
    if model.startswith(PREFIX):
        return model.partition("@")[0]
    folder = Path(model)
    return "/".join(folder.resolve().parts[-2:]) if folder.is_dir() else model


def _load(names: str, data_dir: Path | None) -> tuple[EvaluationSet | None, str]:
    """The first set of `A or B` that can be had, and what is to be said of it."""
    said = ""
    for name in names.split(" or "):
        task, split = find_task(name)
        try:
            found = load_set(task, data_dir, split)
        except FirthError as error:
            left_out = LeftOut.because("task", name, error)
            said = said or f"{name}: {left_out.brief or left_out.reason}"
        else:
            return found, said and f"{said}: measured on its {found.split} rows instead"
    return None, f"missing: {said}"


def unavailable(name: str, beside: str, error: FirthError) -> Entry:
    """A model that could not be had, and why."""
    return Entry(name, beside, reason=LeftOut.because("model", name, error).reason)


def _named(request: Request, peers: Mapping[str, Peer]) -> dict[str, list[tuple[str, str]]]:
    """Row of the paper, or "" → (what it is called, model) of those that were named for it."""
    rows = {front: row for row, peer in peers.items() for front in peer.fronts}
    found: dict[str, list[tuple[str, str]]] = {}
    for text in request.options.peer or ():
        label, equals, model = text.partition("=")
        if not equals or text.startswith(PREFIX) or Path(text).exists():
            found.setdefault(rows.get(text.partition("@")[0], ""), []).append((shown(text), text))
        elif label in peers:
            found.setdefault(label, []).append((shown(model), model))
        else:
            found.setdefault("", []).append((label, model))
    return found


def _starts(request: Request) -> list[Start]:
    """Each opened once; errors as of `Trial`."""
    run, names = request.given, request.options.start
    if names is None:
        if run is None or not run.has(SURROGATE):
            raise InputError(
                f"{request.name}: nothing to start from. Expected --run RUN with a Surrogate "
                "(firth distill --run RUN), or --start with the folder or hub name of an encoder"
            )
        names = (str(run.folder(SURROGATE)),)
    found = []
    for name in names:
        made = BaseKind.of(name.removeprefix(SCRATCH)) is not BaseKind.PRETRAINED
        found.append(Start(name, run if made else None))
    known = [one.shown for one in found]
    if len(set(known)) < len(known):
        problem = f"--start: got {', '.join(known)}; expected names that differ in their last parts"
        raise ConfigError(request.name, [problem])
    for one in found:
        one.open(request.seed)
    return found

"""Tasks of MTEB (type STS) on our models, by MTEB's own code (extra `mteb`).

MTEB asks a model for vectors and compares them by cosine. Origin and the baselines give one number
a pair and no vectors. Since MTEB encodes the first texts of all pairs and then the second ones, in
the same order, the pairs are known once the second ones arrive: the first texts get the vector
(1, 0), and the second ones (s, √(1 − s²)), whose cosine with it is the similarity s. So MTEB's own
figures, `cosine_spearman` among them, are those of the model's similarities.
"""

import importlib.metadata
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from firth.baselines.registry import BASELINES
from firth.baselines.spec import PREFIX
from firth.evaluate.metrics import Floats
from firth.evaluate.models import (
    EncoderScorer,
    Model,
    Named,
    fingerprint_model,
    label_of,
    resolve_model,
)
from firth.lexical.scorer import Scorer
from firth.run.errors import FirthError, InputError, MissingExtraError, first_line
from firth.run.hub import hub_is_reachable

if TYPE_CHECKING:
    from mteb.models.model_meta import ModelMeta

OWNER = "firth"
"""What stands before the slash in the names of our models."""


class PairModel:
    """A `Scorer` of pairs, in [-1, 1], as MTEB takes models: for tasks of type STS only.

    MTEB's results call it `firth/LABEL`; `revision` identifies it, if anything does.
    """

    def __init__(self, scorer: Scorer, label: str, revision: str | None = None) -> None:
        self._scorer = scorer
        self.mteb_model_meta = _meta_of(label, revision)
        self._waiting: tuple[object, list[str]] | None = None

    def encode(
        self, inputs: Iterable[dict[str, Any]], *, task_metadata: Any, hf_split: str,
        hf_subset: str, prompt_type: Any = None, **kwargs: Any,
    ) -> Floats:  # fmt: skip
        """Vectors (n, 2) whose cosines are the similarities, as this module explains.

        Raises:
            InputError: The task is not of type STS, the two sides differ in length, or a
                similarity lies outside [-1, 1].
        """
        if task_metadata.type != "STS":
            raise InputError(
                f"{task_metadata.name}: a task of type {task_metadata.type} needs vectors, and "
                f"{self._scorer.name} compares pairs only. Use a Surrogate, or a task of type STS"
            )
        texts = [text for batch in inputs for text in batch["text"]]
        part = (task_metadata.name, hf_split, hf_subset)
        if self._waiting is None or self._waiting[0] != part:
            self._waiting = part, texts
            return np.tile([1.0, 0.0], (len(texts), 1))
        first, self._waiting = self._waiting[1], None
        if len(first) != len(texts):
            raise InputError(
                f"{task_metadata.name}: {len(first)} first and {len(texts)} second texts; this "
                "version of mteb asks for vectors in another order than expected"
            )
        found = self._scorer.similarities(list(zip(first, texts, strict=True)))
        if not (np.abs(found) <= 1).all():
            raise InputError(
                f"{self._scorer.name}: similarities from {found.min():g} to {found.max():g}; "
                "expected -1 to 1"
            )
        return np.stack([found, np.sqrt(1 - found**2)], axis=1)

    def similarity(self, embeddings1: Any, embeddings2: Any) -> Floats:
        """Cosines of all with all, (n, m); the vectors have length 1."""
        product: Floats = np.asarray(embeddings1) @ np.asarray(embeddings2).T
        return product

    def similarity_pairwise(self, embeddings1: Any, embeddings2: Any) -> Floats:
        """Cosines of each with its own, (n,): the model's similarities."""
        one, two = np.asarray(embeddings1), np.asarray(embeddings2)
        cosines: Floats = np.einsum("nd,nd->n", one, two)
        return cosines


def mteb_model(spec: Named) -> Any:
    """What `resolve_model` opens, as `mteb.evaluate` takes it; raises as that, and
    `MissingExtraError` where mteb is not installed.

    What sentence-transformers opens is handed over as it is, so that any task runs on it; anything
    else becomes a `PairModel`.
    """
    _import_mteb()
    scorer = resolve_model(spec)
    if isinstance(scorer, EncoderScorer):
        from mteb.models import SentenceTransformerEncoderWrapper

        wrapped = SentenceTransformerEncoderWrapper(scorer.model)
        wrapped.mteb_model_meta = _meta_of(label_of(spec), fingerprint_model(spec))
        return wrapped
    return PairModel(scorer, label_of(spec), fingerprint_model(spec))


def register(*specs: str) -> list[str]:
    """Register models with MTEB, so that `mteb.get_model("firth/…")` opens them; return names.

    No `specs` stand for every baseline that needs no source; `MissingExtraError` without mteb.

    Example:
        >>> register("baseline:dice")
        ['firth/baseline-dice']
    """
    _import_mteb()
    from mteb.models.model_implementations import MODEL_REGISTRY

    names = []
    for spec in specs or [PREFIX + name for name, one in BASELINES.items() if not one.required]:
        meta = _meta_of(spec)

        def load(*_: Any, _spec: str = spec, **__: Any) -> Any:
            return mteb_model(_spec)

        MODEL_REGISTRY[str(meta.name)] = meta.model_copy(update={"loader": load})
        names.append(str(meta.name))
    return names


@dataclass(frozen=True)
class MtebFigure:
    """What MTEB reports of one model on one part of a task; figures × 100, without intervals.

    `revision` is that of the task's data on the hub; the version of mteb decides what a task is.
    """

    model: str
    task: str
    split: str
    subset: str
    spearman: float
    pearson: float
    main_score: float
    revision: str
    mteb: str

    def to_dict(self) -> dict[str, Any]:
        """The figure as plain values."""
        return asdict(self)


def evaluate_mteb(model: Model, tasks: Sequence[Any]) -> list[MtebFigure]:
    """Evaluate a model on tasks of type STS, by MTEB's own code and metrics; nothing is cached.

    Args:
        model: As `firth.evaluate.evaluate.evaluate` takes it.
        tasks: Names such as `STS12`, or MTEB tasks themselves (`AbsTaskSTS`).

    Raises:
        InputError: No such task, one that is not of type STS, or data that cannot be fetched.
        MissingExtraError: mteb is not installed.
    """
    mteb = _import_mteb()
    found = [_task(mteb, task) for task in tasks]
    for task in found:
        name, kind = task.metadata.name, task.metadata.type
        if kind != "STS":
            raise InputError(f"{name}: of type {kind}; only tasks of type STS run here")
    if isinstance(model, Named):
        wrapped, label = mteb_model(model), label_of(model)
    else:
        wrapped, label = PairModel(model, model.name), model.name
    figures = []
    for task, asked in zip(found, tasks, strict=True):
        if isinstance(asked, str) and not hub_is_reachable():
            raise InputError(
                f"{asked}: its data comes from the hub, which cannot be reached "
                "(HF_HUB_OFFLINE=1 uses what is cached)"
            )
        try:
            result = mteb.evaluate(wrapped, task, cache=None, co2_tracker=False,
                                   show_progress_bar=False)  # fmt: skip
        except FirthError:
            raise
        except (OSError, ValueError, RuntimeError) as error:
            raise InputError(
                f"{task.metadata.name}: mteb could not run it: {first_line(error)}"
            ) from error
        figures += _figures(label, result)
    return figures


def _meta_of(label: str, revision: str | None = None) -> "ModelMeta":
    """What MTEB wants to know about a model: `firth/LABEL`, and that it needs no instructions."""
    _import_mteb()
    from mteb.models.model_meta import ModelMeta

    name = re.sub(r"[^\w.+=-]+", "-", label).strip("-")
    known = {"name": f"{OWNER}/{name}", "revision": revision or "unknown",
             "use_instructions": False, "open_weights": True}  # fmt: skip
    meta: ModelMeta = ModelMeta.create_empty().model_copy(update=known)
    return meta


def _import_mteb() -> Any:
    try:
        import mteb
    except ImportError:
        raise MissingExtraError("Running tasks of MTEB", "mteb") from None
    return mteb


def _task(mteb: Any, task: Any) -> Any:
    try:
        return mteb.get_task(task) if isinstance(task, str) else task
    except KeyError as error:
        message = str(error.args[0]).splitlines()[0].removeprefix("KeyError: ")
        raise InputError(f"{task}: mteb has no such task: {message}") from error


def _figures(label: str, result: Any) -> list[MtebFigure]:
    version = importlib.metadata.version("mteb")
    return [
        MtebFigure(
            label, task.task_name, split, part["hf_subset"], 100 * part["spearman"],
            100 * part["pearson"], 100 * part["main_score"], str(task.dataset_revision), version,
        )
        for task in result.task_results
        for split, parts in task.scores.items()
        for part in parts
    ]  # fmt: skip

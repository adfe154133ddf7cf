"""Our models in MTEB's terms, for its tasks of type STS (extra `mteb`).

MTEB asks a model for vectors and compares them by cosine. Origin and the baselines give one number
a pair and no vectors. Since MTEB encodes the first texts of all pairs and then the second ones, in
the same order, the pairs are known once the second ones arrive: the first texts get the vector
(1, 0), and the second ones (s, √(1 − s²)), whose cosine with it is the similarity s. So MTEB's own
figures, `cosine_spearman` among them, are those of the model's similarities.
"""

import importlib.metadata
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from firth.lexical.scorer import Scorer
from firth.run.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from mteb.models.model_meta import ModelMeta

OWNER = "firth"
"""What stands before the slash in the names of our models."""


class PairModel:
    """A `Scorer` as MTEB takes models: for tasks of type STS only.

    Args:
        scorer: Scores pairs, in [-1, 1].
        label: What it is called in MTEB's results, after `firth/`.
        revision: What identifies it; None if nothing does.
    """

    def __init__(self, scorer: Scorer, label: str, revision: str | None = None) -> None:
        self._scorer = scorer
        self.mteb_model_meta = meta_of(label, revision)
        self._waiting: tuple[object, list[str]] | None = None

    def encode(
        self,
        inputs: Iterable[dict[str, Any]],
        *,
        task_metadata: Any,
        hf_split: str,
        hf_subset: str,
        prompt_type: Any = None,
        **kwargs: Any,
    ) -> npt.NDArray[np.float64]:
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

    def similarity(self, embeddings1: Any, embeddings2: Any) -> npt.NDArray[np.float64]:
        """Cosines of all with all, (n, m); the vectors have length 1."""
        product: npt.NDArray[np.float64] = np.asarray(embeddings1) @ np.asarray(embeddings2).T
        return product

    def similarity_pairwise(self, embeddings1: Any, embeddings2: Any) -> npt.NDArray[np.float64]:
        """Cosines of each with its own, (n,): the model's similarities."""
        one, two = np.asarray(embeddings1), np.asarray(embeddings2)
        cosines: npt.NDArray[np.float64] = np.einsum("nd,nd->n", one, two)
        return cosines


def mteb_model(spec: str | Path) -> Any:
    """The model behind `spec`, as `mteb.evaluate` takes it.

    Args:
        spec: As `resolve_model` takes it. What sentence-transformers opens is handed over as it
            is, so that any task runs on it; anything else becomes a `PairModel`.

    Raises:
        InputError: It cannot be opened.
        MissingStageError: It is a run, or a run's Surrogate, that is not built.
        MissingExtraError: mteb is not installed.
    """
    from firth.evaluate.models import EncoderScorer, fingerprint_model, resolve_model

    import_mteb()
    scorer = resolve_model(spec)
    if isinstance(scorer, EncoderScorer):
        from mteb.models import SentenceTransformerEncoderWrapper

        wrapped = SentenceTransformerEncoderWrapper(scorer.model)
        wrapped.mteb_model_meta = meta_of(str(spec), fingerprint_model(spec))
        return wrapped
    return PairModel(scorer, str(spec), fingerprint_model(spec))


def meta_of(label: str, revision: str | None = None) -> "ModelMeta":
    """What MTEB wants to know about a model: `firth/LABEL`, and that it needs no instructions."""
    import_mteb()
    from mteb.models.model_meta import ModelMeta

    name = re.sub(r"[^\w.+=-]+", "-", label).strip("-")
    meta: ModelMeta = ModelMeta.create_empty().model_copy(
        update={
            "name": f"{OWNER}/{name}",
            "revision": revision or "unknown",
            "use_instructions": False,
            "open_weights": True,
        }
    )
    return meta


def register(*specs: str) -> list[str]:
    """Register models with MTEB, so that `mteb.get_model("firth/…")` opens them.

    Args:
        specs: As `resolve_model` takes them; none stands for every baseline that needs no source.

    Returns:
        Their names in MTEB.

    Raises:
        MissingExtraError: mteb is not installed.

    Example:
        >>> register("baseline:dice")
        ['firth/baseline-dice']
    """
    from firth.baselines.registry import BASELINES
    from firth.baselines.spec import PREFIX

    import_mteb()
    from mteb.models.model_implementations import MODEL_REGISTRY

    names = []
    for spec in specs or [PREFIX + name for name, one in BASELINES.items() if not one.required]:
        meta = meta_of(spec)
        loader = _loader(spec)
        MODEL_REGISTRY[str(meta.name)] = meta.model_copy(update={"loader": loader})
        names.append(str(meta.name))
    return names


def _loader(spec: str) -> Any:
    def load(model_name: str, revision: str | None = None, **_: Any) -> Any:
        return mteb_model(spec)

    return load


def import_mteb() -> Any:
    """The library; raise `MissingExtraError` where it is not installed."""
    try:
        import mteb
    except ImportError:
        raise MissingExtraError("Running tasks of MTEB", "mteb") from None
    return mteb


def mteb_version() -> str:
    """Version of the installed mteb: tasks change their data with it."""
    return importlib.metadata.version("mteb")

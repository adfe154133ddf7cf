"""From what a user types to something that compares sentences."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from firth.baselines.registry import identify_baseline, open_baseline
from firth.baselines.spec import PREFIX
from firth.evaluate.snapshot import fingerprint_snapshot
from firth.lexical.scorer import Scorer, TextPair
from firth.run.code import fingerprint_code
from firth.run.errors import InputError, MissingStageError
from firth.run.files import fingerprint_file, fingerprint_value
from firth.run.hub import hub_is_reachable
from firth.run.quiet import quiet_libraries
from firth.run.run import CONFIG, Run
from firth.run.stage import Manifest

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

_MODULES = "modules.json"
_HF_CONFIG = "config.json"


class OriginScorer:
    """Origin similarity over a run.

    Args:
        run: Folder of the run.

    Raises:
        MissingStageError: A stage that Origin needs is not built.
    """

    def __init__(self, run: str | Path) -> None:
        from firth.origin.origin import Origin

        self.name = f"Origin of {run}"
        self._origin: Any = Origin.open(run)

    def similarities(self, pairs: Sequence[TextPair]) -> npt.NDArray[np.float64]:
        """Origin similarities of `pairs`, shape (n,)."""
        return np.asarray(self._origin.similarities(pairs), dtype=np.float64)


class EncoderScorer:
    """Cosine of the two sentence vectors of a sentence-transformers model, in [-1, 1].

    Each distinct text is encoded once. A text whose vector is zero (no known token) has similarity
    0 with everything.

    Args:
        model: The encoder.
        name: What it is, for people.
        batch: Texts encoded together.
    """

    def __init__(self, model: "SentenceTransformer", name: str, batch: int = 64) -> None:
        self.name = name
        self.model = model.eval()
        self._batch = batch

    def similarities(self, pairs: Sequence[TextPair]) -> npt.NDArray[np.float64]:
        """Cosines of `pairs`, shape (n,)."""
        index = {text: i for i, text in enumerate(dict.fromkeys(t for pair in pairs for t in pair))}
        if not index:
            return np.empty(0, dtype=np.float64)
        encoded = self.model.encode(
            list(index), batch_size=self._batch, show_progress_bar=False, convert_to_numpy=True
        )
        vectors = np.asarray(encoded, dtype=np.float64)
        vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        left, right = ([index[pair[side]] for pair in pairs] for side in (0, 1))
        cosines: npt.NDArray[np.float64] = np.einsum("nd,nd->n", vectors[left], vectors[right])
        return np.clip(cosines, -1.0, 1.0)


def resolve_model(spec: str | Path) -> Scorer:
    """Open what `spec` names.

    Args:
        spec: `baseline:NAME[+OPTION…][@SOURCE]`; the folder of a run (Origin); a folder that
            sentence-transformers opens, such as `RUN/surrogate`; or a model's name on the hub.

    Raises:
        InputError: It is none of these, or cannot be loaded.
        MissingStageError: It is a run, or a run's surrogate, that is not built.
    """
    text = str(spec)
    if text.startswith(PREFIX):
        return open_baseline(text)
    folder = Path(spec)
    if (folder / CONFIG).is_file():
        return OriginScorer(folder)
    if folder.exists():
        if not any((folder / name).is_file() for name in (_MODULES, _HF_CONFIG)):
            raise InputError(
                f"{text}: neither a run (no {CONFIG}) nor an encoder (no {_MODULES}). "
                f"Expected one of these folders, a model's hub name, or {PREFIX}NAME"
            )
    elif (folder.parent / CONFIG).is_file() and folder.name == "surrogate":
        raise MissingStageError(
            str(folder.parent), "surrogate", f"firth distill --run {folder.parent}"
        )
    elif folder.is_absolute() or text.startswith((".", "~")) or text.count("/") > 1:
        raise InputError(f"{text}: no such folder")
    return _encoder(text, local=folder.exists())


def _encoder(name: str, local: bool) -> Scorer:
    offline = not local and not hub_is_reachable()
    from safetensors import SafetensorError
    from sentence_transformers import SentenceTransformer

    try:
        with quiet_libraries():
            model = SentenceTransformer(name, local_files_only=local or offline)
    except (
        OSError,
        ValueError,
        RuntimeError,
        KeyError,
        TypeError,
        AttributeError,
        ImportError,
        SafetensorError,
    ) as error:
        first = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        if local:
            raise InputError(
                f"{name}: not an encoder sentence-transformers opens: {first}"
            ) from error
        reach = " (the hub cannot be reached)" if offline else ""
        raise InputError(
            f"{name}: no such folder, and no model of this name could be loaded{reach}: {first}. "
            f"Expected a run, an encoder's folder or hub name, or {PREFIX}NAME"
        ) from error
    return EncoderScorer(model, name)


def fingerprint_model(spec: str | Path) -> str | None:
    """What identifies the model behind `spec` whatever it is called; None where that is unknown.

    A baseline by its code and the bytes of what it reads, a run by its finished stages and its
    settings of Origin, any other folder by the paths and bytes of its files, a hub name by the
    commit it stands for.
    """
    text, folder = str(spec), Path(spec)
    if text.startswith(PREFIX):
        identity = identify_baseline(text)
        code = fingerprint_code("baselines", "words")
        return None if identity is None else fingerprint_value([identity, code])
    if (folder / CONFIG).is_file():
        config = Run.open(folder).config.origin.model_dump(mode="json")
        return fingerprint_value(
            [_stages(folder), config, fingerprint_code("fit", "origin", "words")]
        )
    if folder.is_dir():
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        return fingerprint_value(
            [[path.relative_to(folder).as_posix(), fingerprint_file(path)] for path in files]
        )
    return fingerprint_snapshot(text)


def _stages(run: Path) -> dict[str, str]:
    """Stage → digest of what Origin reads: everything but what is made from Origin."""
    found = {
        path.name: Manifest.read(path)
        for path in sorted(run.iterdir())
        if path.is_dir() and not path.name.startswith(".")
    }
    later = ("harvest", "surrogate", "evaluation")
    return {name: m.digest for name, m in found.items() if m is not None and name not in later}

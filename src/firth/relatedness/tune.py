"""Fine-tuning on scored pairs, measured on pairs that were held out (§6.2).

A Siamese encoder learns cosines by mean squared error, as SBERT does. (The paper says
"cross-encoder", and mean-pooled sentence embeddings compared by cosine, which a cross-encoder does
not have.) Each fold is a stage of its
own in the folder of results: a call that was stopped continues with the fold it was in.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from firth.baselines.spec import PREFIX
from firth.evaluate.figures import Fold, Scheme, divide
from firth.evaluate.metrics import Floats
from firth.evaluate.models import EncoderScorer, fingerprint_model, resolve_model
from firth.evaluate.rows import EvaluationSet
from firth.run.code import fingerprint_code
from firth.run.errors import InputError
from firth.run.files import fingerprint_value, write_atomically
from firth.run.progress import note
from firth.run.seeds import derive_seed
from firth.run.stage import SCRATCH, Manifest, execute

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

FOLDS = 5
LABELS: Mapping[Scheme, str] = {
    Scheme.RANDOM: "cross-validated",
    Scheme.CROSS_TOPIC: "leave-one-domain-out",
}
_PREDICTIONS = "similarities.parquet"
_STATIC_RATE, _TRANSFORMER_RATE = 2e-3, 2e-5
_LIBRARIES = ("sentence-transformers", "torch", "transformers", "tokenizers")


@dataclass(frozen=True)
class Recipe:
    """How to fine-tune: the folder or hub name of an encoder (mean pooling is put on one that has
    no pooling), passes over a fold's training pairs, pairs a step, peak rate of Adam (None: 2e-5,
    or 2e-3 for static word vectors), at most so many training pairs a fold at random (None: all),
    and the seed of folds, order and dropout. The paper gives no numbers; batch and rate are
    SBERT's.
    """

    base: str
    epochs: int = 1
    batch: int = 16
    learning_rate: float | None = None
    pairs: int | None = None
    seed: int = 13


@dataclass(frozen=True, eq=False)
class Tuned:
    """What fine-tuned models answer on held-out pairs: the similarity of every pair, by the model
    that did not learn from it, and whether a sentence of it stands in a training pair of its fold;
    (n,).
    """

    scheme: Scheme
    folds: tuple[Fold, ...]
    similarities: Floats
    shared: npt.NDArray[np.bool_]


def check_recipe(recipe: Recipe, data: EvaluationSet) -> None:
    """Raise `InputError`, before training, if the base is no encoder that can be tuned, or all
    scores are alike.
    """
    if recipe.base.startswith(PREFIX) or len({row.score for row in data.rows}) < 2:
        wrong = "all scores are alike" if not recipe.base.startswith(PREFIX) else "a baseline"
        raise InputError(f"--finetune {recipe.base}: {wrong}. {_EXPECTED}")
    _open(recipe.base)


_EXPECTED = (
    "Expected the folder or hub name of an encoder, such as RUN/surrogate or roberta-base, and "
    "pairs that differ in their scores"
)


def tune(
    data: EvaluationSet, scheme: Scheme, recipe: Recipe, folder: Path, folds: int = FOLDS
) -> Tuned:
    """Fine-tune once for each fold, and let each model score what was held out. Random folds are
    over pairs, as in the paper: a sentence of a test pair may occur in a training pair, which
    `Tuned.shared` tells. Finished folds are kept in `folder/folds`.

    Raises:
        InputError: Too few rows or domains, or a base that cannot be tuned.
    """
    check_recipe(recipe, data)
    (folder / "folds").mkdir(parents=True, exist_ok=True)
    divided, label = divide(data, scheme, recipe.seed, folds), LABELS[scheme]
    similarities = np.full(len(data.rows), np.nan)
    shared = np.zeros(len(data.rows), dtype=np.bool_)
    inputs = {
        "base": fingerprint_model(recipe.base) or recipe.base,
        "pairs": fingerprint_value([data.fingerprint, data.question]),
    }
    settings = asdict(recipe) | {"scheme": label, "folds": folds, "task": data.task.name}
    del settings["base"]
    libraries = {name: version(name) for name in _LIBRARIES}
    for number, fold in enumerate(divided, start=1):
        name = f"folds/{label}-{number}"
        asked = settings | {"fold": fold.name}
        wanted = Manifest(name, inputs, asked, fingerprint_code(__name__), libraries).requested()
        build = _builder(data, fold, recipe, f"{label} {number} of {len(divided)}")
        outcome = execute(folder / name, wanted, build)
        if outcome.reused:
            note(f"{label}, {fold.name}: unchanged")
        similarities[fold.test] = _predictions(folder / name / _PREDICTIONS, fold)
        seen = {text for row in fold.train for text in data.rows[row].texts}
        shared[fold.test] = [any(t in seen for t in data.rows[row].texts) for row in fold.test]
    return Tuned(scheme, tuple(divided), similarities, shared)


def _builder(data: EvaluationSet, fold: Fold, recipe: Recipe, title: str) -> Any:
    def build(workspace: Path) -> Mapping[str, Any]:
        import pyarrow as pa
        import pyarrow.parquet as pq

        from firth.run.quiet import quiet_libraries
        from firth.surrogate.settings import SurrogateConfig
        from firth.surrogate.training import train_siamese

        scratch = workspace / SCRATCH
        scratch.mkdir(exist_ok=True)
        seed = derive_seed(recipe.seed, "relatedness", "fine-tuning", fold.name)
        with quiet_libraries():
            model = _open(recipe.base)
            rate = recipe.learning_rate or learning_rate(model)
            config = SurrogateConfig(
                base=recipe.base, epochs=recipe.epochs, batch=recipe.batch, learning_rate=rate
            )
            pairs = training_pairs(data, fold, recipe)
            history = train_siamese(
                model, pairs, config, seed, scratch, title=f"Fine-tuning, {title}"
            )
            asked = [data.pairs[row] for row in fold.test]
            found = EncoderScorer(model, recipe.base).similarities(asked)
        if not np.isfinite(found).all():
            raise InputError(
                f"{fold.name}: the model became infinite while it learned. Lower --learning-rate"
            )
        table = pa.table({"row": fold.test, "similarity": found})
        with write_atomically(workspace / _PREDICTIONS) as partial:
            pq.write_table(table, partial)
        return {"train": len(pairs), "test": len(asked), "learning_rate": rate, "history": history}

    return build


def training_pairs(data: EvaluationSet, fold: Fold, recipe: Recipe) -> Any:
    """The pairs to learn from as a `datasets.Dataset` of sentence1, sentence2 and label: the
    score's place between the lowest and the highest of the fold's training pairs, in [0, 1]. Their
    order follows from the rows, not from the file.
    """
    from datasets import Dataset

    train = set(fold.train.tolist())
    chosen = np.array([row for row in data.order if row in train])
    if recipe.pairs is not None and recipe.pairs < len(chosen):
        rng = np.random.default_rng(derive_seed(recipe.seed, "relatedness", "pairs", fold.name))
        chosen = chosen[np.sort(rng.permutation(len(chosen))[: recipe.pairs])]
    scores = np.array([data.rows[row].score for row in fold.train])
    low, high = float(scores.min()), float(scores.max())
    rows = [data.rows[row] for row in chosen]
    return Dataset.from_dict(
        {
            "sentence1": [row.texts[0] for row in rows],
            "sentence2": [row.texts[1] for row in rows],
            "label": [(row.score - low) / ((high - low) or 1.0) for row in rows],
        }
    )


def learning_rate(model: "SentenceTransformer") -> float:
    """The peak rate that suits an encoder: static word vectors bear a hundred times more."""
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding

    return _STATIC_RATE if isinstance(model[0], StaticEmbedding) else _TRANSFORMER_RATE


def _open(base: str) -> "SentenceTransformer":
    scorer = resolve_model(base)
    if not isinstance(scorer, EncoderScorer):
        raise InputError(f"--finetune {base}: {scorer.name}, which cannot be tuned. {_EXPECTED}")
    return scorer.model


def _predictions(path: Path, fold: Fold) -> Floats:
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    if table["row"].to_pylist() != fold.test.tolist():
        raise InputError(f"{path}: holds other rows than the fold. Delete it and run again")
    found: Floats = table["similarity"].to_numpy()
    return found

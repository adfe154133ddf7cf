"""Fine-tuning on scored pairs, measured on pairs that were held out (§6.2).

A Siamese encoder learns cosines by mean squared error, as SBERT does. (The paper says
"cross-encoder", and mean-pooled sentence embeddings compared by cosine, which a cross-encoder does
not have.) Each fold is a stage of its own in the folder of results, with the model that it made: a
call that was stopped continues with the fold it was in.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from firth.evaluate.figures import Fold, Scheme, divide
from firth.evaluate.metrics import Floats
from firth.evaluate.models import EncoderScorer
from firth.evaluate.rows import EvaluationSet
from firth.finetune.data import examples_of
from firth.finetune.recipe import Kind
from firth.finetune.recipe import Recipe as Learning
from firth.finetune.start import Start
from firth.run.code import fingerprint_code
from firth.run.errors import InputError
from firth.run.files import fingerprint_value, write_atomically
from firth.run.progress import note
from firth.run.seeds import derive_seed
from firth.run.stage import SCRATCH, Manifest, execute

FOLDS = 5
LABELS: Mapping[Scheme, str] = {
    Scheme.RANDOM: "cross-validated",
    Scheme.CROSS_TOPIC: "leave-one-domain-out",
}
MODEL = "model"
"""Of a fold, in its folder: `SentenceTransformer(path)` opens it."""
_PREDICTIONS = "similarities.parquet"
_LIBRARIES = ("sentence-transformers", "torch", "transformers", "tokenizers")


@dataclass(frozen=True)
class Recipe:
    """How to fine-tune: the folder or hub name of an encoder (mean pooling is put on one that has
    no pooling), passes over a fold's training pairs, pairs a step, peak rate of Adam (None: 2e-5,
    or 5e-4 of word vectors), at most so many training pairs a fold at random (None: all),
    and the seed of folds, order and dropout. The paper gives no numbers; batch and rate are
    SBERT's.
    """

    base: str
    epochs: int = 1
    batch: int = 16
    learning_rate: float | None = None
    pairs: int | None = None
    seed: int = 13

    @property
    def learning(self) -> Learning:
        """The same as `firth finetune pairs` has it; no dev, so that the last weights stay."""
        return Learning(Kind.PAIRS, epochs=self.epochs, batch=self.batch,
                        learning_rate=self.learning_rate)  # fmt: skip


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
    if len({row.score for row in data.rows}) < 2:
        raise InputError(f"--finetune {recipe.base}: all scores are alike; expected pairs that "
                         "differ in their scores")  # fmt: skip
    Start(recipe.base).open(recipe.seed)


def tune(
    data: EvaluationSet, scheme: Scheme, recipe: Recipe, folder: Path, folds: int = FOLDS
) -> Tuned:
    """Fine-tune once for each fold, and let each model score what was held out. Random folds are
    over pairs, as in the paper: a sentence of a test pair may occur in a training pair, which
    `Tuned.shared` tells. Finished folds are kept in `folder/folds`, each with its `MODEL`.

    Raises:
        InputError: Too few rows or domains, or a base that cannot be tuned.
    """
    check_recipe(recipe, data)
    (folder / "folds").mkdir(parents=True, exist_ok=True)
    divided, label = divide(data, scheme, recipe.seed, folds), LABELS[scheme]
    similarities = np.full(len(data.rows), np.nan)
    shared = np.zeros(len(data.rows), dtype=np.bool_)
    start = Start(recipe.base)
    inputs = {
        "base": start.identity(),
        "pairs": fingerprint_value([data.fingerprint, data.question]),
    }
    settings = asdict(recipe) | {"scheme": label, "folds": folds, "task": data.task.name}
    del settings["base"]
    libraries = {name: version(name) for name in _LIBRARIES}
    for number, fold in enumerate(divided, start=1):
        name = place_of(scheme, number)
        asked = settings | {"fold": fold.name}
        wanted = Manifest(name, inputs, asked, fingerprint_code(__name__), libraries).requested()
        build = _builder(data, fold, start, recipe, f"{label} {number} of {len(divided)}")
        outcome = execute(folder / name, wanted, build)
        if outcome.reused:
            note(f"{label}, {fold.name}: unchanged")
        similarities[fold.test] = _predictions(folder / name / _PREDICTIONS, fold)
        shared[fold.test] = data.only(fold.test).sharing(data.only(fold.train))
    return Tuned(scheme, tuple(divided), similarities, shared)


def place_of(scheme: Scheme, number: int) -> str:
    """Where a fold is kept, in the folder of results; folds are counted from 1."""
    return f"folds/{LABELS[scheme]}-{number}"


def _builder(data: EvaluationSet, fold: Fold, start: Start, recipe: Recipe, title: str) -> Any:
    def build(workspace: Path) -> Mapping[str, Any]:
        import pyarrow as pa
        import pyarrow.parquet as pq

        from firth.finetune.train import fit
        from firth.run.quiet import quiet_libraries

        seed = derive_seed(recipe.seed, "relatedness", "fine-tuning", fold.name)
        model, how = start.open(seed), recipe.learning
        pairs = training_pairs(data, fold, recipe)
        learned = fit(model, examples_of(pairs, how.kind, how.chosen), None, how, seed,
                      workspace / SCRATCH, f"Fine-tuning, {title}", start.random)  # fmt: skip
        asked = [data.pairs[row] for row in fold.test]
        found = EncoderScorer(model, recipe.base).similarities(asked)
        if not np.isfinite(found).all():
            raise InputError(
                f"{fold.name}: the model became infinite while it learned. Lower --learning-rate"
            )
        table = pa.table({"row": fold.test, "similarity": found})
        with write_atomically(workspace / _PREDICTIONS) as partial:
            pq.write_table(table, partial)
        with quiet_libraries():
            model.cpu().save(str(workspace / MODEL), create_model_card=False)
        return {"train": len(pairs.rows), "test": len(asked), "learning_rate": learned.rate,
                "history": list(learned.looks)}  # fmt: skip

    return build


def training_pairs(data: EvaluationSet, fold: Fold, recipe: Recipe) -> EvaluationSet:
    """The pairs of a fold to learn from, in an order that follows from the rows, not the file."""
    seed = derive_seed(recipe.seed, "relatedness", "pairs", fold.name)
    return data.only(fold.train).sampled(recipe.pairs, seed)


def _predictions(path: Path, fold: Fold) -> Floats:
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    if table["row"].to_pylist() != fold.test.tolist():
        raise InputError(f"{path}: holds other rows than the fold. Delete it and run again")
    found: Floats = table["similarity"].to_numpy()
    return found

"""The settings of this wing: the section `reproduce` of a run's settings.

The ablations and sweeps of the papers change a value here or in the section `paper`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated

from pydantic import BeforeValidator, Field

from firth.run.settings import Count, Names, Section


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How a baseline learns word vectors from sentences, as its paper has it.

    `rate` is that of Adagrad at the start, which falls linearly to 0.
    """

    stemmed: bool
    epochs: int
    window: int
    """Words on each side that are predicted; k, the neighbors on each side, of CBOS."""
    negatives: int
    """Random words for each word; m, the random sentences for each sentence, of CBOS."""
    batch: int = 0
    """Sentences whose gradients are summed in a step."""
    rate: float = 0.1
    dimensions: int = 100
    min_count: int = 5
    vocabulary: int = 100_000


Size = Annotated[str, BeforeValidator(str), Field(pattern=r"^\d+(\.\d+)?%?$")]
_WORD2VEC = Recipe(stemmed=False, epochs=5, window=5, negatives=5)
RECIPES: Mapping[str, Recipe] = {
    "skip-gram": _WORD2VEC,
    "cbow": _WORD2VEC,
    "siamese-cbow": Recipe(stemmed=False, epochs=5, window=1, negatives=2, batch=100),
    "cbos": Recipe(stemmed=True, epochs=10, window=1, negatives=2, batch=10),
}
"""Mikolov et al. 2013 (gensim's defaults), Kenter et al. 2016, and Yuan & Zhang."""


class BaselineSettings(Section):
    """What the trained baselines have in common."""

    dimensions: Count = 100
    epochs: Count | None = None
    """Passes over the sentences. By default those of each paper."""
    min_count: Count = 5
    """Rarer words are dropped."""

    def recipe(self, baseline: str) -> Recipe:
        """Return the recipe of a trained baseline, such as `cbos`, with these settings."""
        recipe = RECIPES[baseline]
        return replace(
            recipe,
            dimensions=self.dimensions,
            epochs=self.epochs or recipe.epochs,
            min_count=self.min_count,
        )


class TableSettings(Section):
    """What the tables measure."""

    sample: Count | None = None
    """Random rows of each set. By default all."""
    contexts: Count = 64
    """|C_s| where a table does not vary it (the paper: 500)."""
    sizes: tuple[Size, ...] = ()
    """Sizes of a table that varies one, as `250` or `10%`. By default its usual sizes."""
    start: Names = ()
    """Encoders that a table fine-tunes. By default the Surrogate of the run."""
    epochs: Count | None = None
    """Passes over the rows in fine-tuning. By default those of `firth train finetune`."""
    pairs: str = "str-2021"
    """Set or file of rated pairs that the tables of STR-2021 measure."""
    vectors: str | None = None
    """File of word vectors for Tables 4 and 5 of STR-2021, as text. By default GloVe (6B, 50-d)."""


class ReproduceSettings(Section):
    """All settings of the wing. `tables` is no input of a trained baseline."""

    baselines: BaselineSettings = BaselineSettings()
    tables: TableSettings = TableSettings()

"""A transformer of scikit-learn: texts become the vectors of an encoder.

Example:
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> pipeline = make_pipeline(FirthVectorizer(), LogisticRegression())
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from firth.encoders.encoder import Encoder
from firth.model import build
from firth.text.types import Singles


class FirthVectorizer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Texts to unit vectors, (n, d) as float32; a text without a known word has zeros.

    Args:
        encoder: As `firth.build` takes it. By default the best installed one that reads the
            language of the texts, or one that is learned from them.
        run: Folder of the run that `fit` builds. Without it, a transformer that is stored in a
            file cannot be read by another process.
        seed: Seed of every random choice.
    """

    def __init__(
        self, encoder: str | Encoder | None = None, run: str | Path | None = None, seed: int = 13
    ) -> None:
        self.encoder, self.run, self.seed = encoder, run, seed

    def fit(self, X: Sequence[str], y: object = None) -> Self:  # noqa: N803
        """Learn from texts, as `firth.build` does; labels are not looked at."""
        self.model_ = build(list(X), self.run, encoder=self.encoder, seed=self.seed, quiet=True)
        self._n_features_out = self.model_.encoder.dimensions
        return self

    def transform(self, X: Sequence[str]) -> Singles:  # noqa: N803
        """Return the vectors of n texts, (n, d)."""
        check_is_fitted(self)
        return self.model_.encode(list(X))

    def __sklearn_tags__(self) -> Any:
        """Say that the input is a list of texts."""
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.string = False, True
        return tags

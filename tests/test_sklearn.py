"""`firth.sklearn`: the transformer keeps the rules of scikit-learn, and gives the run's vectors."""

import pickle
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import toy_documents

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

import firth
from firth.sklearn import FirthVectorizer

TEXTS = [str(record["text"]) for record in toy_documents(20)]


def test_the_rules_of_scikit_learn() -> None:
    """The checks for input of texts pass; parameters are cloned, and an unfitted one says so."""
    check_estimator(FirthVectorizer())
    assert clone(FirthVectorizer("none", seed=7)).get_params()["seed"] == 7
    with pytest.raises(NotFittedError):
        FirthVectorizer().transform(TEXTS)


def test_vectors_are_those_of_the_run(tmp_path: Path) -> None:
    """One row a text, named columns, in a pipeline, and read again by its folder."""
    vectorizer = FirthVectorizer("none", tmp_path / "run").fit(TEXTS)
    vectors = vectorizer.transform(TEXTS)
    assert np.array_equal(vectors, firth.load(tmp_path / "run").encode(TEXTS))
    assert vectors.any()
    names = vectorizer.get_feature_names_out()
    assert (len(names), names[0]) == (vectors.shape[1], "firthvectorizer0")
    read = pickle.loads(pickle.dumps(vectorizer))
    assert np.array_equal(read.transform(TEXTS[:2]), vectors[:2])
    labels = [n % 2 for n in range(len(TEXTS))]
    pipeline = make_pipeline(FirthVectorizer("none"), LogisticRegression())
    assert pipeline.fit(TEXTS, labels).predict(TEXTS).shape == (len(TEXTS),)

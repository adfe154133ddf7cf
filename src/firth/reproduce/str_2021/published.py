"""Figures as printed by Abdalla, Vishnubhotla & Mohammad (2021); correlations times 100."""

from collections.abc import Mapping
from dataclasses import dataclass

TABLE2: Mapping[str, int] = {
    "Formality": 1000,
    "Formality_pp": 300,
    "Formality_r": 700,
    "Goodreads": 1000,
    "ParaNMT": 750,
    "ParaNMT_pp": 450,
    "ParaNMT_r": 300,
    "SNLI": 750,
    "STS": 250,
    "Stance": 750,
    "Wikipedia": 1000,
    "Wiki_pp": 500,
    "Wiki_r": 500,
    "ALL": 5500,
}
"""Table 2: source or part of a source → pairs, in the order of the paper."""


@dataclass(frozen=True)
class Statistics:
    """Table 3. The text says that a tuple had two annotators and a pair stood in about eight
    tuples; the table prints 8 under annotations per tuple."""

    pairs: int = 5_500
    tuples: int = 11_000
    tuples_a_pair: int = 8
    answers_a_tuple: int = 2
    annotations: int = 21_936
    annotators: int = 389
    reliability: float = 84.0


TABLE3 = Statistics()

TABLE4: Mapping[str, tuple[float, int]] = {
    "Dice": (57, 5500),
    "All": (61, 5500),
    "PROPN": (50, 1907),
    "NOUN": (45, 4746),
    "ADJ": (36, 2236),
    "VERB": (31, 3946),
    "PRON": (30, 1800),
    "ADV": (28, 1147),
    "AUX": (25, 2069),
    "ADP": (23, 2476),
    "DET": (20, 3265),
    "Noun group": (60, 5478),
    "Verb group": (32, 4999),
    "Adjective group": (29, 4584),
    "Subject of a triple": (29, 1611),
    "Object of a triple": (43, 1618),
}
"""Feature → Spearman and pairs. Subjects and objects are those of an extractor of triples."""

TABLE5: Mapping[str, float] = {
    "Lexical overlap (Dice)": 57,
    "Word2Vec (mean, Googlenews)": 60,
    "Word2Vec (max, Googlenews)": 54,
    "GloVe (mean, Common Crawl)": 49,
    "GloVe (max, Common Crawl)": 56,
    "GloVe (mean, 200_Twitter)": 44,
    "GloVe (max, 200_Twitter)": 48,
    "Fasttext (mean, Common crawl)": 29,
    "Fasttext (max, Common crawl)": 24,
    "BERT-base (mean)": 58,
    "BERT-base (max)": 55,
    "BERT-base (cls)": 41,
    "RoBERTa-base (mean)": 48,
    "RoBERTa-base (max)": 47,
    "RoBERTa-base (cls)": 41,
    "BERT-base (mean), fine-tuned": 82,
    "RoBERTa-base (mean), fine-tuned": 83,
}
"""Model → Spearman, mean over five folds."""

TABLE6: Mapping[str, tuple[float, float, float]] = {
    "STS": (60, 79, 82),
    "SNLI": (53, 80, 77),
    "Stance": (20, 49, 39),
    "Goodreads": (44, 73, 70),
    "Wikipedia": (48, 79, 75),
    "Formality": (69, 86, 83),
    "ParaNMT": (44, 80, 79),
}
"""Domain → Dice; RoBERTa-base cross-validated; RoBERTa-base without pairs of the domain."""

BINS: Mapping[str, float] = {
    "[0, 1]": 67,
    "(1, 2]": 25,
    "(2, 3]": 49,
    "(3, 4]": 19,
    "(4, 5]": 49,
}
"""§4: bin of STS's similarity → Spearman of similarity and relatedness in it."""

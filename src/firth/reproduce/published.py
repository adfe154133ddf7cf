"""Figures as the papers print them: correlations × 100, in the order of the papers.

CBOS: Yuan & Zhang, "CBOS: Continuous Bag of Sentences". SUN: Sun et al. (2022), §5: Spearman on
STSb test, unsupervised. STR: Abdalla, Vishnubhotla & Mohammad (2021).
"""

from collections.abc import Mapping
from dataclasses import dataclass

# fmt: off
CBOS_SYSTEMS: Mapping[str, str] = {
    "skip-gram": "skip-gram", "cbow": "CBOW", "skip-thought": "skip-thought",
    "siamese-cbow": "Siamese CBOW", "cbos": "CBOS",
}
"""Our baseline → the name in Table I, in the order of its columns."""

_CBOS: Mapping[tuple[str, str], tuple[float, ...]] = {
    ("sts12", "MSRpar"): (0.3740, 0.3419, 0.0560, 0.4379, 0.4530),
    ("sts12", "MSRvid"): (0.5213, 0.5099, 0.5807, 0.4522, 0.7254),
    ("sts12", "OnWN"): (0.6040, 0.6320, 0.6045, 0.6444, 0.6443),
    ("sts12", "SMTeuroparl"): (0.3071, 0.3976, 0.4203, 0.4503, 0.4599),
    ("sts12", "SMTnews"): (0.4487, 0.4462, 0.3911, 0.3902, 0.3967),
    ("sts13", "FNWN"): (0.3480, 0.2736, 0.3124, 0.2322, 0.3857),
    ("sts13", "OnWN"): (0.4745, 0.5165, 0.2418, 0.4985, 0.6347),
    ("sts13", "SMT"): (0.1838, 0.2494, 0.3378, 0.3312, 0.3118),
    ("sts13", "headlines"): (0.5935, 0.5730, 0.3861, 0.6534, 0.6486),
    ("sts14", "OnWN"): (0.5848, 0.6068, 0.4682, 0.6073, 0.7245),
    ("sts14", "deft-forum"): (0.3193, 0.3339, 0.3736, 0.4082, 0.4764),
    ("sts14", "deft-news"): (0.5906, 0.5737, 0.4617, 0.5913, 0.6269),
    ("sts14", "headlines"): (0.5790, 0.5455, 0.4031, 0.6364, 0.6453),
    ("sts14", "images"): (0.5131, 0.5056, 0.4257, 0.6497, 0.7722),
    ("sts14", "tweet-news"): (0.6336, 0.6897, 0.5138, 0.7315, 0.7233),
    ("sts15", "answers-forums"): (0.1892, 0.1767, 0.2784, 0.2181, 0.3226),
    ("sts15", "answers-students"): (0.3233, 0.3344, 0.2661, 0.3671, 0.3458),
    ("sts15", "belief"): (0.2435, 0.3277, 0.4584, 0.4769, 0.5282),
    ("sts15", "headlines"): (0.1875, 0.1806, 0.1248, 0.2151, 0.2186),
    ("sts15", "images"): (0.2454, 0.2292, 0.2100, 0.2560, 0.2829),
}

CBOS_SETS: tuple[tuple[str, str], ...] = tuple(_CBOS)
"""(task, subtask) of the 20 sets, in the order of Table I."""

CBOS_TABLE1: Mapping[str, Mapping[tuple[str, str], float]] = {
    name: {key: round(100 * figures[place], 2) for key, figures in _CBOS.items()}
    for place, name in enumerate(CBOS_SYSTEMS)
}
"""Baseline → (task, subtask) → Pearson in percent, as printed."""

SUN_TABLE1_SETS: Mapping[str, str] = {
    "sts12": "STS12", "sts13": "STS13", "sts14": "STS14", "sts15": "STS15", "sts16": "STS16",
    "sts-b": "STSb", "sick-r": "SICK-R",
}
"""Our task → the column of Table 1, in its order; a column of their mean follows."""

SUN_TABLE1: Mapping[str, tuple[float, ...]] = {
    "Avg. GloVe embeddings": (55.14, 70.66, 59.73, 68.25, 63.66, 58.02, 53.76, 61.32),
    "Avg. BERT embeddings": (38.78, 57.98, 57.98, 63.15, 61.06, 46.35, 58.40, 54.81),
    "BERT CLS-vector": (20.16, 30.01, 20.09, 36.88, 38.08, 16.50, 42.63, 29.19),
    "Universal Sentence Encoder": (64.49, 67.80, 64.61, 76.83, 73.18, 74.92, 76.69, 71.22),
    "Origin": (72.41, 74.30, 75.45, 78.45, 79.93, 78.47, 79.49, 76.93),
    "Surrogate base": (70.62, 72.14, 72.72, 76.34, 75.24, 74.19, 77.20, 74.06),
    "Surrogate large": (71.93, 73.74, 73.95, 77.01, 76.64, 75.32, 77.84, 75.20),
    "SBERT-NLI base": (70.97, 76.53, 73.19, 79.09, 74.30, 77.03, 72.91, 74.89),
    "SRoBERTa-NLI base": (71.54, 72.49, 70.80, 78.74, 73.69, 77.77, 74.46, 74.21),
    "Surrogate-NLI base": (74.15, 76.50, 72.23, 81.24, 78.75, 79.32, 78.56, 77.25),
    "SBERT-NLI large": (72.27, 78.46, 74.90, 80.99, 76.25, 79.23, 73.75, 76.55),
    "SRoBERTa-NLI large": (74.53, 77.00, 73.18, 81.85, 76.82, 79.10, 74.29, 76.68),
    "Surrogate-NLI large": (76.98, 79.83, 75.15, 83.54, 79.32, 80.82, 79.64, 79.33),
}
"""Table 1: model → Spearman on each set, and their mean; unsupervised, then -NLI."""

SUN_TABLE2: Mapping[str, float] = {
    "BERT base": 84.30, "SBERT base": 84.67, "SRoBERTa base": 84.92, "Surrogate base": 87.91,
    "BERT-NLI base": 88.33, "SBERT-NLI base": 85.35, "SRoBERTa-NLI base": 84.79,
    "Surrogate-NLI base": 89.95,
    "BERT large": 85.64, "SBERT large": 84.45, "SRoBERTa large": 85.02, "Surrogate large": 88.52,
    "BERT-NLI large": 88.77, "SBERT-NLI large": 86.10, "SRoBERTa-NLI large": 86.15,
    "Surrogate-NLI large": 90.69,
}
"""Table 2: model, trained on STSb → Spearman on its test."""

SUN_TABLE3: Mapping[str, tuple[float, float]] = {
    "tf-idf": (46.77, 42.95), "Avg. GloVe embeddings": (32.40, 34.00), "Origin": (56.20, 54.40),
    "Surrogate base": (53.00, 52.50), "Surrogate large": (54.50, 54.70),
    "BERT base, 10-fold": (77.20, 74.84), "SBERT base, 10-fold": (76.57, 74.13),
    "BERT large, 10-fold": (78.68, 76.38), "SBERT large, 10-fold": (77.85, 75.93),
    "Surrogate base, 10-fold": (79.80, 78.20), "Surrogate large, 10-fold": (81.00, 80.50),
}
"""Table 3: model → Pearson and Spearman on AFS; unsupervised, then cross-validated."""

SUN_TABLE4: Mapping[str, float] = {
    "Surrogate base": 71.40, "Surrogate large": 73.50,
    "SBERT base, trained": 80.42, "SRoBERTa base, trained": 79.45,
    "Surrogate base, trained": 83.10,
    "SBERT large, trained": 80.78, "SRoBERTa large, trained": 79.73,
    "Surrogate large, trained": 83.50,
}
"""Table 4: model → accuracy on Wikipedia Sections; unsupervised, then trained on its triplets."""

SUN_TABLE5: Mapping[int, float] = {
    10_000_000: 49.41, 100_000_000: 66.92, 1_000_000_000: 76.17, 10_000_000_000: 77.81,
    100_000_000_000: 78.47,
}
"""Table 5: tokens of the corpus → Origin. (The second column of the printed head says 100B, which
from its place and from §5.1 is 100M.)"""

SUN_TABLE6: Mapping[int, float] = {20: 66.25, 100: 73.93, 500: 78.47, 1000: 78.56}
"""Table 6: |C_s| → Origin."""

SUN_TABLE7: Mapping[int, float] = {
    100_000: 74.02, 1_000_000: 76.11, 10_000_000: 76.92, 100_000_000: 77.32,
}
"""Table 7: pairs → Surrogate."""

FULL = 78.47
SUN_TABLE8: Mapping[str, float] = {
    "Full": FULL, "w/o discriminative": 77.97, "w/o left-context": 77.36,
    "w/o right-context": 77.01, "w/o both contexts": 76.50,
}
"""Table 8: terms of Eq. 3 → Origin."""

CONSTRUCTION: Mapping[str, float] = {"two-step": FULL, "random": 34.45, "without diversity": 76.32}
"""§5.4: how C is built → Origin, |C| = 500."""

STRUCTURES: Mapping[str, float] = {"Siamese": 77.32, "cross-encoder": 77.43}
"""§5.6: structure → Surrogate."""

STR_TABLE2: Mapping[str, int] = {
    "Formality": 1000, "Formality_pp": 300, "Formality_r": 700, "Goodreads": 1000, "ParaNMT": 750,
    "ParaNMT_pp": 450, "ParaNMT_r": 300, "SNLI": 750, "STS": 250, "Stance": 750,
    "Wikipedia": 1000, "Wiki_pp": 500, "Wiki_r": 500, "ALL": 5500,
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


STR_TABLE3 = Statistics()

STR_TABLE4: Mapping[str, tuple[float, int]] = {
    "Dice": (57, 5500), "All": (61, 5500), "PROPN": (50, 1907), "NOUN": (45, 4746),
    "ADJ": (36, 2236), "VERB": (31, 3946), "PRON": (30, 1800), "ADV": (28, 1147),
    "AUX": (25, 2069), "ADP": (23, 2476), "DET": (20, 3265), "Noun group": (60, 5478),
    "Verb group": (32, 4999), "Adjective group": (29, 4584), "Subject of a triple": (29, 1611),
    "Object of a triple": (43, 1618),
}
"""Feature → Spearman and pairs. Subjects and objects are those of an extractor of triples."""

STR_TABLE5: Mapping[str, float] = {
    "Lexical overlap (Dice)": 57, "Word2Vec (mean, Googlenews)": 60,
    "Word2Vec (max, Googlenews)": 54, "GloVe (mean, Common Crawl)": 49,
    "GloVe (max, Common Crawl)": 56, "GloVe (mean, 200_Twitter)": 44,
    "GloVe (max, 200_Twitter)": 48, "Fasttext (mean, Common crawl)": 29,
    "Fasttext (max, Common crawl)": 24, "BERT-base (mean)": 58, "BERT-base (max)": 55,
    "BERT-base (cls)": 41, "RoBERTa-base (mean)": 48, "RoBERTa-base (max)": 47,
    "RoBERTa-base (cls)": 41, "BERT-base (mean), fine-tuned": 82,
    "RoBERTa-base (mean), fine-tuned": 83,
}
"""Model → Spearman, mean over five folds."""

STR_TABLE6: Mapping[str, tuple[float, float, float]] = {
    "STS": (60, 79, 82), "SNLI": (53, 80, 77), "Stance": (20, 49, 39), "Goodreads": (44, 73, 70),
    "Wikipedia": (48, 79, 75), "Formality": (69, 86, 83), "ParaNMT": (44, 80, 79),
}
"""Domain → Dice; RoBERTa-base cross-validated; RoBERTa-base without pairs of the domain."""

STR_BINS: Mapping[str, float] = {
    "[0, 1]": 67, "(1, 2]": 25, "(2, 3]": 49, "(3, 4]": 19, "(4, 5]": 49,
}
"""§4: bin of STS's similarity → Spearman of similarity and relatedness in it."""

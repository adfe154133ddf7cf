"""Fits into all contexts of a corpus: contrastive coherence models of words and sentences."""

from firth.artifacts import Stage

FIT = Stage(
    name="fit",
    code=(
        "baselines/bag",
        "baselines/idf",
        "baselines/prompt_eol",
        "baselines/sentences",
        "baselines/stem",
        "baselines/word_bag",
        "corpus",
        "fit",
        "generation/precision",
        "generation/pretrained",
        "training",
        "words",
    ),
    command="firth train fit --run",
    libraries=("snowballstemmer", "torch", "transformers"),
)

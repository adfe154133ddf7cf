"""The static start: word vectors averaged, made of what the run knows before it sees a label.

A word's vector is that of the contrastive bag of words, which the stage `fit` has learned and
Origin's `sentences` and `words` compare, plus a random direction as long as the word's inverse
document frequency: in the cosine of two sums, random directions meet only in words that both have,
so this is a compressed tf-idf, Origin's `terms`. Where Origin is the paper's, the bag is learned
here. A word without a vector is spelled with pieces, each a random direction: it says nothing but
is known again in another sentence, where Origin would leave it out.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import StaticEmbedding
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

from firth.context import CONTEXT
from firth.context.bag import learn
from firth.context.open import IDF
from firth.corpus.tokenizer import open_tokenizer
from firth.lexical.idf import Idf, fit_idf_on_run
from firth.lexical.stem import stems
from firth.lexical.word_vectors import WordBag
from firth.run.files import read_json
from firth.run.run import Run
from firth.run.seeds import derive_seed
from firth.run.training import History

UNKNOWN = "<unk>"
"""Token 0: a word that no pieces can spell. It counts as nothing."""
MIN_SENTENCES = 2
"""Sentences of the corpus a word must be in to have a vector."""
IDF_SHARE = 0.5
"""Typical length of a word's random direction, that of its learned vector being 1."""
PIECE_LENGTH = 0.6
"""Typical length of a piece's random direction, as a share of `IDF_SHARE` times the idf of a word
in `MIN_SENTENCES` sentences."""
CONTINUED = "##"
"""Before a piece that is not the first of its word."""

Vectors = npt.NDArray[np.float32]


def static_start(run: Run, scratch: Path) -> tuple[SentenceTransformer, History]:
    """A `StaticEmbedding` model with the vectors above, and the losses if they were learned here.

    Args:
        run: A run whose corpus and tokenizer are built, and fit if its Origin reads that.
        scratch: Folder of the checkpoint; an interrupted call continues from it.

    Raises:
        MissingStageError: A stage is not built.
        InputError: The corpus is too small to learn from.
        MissingExtraError: The stemmer is not installed.
    """
    config = run.config.surrogate
    seed = derive_seed(run.config.seed, "surrogate", "start")
    idf = _idf(run)
    words = frequent_words(idf.frequencies, config.vocabulary)
    weights = np.array([idf.weight(word) for word in words], np.float32)
    vectors = IDF_SHARE * random_vectors(weights, config.dimensions, seed)
    bag, history = _bag(run, scratch, seed)
    if bag is not None:
        vectors += learned_vectors(bag, words, config.dimensions)
    pieces = word_pieces(words, open_tokenizer(run))
    rarest = float(weights.max(initial=1.0)) / _typical(weights)
    spelled = random_vectors(
        np.ones(len(pieces), np.float32), config.dimensions, derive_seed(seed, "pieces")
    )
    spelled *= np.float32(PIECE_LENGTH * IDF_SHARE * rarest)
    unknown = np.zeros((1, config.dimensions), np.float32)
    module = StaticEmbedding(
        word_tokenizer([*words, *pieces]), np.concatenate((unknown, vectors, spelled))
    )
    # Unknown words are left out of the mean and never learn.
    module.embedding.padding_idx = 0
    model = SentenceTransformer(modules=[module], device="cpu", local_files_only=True)
    return model, history


def frequent_words(frequencies: Mapping[str, int], most: int) -> list[str]:
    """The `most` words of most sentences, at least `MIN_SENTENCES`; then by alphabet."""
    known = [word for word, count in frequencies.items() if count >= MIN_SENTENCES]
    return sorted(known, key=lambda word: (-frequencies[word], word))[:most]


def word_pieces(words: Sequence[str], tokenizer: Tokenizer) -> list[str]:
    """Pieces to spell other words with: the run's own of ASCII letters and digits, and characters.

    Each stands at the beginning of a word, unless it is one of `words`, and continued.
    """
    known = set(words)
    tokens = {token for token in tokenizer.get_vocab() if token.isascii() and token.isalnum()}
    pieces = sorted(tokens | {c for word in words for c in word})
    return [*(p for p in pieces if p not in known), *(f"{CONTINUED}{p}" for p in pieces)]


def random_vectors(weights: Vectors, dimensions: int, seed: int) -> Vectors:
    """Random directions, about as long as `weights` divided by their root mean square.

    Args:
        weights: (V,).
        dimensions: d.
        seed: Of the directions.

    Returns:
        (V, d).
    """
    noise = np.random.default_rng(seed).standard_normal((len(weights), dimensions), np.float32)
    lengths = weights / np.float32(_typical(weights) * np.sqrt(dimensions))
    vectors: Vectors = noise * lengths[:, None]
    return vectors


def learned_vectors(bag: WordBag, words: list[str], dimensions: int) -> Vectors:
    """The bag's vector of each word, 0 where it has none; root mean square of the lengths 1.

    Where the bag has more dimensions than wanted, these are its `dimensions` principal ones; where
    it has fewer, the rest is 0.

    Returns:
        (V, `dimensions`).
    """
    numbers = {word: number for number, word in enumerate(bag.vocabulary)}
    rows = np.array([numbers.get(stem, -1) for stem in stems(words, bag.stemmer)], np.int64)
    known = rows >= 0
    found = bag.vectors[rows[known]]
    if found.shape[1] > dimensions:
        _, directions = np.linalg.eigh(found.T.astype(np.float64) @ found)
        found = found @ directions[:, ::-1][:, :dimensions].astype(np.float32)
    vectors = np.zeros((len(words), dimensions), np.float32)
    vectors[known, : found.shape[1]] = found / _typical(np.linalg.norm(found, axis=1))
    return vectors


def word_tokenizer(vocabulary: Sequence[str]) -> Tokenizer:
    r"""Lowercased runs of `\w` (as `firth.lexical.words.words`), numbered from 1.

    A word that is not in the vocabulary is spelled, always with the longest piece that fits; 0 if
    that cannot be.
    """
    numbers = {UNKNOWN: 0} | {word: number for number, word in enumerate(vocabulary, 1)}
    tokenizer = Tokenizer(
        models.WordPiece(numbers, unk_token=UNKNOWN, continuing_subword_prefix=CONTINUED)
    )
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"\w+"), behavior="removed", invert=True)
    return tokenizer


def _idf(run: Run) -> Idf:
    if not run.has(CONTEXT):
        return fit_idf_on_run(run)
    stored = read_json(run.folder(CONTEXT) / IDF)
    return Idf(stored["frequencies"], stored["sentences"], "the corpus")


def _bag(run: Run, scratch: Path, seed: int) -> tuple[WordBag | None, History]:
    config = run.config
    if not config.surrogate.start_epochs:
        return None, []
    if run.has(CONTEXT):
        return WordBag.load(run.folder(CONTEXT)), []
    settings = config.context.bag.model_copy(update={"epochs": config.surrogate.start_epochs})
    bag, _, history = learn(run, settings, seed, scratch, "Surrogate: first vectors")
    return bag, history


def _typical(lengths: Vectors) -> float:
    return max(float(np.sqrt(np.mean(np.square(lengths, dtype=np.float64)))), 1e-6)

"""Where distillation starts: the encoder that `surrogate.base` names, before it sees a label.

The static start averages word vectors made of what the run knows. A word's vector is that of the
contrastive bag of words, which the stage `context` has learned and Origin's `sentences` and `words`
compare, plus a random direction as long as the word's inverse document frequency: in the cosine of
two sums, random directions meet only in words that both have, so this is a compressed tf-idf,
Origin's `terms`. Where Origin is the paper's, the bag is learned here. A word without a vector is
spelled with pieces, each a random direction: it says nothing but is known again in another
sentence, where Origin would leave it out.
"""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import (
    Pooling,
    StaticEmbedding,
    Transformer,
)
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers
from tokenizers.processors import TemplateProcessing
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

from firth.context import CONTEXT
from firth.context.bag import learn
from firth.corpus.statistics import fit_idf_on_run
from firth.corpus.tokenizer import open_tokenizer
from firth.lexical.word_vectors import WordBag
from firth.lexical.words import Stemmer, stems
from firth.origin.origin import Origin
from firth.run.pretrained import open_encoder
from firth.run.quiet import quiet_libraries
from firth.run.run import Run
from firth.run.seeds import derive_seed
from firth.run.training import History
from firth.surrogate.settings import BaseKind

UNKNOWN = "<unk>"
"""Token 0: a word that no pieces can spell. It counts as nothing."""
CONTINUED = "##"
"""Before a piece that is not the first of its word."""

Vectors = npt.NDArray[np.float32]


def build_start(run: Run, scratch: Path, has_context: bool) -> tuple[SentenceTransformer, History]:
    """The encoder named by `run.config.surrogate.base`, and the losses of what was learned for it.

    Args:
        run: A run with its corpus and tokenizer, and the stage `context` if `has_context`.
        scratch: Folder for checkpoints; an interrupted call continues from what it left there.
        has_context: static: take the words from the stage `context` instead of learning them.

    Raises:
        MissingStageError: A stage is not built.
        InputError: The base cannot be loaded, or the corpus is too small to learn from.
    """
    config = run.config.surrogate
    torch.manual_seed(derive_seed(run.config.seed, "surrogate", "weights"))
    if config.kind is BaseKind.STATIC:
        return static_start(run, scratch, has_context)
    if config.kind is BaseKind.TRANSFORMER:
        return scratch_encoder(run, scratch), []
    return open_encoder(config.base), []


def start_model(run: str | Path | Run) -> SentenceTransformer:
    """The Surrogate as it was before distillation, built anew: for comparing before and after.

    Where a static start learned its first vectors, this takes as long as it did in `distill`.
    Errors as in `build_start`.

    Example:
        >>> start_model("run").encode(["The ship left the harbour."]).shape[0]
        1
    """
    run = Run.open(run)
    with tempfile.TemporaryDirectory() as folder, quiet_libraries():
        return build_start(run, Path(folder), CONTEXT in Origin.reads(run))[0]


def scratch_encoder(run: Run, scratch: Path) -> SentenceTransformer:
    """A BERT with random weights (torch's seed decides) and the run's tokenizer, mean pooling.

    Args:
        run: A run whose tokenizer is built; `config.surrogate.dimensions` is the hidden size.
        scratch: Its parts are put together in the folder `encoder` there.
    """
    config = run.config.surrogate
    width, head_size = config.dimensions, config.head_size
    tokenizer = open_tokenizer(run)
    ends = [(token, tokenizer.token_to_id(token)) for token in ("<s>", "</s>")]
    tokenizer.post_processor = TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> $B </s>", special_tokens=ends
    )
    shape = BertConfig(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=width,
        num_hidden_layers=config.layers,
        num_attention_heads=width // head_size if width % head_size == 0 else 1,
        intermediate_size=4 * width,
        max_position_embeddings=config.max_tokens,
        pad_token_id=tokenizer.token_to_id("<pad>"),
    )
    folder = scratch / "encoder"
    BertModel(shape).save_pretrained(folder)
    wrapped: Any = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer,
        model_max_length=config.max_tokens,
        pad_token="<pad>",
        unk_token="<unk>",
        cls_token="<s>",
        sep_token="</s>",
        mask_token="<mask>",
    )
    wrapped.save_pretrained(folder)
    modules = [Transformer(str(folder)), Pooling(width)]
    return SentenceTransformer(modules=modules, device="cpu", local_files_only=True)


def static_start(run: Run, scratch: Path, has_context: bool) -> tuple[SentenceTransformer, History]:
    """A `StaticEmbedding` model with the vectors above; arguments, errors as in `build_start`."""
    config = run.config.surrogate
    seed = derive_seed(run.config.seed, "surrogate", "start")
    idf = fit_idf_on_run(run, Stemmer.NONE)
    words = frequent_words(idf.frequencies, config.vocabulary, config.min_sentences)
    weights = np.array([idf.smooth_weight(word) for word in words], np.float32)
    vectors = np.float32(config.idf_share) * random_vectors(weights, config.dimensions, seed)
    bag, history = _bag(run, scratch, seed, has_context)
    if bag is not None:
        vectors += learned_vectors(bag, words, config.dimensions)
    pieces = word_pieces(words, open_tokenizer(run))
    rarest = float(weights.max(initial=1.0)) / _typical(weights)
    spelled = random_vectors(
        np.ones(len(pieces), np.float32), config.dimensions, derive_seed(seed, "pieces")
    )
    spelled *= np.float32(config.piece_length * config.idf_share * rarest)
    unknown = np.zeros((1, config.dimensions), np.float32)
    module = StaticEmbedding(
        word_tokenizer([*words, *pieces]), np.concatenate((unknown, vectors, spelled))
    )
    # Unknown words are left out of the mean and never learn.
    module.embedding.padding_idx = 0
    return SentenceTransformer(modules=[module], device="cpu", local_files_only=True), history


def frequent_words(frequencies: Mapping[str, int], most: int, least: int) -> list[str]:
    """The `most` words of most sentences, at least `least` of them; then by alphabet."""
    known = [word for word, count in frequencies.items() if count >= least]
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
    """Random directions (V, d), about as long as `weights` (V,) over their root mean square."""
    noise = np.random.default_rng(seed).standard_normal((len(weights), dimensions), np.float32)
    lengths = weights / np.float32(_typical(weights) * np.sqrt(dimensions))
    vectors: Vectors = noise * lengths[:, None]
    return vectors


def learned_vectors(bag: WordBag, words: list[str], dimensions: int) -> Vectors:
    """The bag's vector of each word, (V, d), 0 where it has none; root mean square of lengths 1.

    Where the bag has more dimensions than wanted, these are its `dimensions` principal ones; where
    it has fewer, the rest is 0.
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


def _bag(run: Run, scratch: Path, seed: int, has_context: bool) -> tuple[WordBag | None, History]:
    epochs = run.config.surrogate.start_epochs
    if not epochs:
        return None, []
    if has_context:
        return WordBag.load(run.folder(CONTEXT)), []
    settings = run.config.context.bag.model_copy(update={"epochs": epochs})
    bag, _, history = learn(run, settings, seed, scratch, "Surrogate: first vectors")
    return bag, history


def _typical(lengths: Vectors) -> float:
    return max(float(np.sqrt(np.mean(np.square(lengths, dtype=np.float64)))), 1e-6)

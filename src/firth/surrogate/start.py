"""Where distillation starts: the encoder that `surrogate.base` names, before it sees a label.

The static start is Origin's sum of words (`firth.origin.components.SummedWords`), made small: a
word's vector is what the run learned of its stem, plus the stem's own direction, of which every
character n-gram is a random one here. In the cosine of two sums random directions meet only in what
both have. Where Origin is the paper's, the words are learned here. A word without a vector is
spelled with pieces, which have n-grams too: it says nothing but is known again in another sentence.
"""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import (
    Pooling,
    StaticEmbedding,
    Transformer,
)
from tokenizers import Tokenizer
from tokenizers.processors import TemplateProcessing
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

from firth.context import CONTEXT
from firth.context.bag import learn
from firth.context.open import open_encoder as open_own_encoder
from firth.corpus.statistics import fit_idf_on_run
from firth.corpus.tokenizer import open_tokenizer
from firth.lexical.numbers import numbers_in
from firth.lexical.spelling import ngrams, runs
from firth.lexical.word_space import WordSpace
from firth.lexical.words import Stemmer, stems
from firth.origin.blend import DEFAULT, Blend
from firth.origin.origin import Origin
from firth.run.pretrained import open_encoder
from firth.run.quiet import quiet_libraries
from firth.run.run import Run
from firth.run.seeds import derive_seed
from firth.run.tensors import write_network
from firth.run.training import History
from firth.surrogate.layers import pruned
from firth.surrogate.settings import BaseKind, SurrogateConfig
from firth.surrogate.tokens import CONTINUED, word_tokenizer

Vectors = npt.NDArray[np.float32]


def build_start(run: Run, scratch: Path, has_context: bool) -> tuple[SentenceTransformer, History]:
    """The encoder named by `run.config.surrogate.base`, and the losses of what was learned for it.

    Args:
        run: A run with its corpus and tokenizer, and the stage `context` if `has_context`.
        scratch: Folder for checkpoints; an interrupted call continues from what it left there.
        has_context: static: take the words from the stage `context` instead of learning them.

    Raises:
        MissingStageError: A stage is not built.
        InputError: The base cannot be loaded or is not what it must be, or the corpus is too small
            to learn from.
    """
    config = run.config.surrogate
    torch.manual_seed(derive_seed(run.config.seed, "surrogate", "weights"))
    if config.kind is BaseKind.STATIC:
        return static_start(run, scratch, has_context)
    if config.kind is BaseKind.TRANSFORMER:
        return scratch_encoder(run, scratch, config), []
    if config.kind is BaseKind.LAYERS:
        return pruned(open_own_encoder(run), config.keep_layers, config.max_tokens, scratch), []
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


def scratch_encoder(run: Run, scratch: Path, config: SurrogateConfig) -> SentenceTransformer:
    """A BERT with random weights (torch's seed decides) and the run's tokenizer, mean pooling.

    Args:
        run: A run whose tokenizer is built.
        scratch: Its parts are put together in the folder `encoder` there.
        config: `chosen_dimensions` is the hidden size.
    """
    width, head_size = config.chosen_dimensions, config.head_size
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
    write_network(BertModel(shape), folder)
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
    dimensions = config.chosen_dimensions
    seed = derive_seed(run.config.seed, "surrogate", "start")
    frequencies = fit_idf_on_run(run, Stemmer.NONE).frequencies
    words = frequent_words(frequencies, config.vocabulary, config.min_sentences)
    pieces = word_pieces(words, open_tokenizer(run))
    space, history = _space(run, scratch, seed, has_context)
    blend = Blend.of(run, run.config.origin) if has_context else DEFAULT
    space = blend.known(space)
    stemmed = stems(words, space.bag.stemmer)
    lengths = np.array([space.rarity(stem) for stem in stemmed], np.float32)
    piece_lengths = np.full(len(pieces), config.piece_length * lengths.max(initial=0.0), np.float32)
    grams = [ngrams(stem) for stem in stemmed] + [runs(_framed(piece)) for piece in pieces]
    vectors = own_directions(grams, dimensions, derive_seed(seed, "n-grams"))
    vectors *= np.float32(blend.length) * np.concatenate((lengths, piece_lengths))[:, None]
    vectors[: len(words)] += learned_vectors(space, stemmed, dimensions)
    # Origin minds numbers that differ; the cosine of two sums can only let numbers weigh more.
    named = [bool(numbers_in(text.removeprefix(CONTINUED))) for text in [*words, *pieces]]
    vectors[named] *= np.float32(config.numbers)
    unknown = np.zeros((1, dimensions), np.float32)
    module = StaticEmbedding(word_tokenizer([*words, *pieces]), np.concatenate((unknown, vectors)))
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


def _framed(piece: str) -> str:
    """A piece as part of a word that is framed for its n-grams: its beginning, or its midst."""
    return piece.removeprefix(CONTINUED) if piece.startswith(CONTINUED) else f"<{piece}"


def own_directions(grams: Sequence[Sequence[str]], dimensions: int, seed: int) -> Vectors:
    """Sums of random directions of n-grams, (len(grams), d), of length about 1."""
    numbers = {gram: n for n, gram in enumerate(sorted({gram for some in grams for gram in some}))}
    noise = np.random.default_rng(seed).standard_normal((len(numbers), dimensions), np.float32)
    counts = np.array([len(some) for some in grams])
    columns = np.array([numbers[gram] for some in grams for gram in some], np.int64)
    parts = np.repeat(1 / np.sqrt(counts * dimensions), counts).astype(np.float32)
    bounds = np.concatenate(([0], np.cumsum(counts)))
    summed: Vectors = (
        sparse.csr_matrix((parts, columns, bounds), shape=(len(grams), len(numbers))) @ noise
    )
    return summed


def learned_vectors(space: WordSpace, stemmed: Sequence[str], dimensions: int) -> Vectors:
    """What was learned of each stem, (n, d); 0 where nothing was.

    Where that has more dimensions than wanted, these are its `dimensions` principal ones; where it
    has fewer, the rest is 0.
    """
    found = space.learned(stemmed)
    if found.shape[1] > dimensions:
        _, directions = np.linalg.eigh(found.T @ found)
        found = found @ directions[:, ::-1][:, :dimensions]
    vectors = np.zeros((len(stemmed), dimensions), np.float32)
    vectors[:, : found.shape[1]] = found
    return vectors


def _space(run: Run, scratch: Path, seed: int, has_context: bool) -> tuple[WordSpace, History]:
    if has_context:
        return WordSpace.load(run.folder(CONTEXT)), []
    config = run.config.context
    settings = config.bag.model_copy(update={"epochs": run.config.surrogate.start_epochs})
    title = "Surrogate: first vectors"
    bag, _, history = learn(run, settings, seed, scratch / "start", title)
    return WordSpace(bag, fit_idf_on_run(run, bag.stemmer), config.trust), history

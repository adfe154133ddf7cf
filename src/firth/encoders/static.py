"""The static model of a run: a table of vectors, and a text is the mean of its tokens' rows.

`SentenceTransformer(folder)` opens what `write_static` writes and gives the same vectors. Neither
torch nor sentence-transformers is imported here.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from threadpoolctl import threadpool_limits

from firth.corpus.corpus import Corpus
from firth.encoders.encoder import PretrainedEncoder
from firth.encoders.folder import MODULES, ModelKind, PretrainedFiles, opened
from firth.encoders.kinds import EncoderKind
from firth.encoders.words import WordSpace
from firth.run.errors import InputError
from firth.run.files import map_arrays, write_arrays, write_json, write_text
from firth.run.run import Run
from firth.run.settings import StaticSettings, derive_seed
from firth.run.stage import Stage
from firth.text.lexicon import lexicon_of
from firth.text.stems import fit_idf, gram_table
from firth.text.types import Floats, Singles
from firth.text.words import NO_STEMMER, SEVERAL, UNSPACED, best_known, stemmers_of

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix
    from tokenizers import Tokenizer

STATIC = Stage("static", version=8)
"""The static model of a run, which is its encoder where there is no pretrained one."""
UNKNOWN = "<unk>"
"""Token 0: a word that no pieces can spell. Its vector is zero."""
CONTINUED = "##"
"""Before a piece that is not the first of its word."""
_TABLE, _TOKENIZER = "model.safetensors", "tokenizer.json"
_KEYS = ("embedding.weight", "embeddings")
_CLASS = "sentence_transformers.models.StaticEmbedding"
_NORMALIZE = "sentence_transformers.models.Normalize"
_AXIS_SENTENCES = 20_000
_LEAST_WORDS, _MOST_PIECES = 5, 40_000
"""Words that share a piece, at least; and pieces that begin words, or continue them, at most."""
_PIECE_WEIGHT = 1.8
"""An unknown word in pieces has about a third of its n-grams; with this factor, its length."""
_COLUMNS = 64
"""Dimensions of random directions that are made at once."""
_TEXTS = 4_096


# --- Reading -----------------------------------------------------------------------------------


class StaticEncoder(PretrainedEncoder):
    """Encodes a text as the mean of its tokens' rows of a table, (V, d)."""

    fast = True

    def __init__(self, table: Singles, tokenizer: "Tokenizer", name: str) -> None:
        self.name, self.dimensions = name, int(table.shape[1])
        self._table, self._tokenizer = table, tokenizer

    @classmethod
    def open(cls, model: str | Path | PretrainedFiles) -> "StaticEncoder":
        """Open a static encoder that firth or sentence-transformers wrote."""
        from tokenizers import Tokenizer

        place = model if isinstance(model, PretrainedFiles) else PretrainedFiles.find(str(model))
        files = place.folder
        arrays = map_arrays(files / _TABLE)
        if len(arrays) != 1 or not {*arrays} <= {*_KEYS}:
            raise InputError(
                f"{files / _TABLE}: holds {', '.join(arrays)[:80]}; expected {' or '.join(_KEYS)}"
            )
        (table,) = arrays.values()
        path = str(files / _TOKENIZER)
        tokenizer = opened(place.model, "a tokenizer.json", lambda: Tokenizer.from_file(path))
        tokenizer.no_padding()
        most = max(tokenizer.get_vocab().values(), default=-1)
        if table.ndim != 2 or most >= len(table):
            raise InputError(
                f"{place.model}: its tokenizer numbers tokens up to {most:,}, and its table has "
                f"the shape {table.shape}: they do not belong together"
            )
        return cls(table.astype(np.float32, copy=False), tokenizer, place.title)

    def raw(self, texts: Sequence[str]) -> Singles:
        """Return the means of the tokens' vectors, (n, d), of any length."""
        from scipy import sparse

        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        for start in range(0, len(texts), _TEXTS):
            batch = list(texts[start : start + _TEXTS])
            encodings = self._tokenizer.encode_batch_fast(batch, add_special_tokens=False)
            tokens = [encoding.ids for encoding in encodings]
            counts = np.array([*map(len, tokens)], np.int64)
            bounds = np.concatenate(([0], np.cumsum(counts)))
            flat = np.fromiter(chain.from_iterable(tokens), np.int64, int(bounds[-1]))
            shape = len(tokens), len(self._table)
            table = sparse.csr_matrix((np.ones(len(flat), np.float32), flat, bounds), shape)
            sums = table @ self._table
            sums /= np.maximum(counts, 1).astype(np.float32)[:, None]
            vectors[start : start + len(tokens)] = sums
        return vectors


KIND = EncoderKind(
    name="static",
    recognizes_files=lambda files: files.kind is ModelKind.STATIC,
    open=lambda encoder, _: StaticEncoder.open(encoder.place),
    is_table=True,
)


def word_tokenizer(vocabulary: Sequence[str]) -> "Tokenizer":
    """Return a tokenizer of the words of `firth.text.words`, numbered from 1.

    A word that is not in the vocabulary is spelled with the longest pieces that fit; it is 0 where
    none do.
    """
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

    numbers = {UNKNOWN: 0} | {word: number for number, word in enumerate(vocabulary, 1)}
    tokenizer = Tokenizer(
        models.WordPiece(numbers, unk_token=UNKNOWN, continuing_subword_prefix=CONTINUED)
    )
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])
    inside = r"\p{M}\x{200C}\x{200D}"
    pattern = Regex(rf"[{UNSPACED}][{inside}]*|[\p{{L}}\p{{N}}{inside}&&[^{UNSPACED}]]+")
    tokenizer.pre_tokenizer = pre_tokenizers.Split(pattern, behavior="removed", invert=True)
    return tokenizer


# --- Writing -----------------------------------------------------------------------------------


def write_static(folder: Path, vocabulary: Sequence[str], vectors: Singles) -> None:
    """Write the vectors, (V, d), of words and pieces so that `SentenceTransformer` opens them.

    It gives unit vectors then, so that inner products are cosines in any vector store.
    """
    table = np.concatenate((np.zeros((1, vectors.shape[1]), np.float32), vectors))
    write_arrays(folder / _TABLE, {_KEYS[0]: table}, {"format": "pt"})
    write_text(folder / _TOKENIZER, word_tokenizer(vocabulary).to_str())
    modules = [
        {"idx": 0, "name": "0", "path": "", "type": _CLASS},
        {"idx": 1, "name": "1", "path": "1_Normalize", "type": _NORMALIZE},
    ]
    write_json(folder / MODULES, modules)
    settings = {"model_type": "SentenceTransformer", "similarity_fn_name": "cosine"}
    settings_file = folder / "config_sentence_transformers.json"
    write_json(settings_file, settings | {"prompts": {}, "default_prompt_name": None})


def model_card(title: str, said: str, use: str = "") -> str:
    """Return the README of a model's folder: how to open it, and what is said of it."""
    code = use or _USE
    return f"{_FRONT}\n# {title}\n\n```python\n{code}```\n\n```text\n{said}\n```\n"


_FRONT = """\
---
library_name: sentence-transformers
pipeline_tag: sentence-similarity
tags: [sentence-transformers, sentence-similarity, feature-extraction, firth]
---
"""
_USE = """\
from sentence_transformers import SentenceTransformer

model = SentenceTransformer("path/to/this/folder")
vectors = model.encode(["The judge praised the witness.", "The court thanked him."])
print(model.similarity(vectors, vectors))
"""


def build_static(
    run: Run, space: WordSpace, spelling_weight: float, folder: Path
) -> Mapping[str, Any]:
    """Write the static encoder of a run into a folder, and return a summary.

    It reads the corpus, and the settings `seed` and `static`.
    """
    settings, corpus = run.settings.static, Corpus.open(run)
    seed = derive_seed(run.settings.seed, "surrogate", "start")
    counts = fit_idf(chain.from_iterable(corpus.batches()), NO_STEMMER).frequencies
    vocabulary = sorted(counts, key=lambda word: (-counts[word], word))[: settings.vocabulary]
    pieces = word_pieces(vocabulary)
    with threadpool_limits(1, "blas"):
        vectors = static_from_words(space, spelling_weight, vocabulary, pieces, settings, seed)
        table = np.concatenate((np.zeros_like(vectors[:1]), vectors))
        del vectors
        usual = corpus.usual_sentences()
        rng = np.random.default_rng(derive_seed(seed, "axes"))
        chosen = rng.choice(len(usual), min(_AXIS_SENTENCES, len(usual)), replace=False)
        unturned = StaticEncoder(table, word_tokenizer([*vocabulary, *pieces]), "")
        texts = corpus.texts(usual[np.sort(chosen)])
        axes = principal_axes(unturned.encode(texts)).astype(np.float32)
        for start in range(0, len(table), _TEXTS):
            table[start : start + _TEXTS] = table[start : start + _TEXTS] @ axes
    write_static(folder, [*vocabulary, *pieces], table[1:])
    return {"words": len(vocabulary), "pieces": len(pieces), "dimensions": table.shape[1]}


def static_from_words(
    space: WordSpace,
    spelling_weight: float,
    vocabulary: Sequence[str],
    pieces: Sequence[str],
    settings: StaticSettings,
    seed: int,
) -> Singles:
    """Return vectors of words and pieces whose sums have about the scorer's cosines.

    A word's vector is its stem's learned vector plus a random direction by spelling: the sum of one
    for each character n-gram. In the cosine of two sums, random directions agree only in what both
    texts have. An unknown word is the sum of its pieces, which have n-grams too: so it is similar
    to words that are spelled alike, known or not.
    """
    dimensions = settings.dimensions
    stemmers, counts = stemmers_of(space.stemmer), space.idf.frequencies
    stemmed = [best_known([word], stemmers, lambda x: counts.get(x, 0))[0] for word in vocabulary]
    lengths = np.array([space.rarity(stem) for stem in stemmed], np.float32)
    # A word is framed before its n-grams are taken (`<word>`), and so is a piece that begins one.
    framed = [p.removeprefix(CONTINUED) if p.startswith(CONTINUED) else f"<{p}" for p in pieces]
    grams = gram_table(stemmed, space.idf.common_grams, framed)
    sizes = np.asarray(grams.multiply(grams).sum(axis=1)).ravel()
    # The more n-grams of a word a piece has, the longer its vector: as long as the rarest word's
    # where it has as many as a word has on average.
    share = np.sqrt(sizes[len(vocabulary) :] / sizes[: len(vocabulary)].mean())
    of_pieces = _PIECE_WEIGHT * lengths.max(initial=0.0) * share
    vectors = random_directions(grams, dimensions, derive_seed(seed, "n-grams"))
    lengths = np.concatenate((lengths, of_pieces)).astype(np.float32)
    vectors *= np.float32(spelling_weight) * lengths[:, None]
    learned = space.learned(stemmed)
    if learned.shape[1] > dimensions:
        learned = learned @ principal_axes(learned)[:, :dimensions]
    vectors[: len(vocabulary), : learned.shape[1]] += learned
    # The scorer lowers a score where numbers differ; in a cosine numbers can only weigh more.
    languages = space.idf.language.split(SEVERAL)
    values = (item for code in languages for item in lexicon_of(code).numerals.items())
    if numerals := {word for word, value in values if value > 1}:
        texts = [text.removeprefix(CONTINUED) for text in (*vocabulary, *pieces)]
        named = [text in numerals or any(map(str.isdecimal, text)) for text in texts]
        vectors[named] *= np.float32(settings.number_weight)
    return vectors


def word_pieces(vocabulary: Sequence[str]) -> list[str]:
    """Return pieces that spell unknown words, some for their beginning and some to continue them.

    They are beginnings and endings that some known words share, and every character.
    """
    first, rest = Counter[str](), Counter[str]()
    for word in vocabulary:
        first.update(word[:end] for end in range(2, len(word)))
        rest.update(word[start:] for start in range(1, len(word)))
    characters = {character for word in vocabulary for character in word}
    shared = [
        {piece for piece, count in counts.most_common(_MOST_PIECES) if count >= _LEAST_WORDS}
        for counts in (first, rest)
    ]
    begin, proceed = (sorted(pieces | characters) for pieces in shared)
    distinct = set(vocabulary)
    return [*(p for p in begin if p not in distinct), *(f"{CONTINUED}{p}" for p in proceed)]


def random_directions(grams: "csr_matrix", dimensions: int, seed: int) -> Singles:
    """Return weighted sums of one random direction for each n-gram, (n, d), of length about 1."""
    from scipy import sparse

    squares = np.asarray(grams.multiply(grams).sum(axis=1)).ravel()
    table = (sparse.diags(1 / np.sqrt(squares * dimensions)) @ grams).astype(np.float32).tocsr()
    sums, rng = np.empty((grams.shape[0], dimensions), np.float32), np.random.default_rng(seed)
    for start in range(0, dimensions, _COLUMNS):
        wide = min(_COLUMNS, dimensions - start)
        sums[:, start : start + wide] = table @ rng.standard_normal((grams.shape[1], wide), "f4")
    return sums


def principal_axes(vectors: Singles | Floats) -> Floats:
    """Return the rotation (d, d) after which leading dimensions hold most of some vectors."""
    products = np.zeros((vectors.shape[1], vectors.shape[1]))
    for start in range(0, len(vectors), _TEXTS):
        block = vectors[start : start + _TEXTS].astype(np.float64)
        products += block.T @ block
    axes: Floats = np.linalg.eigh(products)[1][:, ::-1]
    return axes

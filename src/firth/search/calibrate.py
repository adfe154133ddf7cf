"""The draw of a calibration: best matches in other documents, and questions with a hidden answer.

A question is the title of a document, or its first words. Its document is hidden, so nothing that
is left was written to answer it.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from firth.corpus.corpus import Corpus
from firth.corpus.siblings import COPIED, sibling_groups, sketch
from firth.encoders.encoder import unit_singles
from firth.encoders.static import STATIC
from firth.run.console import note, progress
from firth.run.errors import InputError
from firth.run.files import write_arrays, write_json
from firth.run.run import Run
from firth.run.settings import derive_seed
from firth.run.stage import Outcome
from firth.search.calibration import (
    CALIBRATION,
    FEWEST,
    FEWEST_ASKED,
    FLOOR,
    NULL,
    SCORES,
    Asked,
    Calibration,
    MatchNull,
    NearMisses,
    Strangers,
    best_share,
    scripts_of,
    unlike,
)
from firth.search.evidence import Reader
from firth.search.index import INDEX, NAMING, WHOLE, Index, index_encoder
from firth.search.search import UNITS, Search
from firth.text.tokens import Token, tokens_of
from firth.text.types import Encode, Floats, Ints, Singles
from firth.text.words import language_among, words

QUESTIONS, WORDS = 300, 25
"""Questions that are asked, and the most words of each."""
SAMPLE, OTHERS, GROUPS = 2_000, 100_000, 32
"""Texts whose best match is looked for, texts among which, and groups of their documents at most.
In one of so many pairs the best and the second best are of one group, and the third counts."""
_ROWS, _DECOYS = 256, 500
_SCRIPT_TEXTS, _SCRIPT_SHARE = 2_000, 0.001


def fit_matches(
    vectors: Singles, owners: Ints, seed: int, texts: int | None = None
) -> MatchNull | None:
    """Fit the null of matches to plain arrays; None where too little is known.

    Args:
        vectors: Unit vectors, (n, d). Those of zeros are left out.
        owners: Document of each vector, (n,). Vectors of one document are never compared.
        seed: Of the sample and the groups.
        texts: Number of all, where those that are given are a sample.
    """
    rng = np.random.default_rng(derive_seed(seed, "matches"))
    filled = np.flatnonzero(vectors.any(axis=1))
    chosen = rng.choice(filled, min(SAMPLE, len(filled)), replace=False)
    # Equal texts are one: a line that many documents have is no chance.
    digests = [blake2b(row, digest_size=16).hexdigest() for row in np.ascontiguousarray(vectors)]
    first = np.sort(np.unique(digests, return_index=True)[1])
    documents, of = np.unique(owners[first], return_inverse=True)
    if len(documents) < FEWEST:
        return None
    # Groups of as many documents each, in random order.
    groups = min(GROUPS, len(documents))
    group = rng.permutation(np.arange(len(documents)) % groups)[of]
    order = np.argsort(group, kind="stable")
    starts, first = np.searchsorted(group[order], np.arange(groups)), first[order]
    best = np.empty((len(chosen), groups), np.float32)
    across, owners_of_others = vectors[first].T, owners[first]
    block = np.empty((_ROWS, len(first)), np.float32)
    with threadpool_limits(1, "blas"):  # Sums of threads differ in the last bits.
        for at in range(0, len(chosen), _ROWS):
            rows = chosen[at : at + _ROWS]
            cosines = np.matmul(vectors[rows], across, out=block[: len(rows)])
            cosines[owners[rows, None] == owners_of_others] = -1.0
            best[at : at + _ROWS] = np.maximum.reduceat(cosines, starts, axis=1)
    return MatchNull.fit(best, texts or len(vectors))


def know_strangers(
    vectors: Singles, owners: Ints, strangers: Singles, seed: int
) -> tuple[Strangers, tuple[str, ...]]:
    """Return the best matches of texts that cannot have a counterpart, and what must be said.

    Args:
        vectors: Unit vectors of the texts among which matches are looked for, (n, d).
        owners: Document of each, (n,).
        strangers: Unit vectors, (m, d).
        seed: Of the texts whose second best are compared with those of the strangers.
    """
    drawn = np.random.default_rng(derive_seed(seed, "strangers")).permutation(len(vectors))[:SAMPLE]
    best, second = _two_best(strangers, vectors, np.full(len(strangers), -1), owners)
    known = Strangers(np.sort(best), len(vectors))
    best_of_texts, second_of_texts = _two_best(vectors[drawn], vectors, owners[drawn], owners)
    cut = known.threshold(FLOOR)
    return known, unlike(second_of_texts[best_of_texts < cut], second[best < cut])


def _two_best(
    vectors: Singles, others: Singles, owners: Ints, owners_of_others: Ints
) -> tuple[Floats, Floats]:
    """Return the best and second cosine of each vector, (n,) each, in other documents."""
    two = np.empty((len(vectors), 2))
    for at in range(0, len(vectors), _ROWS):
        cosines = vectors[at : at + _ROWS] @ others.T
        cosines[owners[at : at + _ROWS, None] == owners_of_others] = -1.0
        two[at : at + _ROWS] = np.partition(cosines, (-2, -1), axis=1)[:, -2:]
    return two[:, 1], two[:, 0]


def draw_near(
    texts: Sequence[str], vectors: Singles, encode: Encode, language: str, seed: int
) -> NearMisses:
    """Return near misses of some texts.

    Args:
        texts: With fewer than two there are none.
        vectors: Unit vectors, (n, d).
        encode: Gives unit vectors of up to 500 others.
        language: ISO 639-1, or several, as `de+fr`.
        seed: Of the texts, and of what they get.
    """
    numbers, changed = draw_decoys(texts, language, seed)
    if not changed:
        return NearMisses()
    reader = Reader(language)
    cosines = np.einsum("nd,nd->n", vectors[numbers], encode(changed))
    vetoed = [
        bool(reader.differing(texts[at], text)) for at, text in zip(numbers, changed, strict=True)
    ]
    return NearMisses(tuple(cosines.tolist()), tuple(vetoed))


def draw_decoys(texts: Sequence[str], language: str, seed: int) -> tuple[list[int], list[str]]:
    """Return numbers of up to 500 texts, and each with the number, name and rare word of others."""
    rng = np.random.default_rng(derive_seed(seed, "decoys"))
    read = [
        [token for token in tokens_of(text, language_among(text, language)) if token.means]
        for text in texts
    ]
    frequency = Counter(key for tokens in read for key in {token.key for token in tokens})
    slots: list[dict[str, Token]] = []
    fillings: dict[str, list[Token]] = {}
    for tokens in read:
        slots.append({})
        for token in sorted(tokens, key=lambda token: -frequency[token.key]):
            slot = "name" if token.is_name else "word"
            slots[-1][slot if token.kind == "word" else "number"] = token
        for slot, token in slots[-1].items():
            fillings.setdefault(slot, []).append(token)
    numbers, changed = list[int](), list[str]()
    for number in rng.permutation(len(texts)).tolist():
        text = texts[number]
        for slot, token in sorted(slots[number].items(), key=lambda item: -item[1].start):
            other = fillings[slot][int(rng.integers(len(fillings[slot])))]
            if other.key != token.key:
                text = text[: token.start] + other.text + text[token.end :]
        if text != texts[number] and len(numbers) < _DECOYS:
            numbers.append(number)
            changed.append(text)
    return numbers, changed


def with_versions(texts: Sequence[str], owners: Ints) -> Ints:
    """Return owners, (n,), by which documents that are versions of one another are one.

    A text of many versions has as many counterparts, and its second best is no chance.

    Args:
        texts: Texts of all documents.
        owners: Document of each text, (n,).
    """
    names, of = np.unique(owners, return_inverse=True)
    words_of: list[set[str]] = [set() for _ in names]
    for text, document in zip(texts, of.tolist(), strict=True):
        words_of[document].update(words(text))
    return sibling_groups([*map(sketch, words_of)], COPIED)[of]


def build_calibration(run: Run) -> Outcome:
    """Draw what cannot match, and keep how high it scores."""
    inputs = {"corpus": Corpus.open(run, "all").digest}
    reads = [INDEX, *([] if index_encoder(run) else [STATIC])]
    outcome = run.build(CALIBRATION, _fill, reads=reads, settings=["seed", *NAMING], inputs=inputs)
    if not outcome.reused and (share := Calibration.open(run).share) < 1:
        note(
            f"Titles and first sentences find their documents better where cosines of this encoder "
            f"have {share:.0%} of their weight. Another encoder may know these documents"
        )
    return outcome


def _fill(run: Run, workspace: Path) -> Mapping[str, Any]:
    index, seed = Index.open(run), derive_seed(run.settings.seed, "scale")
    corpus, rng = index.corpus, np.random.default_rng(derive_seed(seed, "draw"))
    if len(corpus) < 2:
        raise InputError(f"{run.path}: has one sentence; expected two to compare")
    drawn = rng.permutation(corpus.n_documents)
    size = np.cumsum(np.diff(corpus.document_bounds)[drawn])
    documents, usual = np.sort(drawn[size - size[0] <= OTHERS]), corpus.usual_sentences()
    sentences = np.intersect1d(corpus.sentences_of(documents), usual)
    sketches = corpus.sketches()
    versions = sibling_groups([sketches[d] for d in documents.tolist()], COPIED)
    owners = versions[np.searchsorted(documents, corpus.document_of(sentences))]
    matches = fit_matches(index.vectors(sentences), owners, seed, texts=len(usual))
    with threadpool_limits(1, "blas"):
        arrays, share = _ask(run, index, rng)
    write_arrays(workspace / SCORES, arrays)
    chosen = np.sort(rng.choice(len(corpus), min(_SCRIPT_TEXTS, len(corpus)), replace=False))
    scripts = sorted(scripts_of(corpus.texts(chosen), _SCRIPT_SHARE))
    stored = vars(matches) if matches else None
    write_json(workspace / NULL, {"matches": stored, "scripts": scripts, "share": share})
    return {
        "matches": matches.drawn if matches else 0,
        "questions": len(next(iter(arrays.values()), ())),
    }


def _ask(run: Run, index: Index, rng: np.random.Generator) -> tuple[dict[str, Floats], float]:
    """Ask titles and first sentences in their run.

    Returns:
        The evidence of `Answers`, none where questions are few, and the share of cosines.
    """
    questions = [*_questions(index, rng)]

    def asked(share: float) -> list[Asked]:
        search = Search(index, Calibration(matches=None, share=share))
        return [search.ask(*question) for question in progress(questions, "Calibration")]

    outcomes = asked(1.0)
    share = best_share([one.ahead for one in outcomes if one.ahead])
    if share < 1:  # Other hits are first.
        outcomes = asked(share)
    if len(outcomes) < FEWEST_ASKED:
        return {}, share
    arrays = dict[str, Floats]()
    for unit in UNITS:
        rows = [(one.evidence[unit], one.answer) for one in outcomes]
        arrays[f"{unit}-without"] = np.sort([without for without, _ in rows])
        answered = [max(without, answer) for without, answer in rows if answer is not None]
        arrays[f"{unit}-there"] = np.sort(np.array(answered, np.float64))
    return arrays, share


def _questions(
    index: Index, rng: np.random.Generator
) -> Iterator[tuple[str, int, tuple[str, Singles] | None]]:
    """Yield questions, their documents, and what answers them: the text, or all that follows.

    The vector of an answer is the mean of those of its sentences, in which the nth counts 1/n.
    """
    corpus = index.corpus
    bounds, titles = corpus.document_bounds, corpus.document_titles()
    for own in rng.permutation(np.flatnonzero(np.diff(bounds)))[:QUESTIONS].tolist():
        numbers = np.arange(bounds[own], min(bounds[own + 1], bounds[own] + WHOLE))
        texts, answer = [*corpus.texts(numbers)], None
        question = titles[own] or texts.pop(0)
        if texts:
            vectors = index.vectors(numbers[-len(texts) :])
            mean = (vectors / np.arange(1, 1 + len(texts))[:, None]).sum(axis=0, keepdims=True)
            text = " ".join(" ".join(texts).split()[:WHOLE])
            answer = text, unit_singles(mean.astype(np.float32))[0]
        yield " ".join(question.split()[:WORDS]), own, answer

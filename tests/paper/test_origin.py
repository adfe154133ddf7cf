"""`Origin` over stand-in models whose fits are known: the procedure of §3.3, step by step."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from firth.corpus.context import Context
from firth.corpus.corpus import Corpus
from firth.lexical.words import jaccard, words
from firth.origin.origin import Origin
from firth.origin.settings import Method
from firth.paper.candidates import Candidates
from firth.paper.context_fit import Terms
from firth.paper.generation.protocol import Likelihoods, Pairs
from firth.paper.origin import PaperOrigin
from firth.paper.retrieve.index import Screened
from firth.paper.settings import PaperConfig
from firth.run.config import Config
from firth.run.errors import ConfigError, InputError
from firth.run.run import Run

A, B, C = (
    "The ship reached the harbour near the island.",
    "The sailor feared the storm near the tide.",
    "The judge praised the lawyer near the court.",
)


def overlap(one: str, two: str) -> float:
    return jaccard(frozenset(words(one)), frozenset(words(two)))


@dataclass
class WordIndex:
    """Screens chunks by the words they share with the sentence."""

    corpus: Corpus

    def screen(self, sentences: Sequence[str], n: int | None = None) -> list[Screened]:
        found = []
        for sentence in sentences:
            scores = np.array(
                [overlap(sentence, self.corpus.chunk_text(k)) for k in range(self.corpus.n_chunks)],
                dtype=np.float32,
            )
            order = np.argsort(-scores, kind="stable")[:n]
            order = order[scores[order] > 0].astype(np.int64)
            found.append(Screened(order, scores[order]))
        return found


@dataclass
class WordCoherence:
    """A position is as coherent with a sentence as its neighbours' words are shared with it."""

    corpus: Corpus

    def encode(self, sentences: Sequence[str]) -> npt.NDArray[np.float32]:
        self.sentences = list(sentences)
        return np.arange(len(sentences), dtype=np.float32)[:, None]

    def rank_scores(
        self, vectors: npt.NDArray[np.float32], positions: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.float32]:
        rows = [
            [self._score(self.sentences[int(v[0])], position) for position in positions]
            for v in vectors
        ]
        return np.array(rows, dtype=np.float32)

    def log_probabilities_at(
        self, sentences: Sequence[str], positions: npt.NDArray[np.int64], pairs: Pairs
    ) -> npt.NDArray[np.float32]:
        scores = [self._score(sentences[s], int(positions[c])) for s, c in pairs]
        return np.array(scores, dtype=np.float32) - 1

    def _score(self, sentence: str, position: int) -> float:
        context = self.corpus.context(int(position))
        return overlap(sentence, " ".join((*context.left, *context.right)))


class WordGenerator:
    """Likelihoods that are functions of the shared words, and a count of what was asked."""

    def __init__(self) -> None:
        self.asked = 0

    def likelihoods(
        self, sentences: Sequence[str], contexts: Sequence[Context], pairs: Pairs
    ) -> Likelihoods:
        self.asked += len(pairs)
        left = [overlap(sentences[s], " ".join(contexts[c].left)) - 3 for s, c in pairs]
        right = [overlap(sentences[s], " ".join(contexts[c].right)) - 3 for s, c in pairs]
        rows = np.array([np.add(left, right), left, right], dtype=np.float32)
        return Likelihoods(*rows)

    def baseline(
        self, sentences: Sequence[str], contexts: Sequence[Context], pairs: Pairs
    ) -> Likelihoods:
        flat = np.full(len(pairs), -3, dtype=np.float32)
        return Likelihoods(flat, flat, flat)


@pytest.fixture
def corpus(tiny_run: Path) -> Corpus:
    return Corpus.open(tiny_run)


def origin_over(corpus: Corpus, **changes: object) -> PaperOrigin:
    base = {"contexts": 4, "shortlist": 15}
    config = Config().changed({"paper": base | changes}, "test").paper
    coherence = WordCoherence(corpus)
    candidates = Candidates(corpus, WordIndex(corpus), coherence, config, 20, seed=1)  # type: ignore[arg-type]
    return PaperOrigin(corpus, candidates, coherence, WordGenerator(), config)  # type: ignore[arg-type]


def words_before(corpus: Corpus, position: int) -> frozenset[str]:
    return frozenset(words(corpus.text(position - 1)))


def test_context_sets_obey_the_paper(corpus: Corpus) -> None:
    """|C_s| positions, best fit first, one a chunk, preceding sentences different enough."""
    found = origin_over(corpus).context_set(A)
    assert len(found.positions) == 4
    fits = found.terms.fit(PaperConfig().weights)
    assert fits.tolist() == sorted(fits, reverse=True)
    assert len(set(corpus.chunk_of(found.positions).tolist())) == 4
    before = [words_before(corpus, position) for position in found.positions.tolist()]
    assert all(jaccard(x, y) < 0.5 for i, x in enumerate(before) for y in before[:i])


def test_without_diversity_takes_the_best(corpus: Corpus) -> None:
    """The third strategy of §5.4: the best fits of the shortlist, whatever they have in common."""
    strict, loose = origin_over(corpus), origin_over(corpus, diverse=False)
    weights, sentence = strict.config.weights, "The cow left the barn near the field."
    best = loose.context_set(sentence).terms.fit(weights)
    assert best.sum() >= strict.context_set(sentence).terms.fit(weights).sum()
    chunks = corpus.chunk_of(loose.context_set(sentence).positions).tolist()
    assert len(set(chunks)) < len(chunks), "the tiny corpus offers alike contexts"


def test_two_step_finds_better_contexts_than_chance(corpus: Corpus) -> None:
    """Screening and ranking lead to contexts that fit better than random ones."""
    chosen = origin_over(corpus).context_set(A)
    random = origin_over(corpus, selection="random").context_set(A)
    weights = PaperConfig().weights
    assert chosen.terms.fit(weights).mean() > random.terms.fit(weights).mean() + 0.1
    assert len(random.positions) == 4


def test_selection_without_coherence_keeps_the_order_of_screening(corpus: Corpus) -> None:
    """Its shortlist comes from the nearest chunks alone."""
    origin = origin_over(corpus, selection="without-coherence")
    shortlist = origin._candidates.shortlists([A])[0]
    nearest = WordIndex(corpus).screen([A], 20)[0].chunks.tolist()
    places = [nearest.index(chunk) for chunk in corpus.chunk_of(shortlist).tolist()]
    assert places == sorted(places)


def test_unknown_words_get_random_contexts(corpus: Corpus) -> None:
    """A sentence that shares no word with the corpus has a full context set, always the same."""
    origin = origin_over(corpus)
    assert not len(WordIndex(corpus).screen(["zzz qqq"], 20)[0].chunks)
    one, two = origin.context_set("zzz qqq"), origin.context_set("zzz qqq")
    assert one.positions.tolist() == two.positions.tolist()
    assert len(one.positions) > 0


def test_similarity_is_symmetric_and_one_for_equals(corpus: Corpus) -> None:
    """sim(a, b) = sim(b, a) to the last bit; sim(a, a) = 1."""
    origin = origin_over(corpus)
    assert origin.similarity(A, B) == origin.similarity(B, A)
    assert origin.similarity(A, A) == 1.0


def test_many_pairs_equal_one_by_one(corpus: Corpus) -> None:
    """Sharing context sets between pairs changes no score."""
    origin = origin_over(corpus)
    pairs = [(A, B), (B, C), (A, C), (C, C), (B, A)]
    together = origin.similarities(pairs)
    assert together.tolist() == [origin.similarity(a, b) for a, b in pairs]
    assert origin.similarities([]).shape == (0,)


def test_each_fit_is_asked_once(corpus: Corpus) -> None:
    """A pair costs two shortlists and two crossings; a repeated sentence no second shortlist."""
    origin = origin_over(corpus)
    generator = origin.context_fit._generator
    assert isinstance(generator, WordGenerator)
    origin.similarities([(A, B), (A, C)])
    assert generator.asked <= 3 * 15 + 4 * 4


def test_the_vectors_are_those_of_eq_4(corpus: Corpus) -> None:
    """v_{s1} and v_{s2} computed by hand over C_{s1} + C_{s2} give the same similarity."""
    origin = origin_over(corpus)
    (profile,) = origin.profiles([(A, B)])
    positions = profile.positions
    asked = [(sentence, place) for sentence in (A, B) for place in positions.tolist()]
    terms = origin.context_fit.terms(asked)
    v1, v2 = np.split(terms.fit(origin.config.weights), 2)
    assert v1 == pytest.approx(profile.vectors(origin.config.weights)[0])
    assert np.corrcoef(v1, v2)[0, 1] == pytest.approx(origin.similarity(A, B))


def test_pmi_terms_are_differences(corpus: Corpus) -> None:
    """Every likelihood loses its baseline; the coherence term stays."""
    asked = [(A, place) for place in corpus.positions()[:2].tolist()]
    raw = origin_over(corpus).context_fit.terms(asked)
    corrected = origin_over(corpus, pmi=True).context_fit.terms(asked)
    assert corrected.left == pytest.approx(raw.left + 3)
    assert corrected.coherence == pytest.approx(raw.coherence)


def test_a_weight_of_zero_spares_the_work(corpus: Corpus) -> None:
    """Without generative terms the generator is never asked."""
    none = {"sentence": 0, "left": 0, "right": 0}
    origin = origin_over(corpus, weights=none)
    generator = origin.context_fit._generator
    assert isinstance(generator, WordGenerator)
    assert -1 <= origin.similarity(A, B) <= 1
    assert generator.asked == 0


def test_explanations_add_nothing_and_lose_nothing(corpus: Corpus) -> None:
    """Every context of both sets is there with the fits behind the score, in the user's order."""
    origin = origin_over(corpus)
    near = A.replace(".", " again.")
    found = origin.explain(near, A)
    assert (found.sentence1, found.sentence2) == (near, A)
    assert found.similarity == origin.similarity(A, near)
    (profile,) = origin.profiles([(A, near)])
    positions = profile.positions.tolist()
    shared = set(profile.set1.positions.tolist()) & set(profile.set2.positions.tolist())
    assert shared
    assert {item.position for item in found.evidence} == set(positions)
    assert len(found.evidence) == len(positions) - len(shared)
    times = [len(item.chosen_for) for item in found.evidence]
    v1 = np.repeat([item.fit1 for item in found.evidence], times)
    v2 = np.repeat([item.fit2 for item in found.evidence], times)
    assert np.corrcoef(v1, v2)[0, 1] == pytest.approx(found.similarity)
    mirrored = {item.position: item for item in origin.explain(A, near).evidence}
    for item in found.evidence:
        other = mirrored[item.position]
        assert set(item.chosen_for) == {3 - number for number in other.chosen_for}
        assert (item.fit1, item.fit2) == (other.fit2, other.fit1)
        assert item.influence == pytest.approx(other.influence, abs=1e-12)
        assert item.context == corpus.context(item.position)


def test_a_corpus_without_contexts_is_named(
    corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Single lines have no neighbours: the error says what to build the corpus from."""
    monkeypatch.setattr(Corpus, "positions", lambda *_: np.empty(0, dtype=np.int64))
    with pytest.raises(InputError, match="no context"):
        origin_over(corpus).similarity(A, B)


def test_terms_of_nothing() -> None:
    """The premise of the zero case: empty terms have an empty fit."""
    empty = np.empty(0, dtype=np.float32)
    assert Terms(empty, empty, empty, empty).fit(PaperConfig().weights).shape == (0,)


@pytest.mark.parametrize(
    "change",
    [
        {"paper": {"measure": "cosine"}},
        {"retrieve": {"chunks": 7}},
        {"seed": 14},
        {"generator": {"precision": "float32", "batch_tokens": 99}},
    ],
    ids=lambda change: "+".join(change),
)
def test_the_identity_follows_every_setting_that_is_read(
    tiny_run: Path, change: dict[str, object]
) -> None:
    """What decides a score decides the fingerprint under which scores are kept, no other."""
    run = Run.open(tiny_run)
    assert run.config.origin.method is Method.PAPER, "premise"
    known = Origin.identity(run)
    assert Origin.identity(run.changed(change)) != known
    assert Origin.identity(run.changed({"harvest": {"pairs": 61}})) == known


def test_changes_go_to_the_section_of_the_method(tiny_run: Path) -> None:
    """`Origin.open` opens what `PaperOrigin.open` opens; a setting of the other method is none."""
    opened = Origin.open(tiny_run, seed=14, contexts=2, shortlist=3)
    assert isinstance(opened, PaperOrigin)
    assert opened.config.contexts == 2
    assert opened.similarity(A, B) == PaperOrigin.open(
        tiny_run, seed=14, contexts=2, shortlist=3
    ).similarity(A, B)
    with pytest.raises(ConfigError, match=r"paper\.parts"):
        Origin.open(tiny_run, parts={"words": 1})

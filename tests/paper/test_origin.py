"""*Origin* over stand-in models whose fits are known: the procedure of §3.3, step by step."""

import math
from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from firth.corpus.build import add_documents
from firth.corpus.corpus import Corpus
from firth.paper.contexts import jaccard
from firth.paper.fits import EQUAL, TERMS, fit
from firth.paper.origin import DEVIATIONS, Origin, learned_terms, open_plug_in
from firth.paper.retrieve import Screened, build_index, chunk_bounds, chunk_texts
from firth.paper.settings import PaperSettings
from firth.paper.tokens import ALL_ROLES, Context, Pairs, Role, contexts_of, positions_of
from firth.run.errors import InputError
from firth.run.files import read_json
from firth.run.run import Run
from firth.text.types import Ints, Singles
from firth.text.words import words

from .conftest import make_run

A, B, C = (
    "The ship reached the harbour near the island.",
    "The sailor feared the storm near the tide.",
    "The judge praised the lawyer near the court.",
)


def overlap(one: str, two: str) -> float:
    return jaccard(frozenset(words(one)), frozenset(words(two)))


@dataclass
class WordIndex:
    """Screens chunks by the words that they share with the sentence."""

    corpus: Corpus

    def __post_init__(self) -> None:
        self.bounds = chunk_bounds(self.corpus, 8)
        self.texts = chunk_texts(self.corpus, self.bounds)

    def chunk_of(self, sentences: Ints) -> Ints:
        return np.searchsorted(self.bounds, sentences, side="right") - 1

    def screen(self, sentences: Sequence[str], n: int) -> list[Screened]:
        screened = []
        for sentence in sentences:
            scores = np.array([overlap(sentence, text) for text in self.texts], np.float32)
            order = np.argsort(-scores, kind="stable")[:n]
            order = order[scores[order] > 0].astype(np.int64)
            screened.append(Screened(order, scores[order]))
        return screened


@dataclass
class WordCoherence:
    """A position is as coherent with a sentence as its neighbors' words are shared with it."""

    corpus: Corpus

    def encode(self, sentences: Sequence[str]) -> Singles:
        self.sentences = list(sentences)
        return np.arange(len(sentences), dtype=np.float32)[:, None]

    def rank_scores(self, vectors: Singles, positions: Ints) -> Singles:
        rows = [[self._score(self.sentences[int(v[0])], p) for p in positions] for v in vectors]
        return np.array(rows, dtype=np.float32)

    def log_probabilities(self, sentences: Sequence[str], positions: Ints, pairs: Pairs) -> Singles:
        scores = [self._score(sentences[s], int(positions[c])) for s, c in pairs]
        return np.array(scores, dtype=np.float32) - 1

    def _score(self, sentence: str, position: int) -> float:
        context = contexts_of(self.corpus, [int(position)], 1)[0]
        return overlap(sentence, " ".join((*context.left, *context.right)))


@dataclass
class WordGenerator:
    """Likelihoods that are functions of the shared words, and a record of what was asked."""

    asked: list[Set[Role]] = field(default_factory=list)

    def likelihoods(
        self, sentences: Sequence[str], contexts: Sequence[Context], pairs: Pairs,
        roles: Set[Role] = ALL_ROLES, evidence: bool = True,
    ) -> Singles:  # fmt: skip
        if not evidence:
            return np.full((3, len(pairs)), -3, np.float32)
        self.asked += [roles] * len(pairs)
        left = [overlap(sentences[s], " ".join(contexts[c].left)) - 3 for s, c in pairs]
        right = [overlap(sentences[s], " ".join(contexts[c].right)) - 3 for s, c in pairs]
        return np.array([left, np.add(left, right), right], np.float32)


def origin_over(corpus: Corpus, fits: Any = None, **contexts: Any) -> Origin:
    values = {"contexts": {"size": 4, "shortlist": 15} | contexts, "fits": fits or {}}
    settings = PaperSettings.model_validate(values)
    index, coherence, generator = WordIndex(corpus), WordCoherence(corpus), WordGenerator()
    make: Any = Origin
    origin: Origin = make(corpus, index, coherence, generator, settings, seed=1)
    return origin


def generator_of(origin: Origin) -> WordGenerator:
    generator: Any = origin._generator
    return generator  # type: ignore[no-any-return]


def test_context_sets_obey_the_paper(corpus: Corpus) -> None:
    """|C_s| positions, best fit first, one a chunk, preceding sentences different enough."""
    origin = origin_over(corpus)
    (chosen,) = origin.context_sets([A])
    assert len(chosen.positions) == 4
    fits = fit(chosen.terms, origin.weights)
    assert fits.tolist() == sorted(fits, reverse=True)
    assert len(set(origin.index.chunk_of(chosen.positions).tolist())) == 4
    before = [frozenset(words(corpus.text(p - 1))) for p in chosen.positions.tolist()]
    assert all(jaccard(x, y) < 0.5 for i, x in enumerate(before) for y in before[:i])


def test_the_strategies_of_section_5_4(corpus: Corpus) -> None:
    """Two-step contexts fit better than random ones; without diversity they fit best."""
    fits = {}
    strategies: dict[str, Any] = {"two-step": {}, "greedy": {"diverse": False}}
    for name, change in (strategies | {"random": {"selection": "random"}}).items():
        origin = origin_over(corpus, **change)
        (chosen,) = origin.context_sets(["The cow left the barn near the field."])
        assert len(chosen.positions) == 4
        fits[name] = fit(chosen.terms, origin.weights).mean()
        chunks = origin.index.chunk_of(chosen.positions).tolist()
        if name == "greedy":
            assert len(set(chunks)) < 4, "premise: the tiny corpus offers similar contexts"
    assert fits["greedy"] >= fits["two-step"] > fits["random"] + 0.1


def test_unknown_words_get_random_contexts(corpus: Corpus) -> None:
    """A sentence that shares no word with the corpus has a full context set, always the same."""
    origin = origin_over(corpus)
    assert not len(origin.index.screen(["zzz qqq"], 20)[0].chunks), "premise"
    one, two = origin.context_sets(["zzz qqq", A])[0], origin.context_sets(["zzz qqq"])[0]
    assert one.positions.tolist() == two.positions.tolist()
    assert len(one.positions) > 0


def test_scores_do_not_depend_on_other_pairs_or_the_order(corpus: Corpus) -> None:
    """sim(a, b) = sim(b, a) to the last bit, sim(a, a) = 1, and many pairs equal one by one."""
    origin = origin_over(corpus)
    pairs = [(A, B), (B, C), (A, C), (C, C), (B, A)]
    together = origin.similarities(pairs)
    assert together.tolist() == [origin.similarities([(a, b)])[0] for a, b in pairs]
    assert together[0] == together[4]
    assert together[3] == 1.0
    assert origin.similarities([]).shape == (0,)


def test_each_fit_is_asked_once_and_only_where_it_weighs(corpus: Corpus) -> None:
    """A pair costs two shortlists and two crossings; a term of weight 0 costs nothing."""
    origin = origin_over(corpus)
    origin.similarities([(A, B), (A, C)])
    assert 0 < len(generator_of(origin).asked) <= 3 * 15 + 4 * 4
    origin = origin_over(corpus, {"weights": {"left": 0, "right": 0}})
    origin.similarities([(A, B)])
    assert set(generator_of(origin).asked) == {frozenset({Role.SENTENCE})}
    origin = origin_over(corpus, {"weights": {"sentence": 0, "left": 0, "right": 0}})
    assert -1 <= origin.similarities([(A, B)])[0] <= 1
    assert not generator_of(origin).asked


def test_pmi_terms_are_differences(corpus: Corpus) -> None:
    """Every likelihood loses its baseline; the coherence term stays."""
    fits = [(A, positions_of(corpus)[:2])]
    (raw,) = origin_over(corpus, {"pmi": False}).terms(fits)
    (corrected,) = origin_over(corpus, {"pmi": True}).terms(fits)
    assert corrected[:, 2] == pytest.approx(raw[:, 2] + 3)
    assert corrected[:, 0] == pytest.approx(raw[:, 0])


def test_explanations_add_nothing_and_lose_nothing(corpus: Corpus) -> None:
    """Every context of both sets is there with the fits behind the score, in the user's order."""
    origin, near = origin_over(corpus), A.replace(".", " again.")
    explanation = origin.explain(near, A)
    assert (explanation.text1, explanation.text2) == (near, A)
    assert explanation.score == origin.similarities([(A, near)])[0]
    assert math.fsum(row.contribution for row in explanation.rows) == pytest.approx(
        explanation.score, abs=1e-12
    )
    (profile,) = origin.profiles([(near, A)])
    places = profile.positions.tolist()
    assert {share.details["position"] for share in explanation.contexts} == set(places)
    assert len(explanation.contexts) < len(places), "premise: a context of both sentences"
    times = [places.count(int(share.details["position"])) for share in explanation.contexts]
    v1 = np.repeat([share.fit1 for share in explanation.contexts], times)
    v2 = np.repeat([share.fit2 for share in explanation.contexts], times)
    assert np.corrcoef(v1, v2)[0, 1] == pytest.approx(explanation.score)
    mirrored = {s.details["position"]: s for s in origin.explain(A, near).contexts}
    for share in explanation.contexts:
        other = mirrored[share.details["position"]]
        assert (share.fit1, share.fit2) == (other.fit2, other.fit1)
        assert share.contribution == pytest.approx(other.contribution, abs=1e-12)


def test_a_corpus_without_contexts_is_named(
    corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Single lines have no neighbors: the error says what to build the corpus from."""
    monkeypatch.setattr("firth.paper.origin.positions_of", lambda _: np.empty(0, np.int64))
    with pytest.raises(InputError, match="no context"):
        origin_over(corpus).similarities([(A, B)])


def test_a_run_opens_as_a_scorer(built: Run) -> None:
    """The trained models of a run give finite, symmetric scores, and a name for tables."""
    origin = Origin.open(built.path)
    assert origin.name == "Origin, 4 contexts, centered"
    scores = origin.similarities([(A, B), (B, A), (A, C), (A, A)])
    assert np.isfinite(scores).all()
    assert scores[0] == scores[1]
    assert scores[3] == 1.0
    assert open_plug_in("origin", built) is not None
    assert open_plug_in("tfidf", built) is None


def test_a_changed_corpus_is_noticed(tmp_path: Any, built: Run) -> None:
    """Positions are numbers of sentences, and mean others when documents were added."""
    run = make_run(tmp_path / "run")
    build_index(run)
    for stage in ("coherence", "generator", "deviations"):
        (run.path / "paper" / stage).symlink_to(built.path / "paper" / stage)
    Origin.open(run)
    new = [{"id": f"new-{n}", "text": f"Day {n} began. It was cold. We left."} for n in range(9)]
    add_documents(run, new)
    with pytest.raises(InputError, match="corpus has changed"):
        Origin.open(run)


def test_terms_have_equal_deviation(built: Run) -> None:
    """Weights of 1 make each term differ by 1 between two sentences of the reference pairs."""
    stored = read_json(built.folder(DEVIATIONS) / "deviations.json")
    assert set(stored) == {"pmi", "log p"}
    for name, pmi in (("pmi", True), ("log p", False)):
        origin = Origin.open(built.changed({"paper": {"fits": {"pmi": pmi}}}))
        for term, weight in origin.weights:
            assert stored[name][term] > 0
            assert weight * stored[name][term] == pytest.approx(1.0)
    plain = Origin.open(built, scaled=False)
    assert plain.weights == EQUAL


def test_a_model_that_did_not_learn_has_no_weight(
    built: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its term is left out of Eq. 3 unless it is set."""
    assert learned_terms(built).keys() == set(TERMS)
    learned = dict.fromkeys(TERMS, True) | {"coherence": False}
    monkeypatch.setattr("firth.paper.origin.learned_terms", lambda _: learned)
    unset = built.changed({"paper": {"fits": {"weights": {"coherence": None}}}})
    assert Origin.open(unset).weights.coherence == 0
    assert Origin.open(built).weights.coherence != 0

"""`firth.search.search`: hits are ranked by what is asked, filtered first, and claim nothing."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from tests.search.conftest import documents, made

from firth.corpus.build import add_documents
from firth.encoders.pretrained import with_encoder
from firth.run.errors import InputError
from firth.run.run import Run
from firth.search import search as module
from firth.search.calibrate import build_calibration
from firth.search.calibration import NOTHING, RELATED, UNLIKELY, Answers, Calibration, best_share
from firth.search.index import build_index
from firth.search.search import MODES, UNITS, Mode, Search, Unit
from firth.text.types import Singles

Make = Callable[..., Run]


@pytest.fixture(scope="module")
def search(run: Run) -> Search:
    """The search of the run that no test changes."""
    return Search.open(run)


@pytest.fixture(scope="module")
def calibrated(tmp_path_factory: pytest.TempPathFactory) -> Search:
    """The search of a run with a calibration."""
    run = made(tmp_path_factory.mktemp("calibrated") / "run", documents(range(10)))
    build_calibration(run)
    return Search.open(run)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("unit", UNITS)
def test_hits_are_ordered_and_whole(search: Search, mode: Mode, unit: Unit) -> None:
    """Scores fall, and each hit says where it comes from."""
    hits = search.search("The captain met a sailor", top=8, mode=mode, unit=unit)
    assert 0 < len(hits) <= 8
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert len({hit.number for hit in hits}) == len(hits)
    corpus = search.index.corpus
    for hit in hits:
        d = corpus.document_ids().index(hit.document)
        assert corpus.text(hit.number) == hit.text
        assert hit.number == corpus.document_bounds[d] + hit.sentence - 1
        assert (hit.title, hit.date) == (corpus.document_titles()[d], corpus.document_dates()[d])
        assert hit.fields == {"section": (hit.document.partition("-")[0],)}
        assert 0 <= hit.lexical_score <= 1
        assert hit.as_dict()["document"] == hit.document
    if unit == "document":
        assert len({hit.document for hit in hits}) == len(hits)


def deviations(scores: Any) -> Any:
    """Scores as deviations from their mean."""
    return (scores - scores.mean()) / scores.std()


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("unit", UNITS)
def test_the_best_of_all_is_first(
    run: Run, mode: Mode, unit: Unit, exact: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first hits are those of scoring everything, also where candidates come first."""
    monkeypatch.setattr("firth.search.index.EXACT", 40_000 if exact else 0)
    search, query = Search.open(run), "storm near the harbor"
    index = search.index
    assert index.is_small == exact
    of_sentences, of_documents, most = index.bm25.scores(query)
    assert of_sentences.max() < most[0]
    assert of_documents.max() < most[1]
    means, spreads = zip(*((x.mean(), x.std()) for x in (of_sentences, of_documents)), strict=True)
    titles: Any = index.bm25.title_shares(query)
    assert titles.max() > 0.5 > titles[titles > 0].min()
    titles = module.TITLE_WEIGHT * np.maximum(2 * titles - 1, 0)
    owners = index.corpus.document_of(np.arange(len(index)))
    of_documents += of_documents.max() * titles
    vectors, first = index.vectors(np.arange(len(index))), index.corpus.document_bounds[:-1]
    vector, w = index.encoder.encode([query])[0], search.dense_weight
    assert w == module.DENSE_WEIGHT
    dense, best = vectors @ vector, np.maximum.reduceat(vectors @ vector, first)
    places = np.arange(len(index)) - first[owners]
    sums = np.add.reduceat(vectors / (1 + places)[:, None], first)
    whole = (sums @ vector) / np.linalg.norm(sums, axis=1)
    score = (of_documents - means[1]) / spreads[1]
    score += w * (deviations(best) + deviations(whole))
    lexical = of_documents / of_documents.max()
    scores = {"hybrid": score, "dense": (best + whole) / 2, "lexical": lexical}[mode]
    if unit == "sentence":
        cosines = deviations(dense)
        of_sentences = of_sentences + of_sentences.max() * titles[owners]
        own = (of_sentences - means[0]) / spreads[0] + 2 * w * cosines
        both = (lexical[owners] + of_sentences / of_sentences.max()) / 2
        scores = {"hybrid": (own + score[owners]) / 2, "dense": dense, "lexical": both}[mode]
    hits = search.search(query, top=5, mode=mode, unit=unit)
    np.testing.assert_allclose([h.score for h in hits], np.sort(scores)[:-6:-1], atol=1e-3)


class Random:
    name = "random"

    def encode(self, texts: Sequence[str]) -> Singles:
        rows = [np.random.default_rng([*text.encode()]).standard_normal(24) for text in texts]
        return np.array(rows, np.float32).reshape(len(texts), 24)


@pytest.mark.parametrize("unit", UNITS)
def test_vectors_that_know_nothing_cost_nothing(
    make: Make, unit: Unit, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where each text has a random vector, hits are those of words alone."""
    records = [{**one, "title": " ".join(one["text"].split()[1:6:2])} for one in documents()]
    run = with_encoder(make(records), Random())
    build_index(run)
    assert Search.open(run).dense_weight == module.PRETRAINED_WEIGHT, "without a calibration"
    build_calibration(run)
    search = Search.open(run)
    assert search.calibration is not None
    assert "have 0% of their weight" in capsys.readouterr().err
    assert search.dense_weight == search.calibration.share == 0
    for query in search.index.corpus.texts(np.arange(0, len(search.index), 4)):
        first = search.search(f"{query} storm", unit=unit, top=1)[0].number
        by_words = search.search(f"{query} storm", unit=unit, top=1, mode="lexical")[0].number
        assert first == by_words


def test_the_share_is_a_half_where_more_answers_are_found_so() -> None:
    """Places of an answer: by full weight, half, none, cosines alone, which may make it 0."""
    assert best_share([(3, 1, 9, 3)] * 40) == best_share([(3, 1, 0, 2)] * 40) == 0.5
    assert best_share([(3, 1, 9, 3)] * 19) == best_share([(2, 2, 2, 2)] * 40) == 1
    assert best_share([(3, 1, 0, 30)] * 40) == best_share([(0, 0, 0, 9)] * 40) == 0
    assert best_share([(3, 1, 0, 30)] * 9 + [(10, 10, 10, 10)] * 91) == 1, "hardly any is found"
    assert best_share([(0, 9, 9, 9), (5, 9, 9, 3), (5, 9, 9, 3)] * 20) == 1, "near the first most"


def test_a_question_is_asked_without_all_that_answers(
    calibrated: Search, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither its document nor what is as near gives evidence; a text in its place has its own."""
    index = calibrated.index
    titles, text = index.corpus.document_titles(), index.corpus.text(17)
    own = int(index.corpus.document_of([17])[0])
    vector = index.encoder.encode([text])[0]
    asked = calibrated.ask(text, own, (text, vector))
    without = np.delete(np.arange(len(titles)), own)
    assert asked.evidence == calibrated.first_evidence(text, without)
    assert asked.answer is not None
    everything = calibrated.first_evidence(text)
    for unit in UNITS:
        assert asked.evidence[unit] < min(everything[unit], asked.answer)
    assert asked.ahead == (0, 0, 0, 0), "the question itself is the nearest to it"
    score, most = index.bm25.score_of(text, " ".join(index.corpus.texts(range(15, 20))), own)
    words = index.bm25.scores(text)
    assert (titles[own], 15) == ("About the singer", index.corpus.document_bounds[own]), "premise"
    assert most == pytest.approx(words[2][1], rel=1e-5)
    assert score == pytest.approx(float(words[1][own]), rel=1e-5), "no word is of the title"
    unlike = calibrated.ask(text, own, ("Zyx wvu.", index.encoder.encode(["judge jury law"])[0]))
    assert min(unlike.ahead) > 0
    monkeypatch.setattr(module, "answering", lambda scores: np.argsort(-scores)[:3])
    fewer = calibrated.ask(text, own, None)
    assert all(fewer.evidence[unit] < asked.evidence[unit] for unit in UNITS)


@pytest.mark.parametrize("unit", UNITS)
def test_evidence_is_that_of_words_and_of_vectors(search: Search, unit: Unit) -> None:
    """BM25 by the highest that any text could have, and the cosine."""
    query, index = "storm near the harbor", search.index
    of_sentences, of_documents, most = index.bm25.scores(query)
    bounds = index.corpus.document_bounds
    dense: Any = index.vectors(np.arange(len(index))) @ index.encoder.encode([query])[0]
    cover: Any = np.repeat(of_documents / most[1], np.diff(bounds)) / 2 + of_sentences / most[0] / 2
    if unit == "document":
        dense, cover = np.maximum.reduceat(dense, bounds[:-1]), of_documents / most[1]
    best = search.search(query, top=1, unit=unit)[0]
    at = best.number if unit == "sentence" else int(index.corpus.document_of(best.number))
    assert best.dense_score > 0.1
    expected = cover[at] + module.EVIDENCE_WEIGHT * dense[at]
    assert search.first_evidence(query)[unit] == pytest.approx(float(expected), rel=1e-5)


def test_a_document_is_found_by_words_of_several_sentences(make: Make) -> None:
    """No sentence has both words, and the document that has both is first."""
    records = [
        {"id": "both", "text": "A qwert came. Then an asdfg left. Some rain fell that day."},
        {"id": "one", "text": "A qwert saw a qwert. Some rain fell that day. It was so."},
        {"id": "title", "title": "The zxcvb", "text": "Nothing is said here. And nothing there."},
    ]
    search = Search.open(make(records))
    hits = search.search("qwert and asdfg", unit="document", mode="lexical")
    assert [hit.document for hit in hits] == ["both", "one"]
    (hit,) = search.search("zxcvb", unit="document")
    assert (hit.document, hit.lexical_score) == ("title", 1)
    assert [hit.title[start:end] for start, end in hit.title_matches] == ["zxcvb"]
    assert hit.matches == ()


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("unit", UNITS)
def test_filters_come_before_ranking(
    run: Run, unit: Unit, exact: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many hits come of some documents as of all, and they are the best of these."""
    monkeypatch.setattr("firth.search.index.EXACT", 40_000 if exact else 0)
    search, query = Search.open(run), "a ship and a field"
    hits = search.search(query, top=4, unit=unit, where="section = 'farm' and date >= 2012")
    assert len(hits) == 4
    assert all(hit.document.startswith("farm") and hit.date >= "2012" for hit in hits)
    everything = search.search(query, top=120, unit=unit, mode="dense")
    expected = [h for h in everything if h.document.startswith("farm") and h.date >= "2012"]
    dense = search.search(query, top=4, unit=unit, mode="dense",
                          where="section = 'farm' and date >= 2012")  # fmt: skip
    assert [h.number for h in dense] == [h.number for h in expected[:4]]
    words, which = "the captain and sailor saw a storm and a field", "section = 'farm'"
    (first,) = search.search(words, top=1, unit="document", mode="lexical")
    assert not first.document.startswith("farm"), "premise"
    for mode in MODES:
        found = search.search(words, top=3, unit="document", mode=mode, where=which)
        assert len(found) == 3
        assert all(hit.document.startswith("farm") for hit in found)
        if mode == "lexical":
            assert found[0].lexical_score == 1, "the highest is that of the filtered documents"
    with pytest.raises(InputError, match="no document matches"):
        search.search(query, where="date > 2050")


def test_nothing_is_claimed_where_nothing_is_known(calibrated: Search) -> None:
    """A query without a known word has no hits, and one of unrelated words no answer."""
    for mode in MODES:
        hits = calibrated.search("zxqv wrrt", mode=mode)
        assert (hits.items, hits.answer, hits.unknown) == ((), NOTHING, ("zxqv", "wrrt"))
        assert "zxqv, wrrt" in hits.remark
    foreign = calibrated.search("\u65e5\u672c\u306e\u7d4c\u6e08")
    assert (foreign.items, foreign.answer) == ((), NOTHING)
    assert foreign.unknown == ("\u65e5\u672c\u306e\u7d4c\u6e08",)
    hits = calibrated.search("zxqv wrrt qqpl anchor")
    assert hits
    assert hits.answer == NOTHING
    assert hits.as_dict()["hits"][0]["answer"] == UNLIKELY


@pytest.mark.parametrize("is_named", [True, False])
def test_a_pretrained_encoder_shows_hits_for_words_that_no_document_has(
    is_named: bool, calibrated: Search, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may know them: the hits are shown, and said to be unlikely to answer."""
    monkeypatch.setattr(calibrated.index, "is_pretrained", is_named)
    monkeypatch.setattr(calibrated.index.bm25, "frequency", lambda _: 0)
    monkeypatch.setattr(Answers, "verdict", lambda *_: UNLIKELY)
    hits = calibrated.search("anchor")
    assert hits.answer == NOTHING
    assert bool(hits) == is_named


def test_the_verdict_follows_the_first_hit(
    calibrated: Search, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No later hit has a better chance, however much evidence it has."""
    query = "the captain of the sailor"
    evidence = [*calibrated._candidates(query, 9, "lexical", UNITS, None)["sentence"].evidence]
    low = min(evidence)
    assert low < evidence[0], "premise"
    assert evidence != sorted(evidence, reverse=True), "premise"
    answers = Answers(np.array([low, *[evidence[0] + 1e-6] * 19]), np.full(20, low + 1e-6))
    monkeypatch.setattr(
        calibrated,
        "calibration",
        Calibration(matches=None, answers={"sentence": answers}, scripts=frozenset({"LATIN"})),
    )
    hits = calibrated.search(query, top=9, mode="lexical")
    best = [min(evidence[: n + 1]) for n in range(9)]
    assert [hit.chance for hit in hits] == [answers.chance(value) for value in best]
    assert [hit.answer for hit in hits] == [RELATED if value > low else UNLIKELY for value in best]
    assert hits.answer == RELATED


def test_equal_sentences_are_one_hit(make: Make) -> None:
    """A line of every document takes one place; the others go to further sentences."""
    line = "The harbour is closed on Sundays."
    run = make([{"id": f"d{n}", "text": f"{line} Boat number {n} sailed."} for n in range(40)])
    search = Search.open(run)
    hits = search.search("the harbour is closed on Sundays", top=5)
    assert [hit.text for hit in hits].count(line) == 1
    assert len(hits) == len({hit.text for hit in hits}) == 5
    assert len(search.search("the harbour is closed on Sundays", top=5, unit="document")) == 5


def test_documents_with_one_text_are_all_found_and_shown_once(make: Make) -> None:
    """A hit has the id and title that the filter, or the query, asks for, and names the others."""
    said = "A vessel came into the harbour at dawn. Nobody saw its captain."
    one = make([
        {"id": "a", "title": "Morning", "section": "news", "text": said},
        *({"id": f"o{n}", "text": f"Field {n} has wheat.", "section": "farm"} for n in range(9)),
        {"id": "b", "title": "The qwert arrives", "section": "sea", "text": said.upper()},
        {"id": "c", "title": "Morning", "section": "news", "text": said},
    ])  # fmt: skip
    search = Search.open(one)
    hits = search.search("vessel in the harbour", top=3)
    assert [hit.text for hit in hits].count(said.split(". ")[0] + ".") == 1
    assert (hits[0].document, hits[0].also) == ("a", ("b", "c"))
    assert hits[0].place == "Morning; also in b, c"
    assert hits.as_dict()["hits"][0]["also"] == ["b", "c"]
    (whole,) = search.search("vessel in the harbour", unit="document", where="section = sea")
    assert (whole.document, whole.title, whole.also) == ("b", "The qwert arrives", ())
    named = search.search("the qwert arrives")[0]
    assert (named.document, named.title, named.also) == ("b", "The qwert arrives", ("a", "c"))
    of_a, of_both = map(search.index.bm25.title_shares, ("morning news", "morning news arrives"))
    assert of_a.max() == pytest.approx(1)
    assert of_both.max() == pytest.approx(0.44, abs=0.01)  # two of three words, and two of three
    unlike = search.search("the qwert arrives", where="section = news")
    assert "b" not in {name for hit in unlike for name in (hit.document, *hit.also)}
    assert len(search.index.corpus.copies) == 2 == 12 - search.index.corpus.n_documents
    assert search.unindexed == ""
    assert replace(hits[0], also=(*"bcdef",), page=7).place == (
        "Morning, page 7; also in b, c, d, and 2 more"
    )


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("where", [None, "title != x"])
def test_a_title_that_is_the_query_comes_first(make: Make, unit: Unit, where: str | None) -> None:
    """Though another text repeats its words; one word of a long title is no such title."""
    said = "The qwert of an asdfg. Why the qwert left the asdfg. It is a qwert, an asdfg too."
    records = [
        {"id": "other", "title": "On something else", "text": said},
        {"id": "own", "title": "Why the qwert left", "text": "No such text. None."},
        {"id": "long", "title": "A long list of things and one qwert", "text": "So."},
    ]
    search = Search.open(make(records))
    hits = search.search("why the qwert left", unit=unit, mode="lexical", where=where)
    assert hits[0].document == "own"
    title = hits[0].title
    assert [title[start:end] for start, end in hits[0].title_matches] == ["qwert", "left"]
    assert {hit.document for hit in hits[: 2 if unit == "sentence" else 1]} == {"own"}
    shares = dict(zip("xyz", search.index.bm25.title_shares("the qwert left"), strict=True))
    assert shares["x"] == 0 < shares["z"] < shares["y"] == pytest.approx(3 / 4)
    left = search.search("why the qwert left", unit=unit, mode="lexical", where="id != own")
    assert {hit.document for hit in left} == {"other", "long"}
    assert search.index.bm25.title_shares("why the qwert left").max() == pytest.approx(1)


def test_titles_and_fields_are_searched(make: Make) -> None:
    """They count for the document, and for each of its sentences."""
    records = [
        {"id": "a", "title": "The zxcvb", "section": "poiuy", "text": "A ship came. It left."},
        {"id": "b", "title": "", "section": "", "text": "A ship came in. It left then."},
        {"id": "c", "title": "", "section": "lkjhg", "text": "No boat was there. None."},
    ]
    search = Search.open(make(records))
    for word, unit in product(("zxcvb", "poiuy"), UNITS):
        hits = search.search(f"{word} ship", unit=unit, mode="lexical")
        assert hits[0].document == "a"
        assert hits.unknown == ()
    hits = search.search("lkjhg", mode="lexical")
    assert hits.unknown == ()
    assert [(hit.document, hit.sentence) for hit in hits] == [("c", 1), ("c", 2)]


def test_documents_are_found_though_few_have_all_the_nearest_sentences(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many documents come as are asked for, if there are as many."""
    monkeypatch.setattr(module, "_DEPTH", 5)
    monkeypatch.setattr(module, "_PER_HIT", 1)
    long = {"id": "long", "text": " ".join(f"A ship met the boat of sea{n}." for n in range(60))}
    search = Search.open(make([long, *documents(range(2))]))
    hits = search.search("ship boat", top=6, unit="document", mode="dense")
    assert hits[0].document == "long"
    assert len(hits) == 6


def test_what_is_not_indexed_is_said(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    """A call that was killed between store and index leaves documents that are not searched."""
    run = make(documents(range(1)))
    add_documents(run, [{"id": "new", "text": "A qwert left the harbor. It was late."}])
    capsys.readouterr()
    assert Search.open(run).search("qwert", mode="lexical").items == ()
    assert "1 document not indexed" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("query", "options", "message"),
    [
        ("ship", {"mode": "fuzzy"}, "hybrid, dense, lexical"),
        ("ship", {"unit": "word"}, "sentence, document"),
        ("ship", {"top": 0}, "from 1 on"),
    ],
)
def test_arguments_are_checked(
    search: Search, query: str, options: dict[str, str], message: str
) -> None:
    """The message says what was expected."""
    with pytest.raises(InputError, match=message):
        search.search(query, **options)  # type: ignore[arg-type]

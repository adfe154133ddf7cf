"""Search: what is found, in which order, among which documents, and why."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import CrossEncoder
from typer.testing import CliRunner

from firth.cli.main import app
from firth.lexical.arrays import Floats
from firth.lexical.scorer import TextPair
from firth.run.errors import InputError
from firth.run.run import Run
from firth.search.among import Among
from firth.search.search import WEIGHT, By, Search
from firth.surrogate.cross_scorer import CrossScorer


@pytest.fixture(scope="module")
def search(tiny_run: Path) -> Search:
    run = Run.open(tiny_run).changed({"origin": {"method": "ensemble"}})
    return Search.open(run)


QUERY = "The captain remembered a storm."


@pytest.mark.parametrize("by", [*By])
def test_hits_are_those_of_all_sentences(search: Search, by: By) -> None:
    """Few of many: the same as scoring every sentence and sorting."""
    index = search.index
    cosines = index.cosines(index.encode([QUERY])[0], np.arange(len(index)))
    words = index.words.scores(QUERY, np.arange(len(index)))
    weight = {By.BOTH: WEIGHT, By.VECTORS: 1.0, By.WORDS: 0.0}[by]
    expected = np.sort(weight * cosines + (1 - weight) * words)[::-1][:7]
    hits = search.search(QUERY, top=7, by=by)
    np.testing.assert_allclose([hit.score for hit in hits], expected, atol=1e-5)
    for hit in hits:
        assert index.library.text(hit.sentence) == hit.text
        assert hit.score == pytest.approx(weight * hit.cosine + (1 - weight) * hit.words)
        assert "random pairs" in hit.meaning
        assert 0 <= hit.shares["random"] <= 1


def test_a_sentence_finds_itself(search: Search) -> None:
    """Also one that was held out from learning."""
    for number in (3, len(search.index) - 1):
        text = search.index.library.text(number)
        assert search.search(text, top=1)[0].text == text


def test_documents_come_once(search: Search) -> None:
    """By their best sentence, in the order of these."""
    hits = search.search(QUERY, top=8, documents=True)
    names = [hit.document for hit in hits]
    assert len(set(names)) == len(names) == 8
    sentences = search.search(QUERY, top=100)
    assert names[0] == sentences[0].document
    best: dict[str, float] = {}
    for hit in sentences:
        best.setdefault(hit.document, hit.score)
    for hit in hits:
        assert best.get(hit.document, hit.score) == hit.score


def test_only_some_documents_are_searched(search: Search) -> None:
    """By name and file; by patterns that nothing matches, an error."""
    everything = search.search(QUERY, top=200)
    for among in (Among(documents=("*/farm-*",)), Among(sources=("*/farm-*",))):
        hits = search.search(QUERY, top=200, among=among)
        assert hits
        assert all("/farm-" in hit.source for hit in hits)
        inside = [hit for hit in everything if "/farm-" in hit.source]
        assert [hit.sentence for hit in hits][:3] == [hit.sentence for hit in inside][:3]
    with pytest.raises(InputError, match="matches nowhere"):
        search.search(QUERY, among=Among(documents=("nowhere",)))
    with pytest.raises(InputError, match="empty query"):
        search.search(" ")


def test_origin_ranks_anew_and_says_why(search: Search) -> None:
    """The best of Origin among the best of search, and the explanation of each."""
    hits = search.search(QUERY, top=5, rerank=True)
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    for hit in hits[:2]:
        assert hit.origin == pytest.approx(search.origin.similarity(QUERY, hit.text))
        assert search.why(QUERY, hit).similarity == pytest.approx(hit.score)


class Longest:
    """Ranks by the length of a text: no order of search's own."""

    name = "longest"

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        return np.array([len(text) for _, text in pairs], dtype=np.float64)


def test_another_model_ranks_anew(search: Search) -> None:
    """The order is its own; scores are its answers; cosines and what they mean stay."""
    hits = search.search(QUERY, top=5, rerank=Longest())
    pool = search.search(QUERY, top=50)
    longest = sorted((len(hit.text) for hit in pool), reverse=True)[:5]
    assert [hit.reranked for hit in hits] == [hit.score for hit in hits] == longest
    known = {hit.sentence: hit for hit in pool}
    assert all(hit.cosine == known[hit.sentence].cosine for hit in hits)
    assert all(hit.origin is None for hit in hits)
    assert all(hit.meaning == known[hit.sentence].meaning for hit in hits)


def test_nothing_is_found_by_words_that_nothing_has(search: Search) -> None:
    """And that is no error."""
    assert search.search("xqzzy", by=By.WORDS) == []


def test_the_command(tiny_run: Path, tiny_bert: Path, tmp_path: Path) -> None:
    """Text and JSON, a query and a file of them; what contradicts itself is refused."""
    run = tmp_path / "run"
    shutil.copytree(tiny_run, run)
    runner = CliRunner()
    shown = runner.invoke(app, ["search", str(run), QUERY, "--top", "2", "-q"])
    assert shown.exit_code == 0, shown.output
    assert "random pairs" in shown.output
    queries = tmp_path / "queries.txt"
    queries.write_text(f"{QUERY}\n\nthe old barn\n", encoding="utf-8")
    options = ["--file", str(queries), "--json", "--documents", "-q"]
    found = runner.invoke(app, ["search", str(run), *options])
    plain = json.loads(found.output)
    assert [one["query"] for one in plain] == [QUERY, "the old barn"]
    assert len(plain[0]["hits"]) == 10
    cross = tmp_path / "cross"
    CrossEncoder(str(tiny_bert), num_labels=1, device="cpu").save_pretrained(str(cross))
    by_cross = ["search", str(run), QUERY, "--json", "-q", "--rerank-by"]
    anew = json.loads(runner.invoke(app, [*by_cross, str(cross)]).output)[0]["hits"]
    asked = CrossScorer.open(str(cross)).similarities([(QUERY, hit["text"]) for hit in anew])
    assert [hit["reranked"] for hit in anew] == pytest.approx(sorted(asked, reverse=True), abs=1e-5)
    assert "a masked-lm" in str(runner.invoke(app, [*by_cross, str(tiny_bert)]).exception)
    assert "both" in str(runner.invoke(app, [*by_cross, str(cross), "--rerank"]).exception)
    out = tmp_path / "hits.json"
    runner.invoke(app, ["search", str(run), QUERY, "--out", str(out), "-q"])
    assert json.loads(out.read_text(encoding="utf-8"))[0]["hits"][0]["text"]
    for wrong in ([], [QUERY, "--file", str(queries)], [QUERY, "--by", "luck"]):
        refused = runner.invoke(app, ["search", str(run), *wrong])
        assert isinstance(refused.exception, InputError)

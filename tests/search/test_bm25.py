"""`firth.search.bm25`: exact scores of sentences and documents, whatever comes or goes."""

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firth.search import bm25
from firth.search.bm25 import K1, B, Bm25, Postings, write_postings
from firth.text.words import BEGINNINGS, with_anusvara, words

WORDS = ("ship", "harbor", "storm", "\u201csail\u201d-", "Caf\u00e9,", "ship\u2019\u00bd_")
SENTENCE = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
DOCUMENT = st.tuples(st.sampled_from(("", "storm", "ship captain")), st.lists(SENTENCE, max_size=3))
DOCUMENTS = st.lists(DOCUMENT, min_size=1, max_size=5)
Documents = Sequence[tuple[str, list[str]]]


def opened(
    folder: Path,
    parts: Sequence[Documents],
    removed: frozenset[tuple[int, int]] = frozenset(),
    stemmer: str = "porter",
) -> Bm25:
    """Index parts of documents; `removed` are (part, document) that the store has no longer."""
    postings, sentences, documents = [], [], []
    n = d = 0
    for number, part in enumerate(parts):
        place = folder / str(number)
        place.mkdir(parents=True)
        texts = [text for _, some in part for text in some]
        write_postings(place, place, [*texts, *(title for title, _ in part)], stemmer)
        postings.append(Postings.open(place))
        owners, rows = [], []
        for at, (_, some) in enumerate(part):
            gone = (number, at) in removed
            owners.append(-1 if gone else d)
            rows += [-1 if gone else n + i for i in range(len(some))]
            n, d = (n, d) if gone else (n + len(some), d + 1)
        sizes = [len(some) for _, some in part]
        sentences.append(np.array([*rows, *([-1] * len(part))], np.int64))
        documents.append(np.array([*np.repeat(owners, sizes), *owners], np.int64))
    return Bm25(postings, sentences, documents, (n, d), stemmer)


def reference(query: str, texts: Sequence[str], shortest: float = 0.0) -> list[float]:
    """BM25 as its authors write it, with the inverse document frequency of Lucene.

    No text counts as shorter than `shortest` times the mean.
    """
    counted = [Counter(words(text)) for text in texts]
    lengths = [sum(counts.values()) for counts in counted]
    mean = sum(lengths) / max(len(lengths), 1)
    scores = []
    for counts, length in zip(counted, lengths, strict=True):
        score = 0.0
        for word in words(query):
            having = sum(word in each for each in counted)
            idf = math.log(1 + (len(texts) - having + 0.5) / (having + 0.5))
            norm = K1 * (1 - B + B * max(length / max(mean, 1e-9), shortest))
            score += idf * counts[word] / (counts[word] + norm)
        scores.append(score)
    return scores


@given(DOCUMENTS, SENTENCE)
def test_scores_are_those_of_the_formula(
    tmp_path_factory: pytest.TempPathFactory, documents: Documents, query: str
) -> None:
    """A sentence is scored as a text of the mean length or more, a document as its whole text."""
    index = opened(tmp_path_factory.mktemp("index"), [documents])
    of_sentences, of_documents, _ = index.scores(query)
    sentences = [text for _, some in documents for text in some]
    whole = [" ".join((title, *some)) for title, some in documents]
    np.testing.assert_allclose(of_sentences, reference(query, sentences, 1.0), atol=1e-5)
    np.testing.assert_allclose(of_documents, reference(query, whole), atol=1e-5)


@settings(max_examples=40)
@given(DOCUMENTS, DOCUMENTS, st.data(), SENTENCE)
def test_adding_and_removing_equals_indexing_at_once(
    tmp_path_factory: pytest.TempPathFactory,
    first: Documents,
    second: Documents,
    data: st.DataObject,
    query: str,
) -> None:
    """Scores depend on the documents that are there, not on how they came."""
    everything = [(p, d) for p, part in enumerate((first, second)) for d in range(len(part))]
    removed = data.draw(st.frozensets(st.sampled_from(everything), max_size=len(everything) - 1))
    kept = [(first, second)[p][d] for p, d in everything if (p, d) not in removed]
    folder = tmp_path_factory.mktemp("index")
    parts = opened(folder / "parts", [first, second], removed)
    once = opened(folder / "once", [kept])
    for one, two in zip(parts.scores(query)[:2], once.scores(query)[:2], strict=True):
        np.testing.assert_allclose(one, two, atol=1e-5)


def test_blocks_change_no_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files do not depend on how many stems are sorted, or words are kept, at once."""
    texts = ["ship ship storm", "", "captain", "the storm sails", "a Caf\u00e9, \u201cship"] * 3
    files = []
    for block in (1 << 20, 4, 1):
        monkeypatch.setattr(bm25, "_BLOCK", block)
        monkeypatch.setattr(bm25, "_WORDS", block)
        folder = tmp_path / str(block)
        folder.mkdir()
        write_postings(folder, folder, texts, "porter")
        files.append({path.name: path.read_bytes() for path in folder.iterdir()})
    assert files[0] == files[1] == files[2]
    assert sorted(files[0]) == sorted(bm25.FILES)


def test_counts_saturate_at_what_a_byte_holds(tmp_path: Path) -> None:
    """A word may occur more often in a sentence than is counted."""
    write_postings(tmp_path, tmp_path, ["ship " * 300, "storm"], "porter")
    postings = Postings.open(tmp_path)
    assert postings.lengths.tolist() == [300, 1]
    rows, counts = postings.of(bm25.hash_of("ship"))
    assert (rows.tolist(), counts.tolist()) == ([0], [255])
    assert postings.of(bm25.hash_of("nowhere"))[0].tolist() == []


def test_stop_words_are_searched_only_alone(tmp_path: Path) -> None:
    """A query of stop words alone still has hits; in few sentences they are left out, else half."""
    texts = ["to be or not to be", "the ship"]
    index = opened(tmp_path / "many", [[("", [*texts, *(f"storm{n}" for n in range(200))])]])
    assert index.terms("how the ship") == {"how": 0.5, "ship": 1}
    index = opened(tmp_path / "few", [[("", texts)]])
    assert index.terms("how the ship") == {"ship": 1}
    assert index.unknown("how was the boat") == ["boat"]
    assert index.content("how the ship") == {"ship"}
    assert index.content("the how") == {"how"}
    assert index.terms("to be, to be") == {"to": 2, "be": 2}
    assert index.scores("to be")[0][0] > 0


def test_frequent_words_are_stop_words_in_any_language(tmp_path: Path) -> None:
    """Above 200 sentences, a word of a third of them is no evidence."""
    sentences = [f"nga ship{n}" for n in range(300)] + [f"storm{n}" for n in range(300)]
    index = opened(tmp_path, [[("", sentences)]])
    assert index.terms("nga ship7") == {"ship7": 1}
    assert index.terms("nga") == {"nga": 1}


def test_unknown_words_and_matches(tmp_path: Path) -> None:
    """Words are compared by stem, and shown as they are written."""
    index = opened(tmp_path, [[("Sailing", ["The ship sailed."])]])
    assert index.unknown("zxqv sails, Zxqv wrrt ships") == ["zxqv", "wrrt"]
    text = "Three SHIPS (and a sail)."
    matches = index.matched(index.terms("a ship sails"), text)
    assert [text[start:end] for start, end in matches] == ["SHIPS", "sail"]


def test_pairs_of_characters_are_words_of_a_script_without_spaces(tmp_path: Path) -> None:
    """Pairs are marked, not their characters; unknown are runs of unknown characters."""
    index = opened(tmp_path, [[("", ["紙の船"])]])
    assert index.content("船の紙の") == {"船の", "の紙", "紙の"}
    assert index.content("船") == {"船"}
    assert index.matched(index.content("の紙の"), "紙の船") == ((0, 2),)
    assert index.unknown("船の紙の") == []
    assert index.unknown("船の猫犬") == ["猫犬"]


@pytest.mark.parametrize(
    ("stemmer", "pairs"),
    [
        (BEGINNINGS, "પ્રિન્ટર પ્રિંટર ઇન્ટરનેટ ઇંટરનેટ કમ્પ્યુટર કંપ્યુટર બેન્ક બેંક અન્ત અંત"),
        ("hindi", "हिन्दी हिंदी सम्बन्ध संबंध अण्डा अंडा पङ्कज पंकज पञ्चायत पंचायत"),
    ],
)
def test_a_nasal_has_two_spellings_in_indic_scripts(
    tmp_path: Path, stemmer: str, pairs: str
) -> None:
    """Each finds what has the other; a nasal before another sound, or in Tamil, is a letter."""
    written = pairs.split()
    index = opened(tmp_path, [[("", written)]], stemmer=stemmer)
    for at, word in enumerate(written):
        assert np.flatnonzero(index.scores(word)[0]).tolist() == [at - at % 2, at - at % 2 + 1]
        assert index.matched(index.terms(word), written[at ^ 1]) == ((0, len(written[at ^ 1])),)
    others = ["सामान्य", "जन्म", "શૂન્ય", "நண்டு"]
    assert [with_anusvara(word) for word in others] == others

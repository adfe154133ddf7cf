"""A corpus of several languages: each text is read as in a run of its language alone."""

from itertools import chain, permutations
from pathlib import Path

import numpy as np
import pytest

import firth
from firth.corpus.corpus import Corpus
from firth.encoders.words import WORDS, WordSpace
from firth.run.errors import InputError
from firth.run.run import Run
from firth.text.differences import differences
from firth.text.sentences import split_paragraphs
from firth.text.words import language_among, languages_of_texts, stemmer_of, stems_of

from ..conftest import TOY_SETTINGS

GERMAN = [
    f"Die Gemeinde zählte {n} Häuser. Der Bürgermeister kam am {n}. Oktober mit seinen Kindern in "
    "die Schule. Dort sprachen alle bzw. Viele von den Wahlen. Zwei Schulen blieben leer."
    for n in range(3, 11)
]
FRENCH = [
    f"La commune comptait {n} maisons. Elle est située av. Foch, et le maire parlait à tous. "
    "Les électeurs attendaient les élections municipales depuis un an. Une maison vide attendait."
    for n in range(21, 26)
]
SETTINGS = {**TOY_SETTINGS, "corpus": {"held_out_fraction": 0.2}}


def built(folder: Path, texts: list[str], language: str = "auto") -> Run:
    corpus = {"held_out_fraction": 0.2, "language": language}
    return firth.build(texts, folder, settings={**SETTINGS, "corpus": corpus}, quiet=True).run


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    folder = tmp_path_factory.mktemp("languages")
    texts = {"de": GERMAN, "fr": FRENCH, "de+fr": [*GERMAN, *FRENCH]}
    return {name: built(folder / name, some) for name, some in texts.items()}


def test_each_text_has_the_sentences_and_stems_of_its_language(runs: dict[str, Run]) -> None:
    """They are those of a run of its language alone, and no others."""
    sentences, spaces = {}, {}
    for name, run in runs.items():
        corpus = Corpus.open(run, "all")
        assert corpus.language == name
        ids, bounds = corpus.document_ids(), corpus.document_bounds
        texts = corpus.texts(np.arange(len(corpus)))
        sentences[name] = {id: texts[bounds[d] : bounds[d + 1]] for d, id in enumerate(ids)}
        spaces[name] = WordSpace.load(run.folder(WORDS))
    assert sentences["de+fr"] == sentences["de"] | sentences["fr"]
    for language, other in permutations(("de", "fr")):
        alone, mixed = spaces[language], spaces["de+fr"]
        own = [*chain.from_iterable(sentences[language].values())]
        assert [mixed.idf.terms(text) for text in own] == [alone.idf.terms(text) for text in own]
        assert any(stems_of(text, stemmer_of(other)) != alone.idf.terms(text) for text in own)
        text = "\n".join(own)
        assert split_paragraphs(text, "de+fr") == split_paragraphs(text, language)
        assert split_paragraphs(text, other) != split_paragraphs(text, language)


def test_a_query_of_one_word_is_read_by_the_language_that_knows_it(runs: dict[str, Run]) -> None:
    """A word says too little about its language; forms of it are found in either."""
    model = firth.load(runs["de+fr"].path)
    for query, matched in (("Wahl", "Wahlen"), ("élection", "élections"), ("Kinder", "Kindern")):
        hit = model.search(query, top=1)[0]
        assert matched in [hit.text[start:end] for start, end in hit.matches]


def test_the_encoder_that_is_taken_home_has_the_stems_of_each_word(runs: dict[str, Run]) -> None:
    model = firth.load(runs["de+fr"].path)
    for a, b in (("attendait", "attendaient"), ("Schule", "Schulen")):
        vectors = model.encode([a, b])
        assert vectors[0] @ vectors[1] > 0.99


def test_what_differs_follows_the_language_of_the_pair(runs: dict[str, Run]) -> None:
    """So do the marks of an explanation."""
    pairs = {
        "fr": ("Le maire ne parle pas.", "Le maire parle."),
        "de": ("Er kommt nicht heute.", "Er kommt heute."),
    }
    for language, (a, b) in pairs.items():
        result = differences(a, b, language="de+fr")
        assert result.language == language
        assert result.mattering
        explained = firth.load(runs["de+fr"].path).explain(a, b)
        assert explained.language == language
        assert explained.cautions


def test_a_few_documents_of_another_language_do_not_count() -> None:
    """One in 20 counts, two at least; names and codes do not. An unknown language is an error."""
    many = GERMAN * 6
    assert languages_of_texts(many[:38] + FRENCH[:2]) == "de+fr"
    assert languages_of_texts(many[:39] + FRENCH[:2]) == "de"
    assert languages_of_texts(many[:10] + FRENCH[:1]) == "de"
    codes = " ".join(f"{n * 7919}-B{n} RX{n * 131}" for n in range(1, 20))
    for nothing in ("lonar bidul kemog tifan rulo " * 8, codes):
        assert languages_of_texts(many[:10] + [nothing] * 5) == "de"
    assert language_among("...", "fr+de") == "fr"
    with pytest.raises(InputError, match="xx cannot be recognized"):
        language_among("...", "de+xx")

"""Edits keep or change the meaning of a sentence, and nothing else."""

import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.evaluation import edits as module
from firth.evaluation.edits import RULES, Edit, Splice, edits_of, rephrased, spliced
from firth.text.words import normal_form, words

OTHERS = (
    "The family lived in Rome.",
    "He was paid by Anna in Oslo.",
    "The trade was lost to Spain.",
    "She came from Dover with Peter Brown.",
    "It stood at Calais for years.",
)
NAMES = ("England", "France", "Bell", "Arbonne", "Marion Stone", "Carl West")
people = st.lists(st.sampled_from(NAMES), min_size=2, max_size=2, unique=True)
deeds = st.sampled_from(("beat", "defeated", "was bought by", "narrowly overtook"))
times = st.sampled_from(("in 1966", "on 3 March 1998", "on May 14, 2019", "in 2004"))
ends = st.sampled_from(
    ("because of the rain, for example", "in spite of several errors", "during the film, maybe")
)
sentences = st.builds(
    lambda two, deed, when, end: f"In fact, {two[0]} {deed} {two[1]} {when} {end}.",
    people,
    deeds,
    times,
    ends,
)
seeds = st.integers(0, 99)


def edits(sentence: str, seed: int = 0) -> dict[str, Edit]:
    found = edits_of(sentence, OTHERS, np.random.default_rng(seed))
    return {edit.kind: edit for edit in found}


def tokens_changed(a: str, b: str) -> int:
    assert len(a.split()) == len(b.split())
    return sum(left != right for left, right in zip(a.split(), b.split(), strict=True))


@given(sentence=sentences, seed=seeds)
def test_number_changes_one_token(sentence: str, seed: int) -> None:
    """One number becomes another one, which the sentence did not have."""
    edit = edits(sentence, seed)["number"]
    assert tokens_changed(sentence, edit.change) == 1
    (new,) = set(words(edit.change)) - set(words(sentence))
    assert new.isdigit()


@given(sentence=sentences, seed=seeds)
def test_all_edits_differ_and_the_change_is_nearer_in_words(sentence: str, seed: int) -> None:
    """Sentence, paraphrase and change are three texts; the change shares more words."""
    found = edits(sentence, seed)
    assert {"number"} <= set(found) <= set(RULES)  # the premise: there are edits
    for edit in found.values():
        assert len({*map(normal_form, (sentence, edit.paraphrase, edit.change))}) == 3
        common = [
            (Counter(words(sentence)) & Counter(words(text))).total()
            / (len(words(sentence)) + len(words(text)))
            for text in (edit.paraphrase, edit.change)
        ]
        assert common[0] < common[1]


@given(sentence=sentences, seed=seeds)
def test_the_paraphrase_leaves_what_is_tested(sentence: str, seed: int) -> None:
    """The number that the change replaces is there."""
    found = edits(sentence, seed)
    lost = set(words(sentence)) - set(words(found["number"].change))
    assert len(lost) == 1
    assert lost <= set(words(found["number"].paraphrase))


@given(place=st.sampled_from(("in Paris", "at Goa", "from Vienna", "by Clara Oak")), seed=seeds)
def test_a_name_comes_from_the_others(place: str, seed: int) -> None:
    """The new name follows the same preposition in another sentence, and is not in this one."""
    sentence = f"The painter worked {place} for several weeks, for instance."
    edit = edits(sentence, seed)["name"]
    preposition, _, name = place.partition(" ")
    new = re.fullmatch(
        rf"The painter worked {preposition} (.+) for several weeks, for instance\.", edit.change
    )
    assert new is not None
    assert new[1] != name
    assert any(f"{preposition} {new[1]}" in other for other in OTHERS)
    assert name in edit.paraphrase


def test_without_others_no_name() -> None:
    """Names are taken from `others` only."""
    sentence = "The painter worked in Paris for several weeks."
    kinds = [edit.kind for edit in edits_of(sentence, [], np.random.default_rng(0))]
    assert "name" not in kinds


@pytest.mark.parametrize(
    ("positive", "negative"),
    [
        ("It was built by several masons.", "It was not built by several masons."),
        ("The children are in the big hall.", "The children are not in the big hall."),
        ("In spite of the rain, he got several letters, for example.",
         "In spite of the rain, he did not get several letters, for example."),
        ("She can speak for several hours.", "She cannot speak for several hours."),
        ("The firm has bought a large house.", "The firm has not bought a large house."),
        ("Prices rose to 300 because of the war.", "Prices fell to 300 because of the war."),
        ("Its prices increased because of the war.", "Its prices decreased because of the war."),
        ("The house is not large and tall.", "The house is large and tall."),
        ("I don't know several kids in films.", "I do know several kids in films."),
        ("The big door will not open again.", "The big door will open again."),
        ("The kids can't see the large ship.", "The kids can see the large ship."),
    ],
)  # fmt: skip
def test_negation_by_hand(positive: str, negative: str) -> None:
    """A "not" comes or goes, or a word is replaced by its opposite."""
    assert edits(positive)["negation"].change == negative


@pytest.mark.parametrize(
    "sentence",
    [
        "It is not only large but tall.",
        "The can was only big in size.",
        "Is the large house in the town?",
        "Nobody has ever seen a big house there.",
        "That is, in fact, for example, so.",
    ],
)
def test_no_negation_that_would_be_wrong(sentence: str) -> None:
    """Questions, words that need a negative or come with one, and nouns are left alone."""
    assert "negation" not in edits(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "",
        "Xyzzy plugh.",
        "Der Hund ist groß.",
        "It rains on the hill.",
        "See http://a.b for the 12 large films.",
        "the large house was built in 1990 for example",
        "Is it so?",
    ],
)
def test_nothing_safe_nothing_made(sentence: str) -> None:
    """A text that is no English sentence, or cannot be rephrased, gives no edit."""
    assert edits(sentence) == {}


REPHRASED = (
    ("It fell on 3 March 1998.", {"It fell on March 3, 1998."}),
    ("He died there.", {"He passed away there."}),
    ("It opened on May 14, 2019.", {"It opened on 14 May 2019."}),
    ("They saw three dogs there.", {"They saw 3 dogs there."}),
    ("They saw 12 dogs there.", {"They saw twelve dogs there."}),
    ("We do not know that man.", {"We don't know that man."}),
    ("I can't swim that far.", {"I cannot swim that far."}),
    ("She also won a prize.", {"In addition, she won a prize."}),
    ("When he left, the rain fell.", {"The rain fell when he left."}),
    ("In 1990, he joined the army.", {"He joined the army in 1990."}),
    ("He joined the army in 1990.", {"In 1990, he joined the army."}),
    ("It is an enormous house.", {"It is a huge house."}),
    ("However, it held.", {"Nevertheless, it held."}),
    ("About 40% of it fell.", {f"{about} 40{percent} of it fell."
                               for about in ("About", "Around", "Roughly", "Approximately")
                               for percent in ("%", " percent")} - {"About 40% of it fell."}),
    ('He said "I purchased it" once.', {'He said "I purchased it" once.'}),
    ("In the film, for example, he wins.", None),
    ("He has started to run.", {"He has started to run."}),
)  # fmt: skip


@pytest.mark.parametrize(("sentence", "possible"), REPHRASED)
def test_rephrased_by_hand(sentence: str, possible: set[str] | None) -> None:
    """Every family of rephrasings, with articles, capitals and quotations."""
    seen = {rephrased(sentence, (), np.random.default_rng(seed)) for seed in range(20)}
    if possible is None:
        assert sentence not in seen
    else:
        assert seen <= possible


def test_what_is_held_is_not_rephrased() -> None:
    """A span that is held is in all rephrasings as it was."""
    sentence = "The big house is a big problem."
    held = (Splice(4, 7, ""),)
    seen = {rephrased(sentence, held, np.random.default_rng(seed)) for seed in range(20)}
    assert seen == {"The big house is a large problem."}


def test_articles_agree() -> None:
    """An article fits the word that now follows it."""
    text = "He saw a big dog, an old one and a cat."
    found = spliced(
        text,
        [
            Splice(text.index("big"), text.index("big") + 3, "enormous"),
            Splice(text.index("old"), text.index("old") + 3, "unique"),
            Splice(text.index("cat"), text.index("cat") + 3, "honest man"),
        ],
    )
    assert found == "He saw an enormous dog, a unique one and an honest man."


@pytest.mark.parametrize("name", ["synonyms", "opposites"])
def test_lists_are_well_formed(name: str) -> None:
    """Each line has two or more sides, all different, and is there once."""
    lines = module._data("phrases")[name].splitlines()
    assert len(lines) == len(set(lines)) > 50
    for line in lines:
        sides = re.split(" [=>] ", line)
        assert len({*sides}) == len(sides) >= 2
        assert all(side == side.strip() and side for side in sides)
        assert "#" not in line or all(side.endswith("#") for side in sides), line


def test_the_longest_phrase_is_replaced() -> None:
    """ "in addition to" is not "in addition" and "to"."""
    found = list(module._substitutes("In addition to it, he ran.", "synonyms"))
    assert found[0] == (Splice(0, 14, "besides"),)


def test_patterns_compile() -> None:
    """All patterns know what they name, and replacements name groups that their patterns have."""
    for name in module._data("patterns"):
        module._re(name)
    for pattern, new in module._data("phrases")["rephrasings"]:
        groups = re.compile(pattern).groups
        assert all(int(group) <= groups for group in re.findall(r"\\(\d)", new))

"""The teacher on disk: who is asked what, each file gives its share, and nothing is read twice."""

import pickle
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.corpus.corpus import Corpus
from firth.harvest.blocklist import Blocklist, sentence_hashes
from firth.lexical.words import normal_form
from firth.origin.origin import Origin
from firth.run.errors import ConfigError, InputError
from firth.run.run import Run
from firth.surrogate import TEACHER, teacher
from firth.surrogate.teacher import (
    Halves,
    Teacher,
    build_teacher,
    choose_sentences,
    fair_share,
)
from firth.surrogate.way import way_of

NOBODY = Blocklist(sentence_hashes([]))


@given(st.lists(st.integers(0, 50), min_size=1, max_size=8), st.integers(1, 300))
def test_a_fair_share_is_the_largest(sizes: list[int], most: int) -> None:
    """At it all groups together give at most what is asked; at one more they would give more."""
    counts = np.array(sizes)
    share = fair_share(counts, most)
    assert share == 1 or np.minimum(counts, share).sum() <= most
    more = np.minimum(counts, share + 1).sum()
    assert more > most or more == counts.sum()


def test_sentences_are_different_and_none_is_blocked(tiny_run: Path, tmp_path: Path) -> None:
    """Equal normal forms are one sentence; the order is random, and one seed's."""
    corpus = Corpus.open(tiny_run)
    found = choose_sentences(corpus, 10**6, NOBODY, 1, tmp_path)
    texts = corpus.texts(found)
    forms = [normal_form(text) for text in texts]
    assert len(set(forms)) == len(forms) > 100
    assert sorted(found) != found.tolist()
    assert choose_sentences(corpus, 10**6, NOBODY, 1, tmp_path).tolist() == found.tolist()
    blocked = Blocklist(sentence_hashes(texts[:20]))
    left = corpus.texts(choose_sentences(corpus, 10**6, blocked, 1, tmp_path))
    assert not {normal_form(text) for text in left} & set(forms[:20])
    assert choose_sentences(corpus, 90, NOBODY, 1, tmp_path).size <= 90


@pytest.mark.parametrize("block", [7, 1 << 16])
def test_each_file_gives_the_first_of_one_order(
    block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All sentences of 3 to 40 words in one random order; of each file the first of them, as many
    as the fair share; however many are looked at at once."""
    monkeypatch.setattr("firth.surrogate.teacher._ORDERED", block)
    for name, size in (("a", 5), ("b", 90), ("c", 150)):
        lines = [f'{{"text": "A long word of {name} is {n}. So {n}."}}' for n in range(size)]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines))
    inputs = [tmp_path / f"{name}.jsonl" for name in "cab"]
    corpus = Corpus.build(inputs, tmp_path / "run", held_out=0)
    usual = np.flatnonzero(corpus.word_counts >= 3)
    assert len(usual) == 245
    assert len(corpus) == 2 * len(usual)
    order = usual[np.random.default_rng(8).permutation(len(usual))]
    files = corpus.source_of(order).tolist()
    expected = [n for i, n in enumerate(order.tolist()) if files[:i].count(files[i]) < 40]
    assert choose_sentences(corpus, 85, NOBODY, 8, tmp_path / "s").tolist() == expected


def test_too_few_sentences_are_refused(tiny_run: Path, tmp_path: Path) -> None:
    """With what was got and what is needed."""
    with pytest.raises(InputError, match=r"got 9 different sentences .* needs 60"):
        choose_sentences(Corpus.open(tiny_run), 9, NOBODY, 1, tmp_path)


def test_a_bag_is_asked_and_nothing_is_kept(taught: Path) -> None:
    """Its similarities are Origin's; the stage holds numbers of sentences alone."""
    found = Teacher.open(Run.open(taught))
    assert found.vectors is None
    some = found.texts[:6]
    pairs = [(one, two) for one in some for two in some]
    wanted = Origin.open(taught).similarities(pairs).reshape(6, 6)
    assert found.similarities(some) == pytest.approx(wanted, abs=1e-6)
    assert {path.suffix for path in (taught / TEACHER.name).iterdir()} == {".npy", ".json"}
    parts = found.parts(50)
    assert len(parts["train"]) == 50
    assert not set(parts["train"]) & {*parts["dev"], *parts["test"]}


def test_a_language_models_similarities_need_no_model(
    prompt_taught: Path,
) -> None:
    """Vectors come from the disk; similarities are Origin's but for float16."""
    origin = Origin.open(prompt_taught)
    found = Teacher.open(Run.open(prompt_taught))
    assert found.vectors is not None
    some = found.texts[:6]
    pairs = [(one, two) for one in some for two in some]
    wanted = origin.similarities(pairs).reshape(6, 6)
    assert wanted.std() > 0.05
    assert found.similarities(some) == pytest.approx(wanted, abs=2e-3)


def test_shards_that_are_there_are_not_read_again(
    prompt_taught: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A shard is a function of its number: what is missing comes out as it was."""
    run = Run.open(prompt_taught)
    corpus = Corpus.open(run)
    chosen = np.load(run.folder(TEACHER) / "sentences.npy")
    monkeypatch.setattr(teacher, "SHARD", 40)
    asked: list[str] = []

    class Lengths:
        def open(self) -> Callable[[Sequence[str]], Halves]:
            return self.read

        def read(self, texts: Sequence[str]) -> Halves:
            asked.extend(texts)
            return np.array([[len(text), 1.0] for text in texts], np.float16)

    assert teacher._read_all(corpus, chosen, Lengths(), tmp_path) == 2
    assert asked == corpus.texts(chosen)
    whole = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert len(whole) == -(-len(chosen) // 40) > 2
    (tmp_path / "vectors-00001.npy").unlink()
    asked.clear()
    teacher._read_all(corpus, chosen, Lengths(), tmp_path)
    assert asked == corpus.texts(chosen[40:80])
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == whole


def test_another_run_and_an_encoder_teach(
    fresh_taught: Callable[..., Run], tiny_bert: Path, taught: Path
) -> None:
    """A run's Origin, by its folder; an encoder, by its own vectors."""
    run = fresh_taught("other", teacher=str(taught))
    build_teacher(run)
    found = Teacher.open(run)
    wanted = Teacher.open(Run.open(taught)).similarities(found.texts[:5])
    assert found.similarities(found.texts[:5]) == pytest.approx(wanted, abs=1e-9)

    run = fresh_taught("encoder", teacher=str(tiny_bert), sentences=80)
    build_teacher(run)
    found = Teacher.open(run)
    assert found.name == tiny_bert.name
    similarities = found.similarities(found.texts[:5])
    assert np.diagonal(similarities) == pytest.approx(np.ones(5), abs=1e-5)
    assert build_teacher(run).reused


def test_a_teacher_travels_as_what_it_is_opened_of(
    fresh_taught: Callable[..., Run], tiny_bert: Path, tmp_path: Path
) -> None:
    """Who gets it opens its own, reads the same, and refuses a teacher that is another."""
    model = shutil.copytree(tiny_bert, tmp_path / "model")
    run = fresh_taught("travels", teacher=str(model))
    reader = teacher._Reader(run, teacher.teacher_inputs(run))
    packed = pickle.dumps(reader)
    assert len(packed) < 20_000
    texts = ["The ship left.", "A cow."]
    np.testing.assert_array_equal(pickle.loads(packed).open()(texts), reader.open()(texts))
    with (model / "config.json").open("a") as file:
        file.write("\n")
    with pytest.raises(InputError, match="another model here"):
        pickle.loads(packed)


def test_origin_as_printed_gives_no_matrices(tiny_run: Path) -> None:
    """It teaches pairs; asked for matrices it is refused, unless another teaches."""
    run = Run.open(tiny_run)
    assert way_of(run) == "paper"
    with pytest.raises(ConfigError, match=r"surrogate\.way: got matrices"):
        way_of(run.changed({"surrogate": {"way": "matrices"}}))
    assert way_of(run.changed({"surrogate": {"teacher": "someone"}})) == "matrices"
    with pytest.raises(InputError, match=r"no such|neither"):
        build_teacher(run.changed({"surrogate": {"teacher": "./nobody"}}))

"""Scored pairs: drawn once, without evaluation sentences, in splits that share no sentence."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from firth.corpus.corpus import Corpus
from firth.run.errors import InputError
from firth.run.executor import Processes
from firth.run.files import fingerprint_file, write_text
from firth.run.run import Run
from firth.run.settings import PairSettings
from firth.scorer.scorer import Scorer
from firth.text.words import normal_form
from firth.train import pairs as module
from firth.train.pairs import (
    PAIRS,
    SPLITS,
    Exclusions,
    draw_pairs,
    label_report,
    plan_shards,
    rank_correlation,
    read_pairs,
    score_pairs,
    sentence_hashes,
    word_vectors,
)


def digests(run: Run) -> dict[str, str]:
    folder = run.folder(PAIRS)
    return {split: fingerprint_file(folder / f"{split}.jsonl") for split in SPLITS}


def test_splits_share_no_sentence_and_no_pair_is_there_twice(run: Run) -> None:
    summary = score_pairs(run).manifest.summary
    result = {split: read_pairs(run.folder(PAIRS), split) for split in SPLITS}
    texts = {s: {normal_form(t) for pair in one.pairs for t in pair} for s, one in result.items()}
    assert not texts["train"] & texts["dev"]
    assert not (texts["train"] | texts["dev"]) & texts["test"]
    keys = [frozenset(pair) for one in result.values() for pair in one.pairs]
    assert len(keys) == len(set(keys)) == sum(summary["pairs"].values())
    assert min(summary["pairs"].values()) > 0
    uses = Counter(text for one in result.values() for pair in one.pairs for text in pair)
    assert max(uses.values()) <= PairSettings().max_uses
    assert summary["kinds"]["near"] > 50 < summary["kinds"]["random"]
    every = result["train"]
    assert np.array_equal(every.scores, Scorer.open(run).similarities(every.pairs))
    near = np.array(every.kinds) == "near"
    assert every.scores[near].mean() > every.scores[~near].mean()


def test_a_stopped_build_and_other_processes_give_the_same_bytes(
    run: Run, session_run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    score_pairs(run)
    expected = digests(run)
    (run.path / "pairs" / "train.jsonl").write_text("damaged")
    write, calls = write_text, 0

    def stopped(path: Path, text: str) -> None:
        nonlocal calls
        calls += 1
        if calls == 4:
            raise KeyboardInterrupt
        write(path, text)

    monkeypatch.setattr(module, "write_text", stopped)
    with pytest.raises(KeyboardInterrupt):
        score_pairs(run)
    monkeypatch.setattr(module, "write_text", write)
    assert not score_pairs(run, executor=Processes(2)).reused
    assert digests(run) == expected
    assert score_pairs(run).reused


def test_excluded_sentences_are_in_no_pair(run: Run, tmp_path: Path) -> None:
    corpus = Corpus.open(run)
    sentences = [corpus.text(n) for n in range(0, len(corpus), 3)]
    rows = [f"{one.upper()}\t0.5" for one in sentences]
    (tmp_path / "mine.tsv").write_text("\n".join([*rows, "short one"]))
    changed = run.changed({"pairs": {"exclude": [str(tmp_path / "mine.tsv")]}})
    score_pairs(changed)
    every = [read_pairs(changed.folder(PAIRS), split).pairs for split in SPLITS]
    texts = {normal_form(text) for some in every for pair in some for text in pair}
    assert texts
    assert not texts & {normal_form(one) for one in sentences}
    with pytest.raises(InputError, match=r"missing\.tsv: cannot be read"):
        Exclusions.load([str(tmp_path / "missing.tsv")])


def test_public_evaluation_sentences_are_known() -> None:
    known = Exclusions.load()
    hashes = sentence_hashes(["A man is playing a guitar.", "Nobody ever wrote this line, firth."])
    assert np.isin(hashes, known.hashes).tolist() == [True, False]


def test_shards_hold_each_sentence_once(session_run: Run) -> None:
    settings = PairSettings(pairs=500, shard_pairs=40)
    shards = plan_shards(Corpus.open(session_run), settings, Exclusions.load(), 1)
    sentences = np.concatenate([shard.sentences for shard in shards])
    assert len(np.unique(sentences)) == len(sentences)
    assert [shard.number for shard in shards] == list(range(len(shards)))
    assert sum(shard.size for shard in shards) == 500
    with pytest.raises(InputError, match=r"got 20 pairs \(pairs.pairs is 20.*expected 30"):
        plan_shards(Corpus.open(session_run), PairSettings(pairs=20), Exclusions.load(), 1)


@given(st.integers(2, 40), st.integers(1, 60), st.integers(1, 5), st.integers(0, 9))
def test_draws_respect_size_and_uses(count: int, size: int, uses: int, seed: int) -> None:
    words = "ship harbor wave sailor storm field wheat".split()  # noqa: SIM905
    rng = np.random.default_rng(seed)
    texts = [" ".join(rng.choice(words, 4)) for _ in range(count)]
    settings = PairSettings(max_uses=uses)
    result = draw_pairs(word_vectors(texts, "en"), size, settings, rng)
    keys = [frozenset(pair[:2]) for pair in result]
    assert len(keys) == len(set(keys)) <= size
    assert all(len(key) == 2 for key in keys)
    counted = Counter(place for one, two, _ in result for place in (one, two))
    assert max(counted.values(), default=0) <= uses
    assert sum(kind == "near" for *_, kind in result) <= round(size / 2)


def test_word_vectors_are_units_of_words_that_tell_something() -> None:
    texts = ["a ship left"] * 2 + ["the ship left", "a cow ate", "the cow ate", "one two three"]
    vectors = word_vectors(texts, "en")
    cosines = (vectors @ vectors.T).toarray()
    assert cosines.diagonal().tolist() == pytest.approx([1, 1, 1, 1, 1, 0])
    assert cosines[0, 1] == pytest.approx(1)
    assert cosines[0, 3] < cosines[0, 2] < 1


def test_labels_that_are_lengths_are_named() -> None:
    pairs = [("a " * (n % 7 + 1), "b " * (n % 5 + 1)) for n in range(200)]
    lengths = np.array([len(one.split()) + len(two.split()) for one, two in pairs], float)
    report = label_report(pairs, lengths)
    assert report["length"] > 0.9
    assert "count words" in report["warnings"][0]
    noise = np.random.default_rng(1).standard_normal(200)
    assert label_report(pairs, noise)["warnings"] == []
    assert "differ" in label_report(pairs, np.ones(200))["warnings"][0]


def test_rank_correlation_is_spearmans() -> None:
    rng = np.random.default_rng(1)
    one, two = rng.integers(0, 9, 50).astype(float), rng.standard_normal(50)
    assert rank_correlation(one, two) == pytest.approx(spearmanr(one, two).statistic, abs=1e-6)
    assert rank_correlation(one, np.ones(50)) is None
    assert rank_correlation(one[:2], two[:2]) is None


def test_lines_are_json(run: Run) -> None:
    score_pairs(run)
    line = (run.folder(PAIRS) / "dev.jsonl").read_text().splitlines()[0]
    assert set(json.loads(line)) == {"sentence1", "sentence2", "score", "kind"}

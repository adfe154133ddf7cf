"""Every pair of a sample keeps the rules of its strategy, and the seed decides it."""

import csv
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from firth.baselines.dice import Dice
from firth.cli.main import app
from firth.lexical.words import words
from firth.relatedness.bws.records import read_items
from firth.relatedness.pairs.sample import PairSample, sample_pairs
from firth.relatedness.pairs.settings import (
    Growth,
    OverlapMeasure,
    PairPool,
    SampleSettings,
    Strategy,
)
from firth.run.errors import ConfigError, InputError

POOLS = pytest.mark.parametrize("pool", list(PairPool))


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def check_rules(sample: PairSample, sentences: list[str]) -> None:
    """What holds for all pairs of sentences."""
    asked = sample.settings
    low, high = asked.overlap_range
    used: Counter[str] = Counter()
    for pair in sample.pairs:
        one, two = pair.texts
        used.update(pair.texts)
        lengths = len(words(one)), len(words(two))
        assert words(one) != words(two)
        assert all(asked.min_words <= length <= asked.max_words for length in lengths)
        assert abs(lengths[0] - lengths[1]) <= asked.length_tolerance * max(lengths) + 1e-9
        assert low <= pair.overlap < high
        assert [sentences[place - 1] for place in pair.places] == [one, two]
    assert max(used.values()) <= asked.uses
    assert len({frozenset(pair.texts) for pair in sample.pairs}) == len(sample.pairs)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    strategy=st.sampled_from([Strategy.OVERLAP, Strategy.BUCKETS, Strategy.RANDOM]),
    pool=st.sampled_from(list(PairPool)),
    measure=st.sampled_from(list(OverlapMeasure)),
    low=st.sampled_from([None, 0.1, 0.4]),
    tolerance=st.sampled_from([0.1, 0.25, 1.0]),
    uses=st.integers(1, 3),
    seed=st.integers(0, 99),
)
def test_every_pair_keeps_the_rules(
    sentence_file: Path,
    sentences: list[str],
    strategy: Strategy,
    pool: PairPool,
    measure: OverlapMeasure,
    low: float | None,
    tolerance: float,
    uses: int,
    seed: int,
) -> None:
    """Words, length difference, overlap, uses, no pair twice: for all settings."""
    sample = sample_pairs(
        sentence_file,
        SampleSettings(
            strategy,
            pairs=40,
            pool=pool,
            measure=measure,
            min_overlap=low,
            length_difference=tolerance,
            uses=uses,
            buckets=10,
            seed=seed,
        ),
    )
    check_rules(sample, sentences)
    assert 20 <= len(sample.pairs) <= 40


@POOLS
def test_overlap_by_default_as_in_the_paper(
    pool: PairPool, sentence_file: Path, sentences: list[str]
) -> None:
    """25 to 75 % by Dice, lengths within 25 %, 5 to 25 words; others are counted by reason."""
    sample = sample_pairs(sentence_file, SampleSettings(Strategy.OVERLAP, pairs=60, pool=pool))
    check_rules(sample, sentences)
    dice = Dice().similarities([pair.texts for pair in sample.pairs])
    assert [pair.overlap for pair in sample.pairs] == pytest.approx(dice.tolist(), abs=1e-6)
    assert ((dice >= 0.25) & (dice < 0.75)).all()
    long = sum(len(words(text)) > 25 for text in sentences)
    assert sample.left_out["too long"] == long > 0
    assert sample.usable == sum(5 <= len(words(text)) <= 25 for text in sentences)


def test_the_seed_decides(sentence_file: Path, tmp_path: Path) -> None:
    """The same seed gives the same bytes, another one another sample."""
    folders = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        found = sample_pairs(sentence_file, SampleSettings(Strategy.BUCKETS, pairs=50, seed=seed))
        found.write(tmp_path / name / "pairs.tsv")
        folders.append(
            {path.name: path.read_bytes() for path in sorted((tmp_path / name).iterdir())}
        )
    assert set(folders[0]) == {"pairs.tsv", "pairs.json", "pairs.png"}
    assert folders[0] == folders[1]
    assert folders[0]["pairs.tsv"] != folders[2]["pairs.tsv"]


def test_buckets_among_few_sentences_still_rise(sentence_file: Path) -> None:
    """Partners from a random part of the source: enough of them, and only from that part."""
    asked = SampleSettings(Strategy.BUCKETS, pairs=40, buckets=10, uses=9, searched=60)
    sample = sample_pairs(sentence_file, asked)
    assert len(sample.pairs) == 40
    assert len({pair.places[1] for pair in sample.pairs}) <= 60
    overlaps = [pair.overlap for pair in sample.pairs]
    assert max(overlaps) > 2 * min(overlaps)


def test_buckets_uniform_and_exponential(sentence_file: Path) -> None:
    """Uniform buckets give alike; exponential ones ever more, so the mean overlap is higher."""
    found = {
        growth: sample_pairs(
            sentence_file,
            SampleSettings(
                Strategy.BUCKETS, pairs=100, buckets=10, growth=growth, uses=9, examine=2_000
            ),
        )
        for growth in Growth
    }
    uniform, rising = found[Growth.UNIFORM], found[Growth.EXPONENTIAL]
    assert [bucket.chosen for bucket in uniform.buckets] == [10] * 10
    chosen = [bucket.chosen for bucket in rising.buckets]
    assert chosen == sorted(chosen)
    assert chosen[-1] > 5 * chosen[0]
    means = [np.mean([pair.overlap for pair in one.pairs]) for one in (uniform, rising)]
    assert means[1] > means[0] + 0.05
    for sample in (uniform, rising):
        for pair in sample.pairs:
            assert pair.bucket is not None
            bucket = sample.buckets[pair.bucket - 1]
            assert bucket.low - 1e-9 <= pair.overlap <= bucket.high + 1e-9


def test_the_index_reaches_overlaps_that_chance_does_not(sentence_file: Path) -> None:
    """Why the index is the default: its pool has far more pairs of high overlap."""
    pools = {
        pool: sample_pairs(
            sentence_file, SampleSettings(Strategy.BUCKETS, pairs=50, pool=pool, examine=1_000)
        ).pool
        for pool in PairPool
    }
    shares = {pool: float((overlap > 0.7).mean()) for pool, overlap in pools.items()}
    assert shares[PairPool.INDEX] > 2 * shares[PairPool.RANDOM]


def test_random_pairs_of_few_sentences_are_all_pairs(tmp_path: Path) -> None:
    """Asked for more than there are, every pair comes once, whatever its overlap."""
    texts = [f"one two three four {word} {word}x" for word in "abcdefg"]
    (tmp_path / "few.txt").write_text("\n".join(texts), encoding="utf-8")
    sample = sample_pairs(tmp_path / "few.txt", SampleSettings(Strategy.RANDOM, pairs=100, uses=99))
    assert len({frozenset(pair.texts) for pair in sample.pairs}) == len(sample.pairs) == 21


@pytest.mark.parametrize("strategy", [Strategy.RANDOM, Strategy.OVERLAP])
def test_pairs_within_a_column(strategy: Strategy, sentences: list[str], tmp_path: Path) -> None:
    """With `within`, both sentences of a pair have the same value (Stance: the same target)."""
    path = tmp_path / "grouped.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "target"])
        writer.writerows((text, f"target, {n % 5}") for n, text in enumerate(sentences))
    group = {text: n % 5 for n, text in enumerate(sentences)}
    sample = sample_pairs(path, SampleSettings(strategy, pairs=40), within="target")
    assert len(sample.pairs) == 40
    assert all(group[pair.texts[0]] == group[pair.texts[1]] for pair in sample.pairs)


def test_scores_give_each_bin_its_share(pair_file: Path) -> None:
    """Equally many pairs of (0, 1], (1, 2], … with the scores they came with."""
    sample = sample_pairs(
        pair_file, SampleSettings(Strategy.SCORES, pairs=50, min_words=1, max_words=99)
    )
    given_pairs = {(row["sentence1"], row["sentence2"]): row["score"] for row in rows(pair_file)}
    bins: Counter[int] = Counter()
    for pair in sample.pairs:
        assert pair.score == given_pairs[pair.texts]
        bins[max(0, int(np.ceil(float(pair.score))) - 1)] += 1
    assert bins == {0: 10, 1: 10, 2: 10, 3: 10, 4: 10}
    few = sample_pairs(
        pair_file,
        SampleSettings(Strategy.SCORES, pairs=50, score_range=(0, 2.5), min_words=1, max_words=99),
    )
    assert few.left_out["score outside the range"] == sum(
        float(score) > 2.5 for score in given_pairs.values()
    )


def test_given_pairs_stay_together(pair_file: Path) -> None:
    """Pairs are taken as given; limits of overlap and length apply to them; equal ones are out."""
    sample = sample_pairs(
        pair_file, SampleSettings(Strategy.GIVEN, pairs=30, min_overlap=0.2, length_difference=0.5)
    )
    given_pairs = [(row["sentence1"], row["sentence2"]) for row in rows(pair_file)]
    assert {pair.texts for pair in sample.pairs} <= set(given_pairs)
    assert all(pair.overlap >= 0.2 for pair in sample.pairs)
    assert [given_pairs[pair.places[0] - 2] for pair in sample.pairs] == [
        pair.texts for pair in sample.pairs
    ]
    out = sample.left_out
    assert out["too little overlap"] > 0
    assert out["lengths too different"] > 0


def test_buckets_of_given_pairs(pair_file: Path) -> None:
    """As ParaNMT_pp: pairs of a file, bucketed by their own overlap."""
    sample = sample_pairs(
        pair_file,
        SampleSettings(Strategy.BUCKETS, pairs=20, buckets=10, measure=OverlapMeasure.DICE),
        columns=["sentence1", "sentence2"],
    )
    given_pairs = {(row["sentence1"], row["sentence2"]) for row in rows(pair_file)}
    assert {pair.texts for pair in sample.pairs} <= given_pairs
    assert [bucket.chosen for bucket in sample.buckets] == [2] * 10


def test_equal_and_repeated_pairs_are_left_out(tmp_path: Path) -> None:
    """A sentence beside itself says nothing, nor does a pair that came before, either way round."""
    one, two = "the old ship left the harbour", "a young sailor saw the island"
    lines = [
        "sentence1\tsentence2",
        f"{one}\t{two}",
        f"{two}\t{one}",
        f"{one}\tThe old ship, left the harbour!",
    ]
    (tmp_path / "p.tsv").write_text("\n".join(lines), encoding="utf-8")
    sample = sample_pairs(tmp_path / "p.tsv", SampleSettings(Strategy.GIVEN))
    assert len(sample.pairs) == 1
    assert sample.left_out == {"repeated": 1, "both sentences the same": 1}


def test_the_corpus_of_a_run(tiny_folder: Path, tmp_path: Path) -> None:
    """A run's sentences are numbered from 0, as everywhere in firth."""
    from firth.corpus.corpus import Corpus

    corpus = Corpus.build([tiny_folder], tmp_path / "run")
    sample = sample_pairs(tmp_path / "run", SampleSettings(Strategy.OVERLAP, pairs=10))
    for pair in sample.pairs:
        assert corpus.texts(pair.places) == list(pair.texts)
    assert sample.read == len(corpus)


def test_the_command_writes_what_others_read(sentence_file: Path, tmp_path: Path) -> None:
    """The TSV is a file of items; the report holds its histogram, counts, and fingerprint."""
    out = tmp_path / "new" / "pairs.tsv"
    arguments = ["pairs", "sample", str(sentence_file), "--strategy", "overlap", "--pairs", "30"]
    done = CliRunner().invoke(app, [*arguments, "--out", str(out), "--seed", "7", "-q"])
    assert done.exit_code == 0, done.output
    assert "30 pairs (overlap, dice)" in done.output
    items = read_items(out)
    table = rows(out)
    assert [(item.id, *item.texts) for item in items] == [
        (row["id"], row["sentence1"], row["sentence2"]) for row in table
    ]
    report = json.loads(out.with_suffix(".json").read_text(encoding="utf-8"))
    overlaps = [float(row["overlap"]) for row in table]
    counts, _ = np.histogram(np.array(overlaps) + 1e-7, bins=20, range=(0, 1))
    assert report["histogram"]["chosen"] == counts.tolist()
    assert report["settings"]["seed"] == 7
    assert list(report["inputs"]) == [sentence_file.name]
    assert out.with_suffix(".png").read_bytes().startswith(b"\x89PNG")


def test_all_problems_of_the_settings_at_once() -> None:
    """SampleSettings that cannot be are named together, before anything is read."""
    with pytest.raises(ConfigError) as caught:
        SampleSettings(
            Strategy.OVERLAP, pairs=0, min_overlap=0.8, min_words=9, max_words=8, buckets=1
        )
    assert len(caught.value.problems) == 4


def test_nothing_left_says_why(tmp_path: Path) -> None:
    """No pair is an error with the reasons, and no file is written."""
    (tmp_path / "short.txt").write_text("one two\nthree four\n", encoding="utf-8")
    out = tmp_path / "out.tsv"
    with pytest.raises(InputError, match="2 too short"):
        sample_pairs(tmp_path / "short.txt", SampleSettings(Strategy.RANDOM)).write(out)
    assert not out.exists()


def test_files_of_the_user_are_not_replaced(sentence_file: Path, tmp_path: Path) -> None:
    """Neither pairs nor report nor plot, unless --force says so; found before anything is read."""
    command = ["pairs", "sample", str(sentence_file), "--strategy", "random", "--pairs", "5",
               "--quiet", "--out", str(tmp_path / "new" / "pairs.tsv")]  # fmt: skip
    assert CliRunner().invoke(app, command).exit_code == 0
    for name in ("pairs.tsv", "pairs.json", "pairs.png"):
        for path in (tmp_path / "new").iterdir():
            path.unlink()
        mine = tmp_path / "new" / name
        mine.write_text("precious")
        refused = CliRunner().invoke(app, [*command[:2], "nowhere.txt", *command[3:]])
        assert isinstance(refused.exception, InputError)
        assert f"{name}: there already" in str(refused.exception)
        assert [path.name for path in mine.parent.iterdir()] == [name]
        assert mine.read_text() == "precious"
    assert CliRunner().invoke(app, [*command, "--force"]).exit_code == 0
    assert (tmp_path / "new" / "pairs.tsv").read_text().startswith("id\t")

"""The harvest: which pairs, which splits, nothing forbidden, everything recomputable."""

import shutil
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from firth.corpus.corpus import Corpus
from firth.harvest.blocklist import Blocklist, sentence_hashes
from firth.harvest.harvest import build_harvest, harvest, read_pairs
from firth.harvest.plan import Kind, Planner
from firth.harvest.splits import SPLITS
from firth.lexical.words import jaccard, normal_form, words
from firth.origin.origin import Origin
from firth.paper.origin import PaperOrigin
from firth.paper.retrieve import RETRIEVE
from firth.paper.retrieve.index import ChunkIndex
from firth.run import progress
from firth.run.config import Config
from firth.run.errors import ConfigError, InputError, MissingStageError
from firth.run.run import CONFIG, Run

NOTHING = Blocklist(sentence_hashes([]))


def planner(run: Path, blocklist: Blocklist = NOTHING, **changes: object) -> Planner:
    config = Run.open(run).config.changed({"harvest": changes}, "test")
    return Planner(Corpus.open(run), ChunkIndex.open(run), blocklist, config)


def test_a_shard_is_a_function_of_its_number(tiny_run: Path) -> None:
    """The same shard twice is the same, another one is another: that is what resuming rests on."""
    assert planner(tiny_run).shard(3, 20) == planner(tiny_run).shard(3, 20)
    assert planner(tiny_run).shard(3, 20) != planner(tiny_run).shard(4, 20)


def test_pairs_are_what_they_are_called(tiny_run: Path) -> None:
    """Proportions as configured; same-document pairs share theirs, random ones do not."""
    corpus = Corpus.open(tiny_run)
    pairs = planner(tiny_run, near=0.4, same_document=0.3).shard(0, 30)
    kinds = [pair.kind for pair in pairs]
    assert [kinds.count(kind) for kind in Kind] == [12, 9, 9]
    for pair in pairs:
        one, two = corpus.document_of([pair.first, pair.second]).tolist()
        if pair.kind is Kind.SAME_DOCUMENT:
            assert one == two
        if pair.kind is Kind.RANDOM:
            assert one != two


def test_near_pairs_share_more_words_than_random_ones(tiny_run: Path) -> None:
    """Near means near."""
    corpus = Corpus.open(tiny_run)
    likeness: dict[Kind, list[float]] = {kind: [] for kind in Kind}
    for number in range(4):
        for pair in planner(tiny_run).shard(number, 30):
            one, two = (frozenset(words(t)) for t in corpus.texts([pair.first, pair.second]))
            likeness[pair.kind].append(jaccard(one, two))
    assert np.mean(likeness[Kind.NEAR]) > np.mean(likeness[Kind.RANDOM]) + 0.1


def test_no_pair_twice_and_none_with_itself(tiny_run: Path) -> None:
    """Two sentences of one normal form are the same sentence."""
    corpus = Corpus.open(tiny_run)
    pairs = planner(tiny_run).shard(1, 60)
    keys = [
        frozenset(normal_form(t) for t in corpus.texts([pair.first, pair.second])) for pair in pairs
    ]
    assert all(len(key) == 2 for key in keys)
    assert len(set(keys)) == len(keys)


def test_excluded_sentences_are_never_harvested(tiny_run: Path) -> None:
    """Whatever is on the list appears in no pair of any kind."""
    corpus = Corpus.open(tiny_run)
    usual = {
        i for n in range(3) for p in planner(tiny_run).shard(n, 30) for i in (p.first, p.second)
    }
    banned = corpus.texts(sorted(usual)[::2])
    forms = {normal_form(text) for text in banned}
    strict = planner(tiny_run, Blocklist(sentence_hashes(banned)))
    for number in range(3):
        for pair in strict.shard(number, 30):
            for text in corpus.texts([pair.first, pair.second]):
                assert normal_form(text) not in forms


def test_a_corpus_of_excluded_sentences_is_refused(tiny_run: Path) -> None:
    """If nothing may be harvested, the message says so."""
    corpus = Corpus.open(tiny_run)
    everything = corpus.texts(range(len(corpus)))
    with pytest.raises(InputError, match="blocklist"):
        planner(tiny_run, Blocklist(sentence_hashes(everything))).shard(0, 10)


def test_rows_can_be_computed_again(tiny_run: Path) -> None:
    """Sentence numbers, contexts and score of a stored row agree with the run's models."""
    origin = PaperOrigin.open(tiny_run)
    rows = read_pairs(tiny_run, "dev").to_pylist()
    assert rows
    for row in rows[:5]:
        texts = origin.corpus.texts([row["index1"], row["index2"]])
        assert texts == [row["sentence1"], row["sentence2"]]
        (profile,) = origin.profiles([(texts[0], texts[1])])
        assert profile.set1.positions.tolist() == row["contexts1"]
        assert profile.set2.positions.tolist() == row["contexts2"]
        score = profile.similarity(origin.config.weights, origin.config.measure)
        assert score == pytest.approx(row["score"], abs=1e-3)


def test_splits_are_whole_shards_and_share_no_pair(tiny_run: Path) -> None:
    """No shard is in two splits, no pair in two rows, and the summary counts what is there."""
    tables = {split: read_pairs(tiny_run, split).to_pylist() for split in SPLITS}
    shards = [{row["shard"] for row in rows} for rows in tables.values()]
    assert not shards[0] & shards[1] | shards[1] & shards[2] | shards[0] & shards[2]
    keys = [
        frozenset((normal_form(row["sentence1"]), normal_form(row["sentence2"])))
        for rows in tables.values()
        for row in rows
    ]
    assert len(set(keys)) == len(keys)
    counted = harvest(tiny_run).summary["pairs"]
    assert counted == {split: len(rows) for split, rows in tables.items()}


def test_more_pairs_is_another_harvest(tiny_run: Path, tmp_path: Path) -> None:
    """The number of pairs goes into the run's configuration and replaces the harvest."""
    run = Path(shutil.copytree(tiny_run, tmp_path / "run"))
    assert harvest(run).reused
    assert not harvest(run, pairs=36).reused
    assert Config.load(run / CONFIG).harvest.pairs == 36
    total = sum(pq.read_metadata(run / "harvest" / f"{s}.parquet").num_rows for s in SPLITS)
    assert 30 <= total <= 36


def test_too_few_pairs_for_three_splits(tiny_run: Path, tmp_path: Path) -> None:
    """Train, dev and test need a shard each: fewer pairs are refused before any work."""
    run = Path(shutil.copytree(tiny_run, tmp_path / "run"))
    with pytest.raises(ConfigError, match="3 shards"):
        harvest(run, pairs=31)
    with pytest.raises(ConfigError, match="no shard for train"):
        Run.open(run).changed({"harvest": {"train": 0.1, "dev": 0.6}})


def test_missing_stages_are_named(tiny_run: Path, tmp_path: Path) -> None:
    """Without a generator the message names the command that trains one; nothing has changed."""
    run = Path(shutil.copytree(tiny_run, tmp_path / "run"))
    shutil.rmtree(run / "generator")
    with pytest.raises(MissingStageError, match="firth train generator"):
        harvest(run, pairs=36)
    assert (run / CONFIG).read_bytes() == (tiny_run / CONFIG).read_bytes()
    with pytest.raises(InputError, match="sideways"):
        read_pairs(tiny_run, "sideways")


@pytest.mark.parametrize(
    "change",
    [
        {"corpus": {"min_words": 4}},
        {"retrieve": {"chunks": 40}},
        {"seed": 14},
        {"paper": {"contexts": 3}},
        {"harvest": {"near_chunks": 5}},
    ],
    ids=str,
)
def test_what_a_harvest_reads_makes_another_one(
    tiny_run: Path, tmp_path: Path, change: dict[str, object]
) -> None:
    """Settings of the corpus, the index and the paper's Origin among them."""
    run = Run.open(shutil.copytree(tiny_run, tmp_path / "run"))
    assert build_harvest(run).reused
    assert not build_harvest(run.changed(change)).reused
    assert Run.open(run.path).config == run.changed(change).config


def test_two_blocklists_of_one_name_are_two(tiny_run: Path, tmp_path: Path) -> None:
    """Each is read, and a change of either is seen."""
    run = Run.open(shutil.copytree(tiny_run, tmp_path / "run"))
    banned = [read_pairs(run, "train")["sentence1"][row].as_py() for row in (0, -1)]
    assert normal_form(banned[0]) != normal_form(banned[1]), "the premise"
    files = [tmp_path / name / "list.txt" for name in ("one", "two")]
    for file in files:
        file.parent.mkdir()
        file.write_text("")
    run = run.changed({"harvest": {"blocklist": [str(file) for file in files]}})
    assert not build_harvest(run).reused
    for number, file in enumerate(files):
        file.write_text(banned[number])
        assert not build_harvest(run).reused
        assert build_harvest(run).reused
    rows = [row for split in SPLITS for row in read_pairs(run, split).to_pylist()]
    forms = {normal_form(row[name]) for row in rows for name in ("sentence1", "sentence2")}
    assert not forms & {normal_form(text) for text in banned}


def test_the_default_origin_is_harvested(tiny_run: Path, tmp_path: Path) -> None:
    """Everything its harvest reads is declared, or, as the index, made of the corpus; its rows have
    no contexts of their own."""
    run = Run.open(shutil.copytree(tiny_run, tmp_path / "run"))
    run = run.changed({"origin": {"method": "ensemble"}})
    assert RETRIEVE not in Origin.reads(run)
    shutil.rmtree(run.folder(RETRIEVE))
    assert not build_harvest(run).reused
    row = read_pairs(run, "dev").to_pylist()[0]
    score = Origin.open(run).similarity(row["sentence1"], row["sentence2"])
    assert row["score"] == pytest.approx(score, abs=1e-6)
    assert row["contexts1"] == row["contexts2"] == []


def test_a_damaged_shard_is_named_and_scored_again(
    tiny_run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Cut short, emptied, or with a flipped byte: an interrupted harvest ends as a quiet one."""
    run = Run.open(shutil.copytree(tiny_run, tmp_path / "run"))
    shutil.rmtree(run.path / "harvest")
    with monkeypatch.context() as stopped:
        stopped.setattr("firth.harvest.harvest.write_splits", None)
        with pytest.raises(TypeError):
            build_harvest(run)
    shards = sorted(run.path.glob(".harvest.work/scratch/shard-*.parquet"))
    assert len(shards) == 5
    whole = [shard.read_bytes() for shard in shards]
    flipped = whole[3][:60] + bytes([whole[3][60] ^ 1]) + whole[3][61:]  # in a sentence
    for place, data in {1: whole[1][:-40], 2: b"", 3: flipped}.items():
        shards[place].write_bytes(data)
    progress.set_quiet(False)
    build_harvest(run)
    said = capfd.readouterr().err
    named = [shard.name for shard in shards if f"{shard.name}: damaged" in said.replace("\n", "")]
    assert named == [shards[place].name for place in (1, 2, 3)]
    for split in SPLITS:
        file = f"harvest/{split}.parquet"
        assert (run.path / file).read_bytes() == (tiny_run / file).read_bytes()

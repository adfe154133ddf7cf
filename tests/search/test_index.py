"""`firth.search.index`: rows follow the store, and work that is interrupted gives equal bytes."""

import shutil
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from tests.search.conftest import Records, build_encoder, document, documents, write_encoder

from firth.corpus.build import add_documents, build_corpus, remove_documents
from firth.corpus.corpus import Corpus
from firth.encoders.encoder import unit_singles
from firth.encoders.pretrained import with_encoder
from firth.encoders.static import StaticEncoder
from firth.run.errors import DamagedError
from firth.run.executor import Processes
from firth.run.run import Run
from firth.search import index as module
from firth.search.index import ADDED, INDEX, Index, build_added, build_index
from firth.search.vectors import Codes, candidates
from firth.text.types import Ints, Singles

Make = Callable[..., Run]


def stored(run: Run) -> dict[str, bytes]:
    """The bytes of the index."""
    folder = run.folder(INDEX)
    return {
        path.name: path.read_bytes() for path in folder.iterdir() if path.name != "manifest.json"
    }


class Encodings:
    """Counts the texts of each call of static encoders, and interrupts the call `stop`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sizes: list[int] = []
        self.stop = 0
        encode, counts = StaticEncoder.encode, self

        def counted(self: StaticEncoder, texts: Sequence[str]) -> Singles:
            counts.sizes.append(len(texts))
            if len(counts.sizes) == counts.stop:
                raise KeyboardInterrupt
            return encode(self, texts)

        monkeypatch.setattr(StaticEncoder, "encode", counted)


@pytest.fixture
def encodings(monkeypatch: pytest.MonkeyPatch) -> Encodings:
    """The texts that are encoded from here on."""
    return Encodings(monkeypatch)


def check_rows(index: Index, encoder: StaticEncoder) -> None:
    """Every sentence has its vector, and is found by it."""
    texts = index.corpus.texts(np.arange(len(index)))
    vectors = index.vectors(np.arange(len(index)))
    np.testing.assert_allclose(vectors, encoder.encode(texts), atol=1e-3)
    for vector in encoder.encode(texts):
        cosines = index.vectors(index.nearest(vector, 3)) @ vector
        assert cosines[0] > 0.99
        assert (np.diff(cosines) < 1e-6).all()


@pytest.mark.parametrize("exact", [True, False])
def test_nearest_is_that_of_comparing_all(
    run: Run, exact: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Codes change nothing; among some sentences only these are returned."""
    monkeypatch.setattr(module, "EXACT", module.EXACT if exact else 0)
    selections: list[int] = []

    def selected(codes: Codes, code: Codes, most: int, threads: Executor) -> Ints:
        selections.append(most)
        return candidates(codes, code, most, threads)

    monkeypatch.setattr(module, "candidates", selected)
    index = Index.open(run)
    for query in index.encoder.encode(["A ship left the port.", "The judge met the jury.", "cow"]):
        cosines = index.vectors(np.arange(len(index))) @ query
        for within in (np.arange(len(index)), np.arange(3, 90, 2)):
            near = index.nearest(query, 7, within=within)
            expected = np.sort(cosines[within])[:-8:-1]
            np.testing.assert_allclose(cosines[near], expected, atol=1e-6)
        assert sorted(index.nearest(query, 500, within=np.array([4, 9])).tolist()) == [4, 9]
    assert bool(selections) is not exact


@pytest.mark.parametrize("exact", [True, False])
def test_a_document_is_compared_by_its_sentences_and_by_their_mean(
    make: Make, exact: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The nth sentence counts 1/n; documents that were added later have theirs, too."""
    monkeypatch.setattr(module, "EXACT", module.EXACT if exact else 0)
    run = make(documents(range(2)))
    add_documents(run, [document("sea", 7)])
    build_added(run)
    remove_documents(run, ["farm-0"])
    index = Index.open(run)
    chosen, vector = np.array([1, 3, 7]), index.encoder.encode(["A ship left the port."])[0]
    assert len(index.corpus.document_ids()) == 8
    cosines, nearest, whole = index.gather(chosen).cosines(vector)
    rows = index.vectors(index.corpus.sentences_of(chosen)).reshape(3, 5, -1)
    np.testing.assert_allclose(cosines, (rows @ vector).ravel(), atol=1e-5)
    np.testing.assert_allclose(nearest, (rows @ vector).max(axis=1), atol=1e-5)
    means = (rows / np.arange(1, 6)[None, :, None]).sum(axis=1)
    expected = means @ vector / np.linalg.norm(means, axis=1)
    np.testing.assert_allclose(whole, expected, atol=1e-3)
    assert index.gather(chosen[:0]).cosines(vector)[1].shape == (0,)


@dataclass
class Beginnings:
    """An encoder of first letters, and all texts that it has read."""

    read: list[str] = field(default_factory=list)
    name = "beginnings"

    def encode(self, texts: Sequence[str]) -> Singles:
        self.read.extend(texts)
        rows = [[text.count(letter) + 0.1 for letter in "abcdefghijklmnopqrst"] for text in texts]
        return unit_singles(np.array(rows, np.float32).reshape(len(texts), 20))


def test_an_encoder_reads_the_first_words_of_a_document_as_one_text(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They count by their share of all words. What is known is not read again."""
    monkeypatch.setattr(module, "_WHOLE_SHARD", 2)
    long = [" ".join(f"{chr(97 + (n + d) % 20) * 3}{n}." for n in range(230)) for d in range(3)]
    texts = [*long, "One ship. Two cows came.", "A single sentence.", ""]
    records = [{"id": f"d{n}", "title": f"T{n}", "text": text} for n, text in enumerate(texts)]
    records.append({"id": "copy", "title": "Another title", "text": long[0]})
    encoder = Beginnings()
    run = with_encoder(make(records), encoder)
    encoder.read.clear()
    build_index(run)
    joined = [" ".join(text.split()[: module.WHOLE]) for text in texts[:4]]
    assert [text for text in encoder.read if text in joined] == joined
    assert encoder.read.count("A single sentence.") == 1
    index = Index.open(run)
    bounds = index.corpus.document_bounds
    for number, text in enumerate(joined):
        rows = index.vectors(np.arange(*bounds[number : number + 2]))
        mean = (rows / np.arange(1, 1 + len(rows))[:, None]).sum(axis=0)
        share = min(module.WHOLE / len(texts[number].split()), 1)
        wanted = share * encoder.encode([text])[0] + (1 - share) * mean / np.linalg.norm(mean)
        found = index.wholes(np.array([number]))[0]
        np.testing.assert_allclose(found, wanted / np.linalg.norm(wanted), atol=2e-3)
    np.testing.assert_allclose(index.wholes(np.array([4])), index.vectors([bounds[4]]), atol=1e-3)

    add_documents(run, [{"id": "new", "text": "A new text. It has two sentences."}])
    encoder.read.clear()
    build_added(run)
    assert encoder.read.count("A new text. It has two sentences.") == 1
    add_documents(run, [{"id": "newer", "text": "A newer text. It has two, too."}])
    encoder.read.clear()
    build_added(run)
    assert encoder.read == ["A newer text.", "It has two, too.", "A newer text. It has two, too."]
    index = Index.open(run)
    assert index.wholes(np.arange(index.corpus.n_documents)).any(axis=1).sum() == 7


def test_reading_of_documents_goes_on_where_it_stopped(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bytes are those of a build that nothing stopped, and what was read is not read again."""
    monkeypatch.setattr(module, "_WHOLE_SHARD", 2)
    texts = [f"One ship met {n} others. Two cows saw them." for n in range(6)]
    records = [{"id": f"d{n}", "text": text} for n, text in enumerate(texts)]
    whole = with_encoder(make(records, name="a"), Beginnings())
    build_index(whole)

    class Stopped(Beginnings):
        def encode(self, read: Sequence[str]) -> Singles:
            if texts[4] in read:
                raise KeyboardInterrupt
            return super().encode(read)

    run = with_encoder(make(records, name="b"), Stopped())
    with pytest.raises(KeyboardInterrupt):
        build_index(run)
    encoder = Beginnings()
    build_index(with_encoder(run, encoder))
    assert [text for text in encoder.read if text in texts] == texts[4:]
    assert stored(run) == stored(whole)


def test_documents_come_and_go_without_a_rebuild(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After adding, replacing and removing, answers are those of an index built at once."""
    run = make(documents())
    before = stored(run)
    new = [
        document("sea", 7),
        {**document("farm", 1), "text": "A cow left the barn. The field was wet."},
    ]
    add_documents(run, new)
    assert Index.open(run).unindexed == 2
    assert build_added(run) is not None
    remove_documents(run, ["court-3", "music-0"])
    assert build_added(run) is not None
    index = Index.open(run)
    assert index.unindexed == 0
    assert stored(run) == before
    encoder = StaticEncoder.open(run.path / "static")
    check_rows(index, encoder)

    kept = [each for each in documents() if each["id"] not in ("court-3", "music-0", "farm-1")]
    once = Index.open(make([*kept, *new], name="once"))
    assert once.corpus.texts(np.arange(len(once))) == index.corpus.texts(np.arange(len(index)))
    every = np.arange(once.corpus.n_documents)
    np.testing.assert_allclose(index.wholes(every), once.wholes(every), atol=1e-3)
    (vector,) = encoder.encode(["the cow and the barn"])
    for exact in (40_000, 0):
        monkeypatch.setattr(module, "EXACT", exact)
        near = [one.vectors(one.nearest(vector, 10)) @ vector for one in (index, once)]
        np.testing.assert_allclose(near[0], near[1], atol=1e-6)


def test_vectors_of_earlier_additions_are_kept(make: Make, encodings: Encodings) -> None:
    """Only what is new is encoded, and what is damaged."""
    run = make(documents())
    add_documents(run, [document("sea", 7)])
    build_added(run)
    encodings.sizes.clear()
    add_documents(run, [document("farm", 8)])
    build_added(run)
    assert encodings.sizes == [5]
    check_rows(Index.open(run), StaticEncoder.open(run.path / "static"))
    again = build_added(run)
    assert again is not None
    assert again.reused
    path = run.folder(ADDED) / "vectors.npy"
    path.write_bytes(path.read_bytes()[:-1] + b"\xff")
    add_documents(run, [document("sea", 9)])
    build_added(run)
    check_rows(Index.open(run), StaticEncoder.open(run.path / "static"))


def test_added_rows_of_an_older_index_are_ignored(make: Make) -> None:
    """A new index has all documents itself."""
    run = make(documents(range(3)))
    add_documents(run, [document("sea", 7)])
    build_added(run)
    build_encoder(run, seed=4)
    with pytest.raises(DamagedError, match="another encoder"):
        Index.open(run)
    build_index(run)
    assert build_added(run) is None
    check_rows(Index.open(run), StaticEncoder.open(run.path / "static"))


def test_added_vectors_of_another_index_are_not_kept(make: Make) -> None:
    """Where documents are read anew, an added one may have the key that another one had."""
    run = make(documents(range(2)))
    add_documents(run, [document("sea", 7)])
    build_added(run)
    keys = [Corpus.open(run, "all").keys[-1]]
    (run.path / "corpus.db").unlink()
    build_corpus(run, documents(range(2)))
    build_encoder(run, seed=4)
    build_index(run)
    add_documents(run, [document("farm", 8)])
    build_added(run)
    keys.append(Corpus.open(run, "all").keys[-1])
    assert (keys[0] == keys[1]).all(), "premise"
    check_rows(Index.open(run), StaticEncoder.open(run.path / "static"))


def test_an_interrupted_build_continues_to_the_same_bytes(
    make: Make, encodings: Encodings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped in any shard, the next call encodes this and the later ones only."""
    monkeypatch.setattr(module, "SHARD", 32)
    run = make(documents())
    whole = stored(run)
    assert encodings.sizes == [32, 32, 32, 24]
    for stop in (1, 2, 4):
        shutil.rmtree(run.path / "index")
        encodings.sizes.clear()
        encodings.stop = stop
        with pytest.raises(KeyboardInterrupt):
            build_index(run)
        encodings.sizes.clear()
        encodings.stop = 0
        build_index(run)
        assert encodings.sizes == [32, 32, 32, 24][stop - 1 :]
        assert stored(run) == whole


def test_processes_give_the_bytes_of_one(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who encodes does not decide the bytes."""
    monkeypatch.setattr(module, "SHARD", 40)
    run = make(documents(range(2)))
    whole = stored(run)
    shutil.rmtree(run.path / "index")
    build_index(run, Processes(2))
    assert stored(run) == whole


def test_a_pretrained_encoder_is_used_and_checked(make: Make, tmp_path: Path) -> None:
    """It needs no encoder that the run has built, and its files must not change."""
    write_encoder(tmp_path / "named", seed=9)
    run = make(documents(range(2)), encoder={"model": str(tmp_path / "named")})
    shutil.rmtree(run.path / "static")
    check_rows(Index.open(run), StaticEncoder.open(tmp_path / "named"))
    write_encoder(tmp_path / "named", seed=10)
    with pytest.raises(DamagedError, match="firth build"):
        Index.open(run)


def test_a_document_without_known_words_has_the_zero_vector(make: Make) -> None:
    """It is found by its words alone."""
    records: Records = [*documents(range(1)), {"id": "odd", "text": "Zyx wvu tsr qpo."}]
    index = Index.open(make(records))
    d = index.corpus.document_ids().index("odd")
    row = int(index.corpus.document_bounds[d])
    assert not index.vectors([row]).any()
    assert index.bm25.scores("wvu")[0].argmax() == row

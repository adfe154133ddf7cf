"""Documents that come later are found as if all had been there from the start."""

import json
import shutil
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from firth import add_documents
from firth.cli.main import app
from firth.corpus import ADDED, CORPUS
from firth.corpus.add import build_added
from firth.corpus.corpus import Corpus
from firth.index import ADDED_INDEX, INDEX
from firth.index.add import build_added_index
from firth.index.encoder import TextEncoder, Vectors
from firth.index.index import Index
from firth.pipeline import bring_up_to_date
from firth.reuse.duplicates import duplicates
from firth.reuse.mine import mine
from firth.run.errors import DamagedError, MissingStageError
from firth.run.run import Run
from firth.search.among import Among
from firth.search.search import By, Hit, Search

from ..conftest import tiny_documents

QUERY = "The captain remembered a storm."


def write(path: Path, documents: Sequence[tuple[str, str]]) -> Path:
    path.write_text("".join(json.dumps({"id": i, "text": text}) + "\n" for i, text in documents))
    return path


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Three files of documents: for the corpus, and two for later."""
    folder, documents = tmp_path_factory.mktemp("files"), tiny_documents()
    documents.append(("again", documents[0][1].replace(" near the ", " the near ")))
    cuts = [0, 25, 33, len(documents)]
    return [
        write(folder / f"{n}.jsonl", documents[start:end])
        for n, (start, end) in enumerate(pairwise(cuts))
    ]


def indexed(path: Path, inputs: Sequence[Path], model: Path) -> Run:
    """A run with an index by a static model."""
    Corpus.build(list(inputs), path)
    run = Run.open(path).changed({"index": {"model": str(model)}})
    bring_up_to_date(run, INDEX)
    return run


@pytest.fixture(scope="module")
def whole(files: list[Path], tiny_static: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """All documents, read at once. Do not change it."""
    return indexed(tmp_path_factory.mktemp("whole") / "run", files, tiny_static)


@pytest.fixture(scope="module")
def grown(files: list[Path], tiny_static: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The same documents, added in two calls. Do not change it."""
    run = indexed(tmp_path_factory.mktemp("grown") / "run", files[:1], tiny_static)
    for file in files[1:]:
        add_documents(file, run)
    return run


def told(hits: Sequence[Hit]) -> list[tuple[object, ...]]:
    return sorted((-hit.score, hit.cosine, hit.words, hit.document, hit.text) for hit in hits)


@pytest.mark.parametrize("by", [*By])
@pytest.mark.parametrize("documents", [False, True])
def test_hits_and_scores_are_those_of_a_run_of_all(
    grown: Run, whole: Run, by: By, documents: bool
) -> None:
    """By vectors and words, bit for bit: of all, and of some."""
    later, at_once = Search.open(grown), Search.open(whole)
    assert len(later.index) == len(at_once.index) > len(Corpus.open(grown))  # the premise
    for query in (QUERY, later.index.library.text(len(later.index) - 1), "the farmer and the cow"):
        for among in (None, Among(documents=("farm-*",))):
            asked = [
                one.search(query, by=by, top=len(at_once.index), documents=documents, among=among)
                for one in (later, at_once)
            ]
            assert told(asked[0]) == told(asked[1])
            found = {hit.document for hit in asked[0]}
            assert by is By.WORDS or {"farm-25", "farm-37"} <= found  # the premise
    assert later.index.library.added == 16


def test_what_stands_twice_is_found(grown: Run, whole: Run) -> None:
    """Duplicates and re-tellings are those of a run of all; what models do not know is said."""
    groups = [
        {frozenset(item.place for item in (group.original, *group.copies)) for group in one.groups}
        for one in (duplicates(run, threshold=0.9) for run in (grown, whole))
    ]
    assert groups[0] == groups[1]
    assert any("again" in place for group in groups[0] for place in group)  # the premise
    mined = [mine(run, threshold=0.9) for run in (grown, whole)]
    pairs = [{frozenset((pair.a, pair.b)): pair.coverage for pair in one.pairs} for one in mined]
    assert pairs[0] == pytest.approx(pairs[1])
    assert mined[0].remark.startswith("39.0% of the documents (16 of 41)")
    assert not mined[1].remark
    assert mined[0].remark in duplicates(grown, kind="near").remarks


def test_vectors_that_are_there_are_kept(
    files: list[Path], tiny_static: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second call encodes its own sentences alone, and one that adds nothing none."""
    run = indexed(tmp_path / "run", files[:1], tiny_static)
    encoded: list[int] = []
    plain = TextEncoder.open(tiny_static).__class__.encode

    def counting(self: TextEncoder, texts: Sequence[str]) -> Vectors:
        encoded.append(len(texts))
        return plain(self, texts)

    monkeypatch.setattr("firth.index.encoder._Static.encode", counting)
    sentences = [add_documents(file, run).sentences for file in (*files[1:], files[1])]
    assert encoded == sentences[:2]
    assert sentences[2] == 0
    stored = Index.open(run).vectors.parts[1]
    texts = Corpus(run.folder(ADDED)).texts(range(sum(sentences)))
    np.testing.assert_array_equal(stored, Index.open(run).encode(texts).astype(np.float16))


def test_an_interrupted_call_goes_on(
    files: list[Path], tiny_static: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the shard it was at; until then the run says what is missing; then the bytes are those
    of a call that was not interrupted."""
    runs = [indexed(tmp_path / name, files[:1], tiny_static) for name in ("one", "two")]
    monkeypatch.setattr("firth.index.vectors.SHARD", 40)
    plain, left = TextEncoder.open(tiny_static).__class__.encode, 2

    def failing(self: TextEncoder, texts: Sequence[str]) -> Vectors:
        nonlocal left
        left -= 1
        if left == 0:
            raise KeyboardInterrupt
        return plain(self, texts)

    with monkeypatch.context() as patch:
        patch.setattr("firth.index.encoder._Static.encode", failing)
        with pytest.raises(KeyboardInterrupt):
            add_documents(files[1:], runs[0])
    with pytest.raises(MissingStageError, match="firth index --run"):
        Search.open(runs[0])
    begun = runs[0].path / "added" / ".index.work" / "scratch" / "rows.json"
    assert json.loads(begun.read_text()) == 40
    add_documents(files[1:], runs[0])
    add_documents(files[1:], runs[1])
    digests = [[run.manifest(stage).digest for stage in (ADDED, ADDED_INDEX)] for run in runs]
    assert digests[0] == digests[1]


def test_a_run_built_again_takes_them_in(
    files: list[Path], whole: Run, tiny_static: Path, tmp_path: Path
) -> None:
    """Built over the files of all, the run answers as one that had them from the start; built over
    others, what was added stays."""
    run = indexed(tmp_path / "run", files[:1], tiny_static)
    add_documents(files[1:], run)
    hits = told(Search.open(run).search(QUERY, top=50))
    more = run.changed({"corpus": {"inputs": [str(file) for file in files[:2]]}})
    Corpus.build(files[:2], run.path)
    with pytest.raises(DamagedError, match="of another corpus"):
        Search.open(run.path)
    bring_up_to_date(more, INDEX)
    search = Search.open(run.path)
    assert search.index.library.added == 8
    assert told(search.search(QUERY, top=50)) == hits
    everything = run.changed({"corpus": {"inputs": [str(file) for file in files]}})
    bring_up_to_date(everything, CORPUS, INDEX)
    search = Search.open(run.path)
    assert search.index.library.added == 0
    assert not search.index.library.remark()
    assert told(search.search(QUERY, top=50)) == told(Search.open(whole).search(QUERY, top=50))


def test_other_vectors_are_those_of_all(
    files: list[Path], tiny_static: Path, tiny_bert: Path, tmp_path: Path
) -> None:
    """An index by another model has the added documents, too; one that is stale is refused before
    anything is encoded by the wrong model."""
    model = Path(shutil.copytree(tiny_static, tmp_path / "model"))
    run = indexed(tmp_path / "run", files[:1], model)
    build_added(run, [str(files[1])])
    other = run.changed({"index": {"model": str(tiny_bert)}})
    bring_up_to_date(other, INDEX)
    index = Index.open(run.path)
    assert index.vectors.shape == (len(index.library), 16)
    assert len(index) > len(Corpus.open(run)) + 30
    manifest = run.path / INDEX.name / "manifest.json"
    stored = json.loads(manifest.read_text())
    stored["inputs"][CORPUS.name] = "0" * 40
    manifest.write_text(json.dumps(stored))
    with pytest.raises(DamagedError, match="of another corpus"):
        build_added_index(Run.open(run.path))


def test_the_command(files: list[Path], tiny_static: Path, tmp_path: Path) -> None:
    """What was added and what not, in sentences and as JSON; `stats` counts it; searches say what
    the models do not know."""
    path = tmp_path / "run"
    Corpus.build(files[0], path)
    shown = CliRunner().invoke(app, ["corpus", "add", str(files[1]), "--run", str(path)])
    assert shown.exit_code == 0, shown.output
    assert "Added: 8 documents of" in shown.output
    assert "There is no index yet" in shown.output
    command = ["index", "--run", str(path), "--model", str(tiny_static), "-q"]
    assert CliRunner().invoke(app, command).exit_code == 0
    more = write(
        tmp_path / "more.jsonl", [("new", "A quite new text."), ("copy", "A QUITE new text")]
    )
    with more.open("a") as file:
        file.write("{broken\n")
    again = [str(files[1]), str(more), "--run", str(path)]
    shown = CliRunner().invoke(app, ["corpus", "add", *again, "-q"])
    for part in ("1 document of 1 sentence", "There already: 8 documents.", "1 broken JSON",
                 "Left out: 1 document", "26.5% of the documents"):  # fmt: skip
        assert part in " ".join(shown.output.split())
    plain = CliRunner().invoke(app, ["corpus", "add", *again, "--json", "-q"])
    assert json.loads(plain.output)["known"] == 10
    shown = CliRunner().invoke(app, ["search", str(path), "a quite new text", "--top", "1"])
    assert "A quite new text." in shown.stdout
    assert "came after the models were built" in shown.stderr
    stats = CliRunner().invoke(app, ["corpus", "stats", "--run", str(path), "--json"])
    assert json.loads(stats.stdout)["added"] == 9

"""Re-tellings: planted ones come first; a pair has what `compare_documents` says of it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from firth.corpus.corpus import Corpus
from firth.corpus.drawn import Pairs
from firth.corpus.library import Library
from firth.index.build import build_index
from firth.reuse.compare import compare_documents
from firth.reuse.duplicates import duplicates
from firth.reuse.mine import Mined, mine
from firth.run.errors import InputError
from firth.run.run import Run
from firth.scale.build import build_scale
from firth.scale.scale import Scale
from firth.search.among import Among


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, tiny_folder: Path) -> Path:
    """Twenty documents, and one that has two thirds of another one's paragraphs, turned round."""
    folder = tmp_path_factory.mktemp("mine")
    texts = {path.stem: path.read_text() for path in sorted(tiny_folder.iterdir())[:20]}
    name = next(iter(texts))
    texts["again"] = "\n\n".join(texts[name].split("\n\n")[:0:-1])
    with (folder / "texts.jsonl").open("w") as file:
        for key, text in texts.items():
            file.write(json.dumps({"id": key, "title": key, "text": text}) + "\n")
    Corpus.build(folder / "texts.jsonl", folder / "run", held_out=5)
    return folder / "run"


@pytest.fixture(scope="module")
def mined(run: Path, tiny_run: Path) -> Mined:
    """With the Surrogate of another run."""
    return mine(run, model=tiny_run / "surrogate", threshold=0.95)


def test_the_planted_retelling_is_first(mined: Mined) -> None:
    """All of it is found, and the score is symmetric in what it says."""
    best = mined.pairs[0]
    assert best.b == "again"
    assert best.coverage_b == 1
    assert best.coverage_a > 0.3
    assert [pair.coverage for pair in mined.pairs] == sorted(
        (pair.coverage for pair in mined.pairs), reverse=True
    )


def test_of_some_documents_the_pairs_are_those_among_all(
    mined: Mined, run: Path, tiny_run: Path
) -> None:
    """Of the same threshold; with as many candidates as documents, none is crowded out."""
    asked = ("again", "s*", "w*", "c*")
    some = Among(documents=asked)
    given: dict[str, Any] = {
        "model": tiny_run / "surrogate", "threshold": mined.threshold, "candidates": 30,
    }  # fmt: skip
    found, whole = mine(run, among=some, **given), mine(run, **given)
    names = [*np.array(Library.open(run).document_ids())[some.chosen(Library.open(run))]]
    inside = [pair for pair in whole.pairs if {pair.a, pair.b} <= set(names)]
    assert 0 < len(inside) < len(whole.pairs), "premise"
    assert [pair.numbers for pair in found.pairs] == [pair.numbers for pair in inside]
    assert found.documents == len(names)
    with pytest.raises(InputError, match="no document matches nowhere"):
        mine(run, among=Among(documents=("nowhere",)), **given)


def test_a_pair_is_that_of_compare_documents(mined: Mined, run: Path, tiny_run: Path) -> None:
    """Score and coverage are those of the alignment of the two, up to the precision of float16."""
    for pair in mined.pairs[:3]:
        found = compare_documents(
            pair.a, pair.b, run, model=tiny_run / "surrogate", threshold=mined.threshold
        )
        assert (found.a, found.b) == (pair.a, pair.b)
        assert pair.score == pytest.approx(found.score, abs=0.02)
    best = mined.pairs[0]
    again = compare_documents(
        best.a, best.b, run, model=tiny_run / "surrogate", threshold=mined.threshold
    )
    assert best.coverage_b == again.coverage_b


def test_documents_held_out_are_looked_at(mined: Mined, run: Path) -> None:
    """Pairs are of both parts of the run, and never of a document with itself."""
    learned = Library.open(run).parts[0].n_documents
    ends = [number for pair in mined.pairs for number in pair.numbers]
    assert min(ends) < learned <= max(ends)
    assert all(one < two for one, two in (pair.numbers for pair in mined.pairs))


def test_files_and_table(mined: Mined, tmp_path: Path) -> None:
    """A row a pair; 80 columns."""
    mined.write(tmp_path / "pairs.jsonl")
    mined.write(tmp_path / "pairs.parquet")
    rows = [json.loads(line) for line in (tmp_path / "pairs.jsonl").read_text().splitlines()]
    assert rows == mined.as_dict()["pairs"]
    assert max(map(len, mined.text().splitlines())) <= 80


def test_the_index_of_a_run_is_used(tiny_run: Path, tmp_path: Path) -> None:
    """With vectors that are there and with those made for the call, the pairs are the same; and the
    threshold is that of the run's scale, where there is one."""
    import shutil

    folder = shutil.copytree(tiny_run, tmp_path / "run")
    before = mine(folder, rate=0.2)
    build_index(Run.open(folder))
    after = mine(folder, threshold=before.threshold)
    build_scale(Run.open(folder))
    assert before.pairs
    assert [pair.numbers for pair in before.pairs] == [pair.numbers for pair in after.pairs]
    levels = Scale.open(folder).levels[Pairs.SAME_DOCUMENT]
    same = 1 - float(levels.share_below(0.999))
    scale = levels.threshold(same + 0.2 * (1 - same))
    ids = before.pairs[0].a, before.pairs[0].b
    assert mine(folder, rate=0.2).threshold == scale
    assert compare_documents(*ids, folder, rate=0.2).threshold == scale
    assert duplicates(folder, rate=0.2).threshold == scale


def test_rates_out_of_range_are_refused(run: Path) -> None:
    """Before any work."""
    with pytest.raises(InputError, match="between 0 and 1"):
        mine(run, rate=0)

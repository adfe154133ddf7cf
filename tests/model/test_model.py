"""`firth.model`: what `build` returns and `load` opens."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conftest import TOY_SETTINGS, toy_documents
from tests.test_house import HEAVY

import firth
from firth.encoders.kinds import find_encoder, open_encoder
from firth.encoders.static import write_static
from firth.run.errors import InputError
from firth.run.stage import Manifest
from firth.search.index import Index

A, B = "The ship saw the harbor.", "A boat left the storm."


def test_similarity_has_the_shapes_of_sentence_transformers(toy_folder: Path) -> None:
    """Two texts give a number, lists give all pairs, and the order of texts does not matter."""
    model = firth.load(toy_folder)
    assert "40 documents" in repr(model)
    matrix = model.similarity([A, B], [A, B, "The cow."])
    assert isinstance(model.similarity(A, B), float)
    assert matrix.shape == (2, 3)
    assert matrix[0, 0] == 1
    assert matrix[0, 1] == matrix[1, 0] == model.similarity(A, B) == model.similarity(B, A)
    assert model.explain(A, B).score == model.similarity(A, B)


def test_the_saved_encoder_gives_the_vectors_of_search(tmp_path: Path) -> None:
    """Over another encoder its files are copied; its copy is the same encoder for a run."""
    given = tmp_path / "given"
    words = ["the", "saw", "near", "ship", "boat", "harbor", "storm", "judge"]
    given.mkdir()
    write_static(given, words, np.random.default_rng(3).normal(size=(len(words), 24)).astype("f4"))
    (given / "README.md").write_text("---\nlicense: mit\n---\nBy others.\n")
    run = tmp_path / "run"
    model = firth.build(toy_documents(), run, encoder=str(given), settings=TOY_SETTINGS)
    index = Index.open(model.run)
    texts = list(index.corpus.texts(np.arange(5)))
    assert np.allclose(model.encode(texts), index.vectors(range(5)), atol=1e-3)
    assert not np.allclose(model.static.encode(texts)[:, :24], model.encode(texts), atol=0.1)
    folder = model.save_encoder(tmp_path / "copy")
    assert np.array_equal(open_encoder(folder).encode(texts), model.encode(texts))
    assert np.array_equal(firth.load(run, encoder=str(folder)).encode(texts), model.encode(texts))
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert card.startswith("---\nlicense: mit")
    assert find_encoder(given).fingerprint in card
    static = open_encoder(model.save_static(tmp_path / "static"))
    assert np.array_equal(static.encode(texts), model.static.encode(texts))


def test_an_encoder_without_files_is_not_saved(tmp_path: Path) -> None:
    """The model that was learned from the text is."""

    class Lengths:
        fingerprint = "v7"

        def encode(self, texts: Sequence[str]) -> Any:
            return [[len(text), 1.0 + text.count("a")] for text in texts]

    model = firth.build(["It rained.", "A ship sailed away."], encoder=Lengths())
    with pytest.raises(InputError, match=r"object:Lengths has no files .* save_static"):
        model.save_encoder(tmp_path / "copy")


def test_the_saved_static_model_gives_the_same_vectors(toy_folder: Path, tmp_path: Path) -> None:
    """It is the encoder of a run without another one. Nothing is replaced without force."""
    model = firth.load(toy_folder)
    folder = model.save_encoder(tmp_path / "encoder")
    copied = firth.open_scorer(str(folder))
    cosine = float(model.encode(A) @ model.encode(B))
    assert np.isclose(copied.similarities([(A, B)])[0], cosine, atol=1e-6)
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert "library_name: sentence-transformers" in card
    assert "40 documents" in card
    assert "SentenceTransformer(" in card
    assert "Chance is 50. Brackets are 95 % intervals" in " ".join(card.split())
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").write_text("mine")
    with pytest.raises(InputError):
        model.save_encoder(tmp_path / "mine")


def test_a_second_build_builds_nothing(toy_copy: Path) -> None:
    """What is up to date stays; another seed of the settings rebuilds; manifests stay equal."""
    before = {path: Manifest.read(path.parent) for path in toy_copy.rglob("manifest.json")}
    built = firth.build(toy_documents(), toy_copy, settings=TOY_SETTINGS).built
    assert built is not None
    assert not any(built.stages.values())
    assert before == {path: Manifest.read(path.parent) for path in toy_copy.rglob("manifest.json")}
    again = firth.build(toy_documents(), toy_copy, settings={"questions.questions": 1_500}).built
    assert again is not None
    assert [name for name, is_new in again.stages.items() if is_new] == ["questions"]


def test_two_builds_are_equal(toy_folder: Path, tmp_path: Path) -> None:
    firth.build(toy_documents(), tmp_path / "other", settings=TOY_SETTINGS)
    names = [path.relative_to(toy_folder) for path in toy_folder.rglob("manifest.json")]
    assert len(names) >= 6
    for name in names:
        assert (tmp_path / "other" / name).read_bytes() == (toy_folder / name).read_bytes()


def test_the_core_needs_no_heavy_library(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        f"for name in {sorted(HEAVY)!r}:\n"
        "    sys.modules[name] = None\n"
        "import firth\n"
        "from tests.conftest import TOY_SETTINGS, toy_documents\n"
        "model = firth.build(toy_documents(), sys.argv[1], settings=TOY_SETTINGS)\n"
        "model.search('ship'), model.explain('a ship', 'the boat').summary(), model.duplicates()\n"
        "model.calibration.threshold(0.05), model.report(sys.argv[1] + '.html')\n"
        "model.add(['A zeppelin crossed the field.'])\n"
        "assert not firth.text.words._recognizer.cache_info().currsize\n"
    )
    root = Path(__file__).parents[2]
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "run")], check=True, cwd=root)

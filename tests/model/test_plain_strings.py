"""Plain strings in: no folder, few texts, other processes, and what is no text."""

import gc
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import firth
from firth.model import Model
from firth.run.errors import InputError

FIVE = ["The cat sat.", "A dog slept in the house.", "Jobs are scarce.", "He won.", "It rains."]
A, B = "The ship saw the harbour.", "A boat left the harbour."


@pytest.fixture(scope="module")
def five() -> Model:
    """A model of five texts, without a folder."""
    return firth.build(FIVE, quiet=True)


def test_five_texts_build_and_answer(five: Model, capfd: pytest.CaptureFixture[str]) -> None:
    """Everything works, and the verdict says that nothing was learned."""
    assert five.built is not None
    assert "nothing was learned" in five.built.text()
    assert five.built.as_dict()["nothing_learned"]
    assert five.similarity("Jobs are scarce.", "Jobs are rare.") > 0.3
    assert five.search("jobs")[0].text == "Jobs are scarce."
    assert five.explain(*FIVE[:2]).parts
    assert len(five.duplicates()) == 0
    assert five.encode(FIVE).shape[0] == 5
    assert not capfd.readouterr().err, "quiet"


def test_a_run_without_a_folder_goes_with_its_model() -> None:
    """Its folder is removed with the model; a copy says so, and does not own it."""
    model = firth.build(FIVE[:2], quiet=True)
    folder, stored = model.path, pickle.dumps(model)
    copy = pickle.loads(stored)
    assert copy.similarity(A, B) == model.similarity(A, B)
    del copy
    gc.collect()
    assert folder.is_dir(), "premise: a copy does not own the run"
    del model
    gc.collect()
    assert not folder.parent.exists()
    with pytest.raises(InputError, match="name a folder"):
        pickle.loads(stored)


def test_another_process_has_the_same_scores(toy_folder: Path) -> None:
    """Model and scorer can be pickled; the bytes hold the place of the run, and no arrays."""
    model = firth.load(toy_folder)
    expected = model.similarity(A, B)
    stored = pickle.dumps([model, model.scorer])
    assert len(stored) < 40_000
    code = "import pickle, sys; things = pickle.loads(sys.stdin.buffer.read()); "
    code += f"print(*(thing.similarity({A!r}, {B!r}) for thing in things))"
    done = subprocess.run(
        [sys.executable, "-c", code], input=stored, capture_output=True, check=True
    )
    assert [*map(float, done.stdout.split())] == [expected] * 2


WRONG: dict[str, Callable[[Model], object]] = {
    "None": lambda m: m.similarity(None, A),  # type: ignore[call-overload]
    "5": lambda m: m.similarity(A, 5),  # type: ignore[call-overload]
    "a, text 1": lambda m: m.similarity([A, None], [B]),  # type: ignore[list-item]
    "surrogate": lambda m: m.explain("\ud800", B),
    "b'x'": lambda m: m.search(b"x"),  # type: ignore[arg-type]
    "got '3'": lambda m: m.search("ship", top="3"),  # type: ignore[arg-type]
    "got 2.5": lambda m: m.search("ship", top=2.5),  # type: ignore[arg-type]
    "got nan": lambda m: m.search("ship", top=float("nan")),  # type: ignore[arg-type]
    "filter: got 5": lambda m: m.search("ship", where=5),  # type: ignore[arg-type]
    "filter: got b": lambda m: m.duplicates(where=b"id"),  # type: ignore[call-overload]
    "filter: the text": lambda m: m.search("ship", where="title = '\ud800'"),
    "document: the text": lambda m: m.compare_documents("\ud800", "doc"),
    "document: got b": lambda m: m.compare_documents(b"x", "doc"),  # type: ignore[arg-type]
    "texts, text 1": lambda m: m.encode([A, [B]]),  # type: ignore[list-item]
    "expected a list": lambda m: m.remove("id"),
    "b, text 1": lambda m: m.similarity("ab", ["c", 5]),  # type: ignore[list-item]
    "int": lambda m: m.add(5),  # type: ignore[arg-type]
    "threshold": lambda m: m.duplicates("x"),  # type: ignore[call-overload]
    "left, text 1": lambda _: firth.match([A, None], [B]),  # type: ignore[list-item]
    "right: got 'b'": lambda _: firth.match([A], "b"),
    "texts, text 0": lambda _: firth.calibrate([5]),  # type: ignore[list-item]
    "shape .3,.": lambda _: firth.calibrate(np.ones(3)),
    "neither documents": lambda _: firth.build(None),
    "run: got 5": lambda _: firth.load(5),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("message", WRONG)
def test_what_is_no_text_is_refused(message: str, five: Model) -> None:
    """In every public function, with what came and what was expected."""
    with pytest.raises(InputError, match=message):
        WRONG[message](five)

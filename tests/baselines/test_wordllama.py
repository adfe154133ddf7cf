"""WordLlama: means of token vectors, of a folder or of the installed package."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from tokenizers import Tokenizer

from firth.baselines.registry import identify_baseline, open_baseline
from firth.run.errors import InputError, MissingExtraError


def test_a_text_is_the_mean_of_its_tokens(tiny_wordllama: Path) -> None:
    """Each time it stands there; nothing else takes part."""
    vectors = load_file(tiny_wordllama / "weights" / "tiny_6.safetensors")["embedding.weight"]
    tokenizer = Tokenizer.from_file(str(*tiny_wordllama.rglob("*tokenizer*.json")))
    old, ship, storm = (
        vectors[tokenizer.token_to_id(w)].astype(float) for w in ("old", "ship", "storm")
    )
    scorer = open_baseline(f"baseline:wordllama@{tiny_wordllama}")
    one, other = old + 2 * ship, storm
    expected = one @ other / np.linalg.norm(one) / np.linalg.norm(other)
    assert scorer.similarities([("ship old ship", "storm")])[0] == pytest.approx(expected, abs=1e-6)
    assert "supervised" in scorer.name


def test_the_package_is_a_folder_too(tiny_wordllama: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Found by its place, never imported; without it, its extra is named."""
    (tiny_wordllama / "__init__.py").write_text("raise RuntimeError('imported')")

    class Found:
        origin = str(tiny_wordllama / "__init__.py")

    monkeypatch.setattr("importlib.util.find_spec", lambda _: Found())
    pair = ("the old ship", "the ship left")
    named = f"baseline:wordllama@{tiny_wordllama}"
    alike = [open_baseline(one).similarities([pair])[0] for one in ("baseline:wordllama", named)]
    assert alike[0] == alike[1] != 0
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=r"FOLDER.*firth\[wordllama\]"):
        open_baseline("baseline:wordllama")


def test_identity_is_what_the_files_hold(tiny_wordllama: Path, tmp_path: Path) -> None:
    """Not where they lie."""
    copy = Path(shutil.copytree(tiny_wordllama, tmp_path / "copy"))
    here, there = (identify_baseline(f"baseline:wordllama@{one}") for one in (tiny_wordllama, copy))
    assert here == there
    save_file(
        {"embedding.weight": np.ones((60, 6), np.float16)}, copy / "weights/tiny_6.safetensors"
    )
    assert identify_baseline(f"baseline:wordllama@{copy}") != here


def test_what_is_not_the_model_is_refused(tiny_wordllama: Path, tmp_path: Path) -> None:
    """Nothing there, two of a kind, another tensor, too few vectors, no tokenizer."""
    with pytest.raises(InputError, match=r"absent.*pip download"):
        open_baseline(f"baseline:wordllama@{tmp_path}/absent")
    copy = Path(shutil.copytree(tiny_wordllama, tmp_path / "copy"))
    spec, file = f"baseline:wordllama@{copy}", copy / "weights" / "tiny_6.safetensors"
    open_baseline(spec)
    shutil.copy(file, copy / "second.safetensors")
    with pytest.raises(InputError, match="expected a folder with one"):
        open_baseline(spec)
    (copy / "second.safetensors").unlink()
    save_file({"embedding.weight": np.ones((3, 6), np.float16)}, file)
    with pytest.raises(InputError, match=r"shape \(3, 6\) for the"):
        open_baseline(spec)
    save_file({"other": np.ones((60, 6), np.float16)}, file)
    with pytest.raises(InputError, match=r"expected the tensor embedding\.weight"):
        open_baseline(spec)
    next(copy.rglob("*tokenizer*.json")).write_text("{}")
    with pytest.raises(InputError, match="not a tokenizer"):
        open_baseline(spec)

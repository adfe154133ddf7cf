"""Files of word vectors: every format gives the same vectors, and bad files say what is wrong."""

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest

from firth.lexical.vector_files import Format, detect_format, read_vectors
from firth.run.errors import InputError

WORDS = ["the", "ship", "Zürich", "storm"]
VECTORS = np.random.default_rng(4).normal(size=(4, 5)).astype(np.float32)


def write(path: Path, form: Format) -> Path:
    """The same four vectors in one of the formats."""
    header = f"{len(WORDS)} {VECTORS.shape[1]}\n"
    lines = [
        f"{word} {' '.join(map(repr, row.tolist()))}\n"
        for word, row in zip(WORDS, VECTORS, strict=True)
    ]
    if form is Format.FASTTEXT:
        from gensim.models import FastText
        from gensim.models.fasttext import save_facebook_model

        model = FastText(vector_size=5, min_count=1, bucket=20, seed=1, workers=1)
        model.build_vocab([WORDS])
        model.train([WORDS], total_examples=1, epochs=1)
        save_facebook_model(model, str(path))
    elif form is Format.BINARY:
        body = b"".join(
            word.encode() + b" " + struct.pack("<5f", *row) + b"\n"
            for word, row in zip(WORDS, VECTORS, strict=True)
        )
        path.write_bytes(header.encode() + body)
    else:
        text = "".join([header] * (form is Format.TEXT) + lines)
        path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("form", [Format.TEXT, Format.BINARY, Format.GLOVE])
def test_formats_are_told_apart_and_read_alike(tmp_path: Path, form: Format) -> None:
    """Whatever the file is called: the same words, the same vectors, and nothing else."""
    path = write(tmp_path / "vectors.dat", form)
    assert detect_format(path) is form
    found = read_vectors(path)
    assert found.dimensions == 5
    for word, row in zip(WORDS, VECTORS, strict=True):
        vector = found.look_up(word)
        assert vector is not None
        np.testing.assert_allclose(vector, row, rtol=1e-6)
    assert found.look_up("harbour") is None
    assert form.value in found.name


def test_fasttext_text_with_trailing_blanks(tmp_path: Path) -> None:
    """.vec files end each line with a blank."""
    path = write(tmp_path / "crawl.vec", Format.TEXT)
    path.write_text(path.read_text("utf-8").replace("\n", " \n"), encoding="utf-8")
    found = read_vectors(path).look_up("ship")
    assert found is not None
    np.testing.assert_allclose(found, VECTORS[1], rtol=1e-6)


def test_compressed_files_are_read(tmp_path: Path) -> None:
    """By their ending, as gensim does it."""
    plain = write(tmp_path / "glove.txt", Format.GLOVE)
    path = tmp_path / "glove.txt.gz"
    path.write_bytes(gzip.compress(plain.read_bytes()))
    assert read_vectors(path).look_up("ship") is not None


def test_fasttext_models_know_unseen_words(tmp_path: Path) -> None:
    """A word made of known subwords has a vector."""
    found = read_vectors(write(tmp_path / "model.bin", Format.FASTTEXT))
    assert found.look_up("ships") is not None
    assert found.look_up("ship") is not None


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no word vectors"),
        (b"A novel begins here.\nIt was a dark night.\n", "no word vectors"),
        (b"\x80\x04\x95pickle", "save_word2vec_format"),
        (b"3 2\nthe 0.1 0.2\nship 0.3 0.4\n", "cannot be read"),
        (b"2 3\nthe 0.1 0.2 0.3\nship 0.3 0.4\n", "cannot be read"),
        (b"2 3\nthe \x00\x00", "cannot be read"),
        (b"the 0.1 0.2\nship 0.3 x\n", "cannot be read"),
        (b"the 0.1 0.2\nship nan 0.1\n", "not finite"),
    ],
)
def test_bad_files_say_what_is_wrong(tmp_path: Path, content: bytes, message: str) -> None:
    """The error names the file and what was expected."""
    path = tmp_path / "bad.txt"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message) as error:
        read_vectors(path)
    assert "bad.txt" in str(error.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """No traceback of a library."""
    with pytest.raises(InputError, match=r"nowhere\.txt: cannot be read"):
        read_vectors(tmp_path / "nowhere.txt")


@pytest.mark.parametrize("first", ["4294967296 4", "3 99999999999", f"{'9' * 5000} 4"])
def test_a_first_line_that_says_too_much_is_refused(tmp_path: Path, first: str) -> None:
    """Before room is taken for all that it says."""
    path = tmp_path / "vectors.txt"
    path.write_text(f"{first}\nship 1 2 3 4\nsea 1 2 3 4\n")
    with pytest.raises(InputError, match=r"vectors\.txt"):
        read_vectors(path)

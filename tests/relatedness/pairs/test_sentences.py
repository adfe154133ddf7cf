"""The same sentences from every kind of file; broken lines are counted, and cost no other."""

import csv
import gzip
import json
from pathlib import Path

import pytest

from firth.relatedness.pairs.sentences import SentenceSource, SourceRecord, WhyLeftOut
from firth.run.errors import InputError

TEXTS = ["The ship, sailed.", 'A "storm" came\tup.', "Zoë — naïve 漢字 🚢", "last one here"]


def write(path: Path) -> Path:
    """TEXTS in the format of the file's name."""
    match path.suffixes[0]:
        case ".txt":
            content = "\n\n".join(text.replace("\t", " ") for text in TEXTS)
        case ".tsv":
            lines = [
                "id\tsentence",
                *(f"{n}\t{t.replace(chr(9), ' ')}" for n, t in enumerate(TEXTS)),
            ]
            content = "\r\n".join(lines)
        case ".csv":
            with path.open("w", encoding="utf-8-sig", newline="") as file:
                writer = csv.writer(file)
                writer.writerow(["text", "n"])
                writer.writerows((text.replace("\t", "\n"), 1) for text in TEXTS)
            return path
        case _:
            content = "\n".join(json.dumps({"text": text}, ensure_ascii=False) for text in TEXTS)
    data = content.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


@pytest.mark.parametrize("name", ["a.txt", "a.tsv", "a.csv", "a.jsonl", "a.txt.gz", "a.jsonl.gz"])
def test_the_same_sentences_from_every_format(name: str, tmp_path: Path) -> None:
    """Blanks of any kind become one, so that a TSV can hold every sentence."""
    found = list(SentenceSource(write(tmp_path / name)).read(1, 99))
    assert [one.texts[0] for one in found] == [text.replace("\t", " ") for text in TEXTS]
    assert found[-1].place >= found[0].place >= 1


def test_broken_lines_cost_only_themselves(tmp_path: Path) -> None:
    """Each is counted, and the first are named with their line."""
    path = tmp_path / "bad.jsonl"
    good = b'{"text": "good one"}'
    bad = [b"{", b"[1]", b'{"texts": "x"}', b'{"text": 3}', b'{"text": "\xff"}']
    path.write_bytes(b"\n".join([good, *bad, good]))
    origin = SentenceSource(path)
    kept = [SourceRecord(place, ("good one",)) for place in (1, 7)]
    assert list(origin.read(1, 9)) == kept
    assert origin.left_out == {WhyLeftOut.BROKEN: 5}
    assert [f"line {n}:" in text for n, text in enumerate(origin.examples, start=2)] == [True] * 5


def test_rows_of_a_wrong_length(tmp_path: Path) -> None:
    """A row with too many cells is left out; the next one is read."""
    path = tmp_path / "rows.tsv"
    path.write_text("sentence1\tsentence2\na\tb\nc\nd\te\tf\ng\th\n", encoding="utf-8")
    origin = SentenceSource(path, pairs=True)
    assert [one.texts for one in origin.read(1, 9)] == [("a", "b"), ("g", "h")]
    assert origin.left_out[WhyLeftOut.BROKEN] == 2


def test_half_a_surrogate_pair_is_dropped(tmp_path: Path) -> None:
    """JSON can name what UTF-8 cannot hold."""
    path = tmp_path / "half.jsonl"
    path.write_text('{"text": "a \\ud800 b"}', encoding="utf-8")
    assert [one.texts[0] for one in SentenceSource(path).read(1, 9)] == ["a b"]


@pytest.mark.parametrize(
    ("name", "content", "kind", "message"),
    [
        ("x.tsv", "a\tb\n1\t2\n", {}, "no column sentence.*--column"),
        ("x.tsv", "text\n1\n", {"extra": ("target",)}, "no column target"),
        ("x.csv", 'text\n"never closed\n', {}, "not CSV"),
        ("x.csv", "", {}, "empty"),
        ("x.txt", "a\n", {"pairs": True}, "can hold pairs"),
        ("x.tsv", "text\na\n", {"columns": ["a", "b"]}, "expected 1"),
        ("x.odt", "", {}, "unknown ending"),
    ],
)
def test_what_cannot_be_read(
    name: str, content: str, kind: dict[str, object], message: str, tmp_path: Path
) -> None:
    """The error names the file, what was got and what was expected."""
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        list(SentenceSource(path, **kind).read(1, 9))  # type: ignore[arg-type]

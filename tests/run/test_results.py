"""`firth.run.results`: every answer is text, records, a file and a table, with the same items."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import ClassVar

import pytest

from firth.run.errors import InputError
from firth.run.results import TOP, Record, Result, Results


class Kind(StrEnum):
    NEAR = "near"


@dataclass(frozen=True)
class Item(Record):
    derived: ClassVar = ("length",)
    text: str
    kind: Kind = Kind.NEAR
    spans: tuple[tuple[int, int], ...] = ((0, 1),)

    @property
    def length(self) -> int:
        return len(self.text)


@dataclass(frozen=True, repr=False, kw_only=True)
class Items(Results[Item]):
    named: ClassVar = "found"
    columns: ClassVar = ("text", "length")
    note: str = ""

    def summary(self) -> str:
        return f"{len(self)} items"

    def lines(self, top: int) -> Iterator[str]:
        yield self.summary()
        yield from (f"- {item.text}" for item in self[:top])


@dataclass(frozen=True, repr=False)
class Verdict(Result):
    score: float

    def summary(self) -> str:
        return f"score {self.score}"


HOSTILE = "<b>x</b>\x1b[2J\u202e"
ITEMS = Items(items=tuple(Item(f"text {n}") for n in range(30)), note="n")


def test_text_has_so_many_items_and_fits_the_screen() -> None:
    """Texts of users are escaped, and long lines wrapped."""
    assert str(ITEMS) == ITEMS.text() == "\n".join(ITEMS.lines(TOP))
    assert len(ITEMS.text(3).split("\n")) == 4
    long = Items(items=(Item("word " * 40), Item(HOSTILE))).text()
    assert max(map(len, long.split("\n"))) <= 80
    assert "\x1b" not in long


def test_plain_values_are_those_of_json() -> None:
    """Enumerations are values, tuples lists; what is derived is there, and `top` cuts the items."""
    values = ITEMS.as_dict(2)
    assert json.loads(json.dumps(values)) == values
    assert (values["count"], len(values["found"]), values["note"]) == (30, 2, "n")
    item = {"text": "text 0", "kind": "near", "spans": [[0, 1]], "length": 6}
    assert values["found"][0] == ITEMS.records()[0] == item
    assert Verdict(0.5).records() == [Verdict(0.5).as_dict()] == [{"score": 0.5}]


@pytest.mark.parametrize("extension", ["json", "html", "txt", "csv", "jsonl"])
def test_a_file_has_all_items_in_the_form_of_its_name(tmp_path: Path, extension: str) -> None:
    """Also more than a text or a notebook shows; a file that is there is replaced only by force."""
    path = ITEMS.save(tmp_path / f"items.{extension}")
    content = path.read_text()
    assert content.count("text 29") == 1
    rows = {"json": 1, "html": 4, "txt": 31, "csv": 31, "jsonl": 30}
    assert len(content.splitlines()) == rows[extension]
    with pytest.raises(InputError, match="exists"):
        ITEMS.save(path)
    assert Items(items=ITEMS[:1]).save(path, force=True).read_text() != content


def test_a_notebook_shows_a_table() -> None:
    """With the named columns; no text acts on the page."""
    html = Items(items=(Item(HOSTILE),))._repr_html_()
    assert "<th>text</th><th>length</th>" in html
    assert "&lt;b&gt;x" in html
    assert not {"\x1b", "\u202e"} & set(html)
    assert ITEMS._repr_html_().count("<tr>") == TOP + 1
    assert pytest.importorskip("pandas").DataFrame(ITEMS.records()).equals(ITEMS.to_frame())

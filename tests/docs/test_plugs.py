"""Each snippet of the page about other libraries runs where its library is installed."""

import re
from typing import Any

import numpy as np
import pytest
from tests.conftest import blocks

PRELUDE, *SNIPPETS = blocks("guides/plugs.md")
LIBRARIES = [
    re.findall(r"^(?:from|import) (\w+)", snippet, re.MULTILINE)[0] for snippet in SNIPPETS
]
FAQ = """\
How do I get my money back?
Where is the nearest shop?
Which sizes of shoes are there?
The parcel did not arrive.
Can a gift be wrapped?
Who answers the telephone on Sunday?
Is the newsletter free of charge?
My password was rejected.
Do lamps come with bulbs?
When are coats reduced?
What does express delivery cost?
A button of my jacket is missing.
Are the plants safe for cats?
How is leather cleaned?
The invoice names another company.
May I collect an order myself?
Which cards are accepted?
Is there a student discount?
How long do batteries last?
The colour differs from the picture.
Can I change my address later?
Do you deliver to islands?
Why was my account closed?
Are spare parts sold separately?""".splitlines()


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the first block of the page defines, in a folder with `faq.txt`."""
    folder = tmp_path_factory.mktemp("plugs")
    (folder / "faq.txt").write_text("\n".join(FAQ), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        names: dict[str, Any] = {"folder": folder}
        exec(PRELUDE, names)
    return names


@pytest.mark.parametrize(
    ("library", "snippet"), zip(LIBRARIES, SNIPPETS, strict=True), ids=LIBRARIES
)
def test_each_snippet_finds_the_answer(
    library: str, snippet: str, prepared: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Above the calibrated threshold, and nothing below it."""
    pytest.importorskip(library)
    monkeypatch.chdir(prepared["folder"])
    monkeypatch.setenv("ANONYMIZED_TELEMETRY", "False")
    names = dict(prepared)
    exec(snippet, names)
    cosines = prepared["vectors"] @ prepared["model"].encode(prepared["query"])
    above = {FAQ[row] for row in np.flatnonzero(cosines >= prepared["cut"])}
    assert FAQ[0] in above, "the premise"
    assert len(above) < len(FAQ)
    assert FAQ[0] in names["hits"]
    if library not in ("pandas", "polars"):  # These search by words, too.
        assert {*names["hits"]} <= above


def test_every_library_of_the_page_is_met() -> None:
    assert len(LIBRARIES) >= 8
    assert len({*LIBRARIES}) == len(LIBRARIES)

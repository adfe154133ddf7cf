"""Whatever is built, added, removed and searched, a run holds what a dict of documents holds."""

import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.corpus.conftest import contents, keys_of
from tests.search.conftest import build_encoder

from firth.corpus.build import add_documents, build_corpus, remove_documents
from firth.corpus.corpus import Corpus
from firth.run.console import set_quiet
from firth.run.run import Run
from firth.run.settings import parse_settings
from firth.search.index import build_added, build_index
from firth.search.search import MODES, UNITS, Mode, Search, Unit

IDS = "abcdef"
SHARED = 2
"""The version of which three documents have the same text."""
SOME = st.dictionaries(st.sampled_from(IDS), st.integers(0, SHARED), min_size=1)
"""Id → version of its text."""


def record(id: str, version: int) -> dict[str, str]:
    """Return a document: title and date name id and version, and so does the text, but `SHARED`."""
    year = 2000 + 5 * IDS.index(id) + version
    name = id if version < SHARED else "adadad"[IDS.index(id)]
    text = f"The ship {name}{version} left. A captain stayed in harbor {ord(name) * 7 + version}."
    return {"id": id, "title": f"Diary of {id}{id}{version}", "date": f"{year}-01-01", "text": text}


class Documents(RuleBasedStateMachine):
    """Builds, additions, removals and searches in any order, beside a dict of documents."""

    def __init__(self) -> None:
        super().__init__()
        set_quiet(True)
        self.folder = Path(tempfile.mkdtemp())
        self.run = Run.create(self.folder / "run", parse_settings({}, "test"))
        self.versions: dict[str, int] = {}
        self.added: set[str] = set()
        self.removed: set[str] = set()
        self.keys: dict[int, tuple[str, str]] = {}

    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    @initialize(versions=SOME)
    def begin(self, versions: dict[str, int]) -> None:
        build_encoder(self.run)
        self.build(versions)

    @rule(versions=SOME)
    def build(self, versions: dict[str, int]) -> None:
        """Other inputs replace those of the last build, and leave what was added."""
        staged = {id: version for id, version in versions.items() if id not in self.removed}
        if not staged:
            return
        build_corpus(self.run, [record(id, version) for id, version in versions.items()])
        build_index(self.run)
        build_added(self.run)
        kept = {id: self.versions[id] for id in self.added}
        self.versions = kept | staged
        self.added -= staged.keys()

    @rule(versions=SOME)
    def add(self, versions: dict[str, int]) -> None:
        """What is added replaces documents of its ids, and brings back what was removed."""
        add_documents(self.run, [record(id, version) for id, version in versions.items()])
        build_added(self.run)
        self.versions |= versions
        self.added |= versions.keys()
        self.removed -= versions.keys()

    @precondition(lambda self: len(self.versions) > 1)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        """What is removed stays so; one document is left."""
        id = data.draw(st.sampled_from(sorted(self.versions)))
        remove_documents(self.run, [id])
        build_added(self.run)
        del self.versions[id]
        self.added.discard(id)
        self.removed.add(id)

    @invariant()
    def holds_the_documents(self) -> None:
        """No other document is there, a text once, and a key never gets another document."""
        if not self.versions:
            return
        found = contents(self.run)
        assert {id: " ".join(found[id]) for id in found} == {
            id: record(id, version)["text"] for id, version in self.versions.items()
        }
        assert Corpus.open(self.run, "all").n_documents == len({*map(tuple, found.values())})
        for id, key in keys_of(self.run).items():
            assert self.keys.setdefault(key, (id, found[id][0])) == (id, found[id][0])

    @precondition(lambda self: self.versions)
    @rule(year=st.integers(2000, 2027), mode=st.sampled_from(MODES), unit=st.sampled_from(UNITS))
    def search(self, year: int, mode: Mode, unit: Unit) -> None:
        """Every document that the filter selects is found, and no other one; a text once."""
        dates = {id: record(id, version)["date"] for id, version in self.versions.items()}
        expected = {id for id, date in dates.items() if date >= str(year)}
        if not expected:
            return
        hits = Search.open(self.run).search(
            "a ship and a captain", top=50, mode=mode, unit=unit, where=f"date >= {year}"
        )
        assert {id for hit in hits for id in (hit.document, *hit.also)} == expected
        assert all(hit.date == dates[hit.document] for hit in hits)
        assert len({hit.text for hit in hits}) == len(hits)

    @precondition(lambda self: self.versions)
    @rule(data=st.data(), unit=st.sampled_from(UNITS))
    def search_a_title(self, data: st.DataObject, unit: Unit) -> None:
        """A title finds its document, though another one has the same text."""
        id = data.draw(st.sampled_from(sorted(self.versions)))
        title = record(id, self.versions[id])["title"]
        hits = Search.open(self.run).search(title, top=50, unit=unit)
        found = {hit.document: hit.title for hit in hits}
        assert found[id] == title


Documents.TestCase.settings = settings(max_examples=15, stateful_step_count=10, deadline=None)
TestDocuments = Documents.TestCase

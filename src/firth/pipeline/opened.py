"""What is open of a run, as it was at one moment; another process may change the run meanwhile.

Documents have the version of the store, and stages that of their manifests. `Opened.now` compares
both, in microseconds, and opens again what has changed. While another process builds, what was
built before stays open, because half of a build is of no use. The documents are those of now.
"""

from collections.abc import Callable, Hashable
from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from firth.corpus.corpus import Corpus
from firth.encoders.encoder import UnitEncoder
from firth.encoders.static import STATIC, StaticEncoder
from firth.pipeline.stages import STAGES
from firth.run.errors import ChangedError
from firth.run.run import CONFIG, PinnedRun, Run
from firth.scorer.scorer import Scorer

if TYPE_CHECKING:
    from firth.search.calibration import Calibration
    from firth.search.search import Search

T = TypeVar("T")
_OF_DOCUMENTS = ("corpus", "search", "_answers")


class Opened:
    """The parts of a run; each is opened when it is first used.

    A part raises `ChangedError` where its stage was built again since.
    """

    def __init__(self, run: Run) -> None:
        self.run = PinnedRun(run, [*STAGES])
        self._half = self.run.stamps  # of a build that goes on, or was interrupted

    def now(self) -> "Opened":
        """Return what is open of the run as it is now: this, where nothing has changed."""
        if self.run.stamps_now() not in (self.run.stamps, self._half):
            new = Opened(self.run)
            if new.run.is_whole and (self.run.path / CONFIG).is_file():
                new.run.settings = Run.open(self.run.path).settings
                return new
            self._half = new.run.stamps
        open_parts = self.__dict__
        if ("corpus" not in open_parts or self.corpus.is_current()) and (
            "search" not in open_parts or self.search.index.is_current()
        ):
            return self
        new = copy(self)
        for name in _OF_DOCUMENTS:
            new.__dict__.pop(name, None)
        if "search" in open_parts:
            new.search = self.search.renewed()
        return new

    @cached_property
    def scorer(self) -> Scorer:
        """What scores pairs."""
        return Scorer.open(self.run)

    @cached_property
    def encoder(self) -> UnitEncoder:
        """The encoder of the run, whose vectors search compares."""
        from firth.search.index import open_index_encoder

        return open_index_encoder(self.run)

    @cached_property
    def static(self) -> StaticEncoder:
        """The static model that was learned from the text."""
        return StaticEncoder.open(self.run.folder(STATIC))

    @cached_property
    def calibration(self) -> "Calibration":
        """The meaning of cosines."""
        from firth.search.calibration import Calibration

        return Calibration.open(self.run)

    @cached_property
    def corpus(self) -> Corpus:
        """All documents."""
        return Corpus.open(self.run, "all")

    @cached_property
    def search(self) -> "Search":
        """What searches all documents."""
        from firth.search.search import Search

        return Search.open(self.run)

    @cached_property
    def _answers(self) -> dict[Hashable, object]:
        return {}

    def once(self, answer: Callable[["Opened"], T]) -> T:
        """Return what a function says of this state; it is called once."""
        if answer not in self._answers:
            corpus, result = self.corpus, answer(self)
            if not corpus.is_current():
                raise ChangedError(f"{self.run.path}: its documents were changed. Try again")
            self._answers[answer] = result
        return self._answers[answer]  # type: ignore[return-value]

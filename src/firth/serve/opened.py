"""The parts of a run that are asked, opened once each when they are first needed."""

from functools import cached_property

from firth.check import CHECK
from firth.context import CONTEXT, THEMES
from firth.corpus.library import Library
from firth.index import INDEX
from firth.index.encoder import TextEncoder
from firth.lexical.scorer import Explainer
from firth.origin.ensemble import EnsembleOrigin
from firth.origin.origin import Origin
from firth.run.errors import InputError, MissingStageError
from firth.run.run import Run
from firth.scale.scale import Scale, Scorer
from firth.search.search import Search
from firth.surrogate import SURROGATE


class Opened:
    """A run's Origin, Surrogate, index, documents and scales; of one thread, as stemmers are.

    Args:
        run: The run; it is read as it is now, and may not be built again meanwhile.
    """

    def __init__(self, run: Run) -> None:
        self.run = run

    @cached_property
    def has(self) -> dict[str, bool]:
        """Which parts are there."""
        run = self.run
        stages = {"surrogate": SURROGATE, "index": INDEX, "themes": THEMES, "check": CHECK}
        found = {name: run.has(stage) for name, stage in stages.items()}
        found["origin"] = all(run.has(stage) for stage in Origin.reads(run))
        found["reasons"] = found["origin"] and CONTEXT in Origin.reads(run)
        scales = self.origin_scale, self.vector_scale
        return found | {"scale": any(scale is not None for scale in scales)}

    def open_all(self) -> None:
        """Open what is there, so that the first request does not wait for it."""
        if self.has["reasons"]:
            self.reasons.explain("a", "b")
        elif self.has["origin"]:
            self.origin.similarity("a", "b")
        if self.has["surrogate"]:
            self.encoder.encode(["a"])
        if self.has["index"]:
            self.search.search("a", top=1)

    @cached_property
    def library(self) -> Library:
        """The documents."""
        return Library.open(self.run)

    @cached_property
    def origin(self) -> Explainer:
        """Origin, of either kind."""
        Origin.need(self.run)
        return Origin.open(self.run)

    @cached_property
    def reasons(self) -> EnsembleOrigin:
        """Origin, of the kind whose reasons are told; raise `InputError` if it is the other."""
        if not isinstance(self.origin, EnsembleOrigin):
            raise InputError(
                f"{self.run.path}: its Origin is the method as printed, whose reasons are not told "
                "here. Ask for them with: firth explain"
            )
        return self.origin

    @cached_property
    def encoder(self) -> TextEncoder:
        """The Surrogate."""
        return TextEncoder.open(str(self.run.folder(SURROGATE)))

    @cached_property
    def search(self) -> Search:
        """The index, whose encoder is the Surrogate where it is of its vectors."""
        found = Search.open(self.run)
        if self.run.has(SURROGATE) and found.index.model == str(self.run.folder(SURROGATE)):
            found.index.encoder = self.encoder
        if self.has["origin"]:
            found.origin = self.origin
        return found

    @cached_property
    def origin_scale(self) -> Scale | None:
        """What Origin's scores mean."""
        try:
            return Scale.current(self.run, Scorer.ORIGIN)
        except MissingStageError:
            return None

    @cached_property
    def vector_scale(self) -> Scale | None:
        """What cosines of the index' vectors mean."""
        return Scale.current(self.run, Scorer.VECTORS)

    @cached_property
    def surrogate_scale(self) -> Scale | None:
        """What the Surrogate's cosines mean."""
        return Scale.of_model(self.run, self.run.folder(SURROGATE))

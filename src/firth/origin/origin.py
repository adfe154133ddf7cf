"""Origin: the similarity of two sentences by the contexts they fit into."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from firth.context import CONTEXT
from firth.corpus import CORPUS, TOKENIZER
from firth.lexical.scorer import Explainer
from firth.origin import ORIGIN
from firth.origin.settings import Method
from firth.paper.coherence import COHERENCE
from firth.paper.generation import GENERATOR
from firth.paper.retrieve import RETRIEVE
from firth.run.errors import MissingStageError
from firth.run.run import Run
from firth.run.stage import Stage


class Origin:
    """Compares sentences by the contexts they fit into.

    `Origin.open` gives the kind that the run is configured for (`origin.method`): `EnsembleOrigin`,
    the default, or `PaperOrigin`.

    Example:
        >>> origin = Origin.open("run")
        >>> score = origin.similarity("The ship left the harbour.", "A boat sailed away.")
        >>> -1 <= score <= 1
        True
    """

    @staticmethod
    def open(run: str | Path | Run, seed: int | None = None, **changes: object) -> Explainer:
        """Open a run whose stages are built.

        Args:
            run: Folder of the run.
            seed: Seed of random contexts (method `paper`); None takes the run's.
            **changes: Settings that differ from the run's, for this object only: `method`, and
                those of the method's section (`paper`, or `origin` for the ensemble).

        Raises:
            MissingStageError: A stage is not built; the message names the command.
            ConfigError: A changed setting is unknown or out of range.
        """
        run = Run.open(run)
        method = {"method": changes.pop("method", None)}
        chosen = run.config.changed({"origin": method}, "Origin.open").origin.method
        with _other_told(run, chosen):
            # Either loads libraries that the other does without.
            if chosen is Method.PAPER:
                from firth.paper.origin import PaperOrigin

                return PaperOrigin.open(run, seed, **changes)
            from firth.origin.ensemble import EnsembleOrigin

            return EnsembleOrigin.open(run, seed, **changes)

    @staticmethod
    def reads(run: Run) -> tuple[Stage, ...]:
        """The stages that the run's kind of Origin reads."""
        return _READS[run.config.origin.method]

    @staticmethod
    def need(run: Run) -> None:
        """Raise `MissingStageError` where a stage that the run's kind of Origin reads is not built;
        it says so where the other kind's are."""
        with _other_told(run, run.config.origin.method):
            run.inputs(*Origin.reads(run))

    @staticmethod
    def settings(run: Run) -> tuple[str, ...]:
        """Dotted paths of the settings that the run's kind of Origin follows."""
        if run.config.origin.method is Method.PAPER:
            generator = ("generator.batch_tokens", "generator.precision")
            return ("origin.method", "paper", "retrieve.chunks", "seed", *generator)
        return ("context.precision", "origin.method", "origin.numbers", "origin.own",
                "origin.weights")  # fmt: skip

    @staticmethod
    def identity(run: Run) -> str:
        """Fingerprint of everything that decides what the run's Origin answers."""
        Origin.need(run)
        return run.identity(__name__, Origin.reads(run), Origin.settings(run))


_READS: dict[Method, tuple[Stage, ...]] = {
    Method.PAPER: (CORPUS, TOKENIZER, RETRIEVE, COHERENCE, GENERATOR),
    Method.ENSEMBLE: (CORPUS, CONTEXT, ORIGIN),
}
_ASKED = {
    Method.PAPER: "Origin as printed: --preset paper-small, or with the run's own settings "
    "--set origin.method=paper",
    Method.ENSEMBLE: "Origin's default: --set origin.method=ensemble",
}


@contextmanager
def _other_told(run: Run, method: Method) -> Iterator[None]:
    """Where a stage is missing, say whether the other kind of Origin could be asked instead."""
    try:
        yield
    except MissingStageError as error:
        other = next(each for each in Method if each is not method)
        if all(run.has(stage) for stage in _READS[other]):
            raise error.adding(f"Or ask what is built, {_ASKED[other]}") from None
        raise

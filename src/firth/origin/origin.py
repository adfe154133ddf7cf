"""Origin: the similarity of two sentences by the contexts they fit into."""

from pathlib import Path

from firth.context import CONTEXT
from firth.corpus import CORPUS, TOKENIZER
from firth.lexical.scorer import Explainer
from firth.origin import ORIGIN
from firth.origin.settings import Method
from firth.paper.coherence import COHERENCE
from firth.paper.generation import GENERATOR
from firth.paper.retrieve import RETRIEVE
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
        # Either loads libraries that the other does without.
        if run.config.changed({"origin": method}, "Origin.open").origin.method is Method.PAPER:
            from firth.paper.origin import PaperOrigin

            return PaperOrigin.open(run, seed, **changes)
        from firth.origin.ensemble import EnsembleOrigin

        return EnsembleOrigin.open(run, seed, **changes)

    @staticmethod
    def reads(run: Run) -> tuple[Stage, ...]:
        """The stages that the run's kind of Origin reads."""
        if run.config.origin.method is Method.PAPER:
            return (CORPUS, TOKENIZER, RETRIEVE, COHERENCE, GENERATOR)
        return (CORPUS, CONTEXT, ORIGIN)

    @staticmethod
    def settings(run: Run) -> tuple[str, ...]:
        """Dotted paths of the settings that the run's kind of Origin follows."""
        if run.config.origin.method is Method.PAPER:
            generator = ("generator.batch_tokens", "generator.precision")
            return ("origin.method", "paper", "retrieve.chunks", "seed", *generator)
        return ("context.precision", "origin.method", "origin.own", "origin.weights")

    @staticmethod
    def identity(run: Run) -> str:
        """Fingerprint of everything that decides what the run's Origin answers."""
        return run.identity(__name__, Origin.reads(run), Origin.settings(run))

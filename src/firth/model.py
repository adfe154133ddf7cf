"""The model of a run: one object that compares, explains, searches and finds duplicates.

>>> import firth
>>> model = firth.build(["A ship sailed.", "A boat left.", "It rained."])  # doctest: +SKIP
>>> model.similarity("A ship sailed.", "A boat left.")  # doctest: +SKIP
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib.metadata import entry_points
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import RLock
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from firth.corpus.build import CorpusSummary
from firth.corpus.read import Inputs
from firth.encoders.encoder import Encoder, UnitEncoder
from firth.encoders.kinds import open_encoder
from firth.encoders.pretrained import opened_with_encoder, with_encoder
from firth.encoders.static import StaticEncoder
from firth.evaluation.baselines import PREFIX, open_baseline
from firth.pipeline.built import Built, save_encoder, save_static
from firth.pipeline.opened import Opened
from firth.pipeline.stages import bring_up_to_date
from firth.run.console import silenced
from firth.run.errors import ChangedError, InputError
from firth.run.executor import Executor, Local
from firth.run.run import CONFIG, Run
from firth.run.settings import Settings, nested_settings
from firth.scorer.explanation import Explanation
from firth.scorer.scorer import Scorer
from firth.text.types import CosineScorer, Floats, PairScorer, Singles
from firth.text.words import checked_text, checked_texts

if TYPE_CHECKING:
    from firth.search.calibration import Calibration
    from firth.search.documents import Comparison, Given, Reuse
    from firth.search.duplicates import Duplicates
    from firth.search.search import Hits

T = TypeVar("T")


class Model:
    """A run's models, its documents, and everything that can be asked of them.

    Use `build` or `load`. Parts are opened when they are first used. Each call answers from the run
    as it is then: what another process added, removed or built is opened again.

    A model can be pickled: another process opens its run.

    Attributes:
        path: Folder of the run.
        run: The run.
        built: What the call of `build` did; None for a model that was loaded.
        quiet: Whether it shows no progress and no notes.
    """

    def __init__(
        self,
        run: Run,
        built: Built | None = None,
        *,
        quiet: bool = False,
        temporary: TemporaryDirectory[str] | None = None,
    ) -> None:
        self.run, self.path, self.built, self.quiet = run, run.path, built, quiet
        self._temporary = temporary  # Its folder is removed with the model, or at the end.
        self._lock = RLock()
        self._opened = Opened(run)

    def __getstate__(self) -> dict[str, object]:
        """Return the run; the copy does not own a temporary one."""
        return {"run": self.run, "quiet": self.quiet}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Open the run again; raise `InputError` where it is gone."""
        run: Run = state["run"]
        if not (run.path / CONFIG).is_file():
            raise InputError(
                f"{run.path}: the run of this model is gone. A run without a folder lives as long "
                "as the model that built it; name a folder: firth.build(documents, 'kb')"
            )
        self.__init__(run, quiet=state["quiet"])  # type: ignore[misc]

    def __repr__(self) -> str:
        """Name the run and the size of its corpus."""
        corpus = self.ask(lambda opened: opened.corpus)
        return (
            f"Model({str(self.path)!r}: {len(corpus.owners):,} documents, "
            f"{len(corpus):,} sentences)"
        )

    def ask(self, question: Callable[[Opened], T]) -> T:
        """Return the answer to a question about one state of the run, that of now.

        It is asked once more where another process changed the run meanwhile.

        Raises:
            ChangedError: The run was changed again.
        """
        try:
            return question(self._now())
        except ChangedError:
            return question(self._now())

    def _now(self) -> Opened:
        with self._lock:
            before, self._opened = self._opened, self._opened.now()
            if self._opened.run is not before.run:
                self.run = Run(self.path, self._opened.run.settings, self.run.encoder)
            return self._opened

    @property
    def scorer(self) -> Scorer:
        """The exact, explained similarity of two texts."""
        return self.ask(lambda opened: opened.scorer)

    @property
    def encoder(self) -> UnitEncoder:
        """The encoder of the run, whose vectors search compares; `save_encoder` copies it."""
        return self.ask(lambda opened: opened.encoder)

    @property
    def static(self) -> StaticEncoder:
        """The static model that was learned from the text; `save_static` copies it."""
        return self.ask(lambda opened: opened.static)

    @property
    def calibration(self) -> "Calibration":
        """The meaning of cosines: thresholds and rates of false matches."""
        return self.ask(lambda opened: opened.calibration)

    @overload
    def similarity(self, a: str, b: str) -> float: ...  # type: ignore[overload-overlap]
    @overload
    def similarity(self, a: Sequence[str], b: Sequence[str]) -> Floats: ...
    def similarity(self, a: str | Sequence[str], b: str | Sequence[str]) -> float | Floats:
        """Return the similarity of texts, in [-1, 1]; equal texts have 1.

        Args:
            a: A text, or n texts.
            b: A text, or m texts.

        Returns:
            A number for two texts. For lists, an (n, m) array of all pairs, as
            `SentenceTransformer.similarity` returns.
        """
        if isinstance(a, str) and isinstance(b, str):
            return float(self.scorer.similarities([(a, b)])[0])
        rows, columns = (
            [text] if isinstance(text, str) else checked_texts(text, name)
            for name, text in (("a", a), ("b", b))
        )
        pairs = [(row, column) for row in rows for column in columns]
        return self.scorer.similarities(pairs).reshape(len(rows), len(columns))

    def explain(self, a: str, b: str) -> Explanation:
        """Return the similarity of two texts with the evidence that sums to it."""
        return self.ask(lambda opened: opened.scorer.explain(a, b))

    def encode(self, texts: str | Sequence[str]) -> Singles:
        """Return the unit vectors that search compares: (d,) or (n, d), as float32.

        They are those of the run's encoder. Where that was learned from the text, a text without
        any known word has the zero vector.
        """
        is_single = isinstance(texts, str)
        checked = checked_texts([texts] if isinstance(texts, str) else texts, "texts")
        vectors = self.encoder.encode(checked)
        return vectors.reshape(-1) if is_single else vectors

    def search(
        self,
        query: str,
        *,
        top: int = 10,
        mode: Literal["hybrid", "dense", "lexical"] = "hybrid",
        unit: Literal["sentence", "document"] = "sentence",
        where: str | None = None,
    ) -> "Hits":
        """Return the best sentences or documents for a query, the best first.

        Args:
            query: A few words, a sentence, or a longer text.
            top: Number of hits, at most.
            mode: Words and vectors, vectors alone, or words alone.
            unit: Hits are sentences, or documents with their best sentence.
            where: Filter of documents, such as `date >= 2020 and author = 'Ann'`.

        Raises:
            InputError: The query is empty, or the filter is invalid or matches no document.
        """
        checked_text(query, "query")
        return self.ask(
            lambda opened: opened.search.search(query, top=top, mode=mode, unit=unit, where=where)
        )

    @overload
    def duplicates(
        self,
        threshold: float | None = None,
        *,
        unit: Literal["sentence", "document"] = "sentence",
        false_share: float | None = None,
        where: str | None = None,
    ) -> "Duplicates": ...
    @overload
    def duplicates(
        self, threshold: float | None = None, *, unit: Literal["passage"], where: str | None = None
    ) -> "Reuse": ...
    def duplicates(
        self,
        threshold: float | None = None,
        *,
        unit: Literal["sentence", "document", "passage"] = "sentence",
        false_share: float | None = None,
        where: str | None = None,
    ) -> "Duplicates | Reuse":
        """Return groups of equal, nearly equal and similar texts.

        Args:
            threshold: Lowest similarity of similar texts, in (0, 1).
            unit: Sentences or documents are compared; or `passage` gives the pairs of documents
                that share passages.
            false_share: Expected share of chance that the default threshold allows, in (0, 1).
            where: Filter of documents, as for `search`.
        """
        from firth.search.documents import find_reuse
        from firth.search.duplicates import FALSE_SHARE, duplicates

        share = FALSE_SHARE if false_share is None else false_share
        with self._silence():
            if unit == "passage":
                return self.ask(
                    lambda opened: find_reuse(opened.search.index, threshold=threshold, where=where)
                )
            return self.ask(
                lambda opened: duplicates(
                    opened.search.index,
                    unit=unit,
                    threshold=threshold,
                    false_share=share,
                    where=where,
                )
            )

    def compare_documents(
        self, a: "Given", b: "Given", *, threshold: float | None = None
    ) -> "Comparison":
        """Align the sentences of two documents, which are ids of the run or files.

        `threshold` is the least similarity of matching sentences, in (0, 1).
        """
        from firth.search.documents import compare_documents

        with self._silence():
            return self.ask(
                lambda opened: compare_documents(opened.search.index, a, b, threshold=threshold)
            )

    def add(self, documents: Inputs) -> CorpusSummary:
        """Add documents, or replace those with the same id; they can be searched at once.

        Args:
            documents: Paths, texts, records or a data frame, as for `build`.

        The models stay as they are. `build` learns from the new documents.
        """
        from firth.pipeline.stages import add_documents

        with self._silence():
            return add_documents(self.run, documents)

    def remove(self, ids: Iterable[str]) -> CorpusSummary:
        """Remove documents by id; their vectors are skipped from now on.

        Raises:
            InputError: The run has no document of such an id; nothing is removed then.
        """
        from firth.pipeline.stages import remove_documents

        with self._silence():
            return remove_documents(self.run, checked_texts(ids, "ids"))

    def save_encoder(self, folder: str | Path, force: bool = False) -> Path:
        """Copy the encoder of the run to a folder, with a model card that has its figures.

        Raises:
            InputError: It has no files, as an object and a service have none.
        """
        with self._silence():
            return save_encoder(self.run, self.encoder, Path(folder), force)

    def save_static(self, folder: str | Path, force: bool = False) -> Path:
        """Copy the learned static model to a folder that `SentenceTransformer(folder)` opens."""
        with self._silence():
            return save_static(self.run, Path(folder), force)

    def report(self, path: str | Path, force: bool = False) -> Path:
        """Write a page of HTML about the run: what was read, how good it is, and examples."""
        from firth.pipeline.report import write_report

        return write_report(self.run, Path(path), force)

    def _silence(self) -> AbstractContextManager[None]:
        return silenced() if self.quiet else nullcontext()


def build(
    documents: Inputs | None,
    run: str | Path | None = None,
    *,
    encoder: str | Encoder | None = None,
    settings: Mapping[str, object] | None = None,
    seed: int | None = None,
    executor: Executor | None = None,
    quiet: bool = False,
) -> Model:
    """Learn from documents and return the model; what is up to date is not built again.

    An interrupted call is continued by the same call.

    Args:
        documents: Files, folders or globs; a list of texts; records with a field `text`; or
            a pandas or polars data frame. None reads those of a run again.
        run: Folder of the run. It is made where it does not exist. By default the run is in a
            temporary folder, which is removed with the model.
        encoder: A pretrained encoder that the scorer uses: a folder, name or address; or an object
            with `encode`, such as a `SentenceTransformer`, which `load` is then given again. By
            default, as with `auto`, the best installed one that reads the language. `none` learns
            from the text alone.
        seed: Seed of every random choice. By default 13.
        executor: What runs shards, such as `firth.run.executor.Processes(4)`.
        settings: Settings, such as `{"corpus": {"language": "de"}}` or `{"corpus.language": "de"}`.

    Raises:
        ConfigError: Settings do not exist, have wrong values, or name what does not exist.
        InputError: The documents cannot be read, or none is left.

    Example:
        >>> import firth
        >>> model = firth.build(["A ship sailed.", "A boat left.", "It rained."])  # doctest: +SKIP
        >>> german = {"corpus.language": "de"}
        >>> model = firth.build("documents/", "kb", settings=german)  # doctest: +SKIP
    """
    if run is None and documents is None:
        raise InputError("got neither documents nor the folder of a run; expected one of them")
    temporary = None
    if run is None:
        temporary = TemporaryDirectory(prefix="firth-")
        run = Path(temporary.name) / "run"
    folder = Path(run)
    opened = Run.open(folder) if (folder / CONFIG).is_file() else Run(folder, Settings())
    changes = nested_settings(settings or {}, "settings")
    if isinstance(encoder, str):
        changes["encoder"] = {**changes.get("encoder", {}), "model": encoder}
    if seed is not None:
        changes["seed"] = seed
    opened = opened.changed(changes)
    if encoder is not None and not isinstance(encoder, str):
        opened = with_encoder(opened, encoder)
    with silenced() if quiet else nullcontext():
        built = bring_up_to_date(opened, documents, executor or Local())
    return Model(built.run, built, quiet=quiet, temporary=temporary)


def load(run: str | Path, *, encoder: str | Encoder | None = None, quiet: bool = False) -> Model:
    """Open the model of a run.

    Args:
        run: Folder of the run.
        encoder: The object that `build` got as encoder, or the same files in another place. By
            default the run opens the encoder that its settings name.
        quiet: Whether the model shows no progress and no notes.

    Raises:
        InputError: The folder is no run, or it was built with another encoder.
    """
    opened = Run.open(run)
    opened = opened if encoder is None else opened_with_encoder(opened, encoder)
    return Model(opened, quiet=quiet)


def open_scorer(name: str) -> PairScorer:
    """Open something that scores pairs of texts.

    Args:
        name: Folder of a run; folder, file or hub name of an encoder; `baseline:dice`,
            `baseline:tfidf@RUN` or `baseline:ngrams@RUN`; or a name that a plug-in of the
            entry-point group `firth.scorers` knows.

    Raises:
        InputError: There is nothing of that name.
    """
    if (Path(name) / CONFIG).is_file():
        return Scorer.open(Run.open(name))
    if not name.startswith(PREFIX):
        encoder = open_encoder(name)
        return CosineScorer(name, encoder.encode)
    baseline, _, run = name.removeprefix(PREFIX).partition("@")
    opened = Run.open(run) if run else None
    try:
        return open_baseline(baseline, opened)
    except InputError as error:
        for point in entry_points(group="firth.scorers"):
            try:
                plug_in = point.load()
            except ImportError:  # It needs an extra that is not installed.
                continue
            scorer: PairScorer | None = plug_in(baseline, opened)
            if scorer is not None:
                return scorer
        raise error from None

"""What a model has read: the corpus of its run, a set of pairs, or files of documents."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

from firth.baselines.spec import PREFIX, Spec
from firth.corpus import CORPUS
from firth.run.errors import InputError
from firth.run.files import fingerprint_file, fingerprint_value
from firth.run.run import CONFIG, Run

_BATCH = 8_192
_PAIR = ("sentence1", "sentence2")


@dataclass(frozen=True)
class Training:
    """A training text as a stream.

    Attributes:
        source: What the caller calls it.
        fingerprint: Of its content.
        batches: Starts the stream of its sentences, some thousands at a time.
    """

    source: str
    fingerprint: str
    batches: Callable[[], Iterator[list[str]]]


def training_runs(model: str) -> list[Path]:
    """The runs whose corpus `model` learned from; empty where none is known.

    A run itself (Origin), anything in its folder (the Surrogate), and the runs that a baseline
    names: after `@`, or as the value of an option.
    """
    named = [model]
    if model.startswith(PREFIX):
        spec = Spec.parse(model)
        named = [value for value in (spec.source, *spec.options.values()) if value]
    runs: dict[Path, None] = {}
    for name in named:
        # RUN, RUN/surrogate, RUN/baselines/NAME
        for folder in (Path(name), *list(Path(name).parents)[:2]):
            if (folder / CONFIG).is_file():
                runs[folder] = None
                break
    return list(runs)


def training_of(source: str | Path) -> Training:
    """Open a training text.

    Args:
        source: A run (its corpus), a Parquet file of pairs (`sentence1`, `sentence2`), or anything
            `firth corpus build` reads: files, folders, globs, `hub:NAME`.

    Raises:
        InputError: It is none of these.
        MissingStageError: The run has no corpus yet.
    """
    path = Path(source)
    if (path / CONFIG).is_file():
        from firth.corpus.corpus import Corpus

        run = Run.open(path)
        return Training(
            str(source), run.manifest(CORPUS).digest, lambda: Corpus.open(run).batches()
        )
    if path.suffix == ".parquet" and path.is_file() and _holds_pairs(path):
        return Training(str(source), fingerprint_file(path), partial(_pairs, path))
    from firth.corpus.inputs import resolve_inputs

    sources = resolve_inputs([source])
    fingerprint = fingerprint_value([one.fingerprint() for one in sources])
    return Training(str(source), fingerprint, partial(_documents, str(source)))


def _holds_pairs(path: Path) -> bool:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        names = pq.read_schema(path).names
    except (OSError, pa.ArrowInvalid) as error:
        raise InputError(f"{path}: not a Parquet file ({error})") from error
    return all(name in names for name in _PAIR)


def _pairs(path: Path) -> Iterator[list[str]]:
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(_BATCH, columns=list(_PAIR)):
            for name in _PAIR:
                yield [text for text in batch.column(name).to_pylist() if text]


def _documents(source: str) -> Iterator[list[str]]:
    """The sentences of documents, split as a corpus is; broken records are left out."""
    from firth.corpus.inputs import resolve_inputs
    from firth.corpus.read import Record, read_source
    from firth.corpus.settings import CorpusConfig
    from firth.corpus.split import split_paragraphs

    config = CorpusConfig()
    sentences = (
        sentence
        for one in resolve_inputs([source])
        for item in read_source(one, config, lambda _: None)
        if isinstance(item, Record)
        for paragraph in split_paragraphs(item.text)
        for sentence in paragraph
    )
    while batch := list(islice(sentences, _BATCH)):
        yield batch

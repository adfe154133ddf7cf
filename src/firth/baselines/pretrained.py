"""The baselines that need no training here: how a spec turns into their scorers.

Heavy libraries are imported when a baseline is opened, so that naming one stays light.
"""

from pathlib import Path

from firth.baselines.spec import UNKNOWN, Spec
from firth.lexical.scorer import Scorer
from firth.run.errors import InputError
from firth.run.files import fingerprint_file, fingerprint_value

VECTOR_OPTIONS = {
    "mean": "mean of the word vectors (default)",
    "max": "largest value in each dimension",
    "idf[=RUN]": "mean weighted by idf, of a run's corpus or the evaluated set's own sentences",
    "sif[=RUN]": "mean weighted by a / (a + p(w)), first principal component removed",
    "content": "leaves stop words out; goes with all others",
    "set-component": "with +sif=RUN: the component from the evaluated set, p(w) from the run",
}
MASKED = {"bert": "bert-base-uncased", "roberta": "roberta-base"}
"""Hub names that these baselines take by default."""
TRANSFORMER_OPTIONS = {
    "mean": "mean over the tokens of the last layer (default)",
    "max": "largest value in each dimension, over the tokens of the last layer",
    "first-last": "mean over the tokens of the first and the last layer",
    "cls": "the first token of the last layer",
}


def open_vectors(spec: Spec) -> Scorer:
    """`baseline:vectors@FILE`."""
    from firth.baselines.averaged import average
    from firth.lexical.vector_files import read_vectors

    _check_vector_options(spec)
    return average(read_vectors(Path(str(spec.source))), spec)


def open_glove(spec: Spec) -> Scorer:
    """`baseline:glove`: the vectors of an installed package."""
    from firth.baselines.averaged import average
    from firth.baselines.glove import installed_glove

    _check_vector_options(spec)
    return average(installed_glove(), spec)


def _check_vector_options(spec: Spec) -> None:
    spec.one_of("mean", "mean", "max", "idf", "sif")
    if "set-component" in spec.options and not spec.options.get("sif"):
        raise InputError(f"{spec}: +set-component only goes with +sif=RUN")


def identify_vectors(spec: Spec) -> object:
    """Bytes of the vectors and, where a run is named, its corpus."""
    from firth.baselines.glove import glove_files

    files = [Path(spec.source)] if spec.source else glove_files()
    runs = [corpus_digest(value) for _, value in sorted(spec.options.items())]
    return [[fingerprint_file(file) for file in files if file.is_file()], runs]


def open_masked(spec: Spec) -> Scorer:
    """`baseline:bert[@NAME_OR_PATH]` and `baseline:roberta[@NAME_OR_PATH]`."""
    from firth.baselines.transformer import Pool, open_pooled

    pool = Pool(spec.one_of(Pool.MEAN, *Pool))
    return open_pooled(spec.source or MASKED[spec.name], pool)


def open_use(spec: Spec) -> Scorer:
    """`baseline:use[+distilled][@HANDLE_OR_FOLDER]`."""
    from firth.baselines.use import open_distilled, open_tensorflow

    if "distilled" in spec.options:
        return open_distilled(spec.source)
    return open_tensorflow(spec.source)


def identify_model(spec: Spec) -> object:
    """Bytes of the files of a folder, or the commit of a hub name that was fetched before."""
    name = spec.source or MASKED.get(spec.name)
    if name is None:
        return UNKNOWN
    if (folder := Path(name)).is_dir():
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        return [[path.relative_to(folder).as_posix(), fingerprint_file(path)] for path in files]
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        found = try_to_load_from_cache(name, "config.json")
    except HFValidationError:
        return UNKNOWN
    return Path(found).parent.name if isinstance(found, str) else UNKNOWN


def corpus_digest(run: str | None) -> str | None:
    """What an idf of a run is learned from: its corpus, and the sentences taken of it.

    None without a run.

    Raises:
        InputError: `run` is not a run.
        MissingStageError: It has no corpus yet.
    """
    if run is None:
        return None
    from firth.corpus import CORPUS
    from firth.run.run import Run

    opened = Run.open(run)
    limits = opened.config.corpus
    return fingerprint_value([opened.manifest(CORPUS).digest, limits.min_words, limits.max_words])

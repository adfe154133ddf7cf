"""Baselines by name: `baseline:NAME[+OPTION…][@SOURCE]`.

Heavy libraries are imported when a baseline is opened, so that naming one stays light.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from firth.baselines.spec import PREFIX, UNKNOWN, Spec
from firth.baselines.trained import TRAINED, fingerprint_folder, identify_trained, open_trained
from firth.lexical.scorer import Scorer
from firth.run.errors import InputError
from firth.run.files import fingerprint_file, fingerprint_value

MASKED = {"bert": "bert-base-uncased", "roberta": "roberta-base"}
"""Hub names that these baselines take by default."""
STUDENT = "sentence-transformers/distiluse-base-multilingual-cased-v2"
"""What `use+distilled` takes by default."""


@dataclass(frozen=True)
class Baseline:
    """One entry of the registry.

    Attributes:
        summary: What it does, in a line.
        open: Builds the scorer.
        source: What may follow `@`; None when nothing may.
        required: Whether something must follow `@`.
        options: Option → what it does; a name that ends in `=RUN` takes a value, one that ends in
            `[=RUN]` may.
        identify: What identifies all it reads, whatever it is called: plain values, such as
            digests of files; `UNKNOWN` where that cannot be told.
    """

    summary: str
    open: Callable[[Spec], Scorer]
    source: str | None = None
    required: bool = False
    options: Mapping[str, str] = field(default_factory=dict)
    identify: Callable[[Spec], object] = lambda _: None


def _dice(_: Spec) -> Scorer:
    from firth.baselines.dice import Dice

    return Dice()


def _tfidf(spec: Spec) -> Scorer:
    from firth.corpus.statistics import fit_idf_on_run
    from firth.lexical.tfidf import TfIdf

    return TfIdf(fit_idf_on_run(spec.source) if spec.source else None)


def _ngrams(spec: Spec) -> Scorer:
    from firth.baselines.ngrams import NgramTfIdf
    from firth.corpus.statistics import fit_idf_on_run

    return NgramTfIdf(fit_idf_on_run(spec.source) if spec.source else None)


def _plain_tfidf(spec: Spec) -> Scorer:
    from firth.corpus.statistics import fit_idf_on_run
    from firth.lexical.tfidf import PlainTfIdf
    from firth.lexical.words import Stemmer

    return PlainTfIdf(fit_idf_on_run(spec.source, Stemmer.NONE) if spec.source else None)


def _averaged(spec: Spec) -> Scorer:
    from firth.baselines.averaged import average, check
    from firth.baselines.glove import installed_glove
    from firth.lexical.vector_files import read_vectors

    check(spec)
    return average(read_vectors(Path(spec.source)) if spec.source else installed_glove(), spec)


def _identify_averaged(spec: Spec) -> object:
    from firth.baselines.glove import glove_files

    files = [Path(spec.source)] if spec.source else glove_files()
    runs = [_corpus_digest(value) for _, value in sorted(spec.options.items())]
    return [[fingerprint_file(file) for file in files if file.is_file()], runs]


def _masked(spec: Spec) -> Scorer:
    from firth.baselines.transformer import Pool, open_pooled

    pool = Pool(spec.one_of(Pool.MEAN, *Pool))
    return open_pooled(spec.source or MASKED[spec.name], pool)


def _use(spec: Spec) -> Scorer:
    from firth.baselines.transformer import open_sentence_encoder
    from firth.baselines.use import open_tensorflow

    if "distilled" not in spec.options:
        return open_tensorflow(spec.source, STUDENT)
    name = spec.source or STUDENT
    return open_sentence_encoder(name, f"{name}, a student of the Universal Sentence Encoder")


def _identify_use(spec: Spec) -> object:
    if "distilled" in spec.options:
        return _identify_model(spec.source or STUDENT)
    folder = Path(spec.source) if spec.source else None
    return fingerprint_folder(folder) if folder and folder.is_dir() else UNKNOWN


def _use_lite(spec: Spec) -> Scorer:
    from firth.baselines.use_lite import open_use_lite

    return open_use_lite(str(spec.source))


def _identify_use_lite(spec: Spec) -> object:
    from firth.baselines.use_lite import identify_use_lite

    return identify_use_lite(str(spec.source))


def _wordllama(spec: Spec) -> Scorer:
    from firth.baselines.wordllama import open_wordllama

    return open_wordllama(spec.source)


def _identify_wordllama(spec: Spec) -> object:
    from firth.baselines.wordllama import wordllama_files

    return [fingerprint_file(file) for file in wordllama_files(spec.source)]


def _prompt_eol(spec: Spec) -> Scorer:
    from firth.baselines.prompt_eol import open_prompt_eol

    return open_prompt_eol(spec)


def _identify_prompt_eol(spec: Spec) -> object:
    from firth.baselines.prompt_eol import model_of
    from firth.run.run import Run

    run = spec.options.get("zscore")
    seed = Run.open(run).config.seed if run else None
    model = _identify_model(*model_of(spec))
    return model if model == UNKNOWN else fingerprint_value([model, _corpus_digest(run), seed])


def _identify_model(name: str, gguf_file: str | None = None) -> str:
    """Fingerprint of what a model's files hold; `UNKNOWN` where it cannot be had."""
    from firth.run.model_files import PretrainedFiles

    try:
        return PretrainedFiles.find(name, gguf_file).fingerprint
    except InputError:
        return UNKNOWN


def _corpus_digest(run: str | None) -> str | None:
    """What an idf of a run is learned from: its corpus, and the sentences taken of it."""
    if run is None:
        return None
    from firth.corpus import CORPUS
    from firth.run.run import Run

    opened = Run.open(run)
    limits = opened.config.corpus
    return fingerprint_value([opened.manifest(CORPUS).digest, limits.min_words, limits.max_words])


_VECTOR_OPTIONS = {
    "mean": "mean of the word vectors (default)",
    "max": "largest value in each dimension",
    "idf[=RUN]": "mean weighted by idf, of a run's corpus or the evaluated set's own sentences",
    "sif[=RUN]": "mean weighted by a / (a + p(w)), first principal component removed",
    "content": "leaves stop words out; goes with all others",
    "set-component": "with +sif=RUN: the component from the evaluated set, p(w) from the run",
}
_TOKEN_OPTIONS = {
    "mean": "mean over the tokens of the last layer (default)",
    "max": "largest value in each dimension, over the tokens of the last layer",
    "first-last": "mean over the tokens of the first and the last layer",
    "cls": "the first token of the last layer",
}
BASELINES: Mapping[str, Baseline] = {
    "dice": Baseline("words in common (Dice coefficient over word sets)", _dice),
    "tfidf": Baseline(
        "cosine of idf vectors of stems; idf from the evaluated set, or from a run's corpus",
        _tfidf,
        source="RUN",
        identify=lambda spec: _corpus_digest(spec.source),
    ),
    "tfidf-ngrams": Baseline(
        "cosine of idf vectors of stems, of which those that are spelled alike meet half way",
        _ngrams,
        source="RUN",
        identify=lambda spec: _corpus_digest(spec.source),
    ),
    "tfidf-words": Baseline(
        "cosine of plain tf-idf vectors of words, as scikit-learn makes them; idf as above",
        _plain_tfidf,
        source="RUN",
        identify=lambda spec: _corpus_digest(spec.source),
    ),
    "vectors": Baseline(
        "averaged word vectors of a word2vec, GloVe or fastText file",
        _averaged,
        source="FILE",
        required=True,
        options=_VECTOR_OPTIONS,
        identify=_identify_averaged,
    ),
    "glove": Baseline(
        "averaged GloVe vectors (6B, 50 dimensions), of an installed package",
        _averaged,
        options=_VECTOR_OPTIONS,
        identify=_identify_averaged,
    ),
    **{
        name: Baseline(
            f"averaged token vectors of {title}, not fine-tuned ({MASKED[name]})",
            _masked,
            source="NAME_OR_PATH",
            options=_TOKEN_OPTIONS,
            identify=lambda spec: _identify_model(spec.source or MASKED[spec.name]),
        )
        for name, title in {"bert": "BERT", "roberta": "RoBERTa"}.items()
    },
    "use": Baseline(
        "Universal Sentence Encoder, through tensorflow-hub (or a student of it)",
        _use,
        source="HANDLE_OR_FOLDER",
        options={"distilled": "a student of multilingual USE, through sentence-transformers"},
        identify=_identify_use,
    ),
    "use-lite": Baseline(
        "Universal Sentence Encoder lite, of an npm package, run by firth (supervised)",
        _use_lite,
        source="FOLDER_OR_TGZ",
        required=True,
        identify=_identify_use_lite,
    ),
    "wordllama": Baseline(
        "averaged token vectors of WordLlama, of an installed package (supervised)",
        _wordllama,
        source="FOLDER",
        identify=_identify_wordllama,
    ),
    "prompt-eol": Baseline(
        "states of a causal language model asked for the sentence in one word",
        _prompt_eol,
        source="MODEL",
        required=True,
        options={
            "zscore=RUN": "dimensions scaled by their mean and deviation over a run's sentences",
            "float32": "no bfloat16, also where the processor has it",
        },
        identify=_identify_prompt_eol,
    ),
    **{
        name: Baseline(
            trained.summary,
            lambda spec: open_trained(spec.name, str(spec.source)),
            source="RUN",
            required=True,
            identify=lambda spec: identify_trained(spec.name, str(spec.source)),
        )
        for name, trained in TRAINED.items()
    },
}


def parse_baseline(text: str) -> tuple[Baseline, Spec]:
    """The entry that `baseline:NAME[+OPTION…][@SOURCE]` names, and what it asks of it.

    Raises:
        InputError: No such baseline or option, a source it does not take, or none where it needs
            one.
    """
    spec = Spec.parse(text)
    if spec.name not in BASELINES:
        known = ", ".join(PREFIX + known for known in BASELINES)
        raise InputError(f"{text}: no such baseline. Known: {known}")
    entry = BASELINES[spec.name]
    if spec.source and entry.source is None:
        raise InputError(
            f"{text}: {PREFIX}{spec.name} takes nothing after @. Write {PREFIX}{spec.name}"
        )
    if entry.required and not spec.source:
        hint = ""
        if spec.name in TRAINED:
            hint = f", trained by: firth train baseline {spec.name} --run {entry.source}"
        raise InputError(f"{text}: nothing after @. Write {PREFIX}{spec.name}@{entry.source}{hint}")
    forms = {form.split("=")[0].removesuffix("["): form for form in entry.options}
    for option, value in spec.options.items():
        if option not in forms:
            takes = ", ".join("+" + form for form in entry.options) or "none"
            raise InputError(f"{text}: no option +{option}. It takes: {takes}")
        form = forms[option]
        if value is not None and "=" not in form:
            raise InputError(f"{text}: +{option} takes no value, got {value!r}. Write +{option}")
        if value is None and "=" in form and not form.endswith("]"):
            raise InputError(f"{text}: +{option} needs a value. Write +{form}")
    return entry, spec


def open_baseline(text: str) -> Scorer:
    """Build the scorer `baseline:NAME[+OPTION…][@SOURCE]`.

    Raises:
        InputError: No such baseline, an option or source it does not take, or files that cannot
            be used.
        MissingStageError: A run that it names has no corpus yet, or did not train this baseline.
        MissingExtraError: A library it needs is not installed.
    """
    entry, spec = parse_baseline(text)
    return entry.open(spec)


def identify_baseline(text: str) -> object:
    """What tells this baseline from others, names of files and folders aside: plain values.

    None where nobody knows what the name stands for.

    Raises:
        InputError: As `open_baseline`.
    """
    entry, spec = parse_baseline(text)
    identity = entry.identify(spec)
    return None if identity == UNKNOWN else [spec.name, sorted(spec.options), identity]

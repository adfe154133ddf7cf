"""Baselines by name: `baseline:NAME[+OPTION…][@SOURCE]`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from firth.baselines import pretrained
from firth.baselines.spec import PREFIX, UNKNOWN, Spec
from firth.baselines.trained import TRAINED, identify_trained, open_trained
from firth.lexical.scorer import Scorer
from firth.run.errors import InputError

__all__ = ["BASELINES", "PREFIX", "Baseline", "identify_baseline", "open_baseline"]


def _nothing(_: Spec) -> object:
    return None


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
    identify: Callable[[Spec], object] = _nothing


def _dice(_: Spec) -> Scorer:
    from firth.baselines.dice import Dice

    return Dice()


def _tfidf(spec: Spec) -> Scorer:
    from firth.lexical.idf import fit_idf_on_run
    from firth.lexical.tfidf import TfIdf

    return TfIdf(fit_idf_on_run(spec.source) if spec.source else None)


def _corpus(spec: Spec) -> object:
    return pretrained.corpus_digest(spec.source)


def _open_prompt_eol(spec: Spec) -> Scorer:
    from firth.context.prompt import open_prompt_eol

    return open_prompt_eol(spec)


def _identify_prompt_eol(spec: Spec) -> object:
    from firth.context.prompt import identify_prompt_eol

    return identify_prompt_eol(spec)


def _open_trained(spec: Spec) -> Scorer:
    return open_trained(spec.name, str(spec.source))


def _identify_trained(spec: Spec) -> object:
    return identify_trained(spec.name, str(spec.source))


BASELINES: Mapping[str, Baseline] = {
    "dice": Baseline("words in common (Dice coefficient over word sets)", _dice),
    "tfidf": Baseline(
        "cosine of tf-idf vectors; idf from the evaluated set, or from a run's corpus",
        _tfidf,
        source="RUN",
        identify=_corpus,
    ),
    "vectors": Baseline(
        "averaged word vectors of a word2vec, GloVe or fastText file",
        pretrained.open_vectors,
        source="FILE",
        required=True,
        options=pretrained.VECTOR_OPTIONS,
        identify=pretrained.identify_vectors,
    ),
    "glove": Baseline(
        "averaged GloVe vectors (6B, 50 dimensions), of an installed package",
        pretrained.open_glove,
        options=pretrained.VECTOR_OPTIONS,
        identify=pretrained.identify_vectors,
    ),
    "bert": Baseline(
        "averaged token vectors of BERT, not fine-tuned (bert-base-uncased)",
        pretrained.open_masked,
        source="NAME_OR_PATH",
        options=pretrained.TRANSFORMER_OPTIONS,
        identify=pretrained.identify_model,
    ),
    "roberta": Baseline(
        "averaged token vectors of RoBERTa, not fine-tuned (roberta-base)",
        pretrained.open_masked,
        source="NAME_OR_PATH",
        options=pretrained.TRANSFORMER_OPTIONS,
        identify=pretrained.identify_model,
    ),
    "use": Baseline(
        "Universal Sentence Encoder, through tensorflow-hub (or a student of it)",
        pretrained.open_use,
        source="HANDLE_OR_FOLDER",
        options={"distilled": "a student of multilingual USE, through sentence-transformers"},
        identify=pretrained.identify_model,
    ),
    "prompt-eol": Baseline(
        "states of a causal language model asked for the sentence in one word",
        _open_prompt_eol,
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
            _open_trained,
            source="RUN",
            required=True,
            identify=_identify_trained,
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
    for option, value in spec.options.items():
        _check_option(text, entry, option, value)
    return entry, spec


def _check_option(text: str, entry: Baseline, option: str, value: str | None) -> None:
    forms = {form.split("=")[0].removesuffix("["): form for form in entry.options}
    if option not in forms:
        takes = ", ".join("+" + form for form in entry.options) or "none"
        raise InputError(f"{text}: no option +{option}. It takes: {takes}")
    form = forms[option]
    if value is not None and "=" not in form:
        raise InputError(f"{text}: +{option} takes no value, got {value!r}. Write +{option}")
    if value is None and "=" in form and not form.endswith("]"):
        raise InputError(f"{text}: +{option} needs a value. Write +{form}")


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

    None for a hub name that was never fetched: nobody knows what it stands for.

    Raises:
        InputError: As `open_baseline`.
    """
    entry, spec = parse_baseline(text)
    identity = entry.identify(spec)
    return None if identity == UNKNOWN else [spec.name, sorted(spec.options), identity]

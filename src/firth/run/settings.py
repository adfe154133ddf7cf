"""The settings of a run: one typed tree, one TOML file.

Every setting of the core is in this file, so that a reader sees them all at once. A wing brings
its sections through the entry-point group `firth.settings` (name of the section → its class).
"""

import hashlib
import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache, reduce
from importlib.metadata import EntryPoint, entry_points
from operator import getitem
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from firth.run.errors import ConfigError, first_line

Fraction = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=1, le=10**15)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Names = Annotated[
    tuple[str, ...],
    BeforeValidator(lambda names: names.split(",") if isinstance(names, str) else names),
]
"""Names, or a text of them with commas."""
AUTO, TEXT_ALONE = "auto", "none"
"""Names in place of an encoder's: the best one installed, and no pretrained encoder."""
EncoderName = Annotated[str, BeforeValidator(lambda name: TEXT_ALONE if name is None else name)]


S = TypeVar("S", bound="Section")


class Section(BaseModel):
    """A part of the settings: immutable, and strict about names that it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class CorpusSettings(Section):
    """How files become documents, and documents sentences."""

    inputs: tuple[str, ...] = ()
    """Files, folders and globs, in the order in which they are read."""
    text_field: str = "text"
    """Field of a record that holds the text. Several fields (`subject,body`) become paragraphs.
    Where a record has no `text`, usual names are looked for, as `body`."""
    title_field: str | None = None
    """Field of a document's title. By default `title`, `subject` or `headline`."""
    id_field: str | None = None
    """Field that names a document. By default `id`, else the file and line."""
    date_field: str | None = None
    """Field of a document's date (ISO 8601). By default `date`, or another usual name."""
    lines: bool = False
    """Whether each line of a text file is a document."""
    fields: Names = ()
    """Further fields to keep, for filters such as `--where "section = 'news'"`."""
    language: Annotated[str, Field(pattern="^(auto|[a-z]{2,3}([+][a-z]{2,3})*)$")] = "auto"
    """Language of the text (ISO 639-1), which chooses stemmer, sentence splitter and word lists. Of
    several, as `de+fr`, each text has its own. By default they are recognized when the first
    documents are read, and kept."""
    max_record_bytes: Count = 32 << 20
    """A longer record is skipped and counted."""
    min_words: Count = 3
    """Models do not learn from sentences with fewer words."""
    max_words: Count = 60
    """Models do not learn from sentences with more words."""
    held_out_fraction: Fraction = 0.05
    """Share of the documents that no model learns from; label-free comparison asks about them."""


class WordSettings(Section):
    """Word vectors, learned from which sentences are neighbors."""

    min_count: Count = 5
    """Rarer stems get no learned vector."""
    vocabulary: Count = 100_000
    """Most frequent stems that get one."""
    dimensions: Count = 200
    epochs: Count | None = None
    """Passes over the corpus. By default as many as make 200 steps, at most 10."""
    batch: Annotated[int, Field(ge=2)] = 1024
    """Pairs of sentences in a step. The other second sentences of a batch are negatives."""
    learning_rate: Positive = 0.01
    """Peak rate of Adam."""


class EncoderSettings(Section):
    """A pretrained encoder that the scorer uses in place of sums of word vectors."""

    model: EncoderName = AUTO
    """Folder, file, hub name, name of a package's model, or address and model of a service
    (`http://localhost:11434/v1#nomic-embed-text`). `none` learns from the text alone. `auto` is
    replaced when the run is built: by the best installed encoder that reads the language, or by
    `none`."""
    pooling: Literal["mean", "cls"] | None = None
    """How token vectors become a sentence vector, for a model that does not say."""
    max_tokens: Count = 256
    """Tokens of a sentence that are read."""


class StaticSettings(Section):
    """The static encoder of every run, whose vectors are sums of words."""

    dimensions: Count = 512
    """Of a sentence vector. The more, the closer it is to the scorer, and the larger is the run."""
    vocabulary: Count = 100_000
    """Words that have a vector."""
    number_weight: Positive = 2.0
    """Factor by which vectors of numbers are longer."""


class ScorerSettings(Section):
    """How the scorer compares two sentences."""

    weights: dict[str, NonNegative] = {}
    """Weights of components: `sentences` (the cosine of sentence vectors, by default 1), `words`
    (the alignment of words, by default 0.5), and those that packages add, by default 0."""
    spelling_weight: NonNegative | None = None
    """Length of a word's character n-gram vector, where its learned vector has length 1. By default
    0.8."""
    contexts: Count | None = None
    """Corpus sentences that explanations draw on. By default 20,000; 2,000 with an
    encoder that is no table."""
    topics: Count = 100
    """Groups of those sentences, at most."""


class QuestionSettings(Section):
    """Questions about held-out documents, which compare models without labels."""

    questions: Count = 2_000
    """Questions of each type, at most."""
    distractors: Count = 9
    """Wrong answers of each question."""


class Settings(Section):
    """All settings of a run: sections of the core, and given values of sections of wings."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, dict[str, Any]] = Field(init=False)

    seed: Annotated[int, Field(ge=0)] = 13
    """Every random choice follows from it."""
    corpus: CorpusSettings = CorpusSettings()
    words: WordSettings = WordSettings()
    encoder: EncoderSettings = EncoderSettings()
    static: StaticSettings = StaticSettings()
    scorer: ScorerSettings = ScorerSettings()
    questions: QuestionSettings = QuestionSettings()

    def wing(self, name: str, kind: type[S], source: str = "the settings") -> S:
        """Return the section of a wing, with defaults for what is not given."""
        return parse_section(kind, self.__pydantic_extra__.get(name, {}), source, at=name)


def pretrained_name(model: str) -> str | None:
    """Return the pretrained encoder that `encoder.model` names; None where it names none yet."""
    return None if model in (AUTO, TEXT_ALONE) else model


def derive_seed(seed: int, *names: str | int) -> int:
    """Return a 63-bit seed for the purpose `names`, independent of every other purpose.

    Every random choice of a run follows from its seed and the name of what it decides.
    """
    text = "/".join(str(part) for part in (seed, *names))
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


# --- Reading and writing -----------------------------------------------------------------------

HEADER = "# Written by firth: the settings of this run that are not defaults, as for --set.\n"
"""How every settings file begins that firth wrote, and may replace."""
_BARE = re.compile("[A-Za-z0-9_-]+")
"""A name that TOML takes without quotes."""


@cache
def wing_sections() -> Mapping[str, EntryPoint]:
    """Return name → entry point of the class, for each section that an installed wing brings."""
    return {point.name: point for point in entry_points(group="firth.settings")}


def parse_settings(values: object, source: str) -> Settings:
    """Check plain values, section → field → value, in which a key may be a dotted path."""
    tree, problems = nested_settings(values, source), list[str]()
    wings = {name: tree.pop(name) for name in [*tree] if name not in Settings.model_fields}
    for name, section in wings.items():
        try:
            if point := wing_sections().get(name):
                parse_section(point.load(), section, source, at=name)
            else:
                problems.append(f"{name}: no such setting{_meant(name)}")
        except ConfigError as error:
            problems += error.problems
    try:
        settings = parse_section(Settings, tree, source)
    except ConfigError as error:
        problems += error.problems
    if problems:
        raise ConfigError(source, problems)
    return settings.model_copy(update=wings)


def parse_section(kind: type[S], values: Mapping[str, Any], source: str, at: str = "") -> S:
    """Check the values of one section; raise `ConfigError` with every problem at once.

    Errors name `source`, a file or option, and the path `at` of the section, as `paper`.
    """
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        before = at.split(".") if at else []
        problems = [_problem(item, before) for item in error.errors()]
        raise ConfigError(source, problems) from None


def load_settings(path: Path) -> Settings:
    """Read a settings file, which may be partial; raise `ConfigError` where it is wrong."""
    return parse_settings(load_changes(path), str(path))


def load_changes(path: Path) -> dict[str, Any]:
    """Read the values of a settings file, section → field → value, without checking them."""
    if path.exists() and not path.is_file():  # Reading a FIFO or device may never end.
        raise ConfigError(str(path), ["not a file; expected a file of settings"])
    try:
        return tomllib.loads(path.read_text(encoding="utf-8", errors="surrogatepass"))
    except FileNotFoundError:
        raise ConfigError(str(path), ["no such file"]) from None
    except OSError as error:
        raise ConfigError(str(path), [f"cannot be read ({error.strerror})"]) from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(str(path), [f"not valid TOML: {first_line(error)}"]) from error


def parse_changes(options: Sequence[str]) -> dict[str, Any]:
    """Return the changes that options such as `corpus.language=de` ask for, as a nested dict.

    All problems are named at once.
    """
    values, problems = read_options(options)
    tree = nested_settings(values, "--set")
    try:
        # A section of a wing may be wrong by itself, and right with what a run has.
        core = {name: value for name, value in tree.items() if name not in wing_sections()}
        parse_settings(core, "--set")
    except ConfigError as error:
        problems += error.problems
    if problems:
        raise ConfigError("--set", problems)
    return tree


def read_options(options: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """Return name → value of options such as `corpus.language=de`, and what is wrong with some.

    A value is one of TOML, as `0.5`, `true`, `["a", "b"]` or `{dimensions = 64}`; any other text
    stands for itself, and none for the default where that is none.
    """
    values: dict[str, Any] = {}
    problems: list[str] = []
    for option in options:
        name, equals, text = option.partition("=")
        if not equals or not name.strip():
            problems.append(f"{option!r}: expected NAME=VALUE, as corpus.language=de")
            continue
        try:
            values[name.strip()] = _value(text.strip())
        except (ValueError, RecursionError) as error:
            problems.append(f"{option!r}: the value is not valid TOML: {first_line(error)}")
    return values, problems


def _value(text: str) -> Any:
    """Return the value of an option; raise `ValueError` for a broken list, table or string."""
    if not text:
        return None
    try:
        document = tomllib.loads(f"value = {text}")
    except ValueError:
        if text[0] in "[{\"'":
            raise
        return text
    value = document["value"]
    return (
        value if len(document) == 1 and isinstance(value, str | int | float | list | dict) else text
    )


def change_settings(settings: Settings, changes: Mapping[str, Any], source: str) -> Settings:
    """Return settings with `changes` (section → field → value) laid over them."""
    return parse_settings(_laid_over(settings.model_dump(mode="json"), changes), source)


def settings_text(settings: Settings) -> str:
    """Return the text of a settings file: a line for each setting that is not its default."""
    values = settings.model_dump(mode="json", exclude_defaults=True)
    lines = [f"{path} = {_toml(value)}\n" for path, value in _lines(values)]
    return HEADER + "".join(lines)


def values_of(settings: Settings, paths: Sequence[str]) -> dict[str, Any]:
    """Return dotted path → plain value of each section or field named."""
    tree = settings.model_dump(mode="json")
    for name in {path.partition(".")[0] for path in paths} & wing_sections().keys():
        kind: type[Section] = wing_sections()[name].load()
        tree[name] = settings.wing(name, kind).model_dump(mode="json")
    return {path: reduce(getitem, path.split("."), tree) for path in sorted(paths)}


def nested_settings(values: object, source: str) -> dict[str, Any]:
    """Return a tree in which dotted keys are sections; raise `ConfigError` where it is none."""
    if not isinstance(values, Mapping):
        got = type(values).__name__
        raise ConfigError(source, [f"got a {got}; expected sections, as {{'seed': 13}}"])
    return reduce(
        lambda tree, item: dict(_laid_over(tree, _at(str(item[0]), item[1]))), values.items(), {}
    )


def _at(path: str, value: Any) -> Any:
    """Return a tree that holds one value at a dotted path."""
    return reduce(lambda inner, name: {name: inner}, reversed(path.split(".")), value)


def _laid_over(tree: Any, changes: Any) -> Any:
    """Return `tree` with `changes` over it: mappings are merged, other values are replaced."""
    if not isinstance(changes, Mapping):
        return changes
    merged = dict(tree) if isinstance(tree, Mapping) else {}
    for name, change in changes.items():
        merged[str(name)] = _laid_over(merged.get(name), change)
    return merged


def _lines(tree: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Yield dotted path and value of each field, those of sections in sections too."""
    for name, value in tree.items():
        path = before + _key(name)
        if isinstance(value, Mapping):
            yield from _lines(value, f"{path}.")
        elif value is not None:  # TOML has no such value; no default is another one.
            yield path, value


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _toml(name)


def _toml(value: Any) -> str:
    """Return a value as TOML writes it."""
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_key(name)} = {_toml(inner)}' for name, inner in value.items())}}}"
    if isinstance(value, float):
        return repr(value)
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _paths(section: type[Section], before: str = "") -> Iterator[str]:
    """Yield the dotted paths of all settings and sections below a section."""
    for name, field in section.model_fields.items():
        yield before + name
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, Section):
            yield from _paths(kind, f"{before}{name}.")


def _meant(path: str) -> str:
    """Return a suggestion of settings with names like an unknown one, in its section or others."""
    paths = [*_paths(Settings)]
    for name, point in wing_sections().items():
        paths += [name, *_paths(point.load(), f"{name}.")]
    section, _, last = path.rpartition(".")
    close = get_close_matches(last, {other.rpartition(".")[2] for other in paths})
    likely = [other for other in paths if other.rpartition(".")[2] in close]
    names = [other for other in likely if other.rpartition(".")[0] == section] or likely
    return f"; did you mean {' or '.join(names[:3])}?" if names else ""


def _problem(item: Any, before: Sequence[str]) -> str:
    """Return one line about an error that pydantic found."""
    path = [str(part) for part in item["loc"]]
    where = ".".join([*before, *path]) or "settings"
    message = str(item["msg"]).removeprefix("Value error, ")
    if item["type"] == "extra_forbidden":
        return f"{where}: no such setting{_meant(where)}"
    if isinstance(item["input"], str | int | float | bool):
        return f"{where}: got {item['input']!r}; {message[0].lower()}{message[1:]}"
    return f"{where}: {message}"

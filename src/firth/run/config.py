"""One typed tree = one YAML file = one run."""

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Annotated, Any, Self

import yaml
from pydantic import Field, ValidationError

from firth.baselines.settings import BaselinesConfig
from firth.check.settings import CheckConfig
from firth.context.settings import AdaptConfig, ContextConfig
from firth.corpus.settings import CorpusConfig, TokenizerConfig
from firth.evaluate.settings import EvaluateConfig
from firth.harvest.settings import HarvestConfig
from firth.index.settings import IndexConfig
from firth.origin.settings import OriginConfig
from firth.paper.settings import CoherenceConfig, GeneratorConfig, PaperConfig, RetrieveConfig
from firth.run.errors import ConfigError
from firth.run.section import Section
from firth.scale.settings import ScaleConfig
from firth.surrogate.settings import CrossEncoderConfig, SurrogateConfig

NOTHING = object()
"""Stands for None in changes, where None changes nothing."""
_SUGGESTED = 3


class Config(Section):
    """The whole of a run."""

    run: str | None = None
    """Folder of the run; relative to the working directory. Set by `--run` elsewhere."""
    seed: Annotated[int, Field(ge=0)] = 13
    corpus: CorpusConfig = CorpusConfig()
    tokenizer: TokenizerConfig = TokenizerConfig()
    check: CheckConfig = CheckConfig()
    retrieve: RetrieveConfig = RetrieveConfig()
    coherence: CoherenceConfig = CoherenceConfig()
    generator: GeneratorConfig = GeneratorConfig()
    paper: PaperConfig = PaperConfig()
    context: ContextConfig = ContextConfig()
    adapt: AdaptConfig = AdaptConfig()
    origin: OriginConfig = OriginConfig()
    harvest: HarvestConfig = HarvestConfig()
    surrogate: SurrogateConfig = SurrogateConfig()
    cross_encoder: CrossEncoderConfig = CrossEncoderConfig()
    index: IndexConfig = IndexConfig()
    scale: ScaleConfig = ScaleConfig()
    baselines: BaselinesConfig = BaselinesConfig()
    evaluate: EvaluateConfig = EvaluateConfig()

    @classmethod
    def parse(cls, values: object, source: str) -> Self:
        """Check a tree of plain values; raise `ConfigError` with every problem at once."""
        if not isinstance(values, dict):
            got = type(values).__name__
            raise ConfigError(source, [f"expected a mapping of sections, got {got}"])
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            raise ConfigError(source, [_problem(item) for item in error.errors()]) from None

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a YAML file; raise `ConfigError` if it is absent, broken or wrong."""
        try:
            values = read_yaml(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise ConfigError(str(path), ["no such file"]) from None
        except OSError as error:
            raise ConfigError(str(path), [f"cannot be read ({error.strerror})"]) from error
        except ValueError as error:
            raise ConfigError(str(path), [f"not valid YAML: {error}"]) from error
        if values is None:
            raise ConfigError(str(path), ["got an empty file; expected sections, as `seed: 13`"])
        return cls.parse(values, str(path))

    def changed(self, changes: dict[str, Any], source: str) -> Self:
        """A copy with `changes` (section → field → value) laid over it.

        None changes nothing; `NOTHING` sets None.

        Raises:
            ConfigError: The result is not a configuration; `source` is named as its origin.
        """
        tree = self.model_dump(mode="json")
        lay_over(tree, changes)
        return self.parse(_plain(tree), source)

    def values(self, paths: Sequence[str]) -> dict[str, Any]:
        """Dotted path → plain value of each section or field named."""
        tree = self.model_dump(mode="json")
        return {path: reduce(getitem, path.split("."), tree) for path in sorted(paths)}

    def handed(self, paths: Sequence[str], to: str) -> "_Handed":
        """This configuration as `to` sees it: only the sections and fields named."""
        return _Handed(self, tuple(tuple(path.split(".")) for path in paths), to)

    def to_yaml(self) -> str:
        """The whole tree as YAML, in the order of this file."""
        text: str = yaml.safe_dump(self.model_dump(mode="json"), sort_keys=False)
        return text


class _Handed:
    """A section of which only the declared parts can be read."""

    def __init__(self, section: Any, paths: tuple[tuple[str, ...], ...], to: str) -> None:
        self._section, self._paths, self._to = section, paths, to

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # which a copy or another process asks for
            raise AttributeError(name)
        inner = tuple(path[1:] for path in self._paths if path[0] == name)
        if not inner:
            raise RuntimeError(f"{self._to} reads the setting {name}, which it does not declare")
        value = getattr(self._section, name)
        return value if () in inner else _Handed(value, inner, self._to)

    def changed(self, changes: dict[str, Any], source: str) -> "_Handed":
        """As `Config.changed`."""
        return _Handed(self._section.changed(changes, source), self._paths, self._to)


# What the constructors of odd scalars (a date that is none, an integer of letters) can raise.
_ODD = (yaml.YAMLError, ValueError, TypeError, ArithmeticError, LookupError, AttributeError)


class _Loader(yaml.SafeLoader):
    """Plain values only: no aliases, whose expansion has no bound, and no NUL."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases (&, *) are not read")
        return super().compose_node(parent, index)

    def construct_scalar(self, node: Any) -> Any:
        value = super().construct_scalar(node)
        if isinstance(value, str) and "\0" in value:  # no path, no name and no number has it
            raise yaml.YAMLError("the character NUL is not read")
        return value


def read_yaml(text: str) -> Any:
    """The plain value of a YAML text; raise `ValueError` for anything else, however odd."""
    try:
        return yaml.load(text, _Loader)  # a SafeLoader
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except _ODD as error:
        raise ValueError(str(error) or type(error).__name__) from error


def _plain(tree: dict[str, Any]) -> dict[str, Any]:
    """A tree with None for `NOTHING`."""
    return {name: _plain(value) if isinstance(value, dict) else None if value is NOTHING else value
            for name, value in tree.items()}  # fmt: skip


def lay_over(tree: dict[str, Any], changes: dict[str, Any]) -> None:
    """Put `changes` into `tree`, section by section; None changes nothing."""
    for name, change in changes.items():
        if isinstance(change, dict) and isinstance(tree.get(name), dict):
            lay_over(tree[name], change)
        elif change is not None:
            tree[name] = change


def _meant(path: Sequence[str]) -> str:
    """The settings that an unknown one may stand for: of like names beside it, or elsewhere."""
    *section, name = path
    known = list(_paths(Config))
    beside = [one[-1] for one in known if [*one[:-1]] == section]
    found = [".".join([*section, one]) for one in get_close_matches(name, beside, _SUGGESTED)]
    elsewhere = get_close_matches(name, {one[-1] for one in known})
    found = found or [".".join(one) for one in known if one[-1] in elsewhere][:_SUGGESTED]
    return f"; did you mean {' or '.join(found)}?" if found else ""


def _paths(section: type[Section], *before: str) -> Iterator[tuple[str, ...]]:
    """Of all settings and sections below a section."""
    for name, field in section.model_fields.items():
        yield (*before, name)
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, Section):
            yield from _paths(kind, *before, name)


def _problem(item: Any) -> str:
    where = ".".join(str(part) for part in item["loc"]) or "configuration"
    message = str(item["msg"]).removeprefix("Value error, ")
    if item["type"] == "extra_forbidden":
        return f"{where}: no such setting{_meant([str(part) for part in item['loc']])}"
    if item["type"] == "tuple_type":
        return f"{where}: got {item['input']!r}; expected a list, as [ONE, TWO]"
    if isinstance(item["input"], str | int | float | bool):
        return f"{where}: got {item['input']!r}; {message[0].lower()}{message[1:]}"
    return f"{where}: {message}"

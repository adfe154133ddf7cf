"""One typed tree = one YAML file = one run."""

from pathlib import Path
from typing import Annotated, Any, Self

import yaml
from pydantic import Field, ValidationError

from firth.baseline_settings import BaselinesConfig
from firth.errors import ConfigError
from firth.fit_settings import FitConfig
from firth.origin_settings import OriginConfig
from firth.settings import (
    CoherenceConfig,
    CorpusConfig,
    EvaluateConfig,
    GeneratorConfig,
    HarvestConfig,
    RetrieveConfig,
    Section,
    SurrogateConfig,
    TokenizerConfig,
)


class Config(Section):
    """The whole of a run."""

    run: str | None = None
    """Folder of the run; relative to the working directory. Set by `--run` elsewhere."""
    seed: Annotated[int, Field(ge=0)] = 13
    corpus: CorpusConfig = CorpusConfig()
    tokenizer: TokenizerConfig = TokenizerConfig()
    retrieve: RetrieveConfig = RetrieveConfig()
    coherence: CoherenceConfig = CoherenceConfig()
    generator: GeneratorConfig = GeneratorConfig()
    fit: FitConfig = FitConfig()
    origin: OriginConfig = OriginConfig()
    harvest: HarvestConfig = HarvestConfig()
    surrogate: SurrogateConfig = SurrogateConfig()
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
            values = yaml.safe_load(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise ConfigError(str(path), ["no such file"]) from None
        except OSError as error:
            raise ConfigError(str(path), [f"cannot be read ({error.strerror})"]) from error
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            raise ConfigError(str(path), [f"not valid YAML: {error}"]) from error
        return cls.parse({} if values is None else values, str(path))

    def changed(self, changes: dict[str, Any], source: str) -> Self:
        """A copy with `changes` (section → field → value) laid over it; None changes nothing.

        Raises:
            ConfigError: The result is not a configuration; `source` is named as its origin.
        """
        tree = self.model_dump(mode="json")
        _lay_over(tree, changes)
        return self.parse(tree, source)

    def to_yaml(self) -> str:
        """The whole tree as YAML, in the order of this file."""
        text: str = yaml.safe_dump(self.model_dump(mode="json"), sort_keys=False)
        return text


def _lay_over(tree: dict[str, Any], changes: dict[str, Any]) -> None:
    for name, change in changes.items():
        if isinstance(change, dict) and isinstance(tree.get(name), dict):
            _lay_over(tree[name], change)
        elif change is not None:
            tree[name] = change


def _problem(item: Any) -> str:
    where = ".".join(str(part) for part in item["loc"]) or "configuration"
    message = str(item["msg"]).removeprefix("Value error, ")
    if item["type"] == "extra_forbidden":
        return f"{where}: no such setting"
    if item["type"] == "tuple_type":
        return f"{where}: got {item['input']!r}; expected a list, as [ONE, TWO]"
    if isinstance(item["input"], str | int | float | bool):
        return f"{where}: got {item['input']!r}; {message[0].lower()}{message[1:]}"
    return f"{where}: {message}"

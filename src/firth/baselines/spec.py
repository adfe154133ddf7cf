"""How a baseline is written: `baseline:NAME[+OPTION[=VALUE]…][@SOURCE]`."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from firth.run.errors import InputError

PREFIX = "baseline:"
UNKNOWN = "unknown"
"""Identity of what a name stands for somewhere else, where it may change."""


@dataclass(frozen=True)
class Spec:
    """A baseline as asked for.

    The first `@` ends the options, so that a source may hold `+`, `=` and `@`; a value of an
    option may hold neither `+` nor `@`.

    Attributes:
        name: Name in the registry.
        options: Option → value; None where it was given without one.
        source: What follows `@`, or None.

    Example:
        >>> spec = Spec.parse("baseline:vectors+sif=RUN@glove.txt")
        >>> spec.name, dict(spec.options), spec.source
        ('vectors', {'sif': 'RUN'}, 'glove.txt')
    """

    name: str
    options: Mapping[str, str | None] = field(default_factory=dict)
    source: str | None = None

    @classmethod
    def parse(cls, text: str) -> "Spec":
        """Split a spec; raise `InputError` for an option that is empty, double or cut short."""
        front, at, source = text.removeprefix(PREFIX).partition("@")
        name, *options = front.split("+")
        if at and not source:
            raise InputError(f"{text}: nothing after @. Leave the @ out, or name a source after it")
        found: dict[str, str | None] = {}
        for option in options:
            key, equals, value = option.partition("=")
            if not key or (equals and not value) or key in found:
                wrong = "given twice" if key in found else "nothing there"
                raise InputError(
                    f"{text}: option {option!r}: {wrong}. Expected {PREFIX}NAME+OPTION or "
                    f"+OPTION=VALUE, then @SOURCE"
                )
            found[key] = value if equals else None
        return cls(name, found, source or None)

    def one_of(self, default: str, *choices: str) -> str:
        """The one option of `choices` that is set, or `default`; raise `InputError` if several."""
        chosen = [choice for choice in choices if choice in self.options]
        if len(chosen) > 1:
            raise InputError(
                f"{self}: {' and '.join('+' + c for c in chosen)} exclude each other. Take one"
            )
        return chosen[0] if chosen else default

    def __str__(self) -> str:
        """The spec as it is written."""
        options = "".join(
            f"+{key}" if value is None else f"+{key}={value}" for key, value in self.options.items()
        )
        return f"{PREFIX}{self.name}{options}" + (f"@{self.source}" if self.source else "")

"""Options that take several values, up to the next option: `--task sts-b lee`."""

from collections.abc import Sequence
from typing import Any

from typer.core import TyperCommand

_SEVERAL = ("--task", "--without", "--columns", "--documents", "--seeds")


class SeveralNames(TyperCommand):
    """A command whose `--task a b` means `--task a --task b`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Spell out every option that takes several names, and parse as usual."""
        return super().parse_args(ctx, spell_out(args))


def spell_out(args: Sequence[str]) -> list[str]:
    """Repeat an option that takes several names before each of them.

    Example:
        >>> spell_out(["model", "--task", "sts-b", "lee", "--quiet"])
        ['model', '--task', 'sts-b', '--task', 'lee', '--quiet']
    """
    spelt: list[str] = []
    option: str | None = None
    for place, argument in enumerate(args):
        if argument == "--":
            return [*spelt, *args[place:]]
        if argument in _SEVERAL:
            option = argument
            following = args[place + 1] if place + 1 < len(args) else None
            if following is None or following.startswith("-"):
                spelt.append(argument)
        elif argument.startswith("-"):
            option = None
            spelt.append(argument)
        elif option:
            spelt += [option, argument]
        else:
            spelt.append(argument)
    return spelt

"""Settings that a command takes as options: one declaration, said by `--help`, used by Python."""

from dataclasses import dataclass
from typing import Annotated

import typer
from typer.testing import CliRunner

from firth.cli.fields import options_of


@dataclass(frozen=True)
class Tea:
    kind: Annotated[str, "Which leaves."]
    minutes: Annotated[int, "How long.", {"min": 1}] = 3
    kettle: str = "not an option"


def test_documented_fields_are_options() -> None:
    """Defaults, ranges and help are the class's own; a field without help is no option."""
    app, brewed = typer.Typer(), list[Tea]()

    @app.command()
    @options_of(Tea)
    def brew(cup: str, settings: Tea, loud: bool = False) -> None:
        """Make tea."""
        brewed.append(settings)

    run = CliRunner()
    assert run.invoke(app, ["mug", "--kind", "green"]).exit_code == 0
    assert run.invoke(app, ["mug", "--kind", "black", "--minutes", "5", "--loud"]).exit_code == 0
    assert brewed == [Tea("green"), Tea("black", 5)]
    refused = (["mug"], ["mug", "--kind", "x", "--minutes", "0"], ["mug", "--kettle", "y"])
    assert all(run.invoke(app, arguments).exit_code == 2 for arguments in refused)
    assert "How long." in run.invoke(app, ["--help"]).output

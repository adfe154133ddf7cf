"""The commands `firth reproduce ...`: tables of the papers and their baselines."""

import typer

from firth.run.console import say

app = typer.Typer(help="Repeat tables of the papers.", no_args_is_help=True)


@app.callback()
def group() -> None:
    """Repeat tables of the papers."""


@app.command("list")
def list_tables() -> None:
    """List tables and baselines."""
    say("")

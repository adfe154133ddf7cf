"""The commands `firth paper ...`: the method of Sun et al. (2022) as printed."""

from collections.abc import Mapping
from typing import Annotated, Literal

import typer

from firth.cli.build import Inputs
from firth.cli.options import (
    AsJson,
    Changes,
    Force,
    Out,
    Quiet,
    RayAddress,
    RunFolder,
    Top,
    Workers,
    executor_of,
    run_folder,
    show,
)
from firth.run.console import table, wrapped
from firth.run.errors import require
from firth.run.stage import Outcome

app = typer.Typer(
    help="The method of Sun et al. (2022) as printed (needs the extra torch).", no_args_is_help=True
)
_METHOD = "The paper's method"


@app.command()
def build(
    inputs: Inputs = None,
    run: RunFolder = None,
    to: Annotated[
        Literal["origin", "harvest", "surrogate"], typer.Option(help="The last part to build.")
    ] = "origin",
    preset: Annotated[
        Literal["paper", "paper-small"] | None,
        typer.Option(help="Settings at the paper's size, or for two cores."),
    ] = None,
    changes: Changes = None,
    workers: Workers = 1,
    ray: RayAddress = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Build Origin's models; with --to, also the pairs that it scores, and the Surrogate.

    What is up to date is not built again. An interrupted build is continued by the same command.
    """
    require("torch", "torch", _METHOD)
    from firth.corpus.build import build_corpus
    from firth.paper.harvest import build_harvest
    from firth.paper.origin import build_origin
    from firth.paper.settings import preset as settings_of
    from firth.paper.surrogate import train_surrogate
    from firth.run.run import opened_with

    values = None if preset is None else settings_of(preset)
    opened = opened_with(run_folder(run), changes or [], values)
    executor = executor_of(workers, ray)
    if inputs:
        build_corpus(opened, inputs, executor)
    outcomes = build_origin(opened)
    if to != "origin":
        outcomes["paper/harvest"] = build_harvest(opened, executor)
    if to == "surrogate":
        outcomes["paper/surrogate"] = train_surrogate(opened)
    values = {name: dict(outcome.manifest.summary) for name, outcome in outcomes.items()}
    rows = [["part", "", "summary"]]
    for name, outcome in outcomes.items():
        plain = [f"{k} {v}" for k, v in values[name].items() if isinstance(v, int | float | str)]
        rows.append([name, "unchanged" if outcome.reused else "built", ", ".join(plain)])
    show(values, as_json, "\n".join([table(rows), *map(wrapped, warnings_of(outcomes))]))


def warnings_of(outcomes: Mapping[str, Outcome]) -> list[str]:
    """Return what models that did not learn lack, as their manifests say."""
    lacks = [outcome.manifest.summary.get("lacks", []) for outcome in outcomes.values()]
    return [
        f"Warning: {message}."
        for messages in lacks
        for message in ([messages] if isinstance(messages, str) else messages)
    ]


@app.command()
def explain(
    text1: Annotated[str, typer.Argument(metavar="TEXT1")],
    text2: Annotated[str, typer.Argument(metavar="TEXT2")],
    run: RunFolder = None,
    changes: Changes = None,
    top: Top = 5,
    out: Out = None,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Show Origin's similarity of two texts (Eq. 4), and the contexts that add most to it.

    Scores of rated pairs: firth evaluate baseline:origin@RUN --task FILE.
    """
    require("torch", "torch", _METHOD)
    from firth.paper.origin import Origin
    from firth.run.run import opened_with

    origin = Origin.open(opened_with(run_folder(run), changes or []))
    explanation = origin.explain(text1, text2).top(top)
    if out is not None:
        explanation.save(out, force)
    show(explanation.as_dict(), as_json, str(explanation))

"""The commands `firth paper ...`: the method of Sun et al. (2022), thin over its Python interface."""

from pathlib import Path
from typing import Annotated, Literal

import typer

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
    say_json,
    show,
    start,
    text_argument,
)
from firth.run.console import say, table
from firth.run.errors import require
from firth.run.run import Run, opened_with
from firth.run.stage import Outcome

app = typer.Typer(
    help="The method of Sun et al. (2022) as printed (needs firth[torch]).", no_args_is_help=True
)
First = Annotated[str, typer.Argument(metavar="TEXT1", show_default=False)]
Second = Annotated[str, typer.Argument(metavar="TEXT2", show_default=False)]


@app.command()
def build(
    inputs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="INPUT...",
            help="Files, folders, globs or URIs of documents, for a run without documents.",
            show_default=False,
        ),
    ] = None,
    run: RunFolder = None,
    to: Annotated[
        Literal["origin", "harvest", "surrogate"], typer.Option(help="The last part to build.")
    ] = "origin",
    preset: Annotated[
        Literal["paper", "paper-small"] | None,
        typer.Option(help="Settings of the paper, or for two cores.", show_default=False),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="YAML file of settings.", show_default=False),
    ] = None,
    changes: Changes = None,
    workers: Workers = 1,
    ray: RayAddress = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Build a run's models: index, coherence, generator; with --to, harvest and Surrogate too.

    What is up to date is not built again. An interrupted build is continued by the same command.
    """
    _start(quiet)
    from firth.corpus.build import build_corpus
    from firth.paper import settings
    from firth.paper.origin import build_origin
    from firth.paper.surrogate import HARVEST, SURROGATE, build_harvest, train_surrogate

    opened = opened_with(run_folder(run), config, changes or [])
    if preset is not None:
        opened = opened_with(opened.changed(settings.preset(preset)), config, changes or [])
    executor = executor_of(workers, ray)
    if inputs:
        build_corpus(opened, inputs, executor)
    outcomes = build_origin(opened)
    if to != "origin":
        outcomes[HARVEST.name] = build_harvest(opened, executor)
    if to == "surrogate":
        outcomes[SURROGATE.name] = train_surrogate(opened)
    _show(outcomes, as_json)


@app.command()
def similarity(
    text1: First,
    text2: Second,
    run: RunFolder = None,
    changes: Changes = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Print Origin's similarity of two texts (Eq. 4)."""
    from firth.paper.origin import Origin

    origin = Origin.open(_opened(run, changes, quiet))
    pair = text_argument(text1, "TEXT1"), text_argument(text2, "TEXT2")
    score = origin.similarity(*pair)
    # Raw cosines differ in their last digits.
    show({"score": score, "model": origin.name}, as_json, f"similarity {score:.12g} ({origin.name})")


@app.command()
def explain(
    text1: First,
    text2: Second,
    run: RunFolder = None,
    changes: Changes = None,
    top: Top = 5,
    out: Out = None,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Explain Origin's similarity of two texts by the contexts that add most."""
    from firth.paper.origin import Origin

    origin = Origin.open(_opened(run, changes, quiet))
    pair = text_argument(text1, "TEXT1"), text_argument(text2, "TEXT2")
    explanation = origin.explain(*pair).top(top)
    if out is not None:
        explanation.save(out, force)
    show(explanation.as_dict(), as_json, str(explanation))


@app.command()
def contexts(
    text: Annotated[str, typer.Argument(metavar="TEXT", show_default=False)],
    run: RunFolder = None,
    changes: Changes = None,
    top: Top = 10,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """List the contexts into which a text fits best: its context set C_s (§3.3)."""
    from firth.paper.origin import Origin

    origin = Origin.open(_opened(run, changes, quiet))
    (chosen,) = origin.context_sets([text_argument(text, "TEXT")])
    fits = chosen.terms.fit(origin.settings.fits.weights)
    around = origin.corpus.contexts(chosen.positions[:top], origin.settings.window)
    names, documents = origin.corpus.document_ids(), origin.corpus.document_of(chosen.positions)
    rows = [
        {
            "fit": float(fits[i]),
            "position": int(chosen.positions[i]),
            "document": names[int(documents[i])],
            "left": " ".join(context.left),
            "right": " ".join(context.right),
        }
        for i, context in enumerate(around)
    ]
    if as_json:
        say_json({"text": text, "size": len(chosen.positions), "contexts": rows})
        return
    for row in rows:
        say(f"fit {row['fit']:.3f}  {row['document']}\n  {row['left']}\n  […]\n  {row['right']}\n")


@app.command()
def harvest(
    run: RunFolder = None,
    changes: Changes = None,
    workers: Workers = 1,
    ray: RayAddress = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Let Origin score pairs of corpus sentences for the Surrogate (§3.4)."""
    opened = _opened(run, changes, quiet)
    from firth.paper.surrogate import HARVEST, build_harvest

    _show({HARVEST.name: build_harvest(opened, executor_of(workers, ray))}, as_json)


@app.command()
def distill(
    run: RunFolder = None,
    changes: Changes = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Distil the harvest into a Surrogate: Siamese, or with paper.surrogate.structure another."""
    opened = _opened(run, changes, quiet)
    from firth.paper.surrogate import SURROGATE, train_surrogate

    _show({SURROGATE.name: train_surrogate(opened)}, as_json)
    if not as_json:
        say(str(opened.folder(SURROGATE)))


def _start(quiet: bool) -> None:
    start(quiet)
    require("torch", "torch", "The paper's method")


def _opened(run: Path | None, changes: list[str] | None, quiet: bool) -> Run:
    _start(quiet)
    return opened_with(run_folder(run), None, changes or [])


def _show(outcomes: dict[str, Outcome], as_json: bool) -> None:
    """Print the summary of each stage."""
    values = {name: dict(one.manifest.summary) for name, one in outcomes.items()}
    rows = [["part", "", "summary"]]
    for name, one in outcomes.items():
        plain = [f"{k} {v}" for k, v in values[name].items() if isinstance(v, int | float | str)]
        rows.append([name, "unchanged" if one.reused else "built", ", ".join(plain)])
    show(values, as_json, table(rows))

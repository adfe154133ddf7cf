"""The commands `firth reproduce ...`: tables of three papers, and the baselines they train."""

from pathlib import Path
from typing import Annotated

import typer

from firth.cli.options import (
    AsJson,
    Changes,
    DataDir,
    Force,
    Out,
    Quiet,
    RunFolder,
    run_folder,
    show,
)
from firth.run.console import say, table

app = typer.Typer(help="Repeat tables of the papers (extra reproduce).", no_args_is_help=True)


@app.command("list")
def list_tables(as_json: AsJson = False) -> None:
    """List the tables and the baselines."""
    from firth.reproduce.baselines import BASELINES
    from firth.reproduce.tables import TABLES

    tables = [[name, title] for name, (title, _) in TABLES.items()]
    baselines = [
        [f"baseline:{name}{'@RUN' if baseline.learn else ''}", baseline.summary]
        for name, baseline in BASELINES.items()
    ]
    lines = [table([["table", "shows"], *tables]), "",
             table([["baseline", "scores by"], *baselines])]  # fmt: skip
    show({"tables": tables, "baselines": baselines}, as_json, "\n".join(lines))


@app.command("table")
def measure(
    name: Annotated[str, typer.Argument(help="As `firth reproduce list` names it.")],
    run: Annotated[
        Path | None, typer.Option("--run", metavar="FOLDER", help="Folder of a run.")
    ] = None,
    data_dir: DataDir = None,
    changes: Changes = None,
    out: Out = None,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Measure a table, with the published figures next to the measured ones."""
    import json

    from firth.reproduce.result import VariedRun
    from firth.reproduce.tables import reproduce
    from firth.run.outputs import write_file
    from firth.run.run import Run, opened_with

    opened = None
    if run is not None:
        opened = VariedRun(run, opened_with(Run.open(run).path, changes or []).settings)
    elif changes:
        raise typer.BadParameter("--set needs --run")
    result = reproduce(name, opened, data_dir)
    if out is not None:
        write_file(out, json.dumps(result.as_dict(), ensure_ascii=False, indent=1) + "\n", force)
    show(result.as_dict(), as_json, result.text())


@app.command("sets")
def convert(
    downloads: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Folder with the unpacked downloads.")
    ],
    data_dir: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Folder that gets one sub-folder per set.")
    ],
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Make evaluation sets of files as their authors publish them, for --data-dir.

    Known are STS 2012 to 2016, STS benchmark, SICK, STR-2021, AFS, SNLI, MNLI, MRPC and Wikipedia
    Sections.
    """
    from firth.reproduce.downloads import convert_downloads

    counts = convert_downloads(downloads, data_dir, force)
    rows = [["set", "rows"], *([name, f"{count:,}"] for name, count in counts.items())]
    show(counts, as_json, table(rows))


@app.command("baseline")
def train(
    name: Annotated[str, typer.Argument(help="As `firth reproduce list` names it.")],
    run: RunFolder = None,
    changes: Changes = None,
    quiet: Quiet = False,
) -> None:
    """Train a baseline on the corpus of a run."""
    from firth.reproduce.baselines import build_baseline, stage_of
    from firth.run.run import opened_with

    opened = opened_with(run_folder(run), changes or [])
    outcome = build_baseline(opened, name)
    say(f"{opened.path / stage_of(name).name}: {'unchanged' if outcome.reused else 'trained'}")
    say(f"Score pairs with it: baseline:{name}@{opened.path}")

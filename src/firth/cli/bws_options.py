"""Options that the commands of best-worst scaling share, and how their results are shown."""

from pathlib import Path
from typing import Annotated

import typer

from firth.run.screen import say
from firth.run.stage import Outcome

Items = Annotated[
    Path,
    typer.Argument(
        metavar="ITEMS",
        help="Pairs as .tsv, a .csv with any text columns, or a .txt with an item a line.",
        show_default=False,
    ),
]
Tuples = Annotated[Path, typer.Option(help="tuples.csv of firth bws tuples.", show_default=False)]
Annotations = Annotated[
    Path, typer.Option(help="CSV: tuple,annotator,best,worst[,time].", show_default=False)
]
GoldFile = Annotated[
    Path | None,
    typer.Option(
        "--gold", help="CSV: tuple,best,worst; annotators are checked with it.", show_default=False
    ),
]
Threshold = Annotated[
    float,
    typer.Option(
        "--gold-threshold", min=0, max=1, help="Share of gold questions to be answered rightly."
    ),
]
ScoreGold = Annotated[
    bool, typer.Option("--score-gold", help="Count answers to gold questions too.")
]
Out = Annotated[Path, typer.Option(help="Folder of the results.", show_default=False)]
Kind = Annotated[
    str, typer.Option("--noise-kind", help="Distribution of the noise: normal or gumbel.")
]
Careless = Annotated[
    float, typer.Option(min=0, max=1, help="Share of annotators who answer at random.")
]
Noise = Annotated[
    float | None,
    typer.Option(
        min=0,
        help="Standard deviation of what annotators see around the true score, in units of scores.",
        show_default=False,
    ),
]
SeedNumber = Annotated[int, typer.Option("--seed", min=0, help="Seed of every random choice.")]


def lines(*texts: str) -> dict[str, list[str]]:
    """What goes to the screen, now and when the results are found to be there already."""
    return {"report": [line for text in texts for line in text.split("\n")]}


def show(outcome: Outcome, out: Path) -> None:
    """Say what came out, and where it stands."""
    for line in outcome.manifest.summary["report"]:
        say(line)
    say(f"{out}: {'up to date' if outcome.reused else 'written'}")

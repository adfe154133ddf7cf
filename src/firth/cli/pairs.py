"""Choose the sentence pairs that are to be judged."""

import json
from pathlib import Path
from typing import Annotated

import typer

from firth.cli.options import AsJson, Quiet, Seed, start
from firth.relatedness.pairs.settings import Growth, Measure, Pool, Settings, Strategy
from firth.run.screen import say


def sample(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="SOURCE",
            help="Sentences: .txt (one a line), .tsv, .csv, .jsonl (each also .gz, .zst), a folder "
            "of them, or a run. Pairs: .tsv, .csv, .jsonl.",
            show_default=False,
        ),
    ],
    strategy: Annotated[
        Strategy, typer.Option(help="How pairs are chosen; see docs/pairs.md.", show_default=False)
    ],
    out: Annotated[
        Path, typer.Option(help="Pairs (.tsv); report and plot beside it.", show_default=False)
    ],
    pairs: Annotated[int, typer.Option(min=1, help="How many.")] = 1_000,
    column: Annotated[
        list[str] | None,
        typer.Option(
            help="Column or field of the sentences; twice for pairs. Default: sentence or text; "
            "sentence1 and sentence2.",
            show_default=False,
        ),
    ] = None,
    measure: Annotated[
        Measure | None, typer.Option(help="Of overlap. Default: dice; idf for buckets.")
    ] = None,
    min_overlap: Annotated[
        float | None, typer.Option(help="Least overlap. Default: 0.25 for the strategy overlap.")
    ] = None,
    max_overlap: Annotated[
        float | None,
        typer.Option(help="Overlaps are below this. Default: 0.75 for the strategy overlap."),
    ] = None,
    length_difference: Annotated[
        float | None,
        typer.Option(
            help="Largest difference in length, as a share of the longer sentence. Default: 0.25 "
            "for the strategy overlap."
        ),
    ] = None,
    min_words: Annotated[int, typer.Option(help="Fewest words of a sentence.")] = 5,
    max_words: Annotated[int, typer.Option(help="Most words of a sentence.")] = 25,
    synonyms: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Replace words by their most frequent synonym before overlap is measured: lines "
            "of a word and its synonyms (tabs or commas), or wordnet, or wordnet:FOLDER.",
        ),
    ] = None,
    pool: Annotated[
        Pool, typer.Option(help="Where pairs of sentences are looked for.")
    ] = Pool.INDEX,
    within: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Pair only sentences with the same value in it."),
    ] = None,
    buckets: Annotated[int, typer.Option(help="Percentile buckets of overlap.")] = 50,
    growth: Annotated[
        Growth, typer.Option(help="Pairs a bucket, from low overlap to high.")
    ] = Growth.UNIFORM,
    steepness: Annotated[
        float, typer.Option(help="Exponential: the last bucket gives so many times the first.")
    ] = 100.0,
    examine: Annotated[
        int | None,
        typer.Option(
            help="Pairs to look at. Default: 20 times --pairs; for pool random a million."
        ),
    ] = None,
    score_column: Annotated[str, typer.Option(help="Column of the scores.")] = "score",
    bins: Annotated[int, typer.Option(help="Bins of the scores.")] = 5,
    score_range: Annotated[tuple[float, float], typer.Option(help="Lowest and highest score.")] = (
        0.0,
        5.0,
    ),
    uses: Annotated[int, typer.Option(help="In how many pairs a sentence may be.")] = 1,
    as_json: AsJson = False,
    seed: Seed = None,
    quiet: Quiet = False,
) -> None:
    """Choose sentence pairs: as given, at random, by overlap, by buckets of overlap or score."""
    start(quiet)
    from firth.relatedness.pairs.sample import sample_pairs

    settings = Settings(
        strategy=strategy,
        pairs=pairs,
        measure=measure,
        pool=pool,
        min_overlap=min_overlap,
        max_overlap=max_overlap,
        length_difference=length_difference,
        min_words=min_words,
        max_words=max_words,
        buckets=buckets,
        growth=growth,
        steepness=steepness,
        examine=examine,
        bins=bins,
        score_range=score_range,
        uses=uses,
        seed=13 if seed is None else seed,
    )
    found = sample_pairs(
        source,
        settings,
        columns=column,
        within=within,
        score_column=score_column,
        synonyms=synonyms,
    )
    written = found.write(out)
    if as_json:
        say(json.dumps(found.to_dict(), ensure_ascii=False))
        return
    say(found.text())
    say("written: " + ", ".join(str(path) for path in written))

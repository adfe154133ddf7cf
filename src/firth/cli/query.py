"""Commands that ask: they read a run and leave it as it is."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from os.path import commonprefix
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from firth.cli.options import (
    AsJson,
    Force,
    OptionalOutFile,
    PresetOption,
    Quiet,
    RunFolder,
    Seed,
    Settings,
    asked_run,
    start,
)
from firth.cli.show import show_explanation, show_json, show_summary
from firth.origin.settings import Method
from firth.run.errors import DamagedError, InputError
from firth.run.files import write_atomically, write_text
from firth.run.presets import Preset
from firth.run.progress import note, track
from firth.run.run import Run
from firth.run.screen import say, say_styled, tell
from firth.run.table import table

if TYPE_CHECKING:
    from firth.lexical.scorer import Explainer, Explanation
    from firth.scale.scale import Scale

_COLUMN = re.compile(r"(sentence|text|sent|s|question|q)[ _-]?([12ab]|one|two)", re.IGNORECASE)


def corpus_stats(folder: RunFolder, as_json: AsJson = False, quiet: Quiet = False) -> None:
    """Show what a corpus consists of, and what was skipped when it was read."""
    start(quiet)
    from firth.corpus import CORPUS
    from firth.corpus.stats import corpus_stats as count

    found = count(Run.open(folder)).as_dict()
    if as_json:
        show_json(found)
    else:
        show_summary(CORPUS.name, found)
        lengths = found["sentence_words"]
        tell(
            f"{found['paragraphs']:,} paragraphs. Of 20 sentences 18 have {lengths['0.05']} to "
            f"{lengths['0.95']} words, half have {lengths['0.5']} or fewer.\n"
        )
        # Names of a hub are no paths.
        begin = commonprefix([source["source"] for source in found["sources"]])  # noqa: RUF071
        shared = begin[: begin.rfind("/") + 1]
        names = ("documents", "sentences", "words", "held_out", "duplicates", "skipped")
        rows = [["source", *(name.replace("_", " ") for name in names)]]
        rows += [
            [source["source"].removeprefix(shared), *(f"{source[name]:,}" for name in names)]
            for source in found["sources"]
        ]
        if shared:
            tell(f"In {shared}")
        tell(table(rows))


def check_run(
    folder: Annotated[
        Path, typer.Argument(metavar="RUN", help="Folder of the run.", show_default=False)
    ],
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Read every file of a run and say whether it is as it was written."""
    start(quiet)
    found = Run.open(folder).check()
    if as_json:
        show_json(found)
    else:
        for stage, problems in found.items():
            style = "red" if problems else "green"
            say_styled((f"{stage}: ", ""), ("; ".join(problems) or "whole", style))
    if damaged := [stage for stage, problems in found.items() if problems]:
        raise DamagedError(
            f"{folder}: damaged: {', '.join(damaged)}. The command that builds a stage, or "
            "firth run, builds it again"
        )


def contexts(
    sentence: Annotated[str, typer.Argument(help="The sentence.", show_default=False)],
    folder: RunFolder,
    top: Annotated[int, typer.Option(min=1, help="Contexts to show (of each part).")] = 10,
    as_json: AsJson = False,
    preset: PresetOption = None,
    settings: Settings = None,
    seed: Seed = None,
    quiet: Quiet = False,
) -> None:
    """Show the contexts a sentence fits into, best first: C_s of the paper (§3.3).

    Needs the coherence model and the generator, whatever origin.method is.
    """
    start(quiet)
    _need_text(sentence)
    from firth.paper.coherence import COHERENCE
    from firth.paper.origin import PaperOrigin

    if not Run.open(folder).has(COHERENCE):
        raise InputError(
            f"{folder}: has no context sets: they belong to the method as printed, whose models "
            f"are built by: firth train coherence --run {folder}, firth train generator --run "
            f"{folder}. What a score of this run's Origin comes from, is said by: firth explain"
        )
    origin = PaperOrigin.open(asked_run(folder, preset, settings), seed=seed)
    found = origin.context_set(sentence)
    fits = found.terms.fit(origin.config.weights)
    documents = origin.corpus.document_of(found.positions)
    rows = [
        {
            "fit": float(fits[c]),
            "position": int(position),
            "document": origin.corpus.document_id(int(documents[c])),
            "left": " ".join(origin.corpus.context(int(position)).left),
            "right": " ".join(origin.corpus.context(int(position)).right),
        }
        for c, position in enumerate(found.positions[:top])
    ]
    if as_json:
        show_json({"sentence": sentence, "size": len(found.positions), "contexts": rows})
        return
    for row in rows:
        tell(f"fit {row['fit']:.3f}   {row['document']}")
        tell(f"    {row['left']}\n    [ … ]\n    {row['right']}\n")


def similarity(
    folder: RunFolder,
    a: Annotated[str | None, typer.Argument(help="First sentence.", show_default=False)] = None,
    b: Annotated[str | None, typer.Argument(help="Second sentence.", show_default=False)] = None,
    pairs: Annotated[
        Path | None,
        typer.Option(help="File of pairs instead: two tab-separated sentences a line."),
    ] = None,
    out: OptionalOutFile = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON; of two sentences, the whole explanation.")
    ] = False,
    force: Force = False,
    preset: PresetOption = None,
    settings: Settings = None,
    seed: Seed = None,
    quiet: Quiet = False,
) -> None:
    """Print the Origin similarity of two sentences, or of every pair in a file.

    --out is a TSV file of the scores of --pairs, which are not printed then. Where the run's scale
    is built, each row ends with the shares of random and other pairs that score lower.
    """
    start(quiet, out, force)
    from firth.scale.scale import with_shares

    if pairs is None:
        if a is None or b is None:
            raise InputError("expected two sentences A B, or --pairs FILE")
        if out is not None:
            raise InputError(f"got --out {out} with two sentences; expected it with --pairs FILE")
        _need_text(a, b)
        origin = _open_origin(folder, preset, settings, seed)
        _note_unknown(origin, a, b)
        decimals = _decimals(folder, preset, settings)
        scale = _scale(folder, preset, settings, seed)
        if as_json:
            found = origin.explain(a, b)
            show_json(with_shares(found.as_dict(), scale, found.similarity))
        else:
            score = origin.similarity(a, b)
            say(f"{score:.{decimals}f}")
            if scale:
                tell(scale.describe(score))
        return
    if a is not None:
        raise InputError("got both sentences and --pairs FILE; expected one of them")
    if out is not None and out.exists() and out.samefile(pairs):
        raise InputError(f"--out {out}: the file of --pairs; expected another one")
    read = read_pairs_file(pairs)
    scores = _open_origin(folder, preset, settings, seed).similarities(read).tolist()
    scored = [(score, one, two) for score, (one, two) in zip(scores, read, strict=True)]
    decimals = _decimals(folder, preset, settings)
    scale = _scale(folder, preset, settings, seed)
    rows = ["\t".join(_cells(*each, decimals, scale)) for each in scored]
    if scale and not (as_json and out is None):
        note(f"after the two sentences, of the run's scale: {', '.join(scale.shares(0.0))}")
    if out is not None:
        write_text(out, "".join(f"{row}\n" for row in rows))
    if as_json:
        show_json(
            [
                with_shares({"similarity": score, "a": one, "b": two}, scale, score)
                for score, one, two in scored
            ]
        )
    elif out is None:
        for row in rows:
            say(row)


def explain(
    folder: RunFolder,
    a: Annotated[str | None, typer.Argument(help="First sentence.", show_default=False)] = None,
    b: Annotated[str | None, typer.Argument(help="Second sentence.", show_default=False)] = None,
    pairs: Annotated[
        Path | None,
        typer.Option(help="File of pairs instead: two tab-separated sentences a line."),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="Explain the scores of this sentence encoder (folder or hub name) instead of "
            "Origin's, by the run's contexts.",
            show_default=False,
        ),
    ] = None,
    out: OptionalOutFile = None,
    top: Annotated[int, typer.Option(min=1, help="Themes, and words, to show.")] = 5,
    as_json: AsJson = False,
    force: Force = False,
    preset: PresetOption = None,
    settings: Settings = None,
    seed: Seed = None,
    quiet: Quiet = False,
) -> None:
    """Show why two sentences are alike: where both would stand, and which words meet.

    --out is a page (.html), or JSON: of one pair (.json), or a line a pair (.jsonl).
    """
    start(quiet, out, force)
    kinds = (".html", ".json") if pairs is None else (".html", ".jsonl")
    if out is not None and out.suffix.lower() not in kinds:
        raise InputError(f"--out {out}: expected a file named *{kinds[0]} or *{kinds[1]} here")
    if pairs is not None:
        if a is not None:
            raise InputError("got both sentences and --pairs FILE; expected one of them")
        asked = read_pairs_file(pairs)
    elif a is None or b is None:
        raise InputError("expected two sentences A B, or --pairs FILE")
    else:
        _need_text(a, b)
        asked = [(a, b)]
    explainer = _open_explainer(folder, model, preset, settings, seed)
    if pairs is None:
        _note_unknown(explainer, *asked[0])
    from firth.scale.scale import Scale, with_shares

    run = Run.open(folder)
    scale = Scale.of_model(run, model) if model else _scale(folder, preset, settings, seed)
    found = track(explainer.explanations(asked), "Reasons", len(asked))
    if out is not None:
        _write_explanations(found, out, scale)
    elif as_json:
        plain = [with_shares(each.as_dict(), scale, each.similarity) for each in found]
        show_json(plain if pairs is not None else plain[0])
    else:
        for number, each in enumerate(found):
            say("\n" if number else "")
            show_explanation(each, top, scale)


def _open_explainer(
    folder: Path,
    model: str | None,
    preset: Preset | None,
    settings: Sequence[str] | None,
    seed: int | None,
) -> "Explainer":
    if model is None:
        return _open_origin(folder, preset, settings, seed)
    if preset is not None or settings or seed is not None:
        raise InputError("--model: its scores do not follow --preset, --set or --seed")
    from firth.run.quiet import quiet_libraries
    from firth.surrogate.reasons import EncoderReasons

    with quiet_libraries():
        return EncoderReasons.open(folder, model)


def _write_explanations(found: Iterable["Explanation"], out: Path, scale: "Scale | None") -> None:
    """Write explanations in the format that the file is named for, one after the other."""
    from firth.scale.scale import with_shares

    kind = out.suffix.lower()
    if kind == ".html":
        from firth.origin.reasons import page

        write_text(out, page(found, meaning=scale.describe if scale else None))
        return
    with write_atomically(out) as partial, partial.open("w", encoding="utf-8") as file:
        for each in found:
            indent = 2 if kind == ".json" else None
            plain = with_shares(each.as_dict(), scale, each.similarity)
            file.write(json.dumps(plain, indent=indent, ensure_ascii=False) + "\n")


def _cells(score: float, one: str, two: str, decimals: int, scale: "Scale | None") -> Iterator[str]:
    """A row of a table: the score, the sentences, and what the score means as JSON has it."""
    yield from (f"{score:.{decimals}f}", one, two)
    if scale:
        yield from (f"{share:.6f}" for share in scale.shares(score).values())


def read_pairs_file(path: Path) -> list[tuple[str, str]]:
    """Read a TSV of pairs, UTF-8, two cells a line; further cells are ignored.

    A first line that names columns (`sentence1`, `text_b`, …) is left out, and said.

    Raises:
        InputError: The file cannot be read or is empty, or all its broken lines at once.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 ({error})") from error
    pairs: list[tuple[str, str]] = []
    problems = []
    for number, line in enumerate(text.split("\n"), start=1):
        cells = [cell.strip() for cell in line.split("\t")]
        if not line.strip():
            continue
        if len(cells) < 2 or not all(cells[:2]):
            problems.append(f"line {number}: expected two tab-separated texts, got {line!r:.80}")
        elif not pairs and all(_COLUMN.fullmatch(cell) for cell in cells[:2]):
            note(f"{path}, line {number}: names of columns, not a pair")
        else:
            pairs.append((cells[0], cells[1]))
    if problems:
        more = [f"and {len(problems) - 10} more"] if len(problems) > 10 else []
        raise InputError(f"{path}:\n  " + "\n  ".join([*problems[:10], *more]))
    if not pairs:
        raise InputError(f"{path}: no pairs; expected two tab-separated sentences a line")
    return pairs


def _need_text(*sentences: str) -> None:
    for sentence in sentences:
        if not sentence.strip():
            raise InputError(f"got the empty sentence {sentence!r}; expected some words")


def _note_unknown(origin: "Explainer", *sentences: str) -> None:
    """Say of which words nothing was learned."""
    if words := list(dict.fromkeys(word for text in sentences for word in origin.unknown(text))):
        more = f" and {len(words) - 10} more" if len(words) > 10 else ""
        note(f"never seen in the corpus, so nothing was learned of: {', '.join(words[:10])}{more}")


def _open_origin(
    folder: Path, preset: Preset | None, settings: Sequence[str] | None, seed: int | None
) -> "Explainer":
    from firth.origin.origin import Origin

    return Origin.open(asked_run(folder, preset, settings), seed=seed)


def _decimals(folder: Path, preset: Preset | None, settings: Sequence[str] | None) -> int:
    """Decimals of a score that is shown."""
    config = asked_run(folder, preset, settings).config
    return config.paper.measure.decimals if config.origin.method is Method.PAPER else 6


def _scale(
    folder: Path, preset: Preset | None, settings: Sequence[str] | None, seed: int | None
) -> "Scale | None":
    """The scale of the scores that are asked for, where it is built."""
    from firth.scale.scale import Scale, Scorer

    run = asked_run(folder, preset, settings).changed({"seed": seed})
    return Scale.current(run, Scorer.ORIGIN)

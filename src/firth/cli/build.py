"""Commands that build: each brings stages of a run up to date."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from firth.check import CHECK
from firth.cli.fields import options_of
from firth.cli.options import (
    AsJson,
    Building,
    Changes,
    DataDir,
    Force,
    InShards,
    OptionalOutFolder,
    OutFile,
    Quiet,
    RunFolder,
    Seed,
    changed_run,
    start,
)
from firth.cli.show import show_built, show_json
from firth.context import ADAPT, CONTEXT, THEMES
from firth.context.settings import Encoder
from firth.corpus import CORPUS, TOKENIZER
from firth.harvest import HARVEST
from firth.origin import ORIGIN
from firth.paper.coherence import COHERENCE
from firth.paper.generation import GENERATOR
from firth.paper.retrieve import RETRIEVE
from firth.paper.settings import Backend
from firth.run.config import Config
from firth.run.engine import HERE, Engine
from firth.run.errors import InputError
from firth.run.run import Run
from firth.run.screen import tell
from firth.run.section import Pooling
from firth.run.stage import Stage
from firth.surrogate import CROSS_ENCODER, SURROGATE, TEACHER


def demo(
    out: Annotated[Path, typer.Option(help="Folder of the run.", file_okay=False)] = Path(
        "runs/demo"
    ),
    data_dir: DataDir = None,
    size: Annotated[
        float, typer.Option(min=0.01, max=1.0, help="Share of the text and pairs to use.")
    ] = 1.0,
    as_json: AsJson = False,
    force: Force = False,
    seed: Seed = None,
    quiet: Quiet = False,
) -> None:
    """Run the whole way on real text from installed packages, and show what comes out."""
    start(quiet)
    from firth.demo.demo import run_demo

    found = run_demo(out, data_dir=data_dir, size=size, seed=seed, force=force)
    if as_json:
        show_json(found.as_dict())
    else:
        tell(found.text())


def example(
    out: OutFile = Path("speeches.jsonl"),
    as_json: AsJson = False,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Write texts to try firth on: 29 speeches on the state of the Union, 134,000 words.

    They come with firth. A line is a speech: its id, title, date and text as JSON.
    """
    start(quiet, out, force)
    from firth.demo.texts import write_example

    documents = write_example(out)
    command = f"firth build {shlex.quote(str(out))} --run mine"
    if as_json:
        show_json({"path": str(out), "documents": documents, "next": command})
    else:
        tell(f"{out}: {documents} speeches. Next:\n  {command}")


@options_of(InShards)
def run(
    config: Annotated[Path, typer.Argument(help="YAML file of the run.", show_default=False)],
    folder: Annotated[
        Path | None,
        typer.Option("--run", help="Folder of the run; overrides `run:` in the file."),
    ] = None,
    *,
    settings: InShards,
) -> None:
    """Bring every stage of a run up to date, skipping those whose inputs, config and code agree."""
    start(settings.quiet)
    engine = settings.chosen_engine()
    from firth.pipeline import bring_up_to_date, check

    changed = Config.load(config).changed(settings.changes(), str(config))
    path = folder or Path(changed.run or Path("runs") / config.stem)
    found = Run(path, changed.changed({"run": str(path)}, str(config)))
    check(found, str(config))
    show_built(bring_up_to_date(found, engine=engine), settings.as_json)


Inputs = Annotated[
    list[str],
    typer.Argument(metavar="INPUT...", help="Files, folders, globs; s3://…, gs://…; or hub:NAME."),
]
TextField = Annotated[
    str | None,
    typer.Option(
        help="Field of the text in records; subject,body: of several, one after the other. "
        "Default: text."
    ),
]
IdField = Annotated[
    str | None, typer.Option(help="Field of a document's name. Default: id, if there is one.")
]
DateField = Annotated[
    str | None,
    typer.Option(help="Field of a document's date. Default: date, if there is one."),
]
Fields = Annotated[
    str | None,
    typer.Option(
        metavar="NAME,NAME",
        help="Further fields of records to keep, to choose documents by in a search.",
        show_default=False,
    ),
]
GroupBy = Annotated[
    str | None,
    typer.Option(
        metavar="FIELD",
        help="Records with one value of this field (a thread, say) are one document.",
        show_default=False,
    ),
]


@options_of(InShards)
def build(
    inputs: Inputs,
    folder: RunFolder,
    text_field: TextField = None,
    id_field: IdField = None,
    date_field: DateField = None,
    group_by: GroupBy = None,
    fields: Fields = None,
    *,
    settings: InShards,
) -> None:
    """From documents to a model that can be searched with, in one go, and a check of it.

    What is up to date stays; the same command continues what was interrupted, and takes in what
    was added.
    """
    start(settings.quiet)
    engine = settings.chosen_engine()
    from firth.searchable import build as run_build

    named: Changes = {"text_field": text_field, "id_field": id_field}
    named |= {"date_field": date_field, "group_by": group_by, "fields": _names(fields)}
    changes = settings.changes(corpus=named)
    found = run_build(inputs, folder, engine=engine, **changes)
    if settings.as_json:
        show_json(found.as_dict())
    else:
        tell(found.text())


@options_of(InShards)
def corpus_build(
    inputs: Inputs,
    folder: RunFolder,
    text_field: TextField = None,
    id_field: IdField = None,
    date_field: DateField = None,
    group_by: GroupBy = None,
    fields: Fields = None,
    strict: Annotated[
        bool | None,
        typer.Option("--strict/--skip-bad", help="Stop at the first bad record, or skip them all."),
    ] = None,
    *,
    settings: InShards,
) -> None:
    """Read documents: corpus, tokenizer and retrieval index of a run."""
    start(settings.quiet)
    engine = settings.chosen_engine()
    from firth.corpus.inputs import resolve_inputs

    resolve_inputs(inputs, folder)
    named: Changes = {
        "inputs": list(inputs),
        "text_field": text_field,
        "id_field": id_field,
        "date_field": date_field,
        "group_by": group_by,
        "fields": _names(fields),
        "strict": strict,
    }
    changes = settings.changes(corpus=named)
    run = changed_run(folder, changes, create=True)
    _build(settings, run, CORPUS, TOKENIZER, RETRIEVE, engine=engine)


def corpus_add(
    folder: RunFolder,
    inputs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="INPUT...",
            help="Files, folders, globs; s3://…, gs://…; or hub:NAME.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Add documents, which can be searched and compared at once; the models stay as they are.

    Without INPUT, what was added before is compared with a corpus that was built again.
    """
    start(quiet)
    from firth.index.add import add_documents

    found = add_documents(inputs or [], folder)
    if as_json:
        show_json(found.as_dict())
    else:
        tell(found.text())


def _names(given: str | None) -> list[str] | None:
    return None if given is None else [name.strip() for name in given.split(",") if name.strip()]


@options_of(Building)
def train_coherence(
    folder: RunFolder,
    *,
    settings: Building,
) -> None:
    """Train the coherence model p(y=1 | c_<, s, c_>) and cache the vectors of all sentences."""
    start(settings.quiet)
    _build(settings, changed_run(folder, settings.changes()), COHERENCE)


@options_of(Building)
def train_generator(
    folder: RunFolder,
    backend: Annotated[
        Backend | None, typer.Option(help="Train from scratch, or take a pretrained model.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(help="Folder or hub name of a language model; means --backend causal-lm."),
    ] = None,
    *,
    settings: Building,
) -> None:
    """Train or adopt the model of the three likelihoods p(s | c), p(c_< | s), p(c_> | s)."""
    start(settings.quiet)
    if model is not None and backend is Backend.SEQ2SEQ:
        raise InputError(
            f"got --model {model} with --backend seq2seq, which starts from no model; expected "
            "--backend causal-lm, or no --model"
        )
    chosen = Backend.CAUSAL_LM if model is not None else backend
    named: Changes = {"backend": chosen.value if chosen else None, "model": model}
    _build(settings, changed_run(folder, settings.changes(generator=named)), GENERATOR)


@options_of(Building)
def build_context(
    folder: RunFolder,
    model: Annotated[
        str | None,
        typer.Option(
            help="Folder or hub name of a causal language model, a sentence encoder or a masked "
            "language model. Default: none, a bag of words learned from the corpus alone.",
            show_default=False,
        ),
    ] = None,
    encoder: Annotated[
        Encoder | None,
        typer.Option(help="What the model is used as. Default: what its files are."),
    ] = None,
    *,
    settings: Building,
) -> None:
    """Train what Origin compares by default: which words and sentences fit into which contexts."""
    start(settings.quiet)
    named: Changes = {"encoder": encoder and encoder.value, "model": model}
    changes = settings.changes(context=named)
    run = changed_run(folder, changes)
    config = run.config.context
    if config.model is not None:
        from firth.context.build import chosen_encoder, context_inputs

        if model and "encoder" not in changes["context"]:  # whatever the run had before
            named = {"encoder": chosen_encoder(config.model_copy(update={"encoder": None})).value}
            run = run.changed({"context": named})
        # A model that is refused leaves everything as it was, the stages before this one, too.
        context_inputs(run.config.context)
    _build(settings, run, CHECK, CONTEXT, THEMES, ORIGIN)


@options_of(Building)
def adapt(
    encoder: Annotated[
        str,
        typer.Argument(
            help="Folder or hub name of a sentence encoder or a masked language model, such as "
            "sentence-transformers/all-MiniLM-L6-v2.",
            show_default=False,
        ),
    ],
    folder: RunFolder,
    inputs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="INPUT...",
            help="Files, folders, globs; s3://…, gs://…; or hub:NAME, of which the run's corpus is "
            "built first.",
            show_default=False,
        ),
    ] = None,
    pooling: Annotated[
        Pooling | None, typer.Option(help="Of a bare encoder. Default: mean.", show_default=False)
    ] = None,
    out: OptionalOutFolder = None,
    *,
    settings: Building,
) -> None:
    """Adapt an encoder to documents, as far as a check without labels finds no harm in it.

    The result is a sentence-transformers model in RUN/adapt, and in --out.
    """
    start(settings.quiet)
    from firth.context.adapt import adapt_inputs, open_adapted
    from firth.pipeline import bring_up_to_date
    from firth.run.results import claim_folder

    if out is not None:
        claim_folder(out, ADAPT.name)
    named: Changes = {"pooling": pooling and pooling.value}
    changes = settings.changes(
        adapt={"encoder": encoder}, context=named,
        corpus={"inputs": list(inputs) if inputs else None},
    )  # fmt: skip
    run = changed_run(folder, changes, create=bool(inputs))
    adapt_inputs(run.config.adapt)
    stages = (CORPUS, CHECK, ADAPT) if inputs else (CHECK, ADAPT)
    reused = bring_up_to_date(run, *stages)[ADAPT.name].reused
    found = open_adapted(run, reused, out)
    if settings.as_json:
        show_json(dict(found.report))
    else:
        tell(found.text())


@options_of(Building)
def train_baseline(
    names: Annotated[
        list[str], typer.Argument(metavar="NAME...", help="Which; see docs/baselines.md.")
    ],
    folder: RunFolder,
    base: Annotated[
        str | None,
        typer.Option(
            metavar="NAME_OR_PATH",
            help="Encoder that simcse, tsdae and ct start from: a folder or a hub name.",
            show_default=False,
        ),
    ] = None,
    *,
    settings: Building,
) -> None:
    """Train baselines on the run's corpus, to be scored as baseline:NAME@RUN."""
    start(settings.quiet)
    from firth.baselines.trained import base_settings, build_baseline, find_trained

    for name in names:
        find_trained(name)
    more = base_settings(names, base) if base else {}
    run = changed_run(folder, settings.changes()).changed(more)
    show_built({f"baseline {name}": build_baseline(run, name) for name in names}, settings.as_json)


@options_of(InShards)
def harvest(
    folder: RunFolder,
    pairs: Annotated[int | None, typer.Option(min=1, help="Pairs to score.")] = None,
    part: Annotated[
        str | None,
        typer.Option(
            metavar="I/N",
            help="Score the I-th of N parts only, beside other machines; then --merge.",
            show_default=False,
        ),
    ] = None,
    merge: Annotated[
        bool,
        typer.Option("--merge", help="Score nothing: put together what parts have scored."),
    ] = False,
    store: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Where the parts of all machines meet, as s3://bucket/my-run; by default in the "
            "run's folder. With --part or --merge.",
            show_default=False,
        ),
    ] = None,
    *,
    settings: InShards,
) -> None:
    """Score pairs of corpus sentences with Origin: training data for the Surrogate."""
    start(settings.quiet)
    engine = settings.chosen_engine()
    run = changed_run(folder, settings.changes(harvest={"pairs": pairs}))
    if part is None and not merge:
        if store is not None:
            raise InputError("got --store alone; expected it with --part or --merge")
        _build(settings, run, HARVEST, engine=engine)
        return
    from firth.harvest.harvest import Part, build_harvest, harvest_part
    from firth.run.store import Store

    opened = Store(store) if store is not None else None
    if part is None:
        show_built({HARVEST.name: build_harvest(run, merge, opened)}, settings.as_json)
        return
    if merge:
        raise InputError("got --part and --merge; expected the parts first, then --merge alone")
    done = harvest_part(run, Part.parse(part), opened, engine=engine)
    if settings.as_json:
        show_json(done.as_dict())
    else:
        tell(done.text())


@options_of(InShards)
def distill(
    folder: RunFolder,
    base: Annotated[
        str | None,
        typer.Option(
            help="`static`, `transformer`, `layers` (of the run's language model), or folder or "
            "hub name of an encoder."
        ),
    ] = None,
    architecture: Annotated[
        str,
        typer.Option(
            help="`bi-encoder`, or `cross-encoder`, which reads two sentences at once and is kept "
            "beside it (settings `cross_encoder`)."
        ),
    ] = "bi-encoder",
    teacher: Annotated[
        str | None,
        typer.Option(
            help="Another run, or folder or hub name of a sentence encoder. Default: the run's "
            "Origin.",
            show_default=False,
        ),
    ] = None,
    *,
    settings: InShards,
) -> None:
    """Train the Surrogate, a fast copy of Origin: a sentence-transformers model.

    Another engine has the teacher read, or makes a harvest that is missing; one process learns.
    """
    start(settings.quiet)
    engine = settings.chosen_engine()
    from firth.surrogate.distill import base_inputs
    from firth.surrogate.settings import Architecture, Way
    from firth.surrogate.way import way_of

    if architecture not in list(Architecture):
        raise InputError(f"--architecture {architecture}: expected {', '.join(Architecture)}")
    if architecture == Architecture.CROSS_ENCODER:
        if teacher is not None:
            raise InputError("--teacher: a cross-encoder learns from the harvest, Origin's scores")
        changes = settings.changes(cross_encoder={"base": base})
        _build(settings, changed_run(folder, changes), CROSS_ENCODER, engine=engine)
        return

    named: Changes = {"base": base, "teacher": teacher}
    run = changed_run(folder, settings.changes(surrogate=named))
    taught = (TEACHER,) if way_of(run) is Way.MATRICES else ()
    base_inputs(run.config.surrogate.base)  # refused before the teacher reads for an hour
    _build(settings, run, *taught, SURROGATE, engine=engine)


def _build(settings: Building, run: Run, *stages: Stage, engine: Engine = HERE) -> None:
    from firth.pipeline import bring_up_to_date

    show_built(bring_up_to_date(run, *stages, engine=engine), settings.as_json)

"""The command line: thin commands over the library, one file a group in `firth.cli`."""

import os
import sys
import traceback
from io import TextIOWrapper
from typing import Annotated, Any, NoReturn

import typer

from firth.cli import (
    build,
    bws,
    check,
    evaluate,
    finetune,
    mteb,
    plan,
    query,
    relatedness,
    reproduce,
    reuse,
    search,
    serve,
    stores,
)
from firth.cli.arguments import SeveralNames
from firth.run import sharing
from firth.run.errors import FirthError
from firth.run.screen import complain, say
from firth.run.section import Device
from firth.run.stage import handed_damage

app = typer.Typer(
    name="firth",
    help="Sentence similarity from unlabelled documents, with the contexts each score comes from.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
corpus = typer.Typer(help="Read documents; show what was read.", no_args_is_help=True)
train = typer.Typer(help="Train the context models.", no_args_is_help=True)

_USE = "Build and use"
_MEASURE = "Check and compare models"
_ADAPT = "Adapt, distil, train"
_RESEARCH = "Research"

app.command(rich_help_panel=_USE)(build.example)
app.command(rich_help_panel=_USE)(build.build)
app.command(rich_help_panel=_USE)(search.search)
app.command(rich_help_panel=_USE)(reuse.duplicates)
app.command(rich_help_panel=_USE)(query.explain)
app.command(rich_help_panel=_USE)(query.similarity)
app.command(rich_help_panel=_USE)(reuse.compare_documents)
app.command(rich_help_panel=_USE)(reuse.mine)
app.command(rich_help_panel=_USE)(search.encode)
app.command(rich_help_panel=_USE)(serve.serve)
app.command(rich_help_panel=_USE)(serve.report)
app.command(rich_help_panel=_USE)(stores.push)
app.command(rich_help_panel=_USE)(stores.pull)
app.command(rich_help_panel=_USE)(build.demo)
app.add_typer(corpus, name="corpus", rich_help_panel=_USE)
corpus.command("build")(build.corpus_build)
corpus.command("add")(build.corpus_add)
corpus.command("stats")(query.corpus_stats)
app.command(cls=SeveralNames, rich_help_panel=_MEASURE)(check.check)
app.command(cls=SeveralNames, rich_help_panel=_MEASURE)(evaluate.evaluate)
app.command(rich_help_panel=_MEASURE)(evaluate.compare)
app.command(cls=SeveralNames, rich_help_panel=_MEASURE)(evaluate.leakage)
app.command(cls=SeveralNames, rich_help_panel=_MEASURE)(mteb.mteb)
app.command(rich_help_panel=_ADAPT)(build.run)
app.command(rich_help_panel=_ADAPT)(plan.plan)
app.command(rich_help_panel=_ADAPT)(build.adapt)
app.command(rich_help_panel=_ADAPT)(build.distill)
app.command(cls=SeveralNames, rich_help_panel=_ADAPT)(finetune.finetune)
app.command(rich_help_panel=_ADAPT)(search.index)
app.command(rich_help_panel=_ADAPT)(search.scale)
app.add_typer(train, name="train", rich_help_panel=_ADAPT)
train.command("context")(build.build_context)
train.command("baseline")(build.train_baseline)
train.command("coherence")(build.train_coherence)
train.command("generator")(build.train_generator)
app.command(rich_help_panel=_ADAPT)(query.check_run)
app.command(rich_help_panel=_RESEARCH)(query.contexts)
app.command(rich_help_panel=_RESEARCH)(build.harvest)
app.command(rich_help_panel=_RESEARCH)(reproduce.reproduce)
app.add_typer(relatedness.pair_group, name="pairs", rich_help_panel=_RESEARCH)
app.add_typer(bws.group, name="bws", rich_help_panel=_RESEARCH)
app.add_typer(relatedness.group, name="relatedness", rich_help_panel=_RESEARCH)


def _version(wanted: bool) -> None:
    if wanted:
        from firth import __version__

        say(f"firth {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Show the version and exit."
    ),
    device: Annotated[
        Device,
        typer.Option(
            "--device",
            envvar="FIRTH_DEVICE",
            help="Where networks compute: `auto` is the accelerator if there is one.",
        ),
    ] = Device.AUTO,
) -> None:
    os.environ["FIRTH_DEVICE"] = device  # which processes of its own inherit


_INTERRUPTED = 130
"""Exit status after Ctrl-C."""


_FULL = ("No space left on device", "disk is full", "quota exceeded")
"""How libraries that raise errors of their own (safetensors, SQLite) say it."""


def main() -> None:
    """Run the command line; what a user can mend becomes one message and exit status 1."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a terminal may know fewer characters than texts
            stream.reconfigure(errors="backslashreplace")
    if sharing.rank():  # the process that builds speaks for all
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    try:
        status = app(standalone_mode=False)
    except FirthError as error:
        complain(f"firth: {error}")
        sys.exit(1)
    except OSError as error:
        # NumPy's own message of a full disk has neither a number nor a name.
        _refused(error.filename, os.strerror(error.errno) if error.errno else str(error))
    except MemoryError:
        complain("firth: out of memory. Close other programs, or ask for less at a time")
        sys.exit(1)
    except typer.Abort:
        status = _INTERRUPTED
    except Exception as error:  # noqa: BLE001
        # Typer's errors of usage: in some versions click's, in others its own copy of click's.
        if not hasattr(error, "format_message"):  # an error of firth's own, which may quote a text
            if any(sign in str(error) for sign in _FULL):
                _refused(None, str(error).splitlines()[0])
            damage = handed_damage()
            complain(f"firth: {damage}" if damage else traceback.format_exc().rstrip())
            sys.exit(1)
        _explain_usage(error)
        sys.exit(getattr(error, "exit_code", 2))
    if status == _INTERRUPTED:  # typer ends so when it is told to stop, without a word
        complain("firth: interrupted; the same command continues where it stopped")
    if isinstance(status, int) and status:
        sys.exit(status)


def _refused(name: object, reason: str) -> NoReturn:
    """Say what the system refused, and end."""
    complain(
        f"firth: {name or 'a file'}: cannot be read or written ({reason}). Look at its permissions "
        "and the space on its disk, or name another place"
    )
    sys.exit(1)


def _explain_usage(error: Any) -> None:
    """Say what is wrong with the arguments, whose characters come from who knows where."""
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
        return
    context = getattr(error, "ctx", None)
    if context is not None:
        complain(f"{context.get_usage()}\nTry '{context.command_path} --help' for help.\n")
    complain(f"Error: {error.format_message()}")


if __name__ == "__main__":
    main()

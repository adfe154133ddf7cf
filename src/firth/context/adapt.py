"""`firth adapt`: an encoder and documents in; out a folder that sentence-transformers opens."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from firth.check import CHECK
from firth.check.build import build_check
from firth.check.judged import accuracy_rows, ahead_rows, markdown, reasons
from firth.context import ADAPT
from firth.context.settings import AdaptConfig, Pairs, Scale
from firth.corpus import CORPUS
from firth.corpus.corpus import Corpus
from firth.corpus.settings import LIMITS
from firth.run.errors import ConfigError, InputError
from firth.run.files import read_json, write_json, write_text
from firth.run.model_files import PretrainedFiles
from firth.run.model_kind import ModelKind
from firth.run.pretrained import encoder_kind
from firth.run.quiet import quiet_libraries
from firth.run.results import claim_folder
from firth.run.run import Run
from firth.run.section import Pooling
from firth.run.stage import SCRATCH, Outcome, copy_stage
from firth.run.table import table

REPORT, CARD = "report.json", "README.md"
_WAYS = ("pooling", "references", "scale", "tune")
_LEARNED = {
    Pairs.NEIGHBOURS: "which sentence stands next to this one",
    Pairs.CROPS: "which two spans are of one paragraph",
    Pairs.TITLES: "which title belongs to this sentence",
}


@dataclass(frozen=True)
class AdaptedFolder:
    """An adapted encoder.

    Attributes:
        path: Its folder, which `SentenceTransformer(path)` opens.
        report: Contents of `report.json`: `encoder`, `settings`, `corpus`, `model` (sizes),
            `history` (losses), and what `firth.context.candidates.Adapted.report` holds.
        reused: Whether it was already there.
    """

    path: Path
    report: Mapping[str, Any]
    reused: bool

    @property
    def kept(self) -> str:
        """What was changed, or `as it is`."""
        return str(self.report["kept"])

    def text(self) -> str:
        """Both tables, the verdicts, and what was kept."""
        both = (accuracy_rows(self.report), ahead_rows(self.report))
        shown = [table(rows) for rows in both if len(rows) > 1]
        said = "\n".join(reasons(self.report))
        return "\n\n".join([*shown, *filter(None, [said]), self._last()])

    def _last(self) -> str:
        return "\n".join([*self.report["notes"], f"Kept: {self.kept}. {self.path}"])


def adapt(
    encoder: str,
    run: str | Path | Run,
    documents: str | Path | Sequence[str | Path] = (),
    *,
    out: str | Path | None = None,
    pooling: str | Pooling | None = None,
    scale: str | Scale | None = None,
    pairs: str | Pairs | None = None,
    steps: int | None = None,
) -> AdaptedFolder:
    """Adapt an encoder to a run's documents, as far as the check finds no harm in it.

    What is not given is taken from the run's configuration, and what is given goes into it.

    Args:
        encoder: Folder or hub name: of a sentence-transformers model, or a masked language model.
        run: Its corpus is built, unless `documents` are given; its check is built if need be.
        documents: Files, folders, globs or `hub:NAME`, of which the corpus is built first.
        out: Folder that the result is copied to.
        pooling: Of a bare encoder: `mean`, `cls` or `first-last`.
        scale: `none`, `centred` or `standardised`, whatever the check says; by default it chooses.
        pairs: What is learned: `neighbours`, `crops` or `titles`.
        steps: Of tuning; 0: none.

    Raises:
        MissingStageError: The run has no corpus.
        ConfigError: A setting is out of range.
        InputError: The encoder is refused or cannot be adapted, or `out` holds what firth did not
            write.

    Example:
        >>> from firth import adapt
        >>> found = adapt("run/surrogate", "run", steps=2)
        >>> found.report["candidates"][0]["candidate"]
        'as it is'
    """
    if out is not None:
        claim_folder(Path(out), ADAPT.name)
    if documents:
        Corpus.build(documents, run.path if isinstance(run, Run) else run)
    ways = {"pooling": pooling, "scale": scale, "tune": {"pairs": pairs, "steps": steps}}
    opened = Run.open(run).changed({"adapt": {"encoder": encoder}, "context": ways})
    opened.inputs(CORPUS)  # what is missing or refused leaves the run as it was
    adapt_inputs(opened.config.adapt)
    build_check(opened)
    outcome = build_adapt(opened)
    return open_adapted(opened, outcome.reused, Path(out) if out is not None else None)


def open_adapted(run: Run, reused: bool = True, out: Path | None = None) -> AdaptedFolder:
    """The adapted encoder of a run; raise `MissingStageError` if it is not built.

    Args:
        run: The run.
        reused: Whether it was already there.
        out: Folder that it is copied to first.
    """
    folder = run.folder(ADAPT)
    if out is not None:
        copy_stage(folder, out)
        folder = out
    return AdaptedFolder(folder, read_json(folder / REPORT), reused)


def build_adapt(run: Run) -> Outcome:
    """Bring the stage up to date with the run's configuration; see `adapt`."""
    run.inputs(CORPUS, CHECK)  # a stage that is missing is named before an encoder is downloaded
    inputs = adapt_inputs(run.config.adapt)
    settings = [*LIMITS, "seed", *(f"context.{name}" for name in _WAYS)]
    return run.build(
        ADAPT,
        _build,
        reads=[CORPUS, CHECK],
        settings=settings,
        places=["adapt.encoder"],
        inputs=inputs,
    )


def adapt_inputs(config: AdaptConfig) -> dict[str, str]:
    """Fingerprint and name of the encoder, downloaded if need be.

    Raises:
        ConfigError: None is named.
        InputError: There is no such encoder, it is refused, or is none.
    """
    if config.encoder is None:
        raise ConfigError("adapt.encoder", ["got none; expected the folder or name of an encoder"])
    if encoder_kind(config.encoder) is ModelKind.CAUSAL_LM:
        raise InputError(
            f"{config.encoder}: a causal language model, which has no folder of sentence vectors. "
            "Use it as Origin's encoder: firth train context --model"
        )
    found = PretrainedFiles.find(config.encoder)
    return {"encoder": found.fingerprint, "name": _name(config.encoder)}


def _name(encoder: str) -> str:
    """A hub name, or the last part of a path."""
    return Path(encoder).resolve().name if Path(encoder).is_dir() else encoder


def _build(run: Run, workspace: Path) -> Mapping[str, Any]:
    from firth.context.candidates import adapt_encoder
    from firth.context.tune import learnable

    encoder = str(run.config.adapt.encoder)
    adapted = adapt_encoder(run, encoder, workspace / SCRATCH)
    model, corpus = adapted.encoder.model.cpu(), Corpus.open(run)
    with quiet_libraries():
        model.save(str(workspace), create_model_card=False)
    config = run.config.context
    tuned_on = learnable(config.tune, corpus)
    ways = {
        "pooling": config.pooling,
        "references": config.references,
        "scale": config.scale,
        "tune": tuned_on.model_dump(mode="json"),
    }
    report: dict[str, Any] = {
        "encoder": _name(encoder),
        "settings": ways | {"seed": run.config.seed},
        "corpus": {
            "documents": corpus.n_documents,
            "sentences": len(corpus),
            "words": int(corpus.word_counts.sum(dtype=np.int64)),
        },
        "model": {
            "dimensions": model.get_embedding_dimension(),
            "parameters": sum(parameter.numel() for parameter in model.parameters()),
        },
        "history": [{name: round(value, 6) for name, value in one.items()}
                    for one in adapted.history],
        **adapted.report,
    }  # fmt: skip
    write_json(workspace / REPORT, report)
    write_text(workspace / CARD, card(report))
    thought = {one["candidate"]: one["why"] for one in report["candidates"] if "why" in one}
    return {"encoder": report["encoder"], "kept": report["kept"], "candidates": thought}


def card(report: Mapping[str, Any]) -> str:
    """README.md of an adapted encoder, from its report."""
    text = resources.files("firth.context").joinpath("card.md").read_text(encoding="utf-8")
    ways, tune = report["settings"], report["settings"]["tune"]
    steps = f"{tune['steps']} steps of {tune['batch']} pairs, seed {ways['seed']}: "
    counts = {name: f"{count:,}" for name, count in report["corpus"].items()}
    return Template(text).substitute(
        counts,
        encoder=report["encoder"],
        kept=report["kept"],
        reference=report["reference"],
        dimensions=report["model"]["dimensions"],
        parameters=f"{report['model']['parameters']:,}",
        references=f"{ways['references']:,}",
        tuning=steps + _LEARNED[Pairs(tune["pairs"])] + "." if report["history"] else "none.",
        accuracy=markdown(accuracy_rows(report)),
        ahead=markdown(ahead_rows(report)),
        verdicts="\n".join(f"- {line}" for line in reasons(report)),
        counts=", ".join(report["counts"]),
        notes="\n".join(report["notes"]),
    )

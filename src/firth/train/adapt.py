"""Adapting an encoder to a run's documents: try, compare, keep.

Candidates are the encoder as it is and the encoder tuned on the corpus, each with its dimensions as
they are, centered or standardized. Label-free questions decide (`firth.evaluation.compare.choose`): a
changed encoder is kept only where no type of question fell, and one that training does not optimize
rose. A causal language model becomes the encoder of the run itself (`build_tuned`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense, Normalize
from torch import Tensor, nn
from torch.nn import functional

from firth.corpus.corpus import Corpus
from firth.encoders.encoder import Normalized, normalize
from firth.encoders.folder import ModelKind, PretrainedFiles
from firth.encoders.language_model import LanguageModelEncoder, upper_layers
from firth.encoders.pretrained import (
    NORMALIZATIONS,
    Normalization,
    build_pretrained,
    sample_sentences,
)
from firth.encoders.transformer import open_sentence_transformer
from firth.evaluation.compare import Answers, answer_by_vectors, choose, compare_answers, texts_of
from firth.evaluation.questions import QUESTIONS, build_questions, open_questions
from firth.run.console import quiet_libraries
from firth.run.errors import InputError
from firth.run.files import read_json, write_json
from firth.run.outputs import write_folder
from firth.run.run import Run
from firth.run.seeds import derive_seed
from firth.run.settings import AdaptSettings
from firth.run.stage import SCRATCH, Outcome
from firth.text.arrays import Floats
from firth.train.contrast import TextPairs, pair_kind, trained_types, tune
from firth.train.loop import History, write_tensors
from firth.train.students import (
    REPORT,
    BiEncoder,
    TrainedFolder,
    is_static,
    save_model,
    shown_name,
)

AS_IS, TUNED = "as it is", "tuned"
_SCALED = {"none": "", "center": "centered", "standardize": "standardized"}
_LAYERS, _LANGUAGE_MODEL_LAYERS = 2, 8
_RATE, _STATIC_RATE, _LANGUAGE_MODEL_RATE = 2e-5, 1e-3, 2e-4


class Adapted(TrainedFolder):
    """An adapted encoder; its report holds accuracies, decisions, and `kept`, the candidate."""


def adapt(run: str | Path | Run, encoder: str, out: str | Path, *, force: bool = False) -> Adapted:
    """Adapt an encoder to a run's documents, and save the candidate that was kept.

    The settings `adapt` say how it is tuned. `encoder.normalize` may prescribe a normalization.

    Args:
        run: A run with a corpus. Its questions are made where they are missing.
        encoder: Folder or hub name of a sentence-transformers model or masked language model.
        out: Folder of the result, which `SentenceTransformer(out)` opens.
        force: Replace another result in `out`.

    Raises:
        MissingStageError: The run has no corpus.
        InputError: The encoder is refused or cannot be tuned, the corpus has too few pairs, or
            `out` holds files that firth did not write.
    """
    opened, files = Run.open(run), PretrainedFiles.find(encoder)
    if files.kind is ModelKind.CAUSAL_LM:
        raise InputError(
            f"{encoder}: a causal language model has no folder of sentence vectors. Make it the "
            "encoder of the run, which tunes it: firth build --encoder"
        )
    build_questions(opened)
    settings = opened.settings.model_dump(mode="json", include={"adapt", "encoder", "seed"})
    outcome = write_folder(
        out,
        lambda workspace: _fill(opened, encoder, workspace),
        command="train adapt",
        settings=settings,
        inputs={
            "encoder": files.fingerprint,
            "corpus": Corpus.open(opened).digest,
            **opened.inputs(QUESTIONS),
        },
        force=force,
    )
    return Adapted(Path(out), read_json(Path(out) / REPORT), outcome.reused)


def build_tuned(run: Run) -> Outcome | None:
    """Build the stage of the run's pretrained encoder; a causal language model is tuned.

    Errors as of `firth.encoders.pretrained.build_pretrained`, and where nothing can be tuned.
    """
    return build_pretrained(run, tune_language_model)


def tune_language_model(
    run: Run, encoder: LanguageModelEncoder, scaled: Normalized, scratch: Path
) -> nn.ModuleList:
    """Tune the upper layers of a language model in place, and return them.

    Args:
        run: Its corpus and settings.
        encoder: The language model.
        scaled: The same, standardized.
        scratch: Folder of the checkpoint.
    """
    settings = run.settings.adapt
    mean, deviation = (torch.from_numpy(one).float() for one in (scaled.mean, scaled.deviation))

    def vectors(texts: Sequence[str], max_tokens: int) -> Tensor:
        states = encoder.last_states(encoder.tokens(texts, max_tokens)).float().cpu()
        return functional.normalize((states - mean) / deviation, dim=1)

    encoder.model.requires_grad_(False)
    layers = upper_layers(encoder.model, settings.layers or _LANGUAGE_MODEL_LAYERS)
    rate = settings.learning_rate or _LANGUAGE_MODEL_RATE
    seed, corpus = derive_seed(run.settings.seed, "fit", "tune"), Corpus.open(run)
    pairs = TextPairs(corpus, settings, derive_seed(seed, "order"))
    tune(vectors, layers, pairs, settings, rate, seed, scratch / "tune")
    return layers


def learning_part(model: SentenceTransformer, settings: AdaptSettings) -> tuple[nn.Module, float]:
    """Return the part of an encoder that learns, and its rate: layers, or the matrix of a table.

    Raises:
        InputError: The model is neither a Transformer nor static.
    """
    first: Any = model[0]
    if is_static(model):
        return first.embedding, settings.learning_rate or _STATIC_RATE
    if model.transformers_model is None:
        raise InputError(
            "the encoder is neither a Transformer nor static, so it cannot be tuned. Set "
            "adapt.steps to 0"
        )
    layers = upper_layers(model.transformers_model, settings.layers or _LAYERS)
    return layers, settings.learning_rate or _RATE


def _fill(run: Run, name: str, workspace: Path) -> Mapping[str, Any]:
    settings, seed = run.settings.adapt, derive_seed(run.settings.seed, "adapt")
    questions, corpus = open_questions(run), Corpus.open(run)
    only = run.settings.encoder.normalize
    kinds = (only,) if only else NORMALIZATIONS
    reference = candidate_name(False, kinds[0])
    answers: dict[str, Answers] = {}
    statistics: dict[str, tuple[Floats, Floats]] = {}
    with quiet_libraries():
        model = open_sentence_transformer(name, run.settings.encoder.pooling)
        encoder = BiEncoder(model.eval().requires_grad_(False))
        references = sample_sentences(run, run.settings.encoder.normalization_sentences)

        def measure(tuned: bool) -> None:
            known = encoder.encode(references).astype(np.float64)
            vectors = encoder.encode(texts_of(questions))
            mean, deviation = known.mean(axis=0), np.maximum(known.std(axis=0), 1e-6)
            for kind in kinds:
                center = np.zeros_like(mean) if kind == "none" else mean
                scale = deviation if kind == "standardize" else np.ones_like(mean)
                candidate = candidate_name(tuned, kind)
                statistics[candidate] = center, scale
                scaled = normalize(vectors, center, scale).astype(np.float64)
                answers[candidate] = answer_by_vectors(questions, scaled)

        measure(tuned=False)
        history: History = []
        start = workspace / SCRATCH / "start.safetensors"
        if settings.steps and questions:  # Without questions no change can be kept.
            part, rate = learning_part(model, settings)
            write_tensors(start, part.state_dict())
            pairs = TextPairs(corpus, settings, derive_seed(seed, "order"))

            def vectors(texts: Sequence[str], max_tokens: int) -> Tensor:
                found = encoder.vectors(texts, max_tokens).float().cpu()
                return functional.normalize(found, dim=1)

            history = tune(vectors, part, pairs, settings, rate, seed, workspace / SCRATCH)
            measure(tuned=True)
        kept, reasons, comparison = reference, {}, None
        if questions:
            trained = trained_types(pair_kind(settings, corpus), settings.steps)
            seed = run.settings.seed
            kept, decisions = choose(answers, reference, trained_on=trained, seed=seed)
            reasons = {one: each.reason for one, each in decisions.items()}
            comparison = compare_answers(answers, reference, seed)
        if history and not kept.startswith(TUNED):
            part.load_state_dict(load_file(start))
        append_normalization(model, *statistics[kept])
    shown = shown_name(name)
    report: dict[str, Any] = {
        "encoder": shown,
        "kept": kept,
        "settings": settings.model_dump(mode="json") | {"seed": run.settings.seed},
        "comparison": None if comparison is None else asdict(comparison),
        "decisions": reasons,
        "history": history,
    }
    lines = [comparison.text() if comparison else "There are no label-free questions."]
    lines += [f"{one}: {reason}." for one, reason in reasons.items()]
    report["lines"] = [*lines, f"Kept: {kept}."]
    write_json(workspace / REPORT, report)
    text = "\n".join(report["lines"])
    title = f"{shown} (its licence holds), adapted to documents with firth: {kept}"
    save_model(model, workspace, title, f"```text\n{text}\n```")
    return {"encoder": shown, "kept": kept, "decisions": reasons}


def candidate_name(tuned: bool, kind: Normalization) -> str:
    """Return what was changed, as `tuned, centered`."""
    return ", ".join(filter(None, [TUNED if tuned else "", _SCALED[kind]])) or AS_IS


def append_normalization(model: SentenceTransformer, mean: Floats, deviation: Floats) -> None:
    """Append modules that normalize the vectors; nothing where they would stay as they are."""
    if not mean.any() and (deviation == 1).all():
        return
    weight = torch.from_numpy(np.diag(1 / deviation)).float()
    bias = torch.from_numpy(-mean / deviation).float()
    dense = Dense(len(bias), len(bias), True, nn.Identity(), weight, bias)
    for module in (dense, Normalize()):
        model.append(module.to(model.device).requires_grad_(False))

"""Adapting an encoder to a run's documents: try, compare, keep.

Tuning asks which text of a batch belongs to this one: the next sentence, or another span of
the paragraph. Candidates are the encoder as it is and the encoder tuned on the corpus,
each with its dimensions as they are, centered or standardized. Label-free questions decide
(`evaluation.compare.choose`): a changed encoder is kept only where no type of question fell, and
one that training does not optimize rose. A causal language model becomes the encoder of the run
(`tune_language_model`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from safetensors.torch import load_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense, Normalize
from torch import Tensor, nn
from torch.nn import functional

from firth.corpus.corpus import Corpus, stand_alone
from firth.encoders.encoder import NORMALIZATIONS, Normalization, Normalized, normalize
from firth.encoders.kinds import find_encoder
from firth.encoders.language_model import LanguageModelEncoder, upper_layers
from firth.encoders.pretrained import Tuning, sample_sentences
from firth.encoders.transformer import open_sentence_transformer
from firth.evaluation.compare import Answers, answer_by_vectors, choose, compare_answers, texts_of
from firth.evaluation.questions import QUESTIONS, build_questions, open_questions
from firth.run.console import quiet_libraries
from firth.run.errors import InputError
from firth.run.outputs import write_folder
from firth.run.run import Run
from firth.run.settings import derive_seed, values_of
from firth.run.stage import SCRATCH
from firth.text.types import Floats, Ints
from firth.train.loop import History, Schedule, in_parts, train, write_tensors
from firth.train.settings import AdaptSettings
from firth.train.students import BiEncoder, TrainedFolder, is_static, save_trained, shown_name

AS_IS, TUNED = "as it is", "tuned"
_SCALED = {"none": "", "center": "centered", "standardize": "standardized"}
_LAYERS, _LANGUAGE_MODEL_LAYERS = 2, 8
_RATE, _STATIC_RATE, _LANGUAGE_MODEL_RATE = 2e-5, 1e-3, 2e-4
PairKind = Literal["neighbors", "crops"]
Texts = tuple[list[str], list[str]]
"""First and second texts of the pairs of a batch."""
_OVERSAMPLE = 4
"""Pairs that are drawn for each pair of a batch, so that pairs of different documents suffice."""
_WARMUP, _CHECKPOINT_STEPS = 20, 25
_CROP_WORDS = (8, 256)
"""A paragraph with fewer words gives no crops; the words after the last one are ignored."""
_CROP_SHARES = (0.1, 0.5)
"""Smallest and largest share of a paragraph's words that a crop has."""
_NEEDED = {
    "neighbors": "pairs of neighboring sentences; use running text, not single lines",
    "crops": f"paragraphs of {_CROP_WORDS[0]} words or more; use running text",
}


def adapt(
    run: str | Path | Run, encoder: str, out: str | Path, *, force: bool = False
) -> TrainedFolder:
    """Adapt an encoder to a run's documents, and save the candidate that was kept.

    The settings `adapt` say how it is tuned. `encoder.normalize` may prescribe a normalization. The
    report holds accuracies, decisions, and the name of what was `kept`.

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
    opened, found = Run.open(run), find_encoder(encoder)
    if found.kind.is_tuned:
        raise InputError(
            f"{encoder}: a causal language model has no folder of sentence vectors. Make it the "
            "encoder of the run, which tunes it: firth build --encoder"
        )
    build_questions(opened)
    settings = values_of(opened.settings, ["adapt", "encoder", "seed"])
    outcome = write_folder(
        out,
        lambda workspace: _fill(opened, encoder, workspace),
        command="train adapt",
        settings=settings,
        inputs={
            "encoder": found.fingerprint,
            "corpus": Corpus.open(opened).digest,
            **opened.inputs(QUESTIONS),
        },
        force=force,
    )
    return TrainedFolder.open(out, outcome.reused)


def tuning(run: Run) -> Tuning | None:
    """Return how a language model is tuned on a run; None where `adapt.steps` is 0."""
    is_tuned = run.wing("adapt", AdaptSettings).steps > 0
    return Tuning(tune_language_model, ("adapt",)) if is_tuned else None


def tune_language_model(
    run: Run, encoder: LanguageModelEncoder, scaled: Normalized, scratch: Path
) -> nn.ModuleList:
    """Tune the upper layers of a language model in place on a run's corpus, and return them.

    `scaled` is the same model, standardized.
    """
    settings = run.wing("adapt", AdaptSettings)
    mean, deviation = (
        torch.from_numpy(statistic).float() for statistic in (scaled.mean, scaled.deviation)
    )

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
    """Return the part of an encoder that learns, and its rate: layers, or the matrix of a table."""
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
    settings, seed = run.wing("adapt", AdaptSettings), derive_seed(run.settings.seed, "adapt")
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
            zeros, ones = np.zeros_like(mean), np.ones_like(mean)
            scales = {"none": (zeros, ones), "center": (mean, ones)}
            scales["standardize"] = mean, deviation
            for kind in kinds:
                candidate = candidate_name(tuned, kind)
                statistics[candidate] = scales[kind]
                scaled = normalize(vectors, *scales[kind]).astype(np.float64)
                answers[candidate] = answer_by_vectors(questions, scaled)

        measure(tuned=False)
        history: History = []
        start = workspace / SCRATCH / "start.safetensors"
        if settings.steps and questions:  # Without questions no change can be kept.
            part, rate = learning_part(model, settings)
            write_tensors(start, part.state_dict())
            pairs = TextPairs(corpus, settings, derive_seed(seed, "order"))

            def vectors(texts: Sequence[str], max_tokens: int) -> Tensor:
                raw = encoder.vectors(texts, max_tokens).float().cpu()
                return functional.normalize(raw, dim=1)

            history = tune(vectors, part, pairs, settings, rate, seed, workspace / SCRATCH)
            measure(tuned=True)
        kept, reasons, comparison = reference, {}, None
        if questions:
            seed = run.settings.seed
            kept, decisions = choose(answers, reference, seed=seed)
            reasons = {candidate: decision.reason for candidate, decision in decisions.items()}
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
    lines = [comparison.table() if comparison else "There are no label-free questions."]
    lines += [f"{candidate}: {reason}." for candidate, reason in reasons.items()]
    report["lines"] = [*lines, f"Kept: {kept}."]
    title = f"{shown} (its licence holds), adapted to documents with firth: {kept}"
    save_trained(workspace, model, title, report)
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


# --- Tuning -------------------------------------------------------------------------------------


class TextPairs:
    """Batches of pairs of texts of a corpus; a batch is a function of its step.

    A batch comes from one source file, and all files are drawn equally often. So the subject does
    not give the pairs away, and the largest file does not dominate. Files with fewer pairs than a
    batch count as one file. The pairs of a batch come from different documents while there are
    enough. The seed decides every draw.
    """

    def __init__(self, corpus: Corpus, settings: AdaptSettings, seed: int) -> None:
        self._corpus, self._seed = corpus, seed
        # Where few sentences have a neighbor, there are crops only.
        self.kind: PairKind = "crops" if stand_alone(corpus) else settings.pairs
        self._bounds = np.asarray(corpus.paragraph_bounds)
        places = self._places()
        if len(places) < 2:
            raise InputError(
                f"tuning needs two pairs, and the corpus has {len(places)} "
                f"{_NEEDED[self.kind]}. Or set adapt.steps to 0"
            )
        self._size = min(settings.batch, len(places))
        self._groups = self._grouped(places)

    def __call__(self, step: int) -> Texts:
        """Return the texts of a step's pairs."""
        chosen, corpus = self.chosen(step), self._corpus
        if self.kind == "neighbors":
            return list(corpus.texts(chosen)), list(corpus.texts(chosen + 1))
        rng = np.random.default_rng(derive_seed(self._seed, "crops", step))
        spans: Texts = ([], [])
        for start in chosen.tolist():
            end = int(self._bounds[np.searchsorted(self._bounds, start, side="right")])
            words = " ".join(corpus.texts(np.arange(start, end))).split()[: _CROP_WORDS[1]]
            for side in spans:
                side.append(_crop(words, rng))
        return spans

    def chosen(self, step: int) -> Ints:
        """Return the sentence that represents each pair of a step, (batch,)."""
        rng = np.random.default_rng(derive_seed(self._seed, "batch", step))
        group = self._groups[int(rng.integers(len(self._groups)))]
        drawn = rng.choice(group, min(_OVERSAMPLE * self._size, len(group)), replace=False)
        _, where = np.unique(self._corpus.document_of(drawn), return_index=True)
        first = np.sort(where)
        others = np.setdiff1d(np.arange(len(drawn)), first)
        picked: Ints = drawn[np.concatenate((first, others))][: self._size]
        return picked

    def _places(self) -> Ints:
        """Return the sentences that represent a pair each, in ascending order."""
        corpus, places = self._corpus, np.asarray(self._corpus.usual_sentences())
        if self.kind == "crops":
            words = np.concatenate([[0], np.cumsum(corpus.word_counts, dtype=np.int64)])
            long = words[self._bounds[1:]] - words[self._bounds[:-1]] >= _CROP_WORDS[0]
            places = self._bounds[:-1][long]
        else:
            homes = corpus.document_of(places)
            places = places[:-1][(np.diff(places) == 1) & (np.diff(homes) == 0)]
        ascending: Ints = places.astype(np.int64)
        return ascending

    def _grouped(self, places: Ints) -> list[Ints]:
        """Return the pairs of each source file; small files are merged."""
        sources = np.asarray(self._corpus.source_numbers())[self._corpus.document_of(places)]
        groups = [places[sources == source] for source in np.unique(sources)]
        large = [group for group in groups if len(group) >= self._size]
        small = [group for group in groups if len(group) < self._size]
        pooled: Ints = np.concatenate(small) if small else np.empty(0, np.int64)
        if 0 < len(pooled) < self._size:  # They do not fill a batch even together.
            return [np.concatenate((pooled, large[0])), *large[1:]]
        return [*large, *([pooled] if len(pooled) else [])]


def _crop(words: Sequence[str], rng: np.random.Generator) -> str:
    """Return a random run of a tenth to a half of the words, at least four of them."""
    low, high = (max(4, round(share * len(words))) for share in _CROP_SHARES)
    size = min(int(rng.integers(low, high + 1)), len(words))
    start = int(rng.integers(len(words) - size + 1))
    return " ".join(words[start : start + size])


def tune(
    vectors: Callable[[Sequence[str], int], Tensor],
    trained: nn.Module,
    batches: TextPairs,
    settings: AdaptSettings,
    rate: float,
    seed: int,
    scratch: Path,
) -> History:
    """Tune a part of a frozen encoder in place, and freeze it again.

    `vectors` returns unit vectors with gradients, (n, d), of texts cut at so many tokens; `rate` is
    the peak of Adam's rate.
    """
    trained.requires_grad_(True)

    def loss(batch: Texts) -> Tensor:
        texts = [*batch[0], *batch[1]]
        parts = settings.micro_batches
        units = in_parts(lambda rows: vectors(texts[rows], settings.max_tokens), len(texts), parts)
        first, second = units[: len(batch[0])], units[len(batch[0]) :]
        logits, right = first @ second.T / settings.temperature, torch.arange(len(first))
        forth, back = (functional.cross_entropy(scores, right) for scores in (logits, logits.T))
        return (forth + back) / 2

    schedule = Schedule(
        steps=settings.steps,
        rate=rate,
        warmup=min(_WARMUP, settings.steps // 2),
        checkpoint_steps=_CHECKPOINT_STEPS,
        seed=seed,
        report_steps=-(-settings.steps // 10),
        micro_batches=settings.micro_batches,
    )
    history = train(trained, batches, loss, schedule, scratch, "Tuning the encoder")
    trained.requires_grad_(False)
    return history

"""The *Surrogate*, which learns the pairs that Origin scored (§3.4, §5.6)."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sentence_transformers import CrossEncoder, SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
from tokenizers.processors import TemplateProcessing
from torch import Tensor, nn
from torch.nn import functional
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

from firth.corpus.corpus import Corpus
from firth.encoders.folder import ModelKind, PretrainedFiles
from firth.encoders.transformer import device
from firth.evaluation.bootstrap import Estimate
from firth.evaluation.metrics import Metric, measure_difference
from firth.paper.harvest import HARVEST, ScoredPairs, rank_correlation, read_pairs
from firth.paper.settings import PaperSettings, SurrogateSettings
from firth.run.console import quiet_libraries, table
from firth.run.errors import InputError
from firth.run.run import Run
from firth.run.settings import derive_seed
from firth.run.stage import SCRATCH, Outcome, Stage
from firth.text.types import Floats, Ints, TextPair
from firth.train.loop import Batches, Best, Schedule, has_bfloat16, train, verdict, write_tensors
from firth.train.students import BiEncoder, is_static, on_device, save_trained, shown_name
from firth.train.tokenizer import TOKENIZER, build_tokenizer, open_tokenizer

SURROGATE = Stage("paper/surrogate", 9, "torch", "firth paper build --to surrogate")
HELD_OUT = ("dev", "test")
_LOOKS = 10
_READS_PAIRS = ModelKind.CROSS_ENCODER, ModelKind.MASKED_LM, ModelKind.SENTENCE_ENCODER
_BATCH, _MAX_TOKENS, _HEAD = 128, 128, 32
_COMPARED = 10_000
"""Training pairs whose similarities before training give labels their distribution, at most."""
_USE = """\
from sentence_transformers import CrossEncoder

model = CrossEncoder("path/to/this/folder")
print(model.predict([("The judge praised the witness.", "The court thanked him.")]))
"""


def train_surrogate(
    run: Run, settings: SurrogateSettings | None = None, stage: Stage = SURROGATE
) -> Outcome:
    """Distil the harvest of a run into a Transformer, by the squared difference as printed (§3.4).

    The stage is a folder that sentence-transformers opens. Its report has the squared error on dev
    and test, that of a constant, and the rank correlation with Origin, before and after. The
    manifest says whether it learned (`learn`). A variant has another `stage`.

    Raises:
        MissingStageError: The run has no harvest.
        InputError: The base cannot be opened, or all scores are equal.
    """
    chosen = settings or run.wing("paper", PaperSettings).surrogate
    inputs = PaperSettings(surrogate=chosen).inputs("surrogate")
    run.manifest(HARVEST)
    scratched = chosen.base == "transformer"
    if scratched:
        build_tokenizer(run)
    else:
        inputs["base"] = PretrainedFiles.find(chosen.base).fingerprint

    def fill(seen: Run, workspace: Path) -> Mapping[str, Any]:
        return learn(seen, chosen, open_pairs(seen, chosen.pairs), workspace)

    reads = [HARVEST, *([TOKENIZER] if scratched else [])]
    inputs |= {"corpus": Corpus.open(run).digest}
    return run.build(stage, fill, reads=reads, settings=["seed"], inputs=inputs)


def learn(
    run: Run, settings: SurrogateSettings, splits: Mapping[str, ScoredPairs], workspace: Path
) -> Mapping[str, Any]:
    """Train a Surrogate, and write it with report and card; return what a manifest says of it.

    The paper trains to the end; the step that agrees best with Origin on dev is kept. It learned
    where it agrees better than its start on test, by the interval.
    """
    seed, scratch = derive_seed(run.settings.seed, "surrogate", "distillation"), workspace / SCRATCH
    rate = settings.learning_rate or (5e-4 if settings.base == "transformer" else 2e-5)
    cross = settings.structure == "cross-encoder"
    with quiet_libraries():
        torch.manual_seed(derive_seed(run.settings.seed, "surrogate", "weights"))
        student = start_of(run, settings, scratch / "start")
        static = isinstance(student, BiEncoder) and is_static(student.module)
        where = torch.device("cpu") if static else device()
        student.module.to(where)
        labels = PairLabels(student, splits, settings, seed)
        before = labels.figures()
        best = Best(student.module, labels.agreement, scratch, "spearman")
        steps = settings.epochs * labels.batches.epoch_steps
        half = not static and has_bfloat16(where)
        schedule = Schedule.of(steps, rate, seed, reports=_LOOKS, bfloat16=half)
        history = train(
            student.module, labels.batches, labels.loss, schedule, scratch, "Distilling", best.look
        )
        best.restore()
        after = labels.figures()
    summary: dict[str, Any] = {
        "base": shown_name(settings.base),
        "sizes": labels.sizes,
        "step": best.step,
        "steps": steps,
        **verdict("The Surrogate", best.step, "more pairs, or a better teacher", labels.gain()),
    }
    report = {
        **summary,
        "settings": settings.model_dump(mode="json") | {"base": summary["base"], "rate": rate},
        "before": before,
        "after": after,
        "start": best.start,
        "history": history,
    }
    report["lines"] = summary["lines"] = lines_of(report)
    title = f"A {'cross-encoder' if cross else 'sentence encoder'}, distilled with firth"
    save_trained(workspace, student.module, title, report, _USE if cross else "")
    return summary


def lines_of(report: Mapping[str, Any]) -> list[str]:
    """Return what a report says, for the card."""
    settings, rows = report["settings"], [["rank correlation with Origin x 100", "before", "after"]]
    for split in HELD_OUT:
        values = [report[when][split]["spearman"] for when in ("before", "after")]
        rows.append([split, *("undefined" if v is None else f"{100 * v:.1f}" for v in values)])
    lines = [
        f"Start: {report['base']}. Teacher: the scores of {report['sizes']['train']:,} pairs.",
        f"{settings['epochs']} epochs in batches of {settings['batch']}, peak learning rate "
        f"{settings['rate']:g}. Step {report['step']:,} of {report['steps']:,} agreed best with "
        "the teacher.",
        table(rows),
    ]
    lines += [f"{report['lacks']}."] if "lacks" in report else []
    return lines + [
        f"On {split} the error is not below that of a constant."
        for split in HELD_OUT
        if report["after"][split]["l2"] > report["after"][split]["constant_l2"]
    ]


def open_pairs(run: Run, most: int | None) -> dict[str, ScoredPairs]:
    """Return the splits of a harvest, with at most `most` training pairs (Table 7).

    They are the first of one shuffled order, so that fewer pairs are a part of more.
    """
    splits = {split: read_pairs(run.folder(HARVEST), split) for split in ("train", *HELD_OUT)}
    if most is not None:
        train, seed = splits["train"], derive_seed(run.settings.seed, "reproduce", "harvest")
        order = np.random.default_rng(seed).permutation(len(train.pairs))
        splits["train"] = train.some(np.sort(order[:most]))
    return splits


# --- Starts -------------------------------------------------------------------------------------


class PairEncoder:
    """A cross-encoder that learns: both texts in one input, one number out (Sun et al., §5.6)."""

    def __init__(self, module: CrossEncoder) -> None:
        module.activation_fn = nn.Identity()  # Without a sigmoid, its answers are labels.
        self.module = module

    def similarities(self, pairs: Sequence[TextPair]) -> Floats:
        """Return the scores of n pairs, (n,)."""
        if not pairs:
            return np.zeros(0)
        scores = self.module.predict(list(pairs), batch_size=_BATCH, show_progress_bar=False)
        return np.asarray(scores, np.float64).reshape(len(pairs))

    def scores(self, pairs: Sequence[TextPair]) -> Tensor:
        """Return the scores of pairs with gradients, (n,)."""
        features = self.module.preprocess(list(pairs))
        scores: Tensor = self.module(on_device(features, self.module.device))["scores"]
        return scores.view(-1)


def start_of(run: Run, settings: SurrogateSettings, folder: Path) -> BiEncoder | PairEncoder:
    """Return a Surrogate before training; torch's seed decides random weights.

    A Transformer of random weights is written into a folder. `InputError` names a base that cannot
    be a cross-encoder.
    """
    base = settings.base
    if base == "transformer":
        write_transformer(run, settings, folder)
        base = str(folder)
    place = PretrainedFiles.find(base)
    if settings.structure == "cross-encoder":
        if place.kind in _READS_PAIRS and (place.folder / "config.json").is_file():
            options = {"dtype": torch.float32, "use_safetensors": True}
            model = CrossEncoder(str(place.folder), model_kwargs=options, local_files_only=True)
            if model.num_labels == 1:
                return PairEncoder(model)
        raise InputError(
            f"paper.surrogate.base: {settings.base} is of kind {place.kind}; expected transformer, "
            "an encoder that is a Transformer, or a cross-encoder with one output"
        )
    if settings.base != "transformer":
        return BiEncoder.open(base)
    network: Any = Transformer(base, model_kwargs={"dtype": torch.float32})
    modules = [network, Pooling(network.get_embedding_dimension())]
    return BiEncoder(SentenceTransformer(modules=modules, device="cpu", local_files_only=True))


def write_transformer(run: Run, settings: SurrogateSettings, folder: Path) -> None:
    """Write a BERT with random weights and the run's tokenizer into a folder."""
    width = settings.dimensions
    tokenizer = open_tokenizer(run)
    ends = [(token, tokenizer.token_to_id(token)) for token in ("<s>", "</s>")]
    tokenizer.post_processor = TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> $B </s>", special_tokens=ends
    )
    network: Any = BertModel(
        BertConfig(
            vocab_size=tokenizer.get_vocab_size(),
            hidden_size=width,
            num_hidden_layers=settings.layers,
            num_attention_heads=width // _HEAD if width % _HEAD == 0 else 1,
            intermediate_size=4 * width,
            max_position_embeddings=_MAX_TOKENS,
            pad_token_id=tokenizer.token_to_id("<pad>"),
        )
    )
    network.config.architectures = [type(network).__name__]
    network.config.dtype = network.dtype
    network.config.save_pretrained(folder)
    write_tensors(folder / "model.safetensors", network.state_dict())
    names = {"pad": "<pad>", "unk": "<unk>", "cls": "<s>", "sep": "</s>", "mask": "<mask>"}
    wrapped: Any = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer,
        model_max_length=_MAX_TOKENS,
        **{f"{name}_token": token for name, token in names.items()},
    )
    wrapped.save_pretrained(folder)


# --- What is learned ----------------------------------------------------------------------------


class PairLabels:
    """The student's scores of pairs approach labels, by the squared difference (Sun et al., §3.4).

    `batches` are numbers of pairs of each step, `sizes` the pairs of each split.
    """

    def __init__(
        self,
        student: BiEncoder | PairEncoder,
        splits: Mapping[str, ScoredPairs],
        settings: SurrogateSettings,
        seed: int,
    ) -> None:
        self._student, self._splits, train = student, splits, splits["train"]
        self._start, self._seed = student.similarities(splits["test"].pairs), seed
        self.sizes = {split: len(scored.pairs) for split, scored in splits.items()}
        compared = np.linspace(0, len(train.pairs) - 1, min(len(train.pairs), _COMPARED))
        start = student.similarities(train.some(compared.astype(np.int64)).pairs)
        self._label = label_map(train.scores, settings.calibration, start)
        self._labels = self._label(train.scores)
        self.batches = Batches.of(len(train.pairs), settings.batch, derive_seed(seed, "order"))

    def loss(self, rows: Ints) -> Tensor:
        """Return the squared difference of scores and labels of a batch of pairs."""
        pairs = [self._splits["train"].pairs[row] for row in rows.tolist()]
        scores = self._student.scores(pairs)
        labels = torch.from_numpy(self._labels[rows]).float().to(scores.device)
        return functional.mse_loss(scores.float(), labels)

    def agreement(self) -> float | None:
        """Return the rank correlation with the teacher on dev."""
        dev = self._splits["dev"]
        return rank_correlation(self._student.similarities(dev.pairs), dev.scores)

    def gain(self) -> Estimate:
        """Return how much better than at the start the student agrees with the teacher on test."""
        labels, pairs = self._splits["test"].scores, self._splits["test"].pairs
        first, second = (labels, self._student.similarities(pairs)), (labels, self._start)
        return measure_difference(Metric.SPEARMAN, first, second, seed=self._seed)

    def figures(self) -> dict[str, dict[str, Any]]:
        """Return split → `n`, `spearman`, `l2` and `constant_l2` of dev and test."""
        return {split: self._measured(split) for split in HELD_OUT}

    def _measured(self, split: str) -> dict[str, Any]:
        pairs, constant = self._splits[split], float(self._labels.mean())
        answers, labels = self._student.similarities(pairs.pairs), self._label(pairs.scores)
        return {
            "n": len(labels),
            "spearman": rank_correlation(answers, pairs.scores),
            "l2": float(f"{np.mean((answers - labels) ** 2):.6g}"),
            "constant_l2": float(f"{np.mean((constant - labels) ** 2):.6g}"),
        }


def label_map(scores: Floats, calibration: str, start: Floats) -> Callable[[Floats], Floats]:
    """Return the map from raw scores to labels: monotonic, fitted on training scores alone.

    `quantile` is that similarity of the start below which is the same share: a student learns an
    order, and not to raise all its cosines. `none` is the score itself, as printed.

    Args:
        scores: Of the training pairs, (n,).
        calibration: `quantile` or `none`.
        start: Similarities of training pairs before training, (m,).

    Raises:
        InputError: Scores are not finite, or all equal; or so are similarities for `quantile`.
    """
    if not np.isfinite(scores).all() or not len(scores) or not np.ptp(scores):
        raise InputError(
            f"the scores of {len(scores)} training pairs are all equal, or not finite; nothing can "
            "be learned from them"
        )
    if calibration == "none":
        return lambda values: values
    if not np.isfinite(start).all() or not np.ptp(start):
        raise InputError(
            f"the start finds {len(start)} training pairs all equally similar, or not finite; "
            "expected a base that tells sentences apart"
        )
    distinct, counts = np.unique(scores, return_counts=True)
    ranks = (np.cumsum(counts) - counts / 2) / len(scores)
    labels = np.quantile(start, ranks)
    return lambda values: np.asarray(np.interp(values, distinct, labels))

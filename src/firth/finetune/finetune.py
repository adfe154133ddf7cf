"""Fine-tune any sentence encoder on labels: start, training by seeds, what is kept, its report."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from firth.evaluate.figures import Bootstrap
from firth.evaluate.rows import EvaluationSet
from firth.evaluate.task import Kind as Shape
from firth.finetune.data import Data, examples_of, gather, problems, problems_of_train
from firth.finetune.recipe import Kind, Objective, Recipe, recipe_of
from firth.finetune.report import CARD, HELD_OUT, REPORT, Reported, card, text
from firth.finetune.sets import TEST, Places, usual_sets
from firth.finetune.start import Start
from firth.run.errors import InputError
from firth.run.files import fingerprint_value, write_json, write_text
from firth.run.results import claim_folder, write_folder
from firth.run.run import Run
from firth.run.seeds import derive_seed
from firth.run.stage import SCRATCH

COMMAND = "firth finetune"
LIBRARIES = ("sentence-transformers", "tokenizers", "torch", "transformers")


@dataclass(frozen=True)
class Finetuned(Reported):
    """A fine-tuned model.

    Attributes:
        path: Its folder, which `SentenceTransformer(path)` opens.
        report: Contents of `report.json`: `kind`, `objective`, `start`, `settings`, `data` (part →
            `name`, `rows`, `metric`, `fingerprint`), `left_out`, `drawn`, `apart`, `shared` (test
            rows of which a text stands in a row that was learned from), `seeds` (each `seed`,
            `dev`, `step` kept of `steps`, `ended`, `looks`, `rate`), `kept` (the seed), `test`
            (metric → `start`, `fine-tuned`, `difference`, `seeds`: × 100 with 95 % intervals; None
            without a test part), `model`, `notes`.
        reused: Whether it was already there.
    """

    def text(self) -> str:
        """The report for a screen."""
        return text(self.report)


def finetune(
    kind: str | Kind,
    start: str | Path,
    out: str | Path,
    *,
    data: Sequence[str | Path] = (),
    dev: str | Path | None = None,
    test: str | Path | None = None,
    run: str | Path | Run | None = None,
    data_dir: str | Path | None = None,
    columns: Mapping[str, str] | None = None,
    score_range: tuple[float, float] | None = None,
    share: float = 0.1,
    apart: str | None = None,
    objective: str | Objective | None = None,
    epochs: int | None = None,
    batch: int | None = None,
    learning_rate: float | None = None,
    patience: int | None = None,
    parts: int = 1,
    seeds: Sequence[int] = (13,),
    limit: int | None = None,
    resamples: int = 1_000,
    force: bool = False,
) -> Finetuned:
    """Fine-tune a sentence encoder on labels, and keep the best by dev in a folder.

    Args:
        kind: `nli`, `sts`, `triplets` or `pairs`.
        start: `RUN/surrogate`, folder or hub name of an encoder; `static` or `transformer`, made of
            what `run` has learned; `scratch:` before either: the same with random weights.
        out: Folder of the model.
        data: Sets by name (`sts-b`, `snli`, …) or files of one's own (TSV, CSV, Parquet, JSON
            lines), either with `:SPLIT`. None given takes the usual ones of the kind.
        dev: Set or file that chooses the best weights; None takes the data's own, or draws.
        test: Set or file that measures; as `dev`.
        run: A run, for the starts that are made of one.
        data_dir: Folder of the known sets; those it lacks come from the hub.
        columns: Of files: ours (`sentence1`, `sentence2`, `score`, `label`, `anchor`, `positive`,
            `negative`, `split`) → the file's.
        score_range: Lowest and highest score of files; None: as found.
        share: Of the rows, drawn for each of dev and test where the data has none; 0: neither.
        apart: Draw whole groups: a column of the files, or `subtask` of a known set. So dev and
            test ask how what was learned holds for groups that nothing was learned from.
        objective: nli: `in-batch`, `softmax` (the paper's); sts and pairs: `l2`, `cosent`,
            `angle`; triplets: `triplet`, `in-batch`. None takes the first.
        epochs: Passes over the rows.
        batch: Rows a step.
        learning_rate: Adam's, at its peak.
        patience: Looks at dev (there are ten) without a better figure after which training ends.
        parts: In which a Transformer works on a step's rows: memory is that of one, and processes
            that torchrun starts share them.
        seeds: One training each; the best by dev is kept.
        limit: Learn from so many random rows, those of a smaller number among them.
        resamples: Bootstrap resamples behind each interval.
        force: Replace another fine-tuned model in `out`.

    Raises:
        InputError: Everything that is wrong with data, settings or start, before training begins;
            or `out` holds what must not be replaced.
        MissingStageError: The run is not built far enough.

    Example:
        >>> found = finetune("pairs", "run/surrogate", "model", data=["pairs.csv"], seeds=[13, 14])
        >>> found.report["kept"] in (13, 14)
        True
    """
    recipe = recipe_of(kind, objective, epochs=epochs, batch=batch, learning_rate=learning_rate,
                       patience=patience, parts=parts)  # fmt: skip
    claim_folder(Path(out), COMMAND)
    places = Places(data_dir, columns or {}, apart, score_range)
    names = usual_sets(recipe.kind, data)
    choosing, measuring = (None if one is None else str(one) for one in (dev, test))
    refuse([*recipe.problems(), *_wrong(seeds, limit)])
    opened = Start(start, run)
    found = gather(recipe.kind, names, choosing, measuring, places, share, seeds[0])
    refuse(problems(found, recipe.kind, recipe.chosen) + [
        problem for seed in seeds if limit is not None
        for problem in problems_of_train(found.train.sampled(limit, seed), recipe.kind,
                                         recipe.chosen)
    ])  # fmt: skip
    opened.open(seeds[0])  # refused before anything is trained
    config = {
        "start": [opened.shown, opened.identity()],
        "recipe": recipe.shown(),
        "data": {name: [one.fingerprint, one.question] for name, one in found.parts.items()},
        "drawn": list(found.drawn),
        "apart": apart,
        "seeds": list(seeds),
        "limit": limit,
        "resamples": resamples,
    }

    def build(workspace: Path) -> str:
        return _build(workspace, opened, found, recipe, apart, seeds, limit, resamples)

    outcome = write_folder(Path(out), command=COMMAND, inputs={}, config=config, build=build,
                           libraries=LIBRARIES, replace=force)  # fmt: skip
    return Finetuned.open(out, outcome.reused)


def refuse(found: Sequence[str]) -> None:
    """Raise `InputError` with all problems, if there are any, the first ten in words."""
    if problems := list(dict.fromkeys(found)):
        count = "1 problem" if len(problems) == 1 else f"{len(problems):,} problems"
        more = [f"and {len(problems) - 10:,} more"] if len(problems) > 10 else []
        lines = "".join(f"\n  - {problem}" for problem in [*problems[:10], *more])
        raise InputError(f"finetune: {count}, nothing was trained:{lines}")


def _wrong(seeds: Sequence[int], limit: int | None) -> list[str]:
    found = []
    if not seeds or len(set(seeds)) < len(seeds) or min(seeds) < 0:
        found.append(f"seeds: got {list(seeds)}; expected different numbers of 0 or more")
    if limit is not None and limit < 1:
        found.append(f"limit: got {limit}; expected 1 or more")
    return found


def _build(
    workspace: Path, start: Start, data: Data, recipe: Recipe, apart: str | None,
    seeds: Sequence[int], limit: int | None, resamples: int,
) -> str:  # fmt: skip
    from firth.evaluate.models import EncoderScorer
    from firth.finetune.calibration import FILE, as_dict, calibrated
    from firth.finetune.report import calibration_text, measured, notes
    from firth.finetune.train import fit

    trained: list[dict[str, Any]] = []
    asked = []
    best, highest = 0, -1.0
    for number, seed in enumerate(seeds):
        model = start.open(seed)
        rows = data.train.sampled(limit, seed)
        learned = fit(
            model, examples_of(rows, recipe.kind, recipe.chosen), data.dev, recipe,
            derive_seed(seed, "finetune"), workspace / SCRATCH / f"seed-{seed}",
            "Fine-tuning" if len(seeds) == 1 else f"Fine-tuning, seed {seed}", start.random,
        )  # fmt: skip
        trained.append({"seed": seed, "rows": len(rows.rows), "dev": learned.figure,
                        "ended": learned.ended, **asdict(learned)})  # fmt: skip
        if data.test is not None:
            asked.append(EncoderScorer(model, "").similarities(data.test.pairs))
        figure = -1.0 if learned.figure is None else learned.figure
        if number == 0 or figure > highest:
            best, highest, kept = number, figure, model
        del model

    first = start.open(seeds[best])
    learned_from = data.train.sampled(limit, seeds[best])
    test, found = None, None
    if data.test is not None:
        before = EncoderScorer(first, "").similarities(data.test.pairs)
        test = measured(data.test, before, asked, best, Bootstrap(seeds[0], resamples))
    if data.dev is not None:
        on_dev = EncoderScorer(kept, "").similarities(data.dev.pairs)
        found = calibrated(data.dev, on_dev, seeds[0])
    report: dict[str, Any] = {
        "kind": recipe.kind.value,
        "objective": recipe.chosen.value,
        "start": start.shown,
        "settings": recipe.shown() | {"limit": limit, "resamples": resamples},
        "data": {name: _described(one) for name, one in data.parts.items()},
        "left_out": list(data.left_out),
        "drawn": list(data.drawn),
        "apart": apart,
        "shared": None if data.test is None else int(data.test.sharing(learned_from).sum()),
        "seeds": trained,
        "kept": seeds[best],
        "test": test,
        "calibration_text": calibration_text(found),
        "model": {
            "dimensions": kept.get_embedding_dimension(),
            "parameters": sum(parameter.numel() for parameter in kept.parameters()),
        },
    }
    report["notes"] = notes(report)
    kept.cpu().save(str(workspace), create_model_card=False)
    write_json(workspace / REPORT, report)
    if found is not None:
        write_json(workspace / FILE, as_dict(found))
    if data.test is not None and TEST in data.drawn:
        write_text(workspace / HELD_OUT, _lines(data.test))
    write_text(workspace / CARD, card(report))
    return text(report)


def _described(data: EvaluationSet) -> dict[str, Any]:
    return {
        "name": data.task.name,
        "rows": len(data.rows),
        "metric": data.task.metrics[0].value,
        "fingerprint": fingerprint_value([data.fingerprint, data.question]),
        "notes": list(data.notes),
    }


def _lines(data: EvaluationSet) -> str:
    """A set as JSON lines, which `firth evaluate --task FILE` reads."""
    triplets = data.task.kind is Shape.TRIPLETS
    names = ("anchor", "positive", "negative") if triplets else ("sentence1", "sentence2")
    rows = [
        dict(zip(names, row.texts, strict=True)) | ({} if triplets else {"score": row.score})
        for row in data.rows
    ]
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)

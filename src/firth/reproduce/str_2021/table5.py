"""Table 5: models as they are, and fine-tuned, by five-fold cross-validation."""

from dataclasses import asdict
from pathlib import Path

from firth.evaluate.cache import Cache
from firth.evaluate.metrics import Estimate
from firth.relatedness.models.report import Study
from firth.relatedness.models.study import Setting, study_models
from firth.relatedness.models.tune import Recipe
from firth.reproduce.report import Bounds, Lines, Report, Row
from firth.reproduce.str_2021.models import base_of, lines_of
from firth.reproduce.str_2021.published import TABLE5
from firth.reproduce.str_2021.request import RESAMPLES, StrRequest

TUNED = "cross-validated"
ALL = "all"


def str_table5(request: StrRequest) -> Report:
    """Measure all models that can be had; fine-tune one.

    Raises:
        InputError: STR-2021 cannot be had, or the base is no encoder.
        MissingExtraError: What fine-tuning needs is not installed.
    """
    lines, missing = lines_of(request)
    base = base_of(request)
    found = measure(request, [line.spec for line in lines], base, leave_one_out=False)
    rows = []
    bounds = [bounds_of(found.figures[line.spec][ALL]) for line in lines]
    for line in lines:
        printed = TABLE5.get(line.printed or "")
        rows.append(Row(line.name, (found.figures[line.spec][ALL].value, printed)))
    if base is not None:
        rows.append(Row(f"{Path(base).name}, fine-tuned", (found.figures[TUNED][ALL].value, None)))
        bounds.append(bounds_of(found.figures[TUNED][ALL]))
    here = {line.printed for line in lines}
    rows += [Row(name, (None, value)) for name, value in TABLE5.items() if name not in here]
    bounds += [(None, None)] * (len(rows) - len(bounds))
    plot = Lines("model", "Spearman (%)", [row.name for row in rows], {
        "ours": [row.cells[0] for row in rows], "printed": [row.cells[1] for row in rows],
    }, frozenset({"printed"}), {"ours": bounds}, connected=False)  # fmt: skip
    notes = (
        *missing,
        "GloVe of 6B tokens and 50 dimensions stands beside the paper's of Common Crawl.",
        *tuning_notes(found, base),
        *found.data.notes,
    )
    columns = ("Spearman (%), mean over 5 folds", "ours", "printed")
    return Report("str-table5", "STR-2021, Table 5", columns, tuple(rows), plot, notes,
                  details_of(found))  # fmt: skip


def measure(
    request: StrRequest, models: list[str], base: str | None, *, leave_one_out: bool
) -> Study:
    """Models, and the base fine-tuned; finished folds are kept in the folder of results."""
    recipe = None
    if base is not None:
        recipe = Recipe(base, pairs=request.train_pairs, seed=request.seed)
    return study_models(
        request.pairs(),
        models,
        request.folder,
        recipe,
        leave_one_out=leave_one_out,
        setting=Setting(seed=request.seed, resamples=RESAMPLES),
        cache=Cache(request.folder / "cache"),
    )


def tuning_notes(study: Study, base: str | None) -> list[str]:
    """On what was fine-tuned, how, and what leaks."""
    if base is None:
        return ["nothing was fine-tuned: name an encoder with --base, or a run with a Surrogate"]
    recipe = study.settings["recipe"]
    pairs = f"at most {recipe['pairs']:,}" if recipe["pairs"] else "all"
    return [
        f"Fine-tuned: {Path(base).name}, one pass over {pairs} training pairs of a "
        f"fold, batches of {recipe['batch']}. The paper fine-tuned BERT-base and RoBERTa-base and "
        "does not say for how long.",
        *(
            f"{label}: {count:,} test pairs have a sentence that a training pair of their fold has "
            f"too; without them {study.apart[label]}"
            for label, count in study.shared.items()
        ),
    ]


def bounds_of(figure: Estimate | None) -> Bounds:
    """Ends of an interval, for a plot."""
    return (None, None) if figure is None else (figure.low, figure.high)


def details_of(study: Study) -> dict[str, object]:
    """Every figure with its interval, for the JSON."""
    return {
        "source": study.data.source,
        "fingerprint": study.data.fingerprint,
        "settings": dict(study.settings),
        "figures": {
            label: {name: asdict(figure) for name, figure in figures.items()}
            for label, figures in study.figures.items()
        },
    }

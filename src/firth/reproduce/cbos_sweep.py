"""Figures 3 and 4 of Yuan & Zhang: CBOS on STS 2014 as k and m grow."""

from firth.baselines.trained import build_baseline, load_trained
from firth.reproduce.measure import available, pearson
from firth.reproduce.published import SETS
from firth.reproduce.registry import Request
from firth.reproduce.report import Lines, Report, Row, mean
from firth.run.progress import note
from firth.run.run import Run

VALUES = (1, 2, 3, 4, 5)


def cbos_k(request: Request) -> Report:
    """Figure 3: neighbours on each side, k = 1 to 5, with m = 2; errors as in `cbos_table1`."""
    return _sweep(request, "cbos-k", "window", {"negatives": 2}, "k", "CBOS, Figure 3: k (m = 2)")


def cbos_m(request: Request) -> Report:
    """Figure 4: random sentences, m = 1 to 5, with k = 1; errors as in `cbos_table1`."""
    return _sweep(request, "cbos-m", "negatives", {"window": 1}, "m", "CBOS, Figure 4: m (k = 1)")


def _sweep(
    request: Request, name: str, field: str, fixed: dict[str, int], symbol: str, title: str
) -> Report:
    run = request.run
    sets = available([key for key in SETS if key[0] == "sts14"], request.data_dir)
    found, digests = {}, {}
    for value in VALUES:
        change = {"baselines": {"cbos": {**fixed, field: value}}}
        # The run's own configuration stays as it is: each value has a folder of its own.
        varied = Run(run.path, run.config.changed(change, name))
        folder = f"reproduce/{name}-{value}"
        outcome = build_baseline(varied, "cbos", folder)
        note(f"{symbol} = {value}: {'unchanged' if outcome.reused else 'trained'}")
        scorer = load_trained("cbos", run.path / folder)
        found[value] = pearson(scorer, sets, request.data_dir, run.config.seed)
        digests[str(value)] = outcome.manifest.digest
    values = {
        sub: tuple(found[value][task, sub].value for value in VALUES) for task, sub in sets.keys
    }
    values["mean"] = tuple(mean([one[i] for one in values.values()]) for i in range(len(VALUES)))
    details = {
        "seed": run.config.seed,
        "corpus": run.inputs(*request.reads)["corpus"],
        "settings": run.config.baselines.cbos.model_dump(mode="json") | fixed,
        "digests": digests,
        "intervals": {
            str(value): {
                sub: [result.value, result.low, result.high, result.n]
                for (_, sub), result in results.items()
            }
            for value, results in found.items()
        },
    }
    notes = (
        *sets.missing,
        "The paper prints its curves without figures; it takes k = 1 and m = 2.",
    )
    columns = ("Pearson (%), STS 2014", *(f"{symbol} = {value}" for value in VALUES))
    rows = tuple(Row(sub, cells) for sub, cells in values.items())
    plot = Lines(symbol, "Pearson (%)", [str(value) for value in VALUES], values)
    return Report(name, title, columns, rows, plot, notes, details)

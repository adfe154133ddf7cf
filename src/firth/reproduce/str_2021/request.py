"""What the STR-2021 experiments are given, and how they find the data."""

from dataclasses import dataclass
from pathlib import Path

from firth.evaluate.rows import EvaluationSet
from firth.relatedness.scored import load_pairs
from firth.run.run import Run

NAME = "str-2021"
_FILE = Path("STR-2021") / "pairs.tsv"
RESAMPLES = 1_000


@dataclass(frozen=True)
class StrRequest:
    """What an STR-2021 experiment is given.

    Attributes:
        folder: Of the results; what takes long is kept in it.
        data_dir: Folder of evaluation sets; None, or a set it lacks, goes to the hub.
        run: Its trained word vectors and its Surrogate are measured too; None for none.
        vectors: Word vectors of Table 4; None takes GloVe.
        base: Encoder that is measured and fine-tuned; None takes the run's Surrogate, or the
            paper's own models where the hub can be reached.
        train_pairs: At most so many training pairs a fold; None takes all.
        seed: Of folds, training and resampling.
    """

    folder: Path
    data_dir: Path | None = None
    run: Run | None = None
    vectors: str | None = None
    base: str | None = None
    train_pairs: int | None = None
    seed: int = 13

    def pairs(self) -> EvaluationSet:
        """STR-2021, its domains as subtasks; raise `InputError` where it cannot be had."""
        return load_pairs(NAME, self.data_dir)

    def parts(self) -> EvaluationSet:
        """STR-2021 with parts of domains (`Wiki_pp`) as subtasks, where the file names them."""
        path = (self.data_dir or Path()) / _FILE
        if self.data_dir is not None and path.is_file():
            with path.open(encoding="utf-8") as file:
                if "subset" in file.readline().rstrip("\r\n").split("\t"):
                    return load_pairs(path, domain="subset")
        return self.pairs()

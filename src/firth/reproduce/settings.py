"""The settings of this wing: the section `reproduce` of a run's settings.

The ablations and sweeps of the papers change a value here or in the section `paper`.
"""

from firth.run.settings import Count, Names, Positive, Section


class BagSettings(Section):
    """Latent semantic indexing (Deerwester et al. 1990): word vectors whose sum is a sentence."""

    stemmed: bool = True
    """Whether words are reduced to their stems."""
    min_count: Count = 5
    """Rarer words are dropped."""
    vocabulary: Count = 100_000
    """Most frequent words that are kept."""
    dimensions: Count = 300


class VectorSettings(BagSettings):
    """Word vectors by skip-gram and CBOW (Mikolov et al. 2013)."""

    stemmed: bool = False
    dimensions: Count = 100
    epochs: Count = 5
    window: Count = 5
    """Words on each side that are predicted."""
    negatives: Count = 5
    """Random words for each word."""


class NeighborSettings(VectorSettings):
    """Word vectors whose sums separate neighboring sentences from random ones."""

    stemmed: bool = True
    epochs: Count = 10
    window: Count = 1
    """k, neighbors on each side (the papers: 1)."""
    negatives: Count = 2
    """m, sentences drawn from the corpus for each sentence (the papers: 2)."""
    batch: Count = 10
    """Sentences whose gradients are summed in a step (CBOS: 10)."""
    learning_rate: Positive = 0.1
    """Rate of Adagrad at the start; it falls linearly to 0."""


class SiameseCbowSettings(NeighborSettings):
    """Siamese CBOW: a sentence predicts its neighbors, by cosine."""

    stemmed: bool = False
    epochs: Count = 5
    batch: Count = 100


class TableSettings(Section):
    """What the tables measure."""

    sample: Count | None = None
    """Random rows of each set. By default all."""
    contexts: Count = 64
    """|C_s| where a table does not vary it (the paper: 500)."""
    sizes: tuple[int | str, ...] = ()
    """Sizes of a table that varies one, as `250`, `100K` or `10%`. By default its usual sizes."""
    start: Names = ()
    """Encoders that a table fine-tunes. By default the Surrogate of the run."""
    inference: str = "nli:train"
    """Set or file of natural language inference that Tables 1 and 2 of Sun et al. learn from."""
    epochs: Count | None = None
    """Passes over the rows in fine-tuning. By default those of `firth train finetune`."""
    pairs: str = "str-2021"
    """Set or file of rated pairs that the tables of STR-2021 measure."""
    vectors: str | None = None
    """File of word vectors for Tables 4 and 5 of STR-2021, as text. By default GloVe (6B, 50-d)."""
    triplets: str = "wiki-sections"
    """Set or file of triplets that Table 4 of Sun et al. measures and learns from."""


class ReproduceSettings(Section):
    """All settings of the wing. `tables` is no input of a trained baseline."""

    lsi: BagSettings = BagSettings()
    skip_gram: VectorSettings = VectorSettings()
    cbow: VectorSettings = VectorSettings()
    cbos: NeighborSettings = NeighborSettings()
    siamese_cbow: SiameseCbowSettings = SiameseCbowSettings()
    tables: TableSettings = TableSettings()

    def of(self, baseline: str) -> BagSettings:
        """Return the settings of a trained baseline, such as `skip-gram`."""
        section: BagSettings = getattr(self, baseline.replace("-", "_"))
        return section

"""The settings of the paper's method: the section `paper` of a run's settings.

Sections and equations are those of Sun et al. (TACL 2022). The ablations but Table 5 are values of
`contexts.size`, `surrogate.pairs`, `fits.weights`, `contexts.selection` and `surrogate.structure`.
"""

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import model_validator

from firth.run.files import fingerprint_value
from firth.run.settings import Count, Fraction, NonNegative, Positive, Section

if TYPE_CHECKING:
    import torch


class RetrieveSettings(Section):
    """TF-IDF screening of chunks (§3.3)."""

    chunk_sentences: Count = 8
    """Sentences of the longest chunk. A paragraph border ends a chunk that is half full."""
    chunks: Count = 20_000
    """Chunks retrieved for a sentence (the paper: 20,000)."""


class CoherenceSettings(Section):
    """The discriminative model p(y=1 | c_<, s, c_>) (§3.2.1)."""

    interaction: Literal["bilinear", "additive"] = "bilinear"
    """`additive` is Eq. 1 as printed, which orders contexts alike for every sentence."""
    hidden: Count = 300
    """States of each direction of the LSTM (the paper: 300), and size of a token's vector."""
    max_tokens: Count = 48
    dropout: Fraction = 0.2
    """Share of the entries of token and sentence vectors that a step of the training leaves out."""
    passes: Positive = 4.0
    """Passes over the positions, at most. Training stops where held-out ranks stop to improve."""
    batch: Count = 128
    """Positions in a step. The centers of the others are the negatives of each."""
    learning_rate: Positive = 1e-3


class GeneratorSettings(Section):
    """The three conditional likelihoods (§3.2.2)."""

    shared: bool = True
    """One Transformer for the three directions; `false` trains three."""
    layers: Count = 3
    """Layers of the encoder and of the decoder ("Transformer-large": 6)."""
    width: Count = 256
    """Size of the hidden states ("Transformer-large": 1024); a head has 64 of them at most."""
    dropout: Fraction = 0.1
    max_tokens: Count = 48
    """Tokens of a sentence that are read."""
    passes: Positive = 4.0
    """Passes over the positions, at most. Training stops at the best held-out loss."""
    batch_tokens: Count = 8_192
    """Tokens of a batch, padding included, in training and in scoring."""
    accumulate: Count = 1
    """Batches in a step, for more tokens than fit at once."""
    learning_rate: Positive = 1e-3
    """Peak of Adam's rate (the paper: 1e-4 at full size)."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.width % max(1, self.width // 64):
            raise ValueError(f"width {self.width} is not divisible by its heads of 64")
        return self


class ContextSettings(Section):
    """The context set C_s of a sentence (§3.3, §5.4)."""

    size: Count = 64
    """|C_s| (the paper: 500)."""
    shortlist: Count = 128
    """Best ranked contexts that Eq. 3 scores, at least `size`."""
    selection: Literal["two-step", "random"] = "two-step"
    """TF-IDF screening, then coherence; or random positions (§5.4)."""
    screening: NonNegative = 40.0
    """Weight of a chunk's TF-IDF cosine in the ranking; at 0 coherence alone ranks, as printed."""
    diverse: bool = True
    """At most one context from a chunk, and preceding sentences with Jaccard < 0.5."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.shortlist < self.size:
            raise ValueError(f"shortlist {self.shortlist} is below size {self.size}")
        return self


class Weights(Section):
    """λ1 … λ4 of Eq. 3, which the paper does not give, of terms of equal deviation.

    Each term is divided by the deviation of its difference between two sentences in one context. A
    weight that is not set is 1, and 0 where the model of the term did not learn (its manifest says
    so).
    """

    coherence: NonNegative | None = None
    """λ1, of log p(y=1 | s, c)."""
    sentence: NonNegative | None = None
    """λ2, of log p(s | c) / |s|."""
    left: NonNegative | None = None
    """λ3, of log p(c_< | s, c_>) / |c_<|."""
    right: NonNegative | None = None
    """λ4, of log p(c_> | c_<, s) / |c_>|."""

    @model_validator(mode="after")
    def _some(self) -> Self:
        if not any(factor != 0 for factor in self.model_dump().values()):
            raise ValueError("all four weights are 0, and Eq. 3 needs one term")
        return self


Measure = Literal["cosine", "centered"]


class FitSettings(Section):
    """Context fits (Eq. 3) and the similarity of two vectors of them (Eq. 4)."""

    weights: Weights = Weights()
    pmi: bool = True
    """Subtract from each log-likelihood the same one with the evidence left out (not printed)."""
    measure: Measure = "centered"
    """`cosine` is Eq. 4 as printed; `centered` is Pearson's correlation."""


class HarvestSettings(Section):
    """Pairs of corpus sentences that Origin scores for the Surrogate (§3.4)."""

    pairs: Count = 20_000
    """Pairs that are scored (the paper: 100 million)."""
    shard_pairs: Count = 100
    """Pairs in one shard of the work."""


class SurrogateSettings(Section):
    """The model that the harvest is distilled into (§3.4, §5.6)."""

    structure: Literal["siamese", "cross-encoder"] = "siamese"
    """The cosine of two vectors, or both sentences in one input (§5.6)."""
    base: str = "transformer"
    """`transformer` (random weights), `static` (the run's word vectors), or an encoder. A
    cross-encoder reads both texts and cannot be static."""
    pairs: Count | None = None
    """Training pairs that are learned from (Table 7). By default all."""
    calibration: Literal["none", "quantile"] = "quantile"
    """The map from scores to labels: similarities of the start in the order of the scores, or none
    as in the paper."""
    dimensions: Count = 256
    """transformer: size of the hidden states."""
    layers: Count = 4
    epochs: Count = 2
    batch: Count = 64
    """Pairs in a step."""
    learning_rate: Positive | None = None
    """Peak of Adam's rate. By default 5e-4 from random weights, 2e-5 of an encoder."""


class PaperSettings(Section):
    """All settings of the paper's method."""

    window: Count = 1
    """Sentences on each side of a position that make its context (the paper gives no number)."""
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """Number format of large products. `auto` is bfloat16 where the hardware multiplies it."""
    retrieve: RetrieveSettings = RetrieveSettings()
    coherence: CoherenceSettings = CoherenceSettings()
    generator: GeneratorSettings = GeneratorSettings()
    contexts: ContextSettings = ContextSettings()
    fits: FitSettings = FitSettings()
    harvest: HarvestSettings = HarvestSettings()
    surrogate: SurrogateSettings = SurrogateSettings()

    def number_format(self, where: "torch.device") -> "torch.dtype":
        """Return the number format of large products on a device."""
        import torch

        from firth.train.loop import has_bfloat16

        half = self.precision == "bfloat16" or (self.precision == "auto" and has_bfloat16(where))
        return torch.bfloat16 if half else torch.float32

    def inputs(self, *names: str) -> dict[str, str]:
        """Return the fingerprint of some fields and sections, as the input of a stage."""
        values = self.model_dump(mode="json")
        return {"paper": fingerprint_value({name: values[name] for name in names})}


def preset(name: str) -> dict[str, Any]:
    """Return the settings of a preset, for `Run.changed`.

    `paper` has every size that the paper gives. `paper-small` has the same contexts and equations
    with models that two cores can train.
    """
    text = (Path(__file__).with_name("data") / f"{name}.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)

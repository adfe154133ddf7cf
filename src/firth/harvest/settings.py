"""Settings of the harvest."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from firth.run.section import Count, Fraction, Section


class HarvestConfig(Section):
    """Which pairs Origin scores for the Surrogate (§3.4)."""

    pairs: Annotated[int, Field(ge=30, le=10**15)] = 20_000
    """Pairs scored (the paper: 100 million)."""
    near: Fraction = 0.4
    """Share of pairs between a seed sentence and its neighbours in words."""
    same_document: Fraction = 0.3
    """Share of pairs from one document; what remains is drawn at random."""
    cluster: Annotated[int, Field(ge=2)] = 4
    """Sentences of a near or same-document cluster: all are paired with each other."""
    near_chunks: Count = 20
    """Chunks nearest by TF-IDF among whose sentences a seed's neighbours are sought."""
    attempts: Count = 20
    """Draws for each that is wanted, where many are blocked or have been drawn before."""
    blocklist: tuple[str, ...] = ()
    """Files whose lines or tab-separated cells must not be harvested, beside the built-in list."""
    shard_pairs: Annotated[int, Field(ge=10)] = 100
    """Pairs a shard: what is lost at most when a run is stopped. A shard is wholly train, dev or
    test, and its random pairs are drawn inside it."""
    train: Fraction = 0.98
    """Share of the shards; at least one shard each goes to dev and to test."""
    dev: Fraction = 0.01

    @property
    def shards(self) -> int:
        """Number of shards."""
        return -(-self.pairs // self.shard_pairs)

    @property
    def held_out(self) -> tuple[int, int]:
        """Shards of dev and of test, at least one each."""
        test = max(1, round((1 - self.train - self.dev) * self.shards))
        return max(1, round(self.dev * self.shards)), test

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.near + self.same_document > 1:
            raise ValueError(f"near {self.near} + same_document {self.same_document} exceed 1")
        if self.train + self.dev >= 1:
            raise ValueError(f"train {self.train} + dev {self.dev} leave nothing for test")
        if self.pairs < 3 * self.shard_pairs:
            raise ValueError(
                f"pairs {self.pairs} make fewer than 3 shards of shard_pairs {self.shard_pairs}: "
                "train, dev and test need one each"
            )
        if sum(self.held_out) >= self.shards:
            raise ValueError(
                f"train {self.train} of {self.shards} shards (pairs {self.pairs}, shard_pairs "
                f"{self.shard_pairs}) leaves no shard for train"
            )
        return self

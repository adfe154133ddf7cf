"""Words: stems, rarity, vectors, and what can be said of sentences by them alone."""

"""Tables of three papers, and the baselines that they compare with."""

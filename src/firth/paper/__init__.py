"""The method of Sun et al. (TACL 2022) as printed: contexts, Origin, harvest and Surrogate."""

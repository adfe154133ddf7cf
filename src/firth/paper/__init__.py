"""The method as Sun et al. (TACL 2022) print it: contexts are retrieved, chosen and scored."""

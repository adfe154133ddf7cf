"""Building and explaining data sets of rated sentence pairs (Abdalla et al. 2021, STR-2021)."""

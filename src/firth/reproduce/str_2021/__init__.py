"""The tables of Abdalla et al. (2021), made again on STR-2021; they need no run."""

"""Relatedness: build, judge and explain a data set of scored sentence pairs (STR-2021's way)."""

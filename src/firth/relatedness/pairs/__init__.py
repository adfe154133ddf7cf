"""Choosing sentence pairs for annotation, by the strategies of STR-2021 (docs/pairs.md)."""

"""Sentence similarity from unlabelled documents, with the contexts each score comes from."""

__version__ = "0.1.0"

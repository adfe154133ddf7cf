"""Baselines: plain ways to compare two sentences, behind the one protocol of everything scored."""

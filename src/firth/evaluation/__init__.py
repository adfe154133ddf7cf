"""Evaluation: sets with human scores, metrics, intervals, and comparison without labels."""
